"""Maps with a row for each layer: effects of heads, activation patching, attention knockout, sizes of updates.

Shapes: L layers downwards, H heads or T tokens to the right.
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, check_labels, colour_bar, component_axis, margin, neutral_layout, token_axis
from encoder.figures.marks import band
from encoder.figures.plotly_traces import heatmap, one_sided, signed_heatmap
from encoder.figures.scale import ending, robust
from encoder.figures.vectors import symmetric_limit

#: The fewest and the most effects of a map that have their rank.
RANKED = 3, 9


def layer_map(
    cells: go.Heatmap,
    labels: Sequence[str] | None = None,
    selected: tuple[int, int | None] | None = None,
    *,
    first: int = 0,
    gap: int = 1,
) -> go.Figure:
    """Cells [L, H] or [L, T] with their axes. NaN stays empty.

    labels: the tokens of the whole text, None: the columns are heads; selected: (layer, head or token) with a frame;
    first: the token of the first column; gap: pixels between two cells. Raises ValueError for too few labels.
    """
    n_rows, n_columns = cells.z.shape
    cells.update(hoverongaps=False, xgap=gap, ygap=gap)
    across = component_axis(n_columns, title="head")
    if labels is not None:
        across = token_axis(check_labels(labels, first + n_columns, "labels"), first, n_columns, title="token")
    return go.Figure(
        cells,
        neutral_layout(
            margin=margin(62),
            xaxis=across,
            yaxis=component_axis(n_rows, title="layer", downwards=True),
            shapes=[] if selected is None else band(row=selected[0], column=selected[1], colour=colour.EMPHASIS),
            uirevision=f"{n_rows}x{n_columns}+{first}",
        ),
    )


def effect_map(
    effects: object,
    selected: tuple[int, int] | None = None,
    switched_off: Sequence[tuple[int, int]] = (),
    title: str = "effect without the head",
) -> go.Figure:
    """effects [L, H], coloured by the square root of their size on a `robust` scale; NaN stays empty.

    selected: (layer, head) with a frame; switched_off: heads with a cross, next to their rank; title: of the numbers.
    The largest effects have their rank, as many as `n_ranked` says.
    """
    values = as_array(effects, name="effects", ndim=2)
    what = "effect " if title.startswith("effect") else ""
    hover = f"L%{{y}} H%{{x}}: {what}%{{z:+.3g}}"
    figure = layer_map(_rooted(values, hover, title), None, selected)
    marks: dict[tuple[int, int], tuple[str, str]] = {}
    if not np.isnan(values).any() and values.any():
        largest = np.argsort(-np.abs(values), axis=None, kind="stable")[: n_ranked(values)]
        places = [(int(layer), int(head)) for layer, head in zip(*np.unravel_index(largest, values.shape), strict=True)]
        marks = {place: (str(rank), "rgba(17,17,17,0.75)") for rank, place in enumerate(places, start=1)}
    for place in switched_off:
        rank, _ = marks.get(place, ("", ""))
        marks[place] = f"✕{rank}", colour.EMPHASIS_LABEL
    for (layer, head), (text, ground) in marks.items():
        look = {"font": {"size": 12, "color": "#ffffff"}, "bgcolor": ground, "borderpad": 2}
        figure.add_annotation(x=head, y=layer, text=text, showarrow=False, **look)
    return figure


def n_ranked(effects: object) -> int:
    """How many effects of a map have their rank: those beyond its scale, within RANKED."""
    least, most = RANKED
    return min(max(least, robust(effects).beyond), most)


def _rooted(values: np.ndarray, hover: str, title: str) -> go.Heatmap:
    """Effects around 0, most of them far below the largest: the square root keeps their colours apart."""
    scale = robust(values)
    return one_sided(signed_heatmap(values, "signed", scale.limit, hover, scale.titled(title), root=True))


def measure_map(values: object, limits: tuple[float, float], title: str, colours: str = "blue") -> go.Figure:
    """A number of each head [L, H], which is not below 0 by its nature; NaN stays empty.

    limits: the values of the two ends of the scale, those that the quantity can have; title: on the colour bar.
    """
    numbers, bar = as_array(values, name="values", ndim=2), colour_bar(title, nticks=5)
    return layer_map(heatmap(numbers, limits, colour.sequential(colours), bar, "L%{y} H%{x}: %{z:.3f}"))


def pair_labels(labels: Sequence[str], others: Sequence[str]) -> list[str]:
    """The tokens of two texts that align: "it" where they are the same, "he / she" where they differ."""
    return [a if a == b else f"{a} / {b}" for a, b in zip(labels, others, strict=True)]


def patch_map(
    shares: object,
    labels: Sequence[str] | None = None,
    selected: tuple[int, int] | None = None,
    limit: float | None = None,
) -> go.Figure:
    """The share of the difference that each place carries, coloured around 0; NaN stays empty.

    shares [L, T] or [L, H]; labels: the tokens, None: the places are heads; selected: (layer, place) with a frame;
    limit: the share of the full colour, by default the largest. Raises ValueError for shapes or labels that do not fit.
    """
    values = as_array(shares, name="shares", ndim=2)
    hover = f"layer %{{y}}, {'H' if labels is None else ''}%{{x}}: %{{z:.3f}} of the difference"
    limit = symmetric_limit(values) if limit is None else limit
    title = ending(values, limit).titled("share of the difference")
    return layer_map(signed_heatmap(values, "signed", limit, hover, title), labels, selected)


def knock_out_map(effects: object, labels: Sequence[str]) -> go.Figure:
    """The effect of hiding each token from one query, coloured around 0; NaN, where it is still missing, stays empty.

    effects [L, T]; labels: the tokens. Raises ValueError for shapes or labels that do not fit.
    """
    values = as_array(effects, name="effects", ndim=2)
    hover, title = "%{x} hidden around layer %{y}: effect %{z:+.3g}", "effect of hiding the token"
    return layer_map(_rooted(values, hover, title), labels)


def update_heatmap(
    sizes: object,
    labels: Sequence[str],
    *,
    largest: float,
    colours: str = "blue",
    selected: tuple[int, int | None] | None = None,
    first: int = 0,
) -> go.Figure:
    """The size of a sublayer's update relative to the residual stream, coloured from 0 to `largest`.

    sizes [L, T]; selected: (layer, token) with a frame; first: the token of the first column. Raises ValueError for
    shapes or labels that do not fit.
    """
    values = as_array(sizes, name="sizes", ndim=2)
    bar = colour_bar("update / residual stream", nticks=5)
    hover = "layer %{y}, %{x}: %{z:.3g} of the residual stream’s norm"
    cells = heatmap(values, (0.0, largest), colour.sequential(colours), bar, hover, first=(0, first))
    return layer_map(cells, labels, selected, first=first, gap=0)
