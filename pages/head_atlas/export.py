"""The export of the page Head atlas: a row for each head and measure, the figures, and Python lines."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from pages.core import atlases
from pages.core.export import export_panel
from pages.head_atlas import map as map_of_heads
from pages.head_atlas.opened import Opened


def export_atlas(found: Opened, drawn: dict[str, go.Figure]) -> None:
    """drawn: the page's other figures by their titles."""

    def frame() -> pd.DataFrame:
        rows = found.atlas.table("heads")
        return rows[rows["measure"] == found.measure.name]

    def figures() -> dict[str, go.Figure]:
        return {f"{found.measure.title} over {atlases.texts_of(found.atlas)}": map_of_heads.figure(found), **drawn}

    lines = (
        "from pathlib import Path\n\nfrom encoder import corpus\n"
        + f"atlas = corpus.open_atlas({atlases.python(found.atlas)})\n"
        + f'mean, low, high = (atlas.array("{found.measure.name}", one) for one in ("mean", "low", "high"))\n'
        + f"mean[{found.layer}, {found.head}]"
    )
    export_panel(
        found.view, f"Atlas of {found.atlas.model_name}", frame, figures=figures, program=lines,
        settings={"Texts": f"{found.atlas.n_texts:,}", "Measure": found.measure.title, "Head": found.name},
    )  # fmt: skip
