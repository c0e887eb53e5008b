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
    from encoder.train.loop import View as RunView


def export_runs(views: Mapping[str, RunView], dashes: Mapping[str, str]) -> None:
    """The curves of the runs that were trained here."""
    runs = {name: dataclasses.replace(view.settings, steps=view.step) for name, view in views.items() if view.curve}
    if not runs:
        return
    tables = {name: views[name].to_frame() for name in runs}

    def frame() -> pd.DataFrame:
        return pd.concat([table.assign(run=name) for name, table in tables.items()], ignore_index=True)

    def drawn() -> Mapping[str, go.Figure]:
        return {
            title: recorded_curves(
                {
                    name: (runs[name].norm_placement, dashes[name], table.step, table[what])
                    for name, table in tables.items()
                },
                title,
                log=what == "held_out_loss",
            )
            for what, title in (("held_out_loss", "held-out loss, nats"), ("accuracy", "held-out accuracy"))
        }

    described = ",\n".join(f"    {name!r}: TaskSettings({arguments(settings)})" for name, settings in runs.items())
    export_panel(
        current_view(),
        "Trained here",
        frame,
        figures=drawn,
        program="import time\n\nimport pandas as pd\n\nfrom encoder.train.loop import TaskRun, TaskSettings\n\n"
        f"runs = {{\n{described},\n}}\ntables = []\n"
        "for name, settings in runs.items():\n    run = TaskRun(settings)\n    run.start()\n"
        "    while run.poll().active:\n        time.sleep(0.1)\n"
        "    tables.append(run.poll().to_frame().assign(run=name))\n"
        "table = pd.concat(tables, ignore_index=True)\n",
        settings={name: pprint.pformat(dataclasses.asdict(one), compact=True, width=400) for name, one in runs.items()},
    )
