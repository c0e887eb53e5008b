"""The vectors of one side of a cosine with parts left out: each set of parts is run once, for all explanations of it.

Shapes: n sets, G parts of a side, E width of a vector.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
import torch

from encoder.errors import EncoderError
from encoder.scores.game import Values, shapley
from encoder.scores.sides import Side, masked_pool

V = TypeVar("V")
#: Texts whose vectors are kept, those that were used last.
MOST = 128


class computed_once(Generic[V]):
    """`functools.cached_property` without its lock of Python 3.11.

    That lock belongs to the property, not to the object: while one visitor's value is computed, all others wait.
    """

    def __init__(self, make: Callable[[Any], V]) -> None:
        self._make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, of: Any, owner: type | None = None) -> V:
        if of is None:
            return self  # type: ignore[return-value]
        found = of.__dict__[self._name] = self._make(of)
        return found


class SideVectors:
    """A side, the unit vectors of sets of its parts, and the Shapley values of these."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self._known: dict[bytes, np.ndarray] = {}
        #: The unit vector of the whole side, float64 [E].
        self.whole = self.vectors(side.everything())[0]

    def vectors(self, keep: np.ndarray) -> np.ndarray:
        """Unit vectors [n, E] in float64 of the sets keep, bool [n, G]."""
        found = self._run(keep)
        self._known.update((name, found[name]) for row in keep if (name := row.tobytes()) not in self._known)
        return np.array([found[row.tobytes()] for row in keep])

    def _run(self, keep: np.ndarray) -> dict[bytes, np.ndarray]:
        """The vectors by the bytes of their sets; those that are known are not run."""
        side, known = self.side, self._known
        rows = {row.tobytes(): row for row in keep}
        found = {name: known[name] for name in rows if name in known}
        new = [name for name in rows if name not in found]
        masks = np.array([rows[name] for name in new], dtype=bool).reshape(len(new), len(side))
        for places, output, kept in side.outputs(masks) if new else ():
            unit = torch.nn.functional.normalize(masked_pool(side, output, kept), dim=-1).cpu().numpy()
            found.update((new[place], vector) for place, vector in zip(places, unit, strict=True))
        if not all(np.isfinite(vector).all() for vector in found.values()):
            raise EncoderError("A vector here has no direction, so its cosine is undefined: choose another input.")
        return found

    @computed_once
    def values(self) -> Values:
        """The Shapley values of the parts. Words and pairs share the sets without a word; no other set is kept."""
        side = self.side
        special = side.x.shape[1] - sum(len(part.tokens) for part in side.parts)
        counts = side.kept_tokens(np.zeros((1, len(side)), dtype=bool))[0] & side.pooled
        has_empty = bool(special) and bool(counts.any())
        self.vectors(side.without_each())

        def vectors(keep: np.ndarray) -> np.ndarray:
            found = self._run(keep)
            return np.array([found[row.tobytes()] for row in keep])

        return shapley(vectors, len(side), side.x.shape[1], has_empty)


class Runs:
    """The vectors of the texts that were used last, for explanations that share them. Threads may share it, too."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, SideVectors] = OrderedDict()
        self._lock = Lock()

    def of(self, name: Hashable, make: Callable[[], SideVectors]) -> SideVectors:
        """What is kept under this name, or what `make` gives."""
        with self._lock:
            if (known := self._kept.get(name)) is not None:
                self._kept.move_to_end(name)
                return known
        made = make()
        with self._lock:
            found = self._kept.setdefault(name, made)
            self._kept.move_to_end(name)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return found


#: The runs of the first and of the second texts of scores.
BothRuns = tuple[Runs, Runs]
