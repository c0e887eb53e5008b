"""“Predict” under AppTest: masked words that are hidden and restored, classes, tags, and what a model cannot do."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import encoder
from encoder import causal, classify
from encoder.causal import occlusion
from encoder.figures.numbers import in_words
from encoder.inputs import digits
from encoder.model.mlm import MaskedPrediction
from pages.core.view import text_words
from pages.predict import prediction
from recipes.twins.recipe import TrainingRecipe
from tests.load import gliner_folders
from tests.pages.apps import assert_well, noted, numbers, visit, written
from tests.test_components import unpack

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

MASKED = "A tall [MASK] with large leaves"
TEXT = "The cat sat on the mat."


def words(app):
    """The buttons that hide a word."""
    return next(group for group in app.get("button_group") if group.key == "predict:word")


@pytest.mark.parametrize(("model", "reason"), [("scratch", "random"), ("minilm", "another task")])
def test_a_model_without_a_head_is_replaced_on_this_page_alone(model: str, reason: str) -> None:
    app = visit("predict", text=MASKED, model=model)
    assert_well(app)
    assert reason in written(app)
    example = encoder.load("twin-post", device="cpu")
    entry = example.predict_masked(example.trace(MASKED), 1)[0]
    assert f"**{entry.tokens[0]}** {in_words(entry.probabilities[0])} (twin-post)" in written(app)
    assert app.query_params.get("model", "minilm") == model


def test_an_old_link_with_a_sentence_of_the_pages_own_opens_that_sentence() -> None:
    for page in ("predict", "masked_words"):
        app = visit(page, text=TEXT, model="twin-pre", masked=MASKED, hidden="tree")
        assert_well(app)
        assert app.query_params["text"] in (MASKED, [MASKED])
        assert "masked" not in app.query_params
    assert visit("heads", text=TEXT, masked=MASKED).query_params["text"] == TEXT


def test_a_text_without_words_gets_a_sentence() -> None:
    app = visit("predict", model="twin-pre", text="")
    assert_well(app)
    assert "[MASK]" in noted(app, "edit")


def test_a_model_with_a_head_says_nothing_of_the_twins() -> None:
    app = visit("predict", text="the [MASK] sat", model="twin-pre")
    assert "masked-word head" not in written(app)
    assert "all-MiniLM-L6-v2 has no masked-word head" in written(visit("predict", text="the [MASK] sat"))


def test_the_twins_have_titles_in_the_sidebar() -> None:
    app = visit("predict", model="twin-post", text="the [MASK] sat")
    chosen = app.selectbox(key="view:model")
    assert chosen.value == "twin-post"
    assert {"Twin, pre-norm", "Twin, post-norm"} <= set(chosen.options)
    assert app.query_params["model"] == "twin-post"


def test_both_twins_predict_the_masked_word() -> None:
    text = "the [MASK] of a country"
    shown = written(visit("predict", model="twin-post", text=text, top="3"))
    for name in ("twin-pre", "twin-post"):
        model = encoder.load(name, device="cpu")
        entry = model.predict_masked(model.trace(text), 3)[0]
        assert f"**{entry.tokens[0]}** {in_words(entry.probabilities[0])} ({name})" in shown
        assert f"{sum(entry.probabilities):.1%}" in shown


def test_the_page_distinguishes_selected_and_masked_tokens() -> None:
    said = written(visit("predict", model="twin-pre", text="the [MASK] sat"))
    assert numbers(said[said.index("BERT selects") : said.index("(Devlin")]) == [15, 80, 10, 10]
    assert TrainingRecipe.mask_share == 0.15, "the twins follow BERT"
    assert "ModernBERT selects 30%" in said


@pytest.mark.parametrize("model", ["twin-pre", "minilm"])
def test_a_word_is_hidden_on_this_page_alone(model: str) -> None:
    app = visit("predict", model=model, text=TEXT)
    assert words(app).options == ["The", "cat", "sat", "on", "the", "mat", "."]
    assert words(app).value is not None, "the page opens with a word of the reader's sentence"
    words(app).set_value(1).run()
    assert "The **[MASK]** sat on the mat." in written(app)
    twin = encoder.load("twin-pre", device="cpu")
    entry = twin.predict_masked(twin.trace("The [MASK] sat on the mat."), 8_000)[0]
    rank = entry.tokens.index("cat")
    assert f"{in_words(entry.probabilities[rank])} (rank {rank + 1:,}) in twin-pre" in written(app)
    words(app).set_value(5).run()  # "mat": the cat comes back
    assert "The cat sat on the **[MASK]**." in written(app)
    assert app.query_params["hidden_word"] == "5"
    assert app.query_params["text"] == TEXT


def test_a_mask_of_the_readers_stays() -> None:
    app = visit("predict", model="twin-pre", text="The [MASK] sat on the mat.")
    assert "[MASK]" not in words(app).options
    assert_well(visit("predict", text="one two", hidden_word="70"))


def test_words_that_can_be_hidden() -> None:
    model = encoder.load("twin-pre", device="cpu")
    text = "Unbelievably, a [MASK] 😀"
    found = text_words.words(model.trace(text), "[MASK]")
    assert [word.text for word in found][:3] == ["Unbelievably", ",", "a"]
    assert (found[0].start, found[0].end) == (0, 12), "a word of several pieces"
    assert found[2].replaced_by("[MASK]", text) == "Unbelievably, [MASK] [MASK] 😀"
    assert [word.text for word in text_words.words(model.trace("a b", "c d"), "[MASK]")] == ["a", "b"]


@pytest.mark.parametrize(
    ("word", "rank"), [("cat", 1), ("Cat", 2), ("Dog", 3), ("mat", 4), ("bird", None)], ids=lambda value: str(value)
)
def test_the_rank_of_a_word_in_any_spelling_of_the_vocabulary(word: str, rank: int | None) -> None:
    entry = MaskedPrediction(1, (5, 6, 7, 8), ("cat", "Cat", "Ġdog", "▁mat"), (0.4, 0.3, 0.2, 0.1))
    found = prediction.rank(entry, word)
    assert (None if found is None else found[0]) == rank


def test_several_masks_and_one_that_was_cut() -> None:
    app = visit("predict", model="twin-pre", text="a [MASK] and a [MASK]")
    assert_well(app)
    assert [heading.value for heading in app.header] == ["Mask 1 (token 2)", "Mask 2 (token 5)"]
    app = visit("predict", model="twin-pre", text="word " * 200 + "[MASK]")
    assert_well(app)
    assert "[MASK]" in noted(app, "edit")
    app = visit("predict", model="twin-pre", text="[MASK] " * 30)
    assert_well(app)
    assert len(app.header) == 8


@pytest.mark.parametrize(("model", "given"), [("digits-post", {"image": "5"}), ("spoken-digits", {"sound": "seven"})])
def test_a_model_with_classes_opens_with_them(model: str, given: dict[str, str]) -> None:
    app = visit("predict", model=model, closed=True, **given)
    assert_well(app)
    loaded = encoder.load(model, device="cpu")
    best, share = ("5", None) if "image" in given else ("seven", None)
    if "image" in given:
        trace = loaded.trace(digits.decode(digits.examples()["5"]))
        best, share = max(loaded.probabilities(trace).items(), key=lambda pair: pair[1])
        assert f"probability {in_words(share)}" in written(app)
    assert f"Class: **{best}**" in written(app)
    app = visit("predict", model=model, predict="word", closed=True, **given)  # of a link
    assert_well(app)
    app.segmented_control(key="predict:task").set_value("class").run()
    assert "predict" not in app.query_params, "the usual task stays out of the address"


def test_occlusion_stands_next_to_attention() -> None:
    app = visit("predict", model="digits-pre", image="5")
    loaded = encoder.load("digits-pre", device="cpu")
    image = digits.decode(digits.examples()["5"])
    outcome = causal.ClassProbability("5", None, "log_odds")
    *_, alone = occlusion.iter_occlude_each(loaded, image, loaded.trace(image), outcome, "black")
    drawn = [
        unpack(one.proto.bytes)[1]["weights"]
        for one in app.get("bidi_component")
        if one.proto.component_name == "encoderscope_patch_map"
    ]
    assert len(drawn) == 2
    assert np.allclose(drawn[1].ravel(), -alone.values, atol=1e-5)
    names: dict = {}
    exec(next(block.value for block in app.code if "occlusion" in block.value), names)
    assert np.allclose(names["falls"], -alone.values)


def test_a_model_without_classes_gives_way_to_the_digits() -> None:
    app = visit("predict", predict="class", text=TEXT, closed=True)
    assert_well(app)
    assert "all-MiniLM-L6-v2" in written(app)
    assert "Class: **" in written(app)
    assert app.query_params["text"] == TEXT


@pytest.mark.parametrize("model", ["minilm", "dates-pre", "digits-pre", "digit-words", "twin-pre"])
def test_only_what_the_open_model_can_do_is_offered(model: str) -> None:
    app = visit("predict", model=model)
    assert_well(app)
    assert not [one for one in app.get("button_group") if one.label == "Predict"], "it can do one thing"
    assert [one for one in app.expander if "Other predictions" in one.label]


def test_a_model_with_a_decoder_predicts_its_output() -> None:
    app = visit("predict", model="dates-pre", text="the twenty-first of March 1998")
    assert_well(app)
    assert "**1998-03-21**" in written(app)
    generation = encoder.load("dates-pre", device="cpu")
    found = generation.generate(generation.trace("the twenty-first of March 1998"))
    least = min(step.log_probability for step in found.steps)
    assert f"{in_words(math.exp(least))}" in written(app)


def test_a_link_to_what_the_model_cannot_do_still_opens() -> None:
    for task in ("word", "class", "caption", "answer", "entity", "sparse", "output"):
        app = visit("predict", predict=task)
        assert not app.exception


def test_entities_of_typed_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence with its entities, the labels in the address, and a way to what the tokens attend to."""
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(tmp_path))
    model = encoder.load(gliner_folders.write(tmp_path / "gliner", "deberta-v2"), device="cpu")
    text, labels = gliner_folders.TEXTS[0], "person, date of birth, person"
    address = {"model": "other", "source": "gliner", "text": text, "labels": labels, "entity_threshold": "0.8"}
    app = visit("predict", **address)
    assert_well(app)
    trace = model.trace(classify.with_labels(model, ["person", "date of birth"], text))
    expected = classify.span_scores(model, trace)
    assert len(app.dataframe[0].value) == len(expected.spans)
    assert app.dataframe[0].value["score of person"].max() == pytest.approx(float(expected.scores[:, 0].max()))
    found = classify.entities(model, trace, threshold=0.8)
    assert f"{len(found)} entities" in written(app)
    sentence = next(one for one in app.get("html") if "enc-entities" in one.proto.body)
    assert sentence.proto.body.count("<mark") == len(found)
    assert "SEP" not in sentence.proto.body, "the labels are above the sentence"
    assert "<<SEP>>" in written(app), "they are part of what the model reads"
    assert app.query_params["labels"] in (labels, [labels])
    app.button(key="entities:heads").click().run()
    assert_well(app)
    assert app.text_area(key="view:text").value == expected.text
    gliner_folders.write(tmp_path / "short", "modernbert")
    long = " ".join(f"word{number}" for number in range(60))
    app = visit("predict", **{**address, "source": "short", "text": long, "long": "windows", "window": "1"})
    assert_well(app)
    assert " words." in written(app), "the labels take tokens of the window"
    app = visit("predict", **{**address, "labels": " , "})
    assert "specify a name" in noted(app, "edit")
    assert not app.exception
