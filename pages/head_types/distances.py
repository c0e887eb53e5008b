"""How far each head of a model of images attends: the attention distance by layer."""

from __future__ import annotations

import numpy as np
import streamlit as st

from encoder import figures
from encoder.measure import patches
from pages.components import plot
from pages.core.view.view import View
from pages.core.words import about


def draw(view: View) -> None:
    """How far each head attends."""
    st.subheader("How far each head attends", anchor=False)
    found = view.derived("patch distances", lambda trace: patches.attention_distances(trace).cpu().numpy())
    local, wide = (np.unravel_index(pick(found), found.shape) for pick in (np.nanargmin, np.nanargmax))
    st.markdown(
        f"Mean distance between a patch and those that it attends to. Most local: L{local[0]} H{local[1]}, "
        f"{found[local]:.1f} pixels. Most global: L{wide[0]} H{wide[1]}, {found[wide]:.1f} pixels."
    )
    plot(
        figures.distance_dots(found), height=300, key="patch-distances",
        alt="Attention distance in pixels of every head, by layer.",
    )  # fmt: skip
    st.caption(about.text(__file__, "How far each head attends"))
