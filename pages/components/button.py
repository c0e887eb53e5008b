"""A button with a symbol: `button("Stop", "stop", "train:stop", group.stop)`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from pages.base.work.whole_callbacks import whole


def button(label: str, icon: str, key: str, press: Callable[[], object] | None = None, **look: Any) -> bool:
    """Draw a button; returns whether it caused this run.

    icon: the name of a Material symbol; press: called before the run, if it is pressed, and runs to its end, although
    the browser has asked for another run; look: what Streamlit's button has besides, such as `type` and `disabled`.
    """
    on_click = None if press is None else partial(_press, press)
    return st.button(label, icon=f":material/{icon}:", key=key, on_click=on_click, **look)


def submit(label: str, icon: str, key: str, press: Callable[[], object], **look: Any) -> bool:
    """The button of a form, which Enter presses, too. See `button`."""
    return st.form_submit_button(label, icon=f":material/{icon}:", key=key, on_click=partial(_press, press), **look)


def _press(press: Callable[[], object]) -> None:
    with whole():
        press()
