"""A text padded to a length: it is what it is in a batch, padding changes nothing, and no measure counts padding."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from encoder import TextEncoder, TextError
from encoder.edits import MaskKeys, SetScore
from encoder.errors import EncoderError
from encoder.inputs.tokenizer import Tokenizer
from encoder.maps import small_maps
from encoder.maps.aggregate import dense_map
from encoder.maps.long_map import LongMap
from encoder.measure import passage
from encoder.measure.head_measures import head_measures
from encoder.measure.padding import leaked, padding_effect
from encoder.trace.capture import ON_REQUEST
from tests.engine import by_hand
from tests.engine.conftest import VARIANTS, tiny

SHORT, LONG = "the unhappy cat sat", "a big red bus ran to the river and the bank of the river"
PAIR = "and a dog ran"


@pytest.mark.parametrize("name", list(VARIANTS))
def test_a_padded_text_is_what_it_is_in_a_batch(name: str):
    model = tiny(**VARIANTS[name])
    batched, longer = model.trace_batch([SHORT, LONG])
    padded = model.trace(SHORT, pad_to=longer.n_tokens)
    assert padded.tokens == batched.tokens
    assert padded.tokens[padded.n_real :] == ("[PAD]",) * (longer.n_tokens - padded.n_real)
    assert torch.equal(padded.mask, batched.mask)
    assert padded.values.keys() == batched.values.keys()
    for value in padded.values:
        torch.testing.assert_close(padded.values[value], batched.values[value], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", list(VARIANTS))
def test_without_padding_it_is_the_text_alone(name: str):
    model = tiny(**VARIANTS[name])
    alone, padded = model.trace(SHORT), model.trace(SHORT, pad_to=17, request=ON_REQUEST)
    bare = padded.unpadded
    assert (bare.tokens, bare.ids, bare.labels) == (alone.tokens, alone.ids, alone.labels)
    assert (bare.n_tokens, bare.n_real, bare.n_left_out) == (alone.n_tokens, alone.n_tokens, 17 - alone.n_tokens)
    assert {value.shape for value in bare.norms["layers.1.ffn_norm"].output.unsqueeze(0)} == {alone.output.shape}
    for value in alone.values:
        torch.testing.assert_close(bare.values[value], alone.values[value], atol=1e-5, rtol=1e-4)
    n = bare.n_tokens
    for layer in range(3):
        torch.testing.assert_close(bare.layer_attention(layer), padded.layer_attention(layer)[:, :n, :n])
        assert bare.values[f"layers.{layer}.scores"].shape == (5, n, n)
        torch.testing.assert_close(bare.z(layer, 2), padded.values[f"layers.{layer}.z"][2, :n], atol=1e-5, rtol=1e-4)
    assert bare.values["layers.0.ffn.hidden"].shape == (n, 22)
    assert bare.values["layers.0.ffn_out"].shape == bare.values["layers.0.attention_out"].shape == (n, 16)
    kept, whole = bare.values["layers.0.q"], padded.values["layers.0.q"]
    assert kept.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr(), "nothing is copied"
    assert bare.unpadded is bare
    assert padded.unpadded is bare


def test_pairs_windows_and_ready_tokens_are_padded_alike():
    model = tiny(n_segments=2)
    pair = model.trace(SHORT, PAIR, pad_to=30)
    assert pair.n_real == model.trace(SHORT, PAIR).n_tokens
    torch.testing.assert_close(pair.unpadded.output, model.trace(SHORT, PAIR).output, atol=1e-5, rtol=1e-4)
    window = model.windows(LONG, max_tokens=10)[-1].sentence
    padded = model.trace_tokens(window, pad_to=10)
    assert (padded.n_real, padded.n_tokens) == (len(window), 10)
    assert len(window) < 10
    whole = model.trace(SHORT, pad_to=model.trace(SHORT).n_tokens)
    assert whole.unpadded is whole, "the longest text of a batch has no padding"


def test_lengths_that_cannot_be_padded_to():
    model = tiny()
    for length, why in (
        (5, "choose 8 or more"),
        (62, "at most 61 tokens"),
        (2.5, "whole number"),
        (True, "whole number"),
    ):
        with pytest.raises(TextError, match=why) as refused:
            model.trace(SHORT, pad_to=length)
        assert f"pad_to={length}" in str(refused.value)
    assert model.trace(SHORT, pad_to=61).n_tokens == 61


def test_a_model_without_a_padding_token_says_so():
    model = tiny()
    bare = Tokenizer(model.tokenizer.backend)
    bare.pad_id = None
    unable = dataclasses.replace(model, tokenizer=bare)
    assert model.can_pad
    assert not unable.can_pad
    with pytest.raises(TextError, match="no padding token"):
        unable.trace(SHORT, pad_to=20)
    bare.pad_id = 99  # a token for which the encoder has no vector
    assert not unable.can_pad


def test_an_edit_of_padding_cannot_be_left_out():
    padded = tiny().trace(SHORT, pad_to=20, edits=[MaskKeys((12,))])
    with pytest.raises(EncoderError, match=r"key 12.* 0 to 7"):
        _ = padded.unpadded


@pytest.mark.parametrize("name", list(VARIANTS))
def test_what_padding_does(name: str):
    model = tiny(**VARIANTS[name])
    alone, padded = model.trace(SHORT), model.trace(SHORT, pad_to=19)
    effect = padding_effect(padded, alone)
    n = alone.n_tokens
    assert (effect.n_real, effect.n_padding) == (n, 19 - n)
    maps = torch.stack([padded.layer_attention(layer) for layer in range(3)])
    assert effect.leaked == float(maps[..., :n, n:].max()) == 0.0
    if not model.config.attention_sinks:
        assert effect.row_sums == pytest.approx((1.0, 1.0), abs=1e-6)
    assert effect.difference == pytest.approx(float((padded.output[:n] - alone.output).abs().max()), abs=1e-9)
    assert effect.difference < 1e-5 * effect.largest
    assert effect.largest == pytest.approx(float(alone.output.abs().max()))


def test_padding_that_leaks_would_be_seen():
    """An edit lets one token look at padding: the weight and what it changes are found."""
    model = tiny()
    alone = model.trace(SHORT)
    padded = model.trace(SHORT, pad_to=19, edits=[SetScore(1, 3, query=2, key=15, value=0.5)])
    effect, weight = padding_effect(padded, alone), float(padded.attention(1, 3)[2, 15])
    assert weight > 0.01
    assert effect.leaked == leaked(padded) == weight
    assert effect.difference > 1e-3
    assert padding_effect(padded, alone, (1, 3)).leaked == weight
    assert padding_effect(padded, alone, (1, 2)).leaked == 0.0
    with pytest.raises(EncoderError, match="Nothing is padded"):
        padding_effect(alone, alone)
    with pytest.raises(EncoderError, match="another text"):
        padding_effect(padded, model.trace(LONG))


@pytest.mark.parametrize("queries", ["all", "content"])
def test_no_measure_counts_padding(queries: str):
    """Next to measures by their definitions, in float64, of the real rows and columns only; padding's rows are wild."""
    n_padding, n = 5, 12
    attention = np.stack([by_hand.random(n + n_padding, seed) for seed in range(3)])[None]
    attention[..., :n, n:] = 0
    attention[..., n:, :] = np.eye(n + n_padding)[0]  # all of padding's attention on one token
    attention /= attention.sum(-1, keepdims=True)
    trace = by_hand.written(attention, n_padding=n_padding)
    for seen in (trace, trace.unpadded):
        measures = head_measures(seen, queries=queries, strong=0.2)
        for head in range(3):
            expected = by_hand.measured(trace, attention[0, head], queries, 0.2)
            found = {name: measures[name][0, head] for name in expected}
            assert found == pytest.approx(expected, rel=1e-4, abs=2e-6, nan_ok=True)


def test_means_and_strongest_weights_leave_out_rows_of_padding():
    trace = tiny().trace(SHORT, pad_to=20)
    attention = trace.attention(1, 3)
    n = trace.n_real
    dense, long = dense_map(trace, 1, 3, padding=True), LongMap(trace, 1, 3)
    assert len(dense.query_labels) == 20
    for shown in (dense, long):
        torch.testing.assert_close(shown.received(), attention[:n].mean(0))
        assert max(row for row, _, _ in shown.strongest(400)) == n - 1
        torch.testing.assert_close(shown.from_rows([n + 1]), attention[n + 1])  # asked for, they are there
    found = passage.shades(trace, dense, padding=True)
    assert found.values == pytest.approx(attention[:n].mean(0).tolist(), abs=1e-6)


def test_small_maps_are_those_of_the_text_where_padding_is_left_out():
    model = tiny()
    alone, padded = model.trace(SHORT), model.trace(SHORT, pad_to=40)
    for layer in range(3):
        expected = alone.layer_thumbnails(layer)
        torch.testing.assert_close(padded.unpadded.layer_thumbnails(layer), expected, atol=1e-6, rtol=1e-4)
        torch.testing.assert_close(small_maps(padded, layer), expected, atol=1e-6, rtol=1e-4)
        assert small_maps(padded, layer, padding=True).shape[-1] == 40


def test_minilm_padded_is_minilm(minilm: TextEncoder):
    text = "The cat sat on the mat"
    effect = padding_effect(minilm.trace(text, pad_to=128), minilm.trace(text))
    assert effect.leaked == 0.0
    assert effect.difference < 1e-5
    assert effect.row_sums == pytest.approx((1.0, 1.0), abs=1e-5)
