"""The boxes of a sentence's words, where the model knows places on a page: typed as lines, uploaded, or an example."""

import streamlit as st

from encoder import EncoderError
from encoder.inputs.box_files import ENDINGS, MOST_BYTES, example, open_words
from encoder.inputs.boxes import LINE, Words, assumed, read_lines
from encoder.model.boxes import LARGEST_PLACE
from pages.components.button import button
from pages.core.stores import cache
from pages.core.view import View, ViewParams, selection
from pages.core.words import plain
from pages.state import controlled, state

#: Lines that could not be read, and why; they stay in the field until they can.
_TYPED, _WHY = "_boxes_typed", "_boxes_why"


def put(words: Words) -> None:
    """Show these words at their places. For callbacks."""
    for name in (_TYPED, _WHY):
        st.session_state.pop(name, None)
    selection.clear()
    state.put(ViewParams.text, words.text)
    state.put(ViewParams.boxes, words.boxes)


def remove() -> None:
    """Show the same words without boxes. For callbacks."""
    state.put(ViewParams.boxes, ())


def keep_if_as_many() -> None:
    """After another sentence was typed: boxes stay if it has as many words. For callbacks."""
    if len(state.newest(ViewParams.text).split()) != len(state.newest(ViewParams.boxes)):
        remove()


def controls() -> None:
    """The example, a file, the lines, and what removes the boxes."""
    boxes = state.newest(ViewParams.boxes)
    with st.container(horizontal=True, gap="small"):
        button("Example: an invoice", "receipt_long", "boxes-example", lambda: put(example()))
        if boxes:
            button("Remove the boxes", "layers_clear", "boxes-remove", remove)
    st.file_uploader(
        "A page: words with boxes",
        key="boxes-file",
        type=list(ENDINGS),
        max_upload_size=-(-MOST_BYTES // 10**6),
        on_change=_take_file,
        help="A table (CSV) with word, left, upper, right and lower; JSON with words and boxes; or hOCR.",
    )
    words = tuple(state.newest(ViewParams.text).split())
    shown = Words(words, boxes).lines if boxes and len(boxes) == len(words) else ""
    controlled(
        st.text_area,
        "Words with boxes, a line each",
        key="boxes-lines",
        value=st.session_state.get(_TYPED, shown),
        take=_take_lines,
        height=200,
        placeholder=f"{LINE}\nTotal 640 470 705 494\n90.00 800 470 875 494",
        help=f"Numbers are thousandths of the page, 0 to {LARGEST_PLACE:,}, from its upper left corner.",
    )
    if why := st.session_state.get(_WHY):
        st.error(plain(why))


def _take_lines(typed: str) -> None:
    if not typed.strip():
        st.session_state.pop(_TYPED, None), st.session_state.pop(_WHY, None)
        remove()
        return
    try:
        put(read_lines(typed, LARGEST_PLACE))
    except EncoderError as error:
        st.session_state[_TYPED], st.session_state[_WHY] = typed, str(error)


def _take_file() -> None:
    given = st.session_state.get("boxes-file")
    if given is None:
        return
    try:
        put(open_words(given.getvalue(), given.name))
    except EncoderError as error:
        st.session_state[_WHY] = str(error)


def note(view: View) -> None:
    """What the model assumes of a text without boxes, and the example."""
    if said := assumed(view.loaded.config.places, view.trace.source):
        with st.container(horizontal=True, vertical_alignment="center", key="boxes-note"):
            st.info(f"{said} Type or upload boxes under Examples and settings.", icon=":material/dashboard:")
            button("Show an invoice", "receipt_long", "boxes-first", lambda: put(example()))


def are_known(view: cache.StoredRun | None) -> bool:
    """Whether the model of a run knows places on a page."""
    return view is not None and view.loaded.config.places is not None
