"""The Heads page by its words: options, several tokens, averages, pairs, sinks, links that ask for too much."""

from __future__ import annotations

import re

import pytest

from encoder.figures.numbers import three_digits
from encoder.measure.heads import head_measures
from pages.core import cache
from pages.core.lazy import KEY
from tests.pages.apps import assert_well, registered, sentences, visit

CAT = "The cat sat on the mat"


def words(app) -> str:
    """Everything that the page says in running text."""
    return "\n".join(element.value for kind in ("markdown", "caption", "subheader") for element in app.get(kind))


@pytest.fixture(scope="module")
def trace():
    return cache.trace(cache.ModelKey(), CAT)


def test_the_weight_of_a_cell_and_of_several(trace) -> None:
    attention = trace.attention(1, 8)
    app = visit(text=CAT, layer="1", head="8", i="2", j="3")
    assert_well(app)
    assert f"**cat** attends to **sat** with **{three_digits(float(attention[2, 3]))}**." in words(app)
    app = visit(text=CAT, layer="1", head="8", hold="2,4", hold_keys="3,5")
    assert_well(app)
    total = float(attention[[2, 4]][:, [3, 5]].sum())
    said = f"**cat** (2) + **on** (4) together attend to **sat** (3) + **the** (5) with **{three_digits(total)}**."
    assert said in words(app)
    assert "weights of the 2 summed" in words(app)


def test_clearing_lets_go_of_all_tokens() -> None:
    app = visit(text=CAT, i="2", j="3", hold="4", hold_keys="5")
    next(button for button in app.button if button.label == "Clear selection").click()
    app.run()
    assert_well(app)
    assert not {"i", "j", "hold", "hold_keys"} & set(app.query_params)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({}, "each row sums to 1."),
        ({"special": "zero"}, "Rows and columns of special tokens are set to 0 here"),
        ({"special": "renormalise"}, "their own rows and columns are empty, and every other row is scaled to sum"),
        ({"words": "1"}, "Weights to the pieces of a word are summed, weights from them averaged."),
        ({"pair": "It sat.", "between": "a-b"}, "a row sums to less than 1, as the other keys are not shown."),
        ({"average": "heads"}, "L0, mean of 12 heads"),
        ({"average": "layers"}, "H2, mean of 6 layers"),
        ({"average": "both"}, "Mean of all 72 heads"),
        ({"average": "both"}, "The strongest weights of the mean of all 72 heads."),
        ({"view": "lines", "overlay": "1.8,3.4"}, "A line is as strong as the weight"),
        ({"view": "text"}, "Nothing is selected: the shade is the mean weight"),
        ({"view": "text", "i": "2", "hold": "3"}, "the more the 2 selected tokens together attend to it."),
        ({"view": "text", "direction": "from", "j": "2"}, "the more it attends to the selected token."),
        ({"pins": "0.2,1.8"}, "All 2 with the same colours, from 0 to 1"),
        ({"words": "1", "special": "zero"}, "The small maps follow the options."),
        ({"pair": "It sat.", "between": "a-b", "j": "2"}, "What is selected is not among the rows and columns"),
    ],
)  # fmt: skip
def test_what_is_chosen_is_what_is_said(query: dict[str, str], said: str) -> None:
    app = visit(text=CAT, **query)
    assert_well(app)
    assert said in words(app)
    in_address = {name: app.query_params[name] for name in query}
    assert {name: value if isinstance(value, str) else value[0] for name, value in in_address.items()} == query


@pytest.mark.parametrize("text", ["", "a", "cat cat cat", "🙂", "שלום עולם"])
@pytest.mark.parametrize("view", ["lines", "text"])
def test_short_and_unusual_texts(text: str, view: str) -> None:
    assert_well(visit(text=text, view=view, pins="0.0", words="1", i="0"))


def test_a_sink_is_explained_with_its_number(trace) -> None:
    measures = head_measures(trace)
    layer, head = divmod(int(measures["cls"].argmax()), trace.config.n_heads)
    share = float(measures["cls"][layer, head])
    assert share > 0.6
    app = visit(text=CAT, layer=str(layer), head=str(head))
    assert f"**A sink.** {share:.0%} of the attention of L{layer} H{head} rests on **\\[CLS\\]**" in words(app)
    assert "A sink" not in words(visit(text=CAT, layer=str(layer), head=str(head), role_special="0.99"))
    assert "A sink" not in words(visit(text=CAT, layer="1", head="8"))


def test_heads_are_filtered_by_role_and_measure(trace) -> None:
    measures = head_measures(trace)
    kept = int((measures["entropy"] <= 0.5).sum())
    app = visit(text=CAT, measure="entropy", sort="falling", keep="0..0.5")
    assert_well(app)
    assert f"{kept} of 72 heads are kept, the others are left out." in words(app)
    app = visit(text=CAT, role="next")
    assert re.search(r"\b[1-9]\d? of 72 heads are kept, the others are faded\.", words(app))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"hold": "2,x"}, "whole numbers with commas"),
        ({"pins": "0.1,0.2,0.3,0.4,0.5"}, "at most 4 heads"),
        ({"overlay": "2"}, "like 0.2,1.8"),
        ({"pins": "0.2,40.3"}, "L40 H3: this model has layers 0 to 5 with heads 0 to 11 each. Left out."),
        ({"least": "2"}, "must lie between 0 and 1"),
        ({"keep": "3..1", "measure": "entropy"}, "the lower number comes first"),
        ({"view": "net"}, "choose one of map, lines, text"),
        ({"measure": "beauty"}, "choose one of"),
        ({"role_special": "nan"}, "must lie between 0 and 1"),
    ],
)
def test_a_link_that_asks_for_too_much(query: dict[str, str], said: str) -> None:
    app = visit(text=CAT, **query)
    assert_well(app)
    assert said in sentences(app).replace("\\", "")


def test_a_long_text_says_what_is_not_offered() -> None:
    app = visit(text="word " * 600, model="scratch", words="1", average="heads", pins="0.1", view="lines")
    assert_well(app)
    assert "Whole words and pairs of sentences are offered up to 512 tokens; this text has 602." in words(app)
    assert "Lines are drawn between at most 512 tokens" in sentences(app)
    assert "They stay pinned" in sentences(app)
    app.session_state["view:view"] = "text"
    app.run()
    assert_well(app)


def test_options_hold_while_they_are_folded_away() -> None:
    query = {"text": "unbelievable words", "words": "1", "special": "zero", "average": "heads", "dtype": "bfloat16"}
    app, whole = visit(folded=True, **query), visit(**query)
    for one in (app, whole):
        assert_well(one)
        assert "Rows and columns of special tokens are set to 0 here" in words(one)
        assert "Weights to the pieces of a word are summed" in words(one)
        assert "L0, mean of 12 heads" in [head.value for head in one.subheader]
        assert dict(one.query_params) == query
    assert "Whole words" not in [toggle.label for toggle in app.toggle]
    assert "Whole words" in [toggle.label for toggle in whole.toggle]
    assert not app.get("code")
    whole.toggle(key="view:words").set_value(False).run()
    whole.session_state[f"{KEY}options"] = False
    whole.run()
    assert "Weights to the pieces" not in words(whole)
    assert "words" not in whole.query_params


def test_values_of_the_url_come_back_as_they_went() -> None:
    values = {
        "hold": [3, 5], "pins": [(0, 2), (1, 8)], "overlay": [(5, 11)], "keep": (0.25, 1.5), "least": 0.05,
        "words": True, "measure": "entropy", "sort": "rising", "role_broad": 2.5,
    }  # fmt: skip
    params = registered()
    for name, value in values.items():
        assert params[name].parse(params[name].format(value)) == value


def test_weights_too_small_for_colours_up_to_1_are_said_to_be() -> None:
    query = {"model": "scratch", "positions": "rotary", "text": "word " * 30}
    hint = "under Options, the range “this map” lets them run up to it"
    app = visit(**query)
    assert_well(app)
    assert hint in words(app)
    largest = float(re.search(r"The largest is ([\d.]+), faint", words(app))[1])
    assert 1 / 32 <= largest < 0.1
    assert hint not in words(visit(range="head", **query))
    assert hint not in words(visit(text="The cat"))
