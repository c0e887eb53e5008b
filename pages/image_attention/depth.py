"""A token over depth, and the attention distance of every head."""

from __future__ import annotations

import numpy as np
import streamlit as st
from pages.image_attention.overlay import distances_of, token

from encoder import figures
from encoder.measure import patches
from encoder.trace.trace import Trace
from pages.components import plot
from pages.core.view.view import View
from pages.core.words.markdown import plain

#: Maps side by side.
MOST_ACROSS = 6


def over_depth(view: View) -> None:
    """What a token attends to in each layer: the mean of its heads, and the rollout up to there."""
    place = token(view)
    name = plain(view.trace.labels[place])
    st.header(f"{name} over depth", anchor=False)
    st.markdown(
        f"Each map is one layer. Above: the mean of its heads. Below: the rollout, which multiplies the layers up to "
        f"there. Look for the layer in which {name} begins to attend to the ink or the object."
    )

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
    st.caption("Rollout adds half of each token itself in every layer, and assumes that attention alone moves content.")


def distances(view: View) -> None:
    """How far each head attends."""
    st.header("How far each head attends", anchor=False)
    found = distances_of(view)
    local, wide = (np.unravel_index(pick(found), found.shape) for pick in (np.nanargmin, np.nanargmax))
    st.markdown(
        f"Mean distance between a patch and those that it attends to. Most local: L{local[0]} H{local[1]}, "
        f"{found[local]:.1f} pixels. Most global: L{wide[0]} H{wide[1]}, {found[wide]:.1f} pixels."
    )
    plot(
        figures.distance_dots(found), height=300, key="patch-distances",
        alt="Attention distance in pixels of every head, by layer.",
    )  # fmt: skip
    st.caption(
        "As in Dosovitskiy et al. (2021, figure 7, right), here for one image; they average over many. Special tokens "
        "are left out, and each row’s weights on patches are scaled to sum to 1."
    )
