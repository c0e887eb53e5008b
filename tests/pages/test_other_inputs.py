"""Pages that measure effects and compare runs, with an image or a sound in place of a sentence."""

from __future__ import annotations

import numpy as np
import pytest

import encoder
from encoder import causal, classify
from encoder.edits import AblateHead, Replace
from encoder.figures.numbers import signed, three_digits
from encoder.inputs import spoken_digits
from encoder.inputs.digits import decode, examples
from pages.core.inputs.edited import Step, format_recipe
from tests.pages.apps import assert_well, press, sentences, visit, words, written
from tests.pages.test_ablation import changed, in_words


def ran(app) -> dict[str, object]:
    """The names after the Python lines of the export have run."""
    (code,) = [block.value for block in app.code if "trace" in block.value]
    names: dict[str, object] = {}
    exec(code, names)
    return names


def test_interventions_on_an_image():
    steps = (Step(AblateHead(2, 1)), Step(Replace("pattern", "8")))
    app = visit("interventions", model="digits-pre", image="3", outcome="class", edits=format_recipe(steps))
    assert_well(app)
    model = encoder.load("digits-pre", device="cpu")
    plain, other = model.trace(decode(examples()["3"])), model.trace(decode(examples()["8"]))
    edited = model.trace(decode(examples()["3"]), edits=[AblateHead(2, 1), Replace("pattern", other)])
    outcome = causal.ClassProbability("3", scale="log_odds")
    before, after = causal.outcomes_of(model, plain, [edited], outcome)
    assert changed(app) == in_words(before, after)
    assert f"| {classify.predict(model, edited).of('3'):.1%} |" in words(app).replace("**", "")
    names = ran(app)
    assert (names["before"], names["after"]) == pytest.approx((before, after), abs=1e-4)
    press(app, "Undo all edits")
    assert_well(app)


def test_an_edit_with_another_sound_is_added_by_the_form():
    app = visit("interventions", model="spoken-digits", sound="seven")
    app.session_state["lazy:add-edit"] = True
    app.run()
    app.selectbox(key="add:kind").set_value("values").run()
    app.selectbox(key="add:sound").set_value("three").run()
    app.button(key="add:go").click().run()
    assert_well(app)
    model, heard = encoder.load("spoken-digits", device="cpu"), spoken_digits.examples()
    source = model.trace(heard["three"].sound)
    edited = model.trace(heard["seven"].sound, edits=[Replace("v", source)])
    after = causal.outcomes_of(model, model.trace(heard["seven"].sound), [edited], "sentence")[1]
    assert changed(app) == in_words(1.0, after)


@pytest.mark.parametrize(("model", "given"), [("digits-post", {"image": "3"}), ("spoken-digits", {"sound": "seven"})])
def test_patching_of_images_and_sounds(model: str, given: dict[str, str]):
    app = visit("interventions", intervention="patching", model=model, outcome="class", patch_where="head", **given)
    assert_well(app)
    names = ran(app)
    shares = names["shares"]
    assert isinstance(shares, np.ndarray)
    assert shares.shape == (4, 4)
    layer, head = np.unravel_index(int(shares.argmax()), shares.shape)
    assert f"**L{layer} H{head}** at all tokens" in written(app).replace("l**", "L**")
    place = {"patch_layer": "2", "patch_place": "1", "patch_where": "head"}
    app = visit("interventions", intervention="patching", model=model, **place, **given)
    assert "one vector replaced **" in written(app)
    same = next(iter(given.values()))
    app = visit("interventions", intervention="patching", model=model, patch_input=same, **given)
    assert "same" in sentences(app)


def test_comparing_two_images_in_python():
    app = visit(
        "heads", view="beside", model="digits-pre", compare="sentences", image="3", input_b="8", layer="2", head="1"
    )
    assert_well(app)
    model = encoder.load("digits-pre", device="cpu")
    one, other = (model.trace(decode(examples()[name])).attention(2, 1) for name in "38")
    names = ran(app)
    assert np.allclose(names["found"].difference, (other - one).numpy(), atol=1e-5)
    app = visit("heads", view="beside", model="digits-pre", compare="models", model_b="spoken-digits", image="3")
    assert_well(app)  # a model of sounds is not on offer


def test_a_model_of_another_input_cannot_be_compared(monkeypatch: pytest.MonkeyPatch):
    from pages.base.access import visitors

    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    app = visit("heads", view="beside", compare="models", model_b="other", source_b="digits-pre")
    assert not app.exception
    assert "digits-pre" in sentences(app)


def test_occlusion_over_an_image():
    query = {"model": "digits-post", "image": "8", "over_image": "occlusion", "outcome_scale": "probability"}
    app = visit("contribution", beyond="deletion", layer="2", head="1", **query)
    assert_well(app)
    model, given = encoder.load("digits-post", device="cpu"), decode(examples()["8"])
    plain = model.trace(given)
    *_, alone = causal.occlusion.iter_occlude_each(model, given, plain, causal.ClassProbability("8"), "black")
    falls = -alone.values.numpy()
    assert f"most at: {plain.labels[1 + int(falls.argmax())]} {three_digits(float(falls.max()))}" in written(app)
    found = causal.rank_correlation(plain.attention(2, 1)[0, 1:].numpy(), falls)
    assert f"**{signed(found.value, 2)}**" in written(app)
    assert np.allclose(ran(app)["falls"].numpy(), falls, atol=1e-5)
    over = visit("heads", **query)
    assert_well(over)
    assert np.allclose(ran(over)["falls"].numpy(), falls, atol=1e-5)
    edited = visit("heads", edits="ablate_l0_h0", closed=True, **query)
    assert "edits" in sentences(edited)
    assert not edited.exception


def test_occlusion_of_a_sound():
    app = visit("contribution", beyond="deletion", model="spoken-digits", sound="four", outcome_class="four")
    assert_well(app)
    names = ran(app)
    edges = causal.occlusion.windows(spoken_digits.examples()["four"].sound)
    best = int(names["falls"].argmax())
    assert f"**{three_digits(float(names['falls'].max()))}**, without {edges[best]:.2f}-" in written(app)
