"""Words at their places on a page, each in a box whose colour is a weight."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import neutral_layout, shown_label

#: The strongest fill: a word stays readable on it.
MOST_OPAQUE = 0.55
#: How strong the image of the page is below the words.
GROUND = 0.8
#: Room around the words, in thousandths of the page.
AROUND = 25


def page_of_words(
    words: Sequence[str],
    boxes: object,
    weights: object,
    *,
    names: Sequence[str] = (),
    selected: Sequence[int] = (),
    colours: str = "blue",
    what: str = "weight",
    n_patches: int = 0,
    ground: str = "",
    aspect: float = 1.0,
) -> go.Figure:
    """words [W] at boxes [W, 4] (left, upper, right, lower), filled by weights [W]; trace 0 has a point for each word.

    names: what the pointer reads in the place of the words; selected: words with a frame; what: names the weight under
    the pointer; n_patches: so many of the last ones are squares of the page; ground: the address of the image of the
    whole page, which shows the words itself; aspect: its height as a share of its width. Colours end at the largest
    weight. Raises ValueError for shapes that differ.
    """
    places, values = np.asarray(boxes, dtype=float), np.asarray(weights, dtype=float)
    if places.shape != (len(words), 4) or values.shape != (len(words),):
        raise ValueError(f"{len(words)} words, boxes {list(places.shape)} and weights {list(values.shape)} differ.")
    left, upper, right, lower = places.T
    n_words = len(words) - n_patches
    shown = ["" if ground or at >= n_words else shown_label(word) for at, word in enumerate(words)]
    points = go.Scatter(
        x=(left + right) / 2,
        y=(upper + lower) / 2,
        mode="markers+text",
        marker={"opacity": 0.0, "size": 14},
        text=shown,
        textposition="middle center",
        customdata=[
            f"{name}: {what} {value:.3f}" for name, value in zip(map(shown_label, names or words), values, strict=True)
        ],
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
        cliponaxis=False,
    )
    figure = go.Figure(points, layout=neutral_layout(margin={"l": 0, "r": 0, "t": 36, "b": 4}))
    largest, lut = max(float(values.max(initial=0.0)), 1e-9), colour.thumbnails_lut(colours)
    for place, (box, value) in enumerate(zip(places, values, strict=True)):
        share = value / largest
        red, green, blue = lut[round(share * 255)]
        edge, width = (colour.EMPHASIS, 2.5) if place in selected else (colour.faded(colour.NEUTRAL, 0.35), 1)
        across, down = (6, 5) if place < n_words else (0, 0)
        width = width if place < n_words or place in selected else 0
        figure.add_shape(
            type="rect",
            layer="above" if ground else "below",  # an image below the words covers what is below with it
            x0=box[0] - across,
            x1=box[2] + across,
            y0=box[1] - down,
            y1=box[3] + down,
            fillcolor=f"rgba({red}, {green}, {blue}, {MOST_OPAQUE * share:.3f})",
            line={"color": edge, "width": width},
        )
    figure.update_xaxes(visible=False, range=[left.min() - AROUND, right.max() + AROUND], fixedrange=True)
    figure.update_yaxes(visible=False, range=[lower.max() + AROUND, upper.min() - AROUND], fixedrange=True)
    if ground:
        whole = {"x": 0, "y": 0, "sizex": 1_000, "sizey": 1_000, "xref": "x", "yref": "y"}
        figure.add_layout_image(source=ground, sizing="stretch", layer="below", opacity=GROUND, **whole)
        figure.update_xaxes(constrain="domain")
        figure.update_yaxes(constrain="domain", scaleanchor="x", scaleratio=aspect)
    # The nearest word hears a click, however wide its box is.
    figure.update_layout(hovermode="closest", hoverdistance=-1)
    return figure
