"""Queries and keys of a head in one plane."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from encoder import TextEncoder
from encoder.measure.qk_space import best_scale, centre_keys, joint_plane, qk_space
from tests.engine import by_hand
from tests.engine.conftest import tiny


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def test_moving_and_scaling_changes_no_weight(minilm: TextEncoder):
    trace = minilm.trace("The old man the boat.")
    q, k = (vectors[7].double().numpy() for vectors in trace.layer_qkv(3)[:2])
    moved = centre_keys(q, k)
    np.testing.assert_allclose(moved.mean(0), q.mean(0), atol=1e-12)
    c, _ = best_scale(q, moved)
    scale = trace.config.attention_scale
    weights = softmax(scale * (q * c) @ (moved / c).T)
    np.testing.assert_allclose(weights, trace.attention(3, 7).numpy(), atol=1e-5)


def test_the_plane_is_that_of_a_principal_component_analysis(minilm: TextEncoder):
    trace = minilm.trace("The old man the boat.")
    q, k = (vectors[7].double().numpy() for vectors in trace.layer_qkv(3)[:2])
    queries, keys, explained = joint_plane(q, k)
    reference = PCA(2).fit(np.concatenate((q, k)))
    expected = reference.transform(np.concatenate((q, k)))
    signs = np.sign((expected * np.concatenate((queries, keys))).sum(0))
    np.testing.assert_allclose(np.concatenate((queries, keys)), expected * signs, atol=1e-8)
    np.testing.assert_allclose(explained, reference.explained_variance_ratio_, rtol=1e-9)


def test_the_scale_is_the_best_one(minilm: TextEncoder):
    """Against a finer search with numpy's own weighted covariance; and it does not matter which of the two is long."""
    trace = minilm.trace("The old man the boat.")
    q, k = (vectors[4].double().numpy() for vectors in trace.layer_qkv(3)[:2])
    k = centre_keys(q, k)

    def correlation(c: float) -> float:
        pairs = np.array([[np.linalg.norm(one * c - other / c), one @ other] for one in q for other in k]).T
        (a, b), (_, d) = np.cov(pairs, aweights=pairs[0] ** -2)
        return b / np.sqrt(a * d)

    c, found = best_scale(q, k)
    assert found == pytest.approx(correlation(c))
    assert found <= min(correlation(other) for other in np.linspace(0.5, 2.2, 40)) + 1e-3
    turned, same = best_scale(k, q)
    assert turned == pytest.approx(1 / c)
    assert same == pytest.approx(found)
    longer, same = best_scale(q, 4 * k)
    assert longer == pytest.approx(2 * c)
    assert same == pytest.approx(found)


def test_of_a_head(minilm: TextEncoder):
    trace = minilm.trace("The keys to the old wooden cabinet are on the table.")
    space = qk_space(trace, 0, 2)
    n = trace.n_tokens
    assert space.queries.shape == space.keys.shape == (n, 2)
    attention = trace.attention(0, 2)
    assert space.strongest.tolist() == attention.argmax(1).tolist()
    assert space.weights == pytest.approx(attention.amax(1).double().numpy(), rel=1e-5)
    assert space.strongest[1:].tolist() == list(range(n - 1)), "a previous-token head"
    assert space.correlation < -0.8
    hits, of = space.nearest_is_strongest()
    assert of == n
    distance = np.linalg.norm(space.queries[:, None] - space.keys[None], axis=-1)
    assert hits == int((distance.argmin(1) == space.strongest).sum())
    assert 0 < space.explained.sum() <= 1
    q, k = (vectors[2].double().numpy() for vectors in trace.layer_qkv(0)[:2])
    distance = np.linalg.norm(q[:, None] * space.scale - centre_keys(q, k)[None] / space.scale, axis=-1)
    assert space.hits == int((distance.argmin(1) == space.strongest).sum()) > hits


def test_padding_is_left_out(minilm: TextEncoder):
    text = "one two three"
    alone, padded = minilm.trace(text), minilm.trace_batch([text, "one two three four five six"])[0]
    one, other = qk_space(alone, 2, 9), qk_space(padded, 2, 9)
    np.testing.assert_allclose(one.queries, other.queries, atol=1e-3)
    assert one.strongest.tolist() == other.strongest.tolist()


@pytest.mark.parametrize("text", ["", "a", "the the the"])
def test_few_and_repeated_tokens(text: str):
    for model in (tiny(), tiny(position="none"), tiny(d_head=1, n_heads=2)):
        space = qk_space(model.trace(text), 0, 1)
        assert np.isfinite(space.queries).all()
        assert np.isfinite([space.scale, space.correlation, *space.explained]).all()


def test_a_causal_head_looks_back():
    trace = tiny(causal=True).trace("the cat sat on the mat")
    space = qk_space(trace, 1, 2)
    assert (space.strongest <= np.arange(trace.n_tokens)).all()


def test_the_first_of_equals():
    trace = by_hand.written(by_hand.uniform(5)[None, None])
    assert qk_space(trace, 0, 0).strongest.tolist() == [0] * 5
    assert torch.equal(trace.attention(0, 0).amax(1), torch.full((5,), 0.2))
