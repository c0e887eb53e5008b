"""Simpler attention maps: averaged over heads, in whole words, between two sentences.

Every function takes maps and returns new ones; none changes what the model computed.

Shapes: L layers, H heads, T tokens (queries i, keys j), W words.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

import numpy as np
import torch
from torch import Tensor

from encoder.errors import EncoderError, quoted
from encoder.model.overview import block_max, pooling_block
from encoder.trace import tokens
from encoder.trace.trace import Trace

SpecialTokens = Literal["show", "zero", "renormalise"]
Pairs = Literal["all", "a-b", "b-a", "a-a", "b-b"]

SPECIAL_TOKENS = ("show", "zero", "renormalise")
PAIRS = ("all", "a-b", "b-a", "a-a", "b-b")


class Groups(TypedDict, total=False):
    """The options that decide which cells a map has; `token_map` explains them."""

    pairs: Pairs
    words: bool
    padding: bool


class Cells(Groups, total=False):
    """The same, and what is in the cells."""

    special: SpecialTokens


@dataclass(frozen=True, eq=False)
class TokenMap:
    """A map in memory whose rows and columns show tokens, or for words of several tokens.

    weights [R, C], on the CPU; queries, keys: the token positions that each row and column shows; query_labels,
    key_labels: the same as a person reads them; n_padding: rows of padding, the last ones.
    """

    weights: Tensor
    queries: tuple[tuple[int, ...], ...]
    keys: tuple[tuple[int, ...], ...]
    query_labels: tuple[str, ...]
    key_labels: tuple[str, ...]
    n_padding: int = 0

    def row_of(self, token: int) -> int | None:
        """The row in which a token is, or None where it is not shown."""
        return next((row for row, group in enumerate(self.queries) if token in group), None)

    def column_of(self, token: int) -> int | None:
        """The column in which a token is, or None where it is not shown."""
        return next((column for column, group in enumerate(self.keys) if token in group), None)

    @property
    def places(self) -> tuple[Sequence[int], Sequence[int]]:
        """Position of the first token of each row, and of each column."""
        return [group[0] for group in self.queries], [group[0] for group in self.keys]

    def query_tokens(self, row: int) -> tuple[int, ...]:
        """The tokens of a row."""
        return self.queries[row]

    def key_tokens(self, column: int) -> tuple[int, ...]:
        """The tokens of a column."""
        return self.keys[column]

    def from_rows(self, rows: Sequence[int]) -> Tensor:
        """[C]: what these rows attend to, summed."""
        return self.weights[list(rows)].sum(dim=0)

    def to_columns(self, columns: Sequence[int]) -> Tensor:
        """[R]: who attends to these columns, summed."""
        return self.weights[:, list(columns)].sum(dim=1)

    def received(self) -> Tensor:
        """[C]: the mean weight that each column receives, over all rows but padding's."""
        return self._of_real_queries.mean(dim=0)

    def strongest(self, k: int) -> list[tuple[int, int, float]]:
        """The k largest cells as (row, column, weight), largest first; padding's rows do not count."""
        values, places = self._of_real_queries.flatten().sort(descending=True, stable=True)
        width = self.weights.shape[1]
        chosen = zip(values[:k].tolist(), places[:k].tolist(), strict=True)
        return [(place // width, place % width, value) for value, place in chosen]

    def pooled(self, size: int, rows: slice, columns: slice) -> tuple[Tensor, int]:
        """A window in at most size x size cells: (largest weight of each block, its side in rows and columns)."""
        block = pooling_block(max(rows.stop - rows.start, columns.stop - columns.start), size)
        return block_max(self.weights[rows, columns].unsqueeze(0), block)[0], block

    @property
    def _of_real_queries(self) -> Tensor:
        """[R - padding's, C]."""
        return self.weights[: len(self.weights) - self.n_padding]


def token_map(
    attention: Tensor, trace: Trace, *, special: SpecialTokens = "show", **options: Unpack[Groups]
) -> TokenMap:
    """attention [T, T] of `trace` -> what the options leave of it, in this order.

    special: as in `special_tokens`; pairs: from which sentence to which, special tokens counted to the sentence before
    them; words: weights to the pieces of a word are summed and weights from them averaged, so each row still sums to 1
    (Clark et al. 2019, section 4.1); a special token is a word of its own; padding: keep padding's rows and columns.
    """
    weights, queries, keys = chosen_cells(attention, trace, special=special, **options)
    return TokenMap(
        weights=weights,
        queries=queries,
        keys=keys,
        query_labels=tuple(group_label(trace, group) for group in queries),
        key_labels=tuple(group_label(trace, group) for group in keys),
        n_padding=sum(group[0] >= trace.n_real for group in queries),
    )


def dense_map(trace: Trace, layer: int | None, head: int | None, **options: Unpack[Cells]) -> TokenMap:
    """The `token_map` of a head, or of the mean over what is None; holds [T, T]."""
    on_cpu = trace if trace.mask.device.type == "cpu" else dataclasses.replace(trace, mask=trace.mask.cpu())
    return token_map(mean_attention(trace, layer, head).cpu(), on_cpu, **options)


def chosen_cells(
    attention: Tensor, trace: Trace, *, special: SpecialTokens = "show", **options: Unpack[Groups]
) -> tuple[Tensor, tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """[..., T, T] of several heads -> ([..., R, C], tokens of each row, of each column), as in `token_map`."""
    weights = special_tokens(attention, trace, special)
    queries, keys = token_groups(trace, **options)
    return merged(weights, queries, keys), queries, keys


def keeps_all(
    trace: Trace, *, special: SpecialTokens = "show", pairs: Pairs = "all", words: bool = False, padding: bool = False
) -> bool:
    """Whether these options leave a map as the model computed it."""
    return special == "show" and pairs == "all" and not words and (padding or trace.n_real == trace.n_tokens)


def token_groups(
    trace: Trace, *, pairs: Pairs = "all", words: bool = False, padding: bool = False
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """Which tokens each row and each column of a `token_map` with these options shows."""
    sentence = tokens.sentences(trace)
    first, second = (None, None) if pairs == "all" else ("ab".index(side) for side in pairs.split("-"))
    shown = [index for index, real in enumerate(tokens.is_real(trace)) if real or padding]
    rows = [index for index in shown if first is None or sentence[index] == first]
    columns = [index for index in shown if second is None or sentence[index] == second]
    return _grouped(trace, rows, words), _grouped(trace, columns, words)


def special_tokens(attention: Tensor, trace: Trace, how: SpecialTokens, queries: slice | None = None) -> Tensor:
    """attention [..., Ti, T], the rows `queries` of a map -> the same shape, without its special tokens.

    "zero": cells of special queries and keys become 0; "renormalise": then each row is divided by its sum; "show":
    nothing changes. Raises EncoderError for another word.
    """
    if how not in SPECIAL_TOKENS:
        raise EncoderError(f"special={quoted(how)}: choose one of {', '.join(SPECIAL_TOKENS)}.")
    if how == "show":
        return attention
    kept = ~tokens.as_mask(tokens.is_special(trace), trace)
    weights = attention * (kept[queries or slice(None)].unsqueeze(-1) & kept)  # [..., Ti, T]
    return rows_to_one(weights) if how == "renormalise" else weights


def rows_to_one(weights: Tensor) -> Tensor:
    """[..., T] -> the same, each row divided by its sum; a row of zeros stays as it is."""
    total = weights.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, weights / total.clamp(min=torch.finfo(weights.dtype).tiny), weights)


def _grouped(trace: Trace, chosen: list[int], by_word: bool) -> tuple[tuple[int, ...], ...]:
    if not by_word:
        return tuple((index,) for index in chosen)
    word_of = tokens.words(trace)
    groups: dict[object, list[int]] = {}
    for index in chosen:
        key = word_of[index] if word_of[index] >= 0 else ("alone", index)
        groups.setdefault(key, []).append(index)
    return tuple(tuple(group) for group in groups.values())


def merged(weights: Tensor, queries: tuple[tuple[int, ...], ...], keys: tuple[tuple[int, ...], ...]) -> Tensor:
    """[..., T, T] -> [..., R, C]: mean over each group of queries, sum over each group of keys."""
    rows = [index for group in queries for index in group]
    columns = [index for group in keys for index in group]
    weights = weights[..., rows, :][..., columns]
    if len(queries) == len(rows) and len(keys) == len(columns):
        return weights
    average = _membership(queries, weights)  # [R, rows]
    average = average / average.sum(dim=1, keepdim=True)
    return average @ weights @ _membership(keys, weights).T


def _membership(groups: tuple[tuple[int, ...], ...], like: Tensor) -> Tensor:
    """[groups, tokens]: 1 where the token, counted in order of the groups, is in the group."""
    sizes = torch.tensor([len(group) for group in groups], device=like.device)
    owner = torch.repeat_interleave(torch.arange(len(groups), device=like.device), sizes)
    return (torch.arange(len(groups), device=like.device).unsqueeze(-1) == owner).to(like.dtype)


def group_label(trace: Trace, group: tuple[int, ...]) -> str:
    """How a person reads a group of tokens: a single token's label; a word as it stands in the text."""
    if len(group) == 1 or trace.source is None:
        return " ".join(trace.labels[index] for index in group)
    source = trace.source.text
    if trace.source.pair is not None and tokens.sentences(trace)[group[0]] == 1:
        source = trace.source.pair
    start, end = trace.source.offsets[group[0]][0], trace.source.offsets[group[-1]][1]
    return source[start:end].strip() or "".join(trace.labels[index].removeprefix("##") for index in group)


# --- averages over heads and layers ----------------------------------------------------------------------------------


def mean_attention(
    trace: Trace, layer: int | None = None, head: int | None = None, queries: slice | None = None
) -> Tensor:
    """[T, T] or some rows: attention averaged over what is None: heads, layers or both; rows still sum to 1."""
    if layer is not None and head is not None:
        return trace.attention(layer, head, queries)
    layers = range(trace.config.n_layers) if layer is None else range(layer, layer + 1)
    total = torch.zeros(1, device=trace.mask.device)
    for one in layers:
        rows = trace.attention(one, head, queries) if head is not None else trace.layer_attention(one, queries).mean(0)
        total = total + rows  # [Ti, T]
    return total / len(layers)


def received(trace: Trace, layer: int, head: int | None = None) -> Tensor:
    """float64 [H, T], or [1, T] of one head, on the CPU: the mean weight that each key receives from real queries."""
    heads = slice(None) if head is None else slice(head, head + 1)
    total = torch.zeros(1, dtype=torch.float64)
    for _, _, attention in trace.attention_chunks(layer, heads, slice(0, trace.n_real)):
        total = total + attention.sum(dim=1).cpu().double()
    return total / trace.n_real


def to_uint8(weights: Tensor) -> np.ndarray:
    """Weights from 0 to 1 -> uint8 of the same shape, 255 for 1: for colours only, never for numbers that are read."""
    return (weights * 255).round().clamp(0, 255).to(torch.uint8).cpu().numpy()
