"""The page “Heads”: options, selected tokens, averages, pairs, filters, and links that ask for too much."""

from __future__ import annotations

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from encoder.export import Options
from encoder.figures.numbers import three_digits
from encoder.measure import head_types, telling
from encoder.measure.head_measures import head_measures
from encoder.measure.telling import information_gain, most_telling
from encoder.run import Run, Text
from pages.components.lazy import KEY
from pages.core.stores import cache
from pages.core.view import View
from pages.heads import colourings
from pages.heads.colourings import Colouring
from tests.pages.apps import assert_well, exported, registered, visit, words

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

CAT = "The cat sat on the mat"
SINK = ":material/vertical_align_bottom:"


def python(app: AppTest) -> str:
    """The Python lines that the page exports: they name the head, the view and every option."""
    return exported(app)


def keys(app: AppTest, kind: str) -> list[str]:
    return [element.key for element in app.get(kind)]


@pytest.fixture(scope="module")
def trace():
    return cache.trace(Run(input=Text(CAT)))


def test_the_weight_of_a_cell_and_of_several(trace) -> None:
    attention, labels = trace.attention(1, 8), [re.escape(label) for label in trace.labels]
    app = visit(text=CAT, layer="1", head="8", i="2", j="3")
    assert_well(app)
    assert f"**{three_digits(float(attention[2, 3]))}**" in words(app)
    app = visit(text=CAT, layer="1", head="8", hold="2,4", hold_keys="3,5")
    assert_well(app)
    total = float(attention[[2, 4]][:, [3, 5]].sum())
    assert f"**{three_digits(total)}**" in words(app)
    assert three_digits(float(attention[[2, 4]].sum(0).max())) in words(app)
    app = visit(text=CAT, layer="1", head="8", j="3")
    best = int(attention[:, 3].argmax())
    assert re.search(rf"receives most from {labels[best]}.* {three_digits(float(attention[best, 3]))}", words(app))


def test_without_a_selection_the_largest_weight_is_said(trace) -> None:
    attention = trace.attention(1, 8)
    app = visit(text=CAT, layer="1", head="8")
    row, column = divmod(int(attention.argmax()), trace.n_tokens)
    largest = three_digits(float(attention.max()))
    query, key = (re.escape(f"**{trace.labels[at]}**") for at in (row, column))
    shown = words(app).replace("\\", "")  # of [CLS] and [SEP] in Markdown
    assert re.search(rf"Largest weight: {query}.* attends to {key}.*, \*\*{largest}\*\*\.", shown)


def test_clearing_lets_go_of_all_tokens() -> None:
    app = visit(text=CAT, i="2", j="3", hold="4", hold_keys="5")
    app.button(key="clear-selection").click().run()
    assert_well(app)
    assert not {"i", "j", "hold", "hold_keys"} & set(app.query_params)
    assert "clear-selection" not in keys(app, "button")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({}, "map(trace, 0, 2, "),
        ({"special": "zero"}, "special='zero'"),
        ({"special": "renormalise"}, "special='renormalise'"),
        ({"words": "1"}, "words=True"),
        ({"range": "head"}, "scale_to_max=True"),
        ({"range": "fixed"}, "map(trace, 0, 2)"),
        ({"pair": "It sat.", "between": "a-b"}, "pairs='a-b'"),
        ({"pair": "It sat.", "between": "a-b", "j": "2"}, "pairs='a-b'"),  # the selected token is hidden
        ({"average": "heads"}, "map(trace, 0, None, "),
        ({"average": "layers"}, "map(trace, None, 2, "),
        ({"average": "both"}, "map(trace, None, None, "),
        ({"i": "2", "hold_keys": "3,4"}, "queries=[2], keys=[3, 4]"),
        ({"view": "lines", "overlay": "1.8,3.4"}, "lines(trace, [(0, 2), (1, 8), (3, 4)]"),
        ({"view": "lines", "overlay": "1.8", "average": "heads"}, "lines(trace, [(0, None)]"),
        ({"view": "lines", "least": "0.1"}, "threshold=0.1"),
        ({"view": "text"}, "text(trace, 0, 2, "),
        ({"view": "text", "i": "2", "hold": "3"}, "selected=[2, 3]"),
        ({"view": "text", "direction": "from", "j": "2"}, "direction='from', selected=[2]"),
        ({"pins": "0.2,1.8"}, "map(trace, 0, 2, "),
        ({"words": "1", "special": "zero"}, "special='zero', words=True"),
    ],
)  # fmt: skip
def test_the_page_and_its_python_lines_follow_the_address(query: dict[str, str], code: str) -> None:
    app = visit(text=CAT, layer="0", **query)
    assert_well(app)
    assert code in python(app)
    in_address = {name: app.query_params[name] for name in query}
    assert {name: value if isinstance(value, str) else value[0] for name, value in in_address.items()} == query


def test_an_average_has_its_name_and_cannot_be_pinned() -> None:
    for average, name in (("heads", "L0"), ("layers", "H2"), ("both", "72")):
        app = visit(text=CAT, layer="0", average=average)
        assert name in app.header[0].value
        assert app.button(key="pin").disabled
    app = visit(text=CAT, layer="0", pins="0.2,1.8")
    assert {"open:0.2", "unpin:0.2", "open:1.8", "unpin:1.8"} <= set(keys(app, "button"))
    app.button(key="pin").click().run()  # the open head is pinned: the button takes its pin away
    assert app.query_params["pins"] in ("1.8", ["1.8"])


@pytest.mark.parametrize("text", ["", "a", "cat cat cat", "🙂", "שלום עולם"])
@pytest.mark.parametrize("view", ["lines", "text"])
def test_short_and_unusual_texts(text: str, view: str) -> None:
    assert_well(visit(text=text, view=view, pins="0.0", words="1", i="0"))


@pytest.mark.parametrize(
    ("kind", "place", "pair", "threshold", "source"),
    [("opening", (2, 4), "", 0.6, "Xiao et al."), ("separators", (0, 5), "It slept.", 0.3, "Clark et al.")],
)
def test_a_head_that_attends_to_one_special_token_is_measured(
    kind: str, place: tuple[int, int], pair: str, threshold: float, source: str
) -> None:
    found = head_types.sink(cache.trace(Run(input=Text(CAT, pair or None))), *place, threshold)
    assert found is not None
    assert found.kind == kind
    query = {"text": CAT, "pair": pair, "layer": str(place[0]), "head": str(place[1])}
    app = visit(**query, role_special=str(threshold))
    assert_well(app)
    note = next(one.value for one in app.markdown if SINK in one.value)
    assert f"{found.share:.0%}" in note
    assert f"{found.uniform:.0%}" in note
    assert source in words(app), "a reading names its source"
    assert SINK not in words(visit(**query, role_special="0.99"))
    assert SINK not in words(visit(**query, role_special=str(threshold), average="heads"))


def test_another_number_colours_the_grid_by_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_place(view: View) -> Colouring:
        shape = view.loaded.config.n_layers, view.loaded.config.n_heads
        values = np.arange(np.prod(shape), dtype=float).reshape(shape)
        return Colouring(values, "place", (0.0, values.max()), telling.DEFINITION, most=3, caption="By place.")

    monkeypatch.setattr(colourings, "COLOURINGS", (by_place, *colourings.COLOURINGS))
    app = visit(text=CAT, sort="falling")
    assert_well(app)
    assert "By place." in words(app)
    assert "3 of 72" in words(app)


def test_heads_are_filtered_by_head_type_and_measure(trace) -> None:
    measures = head_measures(trace)
    kept = int((measures["entropy"] <= 0.5).sum())
    app = visit(text=CAT, measure="entropy", sort="falling", keep="0..0.5")
    assert_well(app)
    assert f"{kept} of 72" in words(app)
    slider = next(one for one in app.slider if one.key.startswith("keep:entropy"))
    assert slider.value == (0.0, 0.5)
    slider.set_value((slider.min, slider.max)).run()
    assert "keep" not in app.query_params
    assert "of 72 heads" not in words(app)
    app = visit(text=CAT, role="next")
    assert re.search(r"\b[1-9]\d? of 72\b", words(app))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"hold": "2,x"}, "hold='2,x'"),
        ({"pins": "0.1,0.2,0.3,0.4,0.5"}, "4 heads"),
        ({"overlay": "2"}, "0.2,1.8"),
        ({"pins": "0.2,40.3"}, "L40 H3"),
        ({"least": "2"}, "least='2'"),
        ({"keep": "3..1", "measure": "entropy"}, "keep='3..1'"),
        ({"view": "net"}, "map, lines, text"),
        ({"measure": "beauty"}, "measure='beauty'"),
        ({"role_special": "nan"}, "role_special='nan'"),
    ],
)
def test_a_link_that_asks_for_too_much(query: dict[str, str], said: str) -> None:
    app = visit(text=CAT, **query)
    assert_well(app)
    notes = [box.value.replace("\\", "") for box in app.warning if box.icon == ":material/link_off:"]
    assert said in "".join(notes)


def test_a_long_text_says_what_is_not_offered() -> None:
    app = visit(text="word " * 600, model="scratch", words="1", average="heads", pins="0.1", view="lines")
    assert_well(app)
    assert len([box for box in app.info if "512" in box.value and "602" in box.value]) == 2, "lines and pinned heads"
    assert [caption for caption in app.caption if "512" in caption.value and "602" in caption.value], "whole words"
    assert app.toggle(key="view:words").disabled
    assert app.query_params["pins"] in ("0.1", ["0.1"])
    app.session_state["view:view"] = "text"
    app.run()
    assert_well(app)


def test_options_apply_while_their_part_is_closed() -> None:
    query = {"text": "unbelievable words", "words": "1", "special": "zero", "average": "heads", "dtype": "bfloat16"}
    app, whole = visit(closed=True, **query), visit(**query)
    for one in (app, whole):
        assert_well(one)
        for sentence in Options(special="zero", words=True).map_sentences():
            assert sentence in words(one)
        assert one.header[0].value == whole.header[0].value
        assert dict(one.query_params) == query
    assert "view:words" not in keys(app, "toggle")
    assert "view:words" in keys(whole, "toggle")
    assert not app.get("code")
    whole.toggle(key="view:words").set_value(False).run()
    whole.session_state[f"{KEY}options"] = False
    whole.run()
    assert not re.search(r"\bwords=True", python(whole))
    assert "words" not in whole.query_params


def test_values_of_the_url_come_back_as_they_went() -> None:
    values = {
        "hold": [3, 5],
        "pins": [(0, 2), (1, 8)],
        "overlay": [(5, 11)],
        "keep": (0.25, 1.5),
        "least": 0.05,
        "words": True,
        "measure": "entropy",
        "sort": "rising",
        "role_broad": 0.6,
    }
    params = registered()
    for name, value in values.items():
        assert params[name].parse(params[name].format(value)) == value


def test_weights_too_faint_for_colours_up_to_1_get_a_hint() -> None:
    query = {"model": "scratch", "positions": "rotary", "text": "word " * 30, "range": "fixed", "layer": "0"}
    app = visit(**query)
    assert_well(app)
    hint = "Fit to map"
    largest = float(re.search(rf"([\d.]+\d)[^\n]*{hint}", words(app))[1])
    assert 1 / 32 <= largest < 0.1
    assert hint not in words(visit(**query | {"range": "head"}))
    assert hint not in words(visit(**query | {"range": "words"}))
    assert hint not in words(visit(text="The cat", range="fixed"))


ANIMAL = "The animal didn't cross the street because it was too tired."


def place(app: AppTest) -> tuple[int, int, int | None]:
    """Layer, head and selected query of this session."""
    layer, head, query = (app.session_state["_view"].values[name] for name in ("layer", "head", "i"))
    return layer, head, query


def test_the_line_beside_the_map_has_weight_rank_and_the_largest_of_the_row(trace) -> None:
    row = trace.attention(1, 8)[2]
    app = visit(text=CAT, layer="1", head="8", i="2", j="4")
    rank = 1 + int((row > row[4]).sum())
    assert re.search(rf"\*\*{three_digits(float(row[4]))}\*\* \({rank}(st|nd|rd|th) of 8\)", words(app))
    best, second = row.topk(2).values.tolist()
    assert re.search(rf"{three_digits(best)}, .*{three_digits(second)}, ", words(app))
    assert "open-softmax" in keys(app, "button")
    app.button(key="open-softmax").click().run()
    assert app.query_params["step"] in ("softmax", ["softmax"])
    for more in ({"special": "renormalise"}, {"words": "1"}, {"average": "heads"}, {"special": "zero", "j": "0"}):
        app = visit(**{"text": CAT, "layer": "1", "head": "8", "i": "2", "j": "4"} | more)
        assert "open-softmax" not in keys(app, "button"), "the page shows a number that the model did not compute"


def test_asking_for_a_word_opens_its_most_telling_head_and_orders_the_grid() -> None:
    trace = cache.trace(Run(input=Text(ANIMAL)))
    it = trace.labels.index("it")
    gains = information_gain(trace, it)
    app = visit(text=ANIMAL, layer="0")
    app.pills(key="view:word").set_value(it).run()
    assert_well(app)
    chosen = most_telling(trace)
    assert chosen is not None
    assert place(app) == (*np.unravel_index(gains.argmax(), gains.shape), it) == (chosen.layer, chosen.head, it)
    assert "over earlier words" in words(app), "the rule of the order is said"
    assert app.query_params["word"] in (str(it), [str(it)])
    link = {name: one[0] if isinstance(one, list) else one for name, one in app.query_params.items()}
    again = visit(**link)
    assert_well(again)
    assert place(again) == place(app)
    assert re.search(r"\b24 of 72\b", words(again)), "the most telling heads alone are listed"
    again.text_area(key="view:text").set_value("Dogs bark at the old moon and so it goes on.").run()
    assert_well(again)
    assert "word" not in again.query_params, "the question was about the sentence before"


def test_a_link_that_asks_for_no_word_gets_a_sentence() -> None:
    for word in ("0", "99"):
        app = visit(text=CAT, word=word)
        assert_well(app)
        assert [box for box in app.warning if f"word {word}" in box.value]
    assert_well(visit(text="one", word="1"))
    assert_well(visit(text="word " * 600, model="scratch", word="300"))
    assert_well(visit(text=CAT, pair="It slept.", pad="16", word="8"))


def test_head_and_token_are_chosen_by_computation_until_somebody_chooses() -> None:
    chosen = most_telling(cache.trace(Run(input=Text(ANIMAL))))
    app = visit(text=ANIMAL)
    assert_well(app)
    assert place(app) == (chosen.layer, chosen.head, chosen.query)
    assert "Chosen for you" in words(app)
    assert not {"layer", "head", "i"} & set(app.query_params), "the same sentence gives the same choice"

    other = most_telling(cache.trace(Run(input=Text(CAT))))
    app.text_area(key="view:text").set_value(CAT).run()
    assert place(app) == (other.layer, other.head, other.query), "another sentence, another choice"
    app.number_input(key="view:layer").set_value(0).run()
    app.number_input(key="view:head").set_value(2).run()
    app.button(key="clear-selection").click().run()
    assert "Chosen for you" not in words(app)
    app.text_area(key="view:text").set_value(ANIMAL).run()
    assert place(app) == (0, 2, None), "a person's choice stays"
    assert app.query_params["layer"] in ("0", ["0"]), "a link to it shows it"


def test_a_person_may_choose_what_was_chosen_already() -> None:
    chosen = most_telling(cache.trace(Run(input=Text(ANIMAL))))
    app = visit(text=ANIMAL)
    app.pills(key="view:word").set_value(chosen.query).run()
    assert place(app) == (chosen.layer, chosen.head, chosen.query)
    assert "Chosen for you" not in words(app)
    app.segmented_control(key="view:norm").set_value("pre").run()
    assert_well(app)
    assert place(app) == (chosen.layer, chosen.head, chosen.query), "another model, and still the person's choice"


@pytest.mark.parametrize("query", [{"layer": "0"}, {"head": "2"}, {"i": "3"}, {"hold": "2,3"}])
def test_a_link_that_chooses_is_not_overridden(query: dict[str, str]) -> None:
    app = visit(text=ANIMAL, **query)
    assert place(app) == (0, 2, int(query["i"]) if "i" in query else None)
    assert "Chosen for you" not in words(app)


@pytest.mark.parametrize("query", [{"text": ""}, {"text": "a b"}, {"layers": "1", "heads": "1", "text": "one"}])
def test_a_text_in_which_nothing_is_telling_opens_at_the_usual_head(query: dict[str, str]) -> None:
    app = visit(model="scratch", **query)
    assert_well(app)
    assert place(app)[2] is None
    assert "Chosen for you" not in words(app)


def test_colours_end_at_the_largest_weight_between_words(trace) -> None:
    inside = float(trace.attention(0, 0)[1:-1, 1:-1].max())
    assert inside < float(trace.attention(0, 0).max())
    assert f"end at {three_digits(inside)}" in words(visit(text=CAT, layer="0", head="0"))
    assert "colours end" not in words(visit(text=CAT, layer="0", head="0", range="fixed"))


def test_one_switch_hides_special_tokens() -> None:
    app = visit(text=CAT, layer="0")
    app.toggle(key="hide-special").set_value(True).run()
    assert_well(app)
    assert app.query_params["special"] in ("zero", ["zero"])
    assert "special='zero'" in python(app)
    app.toggle(key="hide-special").set_value(False).run()
    assert "special" not in app.query_params


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (
            {"model": "scratch", "norm": "post", "layers": "2", "heads": "4", "width": "32", "ffn": "32"},
            ("norm", "pre"),
        ),
        ({"model": "twin-pre"}, ("model", "twin-post")),
    ],
    ids=["norms", "model"],
)
def test_the_suggestion_for_a_sentence_stays_when_norms_or_model_change(first: dict, then: tuple[str, str]) -> None:
    app = visit(text=ANIMAL, **first)
    assert "Chosen for you" in words(app)
    before = place(app)
    widget = app.segmented_control if then[0] == "norm" else app.selectbox
    widget(key=f"view:{then[0]}").set_value(then[1]).run()
    assert_well(app)
    assert place(app) == before
