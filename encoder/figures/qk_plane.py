"""Queries and keys of a head as points of one plane, a line from each query to its strongest key."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import check_labels, margin, neutral_layout, plain_axis, shown_label
from encoder.figures.marks import ring
from encoder.figures.plotly_traces import LEGEND

#: Up to this many tokens each point is named where there is room; above, only selected tokens and the strongest keys.
#: The page hides names that overlap, the last ones first (`layout.meta["names"]`).
NAMED_UP_TO = 128
#: Pixels from a selected point to the middle of its tag.
TAG = 20
QUERIES, KEYS = 1, 2  # the numbers of the two traces


def qk_plane(
    queries: object,
    keys: object,
    labels: Sequence[str],
    strongest: Sequence[int],
    weights: Sequence[float],
    *,
    explained: Sequence[float] = (),
    selected: tuple[int | None, int | None] = (None, None),
    first: int = 0,
) -> go.Figure:
    """Queries blue, keys red; in traces QUERIES and KEYS point n is token `first` + n.

    Args:
        queries: [n, 2], of tokens `first` onwards.
        keys: [n, 2], the same tokens.
        labels: one for every token of the whole text.
        strongest: [n], the key that each query attends to most; a line leads there where that key is drawn.
        weights: [n], how much.
        explained: share of the variance along each axis.
        selected: (query token, key token): named and larger; the query's line is drawn strong.

    Raises ValueError for shapes or labels that do not fit.
    """
    q, k = np.asarray(queries, dtype=np.float64), np.asarray(keys, dtype=np.float64)
    if q.shape[1:] != (2,) or q.shape != k.shape or not len(strongest) == len(weights) == len(q):
        raise ValueError(
            f"queries {list(q.shape)}, keys {list(k.shape)}: [n, 2] each, and n strongest keys are needed."
        )
    names = check_labels(labels, first + len(q), "labels")
    figure = go.Figure(layout=neutral_layout(margin=margin(54)))
    pairs = [(n, int(key) - first) for n, key in enumerate(strongest) if 0 <= int(key) - first < len(k)]
    figure.add_trace(_lines(q, k, pairs, colour.faded(colour.NEUTRAL, 0.6 if len(q) <= 40 else 0.3), 1.0))
    chosen_q, chosen_k = (None if token is None else token - first for token in selected)
    texts = [shown_label(name) for name in names[first : first + len(q)]]
    tags = [
        (chosen, at, shade, label, up)
        for chosen, at, shade, label, up in (
            (chosen_q, q, colour.QUERY, colour.QUERY_LABEL, TAG),
            (chosen_k, k, colour.KEY, colour.KEY_LABEL, -TAG),
        )
        if chosen is not None and 0 <= chosen < len(at)
    ]
    order = _named(len(q), pairs, chosen_q, chosen_k)
    hovers = [
        f"query of {shown_label(names[first + n])} ({first + n}), strongest key {shown_label(names[int(key)])} "
        f"({int(key)}): {weight:.3g}"
        for n, (key, weight) in enumerate(zip(strongest, weights, strict=True))
    ]
    shown = {*order}
    q_texts, k_texts = ([text if start + n in shown else "" for n, text in enumerate(texts)] for start in (0, len(q)))
    figure.add_trace(_points(q, q_texts, "top center", "queries", "circle", colour.QUERY, hovers))
    hovers = [f"key of {shown_label(names[first + n])} ({first + n})" for n in range(len(k))]
    figure.add_trace(_points(k, k_texts, "bottom center", "keys", "diamond", colour.KEY, hovers))
    for chosen, at, shade, label, up in tags:
        figure.add_trace(ring(at[chosen], shade, 19))
        figure.add_annotation(_tag(texts[chosen], at[chosen], up, label))
    if chosen_q is not None and 0 <= chosen_q < len(q):
        chosen_pairs = [pair for pair in pairs if pair[0] == chosen_q]
        figure.add_trace(_lines(q, k, chosen_pairs, colour.QUERY, 2.5))
    shares = [f" ({share:.0%} of the variance)" for share in explained] or ["", ""]
    figure.update_layout(
        xaxis=plain_axis(f"first principal component{shares[0]}"),
        yaxis=plain_axis(f"second{shares[1]}") | {"scaleanchor": "x", "scaleratio": 1},
        legend=LEGEND | {"y": 1.02},
        hovermode="closest",
        uirevision=f"{first}+{len(q)}",
        meta={"names": [[QUERIES, point] if point < len(q) else [KEYS, point - len(q)] for point in order]},
    )
    return figure


def _named(n: int, pairs: list[tuple[int, int]], query: int | None, key: int | None) -> list[int]:
    """The points that are named, the most important first. Queries are 0 to n - 1, keys n to 2 n - 1.

    Selected tokens are left out, because they have a tag.
    """
    goals = Counter(goal for _, goal in pairs)
    strongest = [goal for start, goal in pairs if start == query]
    hubs = [goal for goal, count in goals.most_common() if count >= max(3, n // 16)]
    rest = [point for at in range(n) for point in (at, n + at)] if n <= NAMED_UP_TO else []
    selected = {query, None if key is None else n + key}
    return [
        point for point in dict.fromkeys([*(n + goal for goal in (*strongest, *hubs)), *rest]) if point not in selected
    ]


def _tag(text: str, at: np.ndarray, up: float, shade: str) -> dict[str, Any]:
    """The name of a selected token, so many pixels above its point."""
    return {
        "text": text,
        "x": float(at[0]),
        "y": float(at[1]),
        "showarrow": False,
        "yshift": up,
        "borderpad": 2,
        "font": {"size": 12, "color": "#ffffff"},
        "bgcolor": shade,
    }


def _lines(q: np.ndarray, k: np.ndarray, pairs: list[tuple[int, int]], shade: str, width: float) -> go.Scatter:
    """All lines as one trace, with a gap after each."""
    ends = np.full((len(pairs), 3, 2), np.nan)
    for row, (start, goal) in enumerate(pairs):
        ends[row, 0], ends[row, 1] = q[start], k[goal]
    x, y = ends.reshape(-1, 2).T if pairs else (np.array([]), np.array([]))
    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        connectgaps=False,
        line={"color": shade, "width": width},
    )


def _points(
    at: np.ndarray, texts: Sequence[str], side: str, name: str, symbol: str, shade: str, hovers: list[str]
) -> go.Scatter:
    """side: where a name is next to its point."""
    return go.Scatter(
        x=at[:, 0],
        y=at[:, 1],
        mode="markers+text",
        name=name,
        text=texts,
        textposition=side,
        textfont={"color": shade, "size": 12},
        hovertext=hovers,
        hovertemplate="%{hovertext}<extra></extra>",
        marker={"symbol": symbol, "size": 9 if len(at) <= 64 else 7, "color": shade},
    )
