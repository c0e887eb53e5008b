"""Patching: which vector carries the difference between two inputs, by replacing one at a time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder import causal
from encoder.causal import Where
from pages.core.frame.frame import current_view, heading
from pages.core.inputs.input_words import words_of
from pages.core.view.view import View
from pages.core.widgets import answer
from pages.core.widgets.export import Export, given, title
from pages.core.words import references
from pages.core.words.markdown import errors_said
from pages.patching import map, pair, run
from pages.patching.params import WHERE, Params
from pages.state.links import next_page
from pages.state.url_state import state


def main(view: View) -> None:
    words = words_of(view.trace)
    heading(
        f"Each cell replaces one vector of your {words.input}’s run by the vector of another {words.input}. A large "
        f"share suggests that this vector carries what makes the two {words.inputs} different."
    )
    if view.pair is not None:
        st.caption("This page leaves out your second sentence.")
    with errors_said(st.info, icon=":material/edit:"):
        both = pair.draw(view)
        if both is not None:
            show(view, both)
    references.caption(
        f"Limits: a share holds for these two {words.inputs} and this outcome; shares do not sum to 1. A replaced "
        "vector that restores the other outcome is sufficient for it here, which does not show that it is necessary "
        "(Heimersheim and Nanda 2024)."
    )
    next_page("ablation", "Ablation, switch off a head and see what it causes")


def show(view: View, both: pair.Pair) -> None:
    """The map, the answer to a click, the patched run next to it, and the export panel."""
    where: Where = state.get(Params.where)  # type: ignore[assignment]
    found = map.measure(view, both, where)
    if found is None:
        return
    shares, *ends = found
    at = map.selected(shares)
    with answer.area():
        map.draw_answer(both, where, shares, at)
        left, right = st.columns([6, 5], gap="medium")
        with left:
            drawn = map.draw_map(both, where, shares, at)
            if where != "head":
                map.colours(both)
            st.caption(
                f"Tokens that differ: {int(both.differs.sum())} of {both.plain.n_tokens}. 0: as in your "
                f"{both.words.input}; 1: as in the other."
            )
        if at is not None:
            with right:
                run.draw(view, both, where, at, (ends[0], ends[1]))
    exported(view, both, where, shares, drawn, (ends[0], ends[1])).draw()


def exported(
    view: View, both: pair.Pair, where: Where, shares: np.ndarray, drawn: go.Figure, ends: tuple[float, float]
) -> Export:
    """The shares. drawn: the page's map; ends: the outcome of your input, and of the other."""
    names = "head" if where == "head" else "position"

    def frame() -> pd.DataFrame:
        layers, places = np.indices(shares.shape)
        table = pd.DataFrame({"layer": layers.ravel(), names: places.ravel()})
        if where != "head":
            table["token"] = np.array(both.plain.labels)[places.ravel()]
            table["other_token"] = np.array(both.source.labels)[places.ravel()]
        return table.assign(share=shares.ravel())

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


main(current_view())
