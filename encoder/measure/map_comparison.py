"""Two attention maps over the steps of an alignment: their weights, differences and total variation distance.

Shapes: A steps of the alignment (queries down, keys across); S <= A cells of a pooled map; L layers, H heads.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from encoder.maps.aggregate import SpecialTokens
from encoder.maps.long_map import LongMap
from encoder.measure.align import Alignment
from encoder.model.overview import block_max, pooling_block
from encoder.trace import tokens
from encoder.trace.trace import CHUNK_NUMBERS, Trace


@dataclass(frozen=True, eq=False)
class TracedHead:
    """One head of one trace."""

    trace: Trace
    layer: int
    head: int


@dataclass(frozen=True)
class Cell:
    """A pair of steps, and its weight on both sides."""

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
    second - first, of a block the one farthest from 0; distance [A]: `total_variation` of each query, NaN at gaps;
    largest: the cells that differ most, the largest difference first.
    """

    alignment: Alignment
    first: Tensor
    second: Tensor
    difference: Tensor
    block: int
    distance: Tensor
    largest: tuple[Cell, ...]

    @property
    def most(self) -> Cell:
        """The cell that differs most; the first one where none differs."""
        return self.largest[0] if self.largest else Cell(0, 0, float(self.first[0, 0]), float(self.second[0, 0]))

    @property
    def top(self) -> float:
        """The largest weight of either side."""
        return max(float(part.nan_to_num(0.0).max()) for part in (self.first, self.second))

    @property
    def mean_distance(self) -> float:
        """Mean of `distance` over the queries that both sides have; 0 where there is none."""
        return _mean(self.distance)


def total_variation(first: Tensor, second: Tensor) -> Tensor:
    """[..., A], NaN for keys that a side lacks -> [...]: the share of a query's attention that differs.

    The total variation distance of two rows, half the sum of |second - first|: 0 where they are equal, 1 where they
    share no key (Levin and Peres 2017, section 4.1). The weight on a key that the other side lacks counts in full.
    """
    return (second.nan_to_num(0.0) - first.nan_to_num(0.0)).abs().sum(dim=-1) / 2


def compare(
    first: TracedHead,
    second: TracedHead,
    alignment: Alignment,
    *,
    special: SpecialTokens = "show",
    size: int = 256,
    k: int = 8,
) -> Comparison:
    """Compare two heads; the result holds at most size x size cells, however long the texts.

    special: as in `aggregate.special_tokens`; k: the number of cells in `largest`.
    """
    block = pooling_block(max(len(alignment), 1), size)
    ours, theirs, differences, distance = [], [], [], []
    cells: list[Cell] = []
    for start, one, other in _rows(first, second, alignment, special, block):
        ours.append(_pooled(one, block))
        theirs.append(_pooled(other, block))
        differences.append(_farthest(other - one, block))
        distance.append(_distance(one, other))
        cells += _largest(start, one, other, k)
    cells.sort(key=lambda cell: (-abs(cell.difference), cell.query, cell.key))
    maps = torch.cat(ours), torch.cat(theirs), torch.cat(differences)
    return Comparison(alignment, *maps, block=block, distance=torch.cat(distance), largest=tuple(cells[:k]))


def query_rows(
    first: TracedHead, second: TracedHead, alignment: Alignment, query: int, *, special: SpecialTokens = "show"
) -> tuple[Tensor, Tensor]:
    """[A] of both sides: what one query step attends to, NaN where a side lacks the query or the key."""
    steps = slice(query, query + 1)
    ours, theirs = (
        _spread(side, _present(tokens), steps, special)[0]
        for side, tokens in ((first, alignment.first), (second, alignment.second))
    )
    return ours, theirs


def distance_by_head(
    first: Trace,
    second: Trace,
    alignment: Alignment,
    *,
    special: SpecialTokens = "show",
    head: tuple[int, int] | None = None,
) -> np.ndarray:
    """float32 [L, H]: mean over queries of `total_variation` between every head of `second` and the same of `first`.

    head: compare every head with this (layer, head) of `first`; otherwise L and H are those that both models have.
    """
    configs = (second.config,) if head is not None else (first.config, second.config)
    n_layers, n_heads = min(c.n_layers for c in configs), min(c.n_heads for c in configs)
    found = np.zeros((n_layers, n_heads), dtype=np.float32)
    for layer in range(n_layers):
        for number in range(n_heads):
            sides = TracedHead(first, *(head or (layer, number))), TracedHead(second, layer, number)
            rows = [_distance(one, other) for _, one, other in _rows(*sides, alignment, special, 1)]
            found[layer, number] = _mean(torch.cat([torch.zeros(0), *rows]))
    return found


# --- rows over the steps ---------------------------------------------------------------------------------------------


def _rows(
    first: TracedHead, second: TracedHead, alignment: Alignment, special: SpecialTokens, block: int
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """(first step, rows [n, A] of one side, of the other) over all steps, whole blocks at a time, on the CPU."""
    n_steps = len(alignment)
    at_once = max(1, CHUNK_NUMBERS // max(n_steps, 1) // block) * block
    here, there = _present(alignment.first), _present(alignment.second)
    for start in range(0, n_steps, at_once):
        steps = slice(start, min(start + at_once, n_steps))
        yield start, _spread(first, here, steps, special), _spread(second, there, steps, special)


def _present(side: Sequence[int | None]) -> Tensor:
    """[A]: whether a side has a token at each step."""
    return torch.tensor([token is not None for token in side], dtype=torch.bool)


def _spread(side: TracedHead, present: Tensor, steps: slice, special: SpecialTokens) -> Tensor:
    """Rows of one side [n, A]: its weights at the steps where it has a token (`present`), NaN elsewhere."""
    here = present[steps]
    # A side's tokens keep their order in the alignment, so its rows and columns do, too.
    first = int(present[: steps.start].sum())
    queries = slice(first, first + int(here.sum()))
    empty = torch.full((len(here), len(present)), torch.nan)
    if queries.start == queries.stop:
        return empty
    weights = LongMap(side.trace, side.layer, side.head, special).rows(queries).cpu()
    if weights.shape == empty.shape:
        return weights
    columns = empty[: len(weights)].index_copy(1, present.nonzero()[:, 0], weights)
    return columns if len(columns) == len(empty) else empty.index_copy(0, here.nonzero()[:, 0], columns)


def _distance(first: Tensor, second: Tensor) -> Tensor:
    """Rows [n, A] twice -> [n]: `total_variation`, NaN for queries that a side lacks."""
    missing = first.isnan().all(dim=-1) | second.isnan().all(dim=-1)
    return torch.where(missing, torch.nan, total_variation(first, second))


def _mean(distance: Tensor) -> float:
    known = distance[~distance.isnan()]
    return float(known.mean()) if known.numel() else 0.0


def _pooled(weights: Tensor, block: int) -> Tensor:
    """Weights [n, A], some NaN -> [ceil(n / block), ceil(A / block)]: the largest of each block."""
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
    """The k cells of some rows that differ most; cells without a difference are left out."""
    difference = (second - first).abs().nan_to_num(-1.0)
    # The k largest cells lie in the k rows with the largest maxima.
    rows = difference.amax(dim=-1).topk(min(k, len(difference))).indices
    values, places = difference[rows].flatten().topk(min(k, len(rows) * first.shape[1]))
    found = []
    for value, place in zip(values.tolist(), places.tolist(), strict=True):
        row, key = int(rows[place // first.shape[1]]), place % first.shape[1]
        if value > 0:
            found.append(Cell(start + row, key, float(first[row, key]), float(second[row, key])))
    return found


# --- output vectors --------------------------------------------------------------------------------------------------


def output_cosine(first: Trace, second: Trace, alignment: Alignment) -> Tensor | None:
    """[A]: cosine of the two output vectors at each step, NaN at gaps; None for vectors of different width.

    1: the same direction; 0: orthogonal; -1: opposite.
    """
    if first.output.shape[-1] != second.output.shape[-1]:
        return None
    steps = [step for step, kind in enumerate(alignment.kinds) if kind in ("same", "replaced")]
    ours = first.output[[alignment.first[step] for step in steps]].float().cpu()  # [n, D]
    theirs = second.output[[alignment.second[step] for step in steps]].float().cpu()
    found = torch.full((len(alignment),), torch.nan)
    found[steps] = torch.nn.functional.cosine_similarity(ours, theirs, dim=-1)
    return found


def least_alike(first: Trace, second: Trace, alignment: Alignment) -> tuple[int, float] | None:
    """(step, cosine) of the shared word whose two output vectors have the smallest cosine; None where there is none."""
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
