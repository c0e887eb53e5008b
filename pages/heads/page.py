"""Heads: a small map of every head; one head large: as a map, lines, text or vectors, or next to another head."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder.export import HeadView, Map, report
from pages.components.button import button
from pages.components.lazy import expander
from pages.core.corpora import corpus_line
from pages.core.frame import frame
from pages.core.inputs import image_input
from pages.core.inputs.input_words import words_of
from pages.core.view import MapParams, View, first_view
from pages.core.widgets import Export, answer, title
from pages.core.words import opening
from pages.heads import (
    ask,
    colourings,
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
    if kind := types.shown(view):
        frame.place_controls()
        with frame.heading():
            types.choose(view)
        types.draw(view, kind)
        return
    of_stack = options.stack(view)
    if of_stack is None:
        frame.place_controls()
        cross.draw(view)
    else:
        one_stack(of_stack)


@dataclass(frozen=True)
class Places:
    """Where the parts of the page are drawn. They are made with the page: a part cannot move them."""

    grid: DeltaGenerator
    #: Of the open head: its name, its pin, what it shows.
    name: DeltaGenerator
    pin: DeltaGenerator
    head: DeltaGenerator
    words: DeltaGenerator
    below: DeltaGenerator


def one_stack(view: View) -> None:
    """The page of an encoder or decoder."""
    kind = view.trace.kind
    around = "heads-drawn" if kind == "image" and image_input.is_drawn(view.loaded) else "heads-whole"
    with st.container(key="heads-page"), st.container(key=around), st.container(key="heads-body"):
        grid_side = st.container(key="heads-grid")
        head_side = st.container(key=options.HEAD)
        words_side = st.container(key="heads-words")
    below = st.container(key="heads-below")
    with grid_side:
        frame.heading()
        opening(
            f"Which {words_of(view.trace).tokens} does each head attend to? **L{view.layer} H{view.head}** means layer "
            f"{view.layer}, head {view.head}; both count from 0."
        )
        grid_itself = st.container(gap="small")
    with head_side:
        row = st.container(
            key="heads-row", horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
        )
        head_itself = head_side if as_computed(view) else answer.area()
    with row:
        name = st.container(width="content")
        right = st.container(horizontal=True, width="content", gap="small", vertical_alignment="center")
    with right:
        options.choose_view(view)
    with grid_itself:
        head_type = grid.controls(view)
    with words_side:
        if kind == "text":
            ask.strip(view)
        drawer = expander("Options", "options", icon=":material/tune:")
    if drawer is not None:
        with drawer:
            options.controls(view)
    places = Places(grid_itself, name, right, head_itself, words_side, below)
    head = shown_head(view)

    def draw(now: View) -> Export | None:
        return of_head(places, head_type, now, head if now is view else shown_head(now))

    exported = frame.part(draw, view, (*first_view.HEAD, *first_view.TOKENS, MapParams.zoom))
    with head_side:
        if not as_computed(view):
            options.hide_special(view)
    with grid_itself:
        grid.rest(view, head.options, head_type)
    with below:
        if exported is not None:
            exported.draw()
        next_page("contribution", "Does a token with a large weight also add much?")
        if options.shown_view(view) == "map":
            next_head.send(view, head)


def of_head(places: Places, head_type: str, view: View, head: Map) -> Export | None:
    """All that shows which head is open. head_type: that the heads of the grid must have."""
    frame.place_controls()
    name_of_head(places, view, head)

    def draw(now: View) -> Export | None:
        return of_tokens(places, now, head if now is view else shown_head(now))

    # The large map comes first: in a long text, the small maps take longer.
    if colourings.over_image(view):  # the small maps show the selected token, too
        exported = draw(view)
    else:
        exported = frame.part(draw, view, (*first_view.TOKENS, MapParams.zoom))
    with places.words:
        st.empty()  # a part draws only where it has drawn with the page
        padding.note(view)
        if single(head) is not None:
            corpus_line.draw(view)
        summary.sink_note(view, head)
    with places.grid:
        grid.draw(view, head.options, head_type)
    return exported


def of_tokens(places: Places, view: View, head: Map) -> Export | None:
    """All that shows which tokens are selected: the open head, and pinned ones."""
    shown, given = options.shown_view(view), options.input_of(view)
    exported: Export | None
    with places.head:
        if shown in TRAINED:
            trained = options.as_trained(view)
            if trained.run.of_pass != view.run.of_pass:
                st.caption("This view shows the run without edits and padding.")
            exported = TRAINED[shown](trained)
        elif shown == "text" and given in OF_INPUT:
            exported = OF_INPUT[given](view)
        else:
            exported = one_head(view, head, shown)
    with places.below:
        map.draw_pins(view, head.options)
    return exported


def shown_head(view: View) -> Map:
    """The open head with the chosen options, where its view has options."""
    return options.one_head(view) if as_computed(view) else options.open_head(view)


def as_computed(view: View) -> bool:
    """Whether the open view shows one head as the model computes it, without options."""
    shown = options.shown_view(view)
    return shown in TRAINED or (shown == "text" and options.input_of(view) in OF_INPUT)


def name_of_head(places: Places, view: View, head: Map) -> None:
    """The name of the open head, and the button that pins it."""
    with places.name, answer.words_of_picture(options.HEAD):
        st.header(head.name, anchor=False, width="content")
        if single(head) is not None and (named := grid.types_of_head(view)):
            with st.container(key="heads-type", width="content"):
                st.caption(named)
    pinned = (view.layer, view.head) in state.get(Params.pins)
    with places.pin:
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
    summary.draw_answer(view, head)
    drawn = OF_HEAD[shown](view, head)
    return Export(
        view,
        title(view, drawn.name),
        drawn.frame,
        sections=lambda: report.sections(drawn, view.colours),
        lines=drawn.code(),
        settings=drawn.facts(),
        verb="trace" if single(head) is not None and view.loaded.takes == "text" else "",
    )


frame.show(main)
