"""Attention, norm-weighted attention, rollout and effect of each token side by side, with rank correlations."""

import streamlit as st

from encoder import causal, figures
from encoder.figures.numbers import signed
from pages.components.lazy import expander
from pages.core.inputs.input_words import words_of
from pages.core.view import View
from pages.core.words import about, errors_said

TITLES = {
    "attention": "Attention received",
    "norm_weighted": "Norm-weighted attention",
    "rollout": "Attention rollout",
}


def draw(view: View, outcome: causal.Outcome) -> None:
    """A table of tokens and one line for each measure, drawn when it is open."""
    part = expander("Which measure predicts a token's effect?", "predictors", icon=":material/leaderboard:")
    if part is None:
        return
    with part, errors_said(st.info, icon=":material/info:"):
        found = view.derived(
            ("token effects", outcome), lambda trace: causal.token_effects(view.loaded, trace, outcome)
        )
        for name, title in TITLES.items():
            st.markdown(f"{title}: rank correlation {_in_words(found.correlations[name])}")
        st.dataframe(
            {
                "Token": [figures.isolated(view.trace.labels[place]) for place in found.places],
                "Position": list(found.places),
                "Effect when hidden": found.effects,
                **{title: found.measures[name] for name, title in TITLES.items()},
            },
            hide_index=True,
            width="stretch",
        )
        values = {"n": len(found.places), "input": words_of(view.trace).text}
        st.caption(about.text(__file__, "Measures and effects", **values))


def _in_words(found: causal.RankCorrelation) -> str:
    if found.value != found.value:  # NaN: all values of a side are equal
        return "undefined, since all values are equal."
    return f"**{signed(found.value, 2)}** (95% interval {signed(found.low, 2)} to {signed(found.high, 2)})."
