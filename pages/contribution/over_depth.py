"""A token of an image over depth: its mean attention and its rollout in each layer."""

from __future__ import annotations

import numpy as np
import streamlit as st

from encoder import figures
from encoder.measure import patches
from encoder.trace.trace import Trace
from pages.components import plot
from pages.core.view.view import View
from pages.core.widgets.over_image import token
from pages.core.words.markdown import plain

#: Maps side by side.
MOST_ACROSS = 6


def draw(view: View) -> None:
    """What a token attends to in each layer: the mean of its heads, and the rollout up to there."""
    place = token(view)
    name = plain(view.trace.labels[place])
    st.subheader(f"{name} over depth", anchor=False)

    def make(trace: Trace) -> np.ndarray:
        mean = patches.rows_of_token(trace, place).mean(dim=1)  # [L, T]
        rows = [patches.over_image(trace, row).cpu().numpy() for row in (mean, patches.rollout_rows(trace, place))]
        return np.concatenate(rows)

    n_layers = view.loaded.config.n_layers
    titles = [f"{what} L{layer}" for what in ("mean", "rollout") for layer in range(n_layers)]
    maps = view.derived(("patches over depth", place), make)
    across = min(n_layers, MOST_ACROSS)
    figure = figures.patch_maps(maps, titles, colours=view.colours, across=across)
    plot(
        figure, height=170 * -(-len(titles) // across), key="patch-depth",
        alt=f"What {view.trace.labels[place]} attends to in each layer, as small maps over the image.",
    )  # fmt: skip
    st.caption(
        "Each map is one layer: above the mean of its heads, below the rollout up to there. Rollout adds half of each "
        "token itself in every layer, and assumes that only attention moves content."
    )
