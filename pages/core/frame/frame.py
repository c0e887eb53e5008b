"""The frame of every page: input and model, notes about link and text; then the page itself."""

import contextlib
import functools
import importlib
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from encoder import EncoderError, OutOfMemory, own
from encoder.encoders.named import NamedEncoder
from encoder.run import ModelSpec, Run, Text
from pages.base.work import page_slots
from pages.components import fade, toast
from pages.components.store import kept_text
from pages.core.frame import failures, input_row, presentation, settings, stand_in
from pages.core.frame.companions import Visit
from pages.core.frame.navigation import Page
from pages.core.inputs import chosen_input, edited, long_text, places_input, unknown_words
from pages.core.stores import cache, estimates, model_store
from pages.core.view import View, ViewParams, first_view, maps, model_spec, norm_change, output, padded, typed_text
from pages.core.view.view import PAGE_AS_TRAINED, PAGE_TAKES
from pages.core.widgets import adjust, answer, export, glossary_panel
from pages.core.words import glossary, plain, say_error
from pages.state import Param, state
from pages.state.bare import is_bare
from pages.state.url_state import HOME, touch

V = TypeVar("V")
#: What an address may open at any page: the names of a text and a model.
OF_EVERY_PAGE = {"text", "pair", "model", "source", "norm"}
_VIEW, _OPEN, _PAGES, _TITLE = "_current_view", "_open_page", "_pages_of_last_runs", "_title_place"
#: Where layer and head are chosen, with the config that sets their limits; whether parts of the page may run.
#: Whether a click in a part runs the whole page, which shows more of its values.
_PLACE, _IN_PARTS, _WHOLE = "_place_controls", "_runs_in_parts", "_runs_whole"
#: A pass of so many operations takes less than the half second after which Streamlit draws a spinner.
QUICK_FLOPS = 10**10
CAUSAL = "Causal mask: no token attends to a later one."


@functools.cache
def import_params() -> None:
    """Register the values of all pages: their params.py, and the modules of core that declare shared ones; once.

    Before them your own file runs, since its names are values, too. Raises EncoderError where it fails.
    """
    own.load()
    # These modules register values when they are imported, and the frame needs them for nothing else.
    from pages.core.inputs import image_input, sound_input, video_input  # noqa: F401
    from pages.core.view import head_measures, output, place  # noqa: F401
    from pages.core.widgets import outcomes  # noqa: F401

    for path in sorted(Path(__file__).parents[2].glob("*/params.py")):
        importlib.import_module(f"pages.{path.parent.name}.params")


def is_former_home() -> bool:
    """Whether the address is an old link to “Heads”, which opened at "/": a first visit with a view of it.

    A text and a model are not a view: "/?text=hello" opens the page at "/".
    """
    asked = set(st.query_params) & (set(state.params) - state.of_any_page() - OF_EVERY_PAGE)
    return not state.has_begun() and bool(asked) and HOME not in st.query_params


@page_slots.drawing()
def run(
    page: StreamlitPage,
    area: DeltaGenerator,
    entry: Page,
    visit: Visit,
    *,
    home: bool = False,
) -> None:
    """Draw the input, load the model, run the page, write the view into the address.

    entry: what the page declared in app.py; visit: of what goes with every page; home: whether it opens at "/", where a
    view without HOME in the address belongs to another page. The page's script ends with `show`.
    """
    st.session_state[_OPEN] = entry
    st.session_state[PAGE_TAKES], st.session_state[PAGE_AS_TRAINED] = entry.takes, entry.as_trained
    st.session_state[_PAGES] = (*st.session_state.get(_PAGES, ("",))[-1:], page.url_path)
    for name in (_VIEW, _TITLE, _PLACE):
        st.session_state.pop(name, None)
    is_first_run = not state.has_begun()
    with _values(home):
        if is_first_run:
            visit.first_view()
        stand_in.before_controls(entry.folder)
        with area:
            toast.draw()
            presentation.draw()
            if texts := state.kept():
                kept_text(texts, key="kept-text")
        with visit.beside() as is_shown:
            st.session_state[_IN_PARTS] = not (home or visit.is_shared())
            st.session_state[_WHOLE] = export.is_open()
            draw = page.run if is_shown else lambda: None
            has_input = entry.uses and not entry.own_controls and is_shown is not None
            if not entry.uses or is_shown is None:
                with area:
                    _link_notes()
                    for _ in range(2):  # the places of the last page's title and controls: this title does not move
                        st.empty()
            if has_input:
                _with_input(draw, area, entry)
            else:
                draw()
            if is_shown and entry.folder != "glossary":
                glossary_panel.draw(entry.folder)


@contextlib.contextmanager
def _values(home: bool = False, *, part: bool = False) -> Iterator[None]:
    """Read the address, then draw. However that ends, the address names the view and nothing typed is lost."""
    state.begin(part=part)
    is_whole = False
    try:
        yield
        is_whole = True
    finally:
        state.end(home=home, is_whole=is_whole)
        cache.collect_garbage()


def part(draw: Callable[[View], V], view: View, changes: Collection[Param[Any]]) -> V | None:
    """Draw the only part that shows some values: where a click in it changes nothing else, only this part runs again.

    draw: gets the view, then with the newest place. view: of this run. changes: those values. All else on the page is
    as the last run drew it, so a change of another value runs the whole page. A part may be within another. Returns
    what `draw` does; None where it failed.
    """
    if not st.session_state.get(_IN_PARTS):
        return draw(view)
    entry: Page = st.session_state[_OPEN]

    @st.fragment
    def drawn() -> V | None:
        try:
            return draw(view) if state.is_running() else _draw_again(draw, view, changes)
        except Exception as error:  # Streamlit lets none out of a fragment
            failures.say(error, entry.folder)
            return None

    return drawn()


@page_slots.drawing()
def _draw_again(draw: Callable[[View], V], view: View, changes: Collection[Param[Any]]) -> V:
    """Run a part of the page by itself."""
    with _values(part=True):
        if st.session_state[_WHOLE] or state.has_changed(besides=changes):
            touch()
            st.rerun()
        toast.draw()
        if view.loaded.takes == "text" and state.newest(ViewParams.long) == "cut":
            first_view.choose(st.session_state[_VIEW].model)
        if _PLACE in st.session_state:
            input_row.head_controls(st.session_state[_PLACE][1], ())  # their limits
        return draw(input_row.placed(view))


def place_controls() -> None:
    """Draw the controls of layer and head above the page, called by a page that uses them; a bare page has none."""
    entry: Page = st.session_state[_OPEN]
    if _PLACE in st.session_state:
        slot, config = st.session_state[_PLACE]
        with slot:
            input_row.head_controls(config, entry.uses)


def show(main: Callable[..., None], controls: Callable[[], None] | None = None) -> None:
    """Draw the open page: the last line of its script.

    main: draws it, from the view, or from nothing where the page uses no controls. controls: draws the title and the
    controls of a page with `own_controls`, before the model is loaded.
    """
    entry: Page = st.session_state[_OPEN]
    if not entry.uses:
        main()
    elif controls is None:
        main(st.session_state[_VIEW])
    else:
        controls()
        place = st.container()
        view = _view(place, entry, None)
        if view is not None:
            _draw(lambda: main(st.session_state[_VIEW]), view, place, entry)


def was_here() -> bool:
    """Whether the run before this one showed the same page: nobody left it in between."""
    return len(set(st.session_state[_PAGES])) == 1


def _with_input(draw: Callable[[], None], area: DeltaGenerator, entry: Page) -> None:
    if not input_row.has_controls():
        view = _view(area, entry, None)
        if view is not None:
            _draw(draw, view, area, entry)
        return
    # The title comes first on every page, with an input or without: it does not move from page to page.
    st.session_state[_TITLE] = area.container(key="title-place")
    with area, st.container(key="input", horizontal=True, gap="xsmall"):
        place_of_input = st.container(key="input-itself", gap="xsmall") if "text" in entry.uses else None
        # On a phone one row, which scrolls to the side: the picture begins on the first screen.
        with st.container(key="input-controls", horizontal=True, gap="xsmall"):
            with st.container(key="input-model", horizontal=True, gap="xsmall"):
                input_row.model_controls()
                input_row.tower_controls()
            slots = Slots(
                norm=st.container(key="input-norm", horizontal=True, gap="xsmall", vertical_alignment="center"),
                head=st.container(key="input-place", horizontal=True),
                settings=st.container(key="input-more", horizontal=True, gap="xsmall"),
                windows=area.container(key="input-windows"),
            )
        if place_of_input is None:
            input_row.kind_of_input()
        else:
            with place_of_input:
                input_row.input_controls()
    view = _view(area, entry, slots)
    if view is not None:
        _draw(draw, view, area, entry)
    with slots.settings:
        examples = None if place_of_input is None else input_row.options
        settings.controls(st.session_state.get(_VIEW), examples)


def _draw(draw: Callable[[], None], view: View, area: DeltaGenerator, entry: Page) -> None:
    """Draw the page of a view, with the notes about it in `area`."""
    if entry.edits:
        with area:
            view = edited.applied(view)
    st.session_state[_VIEW] = view
    _notes(area, view, entry)
    if entry.edits is not None:
        with area:
            edited.mark(view)
    if not view.trace.finite:
        place_controls()
        _not_finite(area, view)
        return
    moved = bool(entry.measured) and norm_change.before(view) is not None
    if moved:  # the line about the change is of the open head
        st.session_state[_WHOLE] = True
    answer.keep_room(moved)
    draw()
    if moved:  # after the page: it needs a run with the norms as they were
        answer.room().caption(norm_change.sentence(view, entry.measured))


def heading(about: str = "", title: str = "", *, badge: bool = True) -> DeltaGenerator:
    """The title of the open page and the question that its picture answers; the badge of a model with moved norms.

    Returns the row that holds them, for what belongs next to them. A bare page has the row only.

    about: what to look for, and the limits of the answer, in Markdown; it opens next to the question. title: of a part
    that has its own; "": the page's. badge: False where the page may show the model as it was trained, and so says
    itself whose numbers they are.
    """
    entry, view = st.session_state[_OPEN], st.session_state.get(_VIEW)
    moved = view.loaded.moved_norms if view is not None and badge else ""
    place = st.session_state.pop(_TITLE, st)
    row = place.container(key="page-title", horizontal=True, vertical_alignment="bottom", gap="small")
    if is_bare():  # the style of the step hides what a page draws into the row
        adjust.next_to(row)
        return row
    with row:
        now = f" :orange-badge[{view.loaded.config.norm_placement}-norm, not as trained]" if moved else ""
        st.title(f"{title or entry.title}{now}", anchor=False, help=moved or None, width="content")
        glossary.question(entry.help, about)
    adjust.next_to(row)
    return row


@dataclass(frozen=True)
class Slots:
    """Containers above the page for what depends on the model."""

    norm: DeltaGenerator
    head: DeltaGenerator
    settings: DeltaGenerator
    windows: DeltaGenerator


def _view(area: DeltaGenerator, entry: Page, slots: Slots | None) -> View | None:
    """Load the model and trace the input, with a spinner; None, and a box that says why, if there is no model.

    slots: where the controls are that depend on the model; None: the page draws its controls itself, and its title.
    """
    model = None
    try:
        if input_row.awaits_source():
            with area:
                if slots is not None:
                    heading()
                st.info("Type a folder or a Hub id above to open a model.", icon=":material/folder_open:")
            return None
        spec = model_spec()
        model = _model(area, entry, spec)
        quick = _is_quick(model)
        # A window has tokens of its own; a page without the control of windows shows the beginning.
        if model.takes == "text" and (slots is None or state.newest(ViewParams.long) == "cut"):
            with area, _spinner("Running the encoder …", quick=quick):
                if entry.maps and not quick:
                    maps.draw_during_the_pass(Run(spec, typed_text()))
                first_view.choose(spec)
        given = None if slots is None else _controls_of_model(slots, entry, spec, model)
        if slots is None and not entry.own_controls:
            input_row.head_controls(model.config, ())  # their limits
        view = input_row.current_view(spec, given)
        with area, _spinner("Running the encoder …", quick=quick):
            view = padded(view) if entry.pads else view
            n_tokens = view.trace.n_tokens
        # A selected padding token stays selected while padding is hidden.
        return input_row.with_selection_inside(view, view.run.pad_to or n_tokens)
    except EncoderError as error:
        if isinstance(error, OutOfMemory):
            cache.forget_traces()
        if model is None and slots is not None:
            with slots.norm:
                input_row.norm_controls(None)
            with slots.head:
                input_row.head_controls(None, entry.uses)
        place_controls()
        with area:
            if slots is not None:
                heading()
            _link_notes()
            say_error(error)
        return None


def _model(area: DeltaGenerator, entry: Page, spec: ModelSpec) -> NamedEncoder:
    """Load the model. The run begins again where the page needs another one, or drew the controls of another kind."""
    with area, _spinner("Loading the model …", quick=model_store.is_loaded(spec)):
        model = model_store.model(spec)
    if not chosen_input.fits(model, spec, entry.takes):
        stand_in.use(model, entry)
        st.rerun()
    if chosen_input.was_guessed(model.takes) or model_spec() != spec:
        st.rerun()  # the controls are of another kind of input, or lack the choice between two encoders
    if entry.layers and not model.config.n_layers:
        raise EncoderError(
            f"{model.name} has no layers and no attention: the vector of a token is its row in a table. Texts and "
            "Predict show these vectors; for this page choose another model above."
        )
    fade.remember(model.config.norm_placement)
    return model


def _controls_of_model(slots: Slots, entry: Page, spec: ModelSpec, model: NamedEncoder) -> Text | None:
    """The controls that depend on the model; returns the text or its window, None for another kind of input."""
    with slots.norm:
        input_row.norm_controls(spec)
    of_decoder = entry.maps and state.newest(output.Output.stack) != "encoder"
    config = output.config_shown(model, of_decoder)
    input_row.head_controls(config, ())  # their limits
    st.session_state[_PLACE] = slots.head, config
    if model.takes != "text":
        return None
    if "text" not in entry.uses:
        return typed_text()
    with slots.windows:
        return long_text.controls(spec, model)


def _spinner(text: str, *, quick: bool) -> AbstractContextManager[None]:
    """A line that says what is waited for. quick: nothing is, so no thread is started that would draw the line."""
    return nullcontext() if quick else st.spinner(text, show_time=False)


def _is_quick(model: NamedEncoder) -> bool:
    """Whether the pass ends before a spinner would be drawn: a token of a text covers a byte or more."""
    if model.takes != "text":
        return estimates.flops(model.config, model.config.max_tokens) < QUICK_FLOPS
    texts = state.newest(ViewParams.text), state.newest(ViewParams.pair)
    n_bytes = sum(len(text.encode("utf-8", "replace")) for text in texts) + 8  # special tokens
    n_tokens = max(min(n_bytes, model.config.max_tokens), state.newest(ViewParams.pad) or 0)
    return estimates.flops(model.config, n_tokens) < QUICK_FLOPS


def _link_notes() -> None:
    """The values of the link that could not be used, in one box."""
    if state.notes():
        st.warning("  \n".join(plain(sentence) for sentence in state.notes()), icon=":material/link_off:")


def _notes(area: DeltaGenerator, view: View, entry: Page) -> None:
    """Notes about the link, the model and, where the page shows it, the text."""
    shows_text = "text" in entry.uses
    with area:
        _link_notes()
        stand_in.say()
        if shows_text and view.trace.source is not None and view.trace.source.cut:
            long_text.note(view)
        if shows_text and isinstance(view.run.input, Text) and not view.text.strip() and view.pair is None:
            st.info("The text is empty, so you see the special tokens only. Type a sentence above.")
        if view.model.untrained is not None:
            st.info(
                "Random weights, untrained: the maps show the effect of initialisation only.", icon=":material/casino:"
            )
        if view.loaded.config.causal:
            st.caption(CAUSAL)
        if shows_text:
            places_input.note(view)
        for sentence in view.loaded.notes:
            st.info(plain(sentence), icon=":material/info:")
        if shows_text and (unknown := unknown_words.sentence(view.trace, view.loaded)):
            st.info(plain(unknown), icon=":material/unknown_document:")


def _not_finite(area: DeltaGenerator, view: View) -> None:
    """An error in place of a page whose numbers are NaN or infinite."""
    with area:
        if not st.session_state[_OPEN].own_controls:  # such a page has its title already
            heading()
        st.error(
            f"The output of {plain(view.loaded.name)} holds NaN or infinity, so this page cannot draw it. "
            "The weights are broken, or training diverged. Choose another model above.",
            icon=":material/error:",
        )
