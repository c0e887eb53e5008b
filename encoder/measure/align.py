"""Two attention maps held against each other: tokens aligned, weights subtracted, how much attention goes elsewhere.

Shapes: A steps of the alignment (queries down, keys across); S <= A cells of a pooled map; T tokens; L layers, H heads.
"""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from encoder.map_pooling import block_max, pooling_block
from encoder.measure import tiled_attention, tokens
from encoder.measure.aggregate import SpecialTokens
from encoder.trace import CHUNK_NUMBERS, Trace

Kind = Literal["same", "replaced", "first", "second"]

#: Above this many tokens difflib passes over tokens that are everywhere: each pair of them would be looked at.
EVERY_TOKEN = 1_024


@dataclass(frozen=True)
class Alignment:
    """Steps that walk through two token sequences at once. first, second [A]: the token at each step, None for a gap.

    kinds [A]: "same" and "replaced" steps have a token on both sides; "first" and "second" steps on one alone.
    """

    first: tuple[int | None, ...]
    second: tuple[int | None, ...]
    kinds: tuple[Kind, ...]

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def gaps(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The steps at which the first side has no token, and those at which the second has none."""
        return tuple(
            tuple(step for step, token in enumerate(side) if token is None) for side in (self.first, self.second)
        )  # type: ignore[return-value]

    def step_of(self, first: int | None = None, second: int | None = None) -> int | None:
        """The step of a token of the first side, or else of one of the second; None where neither is given or there."""
        if first is not None and first in self.first:
            return self.first.index(first)
        if second is not None and second in self.second:
            return self.second.index(second)
        return None


def align(first: Sequence[Hashable], second: Sequence[Hashable]) -> Alignment:
    """Align two sequences by `difflib.SequenceMatcher`.

    Where as many tokens are replaced as replace them, they stand at the same steps; otherwise each has a gap beside it.
    """
    pairs: list[tuple[int | None, int | None, Kind]] = []
    long = max(len(first), len(second)) > EVERY_TOKEN
    # What both begin and end with needs no search; two long texts are mostly that.
    head = _common(first, second)
    tail = _common(first[head:][::-1], second[head:][::-1])
    middle = first[head : len(first) - tail], second[head : len(second) - tail]
    matcher = difflib.SequenceMatcher(None, *middle, autojunk=long)
    opcodes = [("equal", -head, 0, -head, 0), *matcher.get_opcodes()]
    opcodes.append(("equal", len(middle[0]), len(middle[0]) + tail, len(middle[1]), len(middle[1]) + tail))
    for operation, a0, a1, b0, b1 in opcodes:
        ours, theirs = range(a0 + head, a1 + head), range(b0 + head, b1 + head)
        if operation == "equal" or (operation == "replace" and len(ours) == len(theirs)):
            kind: Kind = "same" if operation == "equal" else "replaced"
            pairs += [(one, other, kind) for one, other in zip(ours, theirs, strict=True)]
        else:
            pairs += [(one, None, "first") for one in ours] + [(None, other, "second") for other in theirs]
    return Alignment(*zip(*pairs, strict=True)) if pairs else Alignment((), (), ())


def _common(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """How many items both begin with."""
    return next(
        (place for place, (one, other) in enumerate(zip(first, second, strict=False)) if one != other),
        min(len(first), len(second)),
    )


def align_traces(first: Trace, second: Trace) -> Alignment:
    """Align the tokens of two traces by what a person reads, small and capital letters alike.

    Special tokens are told by what they do: [CLS] of one vocabulary and <s> of another are the same.
    """
    return align(*([*_names(trace)] for trace in (first, second)))


def _names(trace: Trace) -> Iterator[Hashable]:
    opens, special = tokens.special_position(trace, "cls"), tokens.is_special(trace)
    for label, is_special, is_first in zip(trace.labels, special, opens, strict=True):
        yield ("opens" if is_first else "parts",) if is_special else label.casefold()


def step_labels(
    first: Trace, second: Trace, alignment: Alignment
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """[A] three times: what a person calls each step on either side ("–": a gap), and where both are meant."""
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
    """[A]: labels of the steps, those that stand more than once with their position: "the (4)", the same on both sides;
    "the (4 | 6)", where it is another in the second; "the (– | 6)", where the first has none."""
    often = {label for label, count in Counter(labels).items() if count > 1}
    told = []
    for label, one, other in zip(labels, alignment.first, alignment.second, strict=True):
        places = " | ".join("–" if place is None else str(place) for place in dict.fromkeys((one, other)))
        told.append(f"{label} ({places})" if label in often else label)
    return tuple(told)


@dataclass(frozen=True, eq=False)
class Side:
    """One head of one trace."""

    trace: Trace
    layer: int
    head: int


@dataclass(frozen=True)
class Cell:
    """A pair of steps, and the weights that both sides give there."""

    query: int
    key: int
    first: float
    second: float

    @property
    def difference(self) -> float:
        """second - first."""
        return self.second - self.first


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two maps over the steps of their alignment; NaN where a side has no such query or key.

    first, second [S, S]: weights, of a long text the largest in each block of `block` steps squared; difference [S, S]:
    second - first, of a block the one that is farthest from 0; moved [A]: `moved_share` of each query, NaN at gaps;
    largest: the cells that differ most, most first.
    """

    alignment: Alignment
    first: Tensor
    second: Tensor
    difference: Tensor
    block: int
    moved: Tensor
    largest: tuple[Cell, ...]

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return sum(t.numel() * t.element_size() for t in (self.first, self.second, self.difference, self.moved))

    @property
    def top(self) -> float:
        """The largest weight of either side."""
        return max(float(part.nan_to_num(0.0).max()) for part in (self.first, self.second))

    @property
    def mean_moved(self) -> float:
        """Mean of `moved` over the queries that both sides have; 0 where there is none."""
        return _mean(self.moved)


def moved_share(first: Tensor, second: Tensor) -> Tensor:
    """[..., A], NaN for keys that a side has not -> [...]: the share of a query's attention that goes elsewhere.

    The total variation distance of two rows, half the sum of |second - first|: 0 where they are equal, 1 where they
    share no key (Levin and Peres 2017, section 4.1). What goes to a key that the other side has not counts in full.
    """
    return (second.nan_to_num(0.0) - first.nan_to_num(0.0)).abs().sum(dim=-1) / 2


def compare(
    first: Side,
    second: Side,
    alignment: Alignment,
    *,
    special: SpecialTokens = "show",
    size: int = 256,
    k: int = 8,
) -> Comparison:
    """Hold two heads against each other in memory that does not grow with A^2, beyond size x size cells.

    special: as in `window.attention_rows`; k: how many cells of `largest`.
    """
    block = pooling_block(max(len(alignment), 1), size)
    parts: tuple[list[Tensor], ...] = ([], [], [])
    moved, cells = [], []
    for start, ours, theirs in _rows(first, second, alignment, special, block):
        pooled = (_pooled(ours, block), _pooled(theirs, block), _farthest(theirs - ours, block))
        for kept, rows in zip(parts, pooled, strict=True):
            kept.append(rows)
        both = ours.isnan().all(dim=-1) | theirs.isnan().all(dim=-1)
        moved.append(torch.where(both, torch.nan, moved_share(ours, theirs)))
        cells += _largest(start, ours, theirs, k)
    cells.sort(key=lambda cell: (-abs(cell.difference), cell.query, cell.key))
    maps = (torch.cat(kept) for kept in parts)
    return Comparison(alignment, *maps, block, torch.cat(moved), tuple(cells[:k]))


def row_differences(
    first: Side, second: Side, alignment: Alignment, query: int, *, special: SpecialTokens = "show"
) -> list[Cell]:
    """One query step against every key step, exact however long the text; the weights that differ most come first.

    A weight is NaN where a side has no such query or key; such cells come by the other side's weight.
    """
    there = [_present(side) for side in (alignment.first, alignment.second)]
    steps = slice(query, query + 1)
    ours, theirs = (
        _spread(one, has, steps, special)[0].tolist() for one, has in zip((first, second), there, strict=True)
    )
    cells = [Cell(query, key, one, other) for key, (one, other) in enumerate(zip(ours, theirs, strict=True))]
    return sorted(cells, key=lambda cell: -abs(_known(cell.second) - _known(cell.first)))


def _known(weight: float) -> float:
    return 0.0 if math.isnan(weight) else weight


def _rows(
    first: Side, second: Side, alignment: Alignment, special: SpecialTokens, block: int
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """(first step, rows [n, A] of one side, of the other) over all steps, whole blocks at a time, on the CPU."""
    n_steps = len(alignment)
    at_once = max(1, CHUNK_NUMBERS // max(n_steps, 1) // block) * block
    there = [_present(side) for side in (alignment.first, alignment.second)]
    for start in range(0, n_steps, at_once):
        steps = slice(start, min(start + at_once, n_steps))
        yield start, *(_spread(one, has, steps, special) for one, has in zip((first, second), there, strict=True))


def _present(side: Sequence[int | None]) -> Tensor:
    return torch.tensor([token is not None for token in side], dtype=torch.bool)


def _spread(side: Side, present: Tensor, steps: slice, special: SpecialTokens) -> Tensor:
    """Rows of one side [n, A], its weights at the steps that it has, NaN elsewhere. present [A]: those steps."""
    here = present[steps]
    # The side's tokens come in order at the steps where it has one: so do its rows and its columns.
    first = int(present[: steps.start].sum())
    queries = slice(first, first + int(here.sum()))
    empty = torch.full((len(here), len(present)), torch.nan)
    if queries.start == queries.stop:
        return empty
    weights = tiled_attention.attention_rows(side.trace, side.layer, side.head, special, queries).cpu()
    if weights.shape == empty.shape:
        return weights
    columns = empty[: len(weights)].index_copy(1, present.nonzero()[:, 0], weights)
    return columns if len(columns) == len(empty) else empty.index_copy(0, here.nonzero()[:, 0], columns)


def _pooled(weights: Tensor, block: int) -> Tensor:
    """Weights [n, A], NaN where there is none -> [ceil(n / block), ceil(A / block)]: the largest of each block."""
    if block == 1:
        return weights
    largest = block_max(weights.nan_to_num(-1.0).unsqueeze(0), block)[0]
    return largest.masked_fill(largest < 0, torch.nan)


def _farthest(difference: Tensor, block: int) -> Tensor:
    """Like `_pooled`, for signed numbers: the entry of each block that is farthest from 0."""
    if block == 1:
        return difference
    most, least = (
        sign * block_max((sign * difference).nan_to_num(-2.0).unsqueeze(0), block)[0] for sign in (1, -1)
    )  # weights differ by less than 2
    return torch.where(most.abs() >= least.abs(), most, least).masked_fill(most <= -2.0, torch.nan)


def _largest(start: int, first: Tensor, second: Tensor, k: int) -> list[Cell]:
    """The k cells of some rows that differ most; fewer where not so many differ."""
    difference = (second - first).abs().nan_to_num(-1.0)
    # The k largest cells lie in the k rows with the largest ones.
    rows = difference.amax(dim=-1).topk(min(k, len(difference))).indices
    values, places = difference[rows].flatten().topk(min(k, len(rows) * first.shape[1]))
    found = []
    for value, place in zip(values.tolist(), places.tolist(), strict=True):
        row, key = int(rows[place // first.shape[1]]), place % first.shape[1]
        if value > 0:
            found.append(Cell(start + row, key, float(first[row, key]), float(second[row, key])))
    return found


def moved_by_head(
    first: Trace,
    second: Trace,
    alignment: Alignment,
    *,
    special: SpecialTokens = "show",
    head: tuple[int, int] | None = None,
    progress: Callable[[float], None] | None = None,
) -> np.ndarray:
    """float32 [L, H]: mean over queries of `moved_share`, for every head of `second` against the same head of `first`.

    head: hold every head against this (layer, head) of `first` instead; otherwise L and H are those that both have.
    """
    configs = (second.config,) if head is not None else (first.config, second.config)
    n_layers, n_heads = min(c.n_layers for c in configs), min(c.n_heads for c in configs)
    found = np.zeros((n_layers, n_heads), dtype=np.float32)
    for layer in range(n_layers):
        if progress is not None:
            progress(layer / n_layers)
        for one in range(n_heads):
            ours = Side(first, *(head or (layer, one)))
            found[layer, one] = _mean(_moved(ours, Side(second, layer, one), alignment, special))
    return found


def _moved(first: Side, second: Side, alignment: Alignment, special: SpecialTokens) -> Tensor:
    """[queries that both sides have]: `moved_share`."""
    parts = []
    for _, ours, theirs in _rows(first, second, alignment, special, 1):
        both = ~(ours.isnan().all(dim=-1) | theirs.isnan().all(dim=-1))
        parts.append(moved_share(ours, theirs)[both])
    return torch.cat(parts) if parts else torch.zeros(0)


def _mean(moved: Tensor) -> float:
    known = moved[~moved.isnan()]
    return float(known.mean()) if known.numel() else 0.0


def output_cosine(first: Trace, second: Trace, alignment: Alignment) -> Tensor | None:
    """[A]: cosine similarity of the two output vectors at each step, NaN at gaps; None for vectors of unlike width."""
    if first.output.shape[-1] != second.output.shape[-1]:
        return None
    steps = [step for step, kind in enumerate(alignment.kinds) if kind in ("same", "replaced")]
    ours = first.output[[alignment.first[step] for step in steps]].float().cpu()  # [n, D]
    theirs = second.output[[alignment.second[step] for step in steps]].float().cpu()
    found = torch.full((len(alignment),), torch.nan)
    found[steps] = torch.nn.functional.cosine_similarity(ours, theirs, dim=-1)
    return found


def least_alike(first: Trace, second: Trace, alignment: Alignment) -> tuple[int, float] | None:
    """The word that both sides have whose output vectors are least alike: (step, cosine). None where there is none."""
    cosine = output_cosine(first, second, alignment)
    if cosine is None:
        return None
    content, marks = tokens.is_content(first), tokens.is_punctuation(first)
    steps = [
        step
        for step, (kind, token) in enumerate(zip(alignment.kinds, alignment.first, strict=True))
        if kind == "same" and token is not None and content[token] and not marks[token]
    ]
    if not steps:
        return None
    step = min(steps, key=lambda one: float(cosine[one]))
    return step, float(cosine[step])
