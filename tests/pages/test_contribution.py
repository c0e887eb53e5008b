"""Beyond attention weights under AppTest: every part with odd texts, links, and the numbers in the sentences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

import encoder
from encoder import classify, similarity
from encoder.classify.class_heads import linear_head
from encoder.figures.numbers import in_words, percentage, three_digits
from encoder.gradients import output_parts, share_by_token
from encoder.measure import norm_weighting
from encoder.measure.attention_rollout import rollouts
from encoder.measure.deletion import deletion_test
from encoder.measure.qk_space import qk_space
from encoder.model.classifier import ClassifierConfig
from pages.contribution.deletion import SEEDS
from pages.core.widgets.answer import ordinal
from pages.core.words.formulas import number
from pages.state.former import current, is_former
from tests.pages.apps import assert_well, charts, press, sentences, visit

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

PAGE, TEXT = "contribution", "The keys to the old wooden cabinet are on the table."
PARTS = ["whole", "moves", "rollout", "plane", "deletion", "class"]


@pytest.fixture(scope="module")
def minilm() -> encoder.TextEncoder:
    return encoder.load("minilm", device="cpu")


def written(app: AppTest) -> str:
    """The page's running text, without Markdown's escapes."""
    texts = [element.value for kind in ("markdown", "caption", "header", "subheader") for element in app.main.get(kind)]
    return "\n".join(texts).replace("\\", "")


@pytest.mark.sample(3, "opens another part with four texts")
@pytest.mark.parametrize("part", PARTS)
def test_every_part_opens_with_every_text(part: str) -> None:
    app = visit(PAGE, beyond=part, text="one two three", layer="3", head="7", i="2", j="1")
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
        assert_well(visit(PAGE, beyond=part, model="scratch", norm=norm, positions=positions, text="a b a", **sizes))


@pytest.mark.parametrize("part", PARTS)
def test_a_long_text(part: str) -> None:
    app = visit(PAGE, beyond=part, text="attention is all you need " * 60, i="270", moved="length", range="head")
    assert_well(app)
    assert ("deletion:run" in [button.key for button in app.main.button]) == (part == "deletion")


def test_a_second_sentence() -> None:
    for part in PARTS:
        assert_well(visit(PAGE, beyond=part, text="one two", pair="three four"))


def test_the_page_opens_on_the_whole_vector_and_a_head_leads_to_its_share(minilm: encoder.TextEncoder) -> None:
    found = output_parts(minilm.trace(TEXT), 9)
    assert "beyond" not in visit(PAGE, text=TEXT).query_params
    app = visit(PAGE, text=TEXT, i="9", layer="3", beyond="whole")
    assert app.query_params["beyond"] == "whole"
    shown = written(app)
    for one in found.largest(3):
        assert f"{one.name} **{100 * one.share:.1f}%**" in shown
    bars = [trace for trace in charts(app)[0] if trace["type"] == "bar"]
    assert sum(len(trace["customdata"]) for trace in bars) == len(found.parts)
    labels = next(trace["text"] for trace in charts(app)[0] if trace.get("mode") == "text")
    rows = {row: sum(one.share for one in found.parts if one.row == row) for row in [one.row for one in found.parts]}
    assert [label.strip().replace("−", "-") for label in labels] == [f"{100 * share:.1f}%" for share in rows.values()]
    assert f"embedding {labels[0].strip()}," in shown
    head = max((one for one in found.parts if one.kind == "head"), key=lambda one: one.share)
    app.button(key="output-parts:head").click().run()
    assert_well(app)
    opened = {name: app.query_params[name] for name in ("beyond", "share_of", "layer", "head", "i")}
    place = {"layer": str(head.layer), "head": str(head.head), "i": "9"}
    assert opened == {"beyond": "whole", "share_of": head.name, **place}
    tokens = share_by_token(minilm.trace(TEXT), 9, head.layer, head.head).numpy()
    assert sum(tokens) == pytest.approx(head.share, abs=1e-6)
    assert percentage(head.share) in written(app)
    assert f" **{percentage(max(tokens, key=abs))}**" in written(app)
    assert charts(app)[1][0]["customdata"] == [percentage(value) for value in tokens]
    app.button(key="clear-selection").click().run()
    assert "share_of" not in app.query_params


def test_a_part_that_is_no_head_has_a_share_only(minilm: encoder.TextEncoder) -> None:
    parts = output_parts(minilm.trace(TEXT), 9).parts
    part = next(one for one in parts if one.name == "L0 biases")
    shown = written(visit(PAGE, text=TEXT, i="9", beyond="whole", share_of=part.name))
    rank = 1 + sum(one.share > part.share for one in parts)
    assert f"**{percentage(part.share)}**, the {ordinal(rank)} largest of {len(parts)} parts" in shown
    assert "share_of" in visit(PAGE, text=TEXT, beyond="whole", share_of="L99 H0").query_params


def test_an_old_address_that_names_a_head_opens_its_share() -> None:
    for values in ({"layer": "1", "head": "8"}, {"head": "3"}, {"moved": "length"}):
        assert current({"page": PAGE, **values})["beyond"] == "moves"
        assert not is_former(PAGE, current({"page": PAGE, **values}))
    for values in ({}, {"text": "a"}, {"head": "3", "beyond": "whole"}):
        assert not is_former(PAGE, values)
    assert visit(PAGE, text="one two", layer="1", head="8").query_params["beyond"] == "moves"


def test_the_opening_token_against_an_average_word(minilm: encoder.TextEncoder) -> None:
    trace = minilm.trace(TEXT)
    shown = written(visit(PAGE, text=TEXT, layer="2"))
    every = [norm_weighting.layer_shares(trace, layer) for layer in range(6)]
    attention = [one.on_opening()[0] for one in every]
    peak = max(range(6), key=attention.__getitem__)
    assert f"layer {peak}, {attention[peak]:.1%}" in shown
    sinks = [
        str(layer)
        for layer, one in enumerate(every)
        if one.on_opening()[0] > 3 * one.on_average_word()[0] and one.on_opening()[1] < one.on_average_word()[1]
    ]
    assert f": {', '.join(sinks)}." in shown


def test_rollout_follows_the_layer(minilm: encoder.TextEncoder) -> None:
    made = rollouts(minilm.trace(TEXT))
    app = visit(PAGE, text=TEXT, beyond="rollout", layer="1", i="3")
    assert f"itself {float(made[1, 3, 3]):.1%}" in written(app)
    next(one for one in app.number_input if one.label == "Layer").set_value(5).run()
    assert_well(app)
    assert app.query_params["layer"] == "5"
    others = [float(share) for place, share in enumerate(made[5, 3]) if place != 3]
    assert re.search(rf"largest of the others: .*? {max(others):.1%}", written(app))


def test_the_next_page_opens_the_head_that_the_page_names(minilm: encoder.TextEncoder) -> None:
    parts = output_parts(minilm.trace(TEXT), 5).parts
    head = max((one for one in parts if one.kind == "head"), key=lambda one: one.share)
    app = visit(PAGE, text=TEXT, i="5")
    press(app, "Next: What changes if you switch this head off?")
    assert_well(app)
    assert f"without {head.name} it " in written(app)


def test_the_plane_names_the_strongest_key(minilm: encoder.TextEncoder) -> None:
    space = qk_space(minilm.trace(TEXT), 0, 2)
    hits, of = space.nearest_is_strongest()
    shown = written(visit(PAGE, text=TEXT, beyond="plane", layer="0", head="2", i="5"))
    assert f"{hits} of {of}" in shown
    assert f"**the** (4): {in_words(space.weights[5])}" in shown


@pytest.mark.slow("runs a deletion test")
def test_the_deletion_test_states_its_numbers(minilm: encoder.TextEncoder) -> None:
    short = "The cat sat on the mat"
    found = deletion_test(minilm, minilm.trace(short), 3, 4, seeds=SEEDS, scope="head", candidates="all")
    shown = written(visit(PAGE, text=short, beyond="deletion", layer="3", head="4", hide="head", among="all"))
    assert f"**{three_digits(float(found.by_attention[0]))}**" in shown
    assert three_digits(float(found.random[:, 0].mean())) in shown
    above, inside, below = found.against_random()
    assert f"for **{above} of {len(found.counts)} " in shown
    assert f"for {inside}," in shown
    assert f"for {below}." in shown
    assert "2019" in shown, "the debate is cited"


def test_a_class_is_split_among_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(tmp_path))
    torch.manual_seed(0)
    twin = encoder.load("twin-post", device="cpu")
    for kind, position in (("sequence", None), ("token", 2)):
        head = linear_head(
            torch.randn(3, twin.config.d_model), torch.zeros(3), ClassifierConfig(kind, ("good", "B-bad", "O"))
        )
        model = classify.with_head(twin, head)
        encoder.save(model, tmp_path / kind)
        trace = model.trace(TEXT)
        link = {"model": "other", "source": kind, "text": TEXT, "outcome_token": "2", "outcome_class": "good"}
        app = visit(PAGE, beyond="class", **link)
        assert_well(app)
        found = similarity.attribute_class(model, trace.source, "good", position)
        assert number(float(found.values.max())) in written(app)
        assert f"**{number(float(found.values.sum()), 3)}**" in written(app)


def test_nothing_to_hide_is_a_sentence() -> None:
    app = visit(PAGE, text="", beyond="deletion", among="words")
    assert_well(app)
    assert "token to hide" in sentences(app)


def test_a_value_that_two_pages_have_a_widget_for_survives_the_switch() -> None:
    app = visit(text="a b", role="previous", scale="log", range="head")
    for page in ("contribution", "norms", "heads"):
        app.switch_page(f"pages/{page}/page.py").run()
        assert_well(app)
        assert (app.query_params["role"], app.query_params["scale"], app.query_params["range"]) == (
            "previous",
            "log",
            "head",
        ), page


@pytest.mark.parametrize(
    ("page", "query", "said"),
    [
        ("heads", {"layer": "0", "head": "2", "i": "1", "j": "5"}, ["**the** (1)", "**the** (5)"]),
        ("heads", {"layer": "0", "head": "2", "i": "2", "j": "1"}, ["**cat** ", "**the** (1)"]),
        ("heads", {"view": "vectors", "layer": "0", "head": "2", "i": "2", "j": "5"}, ["**the** (5)", "the (1) "]),
        (PAGE, {"beyond": "rollout", "layer": "0", "i": "6"}, ["Rollout of **mat** after"]),
        (PAGE, {"beyond": "deletion", "layer": "0", "head": "2"}, ["“the” (5)"]),
    ],
)
def test_repeated_words_are_named_with_their_position(page: str, query: dict[str, str], said: list[str]) -> None:
    shown = written(visit(page, text="the cat sat on the mat", **query))
    assert all(part in shown for part in said)
