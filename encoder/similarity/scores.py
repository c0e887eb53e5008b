"""Scores of words for the similarity of two texts: what attribution gives each, and leaving each out of its text.

Limits: a text without a word may be unusual, so deletion is not the ground truth. Deleting single words does not show
how words act together.

Shapes: W_a, W_b words of the two texts, n = W_a + W_b.
"""

from dataclasses import dataclass

import numpy as np
import torch

from encoder.encoders.text import TextEncoder
from encoder.inputs.text import Tokenized
from encoder.similarity.attribution import Attribution
from encoder.similarity.words import by_word, span, words_of


@dataclass(frozen=True, eq=False)
class WordScores:
    """A number for each word of both texts. a [W_a], b [W_b]: float64, in the order of the texts."""

    a: np.ndarray
    b: np.ndarray
    words_a: tuple[str, ...]
    words_b: tuple[str, ...]

    @property
    def both(self) -> np.ndarray:
        """[n]: the numbers of a, then those of b."""
        return np.concatenate([self.a, self.b])


def leave_words_out(model: TextEncoder, a: str, b: str) -> WordScores:
    """Cosine minus cosine without the word, for each word of a and of b: above 0 where the word makes them more alike.

    A word is deleted from its text with one space, and the text is tokenized again. A text that `embed` cuts is cut
    here first. Raises TextError if no token is left.
    """
    sentences = [model.tokenize(text, max_tokens=model.max_embed_tokens) for text in (a, b)]
    cut = [_kept_text(sentence) for sentence in sentences]
    shorter = [
        [_without(text, span(sentence, word)) for word in words_of(sentence)]
        for text, sentence in zip(cut, sentences, strict=True)
    ]
    vectors = torch.nn.functional.normalize(model.embed([*cut, *shorter[0], *shorter[1]]).cpu().double(), dim=-1)
    one, other, rest = vectors[0], vectors[1], vectors[2:]
    n_first = len(shorter[0])
    cosine = one @ other
    return _scores(sentences[0], sentences[1], cosine - rest[:n_first] @ other, cosine - rest[n_first:] @ one)


def word_scores(found: Attribution) -> WordScores:
    """What each word adds to the matrix: the sum of its rows (a), or of its columns (b)."""
    return _scores(
        found.a,
        found.b,
        by_word(found.matrix.sum(axis=1), found.a, np.sum),
        by_word(found.matrix.sum(axis=0), found.b, np.sum),
    )


def _kept_text(sentence: Tokenized) -> str:
    """The text as far as its tokens reach."""
    return sentence.text[: max(end for _, end in sentence.offsets)] if sentence.cut else sentence.text


def _without(text: str, characters: tuple[int, int]) -> str:
    before, after = text[: characters[0]], text[characters[1] :]
    if after.startswith(" ") and (not before or before.endswith(" ")):
        after = after[1:]
    return before + after


def _scores(a: Tokenized, b: Tokenized, scores_a: object, scores_b: object) -> WordScores:
    """Scores with the words as they are written in the texts."""
    names = [
        tuple(sentence.text[slice(*span(sentence, word))].strip() for word in words_of(sentence)) for sentence in (a, b)
    ]
    numbers = [np.asarray(scores, dtype=np.float64) for scores in (scores_a, scores_b)]
    return WordScores(numbers[0], numbers[1], names[0], names[1])
