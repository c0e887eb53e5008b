"""The export of the page Head atlas: a row for each head and measure, the figures, and Python lines."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from encoder.load import BUNDLED
from pages.core import atlases
from pages.core.export import export_panel
from pages.core.url_state import state
from pages.head_atlas import map as map_of_heads
from pages.head_atlas.opened import Opened


def export_atlas(found: Opened, drawn: dict[str, go.Figure]) -> None:
    """drawn: the page's other figures by their titles."""

    def frame() -> pd.DataFrame:
        rows = found.atlas.table("heads")
        return rows[rows["measure"] == found.measure.name]

    def figures() -> dict[str, go.Figure]:
        return {f"{found.measure.title} over {atlases.texts_of(found.atlas)}": map_of_heads.figure(found), **drawn}

    name = _bundled(found)
    folder = f'corpus.bundled_atlases()["{name}"]' if name else 'Path("the-folder-of-the-atlas")'
    lines = (
        ("" if name else "from pathlib import Path\n\n")
        + "from encoder import corpus\n"
        + f"atlas = corpus.open_atlas({folder})\n"
        + f'mean, low, high = (atlas.array("{found.measure.name}", one) for one in ("mean", "low", "high"))\n'
        + f"mean[{found.layer}, {found.head}]"
    )
    export_panel(
        found.view, f"Atlas of {found.atlas.model_name}", frame, figures=figures, program=lines,
        settings={"Texts": f"{found.atlas.n_texts:,}", "Measure": found.measure.title, "Head": found.name},
    )  # fmt: skip


def _bundled(found: Opened) -> str | None:
    """The name of a bundled atlas."""
    name = state.get(atlases.AtlasParams.atlas)
    names = [name] if name else list(BUNDLED)
    return next((one for one in names if one in BUNDLED and atlases.opened(one) is found.atlas), None)
