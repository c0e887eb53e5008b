"""A list of a page's examples, which `examples.yml` next to its modules has: choosing one sets its values."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
import yaml

from pages.state import state


@cache
def read(script: str, group: str) -> Mapping[str, Mapping[str, object]]:
    """Title -> name in a link -> text in a link, or None for the default. script: `__file__` of a module next to it."""
    found: dict[str, Mapping[str, Mapping[str, object]]] = yaml.safe_load(
        Path(script).with_name("examples.yml").read_text(encoding="utf-8")
    )
    return found[group]


def draw(script: str, group: str, key: str, *, then: Callable[[], object] = lambda: None, **look: Any) -> None:
    """The list. key, look: of the widget; then: is called after the values are set."""
    offered = read(script, group)

    def use() -> None:
        if (chosen := st.session_state.get(key)) in offered:
            values = {name: text for name, text in offered[chosen].items() if name in state.params}
            for name, text in values.items():
                param = state.params[name]
                state.put(param, param.default if text is None else param.parse(str(text)))
            then()

    look = {"placeholder": "Try an example …", "label_visibility": "collapsed"} | look
    st.selectbox("Example", list(offered), index=None, key=key, on_change=use, **look)
