"""Bars of tokens and words: weights of a row, parts of a sum, predictions. Shapes: T tokens, k words."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, check_labels, margin, neutral_layout, plain_axis, shown_label, token_axis
from encoder.figures.placements import PLACEMENT_COLOURS
from encoder.figures.plotly_traces import LEGEND, bars

#: role -> colour of the bars that belong to it.
ROLES = {"q": colour.QUERY, "k": colour.KEY, "v": colour.VALUE, "other": colour.NEUTRAL, "chosen": colour.EMPHASIS}


def token_bars(
    series: Mapping[str, object],
    labels: Sequence[str],
    *,
    roles: Sequence[str] = (),
    chosen: int | None = None,
    axis: str = "weight",
    token: str = "key token",
    first: int = 0,
) -> go.Figure:
    """A bar a token for each series, side by side: weights of a row, shares of tokens.

    series: name -> [T]; roles: a key of ROLES for each series; chosen: the token that is outlined; first: the token of
    the first bar, when a part of a longer text is drawn.
    """
    arrays = {name: as_array(values, name=name, ndim=1) for name, values in series.items()}
    count = len(next(iter(arrays.values())))
    labels = check_labels(labels, first + count, "labels")
    places = first + np.arange(count, dtype=np.int32)
    shades = [ROLES[role] for role in roles] or list(colour.SERIES)
    names = np.array([shown_label(labels[place]) for place in places], dtype=object)
    drawn = [
        bars(places, values, name, shade, f"%{{customdata}}: {name} %{{y:.4f}}", customdata=names)
        for (name, values), shade in zip(arrays.items(), shades, strict=False)
    ]
    layout = neutral_layout(
        margin=margin(36 if len(arrays) > 1 else 12),
        xaxis=token_axis(labels, first, count, title=token),
        yaxis=plain_axis(axis) | {"exponentformat": "power"},
        bargap=0.25,
        legend=LEGEND,
        showlegend=len(arrays) > 1,
        hovermode="closest",
    )
    figure = go.Figure(drawn, layout)
    if chosen is not None and first <= chosen < first + count:
        figure.add_vrect(x0=chosen - 0.5, x1=chosen + 0.5, line={"color": colour.KEY_LABEL, "width": 1.5})
    return figure


def signed_token_bars(values: object, labels: Sequence[str], title: str, selected: int | None = None) -> go.Figure:
    """A bar for each token, teal above 0 and orange below.

    values [T]; labels [T]: the tokens; title: of the values; selected: the token whose bar has a frame.
    """
    numbers = as_array(values, name="values", ndim=1)
    names = check_labels(labels, len(numbers), "labels")
    below, above = colour.SIGNED["signed"]
    drawn = go.Bar(
        x=np.arange(len(numbers), dtype=np.int32),
        y=numbers,
        marker={
            "color": [above if number >= 0 else below for number in numbers],
            "line": {"width": [2.5 if one == selected else 0 for one in range(len(numbers))], "color": colour.EMPHASIS},
        },
        hovertemplate="%{x}: %{y:+.3g}<extra></extra>",
    )
    figure = go.Figure(drawn, neutral_layout(margin=margin(8), bargap=0.2, showlegend=False))
    across = token_axis(names, 0, len(numbers), title="token")
    figure.update_layout(xaxis=across, yaxis=plain_axis(title) | {"zeroline": True, "zerolinewidth": 2})
    return figure


def word_bars(
    words: Sequence[str], probabilities: object, *, placement: str | None = None, largest: float | None = None,
    marked: str | None = None, measure: str = "probability",
) -> go.Figure:  # fmt: skip
    """A bar a word, its probability written at its end, the most probable on top.

    words: as a person reads them. probabilities: [k]. placement: "pre" or "post", each with its colour; None: neutral.
    largest: the end of the axis; give bars that you compare the same one. marked: the word whose bar has a frame.
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
        text=[f"{value:.3f}" if value >= 5e-4 else f"{value:.0e}" for value in values],
        textposition="outside",
        cliponaxis=False,
        marker={"color": shade, "line": {"width": frames, "color": colour.EMPHASIS}},
        customdata=labels,
        hovertemplate="%{customdata}: %{x:.4f}<extra></extra>",
    )
    figure = go.Figure(drawn, neutral_layout(margin=margin(8, right=48), bargap=0.25))
    figure.update_xaxes(plain_axis(measure), range=[0, end * 1.02 or 1.0])
    figure.update_yaxes(
        range=[len(values) - 0.5, -0.5], tickvals=places, ticktext=labels, showgrid=False, automargin=True, ticks=""
    )
    return figure
