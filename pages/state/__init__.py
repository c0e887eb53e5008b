"""The values in the address, and links from page to page. What other rooms use most is imported from here."""

from pages.state.links import next_page
from pages.state.params import Head, Param, ZoomWindow, choice, flag, heads, number, several, span, string, whole_number
from pages.state.url_state import controlled, state

__all__ = [
    "Head", "Param", "ZoomWindow", "choice", "controlled", "flag", "heads", "next_page", "number", "several", "span",
    "state", "string", "whole_number",
]  # fmt: skip
