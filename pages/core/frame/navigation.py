"""The names of all pages in a bar above the page, by section, on wide screens.

On narrow screens Streamlit's own list in the sidebar shows them. Each link is a plain address; a click on one presses
Streamlit's link of the same page, which keeps the session (page_keys.js).
"""

from __future__ import annotations

import base64
import copy
import html
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

#: The page's icon as an address with its content. Streamlit would read a file and compress it again in each run, and
#: fetch a Material icon from another server.
ICON = "data:image/png;base64," + base64.b64encode((Path(__file__).parent / "icon.png").read_bytes()).decode()


@dataclass(frozen=True)
class Page:
    """One page of the app: a folder of pages/ with a page.py and, if it has values in the address, a params.py.

    short: its name in the navigation, if it differs from the title; uses: the parts of the sidebar that it needs, of
    "text", "model", "layer" and "head" (none: the page has no sidebar); takes, why: the kinds of input that it can
    show, of "text", "image", "sound", "maps" (attention maps of a file) and "pair" (an image and texts), and a
    sentence with the reason where others are left out; pads: whether it shows a text padded as in a batch; maps:
    whether it shows small maps of all heads; edits: whether it shows the edited run, None: it draws the edits itself.
    """

    folder: str
    title: str
    icon: str
    help: str
    short: str = ""
    uses: tuple[str, ...] = ("text", "model", "layer", "head")
    takes: tuple[str, ...] = ("text", "image", "sound")
    why: str = ""
    pads: bool = False
    maps: bool = False
    edits: bool | None = False

    @property
    def name(self) -> str:
        return self.short or self.title

    @property
    def script(self) -> str:
        return f"pages/{self.folder}/page.py"


def nothing() -> None:
    """A page without content."""


def kept_pages(make: Callable[[], dict[str, list[StreamlitPage]]]) -> dict[str, list[StreamlitPage]]:
    """The pages by section, made once: each asks the file system for its script. Copies, since a run changes them."""
    if not _PAGES:
        _PAGES.update(make())
    return {section: [copy.copy(page) for page in pages] for section, pages in _PAGES.items()}


_PAGES: dict[str, list[StreamlitPage]] = {}


def bar(sections: Mapping[str, Iterable[Page]], here: str, home: str, *, sidebar: bool) -> None:
    """Draw the bar. here: the folder of the open page, and whether it has a sidebar; home: that of the page at "/"."""
    if (here, sidebar) not in _BARS:
        _BARS[here, sidebar] = _bar(sections, here, home, sidebar)
    with st.container(key="page-names"):
        st.html(_BARS[here, sidebar])


_BARS: dict[tuple[str, bool], str] = {}
#: A page that needs nothing of the sidebar has its room; on narrow screens the sidebar holds the list of pages.
ALONE = """<style>@media (min-width: 1280px) {
  :is([data-testid="stSidebar"], [data-testid="stExpandSidebarButton"]) { display: none; }
}</style>"""


def _bar(sections: Mapping[str, Iterable[Page]], here: str, home: str, sidebar: bool) -> str:
    base = "".join(f"/{part}" for part in str(st.get_option("server.baseUrlPath") or "").split("/") if part)
    parts = []
    for section, entries in sections.items():
        links = []
        for entry in entries:
            address = f"{base}/" if entry.folder == home else f"{base}/{entry.folder}"
            current = ' aria-current="page"' if entry.folder == here else ""
            tip = html.escape(entry.help, quote=True)
            links.append(f'<a href="{address}" title="{tip}"{current}>{html.escape(entry.name)}</a>')
        label = f"<b>{html.escape(section)}</b>" if section else "<b></b>"
        parts.append(f"<div>{label}{''.join(links)}</div>")
    return f'<nav class="enc-pages" aria-label="Pages">{"".join(parts)}</nav>{"" if sidebar else ALONE}'
