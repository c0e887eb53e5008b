"""Queries and keys of a head as points of one plane, a line from each query to its strongest key."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import check_labels, margin, neutral_layout, plain_axis, shown_label
from encoder.figures.marks import ring
from encoder.figures.names import Names, name_tag
from encoder.figures.plotly_traces import LEGEND

#: Up to this many tokens each point is named where there is room; above, only selected tokens and the strongest keys.
NAMED_UP_TO = 128
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
    if q.ndim != 2 or q.shape[1:] != (2,) or q.shape != k.shape or not len(q):
        raise ValueError(
            f"queries {list(q.shape)} and keys {list(k.shape)}: [n, 2] each, of as many tokens, are needed."
        )
    if len(strongest) != len(q) or len(weights) != len(q):
        raise ValueError(f"{len(strongest)} strongest keys and {len(weights)} weights for {len(q)} queries.")
    names = check_labels(labels, first + len(q), "labels")
    figure = go.Figure(layout=neutral_layout(margin=margin(54)))
    pairs = [(n, int(key) - first) for n, key in enumerate(strongest) if 0 <= int(key) - first < len(k)]
    figure.add_trace(_lines(q, k, pairs, colour.faded(colour.NEUTRAL, 0.6 if len(q) <= 40 else 0.3), 1.0))
    chosen_q, chosen_k = (None if token is None else token - first for token in selected)
    texts = [shown_label(name) for name in names[first : first + len(q)]]
    room = Names(np.concatenate((q, k)))
    tags = [
        (chosen, at, shade, label, room.tag(start + chosen, texts[chosen]))
        for chosen, at, start, shade, label in (
            (chosen_q, q, 0, colour.QUERY, colour.QUERY_LABEL), (chosen_k, k, len(q), colour.KEY, colour.KEY_LABEL),
        )
        if chosen is not None and 0 <= chosen < len(at)
    ]  # fmt: skip
    telling, others = ([(at, texts[at % len(q)]) for at in some] for some in _named(len(q), pairs, chosen_q, chosen_k))
    apart = [(point, text, room.tag(point, text)) for point, text in room.place(telling)]
    room.place(others)
    q_places, k_places = (
        {point - start: side for point, side in room.sides.items() if start <= point < start + len(q)}
        for start in (0, len(q))
    )
    hovers = [
        f"query of {shown_label(names[first + n])} ({first + n}), strongest key {shown_label(names[int(key)])} "
        f"({int(key)}): {weight:.3g}"
        for n, (key, weight) in enumerate(zip(strongest, weights, strict=True))
    ]
    figure.add_trace(_points(q, texts, q_places, "queries", "circle", colour.QUERY, hovers))
    hovers = [f"key of {shown_label(names[first + n])} ({first + n})" for n in range(len(k))]
    figure.add_trace(_points(k, texts, k_places, "keys", "diamond", colour.KEY, hovers))
    for chosen, at, shade, label, shift in tags:
        figure.add_trace(ring(at[chosen], shade, 19))
        figure.add_annotation(name_tag(texts[chosen], at[chosen], shift, label))
    for point, text, shift in apart:
        at, shade = (q, colour.QUERY) if point < len(q) else (k, colour.KEY)
        figure.add_annotation(name_tag(text, at[point % len(q)], shift, shade, filled=False))
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
        meta={"names": [[QUERIES, point] if point < len(q) else [KEYS, point - len(q)] for point in room.order]},
    )
    return figure


def _named(n: int, pairs: list[tuple[int, int]], query: int | None, key: int | None) -> tuple[list[int], list[int]]:
    """The points that are named: the most important ones, then the others. Queries are 0 to n - 1, keys n to 2 n - 1.

    Selected tokens are left out, because they have a tag.
    """
    goals = Counter(goal for _, goal in pairs)
    strongest = [goal for start, goal in pairs if start == query]
    hubs = [goal for goal, count in goals.most_common() if count >= max(3, n // 16)]
    telling = list(dict.fromkeys(n + goal for goal in (*strongest, *hubs) if goal != key))
    rest = [point for at in range(n) for point in (at, n + at)] if n <= NAMED_UP_TO else []
    selected = {query, None if key is None else n + key}
    return telling, [point for point in rest if point not in selected and point not in telling]


def _lines(q: np.ndarray, k: np.ndarray, pairs: list[tuple[int, int]], shade: str, width: float) -> go.Scatter:
    """All lines as one trace, with a gap after each."""
    ends = np.full((len(pairs), 3, 2), np.nan)
    for row, (start, goal) in enumerate(pairs):
        ends[row, 0], ends[row, 1] = q[start], k[goal]
    x, y = ends.reshape(-1, 2).T if pairs else (np.array([]), np.array([]))
    return go.Scatter(
        x=x, y=y, mode="lines", hoverinfo="skip", showlegend=False, connectgaps=False,
        line={"color": shade, "width": width},
    )  # fmt: skip


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
