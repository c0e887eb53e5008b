"""Diagnose under AppTest: the verdict is the engine's, the faulty stage is marked, wrong vectors are a sentence."""

from __future__ import annotations

import json
import re
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import encoder
from encoder import diagnose
from encoder.diagnose.faults.base import PARTS
from encoder.figures import pipeline as drawn
from pages.base.access import limits, visitors
from pages.model.params import STEPS
from tests.diagnose.test_endpoint import reply, serving
from tests.pages.apps import assert_well, sentences, visit, written

TEXTS = ["A cat sat on the mat.", "two words", "Hokkaidō, café"]


def opened(model: encoder.TextEncoder, vectors: np.ndarray, **values: str):
    """The page with texts and pasted vectors, after “Diagnose” was pressed."""
    app = visit("diagnose", model="twin-pre", their_vectors="pasted", **values)
    app.text_area(key="diagnose:lines").set_value("\n".join(TEXTS)).run()
    app.text_area(key="diagnose:json").set_value(json.dumps({"embeddings": vectors.tolist()})).run()
    for button in app.button:
        if button.label == "Diagnose":
            button.click().run()
            break
    return app


def first_tokens(model: encoder.TextEncoder) -> np.ndarray:
    return np.stack([model.trace(text).output[0].numpy() for text in TEXTS])


def test_a_fault_is_named_and_its_stage_marked():
    model = encoder.load("twin-pre")
    vectors = first_tokens(model)
    app = opened(model, vectors)
    assert_well(app)
    found = diagnose.find("twin-pre", TEXTS, vectors, together=1)
    assert found.faults[0].sentence in written(app)
    assert ":red[:material/close: **Pooling differs**]" in written(app)
    assert ":green[:material/check: Layers]" in written(app)
    assert [button.label for button in app.button if "model" in button.label] == ["See this stage in the model"]


def test_the_stage_of_a_fault_opens_in_the_model():
    app = opened(encoder.load("twin-pre"), first_tokens(encoder.load("twin-pre")))
    pressed(app, "See this stage in the model")
    assert_well(app)
    assert app.query_params["step"] == "output"
    assert app.query_params["text"] in TEXTS


def test_every_fault_opens_a_part_that_the_model_has():
    opened_at = {kind.part or PARTS.get(kind.stage, "") for kind in diagnose.FAULTS.values()}
    assert opened_at <= set(STEPS)
    assert {"ids", "embedding", "softmax", "ffn", "output"} <= opened_at


@pytest.mark.parametrize("source", ["digits-pre", "spoken-digits"])
def test_images_and_sounds_are_diagnosed_by_their_probes(source: str):
    model = encoder.load(source)
    files = diagnose.probe_files(model.takes)
    theirs = np.stack([model.trace(model.open(one)).output[-1].numpy() for one in files.values()])
    app = visit("diagnose", model=source, their_vectors="pasted")
    assert_well(app)
    assert "Example." in written(app)
    assert "One text a line" not in {one.label for one in app.text_area}
    app.text_area(key="diagnose:json").set_value(json.dumps(theirs.tolist())).run()
    pressed(app, "Diagnose")
    assert_well(app)
    found = diagnose.find(model, files, theirs, together=1)
    assert [(one.name, one.parameters) for one in found.faults] == [("pooling", {"pooling": "last"})]
    assert found.faults[0].sentence in written(app)
    pressed(app, "See this stage in the model")
    assert_well(app)
    assert app.query_params[model.takes]


def test_a_search_that_was_cancelled_goes_on(monkeypatch: pytest.MonkeyPatch):
    """The second half does not run again what the first one has excluded."""
    model = encoder.load("twin-pre")
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(model.config.d_model,) * 2))[0]
    vectors = model.embed(TEXTS).numpy() @ turn
    app = visit("diagnose", model="twin-pre", their_vectors="pasted")
    app.text_area(key="diagnose:lines").set_value("\n".join(TEXTS)).run()
    app.text_area(key="diagnose:json").set_value(json.dumps(vectors.tolist())).run()
    excluded, kept = [], diagnose.Excluded.add

    def add(self, faults, distance: float) -> None:
        kept(self, faults, distance)
        excluded.append(faults)
        if len(excluded) == 60:  # as the button Cancel does, from another run of the page
            threading.Thread(target=app.session_state["long:diagnose"].cancel).start()

    monkeypatch.setattr(diagnose.Excluded, "add", add)
    pressed(app, "Diagnose")
    stopped = len(excluded)
    assert stopped >= 60
    app.run()
    assert f"{stopped:,}" in written(app)
    pressed(app, "Go on")
    assert_well(app)
    assert "Unknown" in written(app)
    assert len(excluded) == len(set(excluded))


def test_an_unknown_answer_offers_pairs_and_its_button_searches_them():
    random = np.random.default_rng(0).normal(size=(2, encoder.load("twin-pre").config.d_model))
    app = visit("diagnose", model="twin-pre", their_vectors="pasted")
    app.text_area(key="diagnose:lines").set_value("\n".join(TEXTS[:2])).run()
    app.text_area(key="diagnose:json").set_value(json.dumps(random.tolist())).run()
    pressed(app, "Diagnose")
    assert diagnose.Verdict("unknown", 1.0, 1.0, together=1).said.splitlines()[0][9:40] in written(app)
    pressed(app, "Search pairs, too")
    assert_well(app)
    assert app.query_params["faults_together"] in ("2", ["2"])
    assert "Search three together, too" in [button.label for button in app.button], "pairs were searched"


def test_an_unknown_answer_says_how_far_and_what_next(twin_noise: np.ndarray):
    """Its words are those of the engine; identifiers are behind a fold, and what it proposes is a button."""
    app = opened(encoder.load("twin-pre"), twin_noise)
    assert_well(app)
    found = diagnose.find(encoder.load("twin-pre"), TEXTS, twin_noise, together=1)
    said = written(app)
    assert all(one in said for one in found.looked_like)
    assert all(group in said for group in found.groups)
    assert not [one for one in found.excluded if "-" in one and one in said], "identifiers are behind a fold"
    assert not re.search(r"(^|\W)--\w", said), "an option of the command is not one of the page"
    app.session_state["lazy:diagnose-excluded"] = True
    app.run()
    assert all(name in written(app) for name in found.excluded)


def test_the_texts_that_tell_most_are_added_by_a_button(twin_noise: np.ndarray):
    app = opened(encoder.load("twin-pre"), twin_noise)
    proposed = diagnose.find("twin-pre", TEXTS, twin_noise, together=1).proposed
    pressed(app, f"Add the texts ({len(proposed)})")
    lines = app.text_area(key="diagnose:lines").value.splitlines()
    assert lines == [*TEXTS, *proposed]
    assert f"{len(TEXTS)} vectors and {len(lines)} inputs" in sentences(app)


def test_noise_of_rounding_is_accepted_by_a_button(twin_noise: np.ndarray):
    app = opened(encoder.load("twin-pre"), twin_noise)
    (label,) = [button.label for button in app.button if button.label.startswith("Accept ")]
    pressed(app, label)
    assert_well(app)
    assert app.query_params["their_precision"] in label
    assert "Nothing is wrong" in written(app)


@pytest.fixture
def twin_noise() -> np.ndarray:
    """Vectors with errors of the size of bfloat16's."""
    right = encoder.load("twin-pre").embed(TEXTS).numpy()
    return right + 4e-3 * np.random.default_rng(0).normal(size=right.shape)


def test_differences_without_a_fault_have_one_bar_each():
    assert len(drawn.text_differences(TEXTS, [1.0, 2.0, 3.0]).data) == 1
    assert len(drawn.text_differences(TEXTS, [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]).data) == 2


def test_right_vectors_are_sound():
    model = encoder.load("twin-pre")
    app = opened(model, model.embed(TEXTS).numpy())
    assert_well(app)
    assert "**Nothing is wrong:** largest" in written(app)


def test_another_number_of_vectors_is_a_sentence(monkeypatch: pytest.MonkeyPatch):
    model = encoder.load("twin-pre")
    app = opened(model, model.embed(TEXTS[:2]).numpy())
    assert "2 vectors and 3 inputs" in sentences(app)
    monkeypatch.setattr(type(limits.DIAGNOSE_TEXTS), "value", property(lambda _: 2))
    app.run()
    assert "3 texts, and the limit is 2" in sentences(app)


def test_before_there_are_vectors_an_example_shows_what_an_answer_is():
    app = visit("diagnose", model="twin-pre")
    assert_well(app)
    model = encoder.load("twin-pre")
    texts = [text for text in diagnose.probes(model)[:8] if "\n" not in text and "\t" not in text]
    found = diagnose.example(model, texts)
    assert "Example." in written(app)
    assert f"**{found.difference_without:.2g}**" in written(app)
    assert ran(app)["found"].difference_without == found.difference_without
    sizes = found.distances(explained=False)
    place = int(sizes.argmin())
    shown = written(visit("diagnose", model="twin-pre", differing_text=str(place)))
    assert f"largest difference **{sizes[place]:.2g}**, the {len(texts)}th largest of {len(texts)}" in shown


def test_the_python_lines_give_the_verdict_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    vectors = first_tokens(encoder.load("twin-pre"))
    monkeypatch.chdir(tmp_path)
    np.save("vectors.npy", vectors)
    app = opened(encoder.load("twin-pre"), vectors, their_precision="float16", their_batch="3")
    found = ran(app)["found"]
    assert [one.name for one in found.faults] == ["pooling"]
    assert found.faults[0].sentence in written(app)


def ran(app) -> dict[str, Any]:
    """The names that the Python lines of the export make."""
    (code,) = [block.value for block in app.code if "import diagnose" in block.value]
    names: dict[str, Any] = {}
    exec(code, names)
    return names


def test_the_fault_of_the_example_is_what_the_search_finds():
    model = encoder.load("twin-pre")
    known = diagnose.example(model, TEXTS)
    found = diagnose.find(model, TEXTS, known.theirs, together=1)
    assert (found.verdict, found.faults) == (known.verdict, known.faults)
    assert found.difference_without == pytest.approx(known.difference_without, rel=1e-4)


def pressed(app, label: str):
    next(button for button in app.button if button.label == label).click().run()


def test_a_server_is_asked_and_diagnosed_on_ones_own_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    model = encoder.load("twin-pre")
    bodies: list[dict] = []

    def answer(handler, body) -> None:
        bodies.append(body)
        reply(handler, {"embeddings": [model.trace(text).output[0].tolist() for text in body["input"]]})

    with serving(answer) as url:
        app = visit("diagnose", model="twin-pre", their_vectors="server")
        app.text_area(key="diagnose:lines").set_value("\n".join(TEXTS)).run()
        next(one for one in app.text_input if one.label == "Its address").set_value(f"{url}/api/embed").run()
        assert not bodies  # nothing is asked before a click
        pressed(app, "Ask the server")
        pressed(app, "Diagnose")
    assert_well(app)
    assert bodies[0]["input"] == TEXTS
    found = diagnose.find("twin-pre", TEXTS, first_tokens(model), together=1)
    assert [one.name for one in found.faults] == ["pooling"]
    assert found.faults[0].sentence in written(app)


def test_a_shared_server_asks_no_address(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: False)
    app = visit("diagnose", model="twin-pre", their_vectors="server", their_address="http://localhost:1")
    assert_well(app)
    assert "Its address" not in {one.label for one in app.text_input}
    assert next(one for one in app.segmented_control if one.label == "Vectors of").options == ["a file", "JSON"]


def test_an_onnx_file_that_is_not_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    app = visit("diagnose", model="twin-pre", their_vectors="onnx")
    app.text_area(key="diagnose:lines").set_value("\n".join(TEXTS)).run()
    next(one for one in app.text_input if one.label == "Its path").set_value("gone.onnx").run()
    pressed(app, "Run the file")
    assert "encoderscope[onnx]" in sentences(app)


def test_a_prompt_and_another_model_are_those_of_the_command():
    model, other = encoder.load("twin-pre"), encoder.load("twin-post")
    prompted = model.embed([f"query: {text}" for text in TEXTS]).numpy()
    assert "Nothing is wrong" in written(opened(model, prompted, their_prompt="query: "))
    vectors = diagnose.Pipeline.of(model).with_front(encoder=other.encoder).vectors(TEXTS)
    app = opened(model, vectors, other_source="twin-post")
    assert_well(app)
    found = diagnose.find("twin-pre", TEXTS, vectors, others=["twin-post"], together=1)
    assert found.faults[0].name == "other-revision"
    assert found.faults[0].sentence in written(app)
