"""What norms do to a sentence, and what tells the encoder where a token stands."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import torch

import encoder
from encoder import TextEncoder
from encoder.measure import norms, positions
from encoder.model import attend, biases
from encoder.model.config import EncoderConfig
from encoder.model.encoder import Encoder

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
    for moment in ("before", "after"):
        for place, what in enumerate(("mean", "std")):
            numbers = getattr(found, moment)[place]
            largest, smallest = found.ends(moment, what)
            assert numbers[largest] == numbers.max()
            assert numbers[smallest] == numbers.min()


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_epsilon_keeps_a_small_vector_small(minilm: TextEncoder, kind: str):
    for eps in (1e-12, 0.5):
        trace = untrained(minilm, norm_kind=kind, norm_bias=kind == "layer", norm_eps=eps).trace("the cat sat")
        each = [norm.normalised.double().numpy() for norm in trace.norms.values()]
        sizes = [x.std(axis=1) if kind == "layer" else np.sqrt((x**2).mean(axis=1)) for x in each]
        found = norms.statistics(trace).least
        assert found == pytest.approx(np.min(sizes), rel=1e-3)
        assert (found < 0.9) == (eps > 0.1)


def test_largest_component_is_the_farthest_from_the_mean(minilm: TextEncoder):
    trace = minilm.trace("The cat sat")
    x = trace.norms["layers.1.ffn_norm"].input[2].double().numpy()
    assert norms.largest_component(trace, "layers.1.ffn_norm", 2) == np.abs(x - x.mean()).argmax()


def untrained(minilm: TextEncoder, **fields: object) -> TextEncoder:
    """Gains 1, biases 0; it reads with MiniLM's tokenizer."""
    config = EncoderConfig(**(SIZES | {"vocab_size": minilm.config.vocab_size} | fields))  # type: ignore[arg-type]
    return encoder.build(config, minilm.tokenizer, seed=0)


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_means_after_plain_norms_are_zero_up_to_rounding(minilm: TextEncoder, placement: str):
    found = norms.statistics(untrained(minilm, norm_placement=placement).trace("the cat sat"))
    assert np.abs(found.after[0]).max() <= found.rounding * found.after[1].max()
    assert np.abs(found.before[0]).max() > found.rounding * found.before[1].max()


def test_gain_and_bias_in_a_few_numbers(minilm: TextEncoder):
    trace = minilm.trace("The cat sat")
    norm, found = trace.norms["embedding_norm"], norms.parameters(trace, "embedding_norm")
    assert not found.plain
    (low, smallest), (high, largest) = found.gain
    assert (smallest, largest) == (float(norm.gain.min()), float(norm.gain.max()))
    assert (float(norm.gain[low]), float(norm.gain[high])) == (smallest, largest)
    assert found.bias[0][1] == float(norm.bias.min())
    plain = norms.parameters(untrained(minilm, norm_bias=False).trace("cat"), "layers.0.ffn_norm")
    assert plain.plain
    assert plain.bias is None


def test_outlier_dimensions_by_hand(make_tiny: Callable[..., TextEncoder]):
    trace = make_tiny().trace("the cat sat on the mat")
    name = "layers.1.ffn_norm"
    x = trace.values[f"{name}.input"]
    values = dict(trace.values)
    values[f"{name}.input"] = spiked = x.clone()
    spiked[2, 5], spiked[3, 1] = -500.0, 100.0
    found = norms.outlier_dimensions(dataclasses.replace(trace, values=values)).at(name)
    assert found.outliers == (5, 1)
    assert (found.largest[5], found.token[5]) == (500, 2)
    assert (found.largest[1], found.token[1]) == (100, 3)
    assert found.median == float(spiked.abs().median())
    assert found.ratio[5] == pytest.approx(500 / found.median)


def test_chance_is_what_random_numbers_reach():
    draws = np.random.default_rng(0).normal(size=(300, 20, 50))
    reached = np.abs(draws).max(axis=(1, 2)) / np.median(np.abs(draws), axis=(1, 2))
    found = norms._extremes("", torch.randn(20, 50, generator=torch.Generator().manual_seed(0)).abs())
    assert found.chance == pytest.approx(np.median(reached), rel=0.1)
    assert not found.outliers


def test_minilm_has_outlier_dimensions_at_cls(minilm: TextEncoder):
    """Component 99 of [CLS] stands out before most norms, by hundreds of times the median; random weights have none."""
    trace = minilm.trace("The animal didn't cross the street because it was too tired.")
    found = norms.outlier_dimensions(trace)
    widest = found.at("layers.0.ffn_norm")
    assert widest.outliers[0] == 99
    assert widest.token[99] == 0
    assert widest.ratio[99] > 400
    assert next(iter(found.leaders())) == 99
    assert sum(found.leaders().values()) == 13


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
    with pytest.raises(encoder.EncoderError, match=r"\b38\b.* 37\b"):
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
    model = Encoder(config)
    x = torch.randn(9, config.d_head, generator=torch.Generator().manual_seed(0))
    for layer, base in enumerate((100.0, 5000.0)):
        cos, sin = positions.turns(model, layer, 9)
        first, second = x[:, :2].numpy(), x[:, 2:].numpy()
        turned = np.concatenate((first * cos - second * sin, second * cos + first * sin), axis=1)
        expected = attend.rotate(x, *attend.rotary_angles(torch.arange(9), config.d_head, base))
        np.testing.assert_allclose(turned, expected.numpy(), atol=1e-6)


def test_turned_apart_is_a_dot_product_of_turned_vectors():
    config = EncoderConfig(**SIZES, position="rotary")
    unit = torch.full((9, config.d_head), config.d_head**-0.5)
    turned = attend.rotate(unit, *attend.rotary_angles(torch.arange(9), config.d_head, 10_000.0)).double().numpy()
    apart = positions.turned_apart(positions.turns(Encoder(config), 0, 9)[0])
    for i, j in ((0, 0), (3, 4), (8, 1)):
        assert apart[abs(i - j)] == pytest.approx(turned[i] @ turned[j], abs=1e-6)


def test_only_rotary_positions_turn():
    with pytest.raises(encoder.EncoderError, match=r"positions\b.* learned\b"):
        positions.turns(Encoder(EncoderConfig(**SIZES)), 0, 4)


def test_the_bias_for_a_distance_is_what_the_scores_get():
    own = small(relative_buckets=8, relative_max_distance=16)
    distances, bias = positions.distance_biases(own, 20)
    assert bias.shape == (3, 41)
    table = own.relative_bias.weight.detach()
    matrix = biases.relative_bias(table, torch.arange(21), torch.arange(21), 16).numpy()
    for i, j in ((0, 20), (20, 0), (5, 6), (7, 7)):
        np.testing.assert_array_equal(bias[:, list(distances).index(j - i)], matrix[:, i, j])
    assert positions.distance_biases(small(), 4) is None


@pytest.mark.parametrize(("query", "key"), [(1, 5), (6, 2), (3, 3)])
def test_a_product_by_distance_is_the_scores_own_at_its_distance(
    query: int, key: int, make_tiny: Callable[..., TextEncoder]
):
    trace = make_tiny(position="rotary", rotary_base=(100.0, 5000.0, 900.0)).trace("the cat sat on the mat")
    q, k, _ = trace.layer_qkv(1)
    distances, products = positions.turned_products(trace, 1, 0, query, key, farthest=9)
    assert products[list(distances).index(key - query)] == pytest.approx(float(q[0, query] @ k[0, key]), abs=1e-5)
    assert len(products) == 19
    # So far apart anywhere else it is the same: the pair moved by one position.
    base = attend.rotary_angles(torch.tensor([1]), trace.config.d_head, 5000.0)
    moved = [attend.rotate(x.float(), *base) for x in (q[0, query : query + 1], k[0, key : key + 1])]
    assert float(moved[0][0] @ moved[1][0]) == pytest.approx(float(q[0, query] @ k[0, key]), abs=1e-4)


def test_only_rotary_products_depend_on_distance(make_tiny: Callable[..., TextEncoder]):
    with pytest.raises(encoder.EncoderError, match=r"positions\b.* learned\b"):
        positions.turned_products(make_tiny().trace("the cat"), 0, 0, 1, 2, 4)


def test_without_positions_the_order_does_not_matter(minilm: TextEncoder):
    """The same vectors in another order, up to rounding; repeated words and special tokens included."""
    found = positions.order_effect(untrained(minilm, position="none").trace("the cat sat on the mat"))
    assert found.difference < 1e-5
    assert found.same
    assert found.cosine == pytest.approx(np.ones(8), abs=1e-5)
    assert found.moved.tolist() == [False, *[True] * 6, False]


@pytest.mark.parametrize("kind", ["learned", "sinusoidal", "rotary"])
def test_with_positions_the_order_matters(kind: str, minilm: TextEncoder):
    found = positions.order_effect(untrained(minilm, position=kind).trace("the cat sat"))
    assert found.difference > 0.01
    assert not found.same
    assert found.moved.tolist() == [False, True, False, True, False], "the word in the middle stays"
    model = untrained(minilm, position=kind)
    assert positions.order_effect(model.trace("the cat sat", edits=[encoder.edits.DropPositions()])).same


def test_the_order_of_each_sentence_is_its_own(minilm: TextEncoder):
    """The reversed text, typed by hand, gives the vectors that are compared with."""
    trace, other = minilm.trace("the cat sat", "two dogs"), minilm.trace("sat cat the", "dogs two")
    found = positions.order_effect(trace)
    places = [0, 3, 2, 1, 4, 6, 5, 7]  # where each token stands in the other
    expected = torch.cosine_similarity(trace.output, other.output[places], dim=-1)
    assert found.cosine == pytest.approx(expected.numpy(), abs=1e-5)


def test_lengths_of_what_the_embedding_adds(minilm: TextEncoder):
    trace = minilm.trace("the cat")
    position, token = positions.lengths(trace)
    assert position == pytest.approx(float(trace.position.norm(dim=-1).mean()))
    assert token == pytest.approx(float(trace.values["embedding.tokens"].norm(dim=-1).mean()))
    assert positions.lengths(untrained(minilm, position="rotary", d_model=24).trace("cat")) is None
