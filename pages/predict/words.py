"""The selected caption's words over the image: the cosine of a word's projected vector with each patch's."""

import numpy as np
import streamlit as st

from encoder.figures.colours import signed_lut
from encoder.measure import patches
from pages.core.widgets import over_image
from pages.core.words import about, plain
from pages.predict.pair import Pair
from pages.predict.params import CaptionParams
from pages.state import state

#: Tokens that are offered as buttons.
MOST_BUTTONS = 16


def draw(pair: Pair) -> None:
    """The image with the cosines of one token, and the tokens to choose from."""
    view, trace = pair.view, pair.caption.trace
    maps, token = pair.over_patches(), _token(pair)
    over_image.draw(
        view, maps[token], f"their cosine with {trace.labels[token]}", key="word-map", colorscale=signed_lut(),
        label=f"cosine with {trace.labels[token]}", opacity=state.newest(CaptionParams.opacity),
        top=float(np.abs(maps).max()), signed=True, size=300,
    )  # fmt: skip
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
    causal = "With a causal mask, a word’s vector also holds the words before it." * pair.model.text.config.causal
    st.caption(about.text(__file__, "Limits of a word over patches", special=special, ends=ends, causal=causal))
