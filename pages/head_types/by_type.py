"""For each head type the small maps of its heads."""

import numpy as np
import streamlit as st

from encoder import figures
from encoder.measure.head_types import HEAD_TYPES, HeadType
from pages.components import head_grid
from pages.core import sidebar, small_maps
from pages.core.view import View
from pages.head_types.heads import Heads


def draw(view: View, found: Heads) -> None:
    """The types that heads have, each with its heads; then the names of the types that no head has."""
    missing = []
    for one in HEAD_TYPES:
        if found.wanted and one.name != found.wanted:
            continue
        numbers = found.with_type(one.name)
        if numbers:
            _strip(view, found, one, numbers)
        else:
            missing.append(one.title.lower())
    if missing:
        st.caption(f"Types that no head has in this sentence: {', '.join(missing)}.")


def _strip(view: View, found: Heads, one: HeadType, numbers: list[int]) -> None:
    heads = [divmod(number, found.n_heads) for number in numbers]
    layers = sorted({layer for layer, _ in heads})
    st.markdown(f"**{one.title}** · {len(heads)}  \n{one.sentence}")
    head_grid(
        np.stack([small_maps.of_layer(view, layer) for layer in layers]),
        layers=layers,
        heads=found.n_heads,
        order=heads,
        selected=(view.layer, view.head),
        key=f"strip-{one.name}",
        alt=f"{one.title}: " + ", ".join(f"L{layer} H{head}" for layer, head in heads) + ".",
        colorscale=figures.thumbnails_lut(view.colours),
        on_event=lambda event: event["event"] == "open" and sidebar.open_head(event["layer"], event["head"]),
    )
