"""Pictures of a sound: waveform, spectrogram, and what a query attends to over time.

Shapes: N bins of the waveform, M mel bands, S frames, C columns of time, B bands of patches, R rows (heads).
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, colour_bar, margin, neutral_layout
from encoder.figures.marks import band
from encoder.figures.plotly_traces import heatmap

#: Columns of a drawn spectrogram; more are averaged.
MOST_FRAMES = 600


def sound_picture(
    wave: tuple[object, object, object],
    spectrogram: object,
    frame: float,
    attention: object,
    step: float,
    *,
    seconds: float,
    sounds_until: float,
    selected: tuple[float, float] | None = None,
) -> go.Figure:
    """Waveform, spectrogram and attention over time, one below the other, with one axis of time.

    The axis counts columns of time, so that a click gives the number of one; its labels are seconds.

    wave: (starts [N] in seconds, lowest [N], highest [N]); spectrogram [M, S], low bands first; frame: seconds of one;
    attention [C]: the weight of each column; step: seconds of a column; seconds: the end of the axis; sounds_until: the
    end of the sound, after which the spectrogram is left empty; selected: start and end of the query's part, in
    seconds.
    """
    starts, low, high = (as_array(one, name="wave", ndim=1) for one in wave)
    weights, bands = as_array(attention, name="attention", ndim=1), as_array(spectrogram, name="spectrogram", ndim=2)
    shown = fewer_frames(bands).copy()
    shown[:, round(sounds_until / (frame * bands.shape[1] / shown.shape[1])) :] = np.nan
    width = frame * bands.shape[1] / shown.shape[1] / step  # of a drawn frame, in columns
    places = starts / step - 0.5
    every = max(1, round(len(weights) / 8))
    ticks = list(range(0, len(weights), every))
    return go.Figure(
        [
            go.Scatter(
                x=np.concatenate((places, places[::-1])),
                y=np.concatenate((high, low[::-1])),
                fill="toself",
                mode="lines",
                line={"width": 0.5, "color": colour.NEUTRAL},
                fillcolor=colour.NEUTRAL,
                hoverinfo="skip",
                xaxis="x",
                yaxis="y2",
            ),
            go.Heatmap(
                z=shown,
                x=(np.arange(shown.shape[1]) + 0.5) * width - 0.5,
                y=np.arange(shown.shape[0]),
                colorscale=colour.sequential("magma"),
                showscale=False,
                hoverongaps=False,
                hovertemplate="mel band %{y}: %{z:.2f}<extra></extra>",
                xaxis="x",
                yaxis="y",
            ),
            go.Bar(
                x=np.arange(len(weights)),
                y=weights,
                width=1,
                marker={"color": colour.ATTENTION, "line": {"width": 0}},
                customdata=[f"{at * step:.2f}-{(at + 1) * step:.2f} s" for at in range(len(weights))],
                hovertemplate="%{customdata}: %{y:.3f}<extra></extra>",
                xaxis="x",
                yaxis="y3",
            ),
        ],
        neutral_layout(
            margin={**margin(34), "l": 44, "b": 36},
            xaxis={
                "range": [-0.5, seconds / step - 0.5],
                "anchor": "y3",
                "showgrid": False,
                "zeroline": False,
                "tickmode": "array",
                "tickvals": [at - 0.5 for at in ticks],
                "ticktext": [f"{at * step:.2f} s" for at in ticks],
            },
            yaxis2={
                "domain": [0.80, 1.0],
                "showticklabels": False,
                "title": {"text": "wave"},
                "showgrid": False,
                "zeroline": False,
                "fixedrange": True,
            },
            yaxis={
                "domain": [0.38, 0.77],
                "showticklabels": False,
                "title": {"text": "mel bands"},
                "showgrid": False,
                "range": [-0.5, shown.shape[0] - 0.5],
                "fixedrange": True,
            },
            yaxis3={
                "domain": [0.0, 0.35],
                "title": {"text": "attention"},
                "rangemode": "tozero",
                "showgrid": False,
                "nticks": 4,
                "fixedrange": True,
            },
            showlegend=False,
            bargap=0,
            annotations=[] if sounds_until > 0.8 * seconds else [_empty((sounds_until + seconds) / 2 / step - 0.5)],
            shapes=[] if selected is None else [_part(selected[0] / step - 0.5, selected[1] / step - 0.5)],
            uirevision=f"{len(weights)}x{seconds:.3f}",
        ),
    )


def _empty(place: float) -> dict[str, object]:
    """What stands where the spectrogram is empty."""
    return {
        "text": "after the sound:<br>constant frames",
        "x": place,
        "y": 0.575,
        "xref": "x",
        "yref": "paper",
        "showarrow": False,
        "font": {"color": colour.NEUTRAL, "size": 12},
    }


def _part(start: float, end: float) -> dict[str, object]:
    """The query's part of the sound, across all three pictures."""
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": start,
        "x1": end,
        "y0": 0,
        "y1": 1,
        "line": {"color": colour.QUERY, "width": 2},
        "fillcolor": "rgba(59,130,230,0.18)",
        "layer": "above",
    }


def fewer_frames(values: np.ndarray, most: int = MOST_FRAMES) -> np.ndarray:
    """[M, S] with at most `most` columns, each the mean of its frames."""
    n_frames = values.shape[1]
    block = -(-n_frames // most)
    if block == 1:
        return values
    edges = np.arange(0, n_frames, block)
    sums: np.ndarray = np.add.reduceat(values, edges, axis=1)
    return sums / np.diff(np.append(edges, n_frames))


def time_map(
    weights: object,
    starts: object,
    names: Sequence[str],
    *,
    title: str,
    colours: str = "blue",
    selected: tuple[int | None, int | None] = (None, None),
    hover: str = "%{y}, %{x}: %{z:.3f}",
    downwards: bool = False,
) -> go.Figure:
    """Rows over time: heads, or bands of a spectrogram. A click gives row and column as whole numbers.

    weights [R, C]; starts [C]: seconds of each column; names [R]: of the rows, from below or, downwards, from above;
    title: of the row axis; selected: (row, column) with a frame.
    """
    values, times = as_array(weights, name="weights", ndim=2), as_array(starts, name="starts", ndim=1)
    bar = colour_bar("weight", nticks=4)
    cells = heatmap(values, (0.0, float(values.max()) or 1.0), colour.sequential(colours), bar, hover)
    every = max(1, -(-len(times) // 10))
    ticks = list(range(0, len(times), every))
    frame = [] if selected == (None, None) else band(row=selected[0], column=selected[1], colour=colour.EMPHASIS)
    rows = max(1, -(-len(names) // 24))
    return go.Figure(
        cells,
        neutral_layout(
            margin=margin(62),
            xaxis={
                "tickmode": "array",
                "tickvals": ticks,
                "ticktext": [f"{times[at]:.2f} s" for at in ticks],
                "showgrid": False,
                "zeroline": False,
                "labelalias": {str(at): f"{time:.2f} s" for at, time in enumerate(times)},
            },
            yaxis={
                "tickmode": "array",
                "tickvals": list(range(0, len(names), rows)),
                "ticktext": list(names[::rows]),
                "title": {"text": title},
                "showgrid": False,
                "zeroline": False,
                "range": [len(names) - 0.5, -0.5] if downwards else [-0.5, len(names) - 0.5],
                "labelalias": {str(at): name for at, name in enumerate(names)},
            },
            shapes=frame,
            uirevision=f"{title}{values.shape}",
        ),
    )
