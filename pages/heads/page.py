"""Heads: every head as a small map, one of them large: as a map, as lines, in the text itself; what it attends to."""

from __future__ import annotations

import streamlit as st

from pages.core.frame import current_view, heading
from pages.core.lazy import expander
from pages.core.view import state
from pages.heads import grid, padding, prefetch, summary
from pages.heads import map as attention_view
from pages.heads import options as head_options
from pages.heads.export import export_head
from pages.heads.layout import STYLE

view = current_view()
config = view.loaded.config

st.html(f"<style>{STYLE}</style>")
with st.container(key="heads-page"), st.container(key="heads-body"):
    grid_side = st.container(key="heads-grid")
    head_side = st.container(key="heads-head")
    words_side = st.container(key="heads-words")
below = st.container(key="heads-below")

with grid_side:
    heading()
    st.markdown(
        f"The {config.n_layers} × {config.n_heads} heads of **{view.loaded.name}**, each a small map: row *i*, column "
        "*j* says how much token *i* attends to token *j*."
    )
with words_side:
    part = expander("Options", "options", icon=":material/tune:")
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
    padding.note(view)
    summary.sink_note(view, options)
    summary.what_is_seen(view, options, shown, held)
with below:
    grid.draw_pins(view, options, held)
with grid_side:
    grid.draw_grid(view, options)
with below:
    export_head(view, options, shown, held)
    prefetch.send(view, options)
