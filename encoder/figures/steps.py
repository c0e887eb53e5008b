"""Pictures of the steps from a word to its vector. Shapes: T tokens, D components, H heads, S stages of the stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import (
    as_array,
    band,
    check_labels,
    colour_bar,
    component_axis,
    neutral_layout,
    pill,
    plain_axis,
    shown_label,
    token_axis,
)
from encoder.figures.vectors import symmetric_limit, vectors_heatmap

#: role -> colour of bars and curves that belong to it.
ROLES = {"q": colour.QUERY, "k": colour.KEY, "v": colour.VALUE, "other": colour.NEUTRAL, "chosen": colour.EMPHASIS}


def usual_limit(values: object, share: float = 0.99) -> float:
    """The size that all but a hundredth of the numbers stay below: the full colour of a map with a few large numbers,
    which would leave all others pale. 1 where everything is 0."""
    return float(np.quantile(np.abs(np.asarray(values, dtype=np.float32)), share)) or symmetric_limit(values)


def stacked_rows(
    rows: Mapping[str, object],
    *,
    component: int | None = None,
    kind: str = "residual",
    component_name: str = "component",
    limit: float | None = None,
) -> go.Figure:
    """Vectors [D] below each other, each with its name: what is added up, and what comes of it.

    rows: name -> [D], all of one length; component: the column that is framed; limit: the value of the full colour,
    by default one that a hundredth of the numbers reach. Raises ValueError where there is no row and where lengths
    differ.
    """
    if not rows:
        raise ValueError("rows is empty: give at least one vector.")
    arrays = [as_array(row, name=name, ndim=1) for name, row in rows.items()]
    if len({len(row) for row in arrays}) != 1:
        raise ValueError(f"The rows have {[len(row) for row in arrays]} components: they need as many.")
    values = np.stack(arrays)
    limit = usual_limit(values) if limit is None else limit
    figure = _signed_map(values, kind, limit, f"%{{y}}, {component_name} %{{x}}: %{{z:.4f}}<extra></extra>")
    names = list(rows)
    figure.update_layout(
        xaxis=component_axis(values.shape[1], title=component_name),
        yaxis=token_axis(names, 0, len(names), title="", downwards=True),
        uirevision=f"{values.shape}",
    )
    if component is not None:
        figure.update_layout(shapes=band(column=component, colour=colour.EMPHASIS_LABEL, thin=True))
    return figure


def sum_of_rows(
    rows: object, total: object, labels: Sequence[str], kind: str, *, name: str, selected: int, component: int
) -> go.Figure:
    """Rows [T, K], one a token, and below a line their sum [K] under its `name`: what a token takes from all others.

    labels: of the T tokens; selected: the row that is framed; component: the column. The sum need not be that of the
    rows drawn: of a long text they are a part.
    """
    values = np.concatenate((as_array(rows, name="rows", ndim=2), as_array(total, name="total", ndim=1)[None]))
    count = len(values) - 1
    named = [*check_labels(labels, count, "labels")[:count], name]
    figure = vectors_heatmap(values, named, kind, selected=selected, component=component)
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": count - 0.5, "y1": count - 0.5}
    figure.add_shape(**line, line={"color": colour.NEUTRAL, "width": 2})
    return figure


def weight_matrix(
    weight: object, *, column: int | None = None, kind: str = "signed", row_name: str = "d", column_name: str = "c"
) -> go.Figure:
    """A matrix of weights [A, C], inputs downwards, outputs to the right; the column in use is framed."""
    values = as_array(weight, name="weight", ndim=2)
    hover = f"{row_name} %{{y}}, {column_name} %{{x}}: %{{z:.4f}}<extra></extra>"
    figure = _signed_map(values, kind, usual_limit(values), hover)
    down = component_axis(values.shape[0], title=row_name)
    figure.update_layout(
        xaxis=component_axis(values.shape[1], title=column_name),
        yaxis=down | {"range": down["range"][::-1]},
        uirevision=f"{values.shape}",
    )
    if column is not None:
        mark = {"q": colour.QUERY_LABEL, "k": colour.KEY_LABEL, "v": colour.VALUE_LABEL}.get(
            kind, colour.EMPHASIS_LABEL
        )
        figure.update_layout(shapes=band(column=column, colour=mark, thin=values.shape[1] > 60))
    return figure


def score_map(
    scores: object,
    allowed: object,
    labels: Sequence[str],
    *,
    selected: tuple[int | None, int | None] = (None, None),
    first: tuple[int, int] = (0, 0),
) -> go.Figure:
    """Scores [Ti, Tj] before the softmax, coloured around 0; where a key may not be seen there is nothing.

    first: the query of the first row and the key of the first column, when a part of a longer text is drawn.
    """
    values = as_array(scores, name="scores", ndim=2)
    seen = np.asarray(allowed, dtype=bool)
    limit = symmetric_limit(np.where(seen, values, 0.0))
    figure = _signed_map(
        np.where(seen, values, np.nan), "residual", limit, "%{y} → %{x}: score %{z:.3f}<extra></extra>", title="score"
    )
    labels = check_labels(labels, max(first[0] + values.shape[0], first[1] + values.shape[1]), "labels")
    figure.data[0].update(
        x=first[1] + np.arange(values.shape[1], dtype=np.int32), y=first[0] + np.arange(values.shape[0], dtype=np.int32)
    )
    figure.update_layout(
        xaxis=token_axis(labels, first[1], values.shape[1], title="attends to (key)"),
        yaxis=token_axis(labels, first[0], values.shape[0], title="attends from (query)", downwards=True),
        uirevision=f"{values.shape}+{first}",
    )
    _mark_cell(figure, labels, selected, first, values.shape)
    return figure


def _mark_cell(
    figure: go.Figure,
    labels: Sequence[str],
    selected: tuple[int | None, int | None],
    first: tuple[int, int],
    shape: tuple[int, int],
) -> None:
    """Frame the query's row in blue and the key's column in red, and name both."""
    query, key = selected
    query = query if query is not None and first[0] <= query < first[0] + shape[0] else None
    key = key if key is not None and first[1] <= key < first[1] + shape[1] else None
    thin = max(shape) > 60
    shapes: list[dict] = []
    if query is not None:
        shapes += band(row=query, colour=colour.QUERY_LABEL, thin=thin)
        figure.add_annotation(pill(labels[query], row=query, colour=colour.QUERY_LABEL))
    if key is not None:
        shapes += band(column=key, colour=colour.KEY_LABEL, thin=thin)
        upright = figure.layout.xaxis.tickangle != 0
        figure.add_annotation(pill(labels[key], column=key, colour=colour.KEY_LABEL, upright=upright))
    if query is not None and key is not None:
        shapes += band(row=query, column=key, colour="#111111", thin=thin)
    figure.update_layout(shapes=shapes)


def term_bars(
    terms: object, *, chosen: int | None = None, axis: str = "d", most: int = 40, names: Sequence[str] | None = None
) -> go.Figure:
    """The terms of a sum as bars, the largest first, at most `most` of them, and one bar for the rest.

    names: of the terms; their numbers by default. chosen: a term that is outlined.
    """
    values = as_array(terms, name="terms", ndim=1)
    order = np.argsort(-np.abs(values), kind="stable")[:most]
    shown, texts = values[order], [str(names[k]) if names is not None else str(k) for k in order]
    if len(values) > most:
        shown = np.append(shown, np.float32(values.sum() - shown.sum()))
        texts.append(f"{len(values) - most:,} others")
    figure = _bars(shown, texts, height_of="term", title=f"{axis}, largest first")
    figure.update_layout(uirevision=f"{len(values)}")
    if chosen is not None and chosen in order.tolist():
        _outline(figure, order.tolist().index(chosen))
    return figure


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
    the first bar, when a part of a longer text is drawn. Raises ValueError for lengths that differ.
    """
    arrays = {name: as_array(values, name=name, ndim=1) for name, values in series.items()}
    if len({len(values) for values in arrays.values()}) != 1:
        raise ValueError("series: give at least one, all with one number a token.")
    count = len(next(iter(arrays.values())))
    labels = check_labels(labels, first + count, "labels")
    places = first + np.arange(count, dtype=np.int32)
    shades = [ROLES[role] for role in roles] or list(colour.SERIES)
    figure = go.Figure(
        [
            go.Bar(
                x=places,
                y=values,
                name=name,
                marker={"color": shade, "line": {"width": 0}},
                customdata=np.array([shown_label(labels[place]) for place in places], dtype=object),
                hovertemplate=f"%{{customdata}}: {name} %{{y:.4f}}<extra></extra>",
            )
            for (name, values), shade in zip(arrays.items(), shades, strict=False)
        ],
        neutral_layout(
            xaxis=token_axis(labels, first, count, title=token), yaxis=plain_axis(axis) | {"exponentformat": "power"}
        ),
    )
    figure.update_layout(
        bargap=0.25,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        showlegend=len(arrays) > 1,
        margin={"l": 8, "r": 8, "t": 36 if len(arrays) > 1 else 12, "b": 8},
        hovermode="closest",
    )
    if chosen is not None and first <= chosen < first + count:
        figure.add_vrect(x0=chosen - 0.5, x1=chosen + 0.5, line={"color": colour.KEY_LABEL, "width": 1.5})
    return figure


def named_bars(values: object, names: Sequence[str], *, axis: str, chosen: int | None = None) -> go.Figure:
    """A signed bar for each name: the shares of heads."""
    numbers = as_array(values, name="values", ndim=1)
    figure = _bars(numbers, check_labels(names, len(numbers), "names"), height_of=axis, title="")
    if chosen is not None:
        _outline(figure, chosen)
    return figure


def _bars(values: np.ndarray, names: Sequence[str], *, height_of: str, title: str) -> go.Figure:
    """A bar for each name in the colour of its sign."""
    texts = [shown_label(name) for name in names]
    below, above = colour.SIGNED["residual"]
    figure = go.Figure(
        go.Bar(
            x=np.arange(len(values), dtype=np.int32),
            y=values,
            width=0.8,
            marker={"color": [below if value < 0 else above for value in values], "line": {"width": 0}},
            customdata=np.array(texts, dtype=object),
            hovertemplate="%{customdata}: %{y:.4f}<extra></extra>",
        ),
        neutral_layout(margin={"l": 8, "r": 8, "t": 12, "b": 8}, showlegend=False, hovermode="closest"),
    )
    across = plain_axis(title) | {
        "range": [-0.6, len(values) - 0.4],
        "tickvals": np.arange(len(values), dtype=np.int32),
        "ticktext": texts,
        "tickangle": 0 if len(values) <= 14 else -90,
        "showgrid": False,
    }
    figure.update_layout(xaxis=across, yaxis=plain_axis(height_of))
    return figure


def _outline(figure: go.Figure, place: int) -> None:
    figure.add_vrect(x0=place - 0.48, x1=place + 0.48, line={"color": colour.EMPHASIS, "width": 1.5})


def padding_mask(mask: object, tokens: Sequence[Sequence[str]]) -> go.Figure:
    """A padded batch: a row a sentence, a cell a token; real tokens filled, padding empty.

    mask: [B, T], true for a real token; tokens: B sequences of T labels, shown on hovering, in short batches in the
    cells, too.
    """
    real = np.asarray(mask, dtype=bool)
    if real.ndim != 2 or not real.size:
        raise ValueError(f"mask has shape {list(real.shape)}: a matrix [B, T] is needed.")
    names = [[shown_label(str(token)) for token in row] for row in tokens]
    text = [[f"{token}: {'real' if is_real else 'padding'}" for token, is_real in zip(*rows, strict=True)]
            for rows in zip(names, real, strict=True)]  # fmt: skip
    figure = go.Figure(
        go.Heatmap(
            z=real.astype(np.uint8),
            x=np.arange(real.shape[1], dtype=np.int32),
            y=np.arange(real.shape[0], dtype=np.int32),
            text=np.array(text, dtype=object),
            zmin=0,
            zmax=1,
            colorscale=[[0, "rgba(125,123,138,0.10)"], [1, colour.faded(colour.EMPHASIS, 0.38)]],
            showscale=False,
            xgap=2 if real.shape[1] <= 64 else 0,
            ygap=2,
            hovertemplate="%{text}<extra></extra>",
        ),
        neutral_layout(margin={"l": 8, "r": 8, "t": 12, "b": 8}),
    )
    sentences = [f"sentence {index + 1}" for index in range(len(real))]
    figure.update_layout(
        xaxis=component_axis(real.shape[1], title="position"),
        yaxis=token_axis(sentences, 0, len(real), title="", downwards=True),
    )
    if real.shape[1] <= 16:
        for row, line in enumerate(names):
            for column, token in enumerate(line):
                figure.add_annotation(
                    x=column, y=row, text=token[:10], showarrow=False, textangle=-60, font={"size": 10}
                )
    return figure


def cosines(
    to_start: object, stages: Sequence[str], labels: Sequence[str], *, selected: int | None = None
) -> go.Figure:
    """Cosine [S, T] of every token with its own embedding, stage by stage: rows are stages, columns tokens."""
    values = as_array(to_start, name="to_start", ndim=2)
    figure = _signed_map(
        values, "residual", 1.0, "%{x}, %{y}: cosine %{z:.3f}<extra></extra>", title="cosine with its own embedding"
    )
    labels = check_labels(labels, values.shape[1], "labels")
    figure.update_layout(
        xaxis=token_axis(labels, 0, values.shape[1], title="token"),
        yaxis=token_axis(check_labels(stages, values.shape[0], "stages"), 0, values.shape[0], title="", downwards=True),
    )
    if selected is not None:
        figure.update_layout(shapes=band(column=selected, colour=colour.EMPHASIS, thin=values.shape[1] > 60))
    return figure


#: Width and height for which the labels of a plane are placed: a phone's, so that none lie over each other anywhere.
PLANE_PIXELS = np.array([300.0, 340.0])
#: textposition -> where the middle of a label lies from its point, in (half widths, pixels upwards).
_SIDES = {"top center": (0, 11), "bottom center": (0, -11), "middle right": (1, 0), "middle left": (-1, 0)}


def label_sides(places: object, lengths: Sequence[int], first: int | None = None) -> list[str]:
    """On which side of its point each label stands so that it covers no other label and no point; "" where no side is
    free.

    places [N, 2] in pixels; lengths: characters of the labels; first: the label that has the first choice.
    """
    where = np.asarray(places, dtype=float)
    taken = [(x - 5, x + 5, y - 5, y + 5) for x, y in where]  # the points themselves
    sides = [""] * len(where)
    for index in sorted(range(len(where)), key=lambda index: index != first):
        half = 3.2 * lengths[index]
        for side, (across, up) in _SIDES.items():
            x, y = where[index] + (across * (half + 7), up)
            box = (x - half, x + half, y - 6, y + 6)
            others = (other for number, other in enumerate(taken) if number != index)
            if not any(box[0] < o[1] and o[0] < box[1] and box[2] < o[3] and o[2] < box[3] for o in others):
                sides[index] = side
                taken.append(box)
                break
    return sides


def plane(
    points: object, explained: object, labels: Sequence[str], *, stage: int, stages: Sequence[str], selected: int | None
) -> go.Figure:
    """All tokens in one plane [S, T, 2]: where they are at `stage`, and the selected one's way through all stages."""
    where = as_array(points, name="points", ndim=3)
    shares = np.asarray(explained, dtype=float)
    labels = check_labels(labels, where.shape[1], "labels")
    names = np.array([shown_label(label) for label in labels], dtype=object)
    figure = go.Figure(layout=neutral_layout(margin={"l": 8, "r": 8, "t": 12, "b": 8}, showlegend=False))
    if selected is not None:
        path = where[:, selected]
        figure.add_scatter(
            x=path[:, 0], y=path[:, 1], mode="lines+markers", line={"color": colour.EMPHASIS, "width": 1.5},
            marker={"size": 5}, customdata=np.array(list(stages), dtype=object),
            hovertemplate=f"{names[selected]}, %{{customdata}}<extra></extra>",
        )  # fmt: skip
    here = where[stage]
    low, high = where.min(axis=(0, 1)), where.max(axis=(0, 1))
    room = 0.1 * np.maximum(high - low, 1e-6)
    low, high = low - room, high + room
    shades = [colour.EMPHASIS if index == selected else colour.SIGNED["residual"][1] for index in range(len(labels))]
    sides = label_sides((here - low) / (high - low) * PLANE_PIXELS, [len(label) for label in labels], selected)
    figure.add_scatter(
        x=here[:, 0], y=here[:, 1], mode="markers+text", textfont={"size": 11}, marker={"size": 9, "color": shades},
        text=[name if side else "" for name, side in zip(names, sides, strict=True)],
        textposition=[side or "top center" for side in sides],
        customdata=names, hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    for axis, index in (("xaxis", 0), ("yaxis", 1)):
        title = f"principal component {index + 1} ({shares[index]:.0%} of the variance)"
        figure.update_layout({axis: plain_axis(title) | {"range": [float(low[index]), float(high[index])]}})
    figure.update_layout(uirevision="plane", hovermode="closest")
    return figure


def cost_curves(
    lengths: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    crossover: float | None,
    here: float | None = None,
    axis: str,
    dashed: Sequence[str] = (),
) -> go.Figure:
    """Curves over the number of tokens, both axes logarithmic. crossover, here: lengths that are marked."""
    figure = go.Figure(layout=neutral_layout())
    for number, (name, values) in enumerate(curves.items()):
        figure.add_scatter(
            x=np.asarray(lengths, dtype=float), y=np.asarray(values, dtype=float), name=name,
            mode="lines" if name in dashed else "lines+markers",
            line={"color": colour.SERIES[number], "width": 2, "dash": "dash" if name in dashed else "solid"},
            hovertemplate=f"%{{x:,.0f}} tokens: {name} %{{y:.3g}}<extra></extra>",
        )  # fmt: skip
    figure.update_layout(
        xaxis=plain_axis("tokens") | {"type": "log", "dtick": "D2"},
        yaxis=plain_axis(axis) | {"type": "log", "exponentformat": "SI"},
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
    )
    for place, word in ((crossover, "n² overtakes"), (here, "this sentence")):
        if place is not None and place > 0:
            figure.add_vline(x=place, line={"color": colour.EMPHASIS, "width": 1, "dash": "dot"})
            figure.add_annotation(
                x=float(np.log10(place)), y=1, yref="y domain", yanchor="top", xanchor="left",
                text=f"{word}: {place:,.0f}", showarrow=False, font={"size": 11}, xshift=3,
            )  # fmt: skip
    return figure


def _signed_map(values: np.ndarray, kind: str, limit: float, hover: str, title: str = "value") -> go.Figure:
    """A map [rows, columns] coloured around 0."""
    return go.Figure(
        go.Heatmap(
            z=values,
            x=np.arange(values.shape[1], dtype=np.int32),
            y=np.arange(values.shape[0], dtype=np.int32),
            zmin=-limit,
            zmax=limit,
            colorscale=colour.diverging(kind),
            colorbar=colour_bar(title, nticks=5),
            hovertemplate=hover,
        ),
        neutral_layout(margin={"l": 8, "r": 8, "t": 60, "b": 8}),
    )
