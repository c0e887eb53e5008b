"""Feed-forward under AppTest: activations, updates, left-out sublayers and words are those of the engine."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import encoder
from encoder import causal, explain, probe
from encoder.edits import Zero
from encoder.explain.neurons import promoted_words, update_sizes
from encoder.figures.numbers import three_digits
from pages.core.inputs.edited import parse_recipe
from pages.core.words.formulas import number
from pages.feed_forward import examples
from tests.load import every_family
from tests.pages.apps import assert_well, exported, labels, press, visit, written

TEXT = "The cat sat on the mat."


def test_the_numbers_are_those_of_the_engine(minilm: encoder.TextEncoder) -> None:
    app = visit("feed_forward", text=TEXT, layer="2", i="2", neuron="17", neurons="all")
    assert_well(app)
    trace = minilm.trace(TEXT)
    layer = explain.hidden_activations(trace, 2)
    assert f"**{three_digits(float(layer.hidden[2, 17]))}**" in written(app)
    assert f"{layer.active_share:.1%}" in written(app)
    assert f"{(layer.hidden[:, 17] > 0.1).sum()} of {len(layer.hidden)}" in written(app)  # one meaning of “active”
    assert f"{(layer.hidden[2] > 0.1).mean():.0%} of 1,536 neurons" in written(app)
    lost = causal.leave_out_each_sublayer(minilm, TEXT).numpy()
    assert f"**{number(float(lost.ravel()[np.abs(lost).argmax()]))}**" in written(app)
    assert f"{three_digits(float(update_sizes(trace)['ffn'].max()))} in L" in written(app)
    names: dict = {}
    exec(exported(app), names)
    assert names["activation"] == layer.hidden[2, 17]
    np.testing.assert_allclose(names["lost"], lost, atol=1e-6)
    for button in ("Switch this neuron off", "Next: What changes if you switch this neuron off?"):
        app = visit("feed_forward", text=TEXT, layer="2", i="2", neuron="17")
        press(app, button)
        assert_well(app)
        assert parse_recipe(app.query_params["edits"])[0].edit == Zero("ffn.hidden", layer=2, components=(17,))
        assert "neuron 17" in written(app)


def test_neurons_beyond_the_most_active_are_named_with_their_rank(minilm: encoder.TextEncoder) -> None:
    layer = explain.hidden_activations(minilm.trace(TEXT), 2)
    order = np.argsort(-layer.strength.max(axis=0), kind="stable").tolist()
    app = visit("feed_forward", text=TEXT, layer="2", i="2", neuron=str(order[99]))
    assert_well(app)
    strongest = np.argsort(-layer.strength[2], kind="stable")[:3]
    further = {neuron: rank for rank, neuron in enumerate(order, 1) if rank > 24 and neuron in (order[99], *strongest)}
    said = re.findall(r"neuron (\d+) \((\d+)(?:st|nd|rd|th)\)", written(app))
    assert {int(neuron): int(rank) for neuron, rank in said} == further
    assert "named above" not in written(visit("feed_forward", text=TEXT, layer="2", neurons="all"))


def test_the_words_of_example_sentences_are_in_the_report(
    minilm: encoder.TextEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examples, "SENTENCES", 40)
    files: dict[str, Callable[[], bytes]] = {}
    monkeypatch.setattr("pages.core.widgets.export._button", lambda label, data, *_: files.update({label: data}))
    app = visit("feed_forward", text=TEXT, layer="1", i="2", neuron="17")
    assert "Most active on" not in written(app)
    press(app, "Find its words")
    assert_well(app)
    found = explain.neuron_examples(minilm, probe.examples()[:40], 1)
    first = found.of(17)[0]
    assert f"Most active on: **{found.named(17)[0][0]}**" in written(app)
    assert f"{found.share[17]:.1%} of the {len(found.words):,} words" in written(app)
    shown = next(one.proto.body for one in app.get("html") if "enc-shaded" in one.proto.body)
    assert f">{first.word}</span>" in shown
    assert shown.count("<p ") == len(found.of(17))
    report = files["HTML report"]().decode()
    assert html.escape(first.text) in report
    assert f"{explain.hidden_activations(minilm.trace(TEXT), 1).active_share:.1%}" in report
    names: dict = {}
    exec(exported(app), names)
    assert names["places"][0] == first
    assert "Find its words" not in labels(visit("feed_forward", layer="1", neuron="18"))  # of all neurons of the layer


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
