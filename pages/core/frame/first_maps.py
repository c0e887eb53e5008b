"""The small maps of a long text while the encoder runs: each layer as soon as it is computed.

Shapes: H heads, S cells.
"""

import numpy as np
import streamlit as st

from encoder import figures
from encoder.run import ModelSpec, Run
from pages.core.stores import model_store
from pages.core.view import ViewParams, small_maps, typed_text
from pages.state import state

#: Pixels between two maps.
GAP = 2


def run(model: ModelSpec) -> None:
    """Run the encoder on the visitor's text. What this draws is gone when the page is drawn.

    Raises EncoderError if the model cannot run.
    """
    config, colours = model_store.model(model).config, figures.thumbnails_lut(state.get(ViewParams.colours))
    place, rows = st.empty(), None

    def draw(layer: int, maps: np.ndarray) -> None:
        nonlocal rows
        rows = rows or place.container(key="first-maps")
        said = f"Layer {layer} of 0 to {config.n_layers - 1}, heads 0 to {config.n_heads - 1}"
        rows.image(strip(maps, colours), caption=said, alt=said, width="stretch")

    small_maps.during_the_pass(Run(model, typed_text()), draw)
    place.empty()


def strip(maps: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """uint8 [H, S, S] -> [S, H x (S + GAP), 4]: one row of maps in `colours` [256, 3], transparent between them."""
    n_heads, side, _ = maps.shape
    cells = np.zeros((n_heads, side, side + GAP, 4), np.uint8)
    cells[:, :, :side, :3] = colours[maps]
    cells[:, :, :side, 3] = 255
    return cells.transpose(1, 0, 2, 3).reshape(side, -1, 4)
