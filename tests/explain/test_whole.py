"""The picture of the whole model: each of its numbers is the trace's, in every kind of encoder."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import encoder
from encoder import EncoderError, Trace, explain
from encoder.explain import Place, Recomputation
from encoder.explain.whole import whole
from encoder.export import wire
from encoder.export.model_picture import MOST_TOKENS, model_picture, window_around


def near(shown: object, captured: object) -> bool:
    """Equal within 1e-4 of the largest number."""
    left, right = np.asarray(shown, dtype=np.float64), np.asarray(captured, dtype=np.float64)
    return bool(np.abs(left - right).max() <= 1e-4 * max(1e-12, np.abs(right).max()))


def test_its_numbers_are_the_traces(traced: tuple[Trace, Recomputation]):
    trace, _ = traced
    place = Place(layer=trace.config.n_layers - 1, head=1)
    found = whole(trace, place, pooling="mean")
    attention = trace.attention(place.layer, place.head)
    assert near(found.weights, attention)
    assert near(found.maps[place.head], attention)
    assert near(found.rest, np.zeros(trace.n_tokens)) or np.abs(found.rest).max() < 1e-5
    exponentials = np.exp(found.scores - found.largest[:, None])
    assert near(exponentials / found.total[:, None], attention)
    assert near(found.stream[0], trace.values["embedding"].norm(dim=-1))
    assert near(found.stream[-1], trace.output.norm(dim=-1))
    after = trace.values["layers.0.after_attention"]
    assert near(found.stream[1], after.norm(dim=-1))
    assert near(found.vector, explain.pooled(trace, "mean").vector)


def test_a_window_keeps_the_softmax_of_all_keys(minilm: encoder.TextEncoder):
    trace = minilm.trace("one two three four five six seven eight nine ten")
    found = whole(trace, Place(layer=2, head=3), slice(2, 6))
    attention = trace.attention(2, 3)
    assert near(found.weights, attention[2:6, 2:6])
    assert near(found.rest + found.weights.sum(axis=-1), np.ones(4))
    assert near(np.exp(found.scores - found.largest[:, None]) / found.total[:, None], attention[2:6, 2:6])
    with pytest.raises(EncoderError):
        whole(trace, Place(), slice(3, 3))
    with pytest.raises(EncoderError):
        whole(trace, Place(layer=6))


def test_the_strongest_neurons_are_the_models(minilm: encoder.TextEncoder):
    trace = minilm.trace("The cat sat", request=("ffn.hidden",))
    found = whole(trace, Place(layer=1))
    hidden = trace.values["layers.1.ffn.hidden"]
    assert near(found.hidden, torch.gather(hidden, 1, torch.tensor(found.neurons, dtype=torch.int64)))
    assert near(np.abs(found.hidden[:, 0]), hidden.abs().max(dim=-1).values)


def test_the_picture_is_small(minilm: encoder.TextEncoder):
    picture = model_picture(minilm.trace(" ".join(["word"] * 22)), 3, 4, query=5, key=2)
    assert len(picture.block()) <= 200_000
    assert picture.header["query"] == 5
    assert "<iframe" in picture._repr_html_()


def test_a_long_text_has_a_window_around_the_selected_token(minilm: encoder.TextEncoder):
    trace = minilm.trace(" ".join(["word"] * 300))
    picture = model_picture(trace, query=200, key=0)
    first = picture.header["first"]
    assert isinstance(first, int)
    assert len(picture.header["labels"]) == MOST_TOKENS  # type: ignore[arg-type]
    assert first + picture.header["query"] == 200  # type: ignore[operator]
    assert picture.header["key"] is None
    assert len(picture.block()) <= 200_000
    assert window_around(300, None) == slice(0, MOST_TOKENS)
    assert window_around(300, 299).stop == 300


def test_images_have_a_picture_too(minilm: encoder.TextEncoder):
    model = encoder.load("digits-pre", device="cpu")
    trace = model.trace(np.zeros((28, 28), dtype=np.uint8))
    picture = model_picture(trace, pooling="mean")
    assert picture.header["pooling"] is None
    assert "vector" not in picture.arrays
    assert wire.pack(picture.header, picture.arrays)
