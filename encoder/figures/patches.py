"""Maps over the patches of an image. Shapes: N maps, R x C patches, L layers, H heads."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, neutral_layout


def patch_maps(maps: object, titles: Sequence[str], *, colours: str = "blue", across: int = 6) -> go.Figure:
    """maps [N, R, C] from 0 on -> N small maps over the image's patches, each with colours up to its own largest.

    across: maps side by side before the next row begins.
    """
    values = as_array(maps, name="maps", ndim=3)
    across = min(across, len(values))
    figure = make_subplots(
        rows=-(-len(values) // across),
        cols=across,
        subplot_titles=list(titles),
        horizontal_spacing=0.02,
        vertical_spacing=0.12,
    )
    for index, one in enumerate(values):
        cells = go.Heatmap(
            z=one[::-1],
            colorscale=colour.sequential(colours),
            showscale=False,
            zmin=0,
            zmax=max(float(one.max()), 1e-9),
            customdata=[[f"r{row} c{column}" for column in range(one.shape[1])] for row in range(one.shape[0])][::-1],
            hovertemplate="%{customdata}: %{z:.3f}<extra></extra>",
        )
        figure.add_trace(cells, row=index // across + 1, col=index % across + 1)
    figure.update_xaxes(visible=False, constrain="domain")
    for axis in figure.select_yaxes():
        axis.update(visible=False, scaleanchor=axis.anchor, constrain="domain")
    figure.update_layout(**neutral_layout(margin={"l": 0, "r": 0, "t": 26, "b": 0}))
    return figure


def norm_dots(norms: object, outliers: object) -> go.Figure:
    """norms [L + 1, P] of patches -> a dot for each patch, layer by layer; outliers bool [L + 1, P] are marked.

    The first column is the input of layer 0. Raises ValueError for shapes that differ.
    """
    values, marked = as_array(norms, name="norms", ndim=2), np.asarray(outliers, dtype=bool)
    if values.shape != marked.shape:
        raise ValueError(f"norms {values.shape} and outliers {marked.shape} need one shape.")
    layers, places = (np.asarray(one) for one in np.indices(values.shape))
    # Dots of one layer lie side by side in the order of their patches, so that many stay visible.
    spread = layers + 0.6 * (places / max(1, values.shape[1] - 1) - 0.5)
    figure = go.Figure()
    for name, some, shade, size in (("patch", ~marked, colour.SERIES[0], 6), ("outlier", marked, colour.SERIES[1], 9)):
        figure.add_scatter(
            x=spread[some],
            y=values[some],
            mode="markers",
            name=name,
            customdata=layers[some] - 1,
            marker={"size": size, "color": shade, "opacity": 0.6, "symbol": "circle" if name == "patch" else "diamond"},
            hovertemplate=f"{name}, after layer %{{customdata}}: %{{y:.3g}}<extra></extra>",
        )
    figure.update_layout(
        **neutral_layout(margin={"l": 50, "r": 10, "t": 30, "b": 40}), legend={"orientation": "h", "y": 1.1}
    )
    names = ["input", *(f"L{layer}" for layer in range(values.shape[0] - 1))]
    every = max(1, len(names) // 14)
    figure.update_xaxes(tickvals=list(range(0, len(names), every)), ticktext=names[::every], title="after layer")
    figure.update_yaxes(title="norm", rangemode="tozero")
    return figure


def position_grid(similarity: object, rows: int, columns: int) -> go.Figure:
    """similarity [P, P] of position vectors -> R x C small maps in the places of their patches (P = R x C).

    The small map at a patch shows the cosine of its position with those of all patches.
    """
    values = as_array(similarity, name="similarity", ndim=2).reshape(rows, columns, rows, columns)
    tiled = np.full((rows * (rows + 1) - 1, columns * (columns + 1) - 1), np.nan, dtype=np.float32)
    names = np.full(tiled.shape, "", dtype=object)
    for row in range(rows):
        for column in range(columns):
            down, right = row * (rows + 1), column * (columns + 1)
            tiled[down : down + rows, right : right + columns] = values[row, column]
            for other in np.ndindex(rows, columns):
                names[down + other[0], right + other[1]] = f"r{row} c{column} and r{other[0]} c{other[1]}"
    cells = go.Heatmap(
        z=tiled[::-1],
        customdata=names[::-1],
        colorscale=colour.diverging("position"),
        hoverongaps=False,
        zmin=-1,
        zmax=1,
        hovertemplate="%{customdata}: %{z:.2f}<extra></extra>",
        colorbar={"title": "cosine", "thickness": 12},
    )
    figure = go.Figure(cells)
    figure.update_layout(**neutral_layout(margin={"l": 0, "r": 0, "t": 10, "b": 0}))
    figure.update_xaxes(visible=False, constrain="domain")
    figure.update_yaxes(visible=False, scaleanchor="x")
    return figure
