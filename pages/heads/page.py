"""Attention heads: a small map of every head; one head large, as a map, as lines or as the shaded text."""

from __future__ import annotations

import streamlit as st

from encoder.export import HeadView, report
from pages.components.lazy import expander
from pages.core.corpora import corpus_line
from pages.core.frame.frame import current_view, heading
from pages.core.widgets.answer import area
from pages.core.widgets.export import Export, title
from pages.core.words.glossary import brief_opening
from pages.heads import answer, ask, grid, next_head, options, padding, pins, summary
from pages.heads.head_maps import single
from pages.heads.lines import draw_lines
from pages.heads.map import draw_map
from pages.heads.params import VIEWS, Params
from pages.heads.text import draw_text
from pages.state.links import next_page
from pages.state.url_state import state

view = current_view()

with st.container(key="heads-page"), st.container(key="heads-body"):
    grid_side = st.container(key="heads-grid")
    head_side = st.container(key="heads-head")
    words_side = st.container(key="heads-words")
below = st.container(key="heads-below")

with grid_side:
    heading()
    brief_opening(
        f"Each small map is one head of **{view.loaded.name}**: row i attends to column j. Look for diagonals and "
        "stripes. Weights suggest where information may come from."
    )
    if view.trace.kind == "text":
        ask.strip(view)
with words_side:
    part = expander("Options", "options", icon=":material/tune:")
if part is not None:
    with part:
        options.controls(view)
head = options.open_head(view)

# The large map comes first: in a long text, the small maps take longer.
with head_side:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header(head.name, anchor=False, width="content")
        with st.container(horizontal=True, width="content", gap="small", vertical_alignment="center"):
            kind = state.segmented(
                Params.view, "View", VIEWS, width="content", label_visibility="collapsed", format_func=str.title
            )
            pinned = (view.layer, view.head) in state.get(Params.pins)
            st.button(
                f"{'Unpin' if pinned else 'Pin'} L{view.layer} H{view.head}", key="pin",
                icon=":material/keep_off:" if pinned else ":material/keep:",
                help="Unpin this head" if pinned else "Pin this head: compare it with others below",
                on_click=options.toggle_pin, args=(view.layer, view.head), disabled=single(head) is None,
            )  # fmt: skip
    drawn: HeadView = head
    with area():
        answer.draw(view, head)
        options.hide_special(view)
        if kind == "map":
            draw_map(view, head)
        elif kind == "lines":
            drawn = draw_lines(view, head) or head
        else:
            drawn = draw_text(view, head)

with words_side:
    padding.note(view)
    if single(head) is not None:
        corpus_line.draw(view)
    summary.sink_note(view, head)
    summary.strongest_weights(head)
with below:
    pins.draw_pins(view, head.options)
with grid_side:
    grid.draw_grid(view, head.options)
with below:
    Export(
        view,
        title(view, drawn.name),
        drawn.frame,
        sections=lambda: report.sections(drawn, view.colours),
        lines=drawn.code(),
        settings=drawn.facts(),
    ).draw()
    next_page("head_types", "Head types, what each head does")
    if kind == "map":
        next_head.send(view, head)
