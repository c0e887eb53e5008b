"""Hiding tokens and measuring the change of the sentence embedding."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from encoder import TextEncoder
from encoder.edits import MaskKeys
from encoder.errors import EncoderError
from encoder.measure import deletion
from encoder.measure.deletion import deletion_test, ranking, usual_counts
from tests.engine import by_hand

TEXT = "The cat sat on the mat"


def change(model: TextEncoder, text: str, *edits: MaskKeys) -> float:
    """1 - cosine of the mean-pooled embeddings, by numpy."""
    one, other = (model.trace(text, edits=some).output.double().mean(0).numpy() for some in ((), edits))
    return 1 - one @ other / np.linalg.norm(one) / np.linalg.norm(other)


def test_the_ranking_is_by_mean_weight():
    maps = np.stack([by_hand.one_hot(6, 3), by_hand.uniform(6)])[None]
    trace = by_hand.written(maps)
    favourite = ranking(trace, 0, 0)
    assert favourite.by_attention[0] == 3
    np.testing.assert_allclose(favourite.received, [0, 0, 0, 1, 0, 0], atol=1e-6)
    assert ranking(trace, 0, 1).by_attention == (0, 1, 2, 3, 4, 5), "the earlier one among equals"
    assert ranking(trace, 0, 1, "words").places == (1, 2, 3, 4)
    lengths = ranking(trace, 0, 1).norm_weighted * 6
    assert ranking(trace, 0, 1).by_norm_weighted == tuple(np.argsort(-lengths, kind="stable"))


@pytest.mark.parametrize("scope", ["model", "layer", "head"])
def test_each_change_is_that_of_a_masked_run(minilm: TextEncoder, scope: str):
    trace, seen = minilm.trace(TEXT), []
    found = deletion_test(minilm, trace, 3, 4, counts=(1, 3), seeds=(0, 7), scope=scope, progress=seen.append)
    place = {"model": {}, "layer": {"layer": 3}, "head": {"layer": 3, "head": 4}}[scope]
    received = trace.attention(3, 4).mean(0)
    order = tuple(received.argsort(descending=True, stable=True).tolist())
    assert found.order == order[:3]
    for column, k in enumerate((1, 3)):
        assert found.by_attention[column] == pytest.approx(change(minilm, TEXT, MaskKeys(order[:k], **place)), abs=1e-6)
        weighted = found.norm_weighted_order[:k]
        assert found.by_norm_weighted[column] == pytest.approx(
            change(minilm, TEXT, MaskKeys(weighted, **place)), abs=1e-6
        )
    shuffled = np.random.default_rng(7).permutation(range(trace.n_tokens))[:3]
    assert found.random.shape == (2, 2)
    edit = MaskKeys(tuple(int(token) for token in shuffled), **place)
    assert found.random[1, 1] == pytest.approx(change(minilm, TEXT, edit), abs=1e-6)
    assert seen[-1] == 1


def test_the_drop_of_another_outcome(minilm: TextEncoder):
    trace = minilm.trace(TEXT)
    found = deletion_test(minilm, trace, 3, 4, counts=(1,), seeds=(0,), outcome=lambda run: float(run.output[1, 7]))
    hidden = minilm.trace(TEXT, edits=(MaskKeys(found.order),))
    assert found.by_attention[0] == pytest.approx(float(trace.output[1, 7] - hidden.output[1, 7]), abs=1e-5)


def test_words_alone(minilm: TextEncoder):
    found = deletion_test(minilm, minilm.trace(TEXT), 3, 4, candidates="words", seeds=(0,))
    assert found.counts == (1, 2, 3, 4, 5, 6)
    assert sorted(found.order) == [1, 2, 3, 4, 5, 6]
    # All six words are hidden in the end, whatever the order.
    assert found.by_attention[-1] == pytest.approx(found.by_norm_weighted[-1])
    assert found.by_attention[-1] == pytest.approx(found.random[0, -1])


def test_hiding_the_sink_changes_much_though_it_brings_little(minilm: TextEncoder):
    """What the page says: [CLS] gets most of L3 H4's attention and brings least of it, and hiding it changes much."""
    trace = minilm.trace("The animal didn't cross the street because it was too tired.")
    ranked = ranking(trace, 3, 4)
    assert ranked.by_attention[0] == 0
    assert ranked.by_norm_weighted[0] != 0
    found = deletion_test(minilm, trace, 3, 4, counts=(1,))
    assert found.by_attention[0] > 3 * found.random.mean()


def test_what_cannot_be_tested_is_a_sentence(minilm: TextEncoder, monkeypatch: pytest.MonkeyPatch):
    trace = minilm.trace(TEXT)
    with pytest.raises(EncoderError, match="1 to 7"):
        deletion_test(minilm, trace, 0, 0, counts=(8,))
    with pytest.raises(EncoderError, match="token to hide"):
        deletion_test(minilm, minilm.trace(""), 0, 0, candidates="words")
    with pytest.raises(EncoderError, match="without edits"):
        deletion_test(minilm, minilm.trace(TEXT, edits=(MaskKeys((1,)),)), 0, 0)
    with pytest.raises(EncoderError, match="without padding"):
        deletion_test(minilm, minilm.trace_batch([TEXT, TEXT + " again"])[0], 0, 0)
    monkeypatch.setattr(deletion, "LONGEST", 7)
    with pytest.raises(EncoderError, match=r"8 tokens; .* 7"):
        deletion_test(minilm, trace, 0, 0)


def test_above_inside_and_below_the_random_range():
    random = np.array([[0.1, 0.1, 0.1, 0.1], [0.3, 0.3, 0.3, 0.3]])
    found = deletion.Deletion((1, 2, 3, 4), np.array([0.4, 0.3, 0.2, 0.0]), np.zeros(4), random, (), ())
    assert found.against_random() == (1, 2, 1)


def test_usual_counts():
    assert usual_counts(16, 16) == (1, 2, 3, 4, 5, 6, 7, 8)
    assert usual_counts(3, 3) == (1, 2)
    assert usual_counts(1, 3) == (1,)
    assert usual_counts(0, 2) == ()
    assert usual_counts(300, 300) == (1, 2, 4, 8, 16)


def test_nothing_changes_where_nothing_is_hidden(minilm: TextEncoder):
    """The measure itself: an embedding is not a distance from itself."""
    vector = torch.randn(5, dtype=torch.float64)
    assert deletion._change(vector, vector) == pytest.approx(0, abs=1e-12)
    assert deletion._change(vector, -vector) == pytest.approx(2)
