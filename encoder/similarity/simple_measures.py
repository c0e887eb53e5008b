"""Simpler measures than attribution, and how well two measures agree, such as each with a deletion test.

- Output-token similarity: the cosine of two output vectors, as in BERTScore (Zhang et al. 2020).
- Attention and norm-weighted attention (Kobayashi et al. 2020): what each token receives, averaged over layers, heads
  and queries. Neither knows the other text.
- Leaving words out: the change of the cosine when a word is deleted from its text.

Limits: a text without a word may be unusual, so deletion is not the ground truth. Deleting single words does not show
how words act together.

Shapes: T_a, T_b tokens and W_a, W_b words of the two texts, T tokens and W words of one, n = W_a + W_b.
"""

import contextlib
from dataclasses import dataclass

import numpy as np
import torch

from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.inputs.text import Tokenized
from encoder.measure.norm_weighted import token_shares
from encoder.measure.ranking import rank_correlation
from encoder.similarity.attribution import Attribution, attribute, splits_exactly
from encoder.similarity.paths import vectors_before
from encoder.similarity.words import by_word, span, words_of

#: With fewer words a high rank correlation comes by chance, and a bootstrap of them does not show it.
FEWEST_WORDS = 8


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


@dataclass(frozen=True)
class Agreement:
    """Spearman's rank correlation of two measures over the words of both texts, -1 to 1.

    low, high: the middle 95% of the correlations of `resamples` bootstrap samples, which draw words with replacement.
    Few words give a wide interval; the words of one pair of texts do not represent all texts.
    """

    correlation: float
    low: float
    high: float
    n_words: int
    resamples: int


def _cosines(model: TextEncoder, a: Tokenized, b: Tokenized) -> np.ndarray:
    outputs = [vectors_before(model, sentence, model.config.n_layers)[0].cpu().double() for sentence in (a, b)]
    one, other = (torch.nn.functional.normalize(output, dim=-1) for output in outputs)
    return (one @ other.T).numpy()


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


def method_scores(model: TextEncoder, found: Attribution) -> dict[str, WordScores]:
    """The words' scores by each measure: name -> scores.

    "attribution": `word_scores` of `found`; "output split": the same of the exact split, where the model has one;
    "output similarity": a token's largest cosine with a token of the other text, averaged over the word's tokens,
    special tokens left out; "attention", "norm-weighted attention": share that the word's tokens receive in their own
    text, averaged over layers and heads.
    """
    scores = {"attribution": word_scores(found)}
    if splits_exactly(model) and not found.is_exact:
        scores["output split"] = word_scores(attribute(model, found.a.text, found.b.text, model.config.n_layers))
    cosines = _cosines(model, found.a, found.b)
    content = [~np.array(sentence.special) for sentence in (found.a, found.b)]
    best_a = cosines.max(axis=1, where=content[1][None], initial=-1.0)
    best_b = cosines.max(axis=0, where=content[0][:, None], initial=-1.0)
    scores["output similarity"] = _scores(
        found.a, found.b, by_word(best_a, found.a, np.mean), by_word(best_b, found.b, np.mean)
    )
    received = [token_shares(model.trace_tokens(sentence)) for sentence in (found.a, found.b)]
    for number, name in enumerate(("attention", "norm-weighted attention")):
        one, other = (shares[number] for shares in received)
        scores[name] = _scores(found.a, found.b, by_word(one, found.a, np.sum), by_word(other, found.b, np.sum))
    return scores


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """Every measure next to the deletion test. agreements: empty for few words; a measure without an order has none."""

    deletion: WordScores
    scores: dict[str, WordScores]
    agreements: dict[str, Agreement]

    @property
    def best(self) -> str | None:
        """The measure with the largest rank correlation."""
        return max(self.agreements, key=lambda name: self.agreements[name].correlation, default=None)

    @property
    def rivals(self) -> list[str]:
        """The other measures that these words do not separate from the best: their intervals overlap."""
        if self.best is None:
            return []
        low = self.agreements[self.best].low
        return [name for name, one in self.agreements.items() if name != self.best and one.high >= low]


def compare_methods(model: TextEncoder, found: Attribution) -> MethodComparison:
    """Leave each word out, score the words by each measure, and correlate the two."""
    deletion = leave_words_out(model, found.a.text, found.b.text)
    scores = method_scores(model, found)
    agreements = {}
    for name, one in scores.items():
        with contextlib.suppress(EncoderError):  # too few words, or the same number for all
            agreements[name] = agreement(one, deletion)
    return MethodComparison(deletion, scores, agreements)


def agreement(one: WordScores, other: WordScores, resamples: int = 2000, seed: int = 0) -> Agreement:
    """How alike two measures order the words of both texts; the interval is a bootstrap over words.

    Raises EncoderError for measures of different words, for fewer than FEWEST_WORDS, and for a measure that is the same
    for all words. Samples with such a measure are left out of the interval.
    """
    pairs = np.stack([one.both, other.both]) if len(one.both) == len(other.both) else np.zeros((2, 0))
    if (one.words_a, one.words_b) != (other.words_a, other.words_b):
        raise EncoderError("The two measures score different words: compute both from the same texts.")
    n_words = pairs.shape[1]
    if n_words < FEWEST_WORDS:
        raise EncoderError(f"The texts have {n_words} words: a rank correlation needs at least {FEWEST_WORDS}.")
    found = rank_correlation(pairs[0], pairs[1], resamples, seed)
    if np.isnan(found.value):
        raise EncoderError("One measure is the same for all words, so it has no order: choose other texts.")
    return Agreement(found.value, found.low, found.high, n_words, resamples)


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
