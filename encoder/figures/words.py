"""Masked-word predictions as bars. Shapes: k words, the most probable first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, margin, neutral_layout, plain_axis, shown_label
from encoder.figures.placements import PLACEMENT_COLOURS


def word_bars(
    words: Sequence[str], probabilities: object, *, placement: str | None = None, largest: float | None = None,
    marked: str | None = None, measure: str = "probability",
) -> go.Figure:  # fmt: skip
    """A bar a word, its probability written at its end, the most probable on top.

    Args:
        words: as a person reads them.
        probabilities: [k].
        placement: "pre" or "post", each with its colour; None: neutral.
        largest: the end of the axis; give bars that you compare the same one.
        marked: the word whose bar has a frame.
        measure: what the numbers are.

    Raises:
        ValueError: not as many probabilities as words.
    """
    values = as_array(probabilities, name="probabilities", ndim=1)
    if len(values) != len(words):
        raise ValueError(f"{len(words)} words have {len(values)} probabilities: specify one each.")
    shade = colour.NEUTRAL if placement is None else PLACEMENT_COLOURS[placement]
    frames = [2.5 if word == marked else 0 for word in words]
    places = np.arange(len(values), dtype=np.int32)
    labels = [shown_label(word) for word in words]
    end = float(values.max()) if largest is None else float(largest)
    bars = go.Bar(
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
    figure = go.Figure(bars, neutral_layout(margin=margin(8, right=48), bargap=0.25))
    figure.update_xaxes(plain_axis(measure), range=[0, end * 1.02 or 1.0])
    figure.update_yaxes(
        range=[len(values) - 0.5, -0.5], tickvals=places, ticktext=labels, showgrid=False, automargin=True, ticks=""
    )
    return figure
