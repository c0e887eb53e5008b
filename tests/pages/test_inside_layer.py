"""The pages under “Inside the layer” under AppTest: links, page switches, odd texts, long texts."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages.core.view import token_rows
from pages.core.words import formulas
from tests.pages.apps import assert_well, sentences, visit, written

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

PAGES = ("positions", "norms")
TITLES = {
    "positions": "Positions",
    "norms": "Norms",
}


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_and_keeps_the_view(page: str) -> None:
    app = visit(page, text="one two three", layer="3", head="7", i="2", j="1")
    assert_well(app)
    assert app.title[0].value == TITLES[page]
    assert app.text_area(key="view:text").value == "one two three"
    assert app.query_params["layer"] == "3"
    assert app.query_params["i"] == "2"


@pytest.mark.parametrize("page", PAGES)
def test_every_page_ends_with_the_next_page(page: str) -> None:
    app = visit(page, model="twin-pre", text="The [MASK] sat.")
    assert_well(app)
    *_, last, panel = app.main  # the panel of the glossary belongs to the frame
    assert last.type in ("page_link", "button")
    assert panel.type == "expander"


def test_switching_between_the_pages() -> None:
    app = visit(text="a b a", i="1")
    for page in (*PAGES, *PAGES[::-1], "heads"):
        app.switch_page(f"pages/{page}/page.py").run()
        assert_well(app)
        assert app.query_params["i"] == "1"


@pytest.mark.slow("opens two pages with many texts")
@pytest.mark.parametrize("page", PAGES)
def test_any_text(page: str) -> None:
    app = visit(page)
    for text in ("x", "", "the the the", "القطة جلست", "**b** $x$ `c` :smile: [a](b) #1", "😀"):
        app.text_area(key="view:text").set_value(text).run()
        assert_well(app)
        assert app.title[0].value == TITLES[page], text


LONG = "attention is all you need " * 60  # 302 tokens


def parts(app: AppTest) -> dict[str, int]:
    """The sliders that choose which part of a long text is drawn: label -> first token."""
    return {slider.label: slider.value for slider in app.select_slider if slider.label.lower().endswith("tokens")}


def test_a_long_text_is_drawn_in_parts() -> None:
    app = visit("norms", text=LONG, i="270")
    assert_well(app)
    assert parts(app) == {"Tokens": 46}, "the part of 256 tokens with the selected token"
    app.switch_page("pages/positions/page.py").run()
    assert_well(app)
    # Positions are drawn up to 512 at once; the reversed sentence has one bar per token.
    assert parts(app) == {"Tokens": 46}


def test_the_parts_of_queries_and_keys_hold_the_selected_pair() -> None:
    app = visit("heads", view="vectors", text=LONG, i="5", j="300")
    assert_well(app)
    assert parts(app) == {"Query tokens": 0, "Key tokens": 46}
    assert "0 to 255 of 302" in written(app)
    assert "46 to 301 of 302" in written(app)
    # Away from the selected token the page names it; another token brings its own part.
    app.select_slider[1].set_value(0).run()
    assert "token 300" in written(app).split("0 to 255 of 302", 1)[1]
    # Without a selection, the pair that the page shows is drawn.
    app = visit("heads", view="vectors", text=LONG, layer="0", head="2")
    assert parts(app)["Query tokens"] == 0


@pytest.mark.parametrize(("n_tokens", "starts"), [(257, [0, 1]), (512, [0, 256]), (513, [0, 256, 257]), (300, [0, 44])])
def test_parts_of_a_long_text_are_full(n_tokens: int, starts: list[int]) -> None:
    assert token_rows.part_starts(n_tokens) == starts


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    ("positions", "norm"), [("learned", "post"), ("sinusoidal", "pre"), ("rotary", "pre"), ("none", "post")]
)
def test_every_kind_of_encoder(page: str, positions: str, norm: str) -> None:
    app = visit(page, model="scratch", norm=norm, positions=positions, layers="1", heads="2", width="12", ffn="20")
    assert_well(app)


@pytest.mark.parametrize("page", PAGES)
def test_a_model_that_cannot_be_built_is_a_sentence(page: str) -> None:
    app = visit(page, model="scratch", width="65")
    assert not app.exception
    assert "65" in sentences(app)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.184, "0.184"),
        (-2.5, "−2.500"),
        (0.0, "0.000"),
        (0.0004, "4.0 × 10⁻⁴"),
        (-2.67e-5, "−2.7 × 10⁻⁵"),
        (1, "1.000"),
    ],
)
def test_numbers_in_sentences(value: float, said: str) -> None:
    assert formulas.number(value) == said


def test_right_to_left_tokens_are_isolated_in_sentences() -> None:
    shown = visit("heads", view="vectors", text="שלום עולם", layer="0", head="2")
    assert written(shown).count("\u2068") == written(shown).count("\u2069") > 0
