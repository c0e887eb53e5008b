"""The image of the sidebar: an example, a drawing, a file or the camera. Its name in the address is `image`.

An image of a model of digits is 64 numbers of ink (`digits.encode`), which the link holds. Another one stays in the
session: a link names it by its digest alone, and opens with an example for everyone else.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import streamlit as st

import encoder
from encoder.errors import EncoderError
from encoder.inputs import digits, image_files
from pages.components.draw_digit import draw_digit
from pages.core.stores import sources
from pages.core.words.markdown import plain, say_error
from pages.state.params import Param, choice, string
from pages.state.url_state import state

WAYS = {"example": "Example", "draw": "Draw a digit", "file": "Image file", "camera": "Camera"}
#: Two photographs of scikit-learn, for models of any image: name -> what you see.
PHOTOS = {"china": "A temple (China)", "flower": "A flower"}
FIRST_DIGIT, FIRST_PHOTO = "3", "flower"
#: Images that a session keeps, and the longer side of each in pixels.
MOST_KEPT, KEPT_SIDE = 6, 1_600
_KEPT, _TITLES = "_images", "_image_titles"
OWN = "file-"


@state.register
@dataclass(frozen=True)
class ImageParams:
    """image: the name of the input; way: where the next one comes from."""

    image: Param[str] = string()
    way: Param[str] = choice("example", WAYS, url="image_from")


def takes_digits(model: encoder.ImageEncoder) -> bool:
    """Whether the model takes images as the bundled digits are."""
    return model.patches.channels == 1 and model.side == 8


def examples(model: encoder.ImageEncoder) -> dict[str, str]:
    """Name -> title of the bundled images for a model."""
    if not takes_digits(model):
        return PHOTOS
    return {name: name.replace("hard: ", "hard to name: ") for name in digits.examples()}


def kept() -> tuple[str, ...]:
    """Names of the image files that this session keeps."""
    return tuple(st.session_state.get(_KEPT, {}))


def current(model: encoder.ImageEncoder) -> str:
    """The name of the chosen image; an example where a link names one that is not here, or of another model."""
    name = state.newest(ImageParams.image)
    first = FIRST_DIGIT if takes_digits(model) else FIRST_PHOTO
    if not name:
        return first
    try:
        find(model, name)
    except EncoderError:
        if name.startswith(OWN) and not takes_digits(model):  # otherwise the model before took other images
            state.note(f"The image of this link is not here: a link holds no file. Shown: {PHOTOS[first]}.")
        return first
    return name


def find(model: encoder.ImageEncoder, name: str) -> Any:
    """The image of a name. Raises EncoderError where there is none for this model."""
    if takes_digits(model):
        return digits.decode(digits.examples().get(name, name))
    if name in PHOTOS:
        return _photo(name)
    if name in (kept := st.session_state.get(_KEPT, {})):
        return kept[name]
    raise EncoderError("This image is not here: choose an example, or open a file.")


def title(name: str) -> str:
    """The name of an image for people."""
    if name in PHOTOS:
        return PHOTOS[name]
    if name.startswith(OWN):
        return str(st.session_state.get(_TITLES, {}).get(name, "Your image"))
    return "A digit" if len(name) == 64 else f"A digit: {name}"


@cache
def _photo(name: str) -> np.ndarray:
    """A photograph of scikit-learn, [H, W, 3] uint8."""
    from sklearn.datasets import load_sample_image

    return load_sample_image(f"{name}.jpg")


def controls(model: encoder.ImageEncoder) -> None:
    """The part of the sidebar for an image."""
    name = current(model)
    ways = WAYS if takes_digits(model) else {way: text for way, text in WAYS.items() if way != "draw"}
    if state.newest(ImageParams.way) not in ways:
        state.put(ImageParams.way, "example")
    way = state.bound(st.selectbox, ImageParams.way, "Image", list(ways), format_func=WAYS.get)
    if way == "example":
        known = examples(model)
        options = list(known) if name in known else ["", *known]
        st.selectbox(
            "Example", options, index=options.index(name) if name in known else 0, key=f"image-example:{name}",
            format_func=lambda one: known.get(one, title(name)), label_visibility="collapsed",
            on_change=_take_example, args=(f"image-example:{name}",),
        )  # fmt: skip
    elif way == "draw":
        draw_digit(key="draw-digit", on_drawing=_take_drawing)
        st.caption("Give a seven its bar: the model saw few without.")
    elif way == "file":
        given = st.file_uploader(
            "Image file", type=list(image_files.ENDINGS), key="image-file", label_visibility="collapsed",
            max_upload_size=image_files.MOST_BYTES // 1_000_000,
        )  # fmt: skip
        _take_file(model, given)
    else:
        _take_file(model, st.camera_input("Camera", key="image-camera", label_visibility="collapsed"))


def _take_example(key: str) -> None:
    if st.session_state.get(key):
        choose(st.session_state[key])


def _take_drawing(bitmap: np.ndarray) -> None:
    from PIL import Image

    choose(digits.encode(digits.as_digit(Image.fromarray(bitmap), dark_ink=False)))


def choose(name: str) -> None:
    """Show another image on every page. For callbacks, and before the image is read in a run."""
    state.put(ImageParams.image, name)


def _take_file(model: encoder.ImageEncoder, given: Any) -> None:
    """Take a file or a photo once; a broken one is a sentence, in each run while it is there."""
    if given is None:
        return
    try:
        known = st.session_state.get("_image_file")
        taken = (given.file_id, takes_digits(model))
        if known is None or known[:2] != taken:
            known = st.session_state["_image_file"] = (*taken, _read(model, given))
            choose(known[2])
    except EncoderError as error:
        say_error(error)


def _read(model: encoder.ImageEncoder, given: Any) -> str:
    """The name of an image file, which the session keeps."""
    content = given.getvalue()
    image = image_files.open_picture(content, given.name)
    if takes_digits(model):
        return digits.encode(digits.as_digit(image))
    name = OWN + hashlib.sha256(content).hexdigest()[:32]
    image.thumbnail((KEPT_SIDE, KEPT_SIDE))
    kept = {**st.session_state.get(_KEPT, {}), name: np.asarray(image.convert("RGB"))}
    st.session_state[_KEPT] = dict(list(kept.items())[-MOST_KEPT:])
    st.session_state[_TITLES] = {**st.session_state.get(_TITLES, {}), name: plain(given.name)}
    return name


def code(model: encoder.ImageEncoder, name: str) -> tuple[str, str]:
    """An import, and the Python expression that gives the image of a name."""
    if takes_digits(model):
        return "from encoder import digits", f'digits.decode("{digits.examples().get(name, name)}")'
    if name in PHOTOS:
        return "from sklearn.datasets import load_sample_image", f'load_sample_image("{name}.jpg")'
    return "from encoder import pictures", 'pictures.open_picture("your-image.png")'


def shown(model: encoder.ImageEncoder, name: str) -> np.ndarray:
    """What the model sees of an image: uint8 [S, S, 3]."""
    pixels = model.shown(find(model, name))
    if len(pixels) == 1:
        pixels = pixels.expand(3, -1, -1)
    return (pixels.permute(1, 2, 0).numpy() * 255).round().astype(np.uint8)


sources.SOURCES["image"] = sources.Source(controls, current, find, title, code)  # type: ignore[arg-type]
