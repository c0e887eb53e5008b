"""Probes under AppTest: the numbers are the engine's, heads open and stay in the session, files are read."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import encoder
from encoder import classify, edits, probe
from encoder.classify.class_heads import linear_head
from encoder.edits import AblateHead
from encoder.model.classifier import ClassifierConfig
from encoder.probe import recorded
from encoder.trace import gradual
from pages.probes import controls
from tests.pages.apps import assert_well, press, sentences, visit, words, written


@pytest.mark.parametrize("model", ["minilm", "twin-pre"])
def test_the_page_opens_on_a_recorded_run(model: str):
    task, curve = probe.bundled(recorded.TASK), recorded.recorded()["token"]
    for score in curve.scores:
        assert [score.classes[place] == label for place, label in zip(score.predicted, task.labels, strict=True)] == (
            score.right.tolist()
        )
    app = visit("probes", model=model, closed=True)
    assert_well(app)
    assert "Recorded with all-MiniLM-L6-v2" in written(app)
    assert f"{curve.scores[curve.best].accuracy:.1%}" in written(app)
    assert [button for button in app.button if button.key == "probes:begin"], "the reader's own run is a click"


def test_moved_norms_never_have_the_recorded_curve_as_theirs():
    app = visit("probes", model="minilm", norm="pre", closed=True)
    assert_well(app)
    said = written(app)
    assert "all-MiniLM-L6-v2 as trained, in post-norm. Easiest" in said.replace("*", "")
    assert "badge" not in app.title[0].value, "what is shown is of the model as it was trained"
    assert "all-MiniLM-L6-v2, norms moved to pre-norm: 3 curves" in said, "the button trains those of the moved norms"
    curve = recorded.recorded()["token"]
    best = curve.scores[curve.best].accuracy, curve.control[curve.best]
    accuracy, control = (float(f"{one:.1%}"[:-1]) for one in best)
    assert f"selectivity is {accuracy - control:.1f} points" in said


@pytest.mark.slow("trains probes again")
def test_the_recorded_probes_are_those_of_the_engine(minilm: encoder.TextEncoder):
    task, curve = probe.bundled(recorded.TASK), recorded.recorded()["mean"]
    features = probe.extract(minilm, task)
    splits = probe.linear.folds_of(task.labels)
    again = gradual.result(probe.iter_accuracy(features.vectors["mean"][0], task.labels, splits))
    assert (again.predicted == curve.scores[0].predicted).mean() > 0.99  # another machine rounds otherwise


@pytest.fixture(scope="module")
def few(module_monkeypatch: pytest.MonkeyPatch) -> probe.Task:
    """The bundled task with 40 texts, so that its probes train in a moment."""
    whole = probe.bundled("word_pos")
    places = [n for label in whole.classes for n in [m for m, one in enumerate(whole.labels) if one == label][:10]]
    task = probe.Task(
        tuple(whole.texts[n] for n in places),
        tuple(whole.labels[n] for n in places),
        tuple(whole.spans[n] for n in places),
        whole.title,
    )
    module_monkeypatch.setattr(probe, "bundled", lambda name: task)
    return task


@pytest.fixture(scope="module")
def module_monkeypatch():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.mark.slow("trains probes at every layer")
def test_the_best_layer_is_the_engines_and_its_head_classifies(few: probe.Task, minilm: encoder.TextEncoder):
    app = visit("probes", probe_views="mean", text="A dog barked at night")
    assert not [line for line in app.get("bidi_component") if "plot" in line.proto.component_name]
    press(app, "Train the probes")
    assert_well(app)
    features = probe.extract(minilm, few)
    curve = probe.accuracy_by_layer(features, few, "mean")
    score = curve.scores[curve.best]
    assert f"{score.accuracy:.1%}" in written(app)
    assert f"{score.interval[0]:.1%} to {score.interval[1]:.1%}" in written(app)

    app = visit("probes", probe_views="mean", probe_view="mean", probe_layer="3", text="A dog barked at night")
    assert f"{curve.scores[3].accuracy:.1%}" in written(app)
    app.session_state["lazy:probes-head"] = True
    app.run()
    app.button(key="probe-head:begin").click().run()
    assert_well(app)
    app.button(key="probes:use").click().run()
    assert_well(app)
    head = probe.fitted_head(features, few, "mean", 3)
    model = classify.with_head(minilm, head)
    found = classify.predict(model, model.trace("A dog barked at night"))
    assert f"**{found.best}** | {found.of(found.best):.1%}" in words(app)
    assert found.best not in words(visit("probes", probe_views="mean")).split("Right by class")[0]
    app.button(key="probes:close").click().run()
    assert "probability" not in words(app)


def test_poolings_are_compared_on_request(few: probe.Task):
    app = visit("probes", probe_views="mean", probe_layer="6", probe_view="mean")
    if [button for button in app.button if button.key == "probes:begin"]:
        press(app, "Train the probes")
    app.session_state["lazy:probes-poolings"] = True
    app.run()
    app.button(key="poolings:begin").click().run()
    assert_well(app)
    assert "Attention pooling (trained) |" in words(app)


def test_a_layer_that_does_not_exist_and_no_vectors(few: probe.Task):
    app = visit("probes", probe_views="mean", probe_layer="40")
    assert_well(app)
    if [button for button in app.button if button.key == "probes:begin"]:
        press(app, "Train the probes")
    assert "Selected: **output**" in words(app)


def test_a_file_waits_and_is_named(few: probe.Task):
    app = visit("probes", probe_task="file")
    assert_well(app)
    assert "Choose a file" in sentences(app)
    assert set(controls.TITLES) == set(controls.TASKS)


@pytest.mark.slow("writes a checkpoint and opens pages with it")
def test_a_checkpoints_own_head_is_an_outcome(
    tmp_path: Path, minilm: encoder.TextEncoder, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(tmp_path))
    torch.manual_seed(0)
    for kind in ("sequence", "token"):
        config = ClassifierConfig(kind, ("good", "B-bad", "O"))
        head = linear_head(torch.randn(3, 384), torch.zeros(3), config)
        model = classify.with_head(minilm, head)
        encoder.save(model, tmp_path / kind)
        app = visit(
            "interventions",
            model="other",
            source=kind,
            outcome="class",
            text="A dog barked",
            edits=edits.format((AblateHead(1, 3),)),
            outcome_token="2",
        )
        assert_well(app)
        trace = model.trace("A dog barked")
        if kind == "sequence":
            best = classify.predict(model, trace).best
            assert f"**{best}**" in written(app)
        else:
            best = classify.tags(model, trace)[2].label
        (classes,) = [box for box in app.selectbox if box.label == "Class"]
        assert classes.options[0].endswith(best), "the predicted one, whatever the text is"
        assert not classes.value
        assert "With your edits, " in written(app)
    app = visit("interventions", outcome="class")
    assert "no classification head" in sentences(app)
    assert not app.exception
