"""All attention maps before and after the edits."""

import numpy as np
import streamlit as st

from encoder import Trace, figures
from encoder.edits import Edit
from encoder.measure import aggregate
from pages.components import head_grid
from pages.core.stores import cache
from pages.core.view import View, selection, small_maps


def draw(view: View, edited: Trace, active: tuple[Edit, ...]) -> None:
    """Two grids side by side. Heads whose attention stays the same are faded in the second."""
    if view.trace.n_tokens > small_maps.LONG_TEXT:
        st.info(f"The grids are limited to {small_maps.LONG_TEXT:,} tokens. Use a shorter text.")
        return
    layers = range(view.loaded.config.n_layers)
    before = np.stack([small_maps.of_layer(view, layer) for layer in layers])
    after = cache.computed(
        ("edited maps", view.model, view.text, view.pair, active),
        lambda: aggregate.to_uint8(edited.thumbnails(small_maps.SIDE)),
    )
    same = (before == after).all(axis=(2, 3))
    for place, (title, maps, dim) in zip(
        st.columns(2, gap="medium"), (("Before", before, None), ("After", after, same)), strict=True
    ):
        with place:
            st.markdown(f"**Attention {title.lower()} the edits**")
            head_grid(
                maps, layers=before.shape[0], heads=before.shape[1], selected=(view.layer, view.head),
                key=f"grid-{title.lower()}", alt=f"Attention maps of all heads {title.lower()} the edits.",
                colorscale=figures.thumbnails_lut(view.colours), dim=dim, on_event=selection.open_from,
            )  # fmt: skip
    changed = int((~same).sum())
    faded = "; the others are faded" if 0 < changed < same.size else ""
    st.caption(
        f"Attention changes in {changed} of {same.size} heads{faded}. "
        "A head that is switched off keeps its own attention: its result is discarded. Later layers can change."
    )
