"""An image, a video or a sound as the query: captions of a model with two encoders, or inputs of its kind, ranked."""

import dataclasses
from typing import Any

import streamlit as st

from encoder import JointEncoder, search, texts
from encoder.inputs.sound_files import wav_bytes
from pages.base.work.compute_turns import TURNS
from pages.core.inputs import chosen_input, image_input, kept_file, second_input
from pages.core.stores import input_kinds, model_store, results
from pages.core.view import View
from pages.core.widgets import adjust
from pages.state import state
from pages.texts import listed, own_texts, sources
from pages.texts.params import Params
from pages.texts.subject import Subject

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
PHOTOS = ("a photo of a temple", "a photo of a flower", "a photo of a tree", "a photo of a bridge")


def choose(view: View) -> Subject | None:
    """The input, what it is compared with, and the ranking of that; None while captions wait for a click."""
    source: Any = input_kinds.of(view.loaded)
    with st.container(key="texts-search"):
        source.controls(view.loaded)
        view = dataclasses.replace(view, run=dataclasses.replace(view.run, input=chosen_input.current(view.model)))
        own = view.run.input.name
        if source.shown(view.loaded, own) is not None:
            second_input.picture(view, own, "Query")
        else:
            st.audio(wav_bytes(view.given), format="audio/wav")
        joint, captions = model_store.joint(view.model), None
        if joint is not None:
            joint.check_vectors()
            with adjust.drawer("texts", "Your captions", "library_add"):
                usual = "\n".join(_captions(joint))
                lines = kept_file.typed_lines(f"texts:captions:{joint.other.takes}", 110, usual)
            if not own_texts.are_here(lines.splitlines(), is_bundled=lines == usual):
                return None
            captions = sources.embedded(view, joint.text, sources.read(lines.encode("utf-8", "replace"), "lines.txt"))
            if captions is None:
                return None
            names = given = others = captions.texts
        else:
            known = {name: title for name, title in source.names(view.loaded).items() if name != own}
            names, given = tuple(known), tuple(known.values())
            others = tuple(source.find(view.loaded, name) for name in names)
        model = joint or view.loaded
        key = (view.model, own, names)
        ranking = results.known("texts-of-media", key)
        if ranking is None:
            with TURNS.turn():
                found = search.embed_signals(view.loaded, others, given) if captions is None else captions
                ranking = results.keep("texts-of-media", key, texts.rank(model, view.given, found))
        listed.draw(ranking)
    params = state.read(Params)
    place = listed.selected(ranking, params)
    inputs = (view.given, others[place])
    return Subject(view, source.title(own), given[place], ranking, place, params, model, inputs, (own, names[place]))


def _captions(model: JointEncoder) -> tuple[str, ...]:
    """Captions to begin with, of what the model has seen."""
    if model.other.takes == "sound":
        return tuple(f"a voice says {digit}" for digit in DIGITS)
    if image_input.takes_digits(model.image):
        return tuple(f"a handwritten {digit}" for digit in DIGITS)
    return PHOTOS
