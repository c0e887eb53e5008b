"""What can be exported from the page “Train a small encoder”."""

from __future__ import annotations

import dataclasses
import pprint
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd
import plotly.graph_objects as go

from encoder.figures.placements import recorded_curves
from pages.core.export import arguments, export_panel
from pages.core.frame import current_view

if TYPE_CHECKING:
    from encoder.train.loop import RunView

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


def export_runs(views: Mapping[str, RunView], dashes: Mapping[str, str]) -> None:
    """The curves of this session's runs."""
    runs = {name: dataclasses.replace(view.settings, steps=view.step) for name, view in views.items() if view.curve}
    if not runs:
        return
    tables = {name: views[name].to_frame() for name in runs}

    def curves(what: str, title: str) -> go.Figure:
        lines = {
            name: (runs[name].norm_placement, dashes[name], table.step, table[what]) for name, table in tables.items()
        }
        return recorded_curves(lines, title, log=what == "held_out_loss")

    titles = {"held_out_loss": "held-out loss, nats", "accuracy": "held-out accuracy"}
    export_panel(
        current_view(),
        "Training runs",
        lambda: pd.concat([table.assign(run=name) for name, table in tables.items()], ignore_index=True),
        figures=lambda: {title: curves(what, title) for what, title in titles.items()},
        program=PROGRAM.format(
            runs="\n".join(f"    {name!r}: TaskSettings({arguments(one)})," for name, one in runs.items())
        ),
        settings={name: pprint.pformat(dataclasses.asdict(one), compact=True, width=400) for name, one in runs.items()},
    )
