"""Export and share: the link, the numbers, a standalone report and the Python lines of a page.

A page declares an `Export` where its numbers are made, and draws it at its end. Nothing is computed before a click.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder import edits
from encoder.checkpoints import BUNDLED
from encoder.documents.document import Section, document
from encoder.export import report
from encoder.run import TRAINED, ModelSpec, Run, Text, code
from encoder.run.command import command
from pages.base.access import limits, visitors
from pages.components import lazy
from pages.components.copy_link import copy_link
from pages.core.inputs.image_input import IMAGES
from pages.core.stores import cache, input_kinds
from pages.core.stores.model_access import models_root
from pages.core.view import View
from pages.state import state
from pages.state.url_state import KEPT

#: What the Python lines load if they cannot name the model.
SAVED = "the-folder-that-you-saved-it-to"


#: What the link and the report say of a text that is too long for an address.
TOO_LONG = (
    "The text is too long for a link ({most:,} characters). The link opens it in this tab only; for other people, save "
    "the HTML report, which contains the text."
)
#: Key of the panel.
KEY = "take"


@dataclass(frozen=True)
class Export:
    """What a page exports; `draw` is called once, at its end."""

    #: The page's view; None for a `program`.
    view: View | None
    #: Heading of the report and name of the files, such as "L2 H3 of all-MiniLM-L6-v2".
    title: str
    #: Returns the numbers as a table; called only for a download.
    frame: Callable[[], pd.DataFrame]
    #: heading -> figure of the report: those that the page drew, or a function that returns this mapping.
    figures: Mapping[str, go.Figure] | Callable[[], Mapping[str, go.Figure]] = field(default_factory=dict)
    #: Returns the parts of the report, if they are more than figures and the table.
    sections: Callable[[], Sequence[Section]] | None = None
    #: Python that gives the numbers from `model` and `trace`; the lines that make these two are added.
    lines: str = ""
    #: Whether `lines` use `trace`, the run of the view's input.
    is_traced: bool = True
    #: A whole Python program, for numbers that do not come from the view's model and text.
    program: str = ""
    #: name -> value of the page's options, for the report, or a function that returns this mapping.
    settings: Mapping[str, object] | Callable[[], Mapping[str, object]] = field(default_factory=dict)
    #: The command of `encoderscope` that runs the same and gives such numbers; "" where none does.
    verb: str = ""
    #: The whole command line in its place, where it needs more than the run.
    line: str = ""
    #: What the link leaves out besides a long text, and what to do; "" for nothing.
    left_out: str = ""

    def draw(self) -> None:
        """Draw "Export and share", closed at first: link, pictures, CSV, Parquet, HTML report, Python lines."""
        # Not a popover: at the end of a page it would open outside the screen when a map above it grows.
        part = lazy.expander("Export and share", KEY, icon=":material/download:")
        if part is None:
            return
        program = self.program or python_lines(self.view, self.lines, is_traced=self.is_traced)
        text = "" if self.program or not self.is_traced else report.typed(self.view.trace)
        name = file_name(self.title)
        link, note = server_link(), " ".join(filter(None, (_note(), self.left_out)))

        run = self._run()
        named = "" if run is None else report.address_of(run)

        def parquet() -> bytes:
            about = {"title": self.title, "text": text, **self._facts(), "python": program} | (
                {"run": named} if named else {}
            )
            return report.as_parquet(self.frame(), about)

        def page() -> bytes:
            facts, footer = self._facts(), report.footer()
            parts = self._parts()
            return document(
                self.title,
                parts,
                text=text,
                facts=facts,
                code=program,
                link=link,
                note=note,
                run=named,
                footer=footer,
            ).encode()

        with part:
            left, right = st.columns([6, 5], gap="large")
        with left:
            st.markdown("**Link** to this view")
            copy_link(query(), typed(), key=f"{KEY}:link", note=note, network=visitors.network_address())
            st.markdown("**Numbers** of this page, and a **report** that opens without a network")
            with st.container(horizontal=True):
                _button("CSV", lambda: report.as_csv(self.frame()), f"{name}.csv", "text/csv")
                _button("Parquet", parquet, f"{name}.parquet", "application/vnd.apache.parquet")
                _button("HTML report", page, f"{name}.html", "text/html")
            st.caption("**PNG and SVG**: point at a picture and use the buttons at its upper right.")
        with right:
            st.markdown("**Python** that gives the same numbers in a notebook")
            st.code(program, language="python", wrap_lines=True)
            line = self.line
            if self.verb and run is not None and named:
                line = command(_with_file(run), self.verb)
            if line:
                st.markdown("The same on the **command line**")
                st.code(line, language="bash", wrap_lines=True)

    def _run(self) -> Run | None:
        """The run that the page shows, as a notebook makes it; None where the numbers come from elsewhere."""
        if self.view is None or self.program:
            return None
        return replace(self.view.run, model=origin(self.view.model)[0])

    def _facts(self) -> dict[str, str]:
        settings = self.settings() if callable(self.settings) else self.settings
        if self.view is None or self.program:
            return {name: str(value) for name, value in settings.items()}
        said = report.facts(self.view.loaded, self.view.trace, **settings)
        of_trace = () if self.is_traced else ("Tokens", "Edits")
        return {name: value for name, value in said.items() if name not in of_trace}

    def _parts(self) -> Sequence[Section]:
        if self.sections is not None:
            return self.sections()
        drawn = self.figures() if callable(self.figures) else self.figures
        parts = [Section(heading, figure=figure) for heading, figure in drawn.items()]
        return [*parts, Section("Numbers", table=self.frame())]


def is_open() -> bool:
    """Whether the panel is open: it shows all values of the page, and so each run is one of the whole page."""
    return lazy.is_open(KEY)


def _button(label: str, data: Callable[[], bytes], file: str, mime: str) -> None:
    key = f"{KEY}:{file.rsplit('.')[-1]}"
    st.download_button(label, data, file, mime, key=key, on_click="ignore", icon=":material/download:")


def query() -> dict[str, str]:
    """The values in the link of this run, as the address bar has them: those that differ from their defaults."""
    said = {}
    for param in state.params.values():
        value = state.get(param)
        if not param.in_links or value is None or value == param.default:
            continue
        written, text = state.in_address(param)
        said[written] = text
    return said


def typed() -> list[str]:
    """The names of the values that hold the user's own words, files or folders: a link without the text has none."""
    names = [name for name, param in state.params.items() if param.typed]
    return names + [KEPT + name for name in names]


def _note() -> str:
    if not any(state.too_long_for_url(param) for param in state.params.values()):
        return ""
    return TOO_LONG.format(most=limits.LINK_TEXT.value)


def server_link() -> str:
    """The link as the server knows it, for a file; empty if the server knows no address."""
    address = st.context.url
    if not address:
        return ""
    values = query()
    return address.split("?")[0] + (f"?{urlencode(values)}" if values else "")


def python_lines(view: View, lines: str = "", *, is_traced: bool = True) -> str:
    """The Python that makes the model and the trace of a view, then `lines`. is_traced: whether these use the trace."""
    spec, remark = origin(view.model)
    if not is_traced:
        return remark + code.python_lines(replace(view.run, model=spec), lines, is_traced=False)
    run, given = _with_file(replace(view.run, model=spec)), expression(view)
    before = edits_lines(view, run.edits) if run.edits and given else ""
    return remark + code.python_lines(run, lines, given, before)


def _with_file(run: Run) -> Run:
    """The run with the name of a file in the place of the digest of an uploaded page."""
    page = run.input.page if isinstance(run.input, Text) else None
    return run.but(page="your-page.png") if page and page.startswith(IMAGES.own) else run


def expression(of: cache.StoredRun) -> tuple[str, str] | None:
    """An import and the Python expression of an input that is not text; None for a text."""
    return None if of.loaded.takes == "text" else input_kinds.of(of.loaded).code(of.loaded, of.run.input.name)


def given(view: View, text: str) -> str:
    """The Python expression of an input of this view's kind, by its text or name."""
    return input_kinds.of(view.loaded).code(view.loaded, text)[1]


def again(view: View) -> str:
    """The beginning of a Python call that runs the view's input once more: edits follow."""
    if view.loaded.takes == "text":
        return "model.trace_tokens(trace.source"
    return f"model.trace({given(view, view.run.input.name)}"


def edits_lines(view: View, active: Sequence[edits.Edit]) -> str:
    """Python that makes the name `edits`. Images and sounds that edits take values from are run by it."""
    parsed = f"encoder.edits.parse({edits.format(active)!r})"
    others = edits.sources(active)
    if view.loaded.takes == "text" or not others:
        return f"edits = {parsed}"
    known = ", ".join(f"{name!r}: {given(view, name)}" for name in others)
    return f"others = {{{known}}}\nedits = model.with_inputs({parsed}, others.get)"


def origin(spec: ModelSpec, source: str = "source") -> tuple[ModelSpec, str]:
    """How a notebook makes a model, and a comment if the reader must supply its folder.

    source: name of the value that holds the typed folder. On a shared server a visitor sees this name, never the path.
    """
    if spec.source.startswith(TRAINED):
        return replace(spec, source=SAVED), "# A model that you trained here: save it on its page first.\n"
    if spec.untrained is None and models_root() is not None and spec.source not in BUNDLED:
        typed = str(state.get(state.params[source])).strip() or SAVED
        return replace(spec, source=typed), "# A server folder: specify the path of your copy.\n"
    return spec, ""


def changes(settings: Any) -> dict[str, object]:
    """The fields of a dataclass that differ from their defaults: name -> value."""
    usual = type(settings)()
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return {name: value for name, value in values.items() if value != getattr(usual, name)}


def arguments(settings: Any) -> str:
    """The arguments of a dataclass in Python: those that differ from their defaults."""
    return ", ".join(f"{name}={value!r}" for name, value in changes(settings).items())


def file_name(title: str) -> str:
    """A title as a file name: letters, digits, points and hyphens."""
    return re.sub(r"[^\w.]+", "-", title).strip("-.")[:80] or "encoderscope"


def title(view: View, what: str) -> str:
    """The heading of a report: its content and the model's name."""
    return f"{what} of {view.loaded.name}"


def place(view: View) -> dict[str, object]:
    """Layer and head, for the settings of a report."""
    return {"Layer": view.layer, "Head": view.head}
