"""The names of all pages in a bar above the page, by section, on wide screens.

On narrow screens Streamlit's own list in the sidebar shows them. Each link is a plain address; a click on one presses
Streamlit's link of the same page, which keeps the session (page_keys.js).
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Protocol

import streamlit as st


class Named(Protocol):
    """What the bar needs to know of a page."""

    folder: str
    help: str

    @property
    def name(self) -> str:
        """Its short name."""


def bar(sections: Mapping[str, Iterable[Named]], here: str, front: str, *, sidebar: bool) -> None:
    """Draw the bar. here: the folder of the open page, and whether it has a sidebar; front: that of the page at "/"."""
    base = "".join(f"/{part}" for part in str(st.get_option("server.baseUrlPath") or "").split("/") if part)
    parts = []
    for section, rooms in sections.items():
        links = []
        for room in rooms:
            address = f"{base}/" if room.folder == front else f"{base}/{room.folder}"
            current = ' aria-current="page"' if room.folder == here else ""
            tip = html.escape(room.help, quote=True)
            links.append(f'<a href="{address}" title="{tip}"{current}>{html.escape(room.name)}</a>')
        label = f"<b>{html.escape(section)}</b>" if section else "<b></b>"
        parts.append(f"<div>{label}{''.join(links)}</div>")
    with st.container(key="page-names"):
        style = "enc-pages" if sidebar else "enc-pages enc-alone"
        st.html(f'<nav class="{style}" aria-label="Pages">{"".join(parts)}</nav>')
