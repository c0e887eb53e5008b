"""How well captions fit an image or a sound, by the vectors of two encoders trained together."""

import dataclasses

import streamlit as st

from encoder import figures
from encoder.export import python_code, tables
from encoder.inputs.sound_files import wav_bytes
from pages.core.inputs import edited
from pages.core.stores import model_store
from pages.core.view import View
from pages.core.widgets import Export, origin, title
from pages.core.widgets.answer import area
from pages.core.words import opening
from pages.predict import captions, fit, words, zero_shot
from pages.predict.pair import Pair, of
from pages.state import links


def show(view: View) -> None:
    """The page with this task: the captions, their bars, the words over the image, and zero-shot classification."""
    edited.mark(view)
    model = model_store.joint(view.model)
    if model is not None:
        captions.fit(model)
    with st.container(key="pair-page"), st.container(key="pair-body"):
        image_side, text_side = st.container(key="pair-left"), st.container(key="pair-right")
    with image_side:
        kind = view.loaded.takes
        opening(f"Which caption fits the {kind} best, by the cosine of two vectors from two encoders?")
    pair = of(view)
    with text_side:
        captions.controls(pair.model)
        captions.note_unknown(pair.model, pair.texts)
        with area():
            fit.draw(pair)
    with image_side:
        if pair.of_sound:
            st.audio(wav_bytes(view.given), format="audio/wav")
            links.link("heads", "What each part of the sound attends to", "graphic_eq")
        else:
            words.draw(pair)
            words.limits(pair)
    fit.arithmetic(pair)
    zero_shot.images_and_captions(pair)
    zero_shot.templates(pair)
    zero_shot.held_out(pair)
    exported(pair).draw()


def exported(pair: Pair) -> Export:
    """The captions with their numbers, and the lines that give the numbers of the bars from the run of the image."""
    found = pair.scores
    whole = dataclasses.replace(origin(pair.view.model)[0], tower="", norm="trained")
    return Export(
        pair.view,
        title(pair.view, "Captions"),
        lambda: tables.captions_frame(pair.texts, found),
        figures=lambda: {"Captions": figures.caption_bars(pair.texts, found.probabilities[0].numpy())},
        lines="from encoder.measure import pair_scores\n"
        f"{python_code.model_lines(whole, 'pair')}\n"
        f"texts = {list(pair.texts)!r}\n"
        "vectors = pair.other_vector(trace)[None], pair.embed_texts(texts)\n"
        f"found = pair_scores.scores(pair, *vectors, times={pair.times:g})\n"
        "found.cosines, found.logits, found.probabilities",
        settings={"Scale": f"{found.scale:.4g}", "Bias": f"{found.bias:.4g}", "Probabilities": pair.model.compares},
    )
