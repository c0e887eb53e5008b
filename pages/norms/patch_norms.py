"""Norms of the patches' vectors by layer: outlier tokens, and what registers attend to."""

import numpy as np
import streamlit as st

from encoder import Trace, figures
from encoder.figures.numbers import three_digits
from encoder.measure import patches
from encoder.measure.ranking import largest_cell
from pages.components import plot
from pages.core.view import View
from pages.core.words import about, token_names

#: Maps side by side.
MOST_ACROSS = 6


def draw(view: View) -> None:
    """The norms as maps and dots, then the registers."""
    st.subheader("Outlier tokens and registers", anchor=False)
    found = view.derived("patch norms", patches.patch_norms)
    grid, layers = patches.grid(view.trace), found.patches.shape[0]
    titles = ["input", *(f"L{layer}" for layer in range(layers - 1))]
    left, right = st.columns([3, 2], gap="medium")
    with left:
        plot(
            figures.patch_maps(
                found.patches.reshape(layers, grid.rows, grid.columns), titles, colours=view.colours, across=MOST_ACROSS
            ),
            height=170 * -(-layers // MOST_ACROSS),
            key="patch-norm-maps",
            alt=f"The norm of every patch's vector, {layers} small maps over the image.",
        )
    with right:
        plot(
            figures.norm_dots(found.patches, found.outliers),
            height=300,
            key="patch-norm-dots",
            alt="The norm of every patch's vector by layer, outliers marked.",
        )
    st.markdown(_said(found, grid))
    _registers(view)
    st.caption(about.text(__file__, "Outlier tokens and registers", times=f"{patches.OUTLIER:g}"))


def _said(found: patches.PatchNorms, grid: patches.PatchGrid) -> str:
    """How many outliers there are, and where; without any, the largest ratio to the median."""
    medians = found.cutoffs / patches.OUTLIER
    ratios = found.patches / np.maximum(medians, np.finfo(np.float32).tiny)[:, None]
    layer, patch = largest_cell(ratios)
    where = "in the input" if layer == 0 else f"after layer {layer - 1}"
    largest = f"{grid.names_of_patches[patch]} {where}, {three_digits(float(ratios[layer, patch]))} times the median"
    last = f"After the last layer: {int(found.outliers[-1].sum())} of {found.patches.shape[1]:,} patches are outliers."
    if not found.outliers.any():
        return f"**No outlier** here: the largest norm is that of {largest}."
    return f"{last} Largest: {largest}."


def _registers(view: View) -> None:
    """What each register attends to in the last layer; a sentence where the model has none."""
    tokens = patches.registers(view.trace)
    if not tokens:
        special = token_names.some(patches.grid(view.trace).before) or "none"
        st.markdown(f"This model has **no registers**: its only special tokens are {special}.")
        return

    def make(trace: Trace) -> np.ndarray:
        rows = [patches.rows_of_token(trace, token)[-1].mean(dim=0) for token in tokens]  # the mean of the last heads
        return np.stack([patches.over_image(trace, row).cpu().numpy() for row in rows])

    st.markdown("What each register attends to in the last layer, the mean of its heads:")
    plot(
        figures.patch_maps(
            view.derived("register rows", make), [view.trace.labels[token] for token in tokens], colours=view.colours
        ),
        height=190 * -(-len(tokens) // MOST_ACROSS),
        key="register-maps",
        alt=f"What {len(tokens)} registers attend to, as small maps over the image.",
    )
