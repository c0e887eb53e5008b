"""Edits on other pages: the edited run where a page shows it, a mark everywhere, and one button that takes all back."""

from __future__ import annotations

import numpy as np

import encoder
from encoder.edits import AblateHead, Mean, Replace, SetWeight
from encoder.figures.numbers import in_words, three_digits
from pages.core.inputs import edited
from pages.core.inputs.edited import Step
from pages.core.words.formulas import number
from pages.state.url_state import MOVE, state
from tests.pages.apps import assert_well, exported, labels, press, sentences, visit, written

TEXT = "The cat sat on the mat."
CUT = SetWeight(2, 9, 3, 5, 0.0)


def test_a_weight_is_cut_from_the_answer_to_a_click(minilm: encoder.TextEncoder) -> None:
    app = visit("heads", text=TEXT, layer="2", head="9", i="3", j="5")
    assert_well(app)
    assert "Edited" not in written(app)
    app.run()
    app.slider(key="answer-edit:value").set_value(0.5).run()
    press(app, "Set it to 0.5")
    assert edited.parse_recipe(app.query_params["edits"]) == (Step(SetWeight(2, 9, 3, 5, 0.5)),)
    app.slider(key="answer-edit:value").set_value(0.0).run()
    press(app, "Cut this weight")
    assert edited.parse_recipe(app.query_params["edits"]) == (Step(CUT),)
    assert_well(app)
    assert "**0** (9th of 9)" in written(app)
    names: dict = {}
    exec(exported(app), names)
    row = minilm.trace(TEXT, edits=[CUT]).attention(2, 9)[3]
    np.testing.assert_allclose(names["trace"].attention(2, 9)[3], row)
    assert float(row[5]) == 0
    press(app, "Undo all edits")
    assert "edits" not in app.query_params
    assert "**0** (9th of 9)" not in written(app)


def test_every_page_marks_the_edits(minilm: encoder.TextEncoder) -> None:
    app = visit("norms", text=TEXT, i="1", edits=edited.format_recipe((Step(AblateHead(0, 1)), Step(CUT, on=False))))
    assert_well(app)
    assert "L0 H1 off." in written(app)
    assert "without edits" not in written(app)
    off = minilm.trace(TEXT, edits=[AblateHead(0, 1)])
    first = off.norms["embedding_norm"]
    app.select_slider(key="norm-slider").set_value("embedding_norm").run()
    assert three_digits(float(first.std[1])) in written(app)
    after = off.norms["layers.0.attention_norm"]
    app.select_slider(key="norm-slider").set_value("layers.0.attention_norm").run()
    assert f"standard deviation {number(float(after.std[1]))} →" in written(app)
    assert number(float(after.std[1])) != number(float(minilm.trace(TEXT).norms[after.name].std[1]))
    app.switch_page("pages/contribution/page.py").run()
    assert_well(app)
    assert "L0 H1 off. This page shows the run without edits." in written(app)
    app.switch_page("pages/interventions/page.py").run()
    assert "Show the recipe" not in labels(app)
    app.switch_page("pages/heads/page.py").run()
    assert_well(app)
    press(app, "Show the recipe")
    assert [box.value for box in app.checkbox] == [True, False]


def test_edits_that_do_not_fit_change_nothing() -> None:
    app = visit("heads", text=TEXT, edits="ablate_l9_h0")
    assert not app.exception
    assert "0 to 5" in sentences(app)
    assert "without edits" in written(app)
    app = visit("heads", text=TEXT, edits="nopositions", pad="20")  # of the edited run, padding is left out afterwards
    assert_well(app)


def test_an_edit_that_gives_infinity_changes_nothing() -> None:
    for page in ("heads", "interventions"):
        app = visit(page, text=TEXT, edits="scale_oafter-ffn_x3e38")
        assert_well(app)
        assert "NaN or infinity" in sentences(app)
        assert "nan" not in written(app)


def test_a_link_cannot_ask_for_any_number_of_runs() -> None:
    recipe = tuple(Step(Mean("z", ("cat",) * 60, layer=layer)) for layer in range(2))
    app = visit("heads", text=TEXT, edits=edited.format_recipe(recipe))
    assert_well(app)
    assert "120 texts" in sentences(app)
    app = visit("heads", text=TEXT, edits=edited.format_recipe((Step(Mean("z", ("cat " * 6000,))),)))
    assert "24,000 characters" in sentences(app)


def test_an_edit_with_a_long_text_survives_back() -> None:
    long = edited.format_recipe((Step(Mean("z", ("cat " * 3000,), layer=0)),))
    app = visit("interventions", text=TEXT, edits=long)
    assert_well(app)
    kept = app.query_params["kept_edits"]
    press(app, "Undo all edits")
    assert "kept_edits" not in app.query_params
    app.query_params["kept_edits"] = kept
    app.query_params[MOVE] = "1"  # Back
    app.run()
    assert_well(app)
    assert [box.value for box in app.checkbox] == [True]


def test_masked_words_shows_the_edited_run_of_the_sidebars_model() -> None:
    text, edit = "the [MASK] of a country", AblateHead(0, 2)
    shown = visit("predict", text=text, model="twin-post", edits="ablate_l0_h2")
    assert_well(shown)
    assert "without edits" not in written(shown)
    for name in ("twin-pre", "twin-post"):
        model = encoder.load(name, device="cpu")
        entry = model.predict_masked(model.trace(text, edits=[edit]), 1)[0]
        assert f"**{entry.tokens[0]}** {in_words(entry.probabilities[0])} ({name})" in written(shown)
    shown = visit("predict", edits="ablate_l0_h2", text=text)  # the twins, not the reader's model
    assert_well(shown)
    assert "without edits" in written(shown)


def test_an_edit_of_the_same_cell_takes_its_place(monkeypatch) -> None:
    kept = {"edits": (Step(AblateHead(0, 1)), Step(CUT, on=False))}
    monkeypatch.setattr(state, "newest", lambda param: kept[param.name])
    monkeypatch.setattr(state, "put", lambda param, value: kept.update({param.name: value}))
    edited.add(SetWeight(2, 9, 3, 5, 1.0))
    assert kept["edits"] == (Step(AblateHead(0, 1)), Step(SetWeight(2, 9, 3, 5, 1.0)))
    edited.add(SetWeight(2, 9, 3, 6, 1.0))
    edited.add(AblateHead(0, 1))
    assert [step.edit for step in kept["edits"]] == [
        SetWeight(2, 9, 3, 5, 1.0),
        SetWeight(2, 9, 3, 6, 1.0),
        AblateHead(0, 1),
    ]


def test_a_text_in_an_edit_is_no_markdown() -> None:
    foreign = Replace("v", "![x](https://example.org/a.png)")
    app = visit("heads", text="cat", edits=edited.format_recipe((Step(foreign),)))
    assert not app.exception
    assert "![x](" not in "\n".join(box.value for box in app.markdown)
