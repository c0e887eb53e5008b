"""One drawing component, named in a field or by `?show=`, and below it, as JSON, its events in Python."""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from components_tokens import TOKENS  # beside this script

from encoder.drawing import picture
from pages import components

N = len(TOKENS)


def begin_again() -> None:
    """Nothing is known of the drawing that was shown before."""
    for name in ("heard", "selected", "runs", "removed"):
        st.session_state.pop(name, None)


show = st.text_input("Show", st.query_params.get("show", "plot"), on_change=begin_again)
heard = st.session_state.setdefault("heard", [])
st.session_state.runs = st.session_state.get("runs", 0) + 1
weights = np.random.default_rng(7).dirichlet(np.full(N, 0.3), size=(3, 4, N)).astype(np.float32)


def hear(event: components.PlotEvent) -> None:
    heard.append(event)
    if event.get("axis") == "cell":
        st.session_state.selected = (event["i"], event["j"])


def attention() -> go.Figure:
    labels = [token.replace("<", "&lt;") for token in TOKENS]
    axis = {"tickvals": np.arange(N), "ticktext": labels, "constrain": "domain"}
    figure = go.Figure(
        go.Heatmap(z=weights[0, 0], colorscale="Viridis", hovertemplate="%{y} attends to %{x}: %{z:.3f}<extra></extra>")
    )
    figure.update_layout(
        xaxis={**axis, "title": "attends to (key)"},
        yaxis={**axis, "title": "attends from (query)", "autorange": "reversed", "scaleanchor": "x"},
        uirevision="text",
    )
    return figure


def points() -> go.Figure:
    marks = go.Scatter(x=[0.0, 1.0, 2.0], y=[0.0, 2.0, 1.0], mode="markers", marker={"size": 14}, text=["a", "b", "c"])
    return go.Figure(marks, {"title": "Points"})


state = {}
if st.checkbox("Remove the drawing", key="removed") or show == "nothing":
    pass
elif show == "plot":
    selected = st.session_state.get("selected")
    components.plot(attention(), key="map", alt="A small map.", height=480, selected=selected, on_event=hear)
    state = {"window": components.plot_window("map"), "values": weights[0, 0].tolist()}
elif show == "points":
    components.plot(points(), key="points", alt="Three points.", height=320, on_event=heard.append)
    state = {"window": components.plot_window("points")}
elif show == "unheard":
    components.plot(points(), key="points", alt="Three points.", height=320)
    components.plot(points(), key="bare", alt="The same points.", height=320, mode_bar=False)
elif show in ("grid", "sorted"):
    ramp = np.arange(256, dtype=np.uint8)
    components.head_grid(
        (weights * 255).astype(np.uint8),
        layers=3,
        heads=4,
        selected=(0, 1),
        key="heads",
        alt="Twelve small maps.",
        colorscale=np.stack([ramp, ramp, 255 - ramp], axis=-1),
        measure=weights.max(-1).mean(-1),
        measure_label="mean maximum",
        badges={"L1H2": "previous"},
        dim=np.eye(3, 4, dtype=bool),
        order=[(2, 3), (0, 1), (1, 2)] if show == "sorted" else None,
        pinned=[(2, 0)],
        on_event=heard.append,
    )
elif show == "text":
    words = TOKENS
    pieces = [piece for k, word in enumerate(words) for piece in ((word, k), (" ", -1))]
    selected = heard[-1]["units"] if heard else []
    square = weights[0, 0]
    text = picture.shaded_text(
        [pieces[:-4], pieces[-4:]],  # the second begins with right-to-left letters
        square[selected].sum(0) if selected else square.mean(0),
        labels=words,
        rows=range(N),
        columns=range(N),
        weights=square,
        means=square.mean(0),
        alt="A text.",
        selected=selected,
        special=[0, N - 1],
    )
    components.text_shade(text, key="text", on_event=heard.append)
    state = {"weights": square.tolist()}
elif show == "pair":
    pair = picture.attention_lines(weights[0, :1, :3], TOKENS[:3], key_tokens=TOKENS, labels=["L0 H0"], alt="Lines.")
    components.lines(pair, key="lines", on_event=heard.append)
    state = {"weights": weights[0, :1, :3].tolist()}
else:
    heads = picture.attention_lines(weights[0, :3], TOKENS, labels=["L0 H0", "L0 H1", "L0 H2"], alt="Lines.")
    components.lines(heads, key="lines", on_event=heard.append)
    state = {"weights": weights[0, :3].tolist()}

st.button("Run again")
st.code(json.dumps({"show": show, "heard": heard, "runs": st.session_state.runs, **state}), language=None)
