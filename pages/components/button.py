"""A button with a symbol: `button("Stop", "stop", "train:stop", group.stop)`."""

from collections.abc import Callable
from typing import Any

import streamlit as st


def button(label: str, icon: str, key: str, press: Callable[[], object] | None = None, **look: Any) -> bool:
    """Draw a button; returns whether it caused this run.

    icon: the name of a Material symbol; press: called before the run, if it is pressed; look: what Streamlit's button
    has besides, such as `type`, `help` and `disabled`.
    """
    return st.button(label, icon=f":material/{icon}:", key=key, on_click=press, **look)
