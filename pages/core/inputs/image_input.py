"""The chosen image: an example, a drawing, a file or the camera. Its name in the address is `image`.

An image of a model of digits is 64 numbers of ink (`digits.encode`), which the link holds. Another one stays in the
session (`file_input`).
"""

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import streamlit as st
from PIL import Image

from encoder import ImageEncoder
from encoder.encoders.page import PageEncoder
from encoder.inputs import digits, example_page, image_files
from encoder.run.values import INVOICE
from pages.components.draw_digit import SIDE, draw_digit
from pages.core.inputs.file_input import FileInput
from pages.core.stores import input_kinds
from pages.state import Param, choice, state, string

WAYS = {"example": "Example", "draw": "Draw a digit", "file": "Image file", "camera": "Camera"}
#: Two photographs of scikit-learn, for models of any image: name -> what you see.
PHOTOS = {"china": "A temple (China)", "flower": "A flower"}
#: A page that is drawn, for models of pages.
PAGES = {"page": "A page (rivers)"}
#: The longer side of a kept image, and of one that is shown, in pixels.
KEPT_SIDE, SHOWN_SIDE = 1_600, 1_024


@state.register
class ImageParams:
    """image: the name of the input; way: where the next one comes from."""

    image: Param[str] = string()
    way: Param[str] = choice("example", WAYS, url="image_from")


def takes_digits(model: ImageEncoder) -> bool:
    """Whether the model accepts images as the bundled digits are."""
    return model.patches.channels == 1 and model.side == 8


@cache
def photo(name: str) -> np.ndarray:
    """A photograph of scikit-learn, [H, W, 3] uint8."""
    from sklearn.datasets import load_sample_image

    return load_sample_image(f"{name}.jpg")


def is_drawn(model: ImageEncoder) -> bool:
    """Whether the input is drawn on a canvas above the page."""
    return takes_digits(model) and state.get(ImageParams.way) == "draw"


class ImageInput(FileInput):
    """Images."""

    kind, own = "image", "file-"
    most_bytes = image_files.MOST_BYTES

    def examples(self, model: ImageEncoder) -> Mapping[str, str]:
        if isinstance(model, PageEncoder):
            return PAGES | PHOTOS
        if not takes_digits(model):
            return PHOTOS
        return {name: name.replace("hard: ", "hard to name: ") for name in digits.examples()}

    def first(self, model: ImageEncoder) -> str:
        if isinstance(model, PageEncoder):
            return next(iter(PAGES))
        return "3" if takes_digits(model) else "flower"

    def bundled(self, model: ImageEncoder, name: str) -> Any:
        if takes_digits(model):
            return digits.decode(digits.examples().get(name, name))
        if name in PAGES:
            return np.array(example_page.page())
        return photo(name) if name in PHOTOS else None

    def keeps_files(self, model: ImageEncoder) -> bool:
        return not takes_digits(model)

    def is_of_this_model(self, model: ImageEncoder, name: str) -> bool:
        return name.startswith(self.own) and not takes_digits(model)

    def title(self, name: str) -> str:
        if name in PAGES | PHOTOS:
            return (PAGES | PHOTOS)[name]
        if name.startswith(self.own):
            return super().title(name)
        return "A digit" if len(name) == 64 else f"A digit: {name}"

    def choose_way(self, model: ImageEncoder) -> str:
        ways = {way: title for way, title in WAYS.items() if way != "draw" or takes_digits(model)}
        return state.selectbox(self.way, "Image", ways, label_visibility="collapsed", width=150)

    def endings(self) -> list[str]:
        return list(image_files.ENDINGS)

    def take_otherwise(self, model: ImageEncoder, way: str) -> None:
        if way == "camera":
            self.take(model, st.camera_input("Camera", key="image-camera", label_visibility="collapsed"))
            return
        shown = Image.fromarray((self.find(model, self.current(model)) * 255).astype(np.uint8))
        start = np.asarray(shown.resize((SIDE, SIDE), Image.Resampling.BILINEAR))
        draw_digit(np.where(start > 127, start, 0), key="draw-digit", on_drawing=self._take_drawing)
        st.caption("Draw a seven with its bar: few sevens of the training data have none.")

    def _take_drawing(self, bitmap: np.ndarray) -> None:
        self.choose(digits.encode(digits.as_digit(Image.fromarray(bitmap), dark_ink=False)))

    def read(self, model: ImageEncoder, content: bytes, file: str, called: str) -> str:
        if takes_digits(model):
            return digits.encode(digits.as_digit(image_files.open_picture(content, file)))
        return self.keep_picture(content, file, called)

    def keep_picture(self, content: bytes, file: str, called: str) -> str:
        """Keep the picture of a file, and return its name. Raises ImageError for a broken file."""
        image = image_files.open_picture(content, file)
        image.thumbnail((KEPT_SIDE, KEPT_SIDE))
        name = self.own + hashlib.sha256(content).hexdigest()[:32]
        return self.keep(name, called, np.array(image.convert("RGB")))

    def picture(self, name: str) -> Any:
        return np.array(example_page.invoice()) if name == INVOICE else self._contents.get(name)

    def code(self, model: ImageEncoder, name: str) -> tuple[str, str]:
        if takes_digits(model):
            return "from encoder.inputs import digits", f'digits.decode("{digits.examples().get(name, name)}")'
        if name in PAGES:
            return "from encoder.inputs import example_page", "example_page.page()"
        if name in PHOTOS:
            return "from sklearn.datasets import load_sample_image", f'load_sample_image("{name}.jpg")'
        return "", 'model.open("your-image.png")'

    def shown(self, model: ImageEncoder, name: str) -> np.ndarray:
        """What the model sees of an image: uint8 [H, W, 3], a large one smaller."""
        found = Image.fromarray(model.picture(self.find(model, name)))
        found.thumbnail((SHOWN_SIDE, SHOWN_SIDE))
        return np.array(found)


IMAGES = ImageInput(ImageParams.image, ImageParams.way)
input_kinds.SOURCES["image"] = IMAGES
