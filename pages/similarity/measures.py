"""What people use instead of attribution, and which measure agrees with leaving words out."""

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder.export.similarity import method_frame
from encoder.figures.similarity import agreement_chart
from encoder.similarity import MethodComparison
from pages.components import plot
from pages.core.words import about, number

#: Names of the measures; "attribution" is the map's.
NAMES = {
    "attribution": "This map",
    "output split": "Output (exact)",
    "output similarity": "Output-token similarity",
    "attention": "Attention",
    "norm-weighted attention": "Norm-weighted attention",
}


def draw(measured: MethodComparison) -> go.Figure | None:
    """The rank correlations, what they say, and the table of all words. Returns the figure."""
    left, right = st.columns([11, 9], gap="medium")
    drawn = None
    with left:
        if measured.agreements:
            drawn = figure(measured)
            plot(
                drawn, height=290, key="similarity-agreement", mode_bar=False,
                alt="Rank correlation of each measure with leaving words out, with its 95% interval.",
            )  # fmt: skip
        st.markdown(result(measured))
    with right:
        st.dataframe(words(measured), hide_index=True, width="stretch", height=330, key="similarity-words")
    about.expander(__file__, "What each measure is, and its limits")
    return drawn


def figure(measured: MethodComparison) -> go.Figure:
    """Each measure's rank correlation with the deletion test, and its interval."""
    found = measured.agreements
    return agreement_chart(
        [NAMES[name] for name in found],
        [one.correlation for one in found.values()],
        [one.low for one in found.values()],
        [one.high for one in found.values()],
    )


def result(measured: MethodComparison) -> str:
    """Which measure agrees best, and whether these words can tell."""
    if measured.best is None:
        return "These sentences have too few words for a rank correlation. Type longer ones."
    best = measured.agreements[measured.best]
    value, low, high = (number(one, 2) for one in (best.correlation, best.low, best.high))
    said = (
        f"Closest to leaving words out here: **{NAMES[measured.best]}**, rank correlation **{value}** (95%: {low} to "
        f"{high}; {best.n_words} words). "
    )
    if not measured.rivals:
        return said + "Its interval overlaps no other."
    rivals = ", ".join(NAMES[name] for name in measured.rivals)
    return said + f"These words do not separate it from: {rivals}."


def words(measured: MethodComparison) -> pd.DataFrame:
    """A row for each word, a column for each measure."""
    names = {"text": "In", "word": "Word", "change": "Leaving it out"} | NAMES
    return method_frame(measured).rename(columns=names).round(3)
