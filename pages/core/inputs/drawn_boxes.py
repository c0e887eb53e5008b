"""The page on which a person draws boxes, over a blank page or the image of one."""

from collections.abc import Callable
from io import BytesIO
from typing import Any

import streamlit as st
from PIL import Image

from encoder import EncoderError
from encoder.inputs import boxes, image_files
from encoder.inputs.boxes import Words
from encoder.model.boxes import LARGEST_PLACE
from encoder.run.values import INVOICE
from pages.components.button import button
from pages.components.draw_boxes import BLANK, draw_boxes
from pages.core.inputs.image_input import IMAGES
from pages.core.view import ViewParams
from pages.core.words import plain
from pages.state import Param, flag, state

BUNDLED = {"": "A blank page", INVOICE: "Example: an invoice"}
FILE = "+"
#: The longer side of the image under the boxes, in pixels.
SHOWN_SIDE = 900
#: The widget of a file, and why the newest one could not be read.
_KEY, _WHY = "page-image-file", "_page_image_why"


@state.register
class SheetParams:
    """draw: whether the page for drawing is open."""

    draw: Param[bool] = flag(url="draw")


def is_open() -> bool:
    """Whether the page for drawing is open."""
    return state.newest(SheetParams.draw)


def open_sheet() -> None:
    """Open the page for drawing. For callbacks."""
    state.put(SheetParams.draw, True)


def close_sheet() -> None:
    """Close it; the boxes stay. For callbacks."""
    state.put(SheetParams.draw, False)


def draw(text: str, given: Any, take: Callable[[Words], None]) -> None:
    """The page with the boxes of a text, and what lies under them. take: gets the words of what was drawn."""
    with st.container(border=True, key="boxes-sheet"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            name = _choose_ground()
            button("Stop drawing", "close", "boxes-close", close_sheet)
        if name == FILE:
            _upload()
        image = picture(name)
        aspect = BLANK if image is None else image.height / image.width
        draw_boxes(
            _parts(text, given),
            key="draw-boxes",
            ground=b"" if image is None else jpeg(image),
            aspect=aspect,
            on_boxes=lambda parts: take(boxes.of_parts(parts)),
        )


def _parts(text: str, given: Any) -> list[tuple[str, boxes.Box]]:
    """The boxes of a text; none where they do not fit."""
    try:
        return boxes.parts_of(boxes.words_of(text, given, LARGEST_PLACE)) if given else []
    except EncoderError:
        return []


def picture(name: str) -> Image.Image | None:
    """The image of a page, by its name; None for a blank page, and for a file that is not here."""
    found = IMAGES.picture(name)
    return None if found is None else Image.fromarray(found)


def _choose_ground() -> str:
    """The name of what lies under the boxes, or FILE while a file is awaited."""
    own = {name: title for name, (title, _) in IMAGES.kept().items()}
    names = {**BUNDLED, **own, FILE: "An image file"}
    if state.newest(ViewParams.page_image) not in names:
        st.caption("The image of this link is not here, since a link holds no file: the page is blank.")
    return state.selectbox(ViewParams.page_image, "Under the boxes", names, label_visibility="collapsed", width=240)


def _upload() -> None:
    """The widget of a file."""
    st.file_uploader(
        "Image of a page",
        type=list(image_files.ENDINGS),
        key=_KEY,
        max_upload_size=image_files.MOST_BYTES // 1_000_000,
        on_change=_take_file,
    )
    if why := st.session_state.get(_WHY):
        st.error(plain(why))


def _take_file() -> None:
    given = st.session_state.get(_KEY)
    st.session_state.pop(_WHY, None)
    if given is None:
        return
    try:
        state.put(ViewParams.page_image, IMAGES.keep_picture(given.getvalue(), given.name, plain(given.name)))
    except EncoderError as error:
        st.session_state[_WHY] = str(error)


def jpeg(image: Image.Image) -> bytes:
    """The image as the browser gets it, at most SHOWN_SIDE long."""
    small, found = image.convert("RGB"), BytesIO()
    small.thumbnail((SHOWN_SIDE, SHOWN_SIDE))
    small.save(found, "JPEG", quality=85)
    return found.getvalue()
