"""Ablation under AppTest: effects, recipe and outcomes are those of the engine."""

from __future__ import annotations

import re

import numpy as np
import pytest

import encoder
from encoder import causal
from encoder.edits import AblateHead, MaskKeys, Scale, UniformAttention
from encoder.figures.layers import effect_map
from encoder.figures.numbers import three_digits
from pages.core.inputs.edited import Step, describe, format_recipe, parse_recipe
from pages.interventions import recipe
from tests.pages.apps import assert_well, exported, press, sentences, visit, written

TEXT = "The cat sat on the mat."


def changed(app) -> tuple[str, str, str] | None:
    """How far the edits move the outcome, from where and to where; None where the page names no edits."""
    found = re.search(
        r"With your edits, .*? ((?:falls|rises) by \*\*.+?\*\*), from (\S+) to (\S+)\.(?: |$)", written(app)
    )
    return None if found is None else found.groups()  # type: ignore[return-value]


def in_words(before: float, after: float) -> tuple[str, str, str]:
    size = three_digits(abs(after - before))
    return f"{'rises' if after > before else 'falls'} by **{size}**", three_digits(before), three_digits(after)


def test_the_largest_effect_is_named(minilm: encoder.TextEncoder) -> None:
    app = visit("interventions", text=TEXT)
    assert_well(app)
    effects = causal.ablate_each_head(minilm, TEXT).numpy()
    layer, head = np.unravel_index(np.abs(effects).argmax(), effects.shape)
    size = three_digits(abs(float(effects[layer, head])))
    first = re.escape(f"Without **L{layer} H{head}**"), re.escape(f"falls by **{size}**: the largest")
    assert re.search(".*?".join(first), written(app))
    assert changed(app) is None


def test_a_recipe_in_the_address_is_run(minilm: encoder.TextEncoder) -> None:
    steps = (Step(AblateHead(5, 11)), Step(MaskKeys((2,)), on=False), Step(UniformAttention(0, 1)))
    assert parse_recipe(format_recipe(steps)) == steps
    app = visit("interventions", text=TEXT, edits=format_recipe(steps))
    assert_well(app)
    plain = minilm.trace(TEXT)
    edited = minilm.trace(TEXT, edits=[AblateHead(5, 11), UniformAttention(0, 1)])
    before, after = causal.outcomes_of(minilm, plain, [edited], "sentence")
    assert changed(app) == in_words(before, after)
    assert [box.value for box in app.checkbox] == [True, False, True]
    app.checkbox[2].uncheck().run()
    only = causal.outcomes_of(minilm, plain, [minilm.trace(TEXT, edits=[AblateHead(5, 11)])], "sentence")[1]
    assert changed(app) == in_words(before, only)
    app.button(key="edits:earlier:1").click().run()
    assert app.query_params["edits"] == "!mask_k2~ablate_l5_h11~!uniform_l0_h1"
    app.button(key="edits:remove:1").click().run()
    assert changed(app) is None
    press(app, "Undo all edits")
    assert "edits" not in app.query_params


def test_an_edit_of_one_head_has_its_number_once_and_keeps_its_rank(minilm: encoder.TextEncoder) -> None:
    effects = np.abs(causal.ablate_each_head(minilm, TEXT).numpy())
    layer, head = (int(one) for one in np.unravel_index(effects.argmax(), effects.shape))
    place = {"layer": str(layer), "head": str(head)}
    app = visit("interventions", text=TEXT, edits=format_recipe((Step(AblateHead(layer, head)),)), **place)
    said = written(app)
    assert said.count(three_digits(float(effects.max()))) == 1
    assert f"L{layer} H{head} off (the largest of 72 heads)" in said
    assert "unedited model" in said
    figure = effect_map(effects, (layer, head), [(layer, head)])
    assert [one.text for one in figure.layout.annotations if (one.y, one.x) == (layer, head)] == ["✕1"]


def test_moved_norms_name_the_vector_that_effects_are_measured_from() -> None:
    said = written(visit("interventions", text=TEXT, norm="pre"))
    assert "similarity to the original pre-norm vector" in said
    assert "to the post-norm one" in said
    assert "the original pre-norm vector falls" in written(visit("model", text=TEXT, norm="pre", start="1"))


@pytest.mark.slow("adds an edit of every kind, one run of the page each")
def test_an_edit_is_added_by_the_form(minilm: encoder.TextEncoder) -> None:
    app = visit("interventions", text=TEXT, layer="3", head="4")
    app.session_state["lazy:add-edit"] = True
    app.run()
    offered = [kind for kind in recipe.KINDS if kind not in ("first_ffn", "convolution")]
    assert len(app.selectbox(key="add:kind").options) == len(offered), "only a Conformer has the two others"
    for kind in offered:
        app.selectbox(key="add:kind").set_value(kind).run()
        if {"text", "any_text"} & {*recipe.KINDS[kind].fields}:
            app.text_input(key="add:text").set_value("A dog ran to the bus.").run()
        app.button(key="add:go").click().run()
        assert_well(app)
        assert not app.warning, (kind, sentences(app))
    steps = parse_recipe(app.query_params["edits"])
    assert len(steps) == len(offered)
    assert steps[0].edit == AblateHead(3, 4)
    assert [box.label for box in app.checkbox] == [describe(step.edit, minilm.trace(TEXT).labels) for step in steps]


def test_edits_that_do_not_fit_are_named_and_nothing_is_edited() -> None:
    app = visit("interventions", text=TEXT, edits="ablate_l9_h0")
    assert not app.exception
    assert "0 to 5" in sentences(app)
    assert changed(app) is None
    with pytest.raises(ValueError, match="unknown edit 'nonsense'"):
        parse_recipe("ablate_l1_h2~nonsense_l1")


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ({"outcome": "similarity", "outcome_text": "A dog ran."}, causal.Similarity("A dog ran.")),
        ({"outcome": "token", "outcome_token": "3"}, causal.TokenVector(3)),
        ({"outcome": "word", "outcome_word": "cat", "outcome_minus": "dog"}, causal.MaskedWord("cat", "dog")),
        ({"outcome": "word", "outcome_word": "cat", "outcome_scale": "probability"},
         causal.MaskedWord("cat", None, "probability")),
    ],
)  # fmt: skip
def test_outcomes(values: dict[str, str], outcome: causal.Outcome) -> None:
    model = encoder.load("twin-post", device="cpu")
    text = "The [MASK] sat on the mat."
    app = visit("interventions", text=text, model="twin-post", edits="scale_l0_h1_oz_x3.0", **values)
    assert_well(app)
    edited = model.trace(text, edits=[Scale("z", 3.0, layer=0, heads=(1,))])
    before, after = causal.outcomes_of(model, model.trace(text), [edited], outcome)
    assert changed(app) == in_words(before, after)


def test_without_a_word_the_outcome_is_that_of_the_likeliest_one() -> None:
    model, text = encoder.load("twin-post", device="cpu"), "The [MASK] sat on the mat."
    app = visit("interventions", text=text, model="twin-post", outcome="word")
    assert_well(app)
    outcome = causal.MaskedWord(causal.likeliest_word(model, model.trace(text)))
    assert f"“{outcome.word}”" in written(app)


def test_an_outcome_that_does_not_fit_says_what_to_do() -> None:
    app = visit("interventions", text=TEXT, outcome="word", outcome_word="cat")
    assert not app.exception
    assert "masked-word head" in sentences(app)


def test_a_click_on_the_map_switches_a_head_off_and_on() -> None:
    from pages.interventions import ablation
    from pages.interventions.params import Params
    from pages.state.url_state import state

    found = {}
    patch = pytest.MonkeyPatch()
    patch.setattr(state, "newest", lambda param: found.get(param.name, param.default))
    patch.setattr(state, "put", lambda param, value: found.update({param.name: value}))
    try:
        ablation._clicked(2, 3)
        assert found["edits"] == (Step(AblateHead(2, 3)),)
        assert (found["layer"], found["head"]) == (2, 3)
        ablation._clicked(2, 3)
        assert found["edits"] == ()
        found[Params.click.name] = "open"
        ablation._clicked(4, 1)
        assert found["edits"] == ()
        assert (found["layer"], found["head"]) == (4, 1)
    finally:
        patch.undo()


def test_the_export_gives_the_numbers_of_the_page() -> None:
    app = visit("interventions", text=TEXT, edits="ablate_l5_h11")
    app.session_state["lazy:take"] = True
    app.run()
    assert_well(app)
    names: dict = {}
    exec(exported(app), names)
    assert f"{names['after'] - names['before']:.4f}" == f"{float(names['effects'][5, 11]):.4f}"


@pytest.mark.slow("measures every head on a longer text")
def test_a_longer_text_is_measured_on_request() -> None:
    app = visit("interventions", text="cat " * 120, model="twin-post")
    assert "the largest change of 16 heads" in written(app)  # 16 heads of 122 tokens are few
    app = visit("interventions", text="cat " * 120)
    assert_well(app)
    assert "the largest change of" not in written(app)
    press(app, "Measure all heads")
    assert_well(app)
    assert "the largest change of" in written(app)
