"""What opens inside the picture of the model: every part, in every kind of encoder, next to the trace's own numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import encoder
from encoder import EncoderError, TextEncoder, Trace, explain
from encoder.drawing.picture import Picture
from encoder.edits import AblateHead, Zero
from encoder.encoders.named import NamedEncoder
from encoder.explain import Place, Recomputation, Variant
from encoder.figures.numbers import three_digits
from encoder.views.model_parts import PARTS, with_parts
from encoder.views.model_picture import model_picture
from tests.load.sounds import tone

#: Bytes of the first picture of 24 tokens, and of one with a part opened in addition.
FIRST, OPENED = 200_000, 150_000
AT = Place(layer=1, head=1, query=2, key=1)


def opened(trace: Trace, part: str = "softmax", at: Place = AT, **more: object) -> Picture:
    """The picture with a part open."""
    return with_parts(model_picture(trace, at.layer, at.head, at.query, at.key), trace, at, part=part, **more)  # type: ignore[arg-type]


def vector(picture: Picture, part: str, name: str) -> np.ndarray:
    """A vector that a part shows."""
    strips = picture.header["parts"][part]["strips"]  # type: ignore[index]
    return picture.arrays[next(strip["array"] for strip in strips if strip["name"] == name)]


def test_every_part_has_the_numbers_of_the_trace(traced: tuple[Trace, Recomputation]) -> None:
    trace, reference = traced
    at = Place(layer=trace.config.n_layers - 1, head=1, query=2, key=1)
    picture = opened(trace, "softmax", at, reference=reference)
    parts = picture.header["parts"]
    assert picture.header["part"] == "softmax"
    assert [part for part in PARTS if part in parts] == sorted(parts, key=PARTS.index)
    q, k, v = (one[at.head].numpy() for one in trace.layer_qkv(at.layer))
    assert vector(picture, "q", "query") == pytest.approx(q[2], rel=1e-5)
    assert vector(picture, "k", "key") == pytest.approx(k[1], rel=1e-5)
    assert vector(picture, "v", "value") == pytest.approx(v[1], rel=1e-5)
    assert parts["softmax"]["value"] == pytest.approx(float(trace.attention(at.layer, 1)[2, 1]), abs=1e-6)
    assert vector(picture, "mixing", "z") == pytest.approx(trace.z(at.layer, 1)[2].numpy(), abs=1e-5)
    after = trace.values[f"layers.{at.layer}.after_ffn"][2].numpy()
    last = "norm-ffn" if trace.config.norm_placement == "post" else "add-ffn"
    assert vector(picture, last, "output" if last == "norm-ffn" else "sum") == pytest.approx(after, rel=1e-4, abs=1e-4)
    for part, found in parts.items():
        assert found["checks"] or part in ("ids", "class"), part
        assert all(agrees for *_, agrees, _ in found["checks"]), part
        component = found["component"]
        for strip in found["strips"]:
            if strip["role"] == "neuron":
                assert picture.arrays[strip["array"]][found["neuron"]] == pytest.approx(found["value"]), part
            assert component is None or component < max(len(picture.arrays[s["array"]]) for s in found["strips"]), strip


@pytest.mark.parametrize("name", ["digits-pre", "spoken-digits", "twin-post"])
def test_another_input_has_the_parts_that_it_can_have(name: str) -> None:
    model: NamedEncoder = encoder.load(name, device="cpu")
    given = {"text": "one two three", "image": np.zeros((28, 28), dtype=np.uint8), "sound": tone(0.4)}
    trace = model.trace(given[model.takes])
    parts = opened(trace, model=model).header["parts"]
    assert {"q", "softmax", "heads", "ffn"} <= set(parts)
    assert ("embedding" in parts) == (trace.kind == "text")
    assert ("class" in parts) == (model.classifier is not None)


def test_a_head_and_a_sublayer_that_are_off_add_nothing(minilm: TextEncoder) -> None:
    off = opened(minilm.trace("The cat sat.", edits=[AblateHead(1, 1)]))
    assert not vector(off, "heads", "added by this head").any()
    assert vector(off, "heads", "result").any()
    assert "off" in off.header["parts"]["mixing"]["said"]
    without = opened(minilm.trace("The cat sat.", edits=[Zero("ffn_out", layer=1)]))
    assert vector(without, "add-ffn", "added") == pytest.approx(0, abs=1e-5)


def test_the_component_is_the_largest_unless_one_is_chosen(minilm: TextEncoder) -> None:
    trace = minilm.trace("The cat sat.")
    products = explain.score(trace, AT).terms
    parts = opened(trace).header["parts"]
    assert parts["scores"]["component"] == parts["q"]["component"] == int(np.abs(products).argmax())
    chosen = opened(trace, component=7, neuron=9).header["parts"]
    assert chosen["scores"]["component"] == chosen["embedding"]["component"] == 7
    assert chosen["ffn"]["chosen"] == 9


def test_bytes_that_travel(minilm: TextEncoder) -> None:
    trace = minilm.trace(" ".join(["word"] * 22))
    first = model_picture(trace, 1, 1, 2, 1)
    assert len(first.block()) <= FIRST
    assert with_parts(first, trace, AT) == first, "a closed picture costs nothing"
    assert len(opened(trace, model=minilm).block()) - len(first.block()) <= OPENED


def test_weights_without_the_scale_say_what_it_does(minilm: TextEncoder) -> None:
    trace = minilm.trace("one two three")
    rows = [
        (trace.scores(AT.layer, AT.head)[AT.query] * factor).softmax(-1) for factor in (minilm.config.d_head**0.5, 1)
    ]
    part = opened(trace, variant=Variant(scaled=False)).header["parts"]["softmax"]  # type: ignore[index]
    numbers = [three_digits(float(one)) for row in rows for one in (row.max(), -(row * row.log()).sum())]
    assert re.findall(r"\d+(?:\.\d+)?", part["said"].partition("√dₖ")[2]) == [numbers[at] for at in (0, 2, 1, 3)]
    assert "√d" not in opened(trace).header["parts"]["softmax"]["said"]  # type: ignore[index]


def test_a_place_that_is_not_there_is_named(minilm: TextEncoder) -> None:
    trace = minilm.trace("one two")
    with pytest.raises(EncoderError, match="99"):
        opened(trace, at=Place(layer=1, query=99))
