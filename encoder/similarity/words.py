"""Whole words: an attribution whose cells are pairs of words, what each word gets, and each left out of its text.

Limits: a text without a word may be unusual, so deletion is not the ground truth. Deleting single words does not show
how words act together.

Shapes: T tokens and W words of one text; W_a, W_b words of the two texts, n = W_a + W_b; G_a, G_b words and special
tokens of the two texts.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from encoder.encoders.text import TextEncoder
from encoder.inputs.text import Tokenized
from encoder.similarity.attribution import Attribution

#: The token positions of one word.
Group = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Cells:
    """An attribution by token or by word. matrix float64 [G_a, G_b]; labels, groups: of its rows and of its columns.

    groups: the token positions whose numbers a row or a column adds up.
    """

    matrix: np.ndarray
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    groups: tuple[tuple[Group, ...], tuple[Group, ...]]

    def place(self, side: int, token: int | None) -> int | None:
        """The row (side 0) or column (side 1) of a token; None without one."""
        return next((place for place, group in enumerate(self.groups[side]) if token in group), None)

    def rank(self, row: int, column: int) -> int:
        """1 for the largest cell; equal cells share their rank."""
        return int((self.matrix > self.matrix[row, column]).sum()) + 1


def token_cells(found: Attribution) -> Cells:
    """Each token as a row or a column of its own."""
    groups = [tuple((token,) for token in range(len(sentence))) for sentence in (found.a, found.b)]
    return Cells(found.matrix, found.labels, (groups[0], groups[1]))


def word_cells(found: Attribution) -> Cells:
    """The tokens of a word added up: the sum over all cells is the same. Special tokens keep rows of their own."""
    groups = [groups_of(sentence) for sentence in (found.a, found.b)]
    labels = [
        tuple(_label(sentence, group) for group in of) for sentence, of in zip((found.a, found.b), groups, strict=True)
    ]
    rows = np.stack([found.matrix[list(group)].sum(axis=0) for group in groups[0]])
    matrix = np.stack([rows[:, list(group)].sum(axis=1) for group in groups[1]], axis=1)
    return Cells(matrix, (labels[0], labels[1]), (groups[0], groups[1]))


def groups_of(sentence: Tokenized) -> tuple[Group, ...]:
    """The words of a text and its special tokens, each by itself, in the order of their first tokens."""
    special: list[Group] = [(token,) for token, word in enumerate(sentence.words) if word < 0]
    return tuple(sorted([*words_of(sentence), *special]))


def words_of(sentence: Tokenized) -> list[Group]:
    """The token positions of each word, in the order of the text; special tokens belong to none."""
    groups: dict[int, list[int]] = {}
    for token, word in enumerate(sentence.words):
        if word >= 0:
            groups.setdefault(word, []).append(token)
    return [tuple(group) for group in groups.values()]


def span(sentence: Tokenized, word: Group) -> tuple[int, int]:
    """(first, one past the last) character of a word."""
    return min(sentence.offsets[token][0] for token in word), max(sentence.offsets[token][1] for token in word)


def by_word(values: np.ndarray, sentence: Tokenized, join: Callable[[np.ndarray], float]) -> np.ndarray:
    """values [T] -> [W]: the sum or the mean over the tokens of each word."""
    return np.array([join(values[list(word)]) for word in words_of(sentence)])


def _label(sentence: Tokenized, group: Group) -> str:
    """A word as it is written in the text, a special token as a person reads it."""
    if len(group) == 1 and sentence.words[group[0]] < 0:
        return sentence.labels[group[0]]
    return sentence.text[slice(*span(sentence, group))].strip() or sentence.labels[group[0]]


# --- a number for each word -------------------------------------------------------------------------------------------


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
