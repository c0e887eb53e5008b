"""What norms do to a sentence, and what tells the encoder where a token stands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

import encoder
from encoder import TextEncoder, attend
from encoder.config import EncoderConfig
from encoder.measure import norms, positions
from encoder.model import Encoder

SIZES = {"vocab_size": 31, "d_model": 12, "n_layers": 2, "n_heads": 3, "d_ffn": 20, "max_positions": 37}


def small(**fields: object) -> Encoder:
    return Encoder(EncoderConfig(**(SIZES | fields)), seed=0).eval()  # type: ignore[arg-type]


def test_statistics_are_those_of_every_norm(minilm: TextEncoder):
    trace = minilm.trace("The cat sat on the mat")
    found = norms.statistics(trace)
    assert found.names == tuple(trace.norms)
    for row, norm in enumerate(trace.norms.values()):
        before, after = norm.input.double().numpy(), norm.output.double().numpy()
        np.testing.assert_allclose(found.before[0][row], before.mean(axis=1), atol=1e-5)
        np.testing.assert_allclose(found.before[1][row], before.std(axis=1), rtol=1e-5)
        np.testing.assert_allclose(found.after[0][row], after.mean(axis=1), atol=1e-5)
        np.testing.assert_allclose(found.after[1][row], after.std(axis=1), rtol=1e-5)
    norm, token = found.widest
    assert found.before[1][norm, token] == found.before[1].max()
    assert found.nbytes == 4 * 13 * trace.n_tokens * 4


def test_largest_component_is_the_farthest_from_the_mean(minilm: TextEncoder):
    trace = minilm.trace("The cat sat")
    x = trace.norms["layers.1.ffn_norm"].input[2].double().numpy()
    assert norms.largest_component(trace, "layers.1.ffn_norm", 2) == np.abs(x - x.mean()).argmax()


@pytest.mark.parametrize("kind", ["learned", "sinusoidal"])
def test_what_is_added_is_what_the_model_adds(kind: str, make_tiny: Callable[..., TextEncoder]):
    model = make_tiny(position=kind)
    trace = model.trace("the cat sat")
    assert trace.position is not None
    np.testing.assert_array_equal(positions.added(model.encoder, trace.n_tokens), trace.position.numpy())


def test_rows_before_the_offset_are_not_positions():
    """RoBERTa's first token takes row 2: rows 0 and 1 belong to padding."""
    own = small(position_offset=2, pad_position=1, pad_id=1)
    table = own.embedding.positions.table.weight.detach().numpy()
    np.testing.assert_array_equal(positions.added(own, 35), table[2:])


@pytest.mark.parametrize("kind", ["rotary", "none"])
def test_nothing_is_added(kind: str):
    assert positions.added(small(position=kind), 5) is None


def test_more_positions_than_there_are():
    with pytest.raises(encoder.EncoderError, match="38 positions: this model has 37"):
        positions.added(small(), 38)


def test_sines_have_the_published_products():
    table = positions.sines(101, 512).astype(np.float64)
    assert (table**2).sum(axis=1) == pytest.approx(np.full(101, 256.0))
    products = {distance: float(table[0] @ table[distance]) for distance in (1, 2, 10, 100)}
    assert products == pytest.approx({1: 249.10, 2: 231.73, 10: 173.79, 100: 111.95}, abs=0.005)


def test_sines_need_an_even_width():
    with pytest.raises(encoder.EncoderError, match="width=7"):
        positions.sines(4, 7)


def test_turns_are_those_of_queries_and_keys():
    config = EncoderConfig(**SIZES, position="rotary", rotary_base=(100.0, 5000.0))
    x = torch.randn(9, config.d_head, generator=torch.Generator().manual_seed(0))
    for layer, base in enumerate((100.0, 5000.0)):
        cos, sin = positions.turns(config, layer, 9)
        first, second = x[:, :2].numpy(), x[:, 2:].numpy()
        turned = np.concatenate((first * cos - second * sin, second * cos + first * sin), axis=1)
        expected = attend.rotate(x, *attend.rotary_angles(torch.arange(9), config.d_head, base))
        np.testing.assert_allclose(turned, expected.numpy(), atol=1e-6)


def test_turned_apart_is_a_dot_product_of_turned_vectors():
    config = EncoderConfig(**SIZES, position="rotary")
    unit = torch.full((9, config.d_head), config.d_head**-0.5)
    turned = attend.rotate(unit, *attend.rotary_angles(torch.arange(9), config.d_head, 10_000.0)).double().numpy()
    apart = positions.turned_apart(positions.turns(config, 0, 9)[0])
    for i, j in ((0, 0), (3, 4), (8, 1)):
        assert apart[abs(i - j)] == pytest.approx(turned[i] @ turned[j], abs=1e-6)


def test_only_rotary_positions_turn():
    with pytest.raises(encoder.EncoderError, match="positions of this model are learned"):
        positions.turns(EncoderConfig(**SIZES), 0, 4)


def test_the_bias_for_a_distance_is_what_the_scores_get():
    own = small(relative_buckets=8, relative_max_distance=16)
    distances, bias = positions.distance_bias(own, 1, 20)
    table = own.relative_bias.weight.detach()
    matrix = attend.relative_bias(table, torch.arange(21), torch.arange(21), 16)[1].numpy()
    for i, j in ((0, 20), (20, 0), (5, 6), (7, 7)):
        assert bias[list(distances).index(j - i)] == matrix[i, j]
    assert positions.distance_bias(small(), 0, 4) is None
