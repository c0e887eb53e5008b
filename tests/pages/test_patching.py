"""Patching under AppTest: shares, the patched run and the sentences that do not align."""

from __future__ import annotations

import numpy as np
import pytest

import encoder
from encoder import causal
from encoder.figures.numbers import three_digits
from pages.core.inputs.edited import parse_recipe
from pages.core.widgets import examples
from pages.core.words.formulas import number
from pages.interventions import pair
from pages.interventions.params import WHERE
from tests.pages.apps import assert_well, exported, press, sentences, visit, written
from tests.pages.test_ablation import changed

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

EXAMPLES = examples.read(pair.__file__, "masked")
HE, SHE = "The nurse said that he was late.", "The nurse said that she was late."


def shares_of(model: encoder.TextEncoder, where: str) -> np.ndarray:
    outcome = causal.Similarity(SHE)
    yours, other = model.trace(HE), model.trace(SHE, request=causal.patch_request(where))
    effects = causal.patch(model, other, yours, outcome, where).numpy()
    return causal.carried_share(effects, *causal.both_outcomes(model, other, yours, outcome))


def test_the_map_and_the_patched_run_are_those_of_the_engine(minilm: encoder.TextEncoder) -> None:
    app = visit("interventions", intervention="patching", text=HE, patch_with=SHE)
    assert_well(app)
    shares = shares_of(minilm, "residual")
    shared = np.delete(shares, minilm.trace(HE).labels.index("he"), axis=1)
    assert f"**{three_digits(float(shared.max()))}**" in written(app)
    assert "one vector replaced **" not in written(app)
    app = visit("interventions", intervention="patching", text=HE, patch_with=SHE, patch_layer="2", patch_place="5")
    assert_well(app)
    edited = minilm.trace(HE, edits=[causal.patch_edit("residual", SHE, 2, 5)])
    before, value = causal.outcomes_of(minilm, minilm.trace(HE), [edited], causal.Similarity(SHE))
    said = f"your sentence **{number(before)}**, one vector replaced **{number(value)}**, the other **1.000**"
    assert said in written(app)
    assert f"**{three_digits(float(shares[2, 5]))}**" in written(app)
    names: dict = {}
    exec(exported(app), names)
    np.testing.assert_allclose(names["shares"], shares, atol=1e-5)
    press(app, "Clear selection")
    assert "one vector replaced **" not in written(app)


@pytest.mark.sample(3, "the same map at another place")
@pytest.mark.parametrize("where", list(WHERE)[1:])
def test_other_places(minilm: encoder.TextEncoder, where: str) -> None:
    given = {"patch_with": SHE, "patch_where": where, "patch_layer": "5", "patch_place": "5"}
    app = visit("interventions", intervention="patching", text=HE, pair="Is that so?", **given)
    assert_well(app)
    assert f"**{three_digits(float(shares_of(minilm, where)[5, 5]))}**" in written(app)
    press(app, "Open this run")
    assert_well(app)
    (step,) = parse_recipe(app.query_params["edits"])
    assert step.edit == causal.patch_edit(where, SHE, 5, 5)
    assert changed(app) is not None
    assert "pair" not in app.query_params


def test_sentences_that_do_not_align_say_what_to_do() -> None:
    app = visit("interventions", intervention="patching", text=HE, patch_with="A nurse was late.")
    assert_well(app)
    assert "10 tokens, the other 7" in sentences(app)
    press(app, "Replace one word of my sentence")
    assert_well(app)
    assert "patch_with" not in app.query_params
    assert "carries" in written(app), "never a dead end"
    app = visit("interventions", intervention="patching", text="cat " * 200, patch_with="dog " + "cat " * 199)
    assert_well(app)
    assert "128" in sentences(app)


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_offered_pair_aligns_and_differs(minilm: encoder.TextEncoder, name: str) -> None:
    example = EXAMPLES[name]
    word, text, other = example.get("outcome_word"), example["text"], example["patch_with"]
    for model in (minilm,) if word is None else (encoder.load("twin-pre"), encoder.load("twin-post")):
        outcome = causal.Similarity(other) if word is None else causal.MaskedWord(word, example["outcome_minus"])
        yours, theirs = model.trace(text), model.trace(other)
        ends = causal.both_outcomes(model, theirs, yours, outcome)
        assert abs(ends[0] - ends[1]) > (0.02 if word is None else 1.0)


def test_an_example_opens_both_sentences() -> None:
    app = visit("interventions", intervention="patching", closed=True, patch_layer="2", patch_place="5")
    app.selectbox(key="patching:example").set_value(list(EXAMPLES)[1]).run()
    assert_well(app)
    assert app.query_params["text"] == HE
    assert SHE in written(app)
    assert "patch_layer" not in app.query_params


@pytest.mark.parametrize("text", ["Our small garden was full of roses.", "A [MASK] dog barked at strangers.", HE])
def test_the_readers_own_sentence_gets_a_counterpart(minilm: encoder.TextEncoder, text: str) -> None:
    app = visit("interventions", intervention="patching", text=text, closed=True)
    assert_well(app)
    said = next(line for line in written(app).splitlines() if line.startswith("Vectors from: "))
    other = said.removeprefix("Vectors from: ")
    assert len(minilm.trace(other).tokens) == len(minilm.trace(text).tokens)
    assert sum(ours != theirs for ours, theirs in zip(text.split(), other.split(), strict=True)) == 1
    assert "carries" in written(app)
    by = app.selectbox(key="patching:by").options[1]
    app.selectbox(key="patching:by").set_value(by).run()
    assert_well(app)
    assert app.query_params["patch_by"] == by


@pytest.mark.parametrize("text", ["", "😀", "word " * 600])
def test_a_text_without_a_counterpart_says_so(text: str) -> None:
    app = visit("interventions", intervention="patching", text=text, closed=True)
    assert not app.exception
    assert app.info or app.error
