"""The measures next to attribution, and how well two measures agree."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoder import EncoderError, TextEncoder, similarity
from encoder.measure.norm_weighted import layer_shares
from encoder.measure.ranking import spearman
from encoder.similarity import simple_measures

A, B = "The cat sat, unhappy.", "A kitten rested on a rug"
NUMBERS = st.lists(st.integers(-9, 9).map(float), min_size=4, max_size=9)


def cosine(model: TextEncoder, a: str, b: str) -> float:
    one, other = model.embed([a, b]).double()
    return float(one @ other / one.norm() / other.norm())


def scores(*numbers: float) -> similarity.WordScores:
    words = tuple(f"w{place}" for place in range(len(numbers)))
    return similarity.WordScores(np.array(numbers[:2]), np.array(numbers[2:]), words[:2], words[2:])


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


def test_every_method_has_a_score_for_every_word(minilm: TextEncoder):
    found = similarity.attribute(minilm, A, B, 5)
    methods = similarity.method_scores(minilm, found)
    assert list(methods) == [
        "attribution", "output split", "output similarity", "attention", "norm-weighted attention",
    ]  # fmt: skip
    deletion = similarity.leave_words_out(minilm, A, B)
    for method in methods.values():
        assert (method.words_a, method.words_b) == (deletion.words_a, deletion.words_b)
        agreement = similarity.agreement(method, deletion)
        assert agreement.n_words == 12
        assert -1 <= agreement.low <= agreement.correlation <= agreement.high <= 1
    exact = similarity.word_scores(similarity.attribute(minilm, A, B, 6))
    np.testing.assert_allclose(methods["output split"].both, exact.both)
    h, g = (minilm.trace(text).output.double().numpy() for text in (A, B))
    cosines = h @ g.T / np.linalg.norm(h, axis=1)[:, None] / np.linalg.norm(g, axis=1)
    assert methods["output similarity"].b[1] == pytest.approx(cosines[1:-1, 2].max())
    trace = minilm.trace(A)
    shares = [layer_shares(trace, layer) for layer in range(6)]
    expected = np.mean([share.attention_share[2] for share in shares])
    assert methods["attention"].a[1] == pytest.approx(expected)
    expected = np.mean([share.norm_weighted_share[2] for share in shares])
    assert methods["norm-weighted attention"].a[1] == pytest.approx(expected)


def test_agreement_by_hand():
    some = scores(1, 2, 3, 4, 5, 6, 7, 8)
    same = similarity.agreement(some, scores(10, 20, 40, 50, 51, 60, 70, 90))
    assert (same.correlation, same.low, same.high) == pytest.approx((1, 1, 1))
    assert similarity.agreement(some, scores(8, 7, 6, 5, 4, 3, 2, 1)).correlation == pytest.approx(-1)
    # One swap of neighbours among eight: 1 - 6 x 2 / (8 x 63).
    assert similarity.agreement(some, scores(1, 3, 2, 4, 5, 6, 7, 8)).correlation == pytest.approx(1 - 12 / 504)


def test_agreement_says_what_it_cannot_compare():
    few = range(simple_measures.FEWEST_WORDS - 1)
    with pytest.raises(EncoderError, match=f"at least {simple_measures.FEWEST_WORDS}"):
        similarity.agreement(scores(*few), scores(*few))
    with pytest.raises(EncoderError, match="no order"):
        similarity.agreement(scores(*[1] * 8), scores(1, 2, 3, 4, 5, 6, 7, 8))
    with pytest.raises(EncoderError, match="different words"):
        similarity.agreement(scores(1, 2, 3, 4), scores(1, 2, 3, 4, 5))


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
