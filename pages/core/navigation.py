"""The names of all pages in a bar above the page, by section, on wide screens.

On narrow screens Streamlit's own list in the sidebar shows them. Each link is a plain address; a click on one presses
Streamlit's link of the same page, which keeps the session (page_keys.js).
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Protocol

import streamlit as st

#: From this width of the window in pixels, the bar has room for all names.
WIDE = 1280

#: With all that has a place of its own in the window: this style comes first, so nothing shows elsewhere before.
#: Streamlit's own padding above a page is 4.25rem, too.
STYLE = f"""
.enc-pages {{ display: none; }}
.st-key-present {{ position: fixed; top: 0.9rem; right: 3.25rem; z-index: 999993; width: auto; }}
.stMain [data-testid="stElementContainer"]:has(> [data-testid="stSpinner"]) {{
  position: fixed; bottom: 1rem; right: 1rem; width: auto; z-index: 999992; padding: 0.4rem 0.8rem;
  border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 0.5rem; background: Canvas;
}}
@media (min-width: {WIDE}px) {{
  [data-testid="stSidebarNav"], [data-testid="stSidebarNavSeparator"] {{ display: none; }}
  [data-testid="stSidebarHeader"] {{ height: 2.5rem; margin-top: 3.25rem; }}
  .stMainBlockContainer {{ padding-top: 4.25rem !important; }}
  [data-testid="stHeader"] {{ height: 4.25rem; }}
  [data-testid="stLayoutWrapper"]:has(> .st-key-page-names) {{
    position: fixed; top: 0; left: 0; z-index: 999991; pointer-events: none; width: calc(100vw - 6rem);
  }}
  .st-key-page-names {{ background: var(--st-background-color, Canvas); padding-left: 1rem; }}
  .stApp:has([data-testid="stExpandSidebarButton"]) .st-key-page-names {{ padding-left: 3.5rem; }}
  .enc-pages {{ display: flex; gap: 0.6rem; height: 4.25rem; align-items: end; pointer-events: auto;
    font-size: 0.8125rem; line-height: 1.5rem; white-space: nowrap; overflow-x: auto; scrollbar-width: none; }}
  .enc-pages > div {{ display: grid; grid-template-rows: 1.125rem 1.5rem 1.5rem; grid-auto-flow: column;
    column-gap: 0.125rem; padding-left: 0.5rem;
    border-left: 1px solid color-mix(in srgb, currentColor 18%, transparent); }}
  .enc-pages > div:first-child {{ border: none; padding: 0; }}
  .enc-pages b {{ grid-row: 1; grid-column: 1 / -1; font-size: 0.6875rem; line-height: 1.125rem; font-weight: 600;
    padding: 0 0.35rem; opacity: 0.8; }}
  .enc-pages a:nth-of-type(odd) {{ grid-row: 2; }}
  .enc-pages a:nth-of-type(even) {{ grid-row: 3; }}
  .enc-pages a {{ color: inherit; text-decoration: none; padding: 0 0.35rem; border-radius: 0.3rem; }}
  .enc-pages a:hover {{ background: color-mix(in srgb, currentColor 9%, transparent); }}
  .enc-pages a[aria-current] {{ background: color-mix(in srgb, currentColor 12%, transparent);
    -webkit-text-stroke: 0.5px; }}
}}
"""
#: A page that needs nothing of the sidebar has its room; on narrow screens the sidebar holds the list of pages.
NO_SIDEBAR = f"""
@media (min-width: {WIDE}px) {{
  [data-testid="stSidebar"], [data-testid="stExpandSidebarButton"] {{ display: none; }}
}}
"""


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
        style = STYLE if sidebar else STYLE + NO_SIDEBAR
        st.html(f'<style>{style}</style><nav class="enc-pages" aria-label="Pages">{"".join(parts)}</nav>')
