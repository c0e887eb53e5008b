"""The residual stream's measures, against arithmetic on the captured tensors that another way round."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

import encoder
from encoder.errors import EncoderError
from encoder.measure import residual_stream as stream
from encoder.train.tasks import make

TEXT = "3 1 4 1 5 9 2"


def built(placement: str, **changes) -> encoder.TextEncoder:
    task = make("reverse", 16, 10)
    fields = {"d_model": 12, "n_layers": 3, "n_heads": 2, "d_ffn": 20} | changes
    config = encoder.EncoderConfig(vocab_size=task.vocab_size, norm_placement=placement, **fields)
    return encoder.build(config, task.tokenizer(), seed=5)


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_updates_are_what_the_sublayers_give(placement: str) -> None:
    """f(x) as a hand-made call of the block's own sublayers, not as a difference of the stream."""
    model = built(placement)
    trace = model.trace(TEXT)
    for layer in range(3):
        block = model.encoder.block(layer)
        (attention, before, update), (ffn, middle, ffn_update) = stream.sublayer_updates(trace, layer)
        assert (attention, ffn) == ("attention", "ffn")
        with torch.no_grad():
            z = torch.stack([trace.z(layer, head) for head in range(2)]).transpose(0, 1).flatten(1)
            assert torch.allclose(block.attention.w_o(z), update, atol=1e-5)
            read = block.ffn_norm(middle[None], layer)[0] if placement == "pre" else middle
            assert torch.allclose(block.ffn(read[None], layer)[0], ffn_update, atol=1e-5)
        assert torch.equal(before, trace.residual["embedding" if layer == 0 else f"layers.{layer - 1}.after_ffn"])


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_measures_by_hand(placement: str) -> None:
    trace = built(placement).trace(TEXT)
    found = stream.measure(trace)
    streams = [trace.values["embedding"], *(trace.values[f"layers.{layer}.after_ffn"] for layer in range(3))]
    vectors = [x.double().numpy() for x in streams]
    assert found.length == pytest.approx([np.linalg.norm(x, axis=1).mean() for x in vectors])
    turned = [
        np.mean([a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(x, y, strict=True)])
        for x, y in pairwise(vectors)
    ]
    assert found.cosine == pytest.approx(turned)
    assert found.growth == pytest.approx(found.length[3] / found.length[0])
    assert found.norms == tuple(trace.norms)
    inputs = [norm.input.double().numpy() for norm in trace.norms.values()]
    assert found.norm_std == pytest.approx([x.std(axis=1).mean() for x in inputs])
    assert found.norm_mean == pytest.approx([x.mean() for x in inputs])
    assert found.gain == pytest.approx(1.0)  # untrained
    assert found.gain_spread == pytest.approx(0.0)
    for layer in range(3):
        before, update = vectors[layer], next(stream.sublayer_updates(trace, layer))[2].double().numpy()
        share = np.linalg.norm(update, axis=1) / np.linalg.norm(before, axis=1)
        assert found.attention_update[layer] == pytest.approx(share.mean())


def test_pre_norm_grows_and_post_norm_does_not() -> None:
    pre, post = (stream.measure(built(p, n_layers=12, d_model=32, d_ffn=64).trace(TEXT)) for p in ("pre", "post"))
    assert pre.growth > 1.5 * post.growth
    assert post.length[1:] == pytest.approx(32**0.5, rel=1e-3)  # each vector normalised, gain 1
    assert (np.diff(pre.length) > 0).all()


def test_padding_counts_nowhere() -> None:
    model = built("pre")
    alone = model.trace(TEXT)
    padded = model.trace_batch([TEXT, "1 2 3 4 5 6 7 8 9 0"])[0]
    assert padded.n_tokens > padded.n_real
    for name in ("length", "attention_update", "ffn_update", "cosine", "norm_mean", "norm_std"):
        assert getattr(stream.measure(padded), name) == pytest.approx(getattr(stream.measure(alone), name), rel=1e-4)
    assert stream.layer_entropy(padded, 1) == pytest.approx(stream.layer_entropy(alone, 1), rel=1e-4)


def test_entropy_is_that_of_the_measures_table() -> None:
    from encoder.measure.head_measures import head_measures

    trace = built("post").trace(TEXT)
    table = head_measures(trace)["entropy"]
    for layer in range(3):
        assert stream.layer_entropy(trace, layer) == pytest.approx(table[layer], rel=1e-4)


def test_differences_of_maps() -> None:
    pre, post = (built(p).trace(TEXT) for p in ("pre", "post"))
    assert stream.head_differences(pre, pre, 1) == pytest.approx(0.0)
    for head in range(2):
        a, b = (trace.attention(1, head).double().numpy() for trace in (pre, post))
        assert stream.head_differences(pre, post, 1)[head] == pytest.approx(np.abs(a - b).sum(1).mean() / 2, rel=1e-5)


def test_same_output_agrees_and_other_tokens_are_refused() -> None:
    pre, post = built("pre"), built("post")
    assert stream.output_agreement(pre.trace(TEXT), pre.trace(TEXT)) == pytest.approx(1.0)
    assert stream.output_agreement(pre.trace(TEXT), post.trace(TEXT)) < 1.0
    with pytest.raises(EncoderError, match="differ in tokens"):
        stream.head_differences(pre.trace(TEXT), post.trace("1 2"), 0)


def test_moving_the_norms_and_back_gives_the_same_numbers() -> None:
    model = encoder.load("twin-pre")
    there, back = model.with_norm_placement("post"), model.with_norm_placement("post").with_norm_placement("pre")
    text = "the cat sat on the mat"
    assert stream.output_agreement(model.trace(text), there.trace(text)) < 0.99
    assert torch.equal(model.trace(text).output, back.trace(text).output)
