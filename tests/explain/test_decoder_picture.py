"""The second river of the model's picture: each of its numbers is the decoder's trace, in pre-norm and post-norm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import encoder
from encoder import EncoderError, Trace, explain, export
from encoder.drawing.picture import Picture
from encoder.explain import Place
from encoder.export.notebook import INSIDE, choices_of, of_trace
from encoder.export.saved import page
from encoder.views.model_parts import with_parts
from tests.explain.test_parts import FIRST, OPENED

DATE = "the twenty-first of March 1998"
#: The row of the decoder whose next token is the second digit of the month; layer and head of the picture.
MONTH, LAYER, HEAD = 6, 1, 2
AT = Place(LAYER, HEAD, MONTH, 3)


@pytest.fixture(scope="module", params=["dates-pre", "dates-post"])
def trace(request: pytest.FixtureRequest) -> Trace:
    model = encoder.load(request.param, device="cpu")
    found: Trace = model.generate(model.trace(DATE)).trace
    return found


def second(picture: Picture) -> dict[str, Any]:
    """The header of the second river."""
    found: dict[str, Any] = picture.header["decoder"]  # type: ignore[assignment]
    return found


def vector(picture: Picture, part: str, name: str) -> np.ndarray:
    """A vector that a part of the second river shows."""
    strips = second(picture)["parts"][part]["strips"]
    return picture.arrays["decoder " + next(strip["array"] for strip in strips if strip["name"] == name)]


def test_its_numbers_are_the_decoders(trace: Trace) -> None:
    picture, target = export.model(trace, LAYER, HEAD, output=(MONTH, 3)), trace.decoder
    header, arrays = second(picture), picture.arrays
    assert header["labels"] == list(target.labels)
    assert (header["query"], header["key"], header["starts"]) == (MONTH, 3, 1)
    cross = trace.cross_attention(LAYER, HEAD).numpy()
    assert arrays["decoder cross"] == pytest.approx(cross, abs=1e-6)
    maps = target.layer_cross_attention(LAYER).numpy()
    assert np.abs(arrays["decoder crossMaps"] / 255 - maps).max() < 1 / 255
    at, label, weight = header["strongest"][MONTH]
    assert (at, label) == (int(cross[MONTH].argmax()), trace.labels[cross[MONTH].argmax()])
    assert weight == pytest.approx(cross[MONTH].max())
    assert arrays["decoder weights"] == pytest.approx(target.attention(LAYER, HEAD).numpy(), abs=1e-6)
    shares = target.log_probabilities.exp().numpy()
    assert [share for _, share in header["outputs"]] == pytest.approx(shares, abs=1e-6)
    assert [label for label, _ in header["outputs"]] == list(target.model.labels(target.next_ids))
    assert all(most[0] == output for most, output in zip(header["next"], header["outputs"], strict=True))
    assert all(len(most) == 5 for most in header["next"])
    streams = [target.values[name].norm(dim=-1).numpy() for name in header["stages"]]
    assert f"layers.{LAYER}.after_cross" in header["stages"]
    assert arrays["decoder stream"] == pytest.approx(np.stack(streams), rel=1e-5)
    crossing = target.values[f"layers.{LAYER}.after_cross"] - target.values[f"layers.{LAYER}.after_attention"]
    if target.config.norm_placement == "pre":
        assert arrays["decoder updates"][LAYER, 1] == pytest.approx(crossing.norm(dim=-1).numpy(), rel=1e-4)
    assert ("norm-cross" in header["norms"]) is True


def test_its_parts_add_up_from_layer_to_layer(trace: Trace) -> None:
    target = trace.decoder
    picture = with_parts(export.model(trace, LAYER, HEAD), target, AT, part="cross")
    parts = second(picture)["parts"]
    weights = trace.cross_attention(LAYER, HEAD)[MONTH].numpy()
    source = int(weights.argmax())
    assert second(picture)["partsOf"] == {"query": MONTH, "key": 3, "source": source}
    q, k, v = (target.values[f"layers.{LAYER}.cross.{name}"][HEAD].numpy() for name in "qkv")
    assert vector(picture, "cross-scores", "query") == pytest.approx(q[MONTH], rel=1e-5)
    assert vector(picture, "cross-scores", "key") == pytest.approx(k[source], rel=1e-5)
    score = float(q[MONTH] @ k[source]) * target.config.score_scale
    assert parts["cross-scores"]["value"] == pytest.approx(score, rel=1e-4)
    assert parts["cross"]["value"] == pytest.approx(weights[source], abs=1e-6)
    assert vector(picture, "cross-mixing", "z") == pytest.approx(weights @ v, rel=1e-4, abs=1e-5)
    assert parts["next"]["value"] == pytest.approx(float(target.log_probabilities[MONTH].exp()), abs=1e-6)
    assert "softmax" in parts
    assert "output" not in parts
    for part in target.config.sublayers:
        step = explain.add_norm(target, AT, part)
        assert step.before + step.update == pytest.approx(step.total, abs=1e-4)
    other = with_parts(export.model(trace, LAYER, HEAD), target, AT, part="cross", source=1)
    assert second(other)["parts"]["cross"]["value"] == pytest.approx(weights[1], abs=1e-6)


def test_a_place_of_the_input_that_does_not_exist_is_named(trace: Trace) -> None:
    with pytest.raises(EncoderError, match="11"):
        explain.cross_score(trace.decoder, Place(key=12))
    with pytest.raises(EncoderError, match="layer"):
        export.model(trace, layer=2)


def test_a_token_passes_three_sublayers_in_each_layer(trace: Trace) -> None:
    flow = explain.token_flow(trace.decoder, MONTH)
    assert [stage.part for stage in flow.stages[:3]] == ["attention", "cross", "ffn"]
    assert all(one.after == two.before for one, two in zip(flow.stages, flow.stages[1:], strict=False))


def test_twenty_four_tokens_are_small() -> None:
    model = encoder.load("dates-post", device="cpu")
    trace = model.trace(" ".join(["march"] * 22), target="1998-03-21")
    picture = export.model(trace, LAYER, HEAD)
    assert len(picture.block()) <= FIRST
    opened = with_parts(picture, trace.decoder, AT, part="cross", model=model.decoder)
    assert len(opened.block()) - len(picture.block()) <= OPENED


def test_a_file_and_a_notebook_hold_the_second_river(trace: Trace) -> None:
    event = {"event": {"side": "decoder", "part": "cross", "query": MONTH, "key": None, "source": 2}}
    chosen = {"layer": LAYER, "head": HEAD, "query": None, "key": None, **INSIDE, **choices_of(event)}
    assert (chosen["side"], chosen["output"], chosen["source"], chosen["query"]) == ("decoder", MONTH, 2, None)
    drawn = second(of_trace(trace, {}, chosen))
    assert drawn["parts"]["cross"]["value"] == pytest.approx(float(trace.cross_attention(LAYER, HEAD)[MONTH, 2]))
    assert "data-block" in page(trace, LAYER, HEAD)
