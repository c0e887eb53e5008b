"""What a page says that cannot show the kind of input that the chosen model takes."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from encoder.encoders.named import NamedEncoder
from encoder.load import first_bundled
from pages.core.stores import input_kinds, model_store
from pages.core.view.view import SOURCES, View, ViewParams
from pages.core.words.markdown import plain
from pages.state.url_state import state

#: Kind of input -> a bundled model that takes it.
FIRST = {"text": first_bundled("text"), "image": first_bundled("image"), "sound": first_bundled("sound")}
FIRST[input_kinds.PAIR] = first_bundled("text", "image")


def fits(view: View, takes: Collection[str]) -> bool:
    """Whether a page with these inputs can show the model of the view."""
    return view.loaded.takes in takes or (input_kinds.PAIR in takes and model_store.joint(view.model) is not None)


def say(model: NamedEncoder, takes: Collection[str], why: str) -> None:
    """The reason, and a button that chooses a model that fits. takes: what the page can show."""
    wanted = next(kind for kind in takes if kind in FIRST)
    needed, given = input_kinds.NOUNS[wanted], input_kinds.NOUNS[model.takes]
    said = f"This page needs a model of {needed}, and {plain(model.name)} takes {given}. {why}"
    if model.takes == "maps":
        said = f"{plain(model.name)} is a file of attention maps, and this page needs the model itself. {why}"
    st.info(said, icon=":material/swap_horiz:")
    choice = FIRST[wanted]
    st.button(f"Choose {SOURCES[choice]}", key="other-input", on_click=state.put, args=(ViewParams.model, choice))
