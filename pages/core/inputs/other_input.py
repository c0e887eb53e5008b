"""Bundled models for an input that the chosen model does not accept."""

import dataclasses
from collections.abc import Collection

import streamlit as st

from encoder.encoders.named import NamedEncoder
from encoder.load import first_bundled
from pages.core.stores import input_kinds, model_store
from pages.core.stores.model_key import ModelKey
from pages.core.view import SOURCES, View, ViewParams
from pages.core.words import plain
from pages.state import state

#: Kind of input -> a bundled model that accepts it.
FIRST = {"text": first_bundled("text"), "image": first_bundled("image"), "sound": first_bundled("sound")}
FIRST[input_kinds.PAIR] = first_bundled("text", "image")


def fits(loaded: NamedEncoder, key: ModelKey, takes: Collection[str]) -> bool:
    """Whether a page with these inputs can show a model."""
    return loaded.takes in takes or (input_kinds.PAIR in takes and model_store.joint(key) is not None)


def instead(view: View, source: str, why: str, tower: str = "") -> View:
    """The view in a bundled model, where the reader's cannot do what she asks, and a line that says so.

    why: what the reader's model lacks; tower: which encoder of a pair. A view of text keeps its text.
    """
    key = ModelKey(source, tower=tower, device=view.model.device, dtype=view.model.dtype)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{plain(view.loaded.name)} {why}. You see **{SOURCES[source]}**.", width="content")
        st.button(
            "Use it on every page", key="instead:use", icon=":material/swap_horiz:", type="tertiary",
            on_click=state.put, args=(ViewParams.model, source),
        )  # fmt: skip
    return dataclasses.replace(view, model=key, layer=0, head=0, i=None, j=None)
