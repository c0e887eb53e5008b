"""Figures as Plotly draws them, in a notebook or an exported page: labels that fit, every token named on hover."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
import plotly.offline
import pytest

from encoder import figures

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

LABELS = [f"w{number}" for number in range(150)]


@pytest.fixture(scope="module")
def sheet(browser) -> Iterator[tuple[Page, list[str]]]:
    """A page with plotly.js, which takes seconds to load, and what the page complains of."""
    complaints: list[str] = []
    page = browser.new_page(viewport={"width": 840, "height": 640})
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_content("<body></body>")
    page.add_script_tag(content=plotly.offline.get_plotlyjs())
    yield page, complaints
    page.close()


@pytest.fixture
def draw(sheet: tuple[Page, list[str]]) -> Iterator[Callable[[go.Figure], Page]]:
    """Draw a figure, 800 by 600, in place of the one before; the page must stay quiet."""
    page, complaints = sheet

    def on_page(figure: go.Figure) -> Page:
        page.mouse.move(0, 0)
        page.evaluate(
            """figure => {
              document.body.innerHTML = "<div id='plot' style='width:800px;height:600px'></div>";
              return Plotly.newPlot("plot", figure.data, figure.layout).then(() => null);
            }""",
            json.loads(figure.to_json()),
        )
        return page

    complaints.clear()
    yield on_page
    assert not complaints


def hover(page, row: float, column: float) -> str:
    """The label that appears over the cell at y = row, x = column."""
    place = page.evaluate(
        """([row, column]) => {
            const {xaxis, yaxis} = plot._fullLayout, box = plot.getBoundingClientRect();
            return [box.x + xaxis._offset + xaxis.l2p(column), box.y + yaxis._offset + yaxis.l2p(row)];
        }""",
        [row, column],
    )
    page.mouse.move(*place)
    page.mouse.move(place[0] + 1, place[1])
    page.wait_for_selector(".hoverlayer text")
    return page.locator(".hoverlayer text").first.text_content()


def ticks(page, axis: str) -> list[str]:
    return page.locator(f"g.{axis}tick text").all_text_contents()


def test_a_cell_says_what_it_is_where_no_tick_is_drawn(draw) -> None:
    weights = np.arange(150 * 150, dtype=np.float32).reshape(150, 150) / 150**2
    page = draw(figures.attention_heatmap(weights, LABELS, selected=(31, 77)))
    for row, column in ((0, 0), (31, 77), (149, 1), (50, 149)):
        said = hover(page, row, column)
        assert said.startswith(f"w{row} attends to w{column}: ")
        assert float(said.rsplit(": ", 1)[1]) == pytest.approx(weights[row, column], rel=6e-3, abs=1e-9)
        page.mouse.move(0, 0)


@pytest.mark.slow("another detail of the same drawing")
def test_labels_are_thinned_evenly_and_the_selected_ones_are_there(draw) -> None:
    page = draw(figures.attention_heatmap(np.eye(150), LABELS, selected=(31, 77)))
    for axis, selected in (("x", "w77"), ("y", "w31")):
        shown = ticks(page, axis)
        numbers = [int(label[1:]) for label in shown]
        assert 10 <= len(shown) <= 60
        assert len(set(np.diff(numbers))) == 1, "evenly"
        assert selected in page.locator(".annotation text").all_text_contents()


@pytest.mark.slow("another detail of the same drawing")
def test_zooming_in_names_every_token(draw) -> None:
    page = draw(figures.attention_heatmap(np.eye(150), LABELS))
    page.evaluate("Plotly.relayout('plot', {'xaxis.range': [39.5, 51.5], 'yaxis.range': [51.5, 39.5]})")
    assert ticks(page, "x") == LABELS[40:52]
    assert sorted(ticks(page, "y")) == LABELS[40:52]


@pytest.mark.slow("another detail of the same drawing")
def test_repeated_words_are_columns_of_their_own(draw) -> None:
    page = draw(figures.attention_heatmap(np.eye(3), ["the", "cat", "the"]))
    assert ticks(page, "x") == ["the (0)", "cat", "the (2)"]
    assert hover(page, 2, 0) == "the (2) attends to the (0): 0.00"


@pytest.mark.slow("another detail of the same drawing")
def test_a_window_of_a_text_lies_at_its_place(draw) -> None:
    weights = np.linspace(0, 1, 100).reshape(10, 10)
    page = draw(figures.attention_heatmap(weights, LABELS, row_offset=100, column_offset=20))
    assert ticks(page, "x") == LABELS[20:30]
    assert hover(page, 103, 24).startswith("w103 attends to w24: 0.343")


@pytest.mark.slow("another detail of the same drawing")
@pytest.mark.parametrize("count", [10, 90])
def test_a_part_of_a_long_text_names_its_tokens(draw, count: int) -> None:
    values = np.arange(count * 3, dtype=np.float32).reshape(count, 3)
    page = draw(figures.vectors_heatmap(values, LABELS, "q", first=60, selected=65))
    assert hover(page, 67, 2) == "w67, component 2: 23.000"
    shown = ticks(page, "y")
    assert sorted(shown, key=lambda label: int(label[1:])) == LABELS[60 : 60 + count : 1 if count == 10 else 5]
    assert "w65" in page.locator(".annotation text").all_text_contents()


def test_markup_in_tokens_is_text(draw) -> None:
    page = draw(figures.attention_heatmap(np.eye(2), ["<s>", "<b>x</b>"]))
    assert ticks(page, "x") == ["<s>", "<b>x</b>"]
    assert hover(page, 0, 1) == "<s> attends to <b>x</b>: 0.00"


@pytest.mark.slow("another detail of the same drawing")
def test_log_and_linear_maps_have_one_colour_bar_each(draw) -> None:
    for log in (False, True):
        page = draw(figures.attention_heatmap(np.eye(4), LABELS, log=log))
        assert page.locator(".colorbar").count() == 1


@pytest.mark.slow("another detail of the same drawing")
def test_the_titles_of_a_map_keep_clear_of_its_labels(draw) -> None:
    # An even number of tokens: no label lies in the middle, where plotly.js itself would push the title away from it.
    for count, log in ((4, False), (40, True)):
        page = draw(figures.attention_heatmap(np.eye(count), LABELS, log=log))
        below, beside = page.evaluate(
            """() => {
                const box = (name) => [...plot.querySelectorAll(name)].map((part) => part.getBoundingClientRect());
                return [
                    box(".xtitle")[0].top - Math.max(...box(".xtick").map((label) => label.bottom)),
                    Math.min(...box(".ytick").map((label) => label.left)) - box(".ytitle")[0].right,
                ];
            }"""
        )
        assert 4 <= below <= 14
        assert 4 <= beside <= 20


@pytest.mark.slow("another detail of the same drawing")
def test_every_bar_has_its_component(draw) -> None:
    page = draw(figures.gain_bias([2.0, 0.5, 1.5, 0.25], [1.0, -1.0, 0.0, 2.0]))
    assert hover(page, 0.6, 1) == "component 1: 0.500"
    assert page.locator("g.bars path").count() == 8
