"""What can be exported from the page “Pre-norm vs post-norm”."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from encoder import figures
from encoder.export import tables
from encoder.export.python_code import model_lines, trace_call
from encoder.figures.difference import attention_difference
from encoder.figures.placements import PLACEMENT_NAMES
from encoder.measure import align
from pages.core import cache
from pages.core import comparison as compare
from pages.core.export import export_panel, origin, place
from pages.core.frame import current_view
from pages.core.norm_pair import PLACEMENTS, PairTraces
from pages.core.view import View


def export_placements(view: View, keys: Mapping[str, cache.ModelKey]) -> None:
    """The head in both norm placements. keys: placement -> the encoder with it; A is post-norm, B pre-norm."""
    first, second = (
        compare.Side(keys[placement], view.text, view.pair, view.layer, view.head, name)
        for name, placement in (("A", "post"), ("B", "pre"))
    )
    sides = compare.Sides("models", first, second)

    def frame() -> pd.DataFrame:
        names = align.step_labels(first.trace, second.trace, sides.alignment)
        return tables.comparison_frame(sides.compared("show"), names[0], names[1])

    def drawn() -> Mapping[str, go.Figure]:
        found, block = sides.compared("show"), {"block": sides.compared("show").block}
        labels = align.step_labels(first.trace, second.trace, sides.alignment)[2]
        return {
            "Post-norm": figures.attention_heatmap(found.first, labels, colours=view.colours, **block),
            "Pre-norm": figures.attention_heatmap(found.second, labels, colours=view.colours, **block),
            "Pre-norm − post-norm": attention_difference(
                found.difference, labels, names=("post-norm", "pre-norm"), **block
            ),
        }

    export_panel(
        dataclasses.replace(view, model=keys["post"]),
        f"L{view.layer} H{view.head} in post-norm and pre-norm",
        frame,
        figures=drawn,
        lines=compare.python_lines(sides, "show"),
        settings={"A": f"post-norm, {first.model_name}", "B": f"pre-norm, {second.model_name}", **place(view)},
    )


def export_stream(view: View, traces: PairTraces, pictures: Mapping[str, go.Figure]) -> None:
    """The residual stream of both placements. pictures: those of the page."""
    models, remarks = [], ""
    for placement in PLACEMENTS:
        key, remark = origin(traces.pair.keys[placement])
        models.append(model_lines(key, placement))
        remarks = remarks or remark
    calls = ", ".join(f'"{p}": {trace_call(p, traces.text, traces.second)}' for p in PLACEMENTS)
    imports = ["import encoder", "from encoder.export import tables"]

    export_panel(
        view,
        "The residual stream in pre-norm and post-norm",
        lambda: tables.stream_frame({p: traces.trace(p) for p in PLACEMENTS}),
        figures=pictures,
        program=remarks + "\n".join([*imports, *models, f"table = tables.stream_frame({{{calls}}})\n"]),
        settings={PLACEMENT_NAMES[p]: traces.name(p) for p in PLACEMENTS} | {"Text": traces.text},
    )


def export_recorded(recorded: pd.DataFrame, figure: go.Figure, title: str, depth: int | None) -> None:
    """The recorded curves of the twins and their variants. depth: layers of the runs, None for all."""
    chosen = "" if depth is None else f"table = table[table.n_layers == {depth}]\n"
    export_panel(
        current_view(),
        "Recorded training",
        lambda: recorded,
        figures={title: figure},
        program=f"from encoder.train import curves\ntable = curves.recorded()\n{chosen}",
        settings={"Runs": ", ".join(recorded.run.unique())},
    )
