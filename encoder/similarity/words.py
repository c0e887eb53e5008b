"""Whole words: the tokens of each word, numbers by word, and an attribution whose cells are pairs of words.

Shapes: T tokens and W words of one text; G_a, G_b words and special tokens of the two texts.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

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
