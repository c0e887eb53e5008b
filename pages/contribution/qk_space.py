"""Q-K space: queries and keys of a head in one plane, with lines to the strongest keys."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder.figures.numbers import in_words
from encoder.figures.qk_plane import KEYS, QUERIES, qk_plane
from encoder.measure.qk_space import QKSpace, qk_space
from pages.components import PlotEvent, on_click, plot
from pages.core.frame import input_row
from pages.core.view import View, ViewParams, selection, token_rows
from pages.core.widgets import Export, answer, place, title
from pages.core.words import about, gestures, token_names
from pages.state import state


def show(view: View) -> Export:
    """The whole part of the page."""
    layer, head, trace = view.layer, view.head, view.trace
    with st.spinner("Placing queries and keys …", show_time=False):
        space: QKSpace = view.derived(("qk space", layer, head), lambda one: qk_space(one, layer, head))
    part = token_rows.part(trace.n_real, view.i if view.i is not None else view.j, "plane")
    figure = qk_plane(
        space.queries[part],
        space.keys[part],
        trace.labels,
        space.strongest[part],
        space.weights[part],
        explained=space.explained,
        selected=(view.i, view.j),
        first=part.start,
    )

    def select(event: PlotEvent) -> None:
        params = {QUERIES: ViewParams.i, KEYS: ViewParams.j}
        if event["trace"] in params:
            state.put(params[event["trace"]], part.start + event["point"])

    with answer.area():
        answer.draw(*_answer(view, space))
        input_row.place_on_picture(view)
        plot(
            figure,
            key="plane",
            alt=f"Queries and keys of layer {layer}, head {head}, as points: {len(space.queries)} of each, a line "
            "from each query to its strongest key.",
            on_event=on_click(point=select, clear=selection.clear),
        )
    st.caption(_about(view))
    about.expander(
        __file__,
        "How the plane is computed",
        scale=f"{space.scale:.3f}",
        correlation=f"{space.correlation:.2f}",
        vectors=f"{2 * len(space.queries):,}",
        width=trace.config.d_head,
        explained=f"{space.explained.sum():.0%}",
    )
    return exported(view, space, figure)


def exported(view: View, space: QKSpace, figure: go.Figure) -> Export:
    """Queries and keys as points of the plane."""
    layer, head = view.layer, view.head

    def frame() -> pd.DataFrame:
        labels = np.array(view.trace.labels, dtype=object)
        n_real = len(space.queries)
        return pd.DataFrame(
            {
                "position": np.arange(n_real),
                "token": labels[:n_real],
                **{f"query_{axis}": space.queries[:, at] for at, axis in enumerate("xy")},
                **{f"key_{axis}": space.keys[:, at] for at, axis in enumerate("xy")},
                "strongest_key": space.strongest,
                "strongest_token": labels[space.strongest],
                "weight": space.weights,
            }
        )

    return Export(
        view,
        title(view, f"Q-K space of L{layer} H{head}"),
        frame,
        figures={"Queries and keys in one plane": figure},
        lines="from encoder.measure import qk_space\n"
        f"space = qk_space.qk_space(trace, {layer}, {head})\n"
        "space.queries, space.keys",
        settings=place(view),
    )


def _answer(view: View, space: QKSpace) -> tuple[str, str]:
    """For how many queries the nearest key is the strongest one; the strongest key of the selected query."""
    (hits, of), width = space.nearest_is_strongest(), view.trace.config.d_head
    first = (
        f"For **{hits} of {of}** queries, the nearest key on the screen is the one with the largest weight; in all "
        f"{width} dimensions, for **{space.hits}**."
    )
    second = f"The plane shows {space.explained.sum():.0%} of the variance of the {width} dimensions."
    if view.i is None or view.i >= len(space.strongest):
        return first, second
    labels, key = view.trace.labels, int(space.strongest[view.i])
    most = f"{token_names.bold(labels, view.i)} attends most to {token_names.bold(labels, key)}"
    return first, f"{most}: {in_words(float(space.weights[view.i]))}. {second}"


def _about(view: View) -> str:
    text, config = "A score is a dot product; a short distance makes a large one likely.", view.loaded.config
    if config.relative_buckets:
        text += " This model adds a bias by offset to the scores, which the plane does not show."
    elif config.position == "rotary":
        text += " Queries and keys are shown after their rotation, as the scores use them."
    text += " Each line leads from a query to the key with its largest weight."
    return f"{text} {gestures.invitation('Select a point to select its token; its label names it.')}"
