"""Heads: a small map of every head; one head large: as a map, lines, text or vectors, or next to another head."""

import streamlit as st

from encoder.export import HeadView, report
from pages.components.lazy import expander
from pages.core.corpora import corpus_line
from pages.core.frame.frame import heading, show
from pages.core.inputs import image_input
from pages.core.inputs.input_words import words_of
from pages.core.view import View
from pages.core.widgets import Export, answer, title
from pages.core.words import opening
from pages.heads import ask, cross, grid, image, lines, map, next_head, options, padding, sound, summary, text, vectors
from pages.heads.compare import view as compare
from pages.heads.head_maps import single
from pages.heads.params import Params
from pages.state import next_page, state

#: Views of the run without edits and padding.
TRAINED = ("vectors", "beside")
#: What draws the input itself, by its kind.
DRAW_INPUT = {"image": image.draw, "sound": sound.draw}


def main(view: View) -> None:
    of_stack = options.stack(view)
    if of_stack is None:
        cross.draw(view)
    else:
        one_stack(of_stack)


def one_stack(view: View) -> None:
    """The page of an encoder or decoder."""
    words, kind = words_of(view.trace), view.trace.kind
    shown = options.shown_view(view)

    around = "heads-drawn" if kind == "image" and image_input.is_drawn(view.loaded) else "heads-whole"
    with st.container(key="heads-page"), st.container(key=around), st.container(key="heads-body"):
        grid_side = st.container(key="heads-grid")
        head_side = st.container(key=options.HEAD)
        words_side = st.container(key="heads-words")
    below = st.container(key="heads-below")

    with grid_side:
        heading()
        opening(
            f"Which {words.tokens} does each head attend to? **L{view.layer} H{view.head}** means layer {view.layer}, "
            f"head {view.head}; both count from 0."
        )
        place_of_grid = st.container(gap="small")
    with words_side:
        if kind == "text":
            ask.strip(view)
        part = expander("Options", "options", icon=":material/tune:")
    if part is not None:
        with part:
            options.controls(view)
    head = options.open_head(view)
    if shown in TRAINED or (shown == "text" and kind in DRAW_INPUT):  # these show one head, as the model computes it
        head = options.one_head(view)

    def draw_head(view_of_head: str) -> Export:
        """The map, the lines or the shaded text of the open head."""
        drawn: HeadView = head
        with answer.area():
            summary.draw_answer(view, head)
            if view_of_head == "map":
                map.draw_map(view, head)
            elif view_of_head == "lines":
                drawn = lines.draw_lines(view, head) or head
            else:
                drawn = text.draw_text(view, head)
            options.hide_special(view)
        return Export(
            view,
            title(view, drawn.name),
            drawn.frame,
            sections=lambda: report.sections(drawn, view.colours),
            lines=drawn.code(),
            settings=drawn.facts(),
        )

    # The large map comes first: in a long text, the small maps take longer.
    with head_side:
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            with answer.words_of_picture(options.HEAD):
                st.header(head.name, anchor=False, width="content")
            with st.container(horizontal=True, width="content", gap="small", vertical_alignment="center"):
                options.choose_view(view)
                pinned = (view.layer, view.head) in state.get(Params.pins)
                st.button(
                    f"{'Unpin' if pinned else 'Pin'} L{view.layer} H{view.head}", key="pin",
                    icon=":material/keep_off:" if pinned else ":material/keep:",
                    help="Unpin this head" if pinned else "Pin this head: compare it with others below",
                    on_click=options.toggle_pin, args=(view.layer, view.head), disabled=single(head) is None,
                )  # fmt: skip
        if shown in TRAINED:
            trained = options.as_trained(view)
            if trained.run.of_pass != view.run.of_pass:
                st.caption("This view shows the run without edits and padding.")
            exported = vectors.draw(trained) if shown == "vectors" else compare.draw(trained)
        elif shown == "text" and kind in DRAW_INPUT:
            exported = DRAW_INPUT[kind](view)
        else:
            exported = draw_head(shown)

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
        next_page("head_types", "Head types, what each head does")
        if shown == "map":
            next_head.send(view, head)


show(main)
