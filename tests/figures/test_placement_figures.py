"""Figures of placements, words, training and gradients: their numbers where they belong, one colour a placement."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from encoder.figures import gradients, placements, token_bars
from tests.conftest import ROOT
from tests.run_javascript import evaluated
from tests.test_theme import contrast

COLOURS = placements.PLACEMENT_COLOURS


def named(figure: go.Figure, name: str) -> go.Scatter:
    (found,) = [trace for trace in figure.data if trace.name == name]
    return found


def gradient_frame(depths: tuple[int, ...] = (2, 4), seeds: tuple[int, ...] = (0, 1)) -> pd.DataFrame:
    rows = [
        {
            "placement": placement,
            "depth": depth,
            "seed": seed,
            "layer": layer,
            "gradient_norm": (1 + seed) * (depth**-0.5 if placement == "pre" else 1.0),
            "squared_norm": 1.5 + (layer if placement == "pre" else 0),
            "lower": 1 + layer / 2,
            "upper": 2 + layer,
        }
        for placement in COLOURS
        for depth in depths
        for seed in seeds
        for layer in range(depth)
    ]
    return pd.DataFrame(rows)


def test_two_colours_that_are_seen_on_both_grounds_and_belong_to_no_vector() -> None:
    for colour in COLOURS.values():
        assert contrast(colour, "#ffffff") >= 3
        assert contrast(colour, "#121217") >= 3
    from encoder.figures.colours import KEY, QUERY, VALUE

    assert not set(COLOURS.values()) & {QUERY, KEY, VALUE}


@pytest.mark.parametrize("n_layers", [1, 2, 24])
def test_layer_curves(n_layers: int) -> None:
    values = np.linspace(1, 2, n_layers)
    figure = placements.layer_curves(
        {"pre": {"attention": values, "FFN": values * 2}, "post": {"attention": values * 3}}, "size", low=0.0
    )
    line = named(figure, "pre-norm · FFN")
    assert line.y == pytest.approx(values * 2)
    assert line.line.color == COLOURS["pre"]
    assert line.line.dash != named(figure, "pre-norm · attention").line.dash
    assert named(figure, "post-norm · attention").line.color == COLOURS["post"]
    assert figure.layout.yaxis.range[0] == 0.0
    assert len(figure.layout.xaxis.tickvals) <= 16
    below = placements.layer_curves({"pre": {"": values - 3}}, "cosine", low=0.0)
    assert below.layout.yaxis.range[0] <= -2  # nothing is cut off


def test_recorded_curves_bridge_gaps() -> None:
    figure = placements.recorded_curves({"a run": ("post", "dash", [0, 25, 50], [3.0, np.nan, 2.0])}, "loss", log=True)
    assert list(figure.data[0].x) == [0, 50]
    assert (figure.data[0].line.color, figure.data[0].line.dash) == (COLOURS["post"], "dash")
    assert figure.layout.yaxis.type == "log"


def test_gradients_over_depth() -> None:
    theory = {"pre": ((2, 4), (1.0, 0.7))}
    figure = gradients.last_layer_gradients(gradient_frame(), theory)
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert named(figure, "pre-norm").y == pytest.approx([1.5 * 2**-0.5, 1.5 * 4**-0.5])  # means over two seeds
    assert named(figure, "Theorem 1 bound, pre-norm").y == (1.0, 0.7)
    low, high = figure.layout.yaxis.range
    assert high - low >= 1  # a power of ten at least
    assert all(low <= np.log10(tick) <= high for tick in figure.layout.yaxis.tickvals)
    assert len(figure.layout.yaxis.tickvals) >= 2


@pytest.mark.parametrize("depth", [1, 4])
def test_gradients_and_norms_by_layer(depth: int) -> None:
    frame = gradient_frame((depth,))
    assert named(gradients.layer_gradients(frame), "post-norm").y == pytest.approx([1.5] * depth)


def test_words_as_bars() -> None:
    figure = token_bars.word_bars(["<s>", "cat", "cat"], [0.5, 0.25, 1e-5], placement="pre", largest=0.8, marked="cat")
    bars = figure.data[0]
    assert list(bars.x) == pytest.approx([0.5, 0.25, 1e-5])
    assert list(bars.y) == [0, 1, 2]  # the same word twice stays two bars
    assert bars.customdata[0] == "&lt;s&gt;"
    assert list(bars.text) == ["0.5", "0.25", "0.00001"]
    assert figure.layout.xaxis.range[1] == pytest.approx(0.816)
    assert list(bars.marker.line.width) == [0, 2.5, 2.5]


def test_the_browser_leaves_the_ticks_of_a_logarithmic_axis_to_plotly(tmp_path: Path):
    figure = gradients.last_layer_gradients(gradient_frame(), {})
    layout = json.loads(figure.to_json())["layout"]
    assert layout["xaxis"]["type"] == layout["yaxis"]["type"] == "log"
    assert layout["xaxis"]["ticktext"] == ["2", "4"]
    call = f"Object.keys(labelsOf({{layout: {json.dumps(layout)}}}))"
    assert evaluated(ROOT / "pages" / "components" / "figure.js", "labelsOf", call, tmp_path) == []
