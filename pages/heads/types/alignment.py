"""Heads scored against pairs of tokens that the reader gives."""

import streamlit as st

from encoder import figures
from encoder.measure.head_alignment import AlignmentScores, read_pairs, score_heads
from pages.components import on_click, plot
from pages.core.view import View, selection
from pages.core.widgets import Export, title
from pages.core.words import about, errors_said
from pages.heads.params import AllHeads
from pages.state import state


def draw(view: View) -> Export | None:
    """The pairs as text, the baselines in words, and a map of the precision of every head."""
    left, right = st.columns([28, 72], gap="medium")
    with left:
        typed = state.bound(
            st.text_area,
            AllHeads.alignment,
            "Pairs: query,key in each line",
            height=190,
            help="A token is its number from 0, or its text where that occurs once. You can paste a CSV file. "
            "The example pairs words of the first sentence with the words that they depend on, or mean.",
        )
    found: AlignmentScores | None = None
    with right, errors_said(st.info, icon=":material/edit:"):
        pairs = tuple(read_pairs(typed.encode("utf-8", "replace"), view.trace))
        found = view.derived(("alignment", pairs), lambda trace: score_heads(trace, pairs))
        _show(view, found)
    if found is None:
        return None
    scores = found
    lines = (
        "from encoder.measure.head_alignment import score_heads\n"
        f"scores = score_heads(trace, {list(scores.pairs)!r})\nscores.frame()"
    )
    return Export(view, title(view, "Heads and your alignment"), scores.frame, lines=lines)


def _show(view: View, found: AlignmentScores) -> None:
    layer, head = found.best
    n_layers, n_heads = found.precision.shape
    distance, precision = found.offset
    st.markdown(
        f"Best of {n_layers * n_heads} heads: **L{layer} H{head}**, precision {found.precision[layer, head]:.2f}, "
        f"recall {found.recall[layer, head]:.2f}. Baselines, precision: random pairs {found.chance:.2f}, "
        f"the token at distance {distance:+d} {precision:.2f}."
    )
    plot(
        figures.pair_map(
            found.precision,
            [f"L{place}" for place in range(n_layers)],
            [f"H{place}" for place in range(n_heads)],
            titles=("layer", "head"),
            measure="precision",
            colours=view.colours,
            selected=(view.layer, view.head),
        ),
        key="alignment-map",
        alt=f"Precision of {n_layers} x {n_heads} heads for {len(found.pairs)} pairs.",
        on_event=on_click(cell=selection.open_head),
    )
    st.caption(about.text(__file__, "Precision of a head"))
