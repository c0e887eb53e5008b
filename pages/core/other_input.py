"""What a page says that cannot show the kind of input that the chosen model takes."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from encoder.layout import InputKind
from pages.core import inputs
from pages.core.cache import AnyEncoder
from pages.core.markdown import plain
from pages.core.url_state import state
from pages.core.view import SOURCES, ViewParams

#: Kind of input -> a bundled model that takes it.
FIRST: dict[InputKind, str] = {"text": "minilm", "image": "digits-pre", "sound": "spoken-digits"}


def say(model: AnyEncoder, takes: Collection[InputKind], why: str) -> None:
    """The reason, and a button that chooses a model that fits. takes: what the page can show."""
    wanted = next(kind for kind in takes if kind in FIRST)
    needed, given = inputs.NOUNS[wanted], inputs.NOUNS[model.takes]
    said = f"This page needs a model of {needed}, and {plain(model.name)} takes {given}. {why}"
    st.info(said, icon=":material/swap_horiz:")
    choice = FIRST[wanted]
    st.button(f"Choose {SOURCES[choice]}", key="other-input", on_click=state.put, args=(ViewParams.model, choice))
