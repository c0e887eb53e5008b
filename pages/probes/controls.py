"""The widgets of the page “Probes”: the task, the vectors and the models."""

import streamlit as st

from encoder import probe
from encoder.run import ModelSpec
from pages.base.access import limits
from pages.core.inputs import kept_file
from pages.core.view import View, ViewParams
from pages.core.widgets import adjust
from pages.core.words import about
from pages.probes.params import BESIDE, TASKS, VIEWS, Params
from pages.probes.work import Subject
from pages.state import state

TITLES = {**probe.TITLES, "file": "Your file"}


def options() -> None:
    """The drawer of the vectors and of the models that are compared. Draw it after the title."""
    with adjust.drawer("probes"):
        state.bound(
            st.pills,
            Params.views,
            "Vectors",
            options=list(VIEWS),
            format_func=VIEWS.get,
            selection_mode="multi",
            help="One token: the marked word, or the first word of a text. The others pool all tokens of the text.",
        )
        state.bound(
            st.pills,
            Params.beside,
            "Compared with the chosen model",
            options=list(BESIDE),
            format_func=BESIDE.get,
            selection_mode="multi",
        )
    if not state.get(Params.views):
        state.put(Params.views, Params.views.default)


def choose_task() -> None:
    """The widget of the task, next to the title."""
    with st.container(key="controls-probes", horizontal=True, vertical_alignment="center", gap="small"):
        state.bound(
            st.selectbox,
            Params.task,
            "Task",
            list(TASKS),
            format_func=TITLES.get,
            width=390,
            help=about.text(__file__, "The tasks", **probe.TITLES),
        )


def task() -> probe.Task | None:
    """The chosen task; None while a file is missing. Raises EncoderError for a file."""
    name = state.get(Params.task)
    return _file() if name == "file" else probe.bundled(name)


def _file() -> probe.Task | None:
    given = kept_file.upload(
        f"{kept_file.formats('text', 'label')}. With a third column, word, the label belongs to that word.",
        "probes:file",
        "probes:task",
        kept_file.TABLES,
        limits.PROBE_FILE.value,
    )
    read = kept_file.read(
        "probes:task",
        given,
        make=lambda file: probe.read_task(file.getvalue(), file.name, most=limits.PROBE_ROWS.value),
    )
    st.caption("The file stays in the server's memory, for your session only.")
    if read is None:
        return None
    kept_file.say_left_out(read.problems, read.n_left_out, "used", "probes-problems")
    return read.task


def subjects(view: View) -> list[Subject]:
    """The reader's model, then the others."""
    chosen = state.get(Params.beside)
    first = Subject(view.model, view.loaded.name_and_norms)
    if not chosen:
        return [first]
    own = state.read(ViewParams)
    others = [Subject(ModelSpec(source=name, device=own.device, dtype=own.dtype), BESIDE[name]) for name in chosen]
    return [first, *(one for one in others if one.spec != first.spec)]
