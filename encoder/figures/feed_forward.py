"""Neurons of the feed-forward layers, and what the sublayers add. Shapes: L layers, T tokens, C columns of neurons."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import (
    as_array,
    check_labels,
    colour_bar,
    component_axis,
    margin,
    neutral_layout,
    plain_axis,
    token_axis,
)
from encoder.figures.layers import layer_map
from encoder.figures.marks import EMPHASISED, band, mark
from encoder.figures.plotly_traces import LEGEND, bars, heatmap, signed_heatmap
from encoder.figures.scale import robust

#: `EncoderConfig.sublayers` in words, where several are drawn.
SUBLAYERS = {
    "first_ffn": "first FFN", "attention": "attention", "cross": "cross-attention", "convolution": "convolution",
    "ffn": "FFN", "adapter": "adapter",
}  # fmt: skip


def neuron_heatmap(
    values: object,
    neurons: object,
    labels: Sequence[str],
    *,
    block: int = 1,
    token: int | None = None,
    neuron: int | None = None,
    first: int = 0,
    more: int = 0,
) -> go.Figure:
    """Activations of neurons, most active first, coloured around 0. A cell of a pooled map shows one of its neurons.

    values [T, C]; neurons [T, C]: the neuron that each cell shows; labels: of the whole text; block: neurons in a
    column; token, neuron: framed; first: the token of the first row; more: columns at the end that are not among
    the most active.
    """
    shown = as_array(values, name="values", ndim=2)
    n_rows, n_columns = shown.shape
    numbers = np.asarray(neurons, dtype=np.int32)
    labels = check_labels(labels, first + n_rows, "labels")
    hover = "%{y}, neuron %{customdata}: %{z:.3f}"
    scale = robust(shown)
    cells = signed_heatmap(shown, "residual", scale.limit, hover, scale.titled("activation"), first=(first, 0))
    cells.customdata = numbers
    if block == 1:
        which = f"{n_columns - more} most active neurons, then {more} more" if more else "neuron, most active first"
        across = token_axis([str(one) for one in numbers[0]], 0, n_columns, title=which)
        across["tickangle"] = -90
    else:
        across = component_axis(n_columns, title=f"{block} neurons a column, most active first")
        across["showticklabels"] = False  # a column is not a neuron's number
    column = next((at for at in range(n_columns) if neuron is not None and (numbers[:, at] == neuron).any()), None)
    if block > 1 and column is not None:
        across |= {"showticklabels": True, "tickmode": "array", "tickvals": [column], "ticktext": [str(neuron)]}
    framed = [] if column is None else band(column=column, colour=colour.EMPHASIS_LABEL, thin=True)
    figure = go.Figure(
        cells,
        neutral_layout(
            margin=margin(62),
            xaxis=across,
            yaxis=token_axis(labels, first, n_rows, title="token", downwards=True),
            shapes=framed,
            uirevision=f"{n_rows}x{n_columns}+{first}",
        ),
    )
    if token is not None and first <= token < first + n_rows:
        shade = (colour.EMPHASIS_LABEL, colour.EMPHASIS_LABEL)
        mark(figure, {token: labels[token]}, {}, shades=(shade, shade), thin=n_rows > 60)
    return figure


def expert_map(weights: object, labels: Sequence[str], *, token: int, colours: str, first: int = 0) -> go.Figure:
    """The weight that a router gives each expert, [T, E]; experts that it does not choose stay empty.

    token: framed, of the whole text; first: the token of the first row.
    """
    values = as_array(weights, name="weights", ndim=2).T
    shown, bar = np.where(values > 0, values, np.nan), colour_bar("weight", nticks=5)
    hover = "expert %{y}, %{x}: %{z:.3g}"
    cells = heatmap(shown, (0.0, 1.0), colour.sequential(colours), bar, hover, first=(0, first))
    figure = layer_map(cells, labels, first=first)
    figure.update_yaxes(title="expert")
    mark(figure, {}, {token: labels[token]}, shades=EMPHASISED)
    return figure


def left_out_bars(effects: object, parts: Sequence[str], unit: str) -> go.Figure:
    """The effect of a layer without one of its S sublayers. effects [S, L]; parts [S]: of SUBLAYERS; unit: of the
    outcome."""
    values = as_array(effects, name="effects", ndim=2)
    layers, names = np.arange(values.shape[1], dtype=np.int32), [SUBLAYERS[part] for part in parts]
    drawn = [
        bars(layers, row, f"without {name}", shade, f"layer %{{x}} without {name}: %{{y:+.3g}}")
        for row, name, shade in zip(values, names, colour.SERIES[: len(names)], strict=True)
    ]
    across = component_axis(len(layers), title="layer left out")
    layout = neutral_layout(margin=margin(40), xaxis=across, yaxis=plain_axis(unit), legend=LEGEND, bargap=0.25)
    return go.Figure(drawn, layout)
