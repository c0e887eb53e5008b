"""Bars of tokens and words: weights of a row, parts of a sum, predictions. Shapes: T tokens, k words."""

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, check_labels, margin, neutral_layout, plain_axis, shown_label, token_axis
from encoder.figures.numbers import in_words, three_digits
from encoder.figures.placements import PLACEMENT_COLOURS

#: Pixels of a character of a word, on average a little less.
CHARACTER = 8


def signed_token_bars(
    values: object,
    labels: Sequence[str],
    title: str,
    selected: int | None = None,
    *,
    first: int = 0,
    written: Callable[[float], str] = three_digits,
) -> go.Figure:
    """A bar for each token, teal above 0 and orange below.

    values [T]; labels: the tokens of the whole text; title: of the values; selected: the token whose bar has a frame;
    first: the token of the first bar; written: a value as its label has it.
    """
    numbers = as_array(values, name="values", ndim=1)
    names = check_labels(labels, first + len(numbers), "labels")
    below, above = colour.SIGNED["signed"]
    drawn = go.Bar(
        x=first + np.arange(len(numbers), dtype=np.int32),
        y=numbers,
        marker={
            "color": [above if number >= 0 else below for number in numbers],
            "line": {
                "width": [2.5 if one == selected else 0 for one in range(first, first + len(numbers))],
                "color": colour.EMPHASIS,
            },
        },
        customdata=[written(number) for number in numbers.tolist()],
        hovertemplate="%{x}: %{customdata}<extra></extra>",
    )
    figure = go.Figure(drawn, neutral_layout(margin=margin(8), bargap=0.2, showlegend=False))
    across = token_axis(names, first, len(numbers), title="token")
    figure.update_layout(xaxis=across, yaxis=plain_axis(title) | {"zeroline": True, "zerolinewidth": 2})
    return figure


def word_bars(
    words: Sequence[str],
    probabilities: object,
    *,
    placement: str | None = None,
    largest: float | None = None,
    longest: int = 0,
    marked: str | None = None,
    measure: str = "probability",
) -> go.Figure:
    """A bar a word, its probability written at its end, the most probable on top.

    words: as a person reads them. probabilities: [k]. placement: "pre" or "post", each with its colour; None: neutral.
    largest: the end of the axis, longest: characters of the longest word; give bars that you compare the same ones, so
    that a probability has the same length in each. marked: the word whose bar has a frame.
    measure: what the numbers are.
    """
    values = as_array(probabilities, name="probabilities", ndim=1)
    shade = colour.NEUTRAL if placement is None else PLACEMENT_COLOURS[placement]
    frames = [2.5 if word == marked else 0 for word in words]
    places = np.arange(len(values), dtype=np.int32)
    labels = [shown_label(word) for word in words]
    end = float(values.max()) if largest is None else float(largest)
    drawn = go.Bar(
        x=values,
        y=places,
        orientation="h",
        text=[in_words(value) for value in values.tolist()],
        textposition="outside",
        cliponaxis=False,
        marker={"color": shade, "line": {"width": frames, "color": colour.EMPHASIS}},
        customdata=labels,
        hovertemplate="%{customdata}: %{text}<extra></extra>",
    )
    figure = go.Figure(drawn, neutral_layout(margin=margin(8, right=48) | {"l": 8 + CHARACTER * longest}, bargap=0.25))
    figure.update_xaxes(plain_axis(measure), range=[0, end * 1.02 or 1.0])
    figure.update_yaxes(
        range=[len(values) - 0.5, -0.5], tickvals=places, ticktext=labels, showgrid=False, automargin=True, ticks=""
    )
    return figure
