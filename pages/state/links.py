"""Links from one page to another, by the name of its folder. A page that does not exist gets no link."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from pages.state.bare import is_bare
from pages.state.url_state import HOME, state

PAGES = Path(__file__).parent.parent
_LATER = "_open_later"
#: Folder -> name of each page, as app.py has them.
TITLES: dict[str, str] = {}


def exists(folder: str) -> bool:
    """Whether there is such a page."""
    return _is_file(PAGES / folder / "page.py")


@cache
def _is_file(path: Path) -> bool:
    return path.is_file()


def title(folder: str) -> str:
    """The name of a page."""
    return TITLES.get(folder, folder)


def link(
    folder: str, label: str | None = None, icon: str = "arrow_forward", values: Mapping[str, str] | None = None
) -> None:
    """Draw a link to a page. label: its title, if there is none; values: a whole view, by the names in the address."""
    if exists(folder) and not is_bare():
        if values and folder == next(iter(TITLES), ""):  # at "/", a view without this mark belongs to another page
            values = {HOME: "1", **values}
        st.page_link(f"pages/{folder}/page.py", label=label, icon=f":material/{icon}:", query_params=values)


def next_page(
    folder: str, question: str, values: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None
) -> None:
    """Draw the last line of a page: the question that comes up next, and the page that answers it.

    values: of that page, as `button` takes them, where the question is about a part that the session has not selected.
    """
    label = f"Next: {question} · {title(folder)}"
    if values is None:
        link(folder, label)
    else:
        button(folder, label, "arrow_forward", "next-page", values, type="tertiary")


def button(
    folder: str,
    label: str,
    icon: str,
    key: str,
    values: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
    **look: Any,
) -> None:
    """Draw a button that opens a page. values: of that page, by their names in the address, or what makes them after a
    click; look: of the button."""
    if exists(folder) and st.button(label, icon=f":material/{icon}:", key=key, **look):
        state.put_named(**(values() if callable(values) else values or {}))
        st.switch_page(f"pages/{folder}/page.py")


def open_later(folder: str) -> None:
    """Open a page when the next run begins. For callbacks, which cannot open one themselves."""
    st.session_state[_LATER] = folder


def opened_later() -> str | None:
    """The page that a callback asked for, once."""
    folder = st.session_state.pop(_LATER, None)
    return folder if folder is not None and exists(folder) else None
