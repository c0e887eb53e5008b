"""Which input the chosen model processes: a sentence, or an input of another kind, and its name."""

import streamlit as st

from encoder import EncoderError
from encoder.inputs.layout import InputKind
from pages.core.stores import cache, input_kinds, model_store
from pages.core.view import ViewParams, model_key
from pages.state import state

_KIND = "_input_kind"


def remembered() -> InputKind:
    """The kind of input for which the frame draws controls in this run."""
    st.session_state[_KIND] = kind()
    return st.session_state[_KIND]


def turned() -> bool:
    """Whether this page shows the other encoder of a pair than the page before. Before `remembered`."""
    key = _key()
    return key is not None and bool(key.tower) and st.session_state.get(_KIND, key.tower) != key.tower


def _key() -> cache.ModelKey | None:
    try:
        return model_key()
    except EncoderError:  # there is no such model
        return None


def changed() -> bool:
    """Whether the model now accepts another kind of input than the frame drew. For callbacks."""
    return kind() != st.session_state.get(_KIND, "text")


def kind() -> InputKind:
    """What the chosen model accepts, as far as it is known before it is loaded."""
    key = _key()
    return "text" if key is None else model_store.takes(key)


def was_guessed(kind: InputKind) -> bool:
    """Whether the frame has drawn the input of another kind than the model accepts, now that it is loaded."""
    return st.session_state.get(_KIND, kind) != kind


def current(key: cache.ModelKey) -> tuple[str, str | None]:
    """The sentence and the second one; of another kind of input, its name and None. Raises EncoderError."""
    if (chosen := model_store.takes(key)) != "text":
        return input_kinds.SOURCES[chosen].current(model_store.model(key)), None
    return state.get(ViewParams.text), state.get(ViewParams.pair) or None
