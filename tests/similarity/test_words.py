"""Cells of whole words, and all measures compared at once."""

from collections.abc import Callable

import numpy as np
import pytest

from encoder import TextEncoder, similarity


def test_the_cells_of_a_word_are_the_sums_of_its_tokens(make_tiny: Callable[..., TextEncoder]):
    found = similarity.attribute(make_tiny(), "the unhappy cat", "a dog", 3)
    cells = similarity.word_cells(found)
    assert cells.labels == (("[CLS]", "the", "unhappy", "cat", "[SEP]"), ("[CLS]", "a", "dog", "[SEP]"))
    assert cells.groups[0] == ((0,), (1,), (2, 3, 4), (5,), (6,))
    np.testing.assert_allclose(cells.matrix[2], found.matrix[2:5].sum(axis=0))
    np.testing.assert_allclose(cells.matrix[[0, 1, 3, 4]], found.matrix[[0, 1, 5, 6]])
    assert cells.matrix.sum() == pytest.approx(found.matrix.sum())
    assert [cells.place(0, token) for token in (1, 3, 6, 7, None)] == [1, 2, 4, None, None]


def test_the_rank_of_a_cell_counts_the_larger_ones(make_tiny: Callable[..., TextEncoder]):
    cells = similarity.token_cells(similarity.attribute(make_tiny(), "the cat", "a dog", 3))
    order = np.sort(cells.matrix, axis=None)[::-1]
    for row in range(4):
        for column in range(4):
            assert order[cells.rank(row, column) - 1] == cells.matrix[row, column]
