"""What a search has run and found wrong, so that a stopped search goes on where it was.

A candidate that fails at one text can never explain all of them, whatever else is tried. So its name and its distance
are all that has to be kept: in memory, or in a file (safetensors) that holds digests of names, and whose search it was.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from encoder import disk
from encoder.diagnose.faults import Fault
from encoder.errors import EncoderError
from encoder.inputs.json_file import check_regular, safetensors_texts

FORMAT = "encoderscope search 1"
#: Seconds between two times that the file is written.
SECONDS = 20.0
#: The largest file.
MOST_BYTES = 100_000_000


class Excluded:
    """Candidates that do not give the vectors. file: where they are kept, too."""

    def __init__(self, file: str | Path | None = None) -> None:
        self.file = None if file is None else Path(file)
        self._search = ""
        self._distances: dict[int, float] = {}
        self._written, self._time = 0, time.monotonic()

    def __len__(self) -> int:
        return len(self._distances)

    def begin(self, search: str) -> None:
        """Go on with a search, by the digest of all that decides its result; another one begins from nothing.

        Raises EncoderError for a file that is there and that no search wrote.
        """
        if self._search != search:
            self._search, self._distances, self._written = search, {}, 0
            if self.file is not None and self.file.exists():
                self._distances = _read(self.file, search)
                self._written = len(self._distances)

    def distance(self, faults: Sequence[Fault]) -> float | None:
        """How far a candidate was from the vectors; None for one that was not run."""
        return self._distances.get(_digest(faults))

    def add(self, faults: Sequence[Fault], distance: float) -> None:
        """Keep a candidate that does not give the vectors."""
        self._distances[_digest(faults)] = distance
        if time.monotonic() - self._time > SECONDS:
            self.save()

    def save(self) -> None:
        """Write the file, where there is one. Raises SaveError."""
        from safetensors.numpy import save

        self._time = time.monotonic()
        if self.file is None or self._written == len(self._distances):
            return
        names = np.fromiter(self._distances, np.int64, len(self._distances))
        far = np.fromiter(self._distances.values(), np.float64, len(self._distances))
        disk.write_file(self.file, save({"names": names, "distances": far}, {"format": FORMAT, "search": self._search}))
        self._written = len(self._distances)


def _read(file: Path, search: str) -> dict[int, float]:
    from safetensors.numpy import load

    try:
        check_regular(file, MOST_BYTES)
        content = file.read_bytes()
        about, arrays = safetensors_texts(content), load(content)
        if about.get("format") != FORMAT:
            raise ValueError("another format")
        if about["search"] != search:
            return {}
        return dict(zip(arrays["names"].tolist(), arrays["distances"].tolist(), strict=True))
    except Exception as error:  # a file from anywhere
        raise EncoderError(f"{file.name} was not written by a search: name another file to resume from.") from error


def _digest(faults: Sequence[Fault]) -> int:
    """A number for the values of faults, whatever their order."""
    names = "|".join(sorted(f"{one.name} {one!r}" for one in faults))
    return int.from_bytes(hashlib.blake2b(names.encode(), digest_size=8).digest(), "big", signed=True)
