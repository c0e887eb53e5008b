"""The selected caption's words over the image: the cosine of a word's projected vector with each patch's."""

from __future__ import annotations

import numpy as np
import streamlit as st

from encoder.figures.colours import signed_lut
from encoder.measure import patches
from pages.components.patch_map import PatchEvent, patch_map
from pages.core.inputs import image_input
from pages.core.view import selection
from pages.core.words.markdown import plain
from pages.predict.pair import Pair
from pages.predict.params import CaptionParams
from pages.state.url_state import state

#: Tokens that are offered as buttons.
MOST_BUTTONS = 16


def draw(pair: Pair) -> None:
    """The image with the cosines of one token, and the tokens to choose from."""
    view, trace = pair.view, pair.caption.trace
    maps, grid = pair.over_patches(), patches.grid(view.trace)
    token = _token(pair)
    selected = None if view.i is None else grid.place(view.i)
    patch_map(
        image_input.IMAGES.shown(pair.model.image, view.text),
        maps[token],
        key="word-map",
        alt=f"The image in {grid.rows} x {grid.columns} patches, coloured by their cosine with {trace.labels[token]}.",
        colorscale=signed_lut(),
        label=f"cosine with {trace.labels[token]}",
        selected=selected,
        opacity=state.newest(CaptionParams.opacity),
        top=float(np.abs(maps).max()),
        signed=True,
        size=300,
        on_event=lambda event: _select(pair, event),
    )
    names = dict(enumerate(trace.labels))
    control = state.segmented if len(names) <= MOST_BUTTONS else _list
    control(CaptionParams.word, f"Word of the caption ({plain(trace.labels[-1])}: all of it)", names)
    state.bound(st.slider, CaptionParams.opacity, "Opacity", min_value=0.0, max_value=1.0, step=0.05, width=200)
    if trace.source is not None and trace.source.cut:
        st.caption(f"The model processes {trace.n_tokens} tokens: the end of this caption is cut.")


def _list(param: object, label: str, names: dict[int, str]) -> None:
    state.bound(st.selectbox, param, label, list(names), format_func=names.get)  # type: ignore[arg-type]


def _token(pair: Pair) -> int:
    """The selected token of the caption; at first the last one, whose vector is the caption's."""
    asked, last = state.newest(CaptionParams.word), pair.caption.trace.n_tokens - 1
    if not isinstance(asked, int) or asked > last:
        state.put(CaptionParams.word, last)
        return last
    return asked


def limits(pair: Pair) -> None:
    """What such a map can mean."""
    ends = plain(pair.caption.trace.labels[-1])
    special = plain(", ".join(patches.grid(pair.view.trace).before)) or "the pooled image"
    causal = " With a causal mask, a word’s vector also holds the words before it."
    st.caption(
        f"The model compares whole images and captions: {special} and {ends}. It was never trained on pairs of a word "
        "and a patch; here both are projected as if they stood for the whole. High cosines may hint at what a word "
        "refers to, and prove nothing." + (causal if pair.model.text.config.causal else "")
    )


def _select(pair: Pair, event: PatchEvent) -> None:
    grid = patches.grid(pair.view.trace)
    selection.select(None if event["event"] == "clear" else grid.token(event["row"], event["column"]), None)
