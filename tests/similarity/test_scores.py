"""Scores of words, and the order of ranks."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoder import TextEncoder, similarity
from encoder.measure.ranking import spearman

A, B = "The cat sat, unhappy.", "A kitten rested on a rug"
NUMBERS = st.lists(st.integers(-9, 9).map(float), min_size=4, max_size=9)


def cosine(model: TextEncoder, a: str, b: str) -> float:
    one, other = model.embed([a, b]).double()
    return float(one @ other / one.norm() / other.norm())


def test_a_word_that_is_left_out(minilm: TextEncoder):
    found = similarity.leave_words_out(minilm, A, B)
    assert found.words_a == ("The", "cat", "sat", ",", "unhappy", ".")
    assert found.words_b == tuple(B.split())
    whole = cosine(minilm, A, B)
    for place, text in enumerate(
        ("cat sat, unhappy.", "The sat, unhappy.", "The cat , unhappy.", "The cat sat unhappy.", "The cat sat, .")
    ):
        assert found.a[place] == pytest.approx(whole - cosine(minilm, text, B), abs=1e-6)
    for place, text in enumerate(("kitten rested on a rug", "A rested on a rug", "A kitten on a rug")):
        assert found.b[place] == pytest.approx(whole - cosine(minilm, A, text), abs=1e-6)
    assert found.words_b[int(found.b.argmax())] == "kitten"


def test_a_cut_text_is_cut_before_a_word_is_left_out(make_tiny: Callable[..., TextEncoder]):
    model = dataclasses.replace(make_tiny(), max_embed_tokens=5)
    found = similarity.leave_words_out(model, "the cat sat on a mat", "a dog ran")
    assert found.words_a == ("the", "cat", "sat")
    expected = cosine(model, "the cat sat", "a dog ran") - cosine(model, "the cat", "a dog ran")
    assert found.a[2] == pytest.approx(expected, abs=1e-6)


def test_the_score_of_a_word_is_the_sum_of_its_tokens(make_tiny: Callable[..., TextEncoder]):
    found = similarity.attribute(make_tiny(), "the unhappy cat", "a dog", 3)
    assert found.tokens[0] == ("[CLS]", "the", "un", "##happ", "##y", "cat", "[SEP]")
    words = similarity.word_scores(found)
    assert words.words_a == ("the", "unhappy", "cat")
    rows = found.matrix.sum(axis=1)
    np.testing.assert_allclose(words.a, [rows[1], rows[2:5].sum(), rows[5]])
    np.testing.assert_allclose(words.b, found.matrix.sum(axis=0)[1:3])


@given(one=NUMBERS, seed=st.integers(0, 99))
def test_a_rank_correlation_depends_on_order_alone(one: list[float], seed: int):
    first = np.array(one)
    second = np.random.default_rng(seed).permutation(first)
    found = spearman(first, second)
    if len(set(one)) == 1:
        assert np.isnan(found)
        return
    assert -1 - 1e-12 <= found <= 1 + 1e-12
    assert found == pytest.approx(spearman(second, first))
    assert found == pytest.approx(spearman(np.exp(first), second**3))
    assert found == pytest.approx(-spearman(-first, second))
    assert spearman(first, first) == pytest.approx(1)
