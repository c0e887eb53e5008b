"""The controls of a text longer than the model accepts: cut, or shown window by window."""

from collections.abc import Sequence

import streamlit as st

import encoder
from encoder.run import ModelSpec, Run, Text
from pages.core.stores import cache
from pages.core.view import View, ViewParams, typed_text
from pages.core.words import plain
from pages.state import state

#: The most windows that hold one token, at the smallest stride.
MOST_SEEN = 20


def controls(spec: ModelSpec, model: encoder.TextEncoder) -> Text:
    """For a text longer than the model accepts: cut it, or show one window of it. Returns the text as it is shown."""
    typed = typed_text()
    n_bytes = len(f"{typed.text}{typed.pair or ''}".encode("utf-8", "replace"))
    if n_bytes + 8 <= model.config.max_tokens:  # every token covers a byte or more
        return typed
    if len(cache.window_spans(Run(spec, typed))) == 1:
        return typed
    chosen = state.segmented(
        ViewParams.long,
        "Text longer than the model accepts",
        {"cut": "Cut", "windows": "Sliding windows"},
        width="stretch",
        help="Cut: the model processes the beginning only. Sliding windows: overlapping parts, each by itself. "
        "For a pair, windows slide over the longer sentence and keep the other one.",
    )
    return typed if chosen == "cut" else _window_controls(Run(spec, typed))


def _window_controls(run: Run) -> Text:
    """Which sliding window is shown, and how many tokens lie between two windows."""
    size = cache.window_spans(run)[0].tokens[1]
    least = -(-size // MOST_SEEN)
    if state.newest(ViewParams.stride) is not None:
        state.limit(ViewParams.stride, least, size, "windows of this text can follow one another by")
        run = run.but(stride=state.newest(ViewParams.stride))
    spans = cache.window_spans(run)
    last = len(spans) - 1
    # Streamlit takes a slider with another end for a new widget, which must be given its value.
    st.session_state[state.key(ViewParams.window)] = state.limit(ViewParams.window, 0, last, "this text has windows")
    window = state.bound(st.slider, ViewParams.window, "Window", min_value=0, max_value=last)
    state.bound(
        st.number_input,
        ViewParams.stride,
        "Tokens between windows",
        min_value=least,
        max_value=size,
        step=1,
        value=None,
        placeholder=f"half a window: {max(1, size // 2)}",
        help=f"A window holds {size:,} tokens of this text. A smaller number gives more overlap.",
    )
    return run.but(window=window).of_text


def _ends(text: str, length: int = 24) -> str:
    """The beginning and the end of a text, in quotes."""
    text = " ".join(text.split())
    if len(text) <= 2 * length + 5:
        return f"“{text}”"
    return f"“{text[:length].rsplit(' ', 1)[0]} … {text[-length:].split(' ', 1)[-1]}”"


def note(view: View) -> None:
    """Which part of a text that is longer than the model accepts is shown."""
    source, most = view.trace.source, view.loaded.config.max_tokens
    assert source is not None
    shown_window = view.run.of_text.window
    if shown_window is None:
        shown = (
            f"the first {len(source):,}" if view.pair is None else f"{len(source):,}, the longer sentence is cut first"
        )
        st.warning(
            f"This text has {source.n_full:,} tokens; {view.loaded.name} accepts {most:,}. Shown: {shown}. To see the "
            "rest, choose sliding windows above.",
            icon=":material/content_cut:",
        )
        return
    spans = cache.window_spans(view.run)
    here = spans[min(shown_window, len(spans) - 1)]
    first, end = here.tokens
    slid = view.pair if view.pair is not None and here.slides == 1 else view.text
    ends = plain(_ends(slid[slice(*here.characters)]))
    st.info(
        f"{_slid_text(view, here, spans[-1].tokens[1])} Shown: window {shown_window} of 0 to {len(spans) - 1}, "
        f"tokens {first:,} to {end - 1:,}, {ends}. The model processes each window by itself: no token attends outside "
        f"it, and positions start at 0. {_overlap(spans)}",
        icon=":material/view_carousel:",
    )


def _slid_text(view: View, here: cache.WindowSpan, n_slid: int) -> str:
    """How long the text is that the windows slide over, and what they keep of a second one."""
    source, most = view.trace.source, view.loaded.config.max_tokens
    if view.pair is None:
        return f"This text has {n_slid:,} tokens without special tokens; {view.loaded.name} accepts {most:,}."
    # Each window has special tokens of its own, so they are left out of the count.
    n_kept = source.n_full - sum(source.special) - n_slid
    sides = ("first", "second")
    kept = "whole" if here.n_kept == n_kept else f"the first {here.n_kept:,} of its {n_kept:,} tokens"
    return (
        f"The {sides[here.slides]} sentence has {n_slid:,} tokens without special tokens; {view.loaded.name} accepts "
        f"{most:,} for both. Each window keeps the {sides[1 - here.slides]} sentence: {kept}."
    )


def _overlap(spans: Sequence[cache.WindowSpan]) -> str:
    """How many tokens two windows share."""
    first, second = (span.tokens for span in spans[:2])
    shared = first[1] - second[0]
    return f"Windows overlap by {shared:,} of {first[1]:,} tokens." if shared else "Windows do not overlap."
