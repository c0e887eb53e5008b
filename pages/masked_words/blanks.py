"""Words of a sentence that can be hidden behind [MASK], and what masked-word heads expect there."""

from __future__ import annotations

from dataclasses import dataclass

import encoder
from encoder.mlm import MaskedPrediction
from pages.core import cache

#: Up to so many blanks all words are ranked, so that the rank of the hidden one is known; above, the top ones alone.
RANKED_BLANKS = 4


@dataclass(frozen=True)
class Word:
    """A word of a text: its characters from `start` to `end`, and how many pieces the vocabulary makes of it."""

    text: str
    start: int
    end: int
    pieces: int


def words(trace: encoder.Trace, mask: str) -> list[Word]:
    """The words of the (first) sentence in order, special tokens and blanks left out."""
    source = trace.source
    if source is None:
        return []
    spans: dict[int, list[tuple[int, int]]] = {}
    for token, word, segment, special, offset in zip(
        source.tokens, source.words, source.segments, source.special, source.offsets, strict=True
    ):
        here = source.pair is None or segment == 0
        if word >= 0 and not special and token != mask and offset[1] > offset[0] and here:
            spans.setdefault(word, []).append(offset)
    found = []
    for offsets in spans.values():
        start, end = offsets[0][0], offsets[-1][1]
        found.append(Word(source.text[start:end], start, end, len(offsets)))
    return found


def hide(text: str, word: Word, mask: str) -> str:
    """The text with `mask` in the place of a word."""
    return text[: word.start] + mask + text[word.end :]


def blanks(model: encoder.TextEncoder, trace: encoder.Trace) -> int:
    """How many mask tokens the trace holds."""
    return trace.tokens.count(model.tokenizer.mask_token or "")


@dataclass(frozen=True)
class Guesses:
    """What a model expects at each blank. ranked: whether every word of the vocabulary is in them."""

    predictions: tuple[MaskedPrediction, ...]
    ranked: bool

    def rank(self, blank: int, word: str) -> tuple[int, float] | None:
        """(rank from 1, probability) of a word at a blank; None where it is no single entry of the vocabulary."""
        entry = self.predictions[blank]
        if not self.ranked or word not in entry.tokens:
            return None
        place = entry.tokens.index(word)
        return place + 1, entry.probabilities[place]


def guesses(key: cache.ModelKey, text: str, pair: str | None, top: int) -> Guesses:
    """The words that a model expects at every blank, kept. Raises EncoderError where it has no head, or no blank."""
    model = cache.model(key)
    ranked = blanks(model, cache.trace(key, text, pair)) <= RANKED_BLANKS
    k = model.config.vocab_size if ranked else top
    return cache.derived(
        key, text, pair, ("guesses", k), lambda trace: Guesses(tuple(model.predict_masked(trace, k)), ranked)
    )
