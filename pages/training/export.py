"""What can be exported from the page “Train a small encoder”."""

from __future__ import annotations

import dataclasses
import pprint

import pandas as pd

from encoder.train.run_view import RunView
from pages.core.export import arguments, export_panel
from pages.training.live import curve_figures

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


def export_runs(views: dict[str, RunView]) -> None:
    """The curves of this session's runs."""
    runs = {name: dataclasses.replace(view.settings, steps=view.step) for name, view in views.items() if view.curve}
    if not runs:
        return
    export_panel(
        None,
        "Training runs",
        lambda: pd.concat([views[name].to_frame().assign(run=name) for name in runs], ignore_index=True),
        figures=lambda: curve_figures(views),
        program=PROGRAM.format(
            runs="\n".join(f"    {name!r}: TaskSettings({arguments(one)})," for name, one in runs.items())
        ),
        settings={name: pprint.pformat(dataclasses.asdict(one), compact=True, width=400) for name, one in runs.items()},
    )
