"""Captions of an image on the page “Predict”, and a model of images and text on other pages."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

import encoder
from encoder.inputs.captions import WORDS
from encoder.inputs.digits import decode, examples
from encoder.run import ModelSpec
from pages.base.access import visitors
from pages.core.frame.frame import CAUSAL
from pages.core.inputs import image_input
from pages.core.stores import input_kinds
from pages.core.stores.model_store import joint, model, takes
from pages.predict.captions import LONGEST, MOST
from pages.predict.params import TEN_DIGITS
from tests.load.joints import model_of, write
from tests.pages.apps import assert_well, noted, sentences, visit, words, written

#: Pages that show the causal encoder of text. Those that need the head of another model are tested with theirs.
PAGES = ("heads", "contribution", "positions", "norms", "feed_forward", "model",
         "pre_post", "texts")  # fmt: skip


def opened(**query: str) -> AppTest:
    app = visit("predict", model="digit-words", closed=True, **query)
    assert_well(app)
    return app


def query(app: AppTest, name: str) -> str | None:
    found = app.query_params.get(name)
    return found[0] if isinstance(found, list) else found


@pytest.mark.sample(3, "another page")
@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_with_the_causal_encoder(page: str):
    app = visit(page, model="digit-words", closed=True, text="an odd digit", similar_to="an even digit")
    assert not app.exception, page
    assert not app.error, (page, [box.value for box in app.error])


def test_a_model_without_captions_gives_way_to_the_bundled_pair():
    app = visit("predict", predict="caption", image="5", closed=True)
    assert_well(app)
    assert "all-MiniLM-L6-v2" in written(app)
    assert "**a handwritten five**" in written(app)
    assert app.selectbox(key="view:model").value == "minilm", "other pages keep the model"
    app.button(key="instead:use").click().run()
    assert app.selectbox(key="view:model").value == "digit-words"
    assert_well(app)
    assert not [button for button in app.button if button.key == "instead:use"]


def test_the_page_says_what_the_model_computes():
    app = opened(image="5")
    pair = encoder.load("digit-words", device="cpu")
    found = pair.probabilities([decode(examples()["5"])], TEN_DIGITS.splitlines())[0]
    assert int(found.argmax()) == 5
    assert f"**a handwritten five**: **{float(found[5]):.3g}** (1st of 10)" in written(app)


def test_a_selected_caption_and_another_scale():
    app = opened(image="5", caption="3", scale_times="0.25")
    pair = encoder.load("digit-words", device="cpu")
    cosines = pair.embed_images([decode(examples()["5"])]) @ pair.embed_texts(TEN_DIGITS.splitlines()).T
    found = (0.25 * pair.scale * cosines).softmax(dim=-1)[0]
    assert f"**a handwritten three**: **{float(found[3]):.3g}**" in written(app)
    app.select_slider(key="view:scale_times").set_value("1").run()
    assert query(app, "scale_times") is None
    assert f"**{float((pair.scale * cosines).softmax(dim=-1)[0, 3]):.3g}**" in written(app)


def test_captions_are_typed_one_a_line():
    app = opened(image="3")
    app.text_area(key="view:captions").set_value("a three\n\n a   three \nan eight").run()
    assert_well(app)
    assert "(1st of 2)" in written(app)
    assert query(app, "captions") == "a three\n\n a   three \nan eight"
    app.text_area(key="view:captions").set_value("").run()
    assert_well(app)


def test_examples_of_captions():
    app = opened(image="3")
    app.selectbox(key="caption-example").set_value("Even or odd").run()
    assert_well(app)
    assert "**an odd digit**" in written(app)


def test_unknown_words_are_named():
    app = opened(captions="a dog\na cat")
    assert {"dog", "cat"} <= set(noted(app, "unknown_document").replace("“", " ").replace("”", " ").split())


def test_too_many_captions_and_too_long_ones():
    app = opened(captions="\n".join(f"{n} {word} {'x' * LONGEST}" for n in range(3) for word in WORDS))
    assert f"of {MOST})" in written(app)
    assert str(LONGEST) in words(app)


@pytest.mark.parametrize(
    "hostile",
    [
        {"caption": "99"},
        {"caption_word": "99"},
        {"template": "{"},
        {"template": "{0.__class__}"},
        {"captions": "<script>alert(1)</script>\n**a** $x$ [b](c)"},
        {"image": "0" * 63},
        {"tower": "sound"},
    ],
)
def test_values_of_a_link_that_fit_nothing(hostile: dict[str, str]):
    app = visit("predict", model="digit-words", closed=True, **hostile)
    assert not app.exception
    assert not app.error


def test_the_python_lines_give_the_numbers_of_the_page():
    app = visit("predict", model="digit-words", image="8", captions="an eight\na three", scale_times="2")
    (code,) = [block.value for block in app.code if "trace" in block.value]
    names: dict[str, object] = {}
    exec(code, names)
    found = names["found"]
    assert f"**{float(found.probabilities[0, 0]):.3g}**" in written(app)


def test_the_encoder_of_text_is_causal_on_attention_heads():
    app = visit("heads", model="digit-words", closed=True)
    assert_well(app)
    assert CAUSAL in [one.value for one in app.caption]
    assert app.text_area[0].value != ""
    assert "[UNK]" not in sentences(app)
    app.segmented_control(key="view:tower").set_value("image").run()
    assert_well(app)
    assert CAUSAL not in [one.value for one in app.caption]
    assert query(app, "tower") == "image"
    assert not app.text_area


def test_the_first_sentence_comes_back_with_its_model():
    app = visit("heads", closed=True)
    first = app.text_area[0].value
    app.selectbox(key="view:model").set_value("digit-words").run()
    assert app.text_area[0].value != first
    app.selectbox(key="view:model").set_value("minilm").run()
    assert app.text_area[0].value == first


def test_a_page_shows_the_encoder_whose_input_it_takes():
    pair = ("text", "image")
    assert input_kinds.fitting(pair, ("image",), "text") == "image"
    assert input_kinds.fitting(pair, ("text",), "image") == "text"
    assert input_kinds.fitting(pair, ("text", "image", "sound"), "image") == "image"
    assert input_kinds.fitting(pair, ("pair",), "text") == "image"
    assert input_kinds.fitting(pair, ("sound",), "image") == "image"
    app = visit("heads", model="digit-words", image="4", closed=True)
    assert_well(app)


def test_one_load_gives_both_encoders():
    whole = joint(ModelSpec("digit-words", device="cpu"))
    text, image = (model(ModelSpec("digit-words", tower=tower, device="cpu")) for tower in ("text", "image"))
    assert whole is not None
    assert (text, image) == (whole.text, whole.image)
    assert takes(ModelSpec("digit-words", tower="image")) == "image"
    assert joint(ModelSpec("digits-pre", device="cpu")) is None
    moved = model(ModelSpec("digit-words", tower="image", norm="post", device="cpu"))
    assert moved.config.norm_placement == "post"
    assert torch.equal(moved.encoder.block(0).ffn.w_in.weight, image.encoder.block(0).ffn.w_in.weight)
    assert whole.image.config.norm_placement == "pre"


@pytest.mark.slow("writes models of pairs and opens two pages with each")
@pytest.mark.parametrize("family", ["clip", "siglip"])
def test_a_model_from_a_folder_and_a_photograph(family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    folder = write(model_of(family), tmp_path / "tiny", family)
    app = visit("predict", model="other", source=str(folder), captions="w17 w5 w80\nw6\nw70 w71", closed=True)
    assert_well(app)
    pair = encoder.load(folder, device="cpu")
    found = pair.probabilities([image_input.photo("flower")], ["w17 w5 w80", "w6", "w70 w71"])[0]
    best = int(pair.similarities([image_input.photo("flower")], ["w17 w5 w80", "w6", "w70 w71"])[0].argmax())
    assert f"**{float(found[best]):.3g}** (1st of 3)" in written(app)
    assert ("Sigmoid" if family == "siglip" else "Softmax") in written(app)
    assert not app.text_area(key="view:captions").value.startswith("a handwritten")
    app = visit("heads", model="other", source=str(folder), text="w17 w5", closed=True)
    assert_well(app)
    assert (CAUSAL in [one.value for one in app.caption]) == (family == "clip")
    assert app.segmented_control(key="view:tower").value == "text"
