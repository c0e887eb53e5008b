"""Feed-forward under AppTest: activations, updates, left-out sublayers and words are those of the engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import encoder
from encoder import causal, explain
from encoder.edits import Zero
from encoder.explain.neurons import promoted_words, update_sizes
from encoder.figures.numbers import three_digits
from pages.core.inputs.edited import parse_recipe
from pages.core.words.formulas import number
from tests.load import every_family
from tests.pages.apps import assert_well, exported, press, visit, written

TEXT = "The cat sat on the mat."


def test_the_numbers_are_those_of_the_engine(minilm: encoder.TextEncoder) -> None:
    app = visit("feed_forward", text=TEXT, layer="2", i="2", neuron="17", neurons="all")
    assert_well(app)
    trace = minilm.trace(TEXT)
    layer = explain.hidden_activations(trace, 2)
    assert f"**{three_digits(float(layer.hidden[2, 17]))}**" in written(app)
    assert f"{1 - layer.off_share:.1%}" in written(app)
    lost = causal.leave_out_each_sublayer(minilm, TEXT).numpy()
    assert f"**{number(float(lost.ravel()[np.abs(lost).argmax()]))}**" in written(app)
    assert f"{three_digits(float(update_sizes(trace)['ffn'].max()))} in L" in written(app)
    names: dict = {}
    exec(exported(app), names)
    assert names["activation"] == layer.hidden[2, 17]
    np.testing.assert_allclose(names["lost"], lost, atol=1e-6)
    press(app, "Switch this neuron off")
    assert_well(app)
    assert parse_recipe(app.query_params["edits"])[0].edit == Zero("ffn.hidden", layer=2, components=(17,))


def test_words_of_a_twin() -> None:
    model = encoder.load("twin-post", device="cpu")
    text = "a [MASK] used to cut wood"
    app = visit("feed_forward", text=text, model="twin-post", layer="3", neuron="202")
    assert_well(app)
    found = promoted_words(model, 3, 202, model.trace(text))
    assert found.highest[0][1] in written(app)
    edited = model.trace(text, edits=[Zero("ffn.hidden", layer=3, positions=(2,), components=(202,))])
    up = causal.word_changes(model, model.trace(text), edited, 2, [one for one, _, _ in found.highest]).mean()
    assert f"**{number(float(up))}**" in written(app)
    app = visit("feed_forward", text="no hidden word", model="twin-pre", neuron="9999")
    assert not app.exception
    assert "0 to 511" in "\n".join(box.value for box in app.warning)


def test_a_long_text_is_drawn_in_parts() -> None:
    app = visit("feed_forward", text="cat dog " * 140)
    assert_well(app)
    assert "of 282 are drawn" in written(app)


def test_the_experts_of_each_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = every_family.ALL["mixtral"]
    folder = every_family.write(case, case.make(), tmp_path / "mixtral")
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(tmp_path))
    app = visit("feed_forward", model="other", source="mixtral", text="w7 w20 w33 w8", layer="1", i="2")
    assert_well(app)
    trace = encoder.load(folder, device="cpu").trace("w7 w20 w33 w8")
    weights = explain.expert_weights(trace, 1)
    assert weights is not None
    shown = written(app)
    for expert in np.flatnonzero(weights[2]):
        assert f"expert {expert} with weight **{three_digits(float(weights[2, expert]))}**" in shown
    assert f"Most used: expert {np.count_nonzero(weights, axis=0).argmax()}" in shown
