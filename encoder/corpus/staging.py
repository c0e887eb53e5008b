"""The folder in which a build works until the atlas is whole: the texts in blocks, finished parts, a checkpoint.

It lies next to the atlas, with ".partial" after its name. Every file is written whole or not at all, so a build that is
killed at any moment goes on from the last checkpoint.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from encoder import disk
from encoder.corpus.atlas_files import FORMAT, MANIFEST, MOST_BYTES
from encoder.corpus.plan import MOST_LABELS, Block, Plan, Settings
from encoder.corpus.rows import Source
from encoder.corpus.totals import MOST_NAMED, MOST_TEXTS, Totals
from encoder.errors import AtlasError, EncoderError, quoted
from encoder.inputs.read import BrokenRow

TEXTS, ABOUT, CHECKPOINT, LOCK, BROKEN = "texts.parquet", "build.json", "checkpoint.safetensors", "lock", "broken.json"
#: A label column's name in the table of texts begins so.
LABEL = "label."


#: What the list of the folder's files calls it.
KIND = "an atlas of this program"


def written_earlier(folder: Path) -> set[str]:
    """What an earlier version, which kept no list, wrote in the folder of an atlas; nothing for another folder."""
    try:
        manifest = json.loads(disk.read_regular(folder / MANIFEST, MOST_BYTES))
        if manifest["format"] != FORMAT:
            return set()
        index = [
            one.relative_to(folder).as_posix()
            for ending in ("about.json", "*.npy")
            for one in folder.glob(f"index/layer.*/{ending}")
        ]
        return {MANIFEST, *map(str, manifest["files"]), *index}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()


class Staging:
    """The working folder of one build."""

    def __init__(self, folder: Path, about: dict[str, Any], source: Source, settings: Settings) -> None:
        """about: what the build depends on (hashes of model and texts, settings). A folder of the same build is
        continued. Raises AtlasError where another build is in the folder, or one that still runs."""
        self.folder = folder
        self.about: dict[str, Any] = json.loads(json.dumps(about | {"settings": settings.about()}))
        self._lock: Any = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._check_own()
        except OSError as error:
            raise AtlasError(f"{folder} cannot be made: {error.strerror or error}. Choose another folder.") from None
        self._take_lock()
        try:
            staged = self._staged(source, settings)
        except BaseException:
            if not (folder / ABOUT).exists():
                self._remove_begun()
            self.close()
            raise
        labels = {column: tuple(values) for column, values in staged["labels"].items()}
        self.n_rows, self.n_broken = int(staged["n_rows"]), int(staged["n_broken"])
        self.n_blank = int(staged.get("n_blank", 0))  # an older version did not count them
        self.plan = Plan(settings, int(staged["n_texts"]), labels, source.pair)

    def _check_own(self) -> None:
        """Raise AtlasError for a folder with files of somebody else."""
        names = {path.name for path in self.folder.iterdir()}
        begun = LOCK in names and names <= {LOCK, TEXTS, BROKEN, *(path.name for path in self.folder.glob(".*.part"))}
        if names and not begun and ABOUT not in names:
            raise AtlasError(
                f"{self.folder} has files that are not a build of this program, and they stay: choose an empty folder."
            )

    def _remove_begun(self) -> None:
        """Remove the folder of a build that has not begun; a file that a user added stays."""
        for name in (TEXTS, BROKEN, LOCK):
            (self.folder / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _staged(self, source: Source, settings: Settings) -> dict[str, Any]:
        """What is in the folder; the texts are copied to it first if it is new."""
        if not (self.folder / ABOUT).exists():
            staged = self.about | self._stage(source, settings)
            self.write(ABOUT, json.dumps(staged).encode())
            return staged
        staged = self._read_about()
        if {name: staged.get(name) for name in self.about} != self.about:
            raise AtlasError(
                f"{self.folder} holds an unfinished build of other texts, another model or other settings: repeat its "
                "options, remove the folder, or choose another --out."
            )
        return staged

    def _take_lock(self) -> None:
        """One build at a time. The system releases the lock when a process stops, even a killed one."""
        try:
            import fcntl
        except ImportError:  # not on Windows
            return
        self._lock = open(self.folder / LOCK, "wb")  # noqa: SIM115 (held until the build stops)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise AtlasError(
                f"Another build is writing to {self.folder}: wait until it finishes, or choose another --out."
            ) from None

    def close(self) -> None:
        """Let others build here."""
        if self._lock is not None:
            self._lock.close()

    def _read_about(self) -> dict[str, Any]:
        try:
            found = json.loads((self.folder / ABOUT).read_text(encoding="utf-8"))
            if isinstance(found, dict):
                return dict(found)
        except (OSError, ValueError):
            pass
        raise AtlasError(f"{self.folder} holds a damaged build: remove the folder and start again.")

    def _stage(self, source: Source, settings: Settings) -> dict[str, Any]:
        """Copy the texts into a Parquet file with one row group for each block."""
        columns = ["row", "text", *(LABEL + label for label in source.columns)]
        schema = pa.schema([("row", pa.int64()), *((name, pa.string()) for name in columns[1:])])
        values: list[set[str]] = [set() for _ in source.labels]
        broken: list[tuple[int, str]] = []
        n_rows = n_texts = n_broken = n_blank = 0
        with (
            disk.whole_file(self.folder / TEXTS) as file,
            pq.ParquetWriter(file, schema, compression="zstd") as writer,
        ):
            rows: list[tuple[Any, ...]] = []

            def flush() -> None:
                if rows:
                    arrays = [pa.array(column, kind.type) for column, kind in zip(zip(*rows), schema)]  # noqa: B905
                    writer.write_table(pa.table(arrays, schema=schema), row_group_size=settings.block_texts)
                    rows.clear()

            for row in source.rows():
                n_rows += 1
                if isinstance(row, BrokenRow):
                    n_broken += 1
                    if len(broken) < MOST_NAMED:
                        broken.append((row.number, row.why))
                    continue
                if not row.text or (source.pair is not None and row.labels[-1] is None):
                    n_blank += 1
                    continue
                n_texts += 1
                rows.append((row.number, row.text, *row.labels))
                for known, label, name in zip(values, row.labels, source.labels, strict=False):
                    if label is not None:
                        known.add(label)
                    if len(known) > MOST_LABELS:
                        raise EncoderError(
                            f"The column {quoted(name)} has more than {MOST_LABELS} different values, too many "
                            "for labels: leave it out."
                        )
                if len(rows) == settings.block_texts:
                    flush()
            flush()
            self._check(source, n_texts, values, broken)
        self.write(BROKEN, json.dumps(broken).encode())
        labels = {name: sorted(known) for name, known in zip(source.labels, values, strict=True)}
        counts = {"n_rows": n_rows, "n_texts": n_texts, "n_broken": n_broken, "n_blank": n_blank}
        return counts | {"labels": labels}

    def _check(self, source: Source, n_texts: int, values: list[set[str]], broken: list[tuple[int, str]]) -> None:
        if not n_texts:
            why = f" Row {broken[0][0]:,}: {broken[0][1]}." if broken else ""
            raise EncoderError(f"{source.name} holds no text.{why} Choose another file.")
        if n_texts > MOST_TEXTS:
            raise EncoderError(f"{source.name} holds {n_texts:,} texts, and the limit is {MOST_TEXTS:,}: split it.")
        for name, known in zip(source.labels, values, strict=True):
            if not known:
                raise EncoderError(f"No row has a value in the column {quoted(name)}: check its name.")

    def broken_rows(self) -> list[tuple[int, str]]:
        """(number, why) of the first rows that were left out."""
        return [(int(number), str(why)) for number, why in json.loads((self.folder / BROKEN).read_text())]

    def checkpoint(self) -> Totals | None:
        """The totals of the blocks that are done, or None."""
        path = self.folder / CHECKPOINT
        return Totals.from_bytes(path.read_bytes()) if path.exists() else None

    def write(self, name: str, content: bytes) -> None:
        """Write one of the folder's files."""
        path = self.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise disk.not_written(str(path), error) from None
        disk.write_file(path, content)

    def save(self, totals: Totals) -> None:
        """Write a checkpoint."""
        self.write(CHECKPOINT, totals.to_bytes())

    def publish(self, atlas: Path) -> None:
        """Make the finished folder the atlas. Of an older one at this place, what a user added stays."""
        for left in self.folder.rglob(".*.part"):
            left.unlink()
        disk.put_in_place(self.folder, atlas, KIND, written_earlier)
        # Only now: a build that is killed before this line goes on with them.
        for name in (ABOUT, CHECKPOINT, BROKEN, LOCK):
            (atlas / name).unlink(missing_ok=True)
        self.close()


def read_blocks(texts: Path, plan: Plan, numbers: list[int]) -> Iterator[Block]:
    """These blocks of the staged texts, one after the other."""
    with pq.ParquetFile(texts) as file:
        for number in numbers:
            table = file.read_row_group(number)
            labels = {name: tuple(table.column(LABEL + name).to_pylist()) for name in plan.labels}
            pairs = () if plan.pair is None else tuple(table.column(LABEL + plan.pair).to_pylist())
            texts_of = tuple(table.column("text").to_pylist())
            yield Block(number, number * plan.settings.block_texts, texts_of, labels, pairs)
