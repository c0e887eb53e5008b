"""The page “By hand” by AppTest: its numbers, links with changed numbers, the mistakes of the notes."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from encoder.drawing.javascript import SHARED
from encoder.explain.by_hand import NOTES_POSITIONS, Inputs, compute
from pages.by_hand import numbers_in_link
from pages.components.by_hand import _changes
from tests.pages.apps import assert_well, sentences, visit, words
from tests.run_javascript import evaluated
from tests.test_components import unpack


def drawn(app: Any) -> dict[str, Any]:
    """What the page gives the drawing that computes."""
    (one,) = (one.proto for one in app.get("bidi_component") if one.proto.component_name == "encoderscope_by_hand")
    return unpack(one.bytes)[0]


def in_browser(expression: str, inputs: Inputs, folder: Path) -> Any:
    """The value of an expression of by_hand.js over `inputs` and `notes`."""
    given = f"const inputs = {json.dumps(dataclasses.asdict(inputs))}; const notes = {json.dumps(NOTES_POSITIONS)};"
    program = f"(() => {{ {given} return {expression}; }})()"
    return evaluated(SHARED / "by_hand.js", "layerByHand, stepsByHand", program, folder)


def formulas(inputs: Inputs, folder: Path) -> str:
    """All formulas and words that the browser draws."""
    items = "stepsByHand(inputs, notes).flatMap(({ rules, results, inFull }) => [...rules, ...results, ...inFull])"
    found = in_browser(items, inputs, folder)
    return "\n".join(one if isinstance(one, str) else one.get("formula") or one["words"] for one in found)


CHANGED = Inputs().replace(
    w_o=[[0.5, -0.25, 0.0, 1.0]] * 4, b_in=[0.1, -3.0, 0.0, 0.2, 0.0, 7.0], ffn_gain=[2.0, 1.0, 0.5, -1.0], eps=0.1
)


@pytest.mark.parametrize("placement", ["post", "pre"])
@pytest.mark.parametrize(("positions", "scaled"), [("formula", True), ("notes", False), ("own", True)])
def test_the_browser_computes_what_python_does(placement: str, positions: str, scaled: bool, tmp_path: Path) -> None:
    inputs = CHANGED.replace(norm_placement=placement, positions=positions, scaled=scaled)
    found, ours = in_browser("layerByHand(inputs, notes)", inputs, tmp_path), compute(inputs)
    names = {
        "position": "position",
        "stream": "x_position",
        "attentionInput": "attention_input",
        "q": "q",
        "k": "k",
        "v": "v",
        "dots": "dots",
        "scores": "scores",
        "exponentials": "exponentials",
        "attention": "attention",
        "z": "z",
        "attentionOutput": "attention_output",
        "attentionSum": "attention_sum",
        "afterAttention": "after_attention",
        "ffnInput": "ffn_input",
        "hidden": "hidden",
        "ffnOutput": "ffn_output",
        "ffnSum": "ffn_sum",
        "output": "output",
    }
    for theirs, name in names.items():
        np.testing.assert_allclose(found[theirs], getattr(ours, name), rtol=1e-12, atol=1e-12, err_msg=name)
    for theirs, norm in (("attentionNorm", ours.attention_norm), ("ffnNorm", ours.ffn_norm)):
        for part in ("mean", "variance", "output"):
            expected = getattr(norm, part).reshape(np.shape(found[theirs][part]))
            np.testing.assert_allclose(found[theirs][part], expected, rtol=1e-12, atol=1e-12)


def test_the_calculation_with_the_numbers_of_the_example(tmp_path: Path) -> None:
    app = visit("by_hand")
    assert_well(app)
    assert "hand" not in app.query_params
    header = drawn(app)
    assert header["inputs"] == header["usual"] == json.loads(json.dumps(dataclasses.asdict(Inputs())))
    shown = formulas(Inputs(), tmp_path)
    assert "0.8415 & 0.5403 & 0.0100 & 1.0000" in shown
    assert "0.99995" in shown
    assert "0.84, 0.54, 0.08, 0.99" in shown


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_a_cell_of_a_map_is_written_in_full(placement: str, tmp_path: Path) -> None:
    inputs = CHANGED.replace(norm_placement=placement)
    cells = "{ stream: [2, 0], weight: [2, 0], output: [0, 3] }"
    items = f"stepsByHand(inputs, notes, {cells}).flatMap(({{ inFull }}) => inFull)"
    shown = "\n".join(one.get("formula") or one["words"] for one in in_browser(items, inputs, tmp_path))
    found = compute(inputs)
    assert f"{found.attention[2][0]:.4f}" in shown
    assert f"{found.output[0][3]:.4f}" in shown
    assert f"{found.position[2][0]:.5f}" in shown
    assert "The fourth number of “The”" in shown


def test_what_the_notes_say_beside_what_comes_out() -> None:
    app = visit("by_hand", worked="notes")
    assert_well(app)
    labels = [one.label for one in app.expander if "-badge" in one.label]
    assert (sum(":red-badge" in one for one in labels), sum(":green-badge" in one for one in labels)) == (4, 4)
    positions = app.dataframe[0].value
    assert positions["0"].tolist() == ["0.84 ✓", "0.84147", "0.90 ✗", "0.9093"]
    assert positions["1"].tolist() == ["0.54 ✓", "0.5403", "0.43 ✗", "−0.41615"]
    assert positions["2"].tolist() == ["0.08 ✗", "0.01", "0.16 ✗", "0.02"]
    assert positions["3"].tolist() == ["0.99 ✗", "0.99995", "0.99 ✗", "0.9998"]
    assert "4 of 8" in words(app)


def test_the_other_half_and_other_pages_keep_what_was_changed() -> None:
    changed = json.dumps({"w_o": [[0.5] * 4] * 4, "eps": 0.5}, separators=(",", ":"))
    app = visit("by_hand", hand=changed)
    before = drawn(app)
    app.segmented_control(key="view:worked").set_value("notes").run()
    assert app.query_params["hand"] == changed
    app.segmented_control(key="view:worked").set_value("calculation").run()
    assert_well(app)
    assert drawn(app) == before
    assert before["inputs"]["w_o"] == [[0.5] * 4] * 4
    assert app.query_params["hand"] == changed


def test_with_the_notes_encoding(tmp_path: Path) -> None:
    shown = formulas(Inputs(positions="notes"), tmp_path)
    assert "1.3400 & 0.6400 & 0.9800 & 1.6900" in shown
    assert "2.496 & 2.358 & 2.220 & 2.082" in shown


def test_choices_in_a_link_are_drawn(tmp_path: Path) -> None:
    app = visit("by_hand", hand=json.dumps({"positions": "notes", "norm_placement": "pre"}))
    assert_well(app)
    assert (drawn(app)["inputs"]["positions"], drawn(app)["inputs"]["norm_placement"]) == ("notes", "pre")
    assert "X_1 = X' + O" in formulas(Inputs(norm_placement="pre"), tmp_path)
    assert "X_1 = X' + O" not in formulas(Inputs(), tmp_path)


def test_numbers_in_a_link(tmp_path: Path) -> None:
    zeros = [[0.0] * 4] * 4
    app = visit("by_hand", hand=json.dumps({"w_q": zeros}))
    assert_well(app)
    assert drawn(app)["inputs"]["w_q"] == zeros
    assert "0.3333 & 0.3333 & 0.3333" in formulas(Inputs().replace(w_q=zeros), tmp_path)


@pytest.mark.parametrize("text", ["nonsense", "[1]", '{"w_x":1}', '{"positions":"rotary"}'])
def test_a_link_that_cannot_be_read_falls_back(text: str) -> None:
    app = visit("by_hand", hand=text)
    assert not app.exception
    assert app.warning[0].icon == ":material/link_off:"
    assert drawn(app)["inputs"] == drawn(app)["usual"]


def test_numbers_that_do_not_fit_are_named_and_nothing_breaks() -> None:
    app = visit("by_hand", hand=json.dumps({"w_q": [[1.0, 2.0]]}))
    assert not app.exception
    assert drawn(app)["problem"]
    (said,) = app.warning  # once, not next to every step
    assert re.search(r"W_Q: 1 × 2 .*4 × 4", said.value.replace("\\", ""))


@pytest.mark.parametrize(
    "changes",
    [
        {"eps": None}, {"eps": "x"}, {"eps": -1}, {"eps": True}, {"embeddings": 5}, {"embeddings": [["a"] * 4] * 3},
        {"embeddings": [[1, 2], [3, 4]]}, {"w_q": []}, {"w_q": [[]]}, {"b_in": [[1]]}, {"b_in": "12"},
    ],
)  # fmt: skip
def test_a_links_numbers_that_are_none_are_refused_in_a_sentence(changes: dict) -> None:
    app = visit("by_hand", hand=json.dumps(changes))
    assert_well(app)
    assert app.warning[0].icon == ":material/link_off:"


@pytest.mark.parametrize("large", [1e5, 1e200, 1e308])
def test_numbers_too_large_to_calculate_with_are_named(large: float) -> None:
    rows = [list(row) for row in Inputs().embeddings]
    rows[1][1] = -large
    app = visit("by_hand", hand=json.dumps({"embeddings": rows}))
    assert not app.exception
    assert re.search(rf"embeddings: {re.escape(f'{-large:g}')}.* large\b", sentences(app))


def test_a_links_epsilon_may_be_a_whole_number() -> None:
    assert_well(visit("by_hand", hand=json.dumps({"eps": 0})))


def test_what_a_browser_sends_is_what_a_link_holds(tmp_path: Path) -> None:
    usual = json.dumps(dataclasses.asdict(Inputs()))
    inputs = CHANGED.replace(scaled=False)
    text = json.dumps(
        {name: value for name, value in dataclasses.asdict(inputs).items() if value != getattr(Inputs(), name)}
    )
    assert numbers_in_link.decode(text) == inputs
    # Where no server checks a link, the same numbers are read, and others are left out.
    for given, expected in (
        (text, inputs),
        ('{"eps":-1,"w_q":[],"positions":"rotary","x":1}', Inputs()),
        ("[", Inputs()),
    ):
        program = f"inputsByHand({json.dumps(given)}, {usual})"
        found = evaluated(SHARED / "by_hand.js", "inputsByHand", program, tmp_path)
        assert found == json.loads(json.dumps(dataclasses.asdict(expected)))


@pytest.mark.parametrize("value", [None, "text", {"text": 5}, {"text": "x" * 9000}, {}])
def test_an_event_that_is_none_changes_nothing(value: object) -> None:
    assert _changes(value) is None
    assert _changes({"text": ""}) == ""


def test_scores_are_divided_by_the_root_of_the_keys_width(tmp_path: Path) -> None:
    """sqrt(d_k), not sqrt(D): they are the same number here because the one head is as wide as the model."""
    example = compute(Inputs())
    assert example.scores == pytest.approx(example.dots / np.sqrt(example.k.shape[1]))
    shown = formulas(Inputs(), tmp_path)
    assert r"\sqrt{d_k}" in shown
    assert r"\sqrt{D}" not in shown
    assert r"d_k = 4" in shown


def test_the_pages_of_learn_are_parts_of_one() -> None:
    app = visit("lessons")
    for part, title in (("by_hand", "By hand"), ("classroom", "Classroom"), ("lessons", "Lessons")):
        app.segmented_control(key="learn-parts").set_value(part).run()
        assert_well(app)
        assert app.title[0].value == title
        assert app.segmented_control(key="learn-parts").value == part
