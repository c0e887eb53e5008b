"""Patching: which vector carries the difference between two inputs, by replacing one at a time."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder import causal
from encoder.causal import Outcome, Where
from pages.core.inputs import edited
from pages.core.inputs.input_words import words_of
from pages.core.view import View
from pages.core.widgets import Export, answer, given, title
from pages.core.words import errors_said, plain, references
from pages.interventions import pair, patched, shares
from pages.interventions.params import WHERE, Params
from pages.state import state


def show(view: View, outcome: Outcome, controls: DeltaGenerator) -> None:
    """The two inputs, the map, the answer to a click, and the export panel."""
    words = words_of(view.trace)
    edited.mark(view)
    if view.pair is not None:
        st.caption("This page leaves out your second sentence.")
    with errors_said(st.info, icon=":material/edit:"):
        both = pair.draw(view, outcome, controls)
        if both is not None:
            _pair(view, both)
    references.caption(
        "Each cell replaces one vector of your run by the other’s. A large share suggests that this vector carries "
        f"what makes the two {words.inputs} different. Limits: a share holds for these two {words.inputs} and this "
        "outcome; shares do not sum to 1. A replaced vector that restores the other outcome is sufficient for it here, "
        "which does not show that it is necessary (Heimersheim and Nanda 2024)."
    )


def _pair(view: View, both: pair.Pair) -> None:
    where: Where = state.get(Params.where)  # type: ignore[assignment]
    found = shares.measure(view, both, where)
    if found is None:
        return
    values, *ends = found
    at = shares.selected(values)
    with answer.area():
        shares.draw_answer(both, where, values, at)
        drawn = shares.draw_map(both, where, values, at)
    if where != "head":
        shares.colours(both)
    source = f"Vectors from: {plain(both.other)}  \n" if view.loaded.takes == "text" else ""
    st.caption(
        f"{source}Tokens that differ: {int(both.differs.sum())} of "
        f"{both.plain.n_tokens}. 0: as in your {both.words.input}; 1: as in the other."
    )
    if at is not None:
        patched.draw(view, both, where, at, (ends[0], ends[1]))
    exported(view, both, where, values, drawn, (ends[0], ends[1])).draw()


def exported(
    view: View, both: pair.Pair, where: Where, values: np.ndarray, drawn: go.Figure, ends: tuple[float, float]
) -> Export:
    """The shares. values [L, places]; drawn: the page's map; ends: the outcome of your input, and of the other."""
    names = "head" if where == "head" else "position"

    def frame() -> pd.DataFrame:
        layers, places = np.indices(values.shape)
        table = pd.DataFrame({"layer": layers.ravel(), names: places.ravel()})
        if where != "head":
            table["token"] = np.array(both.plain.labels)[places.ravel()]
            table["other_token"] = np.array(both.source.labels)[places.ravel()]
        return table.assign(share=values.ravel())

    of_other = isinstance(both.outcome, causal.Similarity) and view.loaded.takes != "text"
    outcome = "Similarity(other)" if of_other else repr(both.outcome)
    asked = causal.patch_request(where)
    request = f", request={asked!r}" if asked else ""
    return Export(
        view,
        title(view, "Patching"),
        frame,
        figures={"Share of the difference that each place carries": drawn},
        lines="from encoder import causal\n"
        f"yours, other = model.trace({given(view, both.text)}), model.trace({given(view, both.other)}{request})\n"
        f"outcome = causal.{outcome}\n"
        "before, after = causal.both_outcomes(model, other, yours, outcome)\n"
        f"effects = causal.patch(model, other, yours, outcome, {where!r})\n"
        "shares = causal.carried_share(effects.numpy(), before, after)",
        settings={
            "Vectors from": both.other,
            "Replaced": WHERE[where],
            "Outcome": f"{pair.unit(both.outcome)}: {ends[0]:.4g}, in the other run {ends[1]:.4g}",
        },
    )
