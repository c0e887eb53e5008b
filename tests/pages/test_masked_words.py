"""“Masked-word prediction” under AppTest: what is predicted, words that are masked and put back."""

from __future__ import annotations

import encoder
from pages.masked_words import blanks
from tests.pages.apps import assert_well, press, sentences, visit, written


def test_random_weights_are_not_said_to_be_trained_for_anything() -> None:
    app = visit("masked_words", text="the [MASK] sat", model="scratch")
    assert "no masked-word head: it was never trained to name words" in sentences(app)


def test_a_model_without_a_head_says_so_and_offers_the_twins() -> None:
    app = visit("masked_words", text="the [MASK] sat")
    assert "no masked-word head" in sentences(app)
    press(app, "Use the twins")
    assert_well(app)
    assert app.query_params["model"] == "twin-pre"
    assert "expects" in written(app)


def test_the_twins_have_titles_in_the_sidebar() -> None:
    app = visit("masked_words", model="twin-post", text="the [MASK] sat")
    chosen = app.sidebar.selectbox(key="view:model")
    assert chosen.value == "twin-post"
    assert {"Twin, pre-norm", "Twin, post-norm"} <= set(chosen.options)
    assert app.query_params["model"] == "twin-post"


def test_both_twins_fill_the_blank() -> None:
    text = "the [MASK] of a country"
    app = visit("masked_words", model="twin-post", text=text, top="3")
    for name in ("twin-pre", "twin-post"):
        model = encoder.load(name, device="cpu")
        entry = model.predict_masked(model.trace(text), 3)[0]
        assert f"{name} expects “{entry.tokens[0]}” with {entry.probabilities[0]:.3f}" in written(app)
        assert f"{sum(entry.probabilities):.1%} of the probability" in written(app)


def test_a_word_is_hidden_and_put_back() -> None:
    text = "The cat sat on the mat."
    app = visit("masked_words", model="twin-pre", text=text)
    assert "put [MASK] in the place" in sentences(app)
    pills = next(group for group in app.get("button_group") if group.key.startswith("hide:"))
    assert pills.options == ["The", "cat", "sat", "on", "the", "mat", "."]
    pills.set_value(1).run()
    assert app.query_params["text"] == "The [MASK] sat on the mat."
    model = encoder.load("twin-pre", device="cpu")
    entry = model.predict_masked(model.trace("The [MASK] sat on the mat."), 8_000)[0]
    rank = entry.tokens.index("cat")
    assert f"“cat”, has rank {rank + 1:,} with {entry.probabilities[rank]:.4f} in twin-pre" in written(app)
    pills = next(group for group in app.get("button_group") if group.key.startswith("hide:"))
    assert "[MASK]" not in pills.options
    pills.set_value(4).run()  # "mat": the cat comes back
    assert app.query_params["text"] == "The cat sat on the [MASK]."
    press(app, "Put “mat” back")
    assert app.query_params["text"] == text


def test_words_that_can_be_hidden() -> None:
    model = encoder.load("twin-pre", device="cpu")
    text = "Unbelievably, a [MASK] 😀"
    found = blanks.words(model.trace(text), "[MASK]")
    assert [word.text for word in found][:3] == ["Unbelievably", ",", "a"]
    assert found[0].pieces > 1
    assert blanks.hide(text, found[2], "[MASK]") == "Unbelievably, [MASK] [MASK] 😀"
    assert [word.text for word in blanks.words(model.trace("a b", "c d"), "[MASK]")] == ["a", "b"]


def test_several_blanks_and_one_that_was_cut() -> None:
    app = visit("masked_words", model="twin-pre", text="a [MASK] and a [MASK]")
    assert_well(app)
    assert "Blank 2 (token 5)" in written(app)
    app = visit("masked_words", model="twin-pre", text="word " * 200 + "[MASK]")
    assert_well(app)
    assert "no [MASK]" in sentences(app)
    app = visit("masked_words", model="twin-pre", text="[MASK] " * 30)
    assert_well(app)
    assert "30 blanks" in sentences(app)
