"""One word twice in a sentence: how far its two vectors move apart, and which words each comes close to.

Shapes: L layers, T tokens, D d_model.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import torch

from encoder.errors import EncoderError
from encoder.measure import telling
from encoder.trace import tokens
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False)
class SameWord:
    """Two tokens of a sentence. cosines [L + 1]: of their vectors, after the embeddings and then after each layer;
    nearest: for each of the two, (token, cosine after the last layer) of the other words without FUNCTION_WORDS, the
    largest first.
    """

    places: tuple[int, int]
    cosines: np.ndarray
    nearest: tuple[tuple[tuple[int, float], ...], tuple[tuple[int, float], ...]]


@torch.no_grad()
def same_word(trace: Trace, first: int, second: int, n_nearest: int = 2) -> SameWord:
    """Compare two tokens of a trace. Raises EncoderError for a position without a token."""
    for place in (first, second):
        if not 0 <= place < trace.n_tokens:
            raise EncoderError(f"No token {place} in this trace: choose 0 to {trace.n_tokens - 1}.")
    streams = [x.double() / x.double().norm(dim=-1, keepdim=True).clamp(min=1e-30) for x in trace.streams]
    last = streams[-1]
    others = [
        place
        for place, counts in enumerate(has_meaning(trace))
        if counts and trace.labels[place] != trace.labels[first]
    ]

    def nearest(place: int) -> tuple[tuple[int, float], ...]:
        found = sorted(((float(last[place] @ last[one]), one) for one in others), reverse=True)
        return tuple((one, cosine) for cosine, one in found[:n_nearest])

    cosines = np.array([float(x[first] @ x[second]) for x in streams])
    return SameWord((first, second), cosines, (nearest(first), nearest(second)))


def again(trace: Trace, place: int) -> int | None:
    """The next token with the text of this one, or the one before it; None: it occurs once, or is a function word."""
    counts = has_meaning(trace)
    if not counts[place]:
        return None
    same = [one for one, label in enumerate(trace.labels) if counts[one] and label == trace.labels[place]]
    return next((one for one in same if one > place), same[0] if same[0] != place else None)


def has_meaning(trace: Trace) -> tuple[bool, ...]:
    """[T]: True for whole words that are not FUNCTION_WORDS; special tokens, punctuation and pieces are False."""
    of_word = tokens.words(trace)
    n_pieces = Counter(of_word)
    return tuple(
        one and label.lower() not in telling.FUNCTION_WORDS and (word < 0 or n_pieces[word] == 1)
        for one, label, word in zip(telling.is_word(trace), trace.labels, of_word, strict=True)
    )
