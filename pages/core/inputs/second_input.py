"""A second input besides the chosen one: a sentence that is typed, or one of the images or sounds that are here.

Its value is the name of an input: a sentence itself, or the name of an image or a sound.
"""

from collections.abc import Callable

import streamlit as st

from encoder import EncoderError
from pages.core.stores import input_kinds
from pages.core.view import View
from pages.state import Param, controlled, state

#: Side of a picture, in pixels.
PICTURE = 72


def current(view: View, param: Param[str]) -> str:
    """The name of the second input: the chosen one, else an example that is not the first."""
    chosen, known = state.newest(param), input_kinds.of(view.loaded).names(view.loaded)
    if chosen in known:
        return chosen
    try:
        if chosen:
            input_kinds.of(view.loaded).find(view.loaded, chosen)
            return chosen
    except EncoderError:
        pass  # of another model, or of another session
    return next((name for name in known if name != view.run.input.name), view.run.input.name)


def choose(view: View, param: Param[str], label: str, *, help: str = "") -> str:
    """The widget of a second image or sound, and its name."""

    def put(name: str) -> None:
        state.put(param, name)

    name = current(view, param)
    return select(view, label, name, key=f"second:{param.name}", take=put, help=help)


def select(
    view: View, label: str, name: str, *, key: str, take: Callable[[str], None], help: str = "", width: int = 280
) -> str:
    """A list of all images or sounds, with `name` chosen; the first one is among them."""
    known = input_kinds.of(view.loaded).names(view.loaded)
    for one in (view.run.input.name, name):
        known.setdefault(one, input_kinds.of(view.loaded).title(one))
    controlled(
        st.selectbox,
        label,
        list(known),
        key=f"{key}:{len(known)}",
        value=name,
        take=take,
        format_func=known.get,
        width=width,
        help=help or None,
    )
    return name


def picture(view: View, name: str, side: str) -> None:
    """What the model sees of an image; a small one is enlarged without smoothing, so that its pixels show."""
    of_kind = input_kinds.of(view.loaded)
    pixels = of_kind.shown(view.loaded, name)
    if pixels is None:
        return
    times = max(1, PICTURE // len(pixels))
    alt = f"Image {side}: {of_kind.title(name)}"
    st.image(pixels.repeat(times, 0).repeat(times, 1), width=PICTURE, caption=side, alt=alt)
