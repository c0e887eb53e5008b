"""The places of a sentence's words, where the model knows any: typed, uploaded, drawn, or an example.

They are boxes on a page, or nodes in a tree of HTML: a row of KINDS for each.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from encoder import EncoderError
from encoder.inputs import box_files, boxes, html_nodes, nodes
from encoder.model.boxes import LARGEST_PLACE, Boxes
from encoder.model.paths import Paths
from pages.components.button import button
from pages.core.inputs import drawn_boxes
from pages.core.stores import cache
from pages.core.view import View, ViewParams, selection
from pages.core.words import plain
from pages.state import Param, controlled, state


@dataclass(frozen=True)
class Kind:
    """One kind of places."""

    #: What a link holds of them, and the name of the field of a page that is the same.
    name: str
    param: Param[Any]
    #: The shape in the config of models that know them.
    shape: type
    #: A page, and the word for it.
    example: Callable[[], Any]
    example_name: str
    #: What a page is made of: lines, or the content of a file with its name.
    read: Callable[[str], Any]
    open: Callable[[bytes, str], Any]
    #: A text with places -> its lines. Raises EncoderError where they do not fit.
    lines: Callable[[str, Any], str]
    #: How many words they have.
    n_words: Callable[[Any], int]
    #: Endings of files, and the largest.
    endings: tuple[str, ...]
    most_bytes: int
    #: Sentences of its controls.
    title: str
    file_help: str
    lines_title: str
    lines_help: str
    placeholder: str
    #: Draws the page on which somebody draws them. take: shows what was drawn; None: they are not drawn.
    sheet: Callable[[str, Any, Callable[[Any], None]], None] | None = None


KINDS = (
    Kind(
        name="boxes",
        param=ViewParams.boxes,
        shape=Boxes,
        example=box_files.example,
        example_name="an invoice",
        read=lambda text: boxes.read_lines(text, LARGEST_PLACE),
        open=box_files.open_words,
        lines=lambda text, given: boxes.words_of(text, given, LARGEST_PLACE).lines,
        n_words=len,
        endings=tuple(box_files.ENDINGS),
        most_bytes=box_files.MOST_BYTES,
        title="A page: words with boxes",
        file_help="A table (CSV) with word, left, upper, right and lower; JSON with words and boxes; or hOCR.",
        lines_title="Words with boxes, a line each",
        lines_help=f"Numbers are thousandths of the page, 0 to {LARGEST_PLACE:,}, from its upper left corner.",
        placeholder=f"{boxes.LINE}\nTotal 640 470 705 494\n90.00 800 470 875 494",
        sheet=drawn_boxes.draw,
    ),
    Kind(
        name="nodes",
        param=ViewParams.nodes,
        shape=Paths,
        example=html_nodes.example,
        example_name="a report",
        read=html_nodes.read_page,
        open=html_nodes.open_page,
        lines=lambda text, given: nodes.texts_of(text, given).lines,
        n_words=lambda given: sum(count for count, _ in given),
        endings=html_nodes.ENDINGS,
        most_bytes=html_nodes.MOST_BYTES,
        title="A page of HTML",
        file_help="HTML, or a text file with a line for each node: its path, then its words.",
        lines_title="HTML, or a line for each node",
        lines_help="A node is a text between two tags. Its path has the tags around it, with numbers among siblings.",
        placeholder=f"<p>Paste HTML</p>, or write lines:\n{nodes.LINE}\n/html/body/p[2] Ships arrived.",
    ),
)
#: What of a page is used by a model that knows its image.
WITH_IMAGE = "The model uses the words, their boxes and the image of the page."
WITHOUT_IMAGE = "The model uses words and boxes. It can also use the image of the page: choose one under Draw boxes."
#: Lines that could not be read, and why; they stay in the field until they can.
_TYPED, _WHY = "_places_typed", "_places_why"


def put(kind: Kind, page: Any, *, is_drawn: bool = False) -> None:
    """Show this page. is_drawn: over the image that is there. For callbacks."""
    if not is_drawn:
        state.put(ViewParams.page_image, "")
    for name in (_TYPED, _WHY):
        st.session_state.pop(name, None)
    selection.clear()
    remove()
    state.put(ViewParams.text, page.text)
    state.put(kind.param, getattr(page, kind.name))


def remove() -> None:
    """Show the same words without places. For callbacks."""
    for kind in KINDS:
        state.put(kind.param, ())


def are_there() -> bool:
    """Whether the sentence's words have places."""
    return any(state.newest(kind.param) for kind in KINDS)


def keep_if_as_many() -> None:
    """After another sentence was typed: places stay if it has as many words. For callbacks."""
    n_words = len(state.newest(ViewParams.text).split())
    for kind in KINDS:
        if n_words != kind.n_words(state.newest(kind.param)):
            state.put(kind.param, ())


def kind_of(view: cache.StoredRun | None) -> Kind | None:
    """The places that the model of a run knows; None: none."""
    return (
        None if view is None else next((one for one in KINDS if isinstance(view.loaded.config.places, one.shape)), None)
    )


def controls(kind: Kind) -> None:
    """The example, a file, the lines, and what removes the places."""
    given = state.newest(kind.param)
    with st.container(horizontal=True, gap="small"):
        button(
            f"Example: {kind.example_name}", "receipt_long", f"{kind.name}-example", lambda: put(kind, kind.example())
        )
        if kind.sheet is not None:
            button(f"Draw {kind.name}", "draw", f"{kind.name}-draw", drawn_boxes.open_sheet)
        if given:
            button(f"Remove the {kind.name}", "layers_clear", f"{kind.name}-remove", remove)
    st.file_uploader(
        kind.title,
        key=f"{kind.name}-file",
        type=list(kind.endings),
        max_upload_size=-(-kind.most_bytes // 10**6),
        on_change=lambda: _take_file(kind),
        help=kind.file_help,
    )
    controlled(
        st.text_area,
        kind.lines_title,
        key=f"{kind.name}-lines",
        value=st.session_state.get(_TYPED, _lines(kind, given)),
        take=lambda typed: _take_lines(kind, typed),
        height=200,
        placeholder=kind.placeholder,
        help=kind.lines_help,
    )
    if why := st.session_state.get(_WHY):
        st.error(plain(why))


def _lines(kind: Kind, given: Any) -> str:
    """The lines of the sentence with its places; "" where they do not fit."""
    try:
        return kind.lines(state.newest(ViewParams.text), given) if given else ""
    except EncoderError:
        return ""


def _take_lines(kind: Kind, typed: str) -> None:
    if not typed.strip():
        st.session_state.pop(_TYPED, None), st.session_state.pop(_WHY, None)
        remove()
        return
    try:
        put(kind, kind.read(typed))
    except EncoderError as error:
        st.session_state[_TYPED], st.session_state[_WHY] = typed, str(error)


def _take_file(kind: Kind) -> None:
    given = st.session_state.get(f"{kind.name}-file")
    if given is None:
        return
    try:
        put(kind, kind.open(given.getvalue(), given.name))
    except EncoderError as error:
        st.session_state[_WHY] = str(error)


def _take_drawn(kind: Kind, page: Any) -> None:
    if page.words:
        put(kind, page, is_drawn=True)
    else:
        remove()


def note(view: View) -> None:
    """What the model assumes of a text without places, and the example; the page on which places are drawn."""
    kind, said = kind_of(view), boxes.assumed(view.loaded.config.places, view.trace.source)
    if kind is None:
        return
    if kind.sheet is not None and drawn_boxes.is_open():
        kind.sheet(view.text, state.newest(kind.param), lambda page: _take_drawn(kind, page))
        return
    if view.loaded.config.page is not None:
        st.caption(WITH_IMAGE if view.trace.config.reads_page else WITHOUT_IMAGE)
    if said:
        with st.container(horizontal=True, vertical_alignment="center", key=f"{kind.name}-note"):
            st.info(f"{said} Type or upload {kind.name} under Examples and settings.", icon=":material/dashboard:")
            if kind.sheet is not None:
                button(f"Draw {kind.name}", "draw", f"{kind.name}-draw-first", drawn_boxes.open_sheet)
            button(f"Show {kind.example_name}", "receipt_long", f"{kind.name}-first", lambda: put(kind, kind.example()))
