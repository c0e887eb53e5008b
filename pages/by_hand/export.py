"""What the page “By hand” exports."""

from encoder import figures
from encoder.explain.by_hand import Calculation, Inputs, claims
from encoder.export import tables
from pages.core.export import arguments, changes, export_panel


def export_calculation(inputs: Inputs, example: Calculation) -> None:
    """Every number of the calculation, and the changed inputs."""
    export_panel(
        None,
        "By hand: The cat sat",
        lambda: tables.step_frame(example),
        figures=lambda: {
            "Attention: one row per query, one column per key": figures.attention_heatmap(
                example.attention, inputs.words
            )
        },
        program="from encoder.export import tables\nfrom encoder.explain.by_hand import Inputs, compute\n"
        f"example = compute(Inputs({arguments(inputs)}))\ntable = tables.step_frame(example)\n",
        settings={
            "Changed": ", ".join(changes(inputs)) or "nothing",
            "Norm placement": inputs.norm_placement,
            "Positions": inputs.positions,
        },
    )


def export_claims() -> None:
    """The numbers of the notes beside the computed ones."""
    export_panel(
        None,
        "Spot the mistakes",
        lambda: tables.claims_frame(claims()),
        program="from encoder.export import tables\nfrom encoder.explain.by_hand import claims\n"
        "table = tables.claims_frame(claims())\n",
    )
