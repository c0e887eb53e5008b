"""Take it away: the link, the numbers, a standalone report and the Python lines of whatever a page shows.

A page calls `export_panel(view, ...)` once, below what it shows. Nothing is made before somebody clicks.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import streamlit as st

from encoder.export import report
from encoder.export.document import Section, document
from pages.components.copy_link import copy_link
from pages.core import cache
from pages.core.lazy import expander
from pages.core.model_access import models_root
from pages.core.url_state import LONGEST_IN_URL
from pages.core.view import BUNDLED, View, state

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

#: Values of the view that hold what was typed: a link without the text leaves them out.
TYPED = ("text", "pair", "second", "third", "text_b", "hidden")
#: What the Python lines load where the model is none that they could name.
SAVED = "the-folder-that-you-saved-it-to"


def export_panel(
    view: View,
    title: str,
    frame: Callable[[], pd.DataFrame],
    *,
    figures: Mapping[str, go.Figure] | Callable[[], Mapping[str, go.Figure]] | None = None,
    sections: Callable[[], Sequence[Section]] | None = None,
    lines: str = "",
    program: str = "",
    settings: Mapping[str, object] | None = None,
    key: str = "take",
) -> None:
    """Draw "Take it away", closed at first: link, pictures, CSV, Parquet, HTML report, Python lines.

    Args:
        view: what the page shows.
        title: what that is, "L2 H3 of all-MiniLM-L6-v2": the report's heading and the files' name.
        frame: gives the numbers shown as a table; called only for a download.
        figures: heading -> figure of the report, as the page draws them, or a function that gives that.
        sections: gives the report's parts where they are more than figures and the table of numbers.
        lines: Python that gives the numbers shown, from `model` and `trace`; the lines that make these two come before.
        program: Python that gives the numbers by itself, where they come from no model and text of the view.
        settings: name -> value of the page's own options, for the report.
        key: of the widgets, where a page has several.
    """
    # Not a popover: one at a page's lower end opens beyond the screen as soon as a map above it grows.
    part = expander("Take it away", key, icon=":material/download:")
    if part is None:
        return
    code = program or python_lines(view, lines)
    text = "" if program else report.typed(view.trace)
    name = file_name(title)
    link = server_link()

    def told() -> dict[str, str]:
        own = dict(settings or {})
        return (
            {name: str(value) for name, value in own.items()}
            if program
            else report.facts(view.loaded, view.trace, **own)
        )

    def parquet() -> bytes:
        return report.as_parquet(frame(), {"title": title, "text": text, **told(), "python": code})

    def page() -> bytes:
        parts = sections() if sections is not None else plain_sections(frame(), figures)
        return document(title, parts, text=text, facts=told(), code=code, link=link, footer=report.footer()).encode()

    with part:
        left, right = st.columns([6, 5], gap="large")
    with left:
        st.markdown("**Link** to exactly this view")
        copy_link(query(), TYPED, key=f"{key}:link", note=_note())
        st.markdown("**Numbers** that are shown, and a **report** that opens without a network")
        with st.container(horizontal=True):
            _button("CSV", lambda: report.as_csv(frame()), f"{name}.csv", "text/csv", f"{key}:csv")
            _button("Parquet", parquet, f"{name}.parquet", "application/vnd.apache.parquet", f"{key}:parquet")
            _button("HTML report", page, f"{name}.html", "text/html", f"{key}:html")
        st.caption("**PNG and SVG**: the buttons at the upper right of each picture, there when the pointer is on it.")
    with right:
        st.markdown("**Python** that gives the same numbers in a notebook")
        st.code(code, language="python", wrap_lines=True)


def _button(label: str, data: Callable[[], bytes], file: str, mime: str, key: str) -> None:
    st.download_button(label, data, file, mime, key=key, on_click="ignore", icon=":material/download:")


def plain_sections(
    frame: pd.DataFrame, figures: Mapping[str, go.Figure] | Callable[[], Mapping[str, go.Figure]] | None
) -> list[Section]:
    """A report of figures, then of the numbers."""
    drawn = figures() if callable(figures) else figures or {}
    return [
        *(Section(heading, figure=figure) for heading, figure in drawn.items()),
        Section("The numbers shown", table=frame),
    ]


def query() -> dict[str, str]:
    """Everything that decides what is shown, as the link of this run says it: what differs from the defaults."""
    said = {}
    for name, param in state.params.items():
        value = state.get(name)
        if value is not None and value != param.default and not state.too_long_for_url(name):
            said[name] = param.format(value)
    return said


def _note() -> str:
    long = [name for name in TYPED if name in state.params and state.too_long_for_url(name)]
    return f"The text is too long for a link ({LONGEST_IN_URL:,} characters): it opens without it." if long else ""


def server_link() -> str:
    """The link as the server knows it, for a file; empty where it knows no address."""
    address = st.context.url
    if not address:
        return ""
    values = query()
    return address.split("?")[0] + (f"?{urlencode(values)}" if values else "")


def python_lines(view: View, lines: str = "") -> str:
    """The Python that makes the view's model and trace again, then `lines`."""
    model, remark = origin(view.model)
    place = (view.model.window, view.trace, view.model.stride)
    return remark + report.python_lines(model, view.text, view.pair, lines, *place)


def origin(key: cache.ModelKey, source: str = "source") -> tuple[cache.ModelKey, str]:
    """How a notebook makes a model again, and a remark above the lines where it has to find the model itself.

    source: the value of the view that holds what was typed as its folder. On a shared server a visitor is told that
    name, never the server's folders.
    """
    if key.source.startswith(cache.TRAINED):
        return dataclasses.replace(key, source=SAVED), "# The model trained here: save it on its page first.\n"
    if key.scratch is None and models_root() is not None and key.source not in BUNDLED:
        typed = str(state.get(source)).strip() or SAVED
        return dataclasses.replace(key, source=typed), "# A folder of the server: give the path of your own copy.\n"
    return key, ""


def changes(settings: Any) -> dict[str, object]:
    """The fields of a dataclass that differ from its defaults: name -> value."""
    usual = type(settings)()
    own = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
    return {name: value for name, value in own.items() if value != getattr(usual, name)}


def arguments(settings: Any) -> str:
    """The arguments that make a dataclass again, in Python: those alone that differ from its defaults."""
    return ", ".join(f"{name}={value!r}" for name, value in changes(settings).items())


def file_name(title: str) -> str:
    """A title as a file's name: letters, digits, points and hyphens."""
    return re.sub(r"[^\w.]+", "-", title).strip("-.")[:80] or "encoderscope"


def title(view: View, what: str) -> str:
    """The heading of a report: what it shows, of which model."""
    return f"{what} of {view.loaded.name}"


def place(view: View) -> dict[str, object]:
    """Layer and head, for a report's facts."""
    return {"Layer": view.layer, "Head": view.head}
