"""Attribution of the cosine: its sums, the same numbers from full Jacobians, and what cannot be attributed."""

import dataclasses
import math
import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from encoder import EncoderError, TextEncoder, similarity
from encoder.model.hooks import current_visitor
from encoder.model.pooling import POOLINGS, Dense, DenseConfig
from encoder.similarity import attribution, paths
from encoder.trace import gradual
from tests.engine.conftest import WORDS, tiny
from tests.similarity.full_jacobians import attributed

pytestmark = pytest.mark.sample(3, "another architecture")

A, B = "The cat sat on the mat", "A kitten rested on a rug"
TINY_A, TINY_B = "the cat sat on a mat .", "big dog ran to the bank"
TEXTS = st.lists(st.sampled_from([word for word in WORDS if word.isalpha()]), min_size=1, max_size=6).map(" ".join)


def with_dense(model: TextEncoder, **options: object) -> TextEncoder:
    torch.manual_seed(3)
    return dataclasses.replace(model, dense=(Dense(DenseConfig(model.config.d_model, 9, **options)),))


def cosine(model: TextEncoder, a: str, b: str) -> float:
    one, other = model.embed([a, b]).double()
    return float(one @ other / one.norm() / other.norm())


# --- the example ------------------------------------------------------------------------------------------------------


def test_the_example(minilm: TextEncoder):
    found = similarity.attribute(minilm, A, B)
    assert found.cosine == pytest.approx(0.6124, abs=1e-4)
    assert found.cosine == pytest.approx(cosine(minilm, A, B), abs=1e-6)
    assert found.matrix.shape == (8, 8)
    assert found.error < similarity.TOLERANCE
    assert abs(found.matrix.sum() - found.expected_sum) == pytest.approx(found.error, abs=1e-12)
    i, j, value = found.largest(1)[0]
    assert (found.tokens[0][i], found.tokens[1][j]) == ("cat", "kitten")
    assert value == found.matrix.max()
    # Special tokens are the same in the text and in its reference.
    assert not found.matrix[[0, -1]].any()
    assert not found.matrix[:, [0, -1]].any()


def test_the_output_splits_exactly(minilm: TextEncoder):
    found = similarity.attribute(minilm, A, B, layer=6)
    assert found.is_exact
    assert (found.references, found.reference) == ((0.0, 0.0, 0.0), "none")
    assert found.matrix.sum() == pytest.approx(found.cosine, abs=1e-6)
    assert found.cosine == pytest.approx(0.6124, abs=1e-4)
    h, g = (minilm.trace(text).output.double() for text in (A, B))
    sizes = float(h.mean(0).norm() * g.mean(0).norm())
    np.testing.assert_allclose(found.matrix, (h @ g.T / (len(h) * len(g) * sizes)).numpy(), atol=1e-7)


@pytest.mark.parametrize("layer", [3, 5])
def test_the_sum_holds_at_each_layer(minilm: TextEncoder, layer: int):
    found = similarity.attribute(minilm, A, B, layer=layer)
    assert found.error < similarity.TOLERANCE
    assert found.matrix.sum() == pytest.approx(found.expected_sum, abs=similarity.TOLERANCE)
    assert found.cosine == pytest.approx(0.6124, abs=1e-4)


# --- the same numbers from full Jacobians -----------------------------------------------------------------------------


@pytest.mark.sample(4, "a full Jacobian of each layer")
@pytest.mark.parametrize("reference", similarity.REFERENCES)
def test_every_architecture_agrees_with_full_jacobians(variant: TextEncoder, reference: str):
    if reference == "zero" and not variant.config.norm_bias:  # without biases, zeros stay zeros up to the output
        with pytest.raises(EncoderError, match="reference"):
            similarity.attribute(variant, TINY_A, TINY_B, reference=reference)
        return
    # A reference is the other end of the same path: the first layer, below all others, shows that it is used.
    for layer in range(variant.config.n_layers if reference == "pad" else 1):
        found = similarity.attribute(variant, TINY_A, TINY_B, layer, steps=3, reference=reference)
        expected = attributed(variant, TINY_A, TINY_B, layer, 3, reference)
        np.testing.assert_allclose(found.matrix, expected, atol=1e-5 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_every_pooling_agrees_with_full_jacobians(make_tiny: Callable[..., TextEncoder], pooling: str):
    model = dataclasses.replace(make_tiny(), pooling=pooling)
    found = similarity.attribute(model, TINY_A, TINY_B, 1, steps=4)
    np.testing.assert_allclose(found.matrix, attributed(model, TINY_A, TINY_B, 1, 4, "pad"), atol=1e-5)
    exact = similarity.attribute(model, TINY_A, TINY_B, 3)
    assert exact.is_exact
    assert exact.matrix.sum() == pytest.approx(cosine(model, TINY_A, TINY_B), abs=1e-6)


@pytest.mark.parametrize("activation", ["none", "tanh", "relu", "gelu"])
@pytest.mark.parametrize("layer", [0, 3])
def test_every_dense_layer_agrees_with_full_jacobians(
    make_tiny: Callable[..., TextEncoder], activation: str, layer: int
):
    model = with_dense(make_tiny(), activation=activation)
    found = similarity.attribute(model, TINY_A, TINY_B, layer, steps=4)
    np.testing.assert_allclose(found.matrix, attributed(model, TINY_A, TINY_B, layer, 4, "pad"), atol=1e-5)
    assert not found.is_exact
    assert found.cosine == pytest.approx(cosine(model, TINY_A, TINY_B), abs=1e-6)


def test_a_linear_dense_layer_still_splits_exactly(make_tiny: Callable[..., TextEncoder]):
    model = with_dense(make_tiny(), activation="none", bias=False)
    found = similarity.attribute(model, TINY_A, TINY_B, 3)
    assert found.is_exact
    assert found.matrix.sum() == pytest.approx(cosine(model, TINY_A, TINY_B), abs=1e-6)


def test_cls_pooling_has_one_cell_at_the_output(make_tiny: Callable[..., TextEncoder]):
    model = dataclasses.replace(make_tiny(), pooling="cls")
    matrix = similarity.attribute(model, TINY_A, TINY_B, 3).matrix
    assert matrix[0, 0] == pytest.approx(cosine(model, TINY_A, TINY_B), abs=1e-6)
    assert np.count_nonzero(matrix) == 1


def test_normalising_changes_nothing(make_tiny: Callable[..., TextEncoder]):
    model = make_tiny()
    one, other = (
        similarity.attribute(dataclasses.replace(model, normalise=normalise), TINY_A, TINY_B, steps=4)
        for normalise in (False, True)
    )
    np.testing.assert_array_equal(one.matrix, other.matrix)


# --- properties -------------------------------------------------------------------------------------------------------


@pytest.mark.slow("tries many pairs of texts")
@settings(max_examples=8)
@given(a=TEXTS, b=TEXTS, layer=st.integers(0, 3), reference=st.sampled_from(similarity.REFERENCES))
def test_the_sum_and_the_symmetry_of_any_texts(a: str, b: str, layer: int, reference: str):
    model = tiny()
    found = similarity.attribute(model, a, b, layer, reference=reference)
    assert found.error < similarity.TOLERANCE
    assert found.matrix.sum() == pytest.approx(found.expected_sum, abs=similarity.TOLERANCE)
    assert found.cosine == pytest.approx(cosine(model, a, b), abs=1e-6)
    some, turned = (
        similarity.attribute(model, *texts, layer, steps=8, reference=reference) for texts in ((a, b), (b, a))
    )
    np.testing.assert_allclose(turned.matrix, some.matrix.T, atol=1e-12)
    np.testing.assert_allclose(turned.references, [some.references[place] for place in (1, 0, 2)], atol=1e-12)


@given(steps=st.integers(1, 64), power=st.integers(0, 12))
def test_the_points_integrate_polynomials(steps: int, power: int):
    points, weights = paths.nodes(steps)
    assert (points > 0).all()
    assert (points < 1).all()
    if power < 2 * steps:
        assert weights @ points**power == pytest.approx(1 / (power + 1), abs=1e-12)


def test_the_next_number_of_steps():
    assert attribution.next_steps([(8, 0.25)]) == 16
    assert attribution.next_steps([(8, 0.006)]) == 10
    # A factor of 10 in 8 steps: the aim 0.0025 is a factor of 4 away.
    assert attribution.next_steps([(8, 0.1), (16, 0.01)]) == 21
    for tried in ([(8, 0.1), (16, 0.2)], [(8, 0.1), (16, 0.1)], [(8, 0.1), (16, 0.0999)], [(8, math.nan)]):
        assert attribution.next_steps(tried) == 2 * tried[-1][0]


@given(st.lists(st.floats(0.006, 1e3), min_size=1, max_size=5))
def test_steps_grow_but_at_most_double(errors: list[float]):
    tried: list[tuple[int, float]] = []
    steps = 8
    for error in errors:
        tried.append((steps, error))
        steps = attribution.next_steps(tried)
        assert tried[-1][0] + 2 <= steps <= 2 * tried[-1][0]


@pytest.mark.slow("integrates with many steps")
def test_more_steps_are_nearer(make_tiny: Callable[..., TextEncoder]):
    errors = [similarity.attribute(make_tiny(), TINY_A, TINY_B, steps=steps).error for steps in (1, 8, 64)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-5


def test_texts_of_special_tokens_alone_have_nothing_to_attribute(minilm: TextEncoder):
    found = similarity.attribute(minilm, "", A, layer=2)
    assert found.matrix.shape == (2, 8)
    assert not found.matrix.any()
    assert found.error < 1e-6


def test_a_text_is_cut_where_embed_cuts_it(make_tiny: Callable[..., TextEncoder]):
    model = dataclasses.replace(make_tiny(), max_embed_tokens=5)
    found = similarity.attribute(model, TINY_A, TINY_B, steps=4)
    assert found.matrix.shape == (5, 5)
    assert found.cosine == pytest.approx(cosine(model, TINY_A, TINY_B), abs=1e-6)


# --- parts, threads, memory -------------------------------------------------------------------------------------------


def test_chunks_change_nothing(make_tiny: Callable[..., TextEncoder], monkeypatch: pytest.MonkeyPatch):
    model = make_tiny()
    whole = similarity.attribute(model, TINY_A, TINY_B, steps=4)
    monkeypatch.setattr(paths, "CHUNK_NUMBERS", 1)
    moments: list[similarity.Progress] = []
    work = similarity.attribute_gradually(model, TINY_A, TINY_B, steps=4)
    found = gradual.result(gradual.reported(work, moments.append))
    np.testing.assert_allclose(found.matrix, whole.matrix, atol=1e-6)
    assert len(moments) == 4 * (7 + 6)
    shares = [moment.share for moment in moments]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_a_cancelled_run_leaves_nothing_behind(make_tiny: Callable[..., TextEncoder]):
    run = similarity.attribute_gradually(make_tiny(), TINY_A, TINY_B)
    for _ in range(3):
        next(run)
        assert current_visitor() is None
        assert torch.is_grad_enabled()
    run.close()
    assert next(run, None) is None


def test_threads_share_a_model(make_tiny: Callable[..., TextEncoder]):
    model = make_tiny()
    alone = similarity.attribute(model, TINY_A, TINY_B, steps=3).matrix
    found: list[np.ndarray] = []

    def work() -> None:
        found.append(similarity.attribute(model, TINY_A, TINY_B, steps=3).matrix)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for matrix in found:
        np.testing.assert_array_equal(matrix, alone)


@pytest.mark.slow("integrates again with 64 steps")
def test_the_cells_have_an_error_of_their_own():
    model = tiny()
    found, fine = (similarity.attribute(model, "the cat", "the dog", steps=steps) for steps in (3, 64))
    estimated = similarity.cell_error(model, found)
    assert estimated == pytest.approx(np.abs(found.matrix - fine.matrix).max(), rel=0.5)
    assert similarity.cell_error(model, similarity.attribute(model, "the cat", "the dog", layer=3)) == 0
