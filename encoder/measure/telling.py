"""How specific the attention of one word is in each head: on other words, not uniform, not the head's habit.

A head that gives the word's attention to [CLS] or [SEP], to the word itself, to all words alike, to the same distance
as from every word, or to the same key as every word, tells nothing about this word.

    h_j = max of the means over nearby words q of A_{q, q + j - i} and of A_{qj}     the head's habit
    e_j = max(0, A_ij - h_j)                                    for the other words j; of a pronoun, those before it
    G   = sum_j e_j ln(n e_j / sum_k e_k)                                            in nats

G is the sum of e, the weight that only this word gives, times the Kullback-Leibler divergence of e, scaled to sum to 1,
from the uniform distribution over the n other words. The measure is defined here. Divergence from uniform attention is
ln n minus the entropy that Clark et al. (2019, section 3.3) take; the habit removes previous-token heads and the like,
which attend by position only (Voita et al. 2019, section 5.1), and stripes: a key that every word attends to.

Shapes: L layers, H heads, T tokens, R rows of the neighbourhood.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from encoder.measure.head_definitions import OWN, Definition
from encoder.trace import tokens
from encoder.trace.trace import SHORT, Trace

#: The habit of a head is averaged over the words among this many tokens on each side of the query.
NEIGHBOURS = 16
#: Up to this many words are tried for the most telling one, and in a text of more than LONG_TEXT tokens, where each
#: takes a fifth of a second.
MOST_TRIED, MOST_TRIED_LONG, LONG_TEXT = 12, 3, 1024
#: Pronouns of the third person: what they refer to is often another word of the text.
PRONOUNS = frozenset({"it", "he", "she", "they", "him", "her", "them"})
#: English words of grammar, which are not tried while the text has other words.
GRAMMAR = frozenset(
    "a an the this that these those of to in on at by for from with about into over under and or but if because so as "
    "than then when while not no is are was were be been being am do does did has have had will would can could may "
    "might shall should must i you we us our your my me his its their there who which what".split()
)
#: English words that carry little meaning of their own.
FUNCTION_WORDS = GRAMMAR | PRONOUNS

DEFINITION = Definition(
    "telling",
    "Information gain",
    "nats",
    r"\sum_{j\in W} e_j \ln\frac{n\,e_j}{\sum_{k\in W} e_k},\quad "
    r"e_j=\max\!\big(0,\ A_{ij}-h_j\big),\quad h_j=\max\big(\bar A_{j-i},\ \bar A_{\cdot j}\big)",
    OWN,
    "How specific the attention of word i is. W: the n other words, for a third-person pronoun only those before it, "
    "without special tokens, punctuation and the word's own pieces. h: the head's habit, the mean weight of nearby "
    "words at the same distance or on the same key. 0: uniform attention, or what every word does there. "
    "At most ln n: all weight on one word.",
)

Keys = Literal["all", "earlier"]


@dataclass(frozen=True)
class Choice:
    """A word and the head in which its attention is most specific. key: the word that it attends to most there."""

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


def information_gain(trace: Trace, query: int, *, keys: Keys | None = None) -> np.ndarray:
    """float64 [L, H], nats: G of one query in each head, from at most 2 NEIGHBOURS + 1 rows a head.

    keys: the other words that count: all, or those before the query; None: as `keys_of` says. NaN where fewer than two
    count.

    Raises:
        EncoderError: there is no such query.
    """
    trace.check_token(query)
    return _gains(trace, [query], keys or keys_of(trace, query))[0]


def most_telling(trace: Trace) -> Choice | None:
    """The word and head to begin with; None where no word has two others to attend to.

    A text with PRONOUNS: the pronoun with the largest gain over the words before it (`keys_of`).
    Otherwise the largest gain of the first MOST_TRIED words that are not FUNCTION_WORDS, of a long text
    MOST_TRIED_LONG.
    """
    most = MOST_TRIED if trace.n_tokens <= LONG_TEXT else MOST_TRIED_LONG
    words = [place for place, one in enumerate(is_word(trace)) if one]
    names = {place: trace.labels[place].lower() for place in words}
    pronouns = [place for place in words if names[place] in PRONOUNS]
    found = _best(trace, pronouns[:most], "earlier")
    if found is None:
        tried = [place for place in words if names[place] not in FUNCTION_WORDS] or words
        found = _best(trace, tried[:most], "all")
    return found


def keys_of(trace: Trace, query: int) -> Keys:
    """Which words count for a query: for PRONOUNS the words before it, where what it refers to often is.

    All other words for any other query, and for a pronoun with fewer than two words before it.
    """
    earlier = trace.labels[query].lower() in PRONOUNS
    words = tokens.as_mask(is_word(trace), trace)
    return "earlier" if earlier and int(_others(trace, words, query, "earlier").sum()) > 1 else "all"


def _best(trace: Trace, queries: Sequence[int], keys: Keys) -> Choice | None:
    """The query and head of the largest gain; None where none is above 0."""
    if not queries or not trace.config.n_layers:
        return None
    gains = np.nan_to_num(_gains(trace, queries, keys))
    at, layer, head = (int(place) for place in np.unravel_index(int(gains.argmax()), gains.shape))
    if gains[at, layer, head] <= 0:
        return None
    query = queries[at]
    row = trace.attention(layer, head, slice(query, query + 1))[0]
    words = tokens.as_mask(is_word(trace), trace)
    key = int((row * _others(trace, words, query, keys)).argmax())
    is_pronoun = trace.labels[query].lower() in PRONOUNS
    return Choice(query, layer, head, key, float(gains[at, layer, head]), is_pronoun)


def _gains(trace: Trace, queries: Sequence[int], keys: Keys) -> np.ndarray:
    """float64 [queries, L, H]."""
    words = tokens.as_mask(is_word(trace), trace)
    others = [_others(trace, words, query, keys) for query in queries]

    def of_heads(rows: Callable[[slice], Tensor]) -> Tensor:
        """float64 [queries, h]. rows: the attention [h, R, T] of some query rows."""
        found = []
        for query, other in zip(queries, others, strict=True):
            near = slice(max(0, query - NEIGHBOURS), min(trace.n_real, query + NEIGHBOURS + 1))
            found.append(_gain(rows(near), near.start, query, other, words).double())
        return torch.stack(found)

    layers = range(trace.config.n_layers)
    if trace.n_tokens <= SHORT:
        attention = trace.every_layer()[1].flatten(0, 1)
        gains = of_heads(lambda near: attention[:, near])
    else:
        gains = torch.cat([of_heads(partial(trace.layer_attention, layer)) for layer in layers], dim=1)
    return gains.reshape(len(queries), len(layers), -1).cpu().numpy()


def _others(trace: Trace, words: Tensor, query: int, keys: Keys) -> Tensor:
    """bool [T]: the other words that count for a query. words [T]: `is_word`."""
    others = words.clone()
    others[query if keys == "all" else slice(query, None)] = False
    of_word = tokens.words(trace)
    own = of_word[query]
    pieces = [query] if own < 0 else [place for place, one in enumerate(of_word) if one == own]
    others[pieces] = False
    return others


def _gain(rows: Tensor, first: int, query: int, others: Tensor, words: Tensor) -> Tensor:
    """[H]: G. rows [H, R, T]: attention of the neighbourhood from token `first` on; others, words: bool [T]."""
    n = int(others.sum())
    if n < 2:
        return torch.full(rows.shape[:1], torch.nan)
    row = rows[:, query - first]  # [H, T]
    own = ((row - _habit(rows, first, query, words)).clamp(min=0.0) * others).double()
    total = own.sum(-1, keepdim=True)
    shares = own / total.clamp(min=torch.finfo(own.dtype).tiny)
    return torch.special.xlogy(own, shares * n).sum(-1).clamp(min=0.0)


def _habit(rows: Tensor, first: int, query: int, words: Tensor) -> Tensor:
    """[H, T]: h_j, from the rows [H, R, T] of the neighbourhood's other words; words: bool [T]."""
    n_heads, n_rows, n_tokens = rows.shape
    near = slice(first, first + n_rows)
    counts = words[near].to(rows.dtype)
    counts[query - first] = 0.0
    # On the same key. A query's weight on itself is not a habit.
    itself = torch.zeros(n_tokens, dtype=rows.dtype, device=rows.device)
    itself[near] = counts
    on_key = counts @ rows  # [H, T]
    on_key[:, near] -= rows[..., near].diagonal(dim1=1, dim2=2) * counts
    on_key /= (counts.sum() - itself).clamp(min=1)
    # At the same distance: row r is moved by query - (first + r) and summed, so memory has zeros on both sides of it.
    moved = rows.new_zeros(n_heads + 1, n_rows, n_tokens + 2 * n_rows)
    inner = moved[..., n_rows : n_rows + n_tokens]
    torch.mul(rows, words, out=inner[:-1])
    inner[-1] = words  # beside the weights, what they are divided by
    moved *= counts.unsqueeze(-1)
    start = n_rows + first - query
    strides = (moved.stride(0), moved.stride(1) + 1, 1)
    at_distance = moved.as_strided((n_heads + 1, n_rows, n_tokens), strides, start).sum(1)
    return torch.maximum(at_distance[:-1] / at_distance[-1].clamp(min=1), on_key)
