"""Image and text: how well captions fit an image, by the vectors of two encoders trained together."""

from __future__ import annotations

import streamlit as st

from pages.core import model_store
from pages.core.answer import area
from pages.core.frame import current_view, heading
from pages.core.glossary import brief_opening
from pages.core.links import next_page
from pages.core.view import View
from pages.image_text import captions, export, fit, words, zero_shot
from pages.image_text.pair import of


def main(view: View) -> None:
    model = model_store.joint(view.model)
    if model is not None:
        captions.fit(model)
    with st.container(key="pair-page"), st.container(key="pair-body"):
        image_side, text_side = st.container(key="pair-left"), st.container(key="pair-right")
    with image_side:
        heading()
        brief_opening(
            "You see how well each caption fits the image: the cosine of two vectors, from two encoders. Look for "
            "captions that the model cannot tell apart. Image search and zero-shot classification work this way."
        )
    pair = of(view)
    with text_side:
        captions.controls(pair.model)
        captions.note_unknown(pair.model, pair.texts)
        with area():
            fit.draw(pair)
    with image_side:
        words.draw(pair)
        words.limits(pair)
    fit.arithmetic(pair)
    zero_shot.images_and_captions(pair)
    zero_shot.templates(pair)
    zero_shot.held_out(pair)
    export.draw(pair)
    next_page("image_attention", "Image attention, what each patch attends to")


main(current_view())
