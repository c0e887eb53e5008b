"""The part of the sidebar for a text longer than the model takes: cut, or shown window by window."""

from __future__ import annotations

import dataclasses

import streamlit as st

import encoder
from pages.core import cache
from pages.core.markdown import plain
from pages.core.url_state import state
from pages.core.view import ViewParams

#: The most windows that hold one token, at the smallest stride.
MOST_SEEN = 20


def controls(key: cache.ModelKey, model: encoder.TextEncoder) -> cache.ModelKey:
    """For a text longer than the model takes: cut it, or show one window of it. Returns the key with the window."""
    text, pair = state.get(ViewParams.text), state.get(ViewParams.pair) or None
    n_bytes = len(f"{text}{pair or ''}".encode("utf-8", "replace"))
    if n_bytes + 8 <= model.config.max_tokens:  # every token covers a byte or more
        return key
    if len(cache.window_spans(key, text, pair)) == 1:
        return key
    chosen = state.segmented(
        ViewParams.long,
        "Text longer than the model takes",
        {"cut": "Cut", "windows": "Sliding windows"},
        width="stretch",
        help="Cut: the model reads the beginning only. Sliding windows: it reads overlapping parts, each by itself. "
        "For a pair, windows slide over the longer sentence and keep the other one.",
    )
    return key if chosen == "cut" else _window_controls(key, text, pair)


def _window_controls(key: cache.ModelKey, text: str, pair: str | None) -> cache.ModelKey:
    """Which sliding window is shown, and how many tokens lie between two windows."""
    size = cache.window_spans(key, text, pair)[0].tokens[1]
    least = -(-size // MOST_SEEN)
    if state.newest(ViewParams.stride) is not None:
        state.limit(ViewParams.stride, least, size, "windows of this text can follow one another by")
        key = dataclasses.replace(key, stride=state.newest(ViewParams.stride))
    spans = cache.window_spans(key, text, pair)
    last = len(spans) - 1
    # Streamlit takes a slider with another end for a new widget, which must be given its value.
    st.session_state[state.key(ViewParams.window)] = state.limit(ViewParams.window, 0, last, "this text has windows")
    window = state.bound(st.slider, ViewParams.window, "Window", min_value=0, max_value=last)
    state.bound(
        st.number_input, ViewParams.stride, "Tokens between windows", min_value=least, max_value=size, step=1,
        value=None, placeholder=f"half a window: {max(1, size // 2)}",
        help=f"A window holds {size:,} tokens of this text. A smaller number gives more overlap.",
    )  # fmt: skip
    span = spans[window]
    slid = pair if pair is not None and span.slides == 1 else text
    whose = "" if pair is None else f" of the {('first', 'second')[span.slides]} sentence"
    st.caption(
        f"Window {window} of 0 to {last}: tokens {span.tokens[0]:,} to {span.tokens[1] - 1:,} of "
        f"{spans[-1].tokens[1]:,}{whose}. {plain(_ends(slid[slice(*span.characters)]))}"
    )
    return dataclasses.replace(key, window=window)


def _ends(text: str, length: int = 24) -> str:
    """The beginning and the end of a text, in quotes."""
    text = " ".join(text.split())
    if len(text) <= 2 * length + 5:
        return f"“{text}”"
    return f"“{text[:length].rsplit(' ', 1)[0]} … {text[-length:].split(' ', 1)[-1]}”"
