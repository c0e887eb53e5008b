"""`copy_link`: the address of the view, shown and copied with or without what was typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from . import assets, wire

_render = st.components.v2.component(
    "encoderscope_copy_link", js=assets.script("copy_link"), css=assets.style("copy_link"), isolate_styles=False
)


def copy_link(query: Mapping[str, str], typed: Sequence[str], *, key: str, note: str = "") -> None:
    """Draws the link of this page with these values, and buttons that copy it.

    Copying works over plain http, too. The host and the page's path are the browser's own: only it knows of a proxy.

    Args:
        query: name -> value of everything that stands in the link.
        typed: the names among them that hold what was typed; the second button leaves them out.
        key: the widget's key.
        note: a sentence about the link, below it.
    """
    _render(key=key, data=wire.pack({"query": dict(query), "typed": list(typed), "note": note}, {}))
