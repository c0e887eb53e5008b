"""Heads: a small map of every head; one head large: as a map, lines, text or vectors, or next to another head."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from encoder.export import HeadView, Map, report
from pages.components.button import button
from pages.components.lazy import expander
from pages.core.corpora import corpus_line
from pages.core.frame.frame import heading, show
from pages.core.inputs import image_input
from pages.core.inputs.input_words import words_of
from pages.core.view import View
from pages.core.widgets import Export, answer, title
from pages.core.words import opening
from pages.heads import (
    ask,
    cross,
    grid,
    image,
    lines,
    map,
    next_head,
    options,
    padding,
    page_words,
    sound,
    summary,
    text,
    vectors,
)
from pages.heads.compare import view as compare
from pages.heads.head_maps import single
from pages.heads.params import Params
from pages.heads.types import page as types
from pages.state import next_page, state


def _map(view: View, head: Map) -> HeadView:
    map.draw_map(view, head)
    return head


#: View of the open head -> what draws it and returns its numbers.
OF_HEAD: dict[str, Callable[[View, Map], HeadView]] = {
    "map": _map,
    "lines": lambda view, head: lines.draw_lines(view, head) or head,
    "text": text.draw_text,
}
#: Views of the run without edits and padding; each draws one head and returns its export.
TRAINED: dict[str, Callable[[View], Export | None]] = {"vectors": vectors.draw, "beside": compare.draw}
#: What draws the input itself, by its kind, in the place of its text.
OF_INPUT: dict[str, Callable[[View], Export]] = {
    "page": page_words.draw, "tree": page_words.draw, "image": image.draw, "video": image.draw,
    "sound": sound.draw,
}  # fmt: skip


def main(view: View) -> None:
    if part := types.shown(view):
        with heading():
            types.choose(view)
        types.draw(view, part)
        return
    of_stack = options.stack(view)
    if of_stack is None:
        cross.draw(view)
    else:
        one_stack(of_stack)


def one_stack(view: View) -> None:
    """The page of an encoder or decoder."""
    kind, shown = view.trace.kind, options.shown_view(view)
    around = "heads-drawn" if kind == "image" and image_input.is_drawn(view.loaded) else "heads-whole"
    with st.container(key="heads-page"), st.container(key=around), st.container(key="heads-body"):
        grid_side = st.container(key="heads-grid")
        head_side = st.container(key=options.HEAD)
        words_side = st.container(key="heads-words")
    below = st.container(key="heads-below")

    with grid_side:
        heading()
        opening(
            f"Which {words_of(view.trace).tokens} does each head attend to? **L{view.layer} H{view.head}** means layer "
            f"{view.layer}, head {view.head}; both count from 0."
        )
        place_of_grid = st.container(gap="small")
    with words_side:
        if kind == "text":
            ask.strip(view)
        part = expander("Options", "options", icon=":material/tune:")
    if part is not None:
        with part:
            options.controls(view)
    given = options.input_of(view)
    draws_input = shown == "text" and given in OF_INPUT
    # These show one head, as the model computes it.
    head = options.one_head(view) if shown in TRAINED or draws_input else options.open_head(view)

    # The large map comes first: in a long text, the small maps take longer.
    with head_side:
        head_row(view, head)
        if shown in TRAINED:
            trained = options.as_trained(view)
            if trained.run.of_pass != view.run.of_pass:
                st.caption("This view shows the run without edits and padding.")
            exported = TRAINED[shown](trained)
        else:
            exported = OF_INPUT[given](view) if draws_input else one_head(view, head, shown)

    with words_side:
        padding.note(view)
        if single(head) is not None:
            corpus_line.draw(view)
        summary.sink_note(view, head)
    with below:
        map.draw_pins(view, head.options)
    with place_of_grid:
        grid.draw_grid(view, head.options)
    with below:
        if exported is not None:
            exported.draw()
        next_page("contribution", "Does a token with a large weight also add much?")
        if shown == "map":
            next_head.send(view, head)


def head_row(view: View, head: Map) -> None:
    """The name of the open head, its views, and the button that pins it."""
    with st.container(key="heads-row", horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        with answer.words_of_picture(options.HEAD), st.container(horizontal=True, vertical_alignment="center"):
            st.header(head.name, anchor=False, width="content")
            if single(head) is not None and (named := grid.types_of_head(view)):
                with st.container(key="heads-type", width="content"):
                    st.caption(named)
        with st.container(horizontal=True, width="content", gap="small", vertical_alignment="center"):
            options.choose_view(view)
            pinned = (view.layer, view.head) in state.get(Params.pins)
            button(
                f"{'Unpin' if pinned else 'Pin'} L{view.layer} H{view.head}",
                "keep_off" if pinned else "keep",
                "pin",
                partial(options.toggle_pin, view.layer, view.head),
                help="Unpin this head" if pinned else "Pin this head: compare it with others below",
                disabled=single(head) is None,
            )


def one_head(view: View, head: Map, shown: str) -> Export:
    """The answer and the picture of the open head. shown: one of OF_HEAD."""
    with answer.area():
        summary.draw_answer(view, head)
        drawn = OF_HEAD[shown](view, head)
        options.hide_special(view)
    return Export(
        view,
        title(view, drawn.name),
        drawn.frame,
        sections=lambda: report.sections(drawn, view.colours),
        lines=drawn.code(),
        settings=drawn.facts(),
        verb="trace" if single(head) is not None and view.loaded.takes == "text" else "",
    )


show(main)
