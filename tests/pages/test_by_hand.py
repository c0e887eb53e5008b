"""The page “Attention by hand” by AppTest: its numbers, links with changed numbers, the mistakes of the notes."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from encoder.explain.by_hand import Inputs, compute
from pages.by_hand import editable_inputs
from tests.pages.apps import assert_well, formulas, sentences, visit, words


def test_the_calculation_with_the_numbers_of_the_example() -> None:
    app = visit("by_hand")
    assert_well(app)
    assert "hand" not in app.query_params
    assert "0.8415 & 0.5403 & 0.0100 & 1.0000" in formulas(app)
    assert "0.99995" in formulas(app)
    assert "0.84, 0.54, 0.08, 0.99" in words(app)


def test_what_the_notes_say_beside_what_comes_out() -> None:
    app = visit("by_hand", worked="notes")
    assert_well(app)
    assert words(app).count(":red-badge") == 4
    assert words(app).count(":green-badge") == 4
    positions = app.dataframe[0].value
    assert positions["0"].tolist() == ["0.84", "0.84147 ✓", "0.90", "0.9093 ✗"]
    assert positions["1"].tolist() == ["0.54", "0.5403 ✓", "0.43", "-0.41615 ✗"]
    assert positions["2"].tolist() == ["0.08", "0.01 ✗", "0.16", "0.02 ✗"]
    assert positions["3"].tolist() == ["0.99", "0.99995 ✗", "0.99", "0.9998 ✗"]
    assert "4 of 8" in words(app)


def test_the_other_half_and_other_pages_keep_what_was_changed() -> None:
    changed = json.dumps({"w_o": [[0.5] * 4] * 4, "eps": 0.5}, separators=(",", ":"))
    app = visit("by_hand", hand=changed)
    before = formulas(app)
    app.segmented_control(key="view:worked").set_value("notes").run()
    assert app.query_params["hand"] == changed
    app.segmented_control(key="view:worked").set_value("calculation").run()
    assert_well(app)
    assert formulas(app) == before
    assert app.query_params["hand"] == changed


def test_the_norms_epsilon_is_a_number_like_any_other() -> None:
    app = visit("by_hand")
    before = formulas(app)
    next(field for field in app.number_input if field.key.startswith("inputs:eps")).set_value(2.0).run()
    assert_well(app)
    assert json.loads(app.query_params["hand"]) == {"eps": 2.0}
    assert formulas(app) != before


def test_with_the_notes_encoding() -> None:
    app = visit("by_hand", hand=json.dumps({"positions": "notes"}))
    assert_well(app)
    assert "1.3400 & 0.6400 & 0.9800 & 1.6900" in formulas(app)
    assert "2.496 & 2.358 & 2.220 & 2.082" in formulas(app)


def test_choices_go_into_the_address_and_back() -> None:
    app = visit("by_hand")
    for name, value in (("positions", "notes"), ("norm_placement", "pre")):
        next(field for field in app.segmented_control if field.key.startswith(f"inputs:{name}:")).set_value(value).run()
    assert_well(app)
    assert json.loads(app.query_params["hand"]) == {"positions": "notes", "norm_placement": "pre"}
    assert "X_1 = X' + O" in formulas(app)
    app.button(key="reset-numbers").click().run()
    assert_well(app)
    assert "hand" not in app.query_params
    assert "X_1 = X' + O" not in formulas(app)


def test_numbers_in_a_link() -> None:
    zeros = [[0.0] * 4] * 4
    app = visit("by_hand", hand=json.dumps({"w_q": zeros}))
    assert_well(app)
    assert "0.3333 & 0.3333 & 0.3333" in formulas(app)


@pytest.mark.parametrize("text", ["nonsense", "[1]", '{"w_x":1}', '{"positions":"rotary"}'])
def test_a_link_that_cannot_be_read_falls_back(text: str) -> None:
    app = visit("by_hand", hand=text)
    assert not app.exception
    assert app.warning[0].icon == ":material/link_off:"
    assert "0.8415 & 0.5403" in formulas(app)


def test_numbers_that_do_not_fit_are_named_and_nothing_breaks() -> None:
    app = visit("by_hand", hand=json.dumps({"w_q": [[1.0, 2.0]]}))
    assert not app.exception
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


def test_what_is_changed_can_be_read_back() -> None:
    inputs = Inputs().replace(w_o=[[0.5] * 4] * 4, norm_placement="pre", scaled=False, eps=0.1)
    assert editable_inputs.decode(editable_inputs.encode(inputs)) == inputs
    assert editable_inputs.encode(Inputs()) == ""


def test_scores_are_divided_by_the_root_of_the_keys_width() -> None:
    """sqrt(d_k), not sqrt(D): they are the same number here because the one head is as wide as the model."""
    example = compute(Inputs())
    assert example.scores == pytest.approx(example.dots / np.sqrt(example.k.shape[1]))
    shown = formulas(visit("by_hand"))
    assert r"\sqrt{d_k}" in shown
    assert r"\sqrt{D}" not in shown
    assert r"d_k = 4" in shown
