"""Find heads and Beyond the weight under AppTest: links, thresholds, the numbers in the sentences, odd texts."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

import encoder
from encoder.figures.numbers import three_digits
from encoder.measure import norm_weighted
from encoder.measure.deletion import deletion_test
from encoder.measure.heads import head_measures
from encoder.measure.qk_space import qk_space
from encoder.measure.rollout import rollouts
from encoder.measure.similarity import head_similarity
from pages.beyond_weights.deletion import SEEDS
from tests.pages.apps import assert_well, sentences, visit

TEXT = "The keys to the old wooden cabinet are on the table."
FIND, BEYOND = "head_types", "beyond_weights"
VIEWS = [
    (FIND, {"find": "table"}),
    (FIND, {"find": "roles"}),
    (FIND, {"find": "map"}),
    (BEYOND, {"beyond": "moves"}),
    (BEYOND, {"beyond": "rollout"}),
    (BEYOND, {"beyond": "plane"}),
    (BEYOND, {"beyond": "deletion"}),
]


@pytest.fixture(scope="module")
def minilm() -> encoder.TextEncoder:
    return encoder.load("minilm", device="cpu")


def written(app: AppTest) -> str:
    """The page's running text, without Markdown's escapes."""
    texts = [element.value for kind in ("markdown", "caption", "subheader") for element in app.main.get(kind)]
    return "\n".join(texts).replace("\\", "")


@pytest.mark.parametrize(("page", "part"), VIEWS)
def test_every_part_opens_with_every_text(page: str, part: dict[str, str]) -> None:
    app = visit(page, **part, text="one two three", layer="3", head="7", i="2", j="1")
    assert_well(app)
    assert app.query_params["i"] == "2"
    for text in ("", "the the **b** $x$ `c` :smile: [a](b) שלום"):
        app.sidebar.text_area(key="view:text").set_value(text).run()
        assert_well(app)


@pytest.mark.parametrize(
    ("positions", "norm", "extra"),
    [("rotary", "pre", {}), ("none", "post", {"layers": "1", "heads": "1", "width": "4"})],
)
def test_every_part_of_every_kind_of_encoder(positions: str, norm: str, extra: dict[str, str]) -> None:
    sizes = {"layers": "2", "heads": "2", "width": "12", "ffn": "20", "head": "0"} | extra
    for page, part in VIEWS:
        app = visit(page, **part, model="scratch", norm=norm, positions=positions, text="a b a", **sizes)
        assert_well(app)


@pytest.mark.parametrize(("page", "part"), [view for view in VIEWS if view[1] != {"find": "map"}])
def test_a_long_text(page: str, part: dict[str, str]) -> None:
    app = visit(page, **part, text="attention is all you need " * 60, i="270")
    assert_well(app)
    if part == {"beyond": "deletion"}:
        assert "Run the test" in [button.label for button in app.main.button]


def test_a_second_sentence() -> None:
    for page, part in VIEWS:
        assert_well(visit(page, **part, text="one two", pair="three four"))


# --- Find heads -----------------------------------------------------------------------------------------------------


def test_the_table_holds_every_measure_of_every_head(minilm: encoder.TextEncoder) -> None:
    app = visit(FIND, text=TEXT)
    shown = app.main.dataframe[0].value
    measures = head_measures(minilm.trace(TEXT))
    assert len(shown) == 72
    for name in measures.values:
        assert shown[name].to_numpy() == pytest.approx(measures[name].ravel(), nan_ok=True)
    assert shown["name"].tolist()[:13] == [f"L0 H{head}" for head in range(12)] + ["L1 H0"]


def test_previous_and_next_have_the_right_direction() -> None:
    """Row i, column i - 1 is the previous token: L0 H2 looks there, L1 H8 at the next one."""
    app = visit(FIND, text=TEXT)
    roles = app.main.dataframe[0].value.set_index("name")["roles"]
    assert roles["L0 H2"] == "prev"
    assert roles["L1 H8"] == "next"
    for role, head in (("previous", "L0 H2"), ("next", "L1 H8")):
        filtered = visit(FIND, text=TEXT, role=role).main.dataframe[0].value
        assert filtered["name"].tolist() == [head]
    app = visit(FIND, text=TEXT, layer="1", head="8")
    assert "**Next-token head**: Each token looks at the one after it." in written(app)


def test_thresholds_are_in_the_link_and_move_the_roles() -> None:
    app = visit(FIND, text=TEXT, role="previous", role_position="0.2", role_top="1")
    many = app.main.dataframe[0].value
    assert len(many) > 1
    assert (many["previous"] > 0.2).all()
    app.main.number_input(key="view:role_position").set_value(1.0).run()
    assert_well(app)
    assert app.query_params["role_position"] == "1"
    app.main.button[[button.label for button in app.main.button].index("Defaults")].click().run()
    assert app.main.dataframe[0].value["name"].tolist() == ["L0 H2"]
    assert "role_position" not in app.query_params


def test_a_role_that_nobody_has_is_a_sentence() -> None:
    app = visit(FIND, text="one two", role="broad")
    assert_well(app)
    assert "No head is a broad head on this sentence: none has “Entropy” above 3.8" in sentences(app)


def test_a_bad_threshold_in_a_link_gets_a_sentence() -> None:
    app = visit(role_top="7", find="list")  # such a sentence is said once, on the page that the link opens
    assert_well(app)
    assert "it must lie between 0 and 1" in sentences(app).replace("\\", "")
    assert "choose one of table, roles, map" in sentences(app).replace("\\", "")


def test_words_only_changes_the_rows_that_count(minilm: encoder.TextEncoder) -> None:
    app = visit(FIND, text=TEXT, queries="content")
    measures = head_measures(minilm.trace(TEXT), queries="content")
    assert app.main.dataframe[0].value["cls"].to_numpy() == pytest.approx(measures["cls"].ravel())
    assert f"over {measures.n_queries} queries" in written(app)


def test_the_map_names_the_heads_most_alike(minilm: encoder.TextEncoder) -> None:
    app = visit(FIND, text=TEXT, find="map", layer="1", head="8")
    (layer, head, value), *_ = head_similarity(minilm.trace(TEXT)).nearest(1, 8)
    assert f"L1 H8 is most like L{layer} H{head} ({value:.3f})" in written(app)


# --- Beyond the weight ----------------------------------------------------------------------------------------------


def test_what_the_opening_token_takes_and_brings(minilm: encoder.TextEncoder) -> None:
    trace = minilm.trace(TEXT)
    shown = written(visit(BEYOND, text=TEXT, layer="2"))
    shares = norm_weighted.layer_shares(trace, 2)
    (takes, brings), (_, word) = shares.on_opening(), shares.on_average_word()
    assert f"takes **{takes:.1%}** of the attention and brings **{brings:.1%}** of what is moved" in shown
    assert "**less than one average word**" in shown
    assert f"({brings / word:.2f} times as much)" in shown
    every = [norm_weighted.layer_shares(trace, layer).on_opening()[0] for layer in range(6)]
    peak = max(range(6), key=every.__getitem__)
    assert f"[CLS] takes most in layer {peak}: {every[peak]:.1%} of the attention." in shown


def test_what_a_token_gets(minilm: encoder.TextEncoder) -> None:
    trace = minilm.trace(TEXT)
    app = visit(BEYOND, text=TEXT, layer="3", head="4", i="2")
    table = app.main.dataframe[0].value.set_index("position")
    moved, weights = norm_weighted.moved_shares(trace, 3, 4)[2], trace.attention(3, 4)[2]
    best = int(moved.argmax())
    assert table.index[0] == best
    assert table["moved"][best] == pytest.approx(float(moved[best]), rel=1e-5)
    assert table["attention"][int(weights.argmax())] == pytest.approx(float(weights.max()), rel=1e-5)


def test_rollout_follows_the_layer(minilm: encoder.TextEncoder) -> None:
    made = rollouts(minilm.trace(TEXT))
    app = visit(BEYOND, text=TEXT, beyond="rollout", layer="1", i="3")
    table = app.main.dataframe[0].value.set_index("position")["share"]
    assert table[3] == pytest.approx(float(made[1, 3, 3]), rel=1e-4)
    app.main.slider[0].set_value(5).run()
    assert_well(app)
    assert app.query_params["layer"] == "5"
    table = app.main.dataframe[0].value.set_index("position")["share"]
    assert table.iloc[0] == pytest.approx(float(made[5, 3].max()), rel=1e-4)


def test_the_plane_says_who_is_attended_to(minilm: encoder.TextEncoder) -> None:
    space = qk_space(minilm.trace(TEXT), 0, 2)
    hits, of = space.nearest_is_strongest()
    shown = written(visit(BEYOND, text=TEXT, beyond="plane", layer="0", head="2", i="5"))
    assert f"For {hits} of {of} queries the nearest key" in shown
    assert f"**old** (5) attends most to **the** (4), with {space.weights[5]:.3f}" in shown


def test_the_deletion_test_states_its_numbers(minilm: encoder.TextEncoder) -> None:
    short = "The cat sat on the mat"
    found = deletion_test(minilm, minilm.trace(short), 3, 4, seeds=SEEDS, scope="head", candidates="all")
    shown = written(visit(BEYOND, text=short, beyond="deletion", layer="3", head="4", hide="head", among="all"))
    assert f"changes the embedding by **{three_digits(float(found.by_attention[0]))}**" in shown
    assert f"one random token by {three_digits(float(found.random[:, 0].mean()))} on average" in shown
    more = int((found.by_attention > found.random.mean(0)).sum())
    assert f"for {more} of {len(found.counts)} values" in shown


def test_nothing_to_hide_is_a_sentence() -> None:
    app = visit(BEYOND, text="", beyond="deletion", among="words")
    assert_well(app)
    assert "There is no token to hide" in sentences(app)


def test_a_value_that_two_pages_have_a_widget_for_survives_the_switch() -> None:
    app = visit(text="a b", role="previous", scale="log", range="head")
    for page in ("head_types", "beyond_weights", "layernorm", "heads"):
        app.switch_page(f"pages/{page}/page.py").run()
        assert_well(app)
        assert (app.query_params["role"], app.query_params["scale"], app.query_params["range"]) == (
            "previous", "log", "head",
        ), page  # fmt: skip


@pytest.mark.parametrize(
    ("page", "query", "said"),
    [
        ("heads", {"layer": "0", "head": "2", "i": "1", "j": "5"}, "**the** (1) attends to **the** (5) with"),
        ("heads", {"layer": "0", "head": "2", "i": "2", "j": "1"}, "**cat** attends to **the** (1) with"),
        ("qkv", {"layer": "0", "head": "2", "i": "2", "j": "5"}, "largest: “the” (1)"),
        (BEYOND, {"beyond": "rollout", "layer": "0", "i": "6"}, "**mat** (token 6)"),
        (BEYOND, {"beyond": "deletion", "layer": "0", "head": "2"}, "“the” (5)"),
    ],
)
def test_words_that_stand_twice_are_named_with_their_position(page: str, query: dict[str, str], said: str) -> None:
    assert said in written(visit(page, text="the cat sat on the mat", **query))


@pytest.mark.parametrize(("model", "special"), [("minilm", ["[CLS]", "[SEP]"]), ("scratch", ["[CLS]", "[SEP]"])])
def test_the_main_measures_stand_first_in_the_table(model: str, special: list[str]) -> None:
    shown = visit(FIND, text="one two", model=model).dataframe[0].proto
    columns = json.loads(shown.columns)
    order = list(shown.column_order)
    assert order[2:9] == ["entropy", "distance", "self", "previous", "next", "cls", "sep"]
    assert [columns[name]["label"] for name in order[7:9]] == special
    # Beside the check boxes (34) and within the 630 pixels that the column has on a screen of 1280.
    assert 34 + sum(columns[name]["width"] for name in order[:9]) <= 630
    assert all("Source: " in columns[name]["help"] for name in order[2:])
