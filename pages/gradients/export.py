"""What can be exported from the page “Gradients at initialisation”."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from encoder.figures.gradients import last_layer_gradients
from pages.core.export import arguments, export_panel

if TYPE_CHECKING:
    from encoder.train import gradients


def export_gradients(table: pd.DataFrame, setting: gradients.Setting, depths: Sequence[int], seeds: range) -> None:
    """Gradient norms at initialisation. table: as `gradients.to_frame` gives it; the rest: what was measured."""
    program = (
        "from encoder.train import gradients\n"
        f"found = gradients.measure_all({list(depths)}, {seeds!r}, gradients.Setting({arguments(setting)}))\n"
        "table = gradients.to_frame(found)\n"
    )
    export_panel(
        None,
        "Gradients at initialisation",
        lambda: table,
        figures=lambda: {"The last layer's gradient over depth": last_layer_gradients(table, {})},
        program=program,
        settings={"Width": setting.d_model, "Heads": setting.n_heads, "Depths": list(depths), "Seeds": len(seeds)},
    )
