"""The information gain of a word's attention, on attention written by hand and against a second computation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from encoder import TextEncoder
from encoder.errors import EncoderError
from encoder.measure import telling
from encoder.measure.telling import NEIGHBOURS, information_gain, is_word, most_telling
from encoder.trace import tokens
from tests.engine import by_hand

N = 9  # [CLS] a b c d e f g [SEP]
QUERY, OTHER = 3, 7


def to_one(query: int, key: int, share: float = 1.0) -> np.ndarray:
    """Uniform attention, but this query gives a key this share and [SEP] the rest."""
    out = by_hand.uniform(N)
    out[query] = 0
    out[query, -1] = 1 - share
    out[query, key] += share
    return out


def expected(trace, query: int, keys: str) -> np.ndarray:
    """[L, H] in float64, pair by pair, by the formula."""
    words, of_word = is_word(trace), tokens.words(trace)
    others = [
        j for j in range(trace.n_tokens) if words[j] and of_word[j] != of_word[query] and (keys == "all" or j < query)
    ]
    near = [q for q in range(trace.n_real) if words[q] and q != query and abs(q - query) <= NEIGHBOURS]
    found = np.empty((trace.config.n_layers, trace.config.n_heads))
    for layer, head in np.ndindex(found.shape):
        a = trace.attention(layer, head).double().numpy()
        own = []
        for j in others:
            places = [(q, q + j - query) for q in near]
            habit = [a[q, k] for q, k in places if 0 <= k < trace.n_tokens and words[k]]
            stripe = [a[q, j] for q in near if q != j]
            means = [sum(group) / len(group) for group in (habit, stripe) if group]
            own.append(max(0.0, a[query, j] - max(means, default=0.0)))
        total = sum(own)
        found[layer, head] = sum(e * math.log(len(others) * e / total) for e in own if e)
    return found


@pytest.mark.parametrize("keys", ["all", "earlier"])
@pytest.mark.parametrize(
    "text", ["The unbelievable animal, it was too tired.", "The cat sat. " + "It was warm there; " * 12]
)
def test_the_formula_pair_by_pair(minilm: TextEncoder, text: str, keys: str) -> None:
    trace = minilm.trace(text)
    for query in (4, trace.n_tokens - 3):
        found = information_gain(trace, query, keys=keys)
        np.testing.assert_allclose(found, expected(trace, query, keys), atol=1e-5)


def test_what_tells_nothing_about_a_word_has_no_gain() -> None:
    """[SEP], the word itself, all words alike, the previous token, the next one, a key that every word attends to."""
    dull = [
        by_hand.one_hot(N, N - 1),
        by_hand.identity(N),
        by_hand.uniform(N),
        by_hand.to_previous(N),
        by_hand.to_next(N),
        by_hand.one_hot(N, OTHER),
    ]
    trace = by_hand.written(np.stack([dull]))
    np.testing.assert_allclose(information_gain(trace, QUERY), np.zeros((1, len(dull))), atol=1e-6)


def test_all_weight_on_one_word_has_the_largest_gain_and_a_separator_takes_its_share() -> None:
    heads = [to_one(QUERY, OTHER), to_one(QUERY, OTHER, 0.5), to_one(QUERY, OTHER, 0.02), to_one(QUERY, QUERY + 1)]
    sharp, half, little, adjacent = information_gain(by_hand.written(np.stack([heads])), QUERY)[0]
    most = math.log(6)  # seven words, one of them the query
    assert most * 0.8 < sharp < most
    assert adjacent == pytest.approx(sharp, rel=0.05), "an adjacent word counts as much, if others do not do the same"
    assert sharp > half > 10 * little >= 0


def test_padding_and_punctuation_do_not_count() -> None:
    tokens = ("[CLS]", "a", ",", "b", "c", ".", "[SEP]")
    attention = np.stack([by_hand.uniform(7), by_hand.uniform(7)])
    attention[0, 1], attention[1, 1] = np.eye(7)[5], np.eye(7)[4]
    padded = np.zeros((1, 2, 9, 9))
    padded[0, :, :7, :7] = attention
    padded[0, :, 7:] = 1 / 9
    alone, with_padding = by_hand.written(attention[None], tokens), by_hand.written(padded, tokens, n_padding=2)
    mark, word = information_gain(alone, 1)[0]
    assert mark == pytest.approx(0, abs=1e-6)
    assert word > 0.4
    np.testing.assert_allclose(information_gain(with_padding, 1), [[mark, word]], atol=1e-6)


def test_too_few_words_have_no_number(minilm: TextEncoder) -> None:
    assert np.isnan(information_gain(minilm.trace("one two"), 1)).all()
    assert np.isnan(information_gain(minilm.trace(""), 0)).all()
    for text in ("", "one", "one two", "...", "🙂"):
        assert most_telling(minilm.trace(text)) is None
    with pytest.raises(EncoderError, match="0 to 3"):
        information_gain(minilm.trace("one two"), 4)


def test_a_long_text_needs_few_rows(minilm: TextEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = minilm.trace("The king saw a crown and he took it home. " * 30)
    most = 0
    compute = type(trace).layer_attention

    def counted(self, layer, queries=None):
        nonlocal most
        rows = compute(self, layer, queries)
        most = max(most, rows.shape[1])
        return rows

    monkeypatch.setattr(type(trace), "layer_attention", counted)
    assert np.isfinite(information_gain(trace, 150)).all()
    assert 1 < most <= 2 * NEIGHBOURS + 1


def test_a_pronoun_is_chosen_and_attends_to_an_earlier_word(minilm: TextEncoder) -> None:
    trace = minilm.trace("The animal didn't cross the street because it was too tired.")
    found = most_telling(trace)
    assert found is not None
    assert trace.labels[found.query] == "it"
    assert found.is_pronoun
    assert found.key < found.query
    gains = information_gain(trace, found.query, keys="earlier")
    assert found.gain == gains.max() == gains[found.layer, found.head]
    assert trace.labels[found.key] == "animal"


def test_without_a_pronoun_a_content_word_is_chosen(minilm: TextEncoder) -> None:
    trace = minilm.trace("We walked along the bank of the river.")
    found = most_telling(trace)
    assert found is not None
    assert not found.is_pronoun
    assert trace.labels[found.query] not in telling.GRAMMAR
    places = [i for i, label in enumerate(trace.labels) if label in ("walked", "along", "bank", "river")]
    assert found.gain == max(information_gain(trace, place).max() for place in places)


def test_a_long_text_tries_fewer_words(minilm: TextEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    trace, gains, tried = minilm.trace("cats dogs birds chase small green mice"), telling._gains, []
    monkeypatch.setattr(telling, "_gains", lambda *given: tried.append(given[1]) or gains(*given))
    most_telling(trace)
    monkeypatch.setattr(telling, "LONG_TEXT", 8)
    most_telling(trace)
    assert tried == [list(range(1, 8)), [1, 2, 3]]
