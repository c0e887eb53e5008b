"""The parts of an output vector as bars, one row for each layer. Shapes: P parts."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import BARE, as_array, margin, neutral_layout, plain_axis, shown_label
from encoder.figures.numbers import percentage
from encoder.figures.plotly_traces import LEGEND

#: kind of part -> its name in the legend, and its colour: that of the picture of the model.
KINDS = {
    "embedding": ("embedding", "#8b5cd6"),
    "head": ("heads", colour.ATTENTION),
    "ffn": ("feed-forward (FFN)", "#c9761a"),
    "bias": ("biases", colour.NEUTRAL),
}
#: A part is named in its bar from this share of the longest row on.
NAMED = 0.09
#: Pixels: of a row at most and at least, of all rows while there is room, around them.
MOST, LEAST, ALL, FRAME = 36, 18, 480, 110


def output_part_bars(
    rows: Sequence[str],
    kinds: Sequence[str],
    names: Sequence[str],
    shares: Sequence[float],
    *,
    of: str,
    selected: str = "",
) -> go.Figure:
    """Parts of a vector in one row for each place in the model: those above 0 to the right, those below to the left.

    rows [P]: the place of each part, "L3", those of a place together and drawn from above; kinds [P]: of KINDS; names
    [P]: "L3 H7"; shares [P]: they sum to 1; of: the token; selected: the name of the part with a frame. A trace
    holds the parts of one kind, in their order.
    """
    places = list(dict.fromkeys(rows))
    at = np.array([places.index(row) for row in rows], dtype=np.int32)
    values, kind_of = as_array(shares, name="shares", ndim=1), np.asarray(kinds)
    right = np.bincount(at, np.clip(values, 0, None))
    left = np.bincount(at, np.clip(values, None, 0))
    longest = float(right.max() - left.min()) or 1.0
    figure = go.Figure(layout=neutral_layout(margin=margin(36), barmode="relative", bargap=0.22, legend=LEGEND))
    for kind, (title, shade) in KINDS.items():
        own = np.flatnonzero(kind_of == kind)
        if len(own):
            wide = values[own] > NAMED * longest if kind in ("head", "ffn") else np.zeros(len(own), bool)
            of_kind = [names[part] for part in own.tolist()]
            figure.add_trace(_bars(at[own], values[own], of_kind, wide, title, shade, selected))
    figure.add_trace(_totals(right, [percentage(share) for share in (right + left).tolist()]))
    across = plain_axis(f"share of the vector of “{shown_label(of)}”; all rows sum to 100%") | {
        "tickformat": ".0%",
        "zeroline": True,
    }
    figure.update_xaxes(across, range=[float(left.min()) - 0.02 * longest, float(right.max()) + 0.16 * longest])
    figure.update_yaxes(
        {**BARE, "tickvals": np.arange(len(places), dtype=np.int32), "ticktext": places},
        range=[len(places) - 0.5, -0.5],
    )
    return figure


def _bars(
    at: np.ndarray, shares: np.ndarray, names: list[str], wide: np.ndarray, title: str, shade: str, selected: str
) -> go.Bar:
    """The parts of one kind. wide: which of them have room for the end of their name: "H7"."""
    return go.Bar(
        x=shares,
        y=at,
        orientation="h",
        name=title,
        marker={
            "color": shade,
            "line": {
                "width": [2.5 if name == selected else 0.5 for name in names],
                "color": [colour.EMPHASIS if name == selected else colour.faded("#ffffff", 0.6) for name in names],
            },
        },
        text=[name.rsplit(" ", 1)[-1] if shown else "" for name, shown in zip(names, wide, strict=True)],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont={"color": "#ffffff", "size": 12},
        customdata=names,
        hovertext=[f"{name}: {percentage(share)}" for name, share in zip(names, shares.tolist(), strict=True)],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _totals(ends: np.ndarray, texts: Sequence[str]) -> go.Scatter:
    """The sum of each row, next to its end."""
    return go.Scatter(
        x=ends,
        y=np.arange(len(ends), dtype=np.int32),
        mode="text",
        text=[f" {text}" for text in texts],
        textposition="middle right",
        textfont={"size": 12},
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
    )


def height(rows: int) -> int:
    """Pixels for so many rows."""
    return FRAME + rows * max(LEAST, min(MOST, ALL // rows))
