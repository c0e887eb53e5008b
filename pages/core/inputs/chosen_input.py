"""Which input the chosen model processes: a sentence, or another kind and its name; bundled models for the others."""

import dataclasses
from collections.abc import Collection
from functools import partial

import streamlit as st

from encoder import EncoderError
from encoder.checkpoints import first_bundled
from encoder.encoders.named import NamedEncoder
from encoder.inputs.layout import InputKind
from encoder.run import Media, ModelSpec, Place, Run
from encoder.run.values import Input
from pages.components.button import button
from pages.core.stores import input_kinds, model_store
from pages.core.view import SOURCES, View, ViewParams, model_spec, typed_text
from pages.core.words import plain
from pages.state import state

#: Kind of input -> a bundled model that accepts it.
FIRST = {"text": first_bundled("text"), "image": first_bundled("image"), "sound": first_bundled("sound")}
FIRST[input_kinds.PAIR] = first_bundled("text", "image")
_KIND = "_input_kind"


def remembered() -> InputKind:
    """The kind of input for which the frame draws controls in this run."""
    st.session_state[_KIND] = kind()
    return st.session_state[_KIND]


def turned() -> bool:
    """Whether this page shows the other encoder of a pair than the page before. Before `remembered`."""
    spec = _spec()
    return spec is not None and bool(spec.tower) and st.session_state.get(_KIND, spec.tower) != spec.tower


def _spec() -> ModelSpec | None:
    try:
        return model_spec()
    except EncoderError:  # there is no such model
        return None


def changed() -> bool:
    """Whether the model now accepts another kind of input than the frame drew. For callbacks."""
    return kind() != st.session_state.get(_KIND, "text")


def kind() -> InputKind:
    """What the chosen model accepts, as far as it is known before it is loaded."""
    spec = _spec()
    return "text" if spec is None else model_store.takes(spec)


def was_guessed(kind: InputKind) -> bool:
    """Whether the frame has drawn the input of another kind than the model accepts, now that it is loaded."""
    return st.session_state.get(_KIND, kind) != kind


def current(spec: ModelSpec) -> Input:
    """The input that the controls name. Raises EncoderError."""
    if (chosen := model_store.takes(spec)) != "text":
        return Media(chosen, input_kinds.SOURCES[chosen].current(model_store.model(spec)))
    return typed_text()


def fits(loaded: NamedEncoder, spec: ModelSpec, takes: Collection[str]) -> bool:
    """Whether a page with these inputs can show a model."""
    return loaded.takes in takes or (input_kinds.PAIR in takes and model_store.joint(spec) is not None)


def instead(view: View, source: str, why: str, tower: str = "") -> View:
    """The view in a bundled model, where the reader's cannot do what she asks, and a line that says so.

    why: what the reader's model lacks; tower: which encoder of a pair. A view of text keeps its text.
    """
    spec = ModelSpec(source, tower=tower, device=view.model.device, dtype=view.model.dtype)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{plain(view.loaded.name)} {why}. You see **{SOURCES[source]}**.", width="content")
        button(
            "Use it on every page",
            "swap_horiz",
            "instead:use",
            partial(state.put, ViewParams.model, source),
            type="tertiary",
        )
    run = model_store.run_on(view.run.of_pass, spec)
    return dataclasses.replace(view, run=Run(spec, run.input, place=Place(0, 0)))
