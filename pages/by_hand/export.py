"""What can be exported from the page “By hand”."""

from __future__ import annotations

from typing import TYPE_CHECKING

from encoder import figures
from encoder.explain.by_hand import Inputs, WorkedExample
from encoder.explain.claims import claims
from encoder.export import tables
from pages.core.export import arguments, changes, export_panel
from pages.core.frame import current_view

if TYPE_CHECKING:
    pass


def export_worked(inputs: Inputs, example: WorkedExample) -> None:
    """Every number of the calculation, with the changes that were made to it."""
    export_panel(
        current_view(),
        "The worked example",
        lambda: tables.step_frame(example),
        figures=lambda: {
            "Attention: rows attend to columns": figures.attention_heatmap(example.attention, inputs.words)
        },
        program="from encoder.export import tables\nfrom encoder.explain.by_hand import Inputs, compute\n"
        f"example = compute(Inputs({arguments(inputs)}))\ntable = tables.step_frame(example)\n",
        settings={
            "Changed": ", ".join(changes(inputs)) or "nothing", "Norm placement": inputs.norm_placement,
            "Positions": inputs.positions,
        },
    )  # fmt: skip


def export_claims() -> None:
    """What the notes say beside what their own formulas give."""
    export_panel(
        current_view(),
        "What the notes say",
        lambda: tables.claims_frame(claims()),
        program="from encoder.export import tables\nfrom encoder.explain.claims import claims\n"
        "table = tables.claims_frame(claims())\n",
    )
