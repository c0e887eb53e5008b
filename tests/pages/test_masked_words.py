"""“Masked-word prediction” under AppTest: what is predicted, words that are hidden and restored."""

from __future__ import annotations

import pytest

import encoder
from encoder.model.mlm import MaskedPrediction
from pages.masked_words import prediction
from pages.masked_words.params import EXAMPLE
from recipes.twins.recipe import TrainingRecipe
from tests.pages.apps import assert_well, noted, numbers, visit, written

TEXT = "The cat sat on the mat."


def words(app):
    """The buttons that hide a word."""
    return app.get("button_group")[[group.key for group in app.get("button_group")].index("view:hidden_word")]


@pytest.mark.parametrize(("model", "reason"), [("scratch", "random"), ("minilm", "another task")])
def test_a_model_without_a_head_is_replaced_on_this_page_alone(model: str, reason: str) -> None:
    app = visit("masked_words", text=TEXT, model=model)
    assert_well(app)
    assert reason in written(app)
    example = encoder.load("twin-post", device="cpu")
    entry = example.predict_masked(example.trace(EXAMPLE), 1)[0]
    assert f"twin-post: “{entry.tokens[0]}” {entry.probabilities[0]:.3f}" in written(app)
    assert app.query_params.get("model", "minilm") == model
    assert app.query_params["text"] == TEXT
    app.text_input(key="view:masked").set_value("the [MASK] of a country").run()
    entry = example.predict_masked(example.trace("the [MASK] of a country"), 1)[0]
    assert f"twin-post: “{entry.tokens[0]}” {entry.probabilities[0]:.3f}" in written(app)
    app.text_input(key="view:masked").set_value("no mask").run()
    assert "[MASK]" in noted(app, "edit")


def test_a_model_with_a_head_says_nothing_of_the_twins() -> None:
    app = visit("masked_words", text="the [MASK] sat", model="twin-pre")
    assert "another task" not in written(app)
    assert not [field for field in app.text_input if field.key == "view:masked"], "the sidebar's sentence has a mask"


def test_the_twins_have_titles_in_the_sidebar() -> None:
    app = visit("masked_words", model="twin-post", text="the [MASK] sat")
    chosen = app.selectbox(key="view:model")
    assert chosen.value == "twin-post"
    assert {"Twin, pre-norm", "Twin, post-norm"} <= set(chosen.options)
    assert app.query_params["model"] == "twin-post"


def test_both_twins_predict_the_masked_word() -> None:
    text = "the [MASK] of a country"
    shown = written(visit("masked_words", model="twin-post", text=text, top="3"))
    for name in ("twin-pre", "twin-post"):
        model = encoder.load(name, device="cpu")
        entry = model.predict_masked(model.trace(text), 3)[0]
        assert f"{name}: “{entry.tokens[0]}” {entry.probabilities[0]:.3f}" in shown
        assert f"{sum(entry.probabilities):.1%}" in shown


def test_the_page_distinguishes_selected_and_masked_tokens() -> None:
    said = written(visit("masked_words", model="twin-pre", text="the [MASK] sat"))
    assert numbers(said[said.index("BERT selects") : said.index("(Devlin")]) == [15, 80, 10, 10]
    assert TrainingRecipe.mask_share == 0.15, "the twins follow BERT"
    assert "ModernBERT selects 30 %" in said


@pytest.mark.parametrize("model", ["twin-pre", "minilm"])
def test_a_word_is_hidden_on_this_page_alone(model: str) -> None:
    app = visit("masked_words", model=model, text=TEXT)
    assert words(app).options == ["The", "cat", "sat", "on", "the", "mat", "."]
    words(app).set_value(1).run()
    assert "The [MASK] sat on the mat." in written(app)
    twin = encoder.load("twin-pre", device="cpu")
    entry = twin.predict_masked(twin.trace("The [MASK] sat on the mat."), 8_000)[0]
    rank = entry.tokens.index("cat")
    assert f"rank {rank + 1:,}, probability {entry.probabilities[rank]:.4f} in twin-pre" in written(app)
    words(app).set_value(5).run()  # "mat": the cat comes back
    assert "The cat sat on the [MASK]." in written(app)
    assert app.query_params["hidden_word"] == "5"
    assert app.query_params["text"] == TEXT
    words(app).set_value(None).run()
    assert EXAMPLE in [field.value for field in app.text_input]


def test_old_links_with_a_hidden_word_give_its_rank() -> None:
    app = visit("masked_words", model="twin-pre", text="The [MASK] sat on the mat.", hidden="cat")
    assert "[MASK]" not in words(app).options
    assert "“cat”: rank" in written(app)
    assert_well(visit("masked_words", text="one two", hidden_word="70"))


def test_words_that_can_be_hidden() -> None:
    model = encoder.load("twin-pre", device="cpu")
    text = "Unbelievably, a [MASK] 😀"
    found = prediction.words(model.trace(text), "[MASK]")
    assert [word.text for word in found][:3] == ["Unbelievably", ",", "a"]
    assert (found[0].start, found[0].end) == (0, 12), "a word of several pieces"
    assert prediction.hide(text, found[2], "[MASK]") == "Unbelievably, [MASK] [MASK] 😀"
    assert [word.text for word in prediction.words(model.trace("a b", "c d"), "[MASK]")] == ["a", "b"]


@pytest.mark.parametrize(
    ("word", "rank"), [("cat", 1), ("Cat", 2), ("Dog", 3), ("mat", 4), ("bird", None)], ids=lambda value: str(value)
)
def test_the_rank_of_a_word_in_any_spelling_of_the_vocabulary(word: str, rank: int | None) -> None:
    entry = MaskedPrediction(1, (5, 6, 7, 8), ("cat", "Cat", "Ġdog", "▁mat"), (0.4, 0.3, 0.2, 0.1))
    found = prediction.rank(entry, word)
    assert (None if found is None else found[0]) == rank


def test_several_masks_and_one_that_was_cut() -> None:
    app = visit("masked_words", model="twin-pre", text="a [MASK] and a [MASK]")
    assert_well(app)
    assert [heading.value for heading in app.header] == ["Mask 1 (token 2)", "Mask 2 (token 5)"]
    app = visit("masked_words", model="twin-pre", text="word " * 200 + "[MASK]")
    assert_well(app)
    assert "[MASK]" in noted(app, "edit")
    app = visit("masked_words", model="twin-pre", text="[MASK] " * 30)
    assert_well(app)
    assert len(app.header) == 8
