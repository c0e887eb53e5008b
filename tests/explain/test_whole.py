"""The picture of the whole model: each of its numbers is the trace's, in every kind of encoder."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
import torch
from PIL import Image

import encoder
from encoder import EncoderError, Trace, explain
from encoder.drawing import wire
from encoder.explain import Place, Recomputation
from encoder.explain.whole import whole
from encoder.inputs import spoken_digits
from encoder.model.config import Patches
from encoder.model.encoder import Encoder
from encoder.views.model_picture import MOST_TOKENS, OtherEnd, model_picture, window_around
from tests.engine.conftest import tiny_tokenizer


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
    if not trace.config.attention_sinks:
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


def test_a_window_that_was_moved_keeps_its_place(minilm: encoder.TextEncoder):
    trace = minilm.trace(" ".join(["one two three"] * 100))
    picture = model_picture(trace, 1, 2, query=200, first=40)
    assert picture.header["first"] == 40
    assert picture.header["query"] is None  # it is elsewhere
    assert near(picture.arrays["received"], trace.attention(1, 2)[200])
    assert picture.header["input"]["labels"] == list(trace.labels)  # type: ignore[index]
    assert near(model_picture(trace, 1, 2).arrays["received"], trace.attention(1, 2)[:MOST_TOKENS].mean(dim=0))
    assert window_around(300, None, 290) == slice(300 - MOST_TOKENS, 300)
    assert window_around(30, 3, 20) == slice(0, 30)


@pytest.mark.parametrize(("layers", "heads", "width", "tokens"), [(48, 8, 32, 512), (1, 1, 32, 3), (1, 32, 4_096, 20)])
def test_any_size_has_a_small_picture(layers: int, heads: int, width: int, tokens: int):
    tokenizer = tiny_tokenizer()
    config = encoder.EncoderConfig(
        vocab_size=tokenizer.vocab_size,
        d_model=width,
        n_layers=layers,
        n_heads=heads,
        d_ffn=64,
        max_positions=512,
    )
    trace = encoder.build(config, tokenizer, seed=1).trace(" ".join(["word"] * (tokens - 2)))
    picture = model_picture(trace, layers - 1, heads - 1, query=tokens - 1)
    drawn = min(tokens, MOST_TOKENS)
    assert trace.n_tokens == tokens
    assert picture.arrays["maps"].shape == (heads, drawn, drawn)
    assert picture.arrays["stream"].shape == (len(picture.header["stages"]), drawn)  # type: ignore[arg-type]
    assert picture.arrays["vector"].shape == (width,)
    assert picture.arrays["received"].shape == (tokens,)
    assert len(picture.block()) <= 200_000


def test_an_image_is_next_to_its_patches():
    model = encoder.load("digits-pre", device="cpu")
    pixels = np.arange(28 * 28, dtype=np.uint8).reshape(28, 28)
    trace = model.trace(pixels)
    picture = model_picture(trace, given=pixels, classes=model.probabilities(trace))
    shown = picture.header["input"]
    assert isinstance(shown, dict)
    sent = Image.open(io.BytesIO(base64.b64decode(shown["uri"].split(",")[1])))
    assert (np.array(sent) == pixels).all()  # so small an image loses nothing
    assert shown["patches"] == list(range(1, trace.n_tokens))
    assert len(shown["patches"]) == shown["rows"] * shown["columns"]
    (best, share), *_ = picture.header["classes"]  # type: ignore[misc]
    assert share == max(model.probabilities(trace).values())
    assert best in model.probabilities(trace)
    assert picture.header["pooling"] is None
    assert "vector" not in picture.arrays
    assert wire.pack(picture.header, picture.arrays)
    with pytest.raises(EncoderError, match="uint8"):
        model_picture(trace, given=np.zeros((4, 4)))


def test_a_large_image_travels_in_a_few_kilobytes():
    patches = Patches(image_size=224, patch_size=32)
    config = encoder.EncoderConfig(
        vocab_size=0, patches=patches, max_positions=patches.n_tokens, d_model=16, n_layers=1, n_heads=2, d_ffn=16
    )
    model = encoder.ImageEncoder("large", Encoder(config))
    trace = model.trace(np.zeros((224, 224, 3), dtype=np.uint8))
    noise = np.random.default_rng(1).integers(0, 255, (224, 224, 3), dtype=np.uint8)
    assert len(model_picture(trace, given=noise).block()) <= 200_000


def test_a_sound_is_next_to_its_parts():
    model = encoder.load("spoken-digits", device="cpu")
    sound = next(iter(spoken_digits.examples().values())).sound
    trace = model.trace(sound)
    picture = model_picture(trace, 1, 1, given=sound)
    shown, wave = picture.header["input"], picture.arrays["wave"]
    assert isinstance(shown, dict)
    assert wave[0].min() == sound.samples.min()
    assert wave[1].max() == sound.samples.max()
    assert len(shown["spans"]) == trace.n_tokens
    assert shown["spans"][0] is None  # [CLS]
    assert shown["seconds"] == sound.seconds
    with pytest.raises(EncoderError, match="Sound"):
        model_picture(trace, given=np.zeros((4, 4), dtype=np.uint8))


def test_both_towers_end_in_vectors_with_their_cosine():
    pair = encoder.load("digit-words", device="cpu")
    trace, other = pair.image.trace(np.zeros((28, 28), dtype=np.uint8)), pair.text.trace("a three")
    ends = OtherEnd(pair.image_vector(trace).numpy(), pair.text_vector(other).numpy(), "a three")
    picture = model_picture(trace, pair=ends)
    cosine = pair.image_vector(trace) @ pair.text_vector(other)
    assert picture.header["pair"]["cosine"] == pytest.approx(float(cosine), abs=1e-6)  # type: ignore[index]
    assert near(picture.arrays["other"], pair.text_vector(other))
