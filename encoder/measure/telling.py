"""How tellingly one word attends in each head: to other words, unlike uniform attention, unlike the head's habit.

A head that gives the word's attention to [CLS] or [SEP], to the word itself, to all words alike, to the same distance
as from every word, or to the same key as every word, tells nothing about this word.

    h_j = max of the means over nearby words q of A_{q, q + j - i} and of A_{qj}     the head's habit
    e_j = max(0, A_ij - h_j)                                                         for the other words j
    G   = sum_j e_j ln(n e_j / sum_k e_k)                                            in nats

G is the sum of e, the weight that only this word gives, times the Kullback-Leibler divergence of e, scaled to sum to 1,
from the uniform distribution over the n other words. The measure is defined here. Divergence from uniform attention is
ln n minus the entropy that Clark et al. (2019, section 3.3) take; the habit removes previous-token heads and the like,
which attend by position alone (Voita et al. 2019, section 5.1), and stripes: a key that every word attends to.

Shapes: L layers, H heads, T tokens, R rows of the neighbourhood.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from encoder.errors import EncoderError
from encoder.measure import tokens
from encoder.measure.definitions import OWN, Definition
from encoder.trace import Trace

#: The habit of a head is averaged over the words among this many tokens on each side of the query.
NEIGHBOURS = 16
#: Up to this many words are tried for the most telling one.
MOST_TRIED = 12
#: Pronouns of the third person: what they refer to is often another word of the text.
PRONOUNS = frozenset({"it", "he", "she", "they", "him", "her", "them"})
#: English words of grammar, which are not tried while the text has other words.
GRAMMAR = frozenset(
    "a an the this that these those of to in on at by for from with about into over under and or but if because so as "
    "than then when while not no is are was were be been being am do does did has have had will would can could may "
    "might shall should must i you we us our your my me his its their there who which what".split()
)

DEFINITION = Definition(
    "telling",
    "Information gain",
    "nats",
    r"\sum_{j\in W} e_j \ln\frac{n\,e_j}{\sum_{k\in W} e_k},\quad "
    r"e_j=\max\!\big(0,\ A_{ij}-h_j\big),\quad h_j=\max\big(\bar A_{j-i},\ \bar A_{\cdot j}\big)",
    OWN,
    "How tellingly word i attends. W: the n other words, without special tokens, punctuation and the word's own "
    "pieces. h: the head's habit, the mean weight of nearby words at the same distance or on the same key. 0: uniform "
    "attention, or what every word does there. At most ln n: all weight on one word.",
)

Keys = Literal["all", "earlier"]


@dataclass(frozen=True)
class Choice:
    """A word and the head in which it attends most tellingly. key: the other word that it attends to most there."""

    query: int
    layer: int
    head: int
    key: int
    gain: float
    is_pronoun: bool


def is_word(trace: Trace) -> tuple[bool, ...]:
    """[T]: True for the tokens of the text that are neither special nor padding nor punctuation."""
    pairs = zip(tokens.is_content(trace), tokens.is_punctuation(trace), strict=True)
    return tuple(content and not mark for content, mark in pairs)


def information_gain(trace: Trace, query: int, *, keys: Keys = "all") -> np.ndarray:
    """float64 [L, H], nats: G of one query in each head, from at most 2 NEIGHBOURS + 1 rows a head.

    keys: the other words that count: all, or those before the query. NaN where fewer than two count.

    Raises:
        EncoderError: there is no such query.
    """
    if not 0 <= query < trace.n_real:
        raise EncoderError(f"No token {query} in this text: choose 0 to {trace.n_real - 1}.")
    return np.stack([of_layer[0] for of_layer in _layers(trace, [query], keys)])


def most_telling(trace: Trace) -> Choice | None:
    """The word and head to begin with; None where no word has two others to attend to.

    A text with PRONOUNS: the pronoun with the largest gain over the words before it, where what it refers to often is.
    Otherwise the largest gain of the first MOST_TRIED words that are not GRAMMAR.
    """
    words = [place for place, one in enumerate(is_word(trace)) if one]
    names = {place: trace.labels[place].lower() for place in words}
    pronouns = [place for place in words if names[place] in PRONOUNS]
    found = _best(trace, pronouns[:MOST_TRIED], "earlier")
    if found is None:
        tried = [place for place in words if names[place] not in GRAMMAR | PRONOUNS] or words
        found = _best(trace, tried[:MOST_TRIED], "all")
    return found


def of_word(trace: Trace, query: int) -> Choice | None:
    """The head in which this word attends most tellingly; None where every gain is 0."""
    return _best(trace, [query], "all")


def _best(trace: Trace, queries: Sequence[int], keys: Keys) -> Choice | None:
    """The query and head of the largest gain; None where none is above 0."""
    if not queries:
        return None
    gains = np.stack(list(_layers(trace, queries, keys)), axis=1)  # [queries, L, H]
    gains = np.nan_to_num(gains)
    at, layer, head = (int(place) for place in np.unravel_index(int(gains.argmax()), gains.shape))
    if gains[at, layer, head] <= 0:
        return None
    query = queries[at]
    row = trace.attention(layer, head, slice(query, query + 1))[0]
    key = int((row * _others(trace, query, keys)).argmax())
    is_pronoun = trace.labels[query].lower() in PRONOUNS
    return Choice(query, layer, head, key, float(gains[at, layer, head]), is_pronoun)


def _layers(trace: Trace, queries: Sequence[int], keys: Keys) -> Iterable[np.ndarray]:
    """For each layer float64 [queries, H]."""
    words = tokens.as_mask(is_word(trace), trace)
    around = [slice(max(0, i - NEIGHBOURS), min(trace.n_real, i + NEIGHBOURS + 1)) for i in queries]
    others = [_others(trace, i, keys) for i in queries]
    for layer in range(trace.config.n_layers):
        rows: dict[tuple[int, int], Tensor] = {}
        found = []
        for query, near, other in zip(queries, around, others, strict=True):
            place = (near.start, near.stop)
            if place not in rows:
                rows = {place: trace.layer_attention(layer, near)}  # [H, R, T]
            found.append(_gain(rows[place], near.start, query, other, words).double().cpu().numpy())
        yield np.stack(found)


def _others(trace: Trace, query: int, keys: Keys) -> Tensor:
    """bool [T]: the other words that count for a query."""
    of_word = tokens.words(trace)
    own = of_word[query]
    flags = tuple(
        one and place != query and (own < 0 or of_word[place] != own) and (keys == "all" or place < query)
        for place, one in enumerate(is_word(trace))
    )
    return tokens.as_mask(flags, trace)


def _gain(rows: Tensor, first: int, query: int, others: Tensor, words: Tensor) -> Tensor:
    """[H]: G. rows [H, R, T]: attention of the neighbourhood from token `first` on; others, words: bool [T]."""
    n = int(others.sum())
    if n < 2:
        return torch.full(rows.shape[:1], torch.nan)
    n_tokens = rows.shape[-1]
    row = rows[:, query - first]  # [H, T]
    # The key at the same distance from each other query: [R, T].
    queries = torch.arange(first, first + rows.shape[1], device=rows.device).unsqueeze(-1)
    keys = torch.arange(n_tokens, device=rows.device)
    counts = words[queries] & (queries != query) & (queries != keys)  # a query's weight on itself is no habit
    places = keys + queries - query
    inside = (places >= 0) & (places < n_tokens) & words[queries] & (queries != query)
    places = places.clamp(0, n_tokens - 1)
    inside &= words[places]
    weights = rows.gather(-1, places.expand(len(rows), -1, -1))  # [H, R, T]
    at_distance = (weights * inside).sum(1) / inside.sum(0).clamp(min=1)  # [H, T]
    on_key = (rows * counts).sum(1) / counts.sum(0).clamp(min=1)
    habit = torch.maximum(at_distance, on_key)
    own = ((row - habit).clamp(min=0.0) * others).double()
    total = own.sum(-1, keepdim=True)
    shares = own / total.clamp(min=torch.finfo(own.dtype).tiny)
    gain: Tensor = torch.special.xlogy(own, shares * n).sum(-1).clamp(min=0.0)
    return gain
