"""Head types under AppTest: every part with odd texts, links, thresholds, and the numbers in the table."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

import encoder
from encoder.figures.numbers import three_digits
from encoder.measure.head_definitions import HEAD_MEASURES
from encoder.measure.head_measures import head_measures
from pages.heads.params import COLUMNS
from tests.pages.apps import assert_well, sentences, visit

PAGE, TEXT = "heads", "The keys to the old wooden cabinet are on the table."
PARTS = ["table", "roles"]


@pytest.fixture(scope="module")
def minilm() -> encoder.TextEncoder:
    return encoder.load("minilm", device="cpu")


def written(app: AppTest) -> str:
    """The page's running text, without Markdown's escapes."""
    texts = [element.value for kind in ("markdown", "caption", "header", "subheader") for element in app.main.get(kind)]
    return "\n".join(texts).replace("\\", "")


@pytest.mark.parametrize("part", PARTS)
def test_every_part_opens_with_every_text(part: str) -> None:
    app = visit(PAGE, all_heads=part, text="one two three", layer="3", head="7", i="2", j="1")
    assert_well(app)
    assert app.query_params["i"] == "2"
    for text in ("", "the the **b** $x$ `c` :smile: [a](b) שלום"):
        app.text_area(key="view:text").set_value(text).run()
        assert_well(app)


@pytest.mark.parametrize(
    ("positions", "norm", "extra"),
    [("rotary", "pre", {}), ("none", "post", {"layers": "1", "heads": "1", "width": "4"})],
)
def test_every_part_of_every_kind_of_encoder(positions: str, norm: str, extra: dict[str, str]) -> None:
    sizes = {"layers": "2", "heads": "2", "width": "12", "ffn": "20", "head": "0"} | extra
    for part in PARTS:
        more = {"positions": positions} | sizes
        assert_well(visit(PAGE, all_heads=part, model="scratch", norm=norm, text="a b a", **more))


@pytest.mark.parametrize("part", ["table", "roles"])
def test_a_long_text(part: str) -> None:
    assert_well(visit(PAGE, all_heads=part, text="attention is all you need " * 60, i="270"))


def test_a_second_sentence() -> None:
    for part in PARTS:
        assert_well(visit(PAGE, all_heads=part, text="one two", pair="three four"))


def test_the_table_holds_every_measure_of_every_head(minilm: encoder.TextEncoder) -> None:
    app = visit(PAGE, text=TEXT, all_heads="table")
    shown = app.main.dataframe[0].value
    measures = head_measures(minilm.trace(TEXT))
    assert len(shown) == 72
    for name in measures.values:
        assert shown[name].to_numpy() == pytest.approx(measures[name].ravel(), nan_ok=True)
    assert shown["name"].tolist()[:13] == [f"L0 H{head}" for head in range(12)] + ["L1 H0"]


def test_previous_and_next_have_the_right_direction() -> None:
    """Row i, column i - 1 is the previous token: L0 H2 attends to it, L1 H8 to the next one."""
    app = visit(PAGE, text=TEXT, all_heads="table")
    types = app.main.dataframe[0].value.set_index("name")["head_types"]
    assert types["L0 H2"] == "prev"
    assert types["L1 H8"] == "next"
    for name, head in (("previous", "L0 H2"), ("next", "L1 H8")):
        filtered = visit(PAGE, text=TEXT, all_heads="table", role=name).main.dataframe[0].value
        assert filtered["name"].tolist() == [head]
    assert "**Next-token head**" in written(visit(PAGE, all_heads="roles", text=TEXT, layer="1", head="8"))


def test_thresholds_are_in_the_link_and_change_the_types() -> None:
    app = visit(PAGE, text=TEXT, all_heads="table", role="previous", role_position="0.2", role_top="1")
    many = app.main.dataframe[0].value
    assert len(many) > 1
    assert (many["previous"] > 0.2).all()
    app.main.number_input(key="view:role_position").set_value(1.0).run()
    assert_well(app)
    assert app.query_params["role_position"] == "1"
    app.main.button[[button.label for button in app.main.button].index("Defaults")].click().run()
    assert app.main.dataframe[0].value["name"].tolist() == ["L0 H2"]
    assert "role_position" not in app.query_params


def test_a_short_sentence_has_broad_heads(minilm: encoder.TextEncoder) -> None:
    measures = head_measures(minilm.trace(TEXT))
    broad = (measures["relative_entropy"] > 0.8).nonzero()
    expected = [f"L{layer} H{head}" for layer, head in zip(*broad, strict=True)]
    assert expected
    assert visit(PAGE, text=TEXT, all_heads="table", role="broad").main.dataframe[0].value["name"].tolist() == expected


def test_a_type_that_no_head_has_is_a_sentence() -> None:
    app = visit(PAGE, text="one two", all_heads="table", role="broad", role_broad="1")
    assert_well(app)
    assert "“Normalised entropy” above 1" in sentences(app)
    assert not app.main.dataframe


def test_a_bad_threshold_in_a_link_gets_a_sentence() -> None:
    app = visit(role_top="7", all_heads="list")  # such a sentence is said once, on the page that the link opens
    assert_well(app)
    assert "between 0 and 1" in sentences(app).replace("\\", "")
    assert "roles, table" in sentences(app).replace("\\", "")


def test_words_only_changes_the_rows_that_count(minilm: encoder.TextEncoder) -> None:
    app = visit(PAGE, text=TEXT, all_heads="table", queries="content")
    measures = head_measures(minilm.trace(TEXT), queries="content")
    assert app.main.dataframe[0].value["cls"].to_numpy() == pytest.approx(measures["cls"].ravel())
    assert f"{measures.n_queries} queries" in written(app)


@pytest.mark.parametrize("model", ["minilm", "scratch"])
def test_each_group_of_columns_is_whole_on_a_projector(model: str) -> None:
    seen: list[str] = []
    for group in COLUMNS:
        shown = visit(PAGE, text="one two", model=model, all_heads="table", columns=group).dataframe[0].proto
        columns = json.loads(shown.columns)
        order = list(shown.column_order)
        # Next to the check boxes (34) and within the 630 pixels that the column has on a screen of 1280.
        assert 34 + sum(columns[name]["width"] for name in order) <= 630
        assert all("Source: " in columns[name]["help"] for name in order[2:])
        seen += order[2:]
        if group == "tokens":
            assert [columns[name]["label"] for name in ("cls", "sep")] == ["[CLS]", "[SEP]"]
    assert sorted(seen) == sorted(definition.name for definition in HEAD_MEASURES)


def test_the_page_opens_by_type_and_says_what_each_type_is_in_this_sentence(minilm: encoder.TextEncoder) -> None:
    measures = head_measures(minilm.trace(TEXT))
    app = visit(PAGE, all_heads="roles", text=TEXT)
    assert_well(app)
    assert not app.main.dataframe
    assert f"L0 H2 has the largest number, “On the previous token” {measures['previous'][0, 2]:.2f}" in written(app)


def test_a_selected_cell_is_answered_beside_the_map(minilm: encoder.TextEncoder) -> None:
    row = minilm.trace(TEXT).attention(3, 1)[7]
    app = visit(PAGE, all_heads="roles", text=TEXT, layer="3", head="1", i="7", j="2")
    assert_well(app)
    assert f"**{three_digits(float(row[2]))}** ({'1st' if row.argmax() == 2 else ''}" in written(app)


def test_badges_have_a_legend() -> None:
    app = visit(PAGE, text=TEXT, all_heads="table")
    badges = set(", ".join(app.main.dataframe[0].value["head_types"]).split(", ")) - {""}
    assert badges
    assert all(f"**{badge}**" in written(app) for badge in badges)


@pytest.mark.parametrize(
    ("model", "missing"),
    [("digits-pre", {"sep", "punctuation", "same_token", "own_word"}),
     ("spoken-digits", {"punctuation", "same_token", "own_word"}), ("minilm", set())],
)  # fmt: skip
def test_measures_that_mean_something_for_the_input(model: str, missing: set[str]) -> None:
    app = visit("heads", model=model, measure="punctuation", role="same", head="0")
    assert_well(app)
    (chosen,) = [one for one in app.main.selectbox if one.key == "view:measure"]
    every = {one.name: one.title for one in HEAD_MEASURES}
    assert {title for name, title in every.items() if name in missing}.isdisjoint(chosen.options)
    assert len(chosen.options) == 1 + len(every) - len(missing)
    assert chosen.value == ("" if missing else "punctuation")
    assert_well(visit(PAGE, all_heads="table", columns="tokens", model=model, role="sep", head="0"))


def test_a_part_that_the_input_does_not_have_gives_the_small_maps() -> None:
    app = visit("heads", all_heads="corpus", model="digits-pre")
    assert_well(app)
    assert [title.value for title in app.title] == ["Heads"]
    assert app.selectbox(key="view:all_heads").value == ""
    app = visit("heads", all_heads="table", model="digits-pre")
    assert app.main.dataframe
    app.selectbox(key="view:all_heads").set_value("").run()
    assert_well(app)
    assert not app.main.dataframe
    assert [title.value for title in app.title] == ["Heads"]
