"""The front page: the picture of the visitor's sentence, old links, and every observation that the page promises."""

from __future__ import annotations

import dataclasses
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import encoder
from encoder import causal
from encoder.edits import AblateHead, CausalMask
from encoder.explain import Place
from encoder.figures.numbers import in_words, three_digits
from encoder.measure import positions, residual_stream
from encoder.trace.trace import Trace
from encoder.views.model_parts import with_parts
from encoder.views.model_picture import model_picture
from pages.base.access import visitors
from pages.core.widgets.answer import nth_largest
from pages.model import ways
from pages.model.picture import HARDLY
from tests.load import reference
from tests.pages.apps import assert_well, registered, visit, written
from tests.test_components import unpack

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

WAYS = [*ways.NEW.values(), *ways.RUN, *ways.RESEARCH]


def attention(trace: Trace, values: dict[str, str]) -> np.ndarray:
    """The map of the head that a view opens."""
    return trace.attention(int(values["layer"]), int(values["head"])).numpy()


def answer(text: str) -> tuple[str, ...]:
    """Layer, head, query, key and weight of the picture's line."""
    found = re.search(r"In L(\d+) H(\d+), \*\*(.+?)\*\*.* attends to \*\*(.+?)\*\*.*?: (\d\S*) ", text)
    assert found is not None, text
    return found.groups()


def test_the_front_page_answers_about_the_sentence() -> None:
    app = visit("model")
    assert_well(app)
    assert not app.query_params
    app.text_area(key="view:text").set_value(ways.BANKS).run()
    assert_well(app)
    layer, head, query, key, weight = answer(written(app))
    trace = encoder.load("minilm", device="cpu").trace(ways.BANKS)
    row = trace.attention(int(layer), int(head))[trace.labels.index(query)]
    assert any(abs(float(row[j]) - float(weight)) < 1e-3 for j, label in enumerate(trace.labels) if label == key)
    assert app.query_params == {"text": ways.BANKS, "start": "1"}


def test_its_sentence_goes_along_to_every_page() -> None:
    app = visit("model")
    app.text_area(key="view:text").set_value("one two three").run()
    app.switch_page("pages/heads/page.py").run()
    assert app.text_area(key="view:text").value == "one two three"


@pytest.mark.parametrize("text", ["", "x", "the the", "القطة", "**b** $x$", "one two " * 300], ids=range(6))
def test_any_sentence_opens(text: str) -> None:
    app = visit("model")
    app.text_area(key="view:text").set_value(text).run()
    assert_well(app)


def test_an_old_link_to_the_first_page_opens_attention_heads() -> None:
    app = visit(at_front=True, text="one two three", layer="3")
    assert_well(app)
    assert app.title[0].value == "Heads"
    assert app.number_input(key="view:layer").value == 3


def test_its_own_link_opens_it() -> None:
    app = visit(text="one two three", start="1", at_front=True)
    assert_well(app)
    assert app.text_area(key="view:text").value == "one two three"
    assert not app.warning


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.label)
def test_every_way_opens_its_view(way: ways.Way) -> None:
    params = registered()
    for name, value in way.values.items():
        assert params[name].format(params[name].parse(value)) == value
    app = visit(way.folder, **way.values)
    if way.values.get("model") != "other":
        assert_well(app)
    assert not app.error
    assert not app.warning


# --- What the ways promise --------------------------------------------------------------------------------------------


def test_it_attends_to_animal(minilm: encoder.TextEncoder) -> None:
    values = ways.NEW["attend"].values
    trace = minilm.trace(values["text"])
    i, j = int(values["i"]), int(values["j"])
    assert (trace.labels[i], trace.labels[j]) == ("it", "animal")
    row = attention(trace, values)[i]
    assert row.argmax() == j
    assert row[j] > 0.5


def test_weights_sum_to_one(minilm: encoder.TextEncoder) -> None:
    values = ways.NEW["weight"].values
    trace = minilm.trace(values["text"])
    scores = trace.scores(int(values["layer"]), int(values["head"]))[int(values["i"])]
    row = attention(trace, values)[int(values["i"])]
    assert row.sum() == pytest.approx(1, abs=1e-5)
    assert np.allclose(scores.softmax(-1), row, atol=1e-5)


def test_the_reversed_sentence_has_other_vectors(minilm: encoder.TextEncoder) -> None:
    found = positions.order_effect(minilm.trace(ways.NEW["order"].values["text"]))
    assert found.moved.any()
    assert found.cosine[found.moved].max() < 0.95


def test_the_residual_stream_grows_in_pre_norm_alone() -> None:
    values = ways.NEW["norm"].values
    norms = {
        placement: residual_stream.measure(encoder.load(f"twin-{placement}", device="cpu").trace(values["text"])).length
        for placement in ("pre", "post")
    }
    assert (np.diff(norms["pre"]) > 0).all()
    assert norms["pre"][-1] > 3 * norms["pre"][0]
    assert norms["post"].max() < 1.2 * norms["post"].min()


@pytest.mark.parametrize(("name", "kind"), [("digit-words", "image"), ("spoken-words", "sound")])
def test_both_encoders_of_a_pair_show_one_cosine(name: str, kind: str) -> None:
    cosines = []
    for tower in ("text", kind):
        app = visit(
            "model", start="1", model=name, tower=tower, text="three", **{kind: "three" if kind == "sound" else "3"}
        )
        assert_well(app)
        cosines.append(picture(app)["pair"]["cosine"])
    assert cosines[0] == pytest.approx(cosines[1], abs=1e-5)


@pytest.mark.parametrize(("own", "shown"), [("cls", "cls"), ("last", "last"), ("max", None), ("cls+mean", None)])
def test_the_sentence_vector_is_made_the_way_of_the_model(minilm: encoder.TextEncoder, own: str, shown: str | None):
    trace = dataclasses.replace(minilm, pooling=own).trace("a cat")
    picture = model_picture(trace)
    assert picture.header["pooling"] == shown
    assert ("vector" in picture.arrays) == (shown is not None)
    if shown is not None:
        assert np.allclose(picture.arrays["vector"], trace.output[0 if own == "cls" else -1], atol=1e-6)
    assert ("output" in with_parts(picture, trace, Place(), part="softmax").header["parts"]) == (shown is not None)


def test_a_link_to_a_layer_that_the_model_lacks_opens_its_last_one() -> None:
    app = visit("model", start="1", model="twin-pre", layer="9", head="20", i="1")
    assert not app.error
    assert answer(written(app))[:2] == ("3", "3")


def test_a_drawing_has_the_picture_too() -> None:
    app = visit("model", start="1", model="digits-pre")
    assert_well(app)
    assert not [field for field in app.text_area if field.key == "view:text"]


# --- The picture ------------------------------------------------------------------------------------------------------


def picture(app: AppTest) -> dict[str, Any]:
    """The header of the drawn picture."""
    (drawn,) = (one.proto for one in app.get("bidi_component") if "model_picture" in one.proto.component_name)
    return unpack(drawn.bytes)[0]


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ({"step": "qkv", "vector": "v"}, "v"),
        ({"step": "norm", "part": "ffn"}, "norm-ffn"),
        ({"step": "softmax", "model": "digits-pre"}, "softmax"),
        ({"step": "ids", "model": "digits-pre"}, ""),  # an image has no words
        ({"step": "final", "model": "twin-pre"}, "final"),
    ],
)
def test_a_link_opens_a_part(query: dict[str, str], part: str) -> None:
    app = visit("model", start="1", **query)
    assert_well(app)
    assert picture(app)["part"] == part


@pytest.mark.parametrize("show", ["diagram", "stream", "cost"])
def test_former_views_open(minilm: encoder.TextEncoder, show: str) -> None:
    app = visit("model", start="1", show=show, text="a cat")
    assert_well(app)
    if show == "cost":
        assert "FLOP" in written(app)
    else:
        assert picture(app)["curves"] is (show == "stream")
        if show == "stream":
            trace = minilm.trace("a cat")
            lengths = [trace.values[name].norm(dim=-1).double() for name in trace.residual]
            pairs = [(float(a), float(b)) for one, other in pairwise(lengths) for a, b in zip(one, other, strict=True)]
            before, after = max(pairs, key=lambda pair: abs(pair[1] - pair[0]))
            assert f"{three_digits(before)} → {three_digits(after)}" in written(app)


def test_switches_make_the_edits_of_every_page_and_say_what_they_cause(minilm: encoder.TextEncoder) -> None:
    text = ways.BANKS
    app = visit("model", start="1", text=text, layer="3", head="4", i="5", edits="ablate_l3_h4~causal")
    assert_well(app)
    header = picture(app)
    on = {one["name"]: one["on"] for kind in header["switches"].values() for one in kind}
    assert on == {"norm": False, "causal": True, "positions": True, "attention": True, "head": False, "ffn": True}
    edited = minilm.trace(text, edits=[AblateHead(3, 4), CausalMask()])
    before, after = causal.outcomes_of(minilm, minilm.trace(text), [edited], "sentence")
    assert f"{three_digits(before)} → {three_digits(after)}" in header["effect"]
    assert header["sees"] == "earlier"
    said = next(one.value for one in app.markdown if "L3 H4 is off" in one.value)
    assert f"{three_digits(before)} → {three_digits(after)}" in said
    assert "attends to" not in said, "its weights are used nowhere"


def test_of_moved_norms_the_strongest_weight_leads_and_the_selected_one_follows(minilm: encoder.TextEncoder) -> None:
    text, (layer, head, query) = ways.BANKS, (3, 4, 5)
    rows = [one.trace(text).attention(layer, head)[query] for one in (minilm, minilm.with_norm_placement("pre"))]
    strongest, key = int(rows[1].argmax()), int(rows[1].argmin())
    labels = minilm.trace(text).labels
    app = visit("model", start="1", text=text, norm="pre", layer="3", head="4", i="5", j=str(key))
    was, now, most = (in_words(float(one)) for one in (rows[0][key], rows[1][key], rows[1][strongest]))
    assert f"attends most to **{labels[strongest]}**" in written(app)
    assert re.search(rf": {re.escape(most)}\. To \*\*.*?: {re.escape(was)} → {re.escape(now)} ", written(app))


def test_what_the_open_head_is_worth(minilm: encoder.TextEncoder) -> None:
    app = visit("model", start="1", text=ways.BANKS, layer="3", head="4", i="5")
    effects = causal.ablate_each_head(minilm, ways.BANKS).abs()
    rank = 1 + int((effects > effects[3, 4]).sum())
    assert three_digits(float(effects[3, 4])) in written(app)
    assert nth_largest(rank, 72) in written(app)


@pytest.mark.parametrize(("rank", "said"), [(1, "the"), (2, "2nd"), (11, "11th"), (23, "23rd"), (111, "111th")])
def test_ranks_in_words(rank: int, said: str) -> None:
    assert nth_largest(rank, 5000) == f"{said} largest of 5,000"


def test_the_check_of_an_edited_run_says_why_there_is_none() -> None:
    app = visit("model", start="1", text="a cat", step="softmax", check="1", edits="ablate_l3_h4")
    assert_well(app)
    assert "edited" in picture(app)["checkSaid"]


def test_a_folder_of_images_opens_at_first_sight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kind is known once it is loaded."""
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    reference.write(reference.image_model_of("DeiT", "Model", 1), tmp_path, None)
    app = visit("model", start="1", model="other", source=str(tmp_path))
    assert_well(app)
    assert not app.error
    assert any("image" in one.label for one in app.expander)


def test_an_open_part_follows_the_sentence_or_closes() -> None:
    """Its numbers are never those of the sentence before."""
    app = visit("model", start="1", layer="3", head="1", i="10", j="2", step="softmax")
    app.text_area(key="view:text").set_value("The animal didn't cross the street because it was too wide.").run()
    assert (app.query_params["i"], app.query_params["j"], app.query_params["step"]) == ("10", "2", "softmax")
    trace = encoder.load("minilm", device="cpu").trace("The animal didn't cross the street because it was too wide.")
    weight = float(trace.attention(3, 1)[10, 2])
    assert any(three_digits(weight) in one.value for one in app.markdown)
    app.text_area(key="view:text").set_value("A cat sat.").run()
    assert not {"i", "j", "step"} & set(app.query_params)
    assert_well(app)


def test_the_first_example_answers_its_question_again() -> None:
    app = visit("model")
    for one in ("One word, two meanings", "What does “it” refer to?"):
        app.pills(key="model-example").set_value(one).run()
    assert any("**it** attends to" in one.value for one in app.markdown)


def test_one_word_with_two_meanings_is_shown_side_by_side_with_its_cosine() -> None:
    app = visit("model")
    app.pills(key="model-example").set_value("One word, two meanings").run()
    assert_well(app)
    trace = encoder.load("minilm", device="cpu").trace(ways.BANKS)
    first, second = (place for place, label in enumerate(trace.labels) if label == "bank")
    assert (app.query_params["i"], app.query_params["j"]) == (str(first), str(second))
    said = next(one.value for one in app.markdown if "same word twice" in one.value)
    cosines = [float(torch.cosine_similarity(x[first], x[second], dim=0)) for x in trace.streams]
    shown = [float(one) for one in re.findall(r"\d\.\d+", said)]
    assert shown[:3] == pytest.approx([cosines[-1], cosines[0], min(cosines)], abs=2e-3)
    assert min(cosines) < cosines[0], "the sentence moves the two vectors apart"
    assert said.index("river") < said.index("money"), "each meaning is nearest to its own word"
    assert said.count(f"less than {HARDLY:g} apart") == 2, "river and money hardly differ next to either of the two"
    app.text_area(key="view:text").set_value("The cat sat on a mat.").run()
    assert not [one for one in app.markdown if "same word twice" in one.value]
