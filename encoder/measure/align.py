"""Two token sequences step by step: which token of one corresponds to which of the other.

Shapes: A steps of the alignment.
"""

import difflib
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from encoder.trace import tokens
from encoder.trace.trace import Trace

Kind = Literal["same", "replaced", "first", "second"]

#: Above this many tokens difflib ignores very frequent tokens, since it would visit each pair of them.
EVERY_TOKEN = 1_024


@dataclass(frozen=True)
class Alignment:
    """Steps through two token sequences at once. first, second [A]: the token at each step, None for a gap.

    kinds [A]: "same" and "replaced" steps have a token on both sides; "first" and "second" steps on one side only.
    """

    first: tuple[int | None, ...]
    second: tuple[int | None, ...]
    kinds: tuple[Kind, ...]

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def gaps(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The steps at which the first side has no token, and those at which the second has none."""
        return _gaps(self.first), _gaps(self.second)

    def step_of(self, first: int | None = None, second: int | None = None) -> int | None:
        """The step of a token of the first side, or else of one of the second; None without such a token."""
        if first is not None and first in self.first:
            return self.first.index(first)
        if second is not None and second in self.second:
            return self.second.index(second)
        return None


def _gaps(side: Sequence[int | None]) -> tuple[int, ...]:
    return tuple(step for step, token in enumerate(side) if token is None)


def align(first: Sequence[Hashable], second: Sequence[Hashable]) -> Alignment:
    """Align two sequences by `difflib.SequenceMatcher`. Swapping the sequences swaps the sides of the result.

    Where as many tokens are replaced as replace them, they share their steps; otherwise each has a gap next to it.
    """
    pairs: list[tuple[int | None, int | None, Kind]] = []
    # A common beginning and end need no search; two long texts are mostly that.
    head = _common(first, second)
    tail = _common(first[head:][::-1], second[head:][::-1])
    ends = len(first) - tail, len(second) - tail
    middle = _matches(first[head : ends[0]], second[head : ends[1]])
    blocks = [("equal", 0, head, 0, head)]
    blocks += [(kind, a0 + head, a1 + head, b0 + head, b1 + head) for kind, a0, a1, b0, b1 in middle]
    blocks.append(("equal", ends[0], len(first), ends[1], len(second)))
    for operation, a0, a1, b0, b1 in blocks:
        ours, theirs = range(a0, a1), range(b0, b1)
        if operation == "equal" or (operation == "replace" and len(ours) == len(theirs)):
            kind: Kind = "same" if operation == "equal" else "replaced"
            pairs += [(one, other, kind) for one, other in zip(ours, theirs, strict=True)]
        else:
            pairs += [(one, None, "first") for one in ours] + [(None, other, "second") for other in theirs]
    return Alignment(*zip(*pairs, strict=True)) if pairs else Alignment((), (), ())


def _matches(first: Sequence[Hashable], second: Sequence[Hashable]) -> Sequence[tuple[str, int, int, int, int]]:
    """difflib's blocks, the same whichever sequence comes first: difflib itself is not symmetric."""
    autojunk = max(len(first), len(second)) > EVERY_TOKEN
    if (len(first), [*map(str, first)]) <= (len(second), [*map(str, second)]):
        return difflib.SequenceMatcher(None, first, second, autojunk).get_opcodes()
    mirrored = difflib.SequenceMatcher(None, second, first, autojunk).get_opcodes()
    return [(operation, b0, b1, a0, a1) for operation, a0, a1, b0, b1 in mirrored]


def _common(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """The number of equal items at the beginning of both."""
    return next(
        (place for place, (one, other) in enumerate(zip(first, second, strict=False)) if one != other),
        min(len(first), len(second)),
    )


def align_traces(first: Trace, second: Trace) -> Alignment:
    """Align the tokens of two traces by their labels; small and capital letters count as equal.

    Special tokens match by function: [CLS] of one vocabulary and <s> of another are equal.
    """
    return align([*_names(first)], [*_names(second)])


def _names(trace: Trace) -> Iterator[Hashable]:
    opens, special = tokens.special_position(trace, "cls"), tokens.is_special(trace)
    for label, is_special, is_first in zip(trace.labels, special, opens, strict=True):
        yield ("opens" if is_first else "parts",) if is_special else label.casefold()


def step_labels(
    first: Trace, second: Trace, alignment: Alignment
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """[A] three times: the label of each step on either side ("–": a gap), and for both sides together."""
    ours, theirs = (
        tuple("–" if token is None else trace.labels[token] for token in side)
        for trace, side in ((first, alignment.first), (second, alignment.second))
    )
    both = tuple(
        {"same": one, "replaced": f"{one} | {other}", "first": one, "second": other}[kind]
        for one, other, kind in zip(ours, theirs, alignment.kinds, strict=True)
    )
    return ours, theirs, both


def disambiguate(labels: Sequence[str], alignment: Alignment) -> tuple[str, ...]:
    """[A]: labels of the steps; repeated ones get their positions.

    "the (4)": position 4 on both sides; "the (4 | 6)": 4 in the first, 6 in the second; "the (– | 6)": only in the
    second.
    """
    repeated = {label for label, count in Counter(labels).items() if count > 1}
    named = []
    for label, one, other in zip(labels, alignment.first, alignment.second, strict=True):
        places = " | ".join("–" if place is None else str(place) for place in dict.fromkeys((one, other)))
        named.append(f"{label} ({places})" if label in repeated else label)
    return tuple(named)
