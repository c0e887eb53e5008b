"""Late interaction: the score of two sentences as a sum over the tokens of the first one (MaxSim)."""

import streamlit as st

from encoder import figures
from encoder.similarity import LateInteraction, late_interaction
from pages.components import plot
from pages.components.lazy import expander
from pages.core.stores import cache
from pages.core.view import View
from pages.core.words import errors_said, plain, references

#: Tokens of a sentence that are drawn.
MOST, AROUND, ROW = 64, 150, 22


def draw(view: View, other: str) -> None:
    """A closed part with the matrix of cosines, and the pairs that make the score."""
    part = expander("Late interaction (ColBERT): which token pairs make the score?", "late")
    if part is None:
        return
    with part, errors_said(st.info, icon=":material/info:"):
        found: LateInteraction = cache.computed(
            ("late", view.run.of_pass, other), lambda: late_interaction(view.loaded, view.text, other)
        )
        best, parts = found.best, found.parts
        order = (-parts).argsort(kind="stable")[:5]
        pairs = "; ".join(
            f"{plain(found.queries[i])} → {plain(found.keys[best[i]])} {parts[i]:.2f}" for i in order.tolist()
        )
        st.markdown(f"MaxSim: **{found.score:.3f}**, the sum over {len(parts)} tokens. Largest parts: {pairs}.")
        shown = found.matrix[:MOST, :MOST]
        plot(
            figures.pair_map(
                shown,
                found.queries[:MOST],
                found.keys[:MOST],
                titles=("sentence A", "sentence B"),
                measure="cosine",
                limits=(min(0.0, float(shown.min())), 1.0),
                colours=view.colours,
            ),
            key="late-map",
            height=AROUND + ROW * len(shown),
            alt=f"Cosines of {len(shown)} tokens of sentence A, downwards, with tokens of sentence B, to the right.",
        )
        trained = (
            "" if found.trained else " This model was not trained for it: its output vectors are compared as they are."
        )
        references.caption(
            f"Each token of sentence A counts with its largest cosine (Khattab and Zaharia 2020).{trained}"
        )
