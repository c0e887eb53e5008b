"""The learned positions of an image's patches, as a grid of small maps."""

from __future__ import annotations

import streamlit as st

from encoder import figures
from encoder.measure import patches
from pages.components import plot
from pages.core.view.view import View
from pages.core.words import references

#: More patches are not drawn as a grid of small maps.
MOST_PATCHES = 400


def patch_positions(view: View) -> None:
    """A small map for each patch: the cosine of its position with those of all patches; nothing without patches."""
    if view.trace.kind != "image" or view.trace.position is None:
        return
    grid = patches.grid(view.trace)
    st.header("The places of the patches", anchor=False)
    if grid.rows * grid.columns > MOST_PATCHES:
        st.caption(f"The grid of small maps is drawn up to {MOST_PATCHES} patches; this model has more.")
        return
    st.markdown(
        "Each small map belongs to the patch in its place: the cosine of its position vector with all others. "
        "Look for crosses and spots: rows, columns or neighbours with similar vectors. "
        "The model is never told that patches have rows and columns; any order below was learned."
    )
    near, far = view.derived("patch neighbours", patches.neighbour_similarity)
    st.markdown(f"Mean cosine of two patches that share a side: **{near:.3f}**; of all other pairs: **{far:.3f}**.")
    similar = view.derived("patch positions", lambda trace: patches.position_similarity(trace).cpu().numpy())
    plot(
        figures.position_grid(similar, grid.rows, grid.columns), height=440, key="patch-positions",
        alt="For each patch, the cosine of its position vector with those of all patches.",
    )  # fmt: skip
    references.caption("As in Dosovitskiy et al. (2021, figure 7, centre).")
