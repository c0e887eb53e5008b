"""Trained models: open them like any other model, save them, and open a saved file."""

import dataclasses
import pprint
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder import LoadError
from encoder.train.run_view import RunView
from encoder.train.single_file import MAX_BYTES, from_bytes, held_out_accuracy, to_bytes
from pages.components.button import button
from pages.core.widgets import Export, arguments
from pages.core.words import about, plain, say_error
from pages.training import runs
from pages.training.live import curve_figures, table

PROGRAM = """import time

import pandas as pd

from encoder.train.loop import TaskRun
from encoder.train.settings import TaskSettings

runs = {{
{runs}
}}
tables = []
for name, settings in runs.items():
    run = TaskRun(settings)
    run.start()
    while run.poll().active:
        time.sleep(0.1)
    tables.append(run.poll().to_frame().assign(run=name))
table = pd.concat(tables, ignore_index=True)
"""


def columns(n_runs: int) -> list[DeltaGenerator]:
    """A column for each run, two in a row: narrower columns cut the names of buttons."""
    return [place for _ in range(0, n_runs, 2) for place in st.columns(min(2, n_runs), gap="medium")]


def open_or_save(group: runs.RunGroup) -> None:
    """Buttons that open or save the model of each run, and the export of the curves."""
    views = group.poll()
    usable = [name for name, view in views.items() if view.step and not view.diverged]
    if not usable:
        return
    st.header("Open or save the models", anchor=False)
    for column, (name, view) in zip(columns(len(views)), views.items(), strict=False):
        if name not in usable:
            column.caption(f"{name} has no usable weights.")
            continue
        run = group.runs[name]
        column.button(
            f"Open in Heads: {name}",
            icon=":material/grid_view:",
            key=f"open-{name}",
            on_click=runs.open_run,
            args=(name,),
            width="stretch",
        )
        column.download_button(
            "Save as safetensors",
            lambda run=run: to_bytes(run.snapshot()),
            icon=":material/download:",
            file_name=f"{view.settings.task}-{view.settings.norm_placement}-{view.step}.safetensors",
            mime="application/octet-stream",
            key=f"save-{name}",
            on_click="ignore",
            width="stretch",
        )
    st.caption(about.text(__file__, "Where opened and saved models are"))
    _export(views)


def open_file() -> None:
    """A saved run from a file."""
    with st.expander("Open a saved run"):
        given = st.file_uploader(
            "A file saved on this page", type=["safetensors"], max_upload_size=MAX_BYTES // 10**6, key="training-file"
        )
        if given is None:
            return
        try:
            task = from_bytes(given.getvalue(), given.name)
        except LoadError as error:
            say_error(error)
            return
        model = task.text_encoder
        st.markdown(
            f"**{plain(model.name)}**: {held_out_accuracy(task):.1%} right on held-out sequences, "
            f"{model.n_parameters:,} parameters."
        )
        button("Open in Heads", "grid_view", "open-file", partial(runs.open_file, task, given.file_id))


def _export(views: dict[str, RunView]) -> None:
    """The curves of this session's runs."""
    made = {name: dataclasses.replace(view.settings, steps=view.step) for name, view in views.items() if view.curve}
    if not made:
        return
    Export(
        None,
        "Training runs",
        lambda: table(views),
        figures=lambda: curve_figures(views),
        program=PROGRAM.format(
            runs="\n".join(f"    {name!r}: TaskSettings({arguments(one)})," for name, one in made.items())
        ),
        settings={name: pprint.pformat(dataclasses.asdict(one), compact=True, width=400) for name, one in made.items()},
    ).draw()
