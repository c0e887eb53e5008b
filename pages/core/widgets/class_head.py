"""The classification head that this session opened next to its models; a checkpoint's own head comes first."""

from __future__ import annotations

import streamlit as st

from encoder import classify
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.model.classifier import Classifier
from pages.core.view.view import View
from pages.core.words.markdown import plain

_HEAD = "_opened_head"
#: Classes that a sentence names.
NAMED = 3


def put(head: Classifier, model: str, name: str) -> None:
    """Open a head. model: the name of the model that it was trained on; name: its own, for the screen."""
    st.session_state[_HEAD] = (head, model, name)


def drop() -> None:
    """Close the opened head."""
    st.session_state.pop(_HEAD, None)


def name() -> str:
    """The name of the opened head, "" without one."""
    return st.session_state[_HEAD][2] if _HEAD in st.session_state else ""


def current() -> Classifier | None:
    """The opened head itself, which distinguishes results that depend on it."""
    return st.session_state[_HEAD][0] if _HEAD in st.session_state else None


def model_of(view: View) -> TextEncoder:
    """The view's model with its own head, or with the opened one if that was trained on this model."""
    model = view.loaded
    if model.classifier is not None or _HEAD not in st.session_state:
        return model
    head, trained_on, _ = st.session_state[_HEAD]
    if trained_on != model.name:
        return model
    try:
        return classify.with_head(model, head)
    except EncoderError:  # a model of the same name and another width
        return model


def said(view: View) -> str:
    """The most probable classes of an image or a sound, in a sentence; "" without a head."""
    if view.loaded.classifier is None:
        return ""
    found = view.derived("classes of the input", view.loaded.probabilities)
    best = sorted(found, key=found.__getitem__, reverse=True)[:NAMED]
    first, *others = (f"{plain(name)} ({found[name]:.1%})" for name in best)
    return f"Class: **{first}**" + (f"; next: {', '.join(others)}." if others else ".")
