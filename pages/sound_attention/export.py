"""The export of the page Sound attention: the weights over time, the pictures, and a Python program."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from encoder.figures.sound import time_map
from encoder.measure import sounds
from pages.core.export import export_panel, title
from pages.core.view import View
from pages.sound_attention.heard import Heard


def export_sound(view: View, found: Heard, lines: str) -> None:
    """Weights of the query in all heads. lines: further lines of Python."""

    def weights() -> np.ndarray:
        return sounds.all_heads_over_time(view.trace, found.query)

    def frame() -> pd.DataFrame:
        values = weights()
        layers, heads, columns = np.indices(values.shape)
        return pd.DataFrame(
            {"layer": layers.ravel(), "head": heads.ravel(), "second": found.over.starts[columns.ravel()],
             "weight": values.ravel()}
        )  # fmt: skip

    def figures() -> dict[str, go.Figure]:
        values = weights()
        names = [f"L{layer} H{head}" for layer in range(values.shape[0]) for head in range(values.shape[1])]
        rows = values.reshape(len(names), -1)
        drawn = time_map(rows, found.over.starts, names, title="head", downwards=True)
        return {f"What {found.name} attends to over time": drawn}

    export_panel(
        view,
        title(view, "Sound attention"),
        frame,
        figures=figures,
        lines=(
            "from encoder.measure import sounds\n"
            f"weights = sounds.all_heads_over_time(trace, {found.query})  # [layers, heads, columns of time]"
            f"{lines}"
        ),
        settings={"Query": found.name},
    )
