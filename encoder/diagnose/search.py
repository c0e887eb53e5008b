"""The search: which faults of the list, one, two or three together, give exactly these vectors.

Every candidate is run, and none is guessed. A few texts (the screen) decide first, all of them then; a text at which a
candidate fails joins the screen. Of the candidates of one size all are run before larger ones, so nothing simpler
explains what is named.

Shapes: N texts, D' width of a vector.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from pathlib import Path

import numpy as np

from encoder.diagnose import comparing
from encoder.diagnose.excluded import Excluded
from encoder.diagnose.faults import FAULTS, Clues, Fault
from encoder.diagnose.faults.precision import TOLERANCES, Precision, tolerance_of
from encoder.diagnose.fingerprint import fingerprint
from encoder.diagnose.pipeline import STAGES, Front, Pipeline, States
from encoder.diagnose.probes import unseen
from encoder.diagnose.unexplained import NEAR_SIZE, Errors, errors_of, most_telling
from encoder.diagnose.verdict import MOST_TOGETHER, Verdict
from encoder.encoders.signal import SignalEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, OutOfMemory, TextError, quoted
from encoder.version import __version__ as VERSION

#: Seconds from which on a search says what it may take.
LONG = 90.0
#: Texts of the screen, at first and at most.
SCREEN, MOST_SCREEN = 3, 8
#: Numbers of the states of two faults that are kept for three: 200 MB.
MOST_KEPT = 50_000_000
#: Explanations that are distinguished.
MOST_ALTERNATIVES = 4
#: Candidates to whose vectors a coarser number type is added.
NEAR = 4
#: The largest relative difference that rounding may have.
ROUNDING = 1.0
#: The correlation with simulated rounding that shows that this rounding is there, and in standard deviations of what
#: chance gives; other kernels round some steps differently.
SHARED, DEVIATIONS = 0.3, 6.0
#: How much smaller or larger simulated rounding may be.
SIZES = 0.4, 2.5
#: Texts that are diagnosed.
MOST_TEXTS = 2_000

Faults = tuple[Fault, ...]


@dataclass(frozen=True)
class Step:
    """Progress: candidates that were run, of how many in this part; seconds: what single faults may still take."""

    done: int
    total: int
    said: str
    seconds: float = 0.0

    @property
    def words(self) -> str:
        """What is done of the part, and what it may still take."""
        return ", ".join(filter(None, (f"{self.said}: {self.done} of {self.total}", self.estimate)))

    @property
    def estimate(self) -> str:
        """`seconds` in words; "" where they are few or unknown."""
        return f"about {self.seconds / 60:.0f} minutes for single faults, more for pairs" if self.seconds > LONG else ""


@dataclass(frozen=True, eq=False)
class Candidate:
    """Faults with the pipeline that has them, and how far its vectors of the screen are from those of the others."""

    faults: Faults
    pipeline: Pipeline
    distance: float = float("inf")
    #: As of a Verdict; such a candidate's distance is 1 minus it.
    correlation: float | None = None


Work = Generator[Step, None, Verdict]


def diagnose_gradually(
    base: Pipeline,
    texts: Sequence[str],
    vectors: np.ndarray,
    *,
    precision: str = "float32",
    batch: int | None = None,
    others: Sequence[TextEncoder | SignalEncoder] = (),
    lengths: Sequence[int] = (),
    folder: Path | None = None,
    together: int = MOST_TOGETHER,
    kept: Excluded | None = None,
    most_seconds: float | None = None,
) -> Work:
    """Why these vectors of another program differ from the model's; yields progress, returns the Verdict.

    base: the right pipeline; texts: or the names of its media; vectors: [N, D'], one for each text; precision: the
    number type of the other program; batch: texts in its batches (None: all together, or as is usual); others: models
    whose weights or tokenizers it may use; lengths: at which the folder's files cut or pad texts; folder: of the model;
    together: faults at once, 1 to 3; kept: what an earlier part of the same search has excluded; most_seconds: after
    which the answer is that of the part that is done. Raises EncoderError unless each text has one vector, whose
    numbers are finite and not all 0; and for inputs that the model cannot run.
    """
    if precision not in TOLERANCES:
        raise EncoderError(f"precision={quoted(precision)} is unknown: choose one of {', '.join(TOLERANCES)}.")
    if not 1 <= together <= MOST_TOGETHER:
        raise EncoderError(f"together={quoted(str(together))} is not possible: choose 1 to {MOST_TOGETHER}.")
    if not texts or len(texts) > MOST_TEXTS:
        raise EncoderError(f"{len(texts):,} inputs: specify 1 to {MOST_TEXTS:,}, the more different the better.")
    comparing.check(vectors, len(texts))
    search = _Search(base, tuple(texts), vectors.astype(np.float32), precision, together)
    search.clues = dataclasses.replace(
        search.clues, batch=batch, others=tuple(others), lengths=tuple(lengths), folder=folder
    )
    search.kept = Excluded() if kept is None else kept
    search.kept.begin(search.id)
    search.deadline = float("inf") if most_seconds is None else time.monotonic() + most_seconds
    try:
        return (yield from search.run())
    finally:
        search.kept.save()


class _Search:
    """One diagnosis: the right vectors, the screen, and what has been run."""

    def __init__(
        self,
        base: Pipeline,
        texts: tuple[str, ...],
        theirs: np.ndarray,
        precision: str,
        together: int,
    ) -> None:
        self.base, self.texts, self.theirs, self.together = base, texts, theirs, together
        self.precision = precision
        self.tolerance = comparing.SAME + comparing.written_precision(theirs)
        if precision != "float32":
            self.tolerance = max(self.tolerance, tolerance_of(precision))
        self.right = base.vectors(texts)
        distances = comparing.relative(self.right, theirs)
        agree = frozenset(np.flatnonzero(distances <= self.tolerance).tolist())
        self.clues = Clues(
            texts,
            theirs,
            right=agree if np.isfinite(distances).all() else None,
            ours=self.right,
            tokens=base.lengths(texts),
            limit=base.front.limit if isinstance(base.front, Front) else sys.maxsize,
        )
        self.screen = self._first_screen(distances)
        self._moved: dict[tuple[Faults, int], bool] = {}
        self._kept: dict[Faults, list[States] | None] = {}
        self._room = MOST_KEPT
        self._was_rounded: set[Faults] = set()
        #: Faults in batches that are not the likeliest.
        self.other_batches: set[Faults] = set()
        self.kept = Excluded()
        self.deadline = float("inf")
        self.excluded: list[str] = []
        self.open: list[str] = []
        self.only_together: list[Candidate] = []
        self.near: list[Candidate] = []

    def _first_screen(self, distances: np.ndarray) -> list[int]:
        """A text that agrees, if any; among those that differ the shortest, the longest and one between."""
        order = np.argsort(self.clues.tokens, kind="stable").tolist()
        wrong = [place for place in order if distances[place] > self.tolerance] or order
        chosen = [wrong[0], *wrong[len(wrong) // 3 :][:1], *wrong[2 * len(wrong) // 3 :][:1]]
        chosen += [place for place in order if place not in wrong][:1]
        return list(dict.fromkeys(chosen))[: SCREEN + 1]

    @property
    def id(self) -> str:
        """A digest of all that decides whether a candidate gives the vectors."""
        found = hashlib.sha256(fingerprint(self.base.model, self.base.front.prompt).id.encode())
        others = [fingerprint(one).id for one in self.clues.others]
        found.update(repr((VERSION, self.texts, self.tolerance, self.clues.batch, others)).encode())
        found.update(self.right.round(4).tobytes() + self.theirs.tobytes())
        return found.hexdigest()

    # --- the order of the work ----------------------------------------------------------------------------------------

    def run(self) -> Work:
        """All of the search, until an explanation is found."""
        if self.distance(self.right) <= self.tolerance:
            return self.verdict("sound" if self.distance(self.right) <= self._exact else "within-precision")
        repeats = self._repeats()
        singles = self.singles()
        both = self.for_more(singles)
        fronts = [one for one in both if not one.faults[0].at_end]
        ends = [*(one for one in both if one.faults[0].at_end), *self.only_together]
        #: What is run, how many candidates or their groups, how many faults together, and what runs them.
        parts: list[tuple[str, int, int, Callable[[], Iterator[list[Candidate]]]]] = [
            ("single faults", len(singles), 1, lambda: self._singles(singles)),
            ("rounding", 1, 1, self._rounded),
        ]
        if self.together > 1 and not repeats:
            parts += [
                (
                    "a fault before the pooling and one after it",
                    len(fronts),
                    2,
                    lambda: self._with_ends(fronts, ends, 1),
                ),
                ("two faults after the encoder", 1, 2, lambda: self._ends([Candidate((), self.base)], ends, 2)),
                ("two faults before the pooling", len(fronts), 2, lambda: self._pairs(fronts, [])),
                ("rounding", 1, 2, self._rounded),
            ]
        if self.together > 2 and not repeats:
            parts += [
                ("one before the pooling and two after it", len(fronts), 3, lambda: self._with_ends(fronts, ends, 2)),
                ("three faults after the encoder", 1, 3, lambda: self._ends([Candidate((), self.base)], ends, 3)),
                ("two before the pooling and one after it", len(fronts), 3, lambda: self._pairs(fronts, ends)),
                ("rounding", 1, 3, self._rounded),
            ]
        start = time.monotonic()
        self.states_of(Candidate((), self.base))
        once = time.monotonic() - start
        screen: tuple[int, ...] = ()
        place = 0
        yield Step(0, len(singles), parts[0][0], once * len(singles))
        while place < len(parts):
            said, total, number, part = parts[place]
            found: list[Candidate] = []
            screen = tuple(self.screen)
            for done, some in enumerate(part(), 1):
                left = once * max(0, total - done) if place == 0 else 0.0
                yield Step(min(done, total), total, said, left)
                found += some
                # Pairs that come first are as simple as the others: all of the part is run, unless it is long.
                if found and total > 1 and place > 1 and done >= total // 2 and len(found) >= MOST_ALTERNATIVES:
                    break
                if time.monotonic() > self.deadline and not found:
                    self.together = number - 1
                    return self._unexplained(repeats)
            if place == 0:
                self._note_excluded(singles)
            if found:
                return self._found(found)
            if tuple(self.screen) != screen and len(self.screen) <= MOST_SCREEN:
                place = 0 if place <= 1 else 2  # a text has joined the screen, where some candidates agree now
                continue
            place += 1
        return self._unexplained(repeats)

    def _note_excluded(self, singles: Sequence[Candidate]) -> None:
        """The names of faults that change the vectors of these texts, and not into the others; apart, those that
        might with batches that were not tried."""
        names = {one.faults[0].name: one.faults[0].of_batches and self.clues.batch is None for one in singles}
        self.excluded = [name for name, is_open in names.items() if not is_open]
        self.open = [name for name, is_open in names.items() if is_open]

    def _repeats(self) -> bool:
        """Whether equal texts have different vectors."""
        first: dict[str, int] = {}
        for place, text in enumerate(self.texts):
            at = first.setdefault(text, place)
            if comparing.relative(self.theirs[[place]], self.theirs[[at]])[0] > max(self.tolerance, 1e-3):
                return True
        return False

    # --- candidates ---------------------------------------------------------------------------------------------------

    def singles(self) -> list[Candidate]:
        """Every single fault that these texts, or the vectors' width, may show; those that fit best come first."""
        found = []
        for kind in sorted(FAULTS.values(), key=lambda kind: kind.rank):
            if kind is Precision or self.base.model.takes not in kind.takes:
                continue
            for fault in kind.candidates(self.base, self.clues):
                try:
                    found.append(Candidate((fault,), fault.apply(self.base)))
                except EncoderError:  # the model cannot have it, or only together with another one
                    if fault.at_end:
                        self.only_together.append(Candidate((fault,), self.base))
        return found

    def for_more(self, singles: Sequence[Candidate]) -> list[Candidate]:
        """Those that are tried together with others: of each kind the likeliest, and every batch (see `_pairs`)."""
        counts: dict[str, int] = {}
        found = []
        for one in singles:
            (fault,) = one.faults
            counts[fault.name] = counts.get(fault.name, 0) + 1
            likely = counts[fault.name] <= fault.most_together
            if likely or (fault.most_together and (fault.at_end or fault.of_batches)):  # ends are quick
                found.append(one)
            if fault.of_batches and not likely:
                self.other_batches.add(one.faults)
        return found

    def joined(self, candidate: Candidate, fault: Fault) -> Candidate | None:
        """A candidate with one more fault; None where the two do not go together."""
        if any(type(one) is type(fault) for one in candidate.faults):
            return None
        try:
            return Candidate((*candidate.faults, fault), fault.apply(candidate.pipeline))
        except EncoderError:
            return None

    # --- parts of the work --------------------------------------------------------------------------------------------

    def _singles(self, singles: Sequence[Candidate]) -> Iterator[list[Candidate]]:
        plain = Candidate((), self.base)
        for one in singles:
            yield self.explained(one, partial(self.states_of, plain if one.faults[0].at_end else one))

    def _with_ends(
        self, fronts: Sequence[Candidate], ends: Sequence[Candidate], number: int
    ) -> Iterator[list[Candidate]]:
        for front in self.active(fronts):
            yield [one for some in self._ends([front], ends, number) for one in some]

    def _ends(self, fronts: Sequence[Candidate], ends: Sequence[Candidate], number: int) -> Iterator[list[Candidate]]:
        """Each front with `number` faults of the end, on states that are computed once."""
        for front in fronts:
            states = cache(partial(self.states_of, front))
            found: list[Candidate] = []
            for chosen in combinations([one.faults[0] for one in ends], number):
                candidate: Candidate | None = front
                for fault in chosen:
                    candidate = None if candidate is None else self.joined(candidate, fault)
                if candidate is not None:
                    found += self.explained(candidate, states)
            yield found

    def _pairs(self, fronts: Sequence[Candidate], ends: Sequence[Candidate]) -> Iterator[list[Candidate]]:
        """Two faults of the front, with one of the end where `ends` has any. Batches that are not the likeliest are
        tried with faults of the same batches only."""
        active = self.active(fronts)
        for place, first in enumerate(active):
            found: list[Candidate] = []
            for second in active[place + 1 :]:
                batched = first.faults[0].of_batches and second.faults[0].of_batches
                if not batched and self.other_batches & {first.faults, second.faults}:
                    continue
                if not ends and not (self.moves(first, self.screen[0]) or self.moves(second, self.screen[0])):
                    continue  # the first text would stay as it is
                joined = self.joined(first, second.faults[0])
                if joined is None:
                    continue
                if ends:
                    found += [one for some in self._ends([joined], ends, 1) for one in some]
                else:
                    found += self.explained(joined, partial(self.states_of, joined))
            yield found

    def active(self, fronts: Sequence[Candidate]) -> list[Candidate]:
        """The faults that change a text of the screen, and none that is right without them."""
        right = frozenset() if self.clues.right is None else self.clues.right & set(self.screen)
        wrong = [place for place in self.screen if place not in right]
        return [
            one
            for one in sorted(fronts, key=lambda one: STAGES.index(one.faults[0].stage))
            if not any(self.moves(one, place) for place in right) and any(self.moves(one, place) for place in wrong)
        ]

    def moves(self, candidate: Candidate, place: int) -> bool:
        """Whether a candidate changes the vectors of a text's tokens, or its own."""
        key = candidate.faults, place
        if key not in self._moved:
            plain, other = (self.marks(one, place) for one in (Candidate((), self.base), candidate))
            self._moved[key] = plain is not None and other is not None and differs(plain, other)
        return self._moved[key]

    def marks(self, candidate: Candidate, place: int) -> np.ndarray | None:
        """The vectors of a text's real tokens and its own vector, in one row."""
        states = self.states_of(candidate) if place == self.screen[0] else self.states(candidate.pipeline, [place])
        try:
            if states is None:
                return None
            tokens = states[0].output[0][states[0].real[0]].float().cpu().numpy().ravel()
            return np.append(tokens, candidate.pipeline.end.of(states)[0])
        except (EncoderError, RuntimeError):
            return None

    def states_of(self, candidate: Candidate) -> list[States] | None:
        """The states of the first text of the screen; those of single faults are kept, of two while there is room."""
        if candidate.faults in self._kept:
            return self._kept[candidate.faults]
        found = self.states(candidate.pipeline, self.screen[:1])
        numbers = sum(one.output.numel() for one in found or ())
        if len(candidate.faults) < 2 or (len(candidate.faults) == 2 and numbers <= self._room):
            self._kept[candidate.faults] = found
            self._room -= numbers if len(candidate.faults) == 2 else 0
        return found

    def _rounded(self) -> Iterator[list[Candidate]]:
        """The nearest candidates with a coarser number type."""
        plain = Candidate((), self.base)
        first = self.distance_at(self.base, self.states_of(plain), self.screen[:1])
        nearer: list[Candidate] = []
        for one in self.near:  # the nearest first
            if one.distance < first / 2 and not any(_same_but_for_batches(one.faults, of.faults) for of in nearer):
                nearer.append(one)
        near = [dataclasses.replace(plain, distance=self.distance(self.right)), *nearer]
        best = [one for one in near if one.distance <= ROUNDING and one.faults not in self._was_rounded]
        found: list[Candidate] = []
        for one in sorted(best, key=lambda one: one.distance)[:NEAR]:
            self._was_rounded.add(one.faults)
            without = cache(partial(self.whole, one.pipeline))
            for fault in Precision.candidates(self.base, self.clues):
                candidate = self.joined(one, fault)
                if candidate is None:
                    continue
                states = partial(self.states, candidate.pipeline, self.screen[:1])
                found += (
                    self.explained(candidate, states) if not fault.noisy else self._noisy(without, candidate, states())
                )
            if found:
                break
        yield sorted(found, key=lambda one: one.distance)[:1]

    def _noisy(
        self, plain: Callable[[], np.ndarray | None], candidate: Candidate, states: list[States] | None
    ) -> list[Candidate]:
        """The candidate where its rounding and that of the vectors have most in common, on all texts. plain: makes the
        vectors without rounding."""
        (fault,) = (one for one in candidate.faults if isinstance(one, Precision))
        limit = tolerance_of(fault.kind)
        if self.distance_at(candidate.pipeline, states, self.screen[:1]) > limit:
            return []
        without, simulated = plain(), self.whole(candidate.pipeline)
        if without is None or simulated is None or comparing.relative(simulated, self.theirs).max() > limit:
            return []
        shared = comparing.correlation(self.theirs - without, simulated - without)
        size = np.linalg.norm(simulated - without) / max(float(np.linalg.norm(self.theirs - without)), 1e-12)
        if shared < max(SHARED, DEVIATIONS / self.theirs.size**0.5) or not SIZES[0] <= size <= SIZES[1]:
            return []
        return [dataclasses.replace(candidate, distance=1.0 - shared, correlation=shared)]

    # --- running ------------------------------------------------------------------------------------------------------

    def states(self, pipeline: Pipeline, places: Sequence[int]) -> list[States] | None:
        """The states of some texts; None where the pipeline cannot run them."""
        try:
            return pipeline.front.states(self.texts, places)
        except OutOfMemory:
            raise
        except (EncoderError, RuntimeError):
            return None

    def distance_at(self, pipeline: Pipeline, states: list[States] | None, places: Sequence[int]) -> float:
        """The largest relative difference of some texts; infinity where the pipeline has no such vectors."""
        if states is None:
            return float("inf")
        try:
            order, theirs = [*range(len(places))], self.theirs[sorted(places)]
            if pipeline.order:  # other texts have the vectors of these places
                of_all = pipeline.sources(self.texts)
                sources = [of_all[place] for place in sorted(places)]
                run = sorted(set(sources))
                states = pipeline.front.states(self.texts, run)
                order = [run.index(one) for one in sources]
            of_these = states
            found = pipeline.end.settled(lambda end: end.of(of_these)[order], theirs)
        except OutOfMemory:
            raise
        except (EncoderError, RuntimeError):
            return float("inf")
        return float(comparing.relative(found, theirs).max())

    def whole(self, pipeline: Pipeline) -> np.ndarray | None:
        """The vectors of all texts; None where the pipeline has none."""
        try:
            return pipeline.end.settled(
                lambda end: dataclasses.replace(pipeline, end=end).vectors(self.texts), self.theirs
            )
        except OutOfMemory:
            raise
        except (EncoderError, RuntimeError):
            return None

    def explained(self, candidate: Candidate, states: Callable[[], list[States] | None]) -> list[Candidate]:
        """The candidate where it gives the vectors of all texts, else nothing; near ones are kept.

        states: makes those of the first text of the screen, at which most candidates fail.
        """
        known = self.kept.distance(candidate.faults)
        if known is not None:  # an earlier part of the work has run it
            self.keep(dataclasses.replace(candidate, distance=known))
            return []
        for places in (self.screen[:1], self.screen):
            some = states() if len(places) == 1 else self.states(candidate.pipeline, places)
            distance = self.distance_at(candidate.pipeline, some, places)
            if distance > self.tolerance:
                return self.exclude(candidate, distance)
        whole = self.whole(candidate.pipeline)
        if whole is None:
            return self.exclude(candidate, float("inf"))
        distances = comparing.relative(whole, self.theirs)
        worst = int(distances.argmax())
        if distances[worst] > self.tolerance:
            if worst not in self.screen and len(self.screen) < MOST_SCREEN:
                self.screen.append(worst)
            return self.exclude(candidate, float(distances[worst]))
        return [dataclasses.replace(candidate, distance=float(distances.max()))]

    def exclude(self, candidate: Candidate, distance: float) -> list[Candidate]:
        """Keep a candidate as one that does not explain the vectors."""
        self.kept.add(candidate.faults, distance)
        self.keep(dataclasses.replace(candidate, distance=distance))
        return []

    def keep(self, candidate: Candidate) -> None:
        """Remember a candidate that is near."""
        if not np.isfinite(candidate.distance) or any(one.faults == candidate.faults for one in self.near):
            return
        self.near = sorted([*self.near, candidate], key=lambda one: one.distance)[: 3 * NEAR]

    def distance(self, vectors: np.ndarray) -> float:
        """The largest relative difference of all texts."""
        return float(comparing.relative(vectors, self.theirs).max())

    @property
    def _exact(self) -> float:
        return comparing.SAME + comparing.written_precision(self.theirs)

    # --- answers ------------------------------------------------------------------------------------------------------

    def _found(self, found: Sequence[Candidate]) -> Verdict:
        """The simplest explanation, those that these texts cannot exclude, and a text that separates them."""
        fewest = min(len(one.faults) for one in found)
        simple = [one for one in found if len(one.faults) == fewest]
        best = min(one.distance for one in simple)
        limit = max(3 * best, comparing.SAME)
        rivals = sorted((one for one in simple if one.distance <= limit), key=self._order)
        first = rivals[0]
        others: list[Faults] = []
        separating: list[str] = []
        for other in rivals[1:]:
            if len(others) == MOST_ALTERNATIVES:
                break
            if _same_but_for_batches(first.faults, other.faults):
                continue
            differs, text = self._separating(first.pipeline, other.pipeline)
            if differs:  # otherwise the two are the same for this model
                others.append(other.faults)
                separating += [] if text is None else [text]
        return self.verdict("fault", first, tuple(others), tuple(dict.fromkeys(separating)))

    @staticmethod
    def _order(candidate: Candidate) -> tuple[int, int]:
        """Which of equal explanations is named first."""
        return sum(one.unlikely for one in candidate.faults), len(str(candidate.faults))

    def _separating(self, one: Pipeline, other: Pipeline) -> tuple[bool, str | None]:
        """Whether two pipelines differ at a probe; and the one at which they differ most in a request of its own, which
        has the same batch for every program."""
        best, found = self.tolerance, None
        probes = self.base.probes()
        batched = any(front.batch is not None for front in (one.front, other.front))
        for text in probes if batched else unseen(self.texts, probes):
            difference = self._difference(one, other, (text,))
            if difference > best:
                best, found = difference, text
            if best > 0.1:
                break
        if found is not None:
            return True, found
        return any(self._difference(one, other, (*self.texts, text)) > comparing.SAME for text in probes), None

    @staticmethod
    def _difference(one: Pipeline, other: Pipeline, texts: Sequence[str]) -> float:
        """How far the vectors of the last text are from each other; 0 where one pipeline has none."""
        try:
            a, b = (pipeline.vectors(texts)[-1:] for pipeline in (one, other))
        except (EncoderError, RuntimeError):
            return 0.0
        return float(comparing.relative(a, b)[0])

    def _unexplained(self, repeats: bool) -> Verdict:
        if repeats:
            return self.verdict("not-repeatable")
        probes = unseen(self.texts, self.base.probes())
        if self.base.model.takes == "text":
            probes = most_telling(self.base.lengths(probes), self.texts, probes, self.clues.tokens)
        errors = errors_of(self.right, self.theirs, self.clues.tokens, self.clues.right or ())
        if not errors.is_noise:
            self.excluded.append(Precision.name)
        elif self.right.shape == self.theirs.shape:
            errors = dataclasses.replace(errors, like=self._like(float(np.median(errors.sizes))))
        return self.verdict("unknown", next_texts=probes, errors=errors)

    def _like(self, size: float) -> tuple[Precision, float] | None:
        """The rounding whose errors of the screen are nearest to a size, and their own size; each is run."""
        places = sorted(self.screen)
        right = self.right[places]
        found: list[tuple[float, Precision, float]] = []
        for fault in Precision.candidates(self.base, self.clues):
            pipeline = fault.apply(self.base)
            states = self.states(pipeline, places)
            if states is None:
                continue
            errors = np.linalg.norm(pipeline.end.of(states) - right, axis=1)
            own = float(np.median(errors / np.maximum(np.linalg.norm(right, axis=1), 1e-12)))
            far = abs(math.log(max(own, 1e-12) / size))
            found += [(far, fault, own)] if far <= math.log(NEAR_SIZE) else []
        return min(found, key=lambda one: one[0])[1:] if found else None

    def verdict(
        self,
        kind: str,
        candidate: Candidate | None = None,
        alternatives: tuple[Faults, ...] = (),
        next_texts: tuple[str, ...] = (),
        errors: Errors | None = None,
    ) -> Verdict:
        """The answer with its evidence."""
        right = self.right if self.right.shape == self.theirs.shape else None
        explained = right if candidate is None else self.whole(candidate.pipeline)
        nearest = None
        if kind == "unknown" and self.near:
            one = self.near[0]
            whole = self.whole(one.pipeline)
            nearest = None if whole is None else (one.faults, comparing.largest(whole, self.theirs))
        faults = () if candidate is None else candidate.faults
        return Verdict(
            verdict=kind,  # type: ignore[arg-type]
            difference=float("inf") if explained is None else comparing.largest(explained, self.theirs),
            difference_without=comparing.largest(self.right, self.theirs),
            correlation=None if candidate is None else candidate.correlation,
            faults=tuple(sorted(faults, key=lambda one: STAGES.index(one.stage))),
            alternatives=alternatives,
            excluded=tuple(name for name in self.excluded if name not in {one.name for one in faults}),
            not_excluded=tuple(name for name in self.open if name not in {one.name for one in faults}),
            next_texts=next_texts,
            together=self.together,
            fingerprint=fingerprint(self.base.model, self.base.front.prompt).id,
            nearest=nearest,
            errors=errors,
            texts=self.texts,
            theirs=self.theirs,
            right=right,
            explained=explained,
            takes=self.base.model.takes,
            prompt=self.base.front.prompt,
        )


def _same_but_for_batches(some: Faults, others: Faults) -> bool:
    """Whether two explanations are of the same faults, in batches of different sizes or order."""

    def without(faults: Faults) -> set[str]:
        return {
            repr((one.name, {name: value for name, value in one.parameters.items() if name != "batch"}))
            for one in faults
        }

    return without(some) == without(others)


def differs(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two rows of numbers differ by more than rounding."""
    return one.shape != other.shape or bool(np.abs(one - other).max() > comparing.SAME * np.abs(one).max())


def check_texts(texts: Sequence[object]) -> None:
    """Raise TextError for what is not a list of texts."""
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise TextError("A diagnosis needs a list of texts: specify one text for each vector.")
