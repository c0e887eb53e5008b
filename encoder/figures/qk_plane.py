"""Queries and keys of a head as points of one plane, a line from each query to its strongest key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import check_labels, neutral_layout, plain_axis, shown_label

#: Up to this many tokens each point is named where there is room; of more, those selected and the strongest keys.
NAMED_UP_TO = 40
#: Room that labels are laid out for, in pixels: less than on a projector, so that there none overlap.
WIDTH, HEIGHT, LETTER, LINE = 620, 400, 7.5, 15
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

    Raises:
        ValueError: shapes or labels that do not fit.
    """
    q, k = np.asarray(queries, dtype=np.float64), np.asarray(keys, dtype=np.float64)
    if q.ndim != 2 or q.shape[1:] != (2,) or q.shape != k.shape or not len(q):
        raise ValueError(
            f"queries {list(q.shape)} and keys {list(k.shape)}: [n, 2] each, of as many tokens, is needed."
        )
    if len(strongest) != len(q) or len(weights) != len(q):
        raise ValueError(f"{len(strongest)} strongest keys and {len(weights)} weights for {len(q)} queries.")
    names = check_labels(labels, first + len(q), "labels")
    figure = go.Figure(layout=neutral_layout(margin={"l": 8, "r": 8, "t": 54, "b": 8}))
    pairs = [(n, int(key) - first) for n, key in enumerate(strongest) if 0 <= int(key) - first < len(k)]
    figure.add_trace(_lines(q, k, pairs, colour.faded(colour.NEUTRAL, 0.6 if len(q) <= NAMED_UP_TO else 0.3), 1.0))
    chosen_q, chosen_k = (None if token is None else token - first for token in selected)
    named = _named(len(q), pairs, chosen_q, chosen_k)
    q_texts, k_texts = ([shown_label(name) for name in names[first : first + len(q)]] for _ in "qk")
    q_places, k_places = _lay_out(q, k, q_texts, k_texts, named, first=(chosen_q, chosen_k))
    hovers = [
        f"query of {shown_label(names[first + n])} ({first + n}): most to {shown_label(names[int(key)])} ({int(key)}), "
        f"{weight:.3g}"
        for n, (key, weight) in enumerate(zip(strongest, weights, strict=True))
    ]
    figure.add_trace(_points(q, q_texts, q_places, "queries", "circle", colour.QUERY, hovers))
    hovers = [f"key of {shown_label(names[first + n])} ({first + n})" for n in range(len(k))]
    figure.add_trace(_points(k, k_texts, k_places, "keys", "diamond", colour.KEY, hovers))
    for chosen, at, shade, label in (
        (chosen_q, q, colour.QUERY, colour.QUERY_LABEL),
        (chosen_k, k, colour.KEY, colour.KEY_LABEL),
    ):
        if chosen is not None and 0 <= chosen < len(at):
            figure.add_trace(_ring(at[chosen], shade))
            figure.add_annotation(_tag(q_texts[chosen], at[chosen], label, below=at is k))
    if chosen_q is not None and 0 <= chosen_q < len(q):
        own = [pair for pair in pairs if pair[0] == chosen_q]
        figure.add_trace(_lines(q, k, own, colour.QUERY, 2.5))
    shares = [f" ({share:.0%} of the variance)" for share in explained] or ["", ""]
    figure.update_layout(
        xaxis=plain_axis(f"first principal component{shares[0]}"),
        yaxis=plain_axis(f"second{shares[1]}") | {"scaleanchor": "x", "scaleratio": 1},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        hovermode="closest",
        uirevision=f"{first}+{len(q)}",
    )
    return figure


def _named(n: int, pairs: list[tuple[int, int]], query: int | None, key: int | None) -> tuple[set[int], set[int]]:
    """Which queries and which keys carry their label; what is selected has a tag of its own."""
    if n <= NAMED_UP_TO:
        return set(range(n)) - {query}, set(range(n)) - {key}
    goals = [goal for _, goal in pairs]
    common = {goal for goal in set(goals) if goals.count(goal) >= max(2, n // 16)}
    own = {goal for start, goal in pairs if start == query}
    return set(), (common | own) - {key}


def _lines(q: np.ndarray, k: np.ndarray, pairs: list[tuple[int, int]], shade: str, width: float) -> go.Scatter:
    """One trace for all lines, a gap after each."""
    ends = np.full((len(pairs), 3, 2), np.nan)
    for row, (start, goal) in enumerate(pairs):
        ends[row, 0], ends[row, 1] = q[start], k[goal]
    x, y = ends.reshape(-1, 2).T if pairs else (np.array([]), np.array([]))
    return go.Scatter(
        x=x, y=y, mode="lines", hoverinfo="skip", showlegend=False, connectgaps=False,
        line={"color": shade, "width": width},
    )  # fmt: skip


def _lay_out(
    q: np.ndarray,
    k: np.ndarray,
    q_texts: Sequence[str],
    k_texts: Sequence[str],
    named: tuple[set[int], set[int]],
    first: tuple[int | None, int | None],
) -> tuple[dict[int, str], dict[int, str]]:
    """Query and key -> on which side of its point its label has room; points whose label has none are left out."""
    both = np.concatenate((q, k))
    low, spread = both.min(axis=0), np.ptp(both, axis=0)
    unit = min(WIDTH / (spread[0] or 1), HEIGHT / (spread[1] or 1))
    at = (both - low) * unit
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in at]
    for n, text, row, side in ((first[0], q_texts, 0, 1), (first[1], k_texts, len(q), -1)):
        if n is not None and 0 <= n < len(text):  # the tag of what is selected, and the ring
            (x, y), width = at[row + n], LETTER * len(text[n]) + 6
            taken += [
                (x - 11, y - 11, x + 11, y + 11),
                (x - width / 2, y + side * 20 - 11, x + width / 2, y + side * 20 + 11),
            ]
    wanted = [(n, n, q_texts[n]) for n in sorted(named[0])]
    wanted += [(len(q) + n, n, k_texts[n]) for n in sorted(named[1])]
    placed: tuple[dict[int, str], dict[int, str]] = ({}, {})
    for row, n, text in wanted:
        x, y = at[row]
        width = LETTER * len(text) + 2
        boxes = {
            "top center": (x - width / 2, y + 6, x + width / 2, y + 6 + LINE),
            "bottom center": (x - width / 2, y - 6 - LINE, x + width / 2, y - 6),
            "middle right": (x + 6, y - LINE / 2, x + 6 + width, y + LINE / 2),
            "middle left": (x - 6 - width, y - LINE / 2, x - 6, y + LINE / 2),
        }
        free = [side for side, box in boxes.items() if not any(_overlap(box, other) for other in taken)]
        if free:
            placed[int(row >= len(q))][n] = free[0]
            taken.append(boxes[free[0]])
    return placed


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _points(
    at: np.ndarray, texts: Sequence[str], places: dict[int, str], name: str, symbol: str, shade: str, hovers: list[str]
) -> go.Scatter:
    return go.Scatter(
        x=at[:, 0],
        y=at[:, 1],
        mode="markers+text" if places else "markers",
        name=name,
        text=[text if n in places else "" for n, text in enumerate(texts)],
        textposition=[places.get(n, "top center") for n in range(len(at))],
        textfont={"color": shade, "size": 12},
        hovertext=hovers,
        hovertemplate="%{hovertext}<extra></extra>",
        marker={"symbol": symbol, "size": 9 if len(at) <= 64 else 7, "color": shade},
    )


def _tag(text: str, at: np.ndarray, shade: str, *, below: bool) -> dict[str, Any]:
    """The label of a selected point in white on its colour, clear of the ring around it."""
    return {
        "text": text, "x": float(at[0]), "y": float(at[1]), "showarrow": False, "yshift": -20 if below else 20,
        "font": {"size": 12, "color": "#ffffff"}, "bgcolor": shade, "borderpad": 2,
    }  # fmt: skip


def _ring(at: np.ndarray, shade: str) -> go.Scatter:
    marker: dict[str, Any] = {"size": 19, "color": "rgba(0,0,0,0)", "line": {"color": shade, "width": 2.5}}
    return go.Scatter(x=[at[0]], y=[at[1]], mode="markers", hoverinfo="skip", showlegend=False, marker=marker)
