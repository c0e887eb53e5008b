"""Heads: every head as a small map, one of them large: as a map, as lines, in the text itself; what it attends to."""

from __future__ import annotations

import streamlit as st

from pages.shared import attention_view, head_options, head_padding, head_words, many_heads, ready_maps
from pages.shared.fold import fold
from pages.shared.frame import current_view
from pages.shared.head_layout import STYLE
from pages.shared.take_head import take_head
from pages.shared.view import state

view = current_view()
config = view.loaded.config

st.html(f"<style>{STYLE}</style>")
with st.container(key="heads-page"), st.container(key="heads-body"):
    grid_side = st.container(key="heads-grid")
    head_side = st.container(key="heads-head")
    words_side = st.container(key="heads-words")
below = st.container(key="heads-below")

with grid_side:
    st.header("Heads", anchor=False)
    st.markdown(
        f"The {config.n_layers} × {config.n_heads} heads of **{view.loaded.name}**, each a small map: row *i*, column "
        "*j* says how much token *i* attends to token *j*."
    )
with words_side:
    part = fold("Options", "options", icon=":material/tune:")
if part is not None:
    with part:
        head_options.controls(view)
options = head_options.chosen(view)

layer, head = head_options.averaged(view.layer, view.head, options.average)
shown = head_options.shown_map(view, options, layer, head)
held = head_options.held(view)

# The large map comes first: in a long text the small ones take their time.
with head_side:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.subheader(head_options.name(view, options), anchor=False, width="content")
        with st.container(horizontal=True, width="content", gap="small", vertical_alignment="center"):
            kind = state.bound(
                st.segmented_control, "view", "View", ["map", "lines", "text"], required=True, width="content",
                label_visibility="collapsed", format_func=str.title,
            )  # fmt: skip
            pinned = (view.layer, view.head) in state.get("pins")
            st.button(
                f"{'Unpin' if pinned else 'Pin'} L{view.layer} H{view.head}", key="pin",
                icon=":material/keep_off:" if pinned else ":material/keep:",
                help="Take this head away from those below" if pinned else "Pin: show this head beside others, below",
                on_click=head_options.pin, args=(view.layer, view.head), disabled=options.average != "none",
            )  # fmt: skip
    if kind == "map":
        attention_view.draw_map(view, options, shown, held)
    elif kind == "lines":
        attention_view.draw_lines(view, options, shown, held)
    else:
        attention_view.draw_text(view, options, shown, held)

with words_side:
    head_padding.note(view)
    head_words.sink_note(view, options)
    head_words.what_is_seen(view, options, shown, held)
with below:
    many_heads.draw_pins(view, options, held)
with grid_side:
    many_heads.draw_grid(view, options)
with below:
    take_head(view, options, shown, held)
    ready_maps.send(view, options)
