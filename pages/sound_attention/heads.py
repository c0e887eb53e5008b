"""All heads of the model: what the query attends to over time, one row for each head."""

from __future__ import annotations

import streamlit as st

from encoder.figures.sound import time_map
from encoder.measure import sounds
from pages.components import on_click, plot
from pages.core.frame import sidebar
from pages.core.view.view import View
from pages.sound_attention.heard import Heard


def draw(view: View, found: Heard) -> None:
    """The map of all heads; a click opens a head."""
    st.header("All heads", anchor=False)
    config = view.loaded.config
    weights = view.derived(("all-heads", found.query), lambda trace: sounds.all_heads_over_time(trace, found.query))
    rows = weights.reshape(config.n_layers * config.n_heads, -1)
    names = [f"L{layer} H{head}" for layer in range(config.n_layers) for head in range(config.n_heads)]
    plot(
        time_map(
            rows, found.over.starts, names, title="head", colours=view.colours,
            selected=(view.layer * config.n_heads + view.head, None), hover="%{y}, from %{x}: %{z:.3f}", downwards=True,
        ),
        key="sound-heads",
        alt=f"What {found.name} attends to over time, one row for each of {len(rows)} heads.",
        height=min(520, 90 + 18 * len(rows)),
        on_event=on_click(row=lambda row: sidebar.open_head(*divmod(row, config.n_heads))),
    )  # fmt: skip
    st.caption(f"Each row is a head: the weights with which {found.name} attends to each time. Click a row to open it.")
