"""What every page stands in: the sidebar, the model that is loaded, the notes about the link; then the page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from encoder.device import memory_in_use
from encoder.errors import EncoderError, OutOfMemory
from pages.core import (  # noqa: F401  their values are registered before a page is drawn
    cache,
    formulas,
    head_measures,
    mobile_bar,
    padding,
    placement_toggle,
    selection,
    sidebar,
    unknown_words,
)
from pages.core.view import View, state

_VIEW, _TITLE = "_current_view", "_current_title"

#: Streamlit's wide layout leaves 5 rem on each side; a projector's 1280 pixels are for the maps.
STYLE = """
.stMainBlockContainer { padding: 3.75rem 2rem 3rem; }
@media (max-width: 640px) { .stMainBlockContainer { padding: 3.75rem 0.75rem 3rem; } }
[data-testid="stSidebarHeader"] { height: 2.5rem; }
"""


def run(page: StreamlitPage, area: DeltaGenerator, *, pads: bool = False, traced: bool = True) -> None:
    """Draw the sidebar, load the model, run the page, write the view into the URL.

    pads: whether the page runs a text as in a batch, where that is asked for; traced: whether it draws anything of the
    sidebar's model.
    """
    st.html(f"<style>{STYLE}{mobile_bar.STYLE}{formulas.STYLE}</style>")
    st.session_state[_TITLE] = page.title
    state.begin()
    go_on = placement_toggle.before_sidebar(page)
    try:
        with st.sidebar:
            sidebar.sentence_controls()
            place_of_windows = st.container()
            sidebar.model_controls()
            go_on()
            place_of_head = st.container()
            sidebar.display_controls()
            place_of_memory = st.container()
        with area:
            mobile_bar.bar(state.get("text"), state.get("pair"))
        view = _load(page, area, place_of_windows, place_of_head, pads)
        if view is not None:
            st.session_state[_VIEW] = view
            _notes(area, view)
            if view.trace.finite or not traced:
                page.run()
            else:
                _say_that_numbers_are_none(area, page, view)
            place_of_memory.caption(_memory(view))
    finally:
        # However the page ended, the address says what was looked at and nothing that was typed is lost.
        state.end()


def heading() -> None:
    """The name of the page that is open, as its heading."""
    st.header(st.session_state[_TITLE], anchor=False)


def current_view() -> View:
    """The View of this run: what a page looks at."""
    return st.session_state[_VIEW]


def _load(
    page: StreamlitPage,
    area: DeltaGenerator,
    place_of_windows: DeltaGenerator,
    place_of_head: DeltaGenerator,
    pads: bool,
) -> View | None:
    """Load the model and trace the text, with a word on what goes on; None (and a sentence) where that cannot be."""
    model = None
    try:
        with area, st.spinner("Loading the model …", show_time=False):
            key = sidebar.read_model_key()
            model = cache.model(key)
        with place_of_head:
            sidebar.head_controls(model.config)
        with place_of_windows:
            key = sidebar.long_text_controls(key, model)
        view = sidebar.current_view(key)
        with area, st.spinner("Running the encoder …", show_time=False):
            view = padding.applied(view) if pads else view
            n_tokens = view.trace.n_tokens
        # A selected token of padding stays selected while padding is hidden.
        return sidebar.with_selection_inside(view, view.model.pad or n_tokens)
    except EncoderError as error:
        if isinstance(error, OutOfMemory):
            cache.forget_traces()
        if model is None:
            with place_of_head:
                sidebar.head_controls_without_model()
        area.header(page.title, anchor=False)
        _link_notes(area)
        area.error(str(error), icon=":material/error:")
        return None


def _link_notes(area: DeltaGenerator) -> None:
    """What in the address could not be taken as it stood, in one box."""
    if state.notes():
        area.warning("  \n".join(sidebar.plain(sentence) for sentence in state.notes()), icon=":material/link_off:")


def _notes(area: DeltaGenerator, view: View) -> None:
    """Sentences about the link, the text and the model that hold on every page."""
    _link_notes(area)
    if view.trace.source is not None and view.trace.source.cut:
        _say_what_of_a_long_text_is_shown(area, view)
    if not view.text.strip() and view.pair is None:
        area.info("Nothing is typed: what is shown are the special tokens alone. Type a sentence in the sidebar.")
    if view.model.scratch is not None:
        area.info(
            "Random weights, never trained: the maps show what initialisation alone gives.", icon=":material/casino:"
        )
    for sentence in view.loaded.notes:
        area.info(sentence, icon=":material/info:")
    unknown = unknown_words.sentence(view.trace, view.loaded)
    if unknown:
        area.info(sidebar.plain(unknown), icon=":material/unknown_document:")


def _say_that_numbers_are_none(area: DeltaGenerator, page: StreamlitPage, view: View) -> None:
    """In place of a page about numbers that are none."""
    area.header(page.title, anchor=False)
    area.error(
        f"The output of {sidebar.plain(view.loaded.name)} holds NaN or infinity, so there is nothing to draw: its "
        "weights are broken, or its training diverged. Choose another model in the sidebar.",
        icon=":material/error:",
    )


def _say_what_of_a_long_text_is_shown(area: DeltaGenerator, view: View) -> None:
    source, takes = view.trace.source, view.loaded.config.max_tokens
    assert source is not None
    if view.model.window is None:
        long = f"This text is {source.n_full:,} tokens; {view.loaded.name} takes {takes:,}."
        shown = f"the first {len(source):,}" if view.pair is None else f"{len(source):,}, the longer sentence cut first"
        remedy = "Sliding windows, in the sidebar, show the rest."
        area.warning(f"{long} Shown: {shown}. {remedy}", icon=":material/content_cut:")
        return
    spans = cache.window_spans(view.model, view.text, view.pair)
    here = spans[min(view.model.window, len(spans) - 1)]
    # Each window has special tokens of its own, so the text's tokens are counted without them.
    slid, kept = "This text", ""
    if view.pair is not None:
        sides = ("first", "second")
        slid, other = f"The {sides[here.slides]} sentence", f"the {sides[1 - here.slides]} sentence"
        n_other = source.n_full - sum(source.special) - spans[-1].tokens[1]
        whole = here.n_kept == n_other
        kept = f" and {other}, whole" if whole else f" and of {other} the first {here.n_kept:,} of {n_other:,} tokens"
    long = f"{slid} is {spans[-1].tokens[1]:,} tokens without special ones; {view.loaded.name} takes {takes:,}"
    area.info(
        f"{long}{' for both' if kept else ''}. Shown: window {view.model.window} of 0 to {len(spans) - 1}, its "
        f"tokens {here.tokens[0]:,} to {here.tokens[1] - 1:,}{kept}. Each window is run by itself: no token sees one "
        f"outside its window, and positions count from 0 again. {_overlap(spans)}",
        icon=":material/view_carousel:",
    )


def _overlap(spans: Sequence[cache.WindowSpan]) -> str:
    """By how much the windows of a text overlap."""
    first, second = (stretch.tokens for stretch in spans[:2])
    common = first[1] - second[0]
    if not common:
        return "Windows do not overlap."
    return f"Windows overlap by {common:,} of the {first[1]:,} tokens of text that each holds."


def _memory(view: View) -> str:
    """Where the model runs and what it takes."""
    model = view.loaded
    weights = cache.model_bytes(model)
    megabytes = f"{weights / 1e6:,.0f}" if weights >= 1e6 else f"{weights / 1e6:.2g}"
    device = str(model.device).upper()
    return (
        f"{model.name}: {model.n_parameters:,} parameters, {megabytes} MB of weights on {device}. "
        f"In use: {memory_in_use(model.device) / 1e6:,.0f} MB, kept traces {cache.bytes_in_use() / 1e6:,.0f} MB of it."
    )
