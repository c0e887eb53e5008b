"""Word prediction in four and in twelve layers: the recorded training of the bundled twins and of their variants."""

import pandas as pd
import streamlit as st

from encoder.figures import placements as drawn
from encoder.figures.placements import PLACEMENT_NAMES
from encoder.train import curves
from pages.components import plot
from pages.core.widgets import Export, adjust
from pages.core.words import about, errors_said, opening
from pages.state import state
from pages.training.params import TwinParams as Params

CURVES = {
    "held_out_accuracy": ("held-out accuracy", "share of the masked words"),
    "held_out_loss": ("held-out loss", "nats"),
    "loss": ("training loss", "nats"),
    "gradient_norm": ("gradient norm", "before clipping"),
}
#: (warm-up, deeper) -> dash.
DASHES = {(True, False): "solid", (False, False): "dash", (True, True): "dashdot", (False, True): "dot"}


def show() -> None:
    """The page with this part."""
    opening("Which placement learns in a deep encoder?")
    with errors_said(st.info, icon=None):
        recorded_training()


def recorded_training() -> None:
    """What the runs come to at the same step, then the chart, all runs, and what is in the drawer."""
    table = curves.recorded()
    depths = sorted({int(depth) for depth in table.n_layers})
    shown = {"all": depths, "shallow": depths[:1], "deep": depths[-1:]}
    with adjust.drawer("recorded"):
        what = state.selectbox(Params.curve, "Curve", {name: title for name, (title, _) in CURVES.items()}, width=220)
        depth = "all"
        if len(depths) > 1:
            depth = state.segmented(
                Params.depth,
                "Depth",
                {name: "All" if name == "all" else f"{shown[name][0]} layers" for name in shown},
            )
        across = "seconds" if state.bound(st.toggle, Params.clock, "Seconds instead of steps") else "step"
    table = table[table.n_layers.isin(shown[depth])]
    st.markdown(apart_in_words(table))
    title = ", ".join(CURVES[what])
    figure = drawn.recorded_curves(lines(table, what, across), title, log=what == "gradient_norm", across=across)
    if what == "held_out_accuracy":
        figure.update_yaxes(tickformat=".0%")
    plot(
        figure,
        key="recorded",
        height=420,
        alt=f"Recorded {CURVES[what][0]} of every run; colour shows the norm placement.",
    )
    at_common_step(table)
    st.caption(
        f"{about.text(__file__, 'Why people choose pre-norm')} {about.text(__file__, 'How the twins were trained')}"
    )
    chosen = "" if depth == "all" else f"table = table[table.n_layers == {shown[depth][0]}]\n"
    Export(
        None,
        "Recorded training",
        lambda: table,
        figures={title: figure},
        program=f"from encoder.train import curves\ntable = curves.recorded()\n{chosen}",
        settings={"Runs": ", ".join(table.run.unique())},
    ).draw()


def lines(table: pd.DataFrame, what: str, across: str) -> dict[str, tuple[str, str, object, object]]:
    """Each run as the figure needs it: name -> (placement, dash, x, y)."""
    found = {}
    shallow = table.n_layers.min()
    for _, rows in table.groupby("run", sort=False):
        run = rows.iloc[0]
        warm_up = f"{int(run.warmup_steps):,} steps of warm-up" if run.warmup_steps else "no warm-up"
        name = f"{PLACEMENT_NAMES[run.norm_placement]}, {int(run.n_layers)} layers, {warm_up}"
        dash = DASHES[bool(run.warmup_steps), bool(run.n_layers > shallow)]
        found[name] = (str(run.norm_placement), dash, rows[across], rows[what])
    return found


def at_common_step(table: pd.DataFrame) -> None:
    """All runs after the same number of steps."""
    _, accuracy = curves.at_common_step(table)
    shown = accuracy[[p for p in PLACEMENT_NAMES if p in accuracy]].rename(columns=PLACEMENT_NAMES).reset_index()
    shown = shown.rename(columns={"n_layers": "Layers", "warm_up": "Warm-up"})
    percent = st.column_config.NumberColumn(format="percent", help="Held-out masked words predicted correctly.")
    st.dataframe(
        shown, hide_index=True, width="content", column_config=dict.fromkeys(PLACEMENT_NAMES.values(), percent)
    )


def apart_in_words(table: pd.DataFrame) -> str:
    """The pair of runs whose accuracies differ most after the same number of steps."""
    step, accuracy = curves.at_common_step(table)
    if not {"pre", "post"} <= set(accuracy):
        return "The runs have one placement of the norms only."
    layers, warm_up = apart = (accuracy.pre - accuracy.post).abs().idxmax()
    return (
        f"Largest difference after {step:,} steps: with **{layers} layers, {warm_up} warm-up**, pre-norm predicts "
        f"**{accuracy.pre[apart]:.1%}** of the masked words right, post-norm **{accuracy.post[apart]:.1%}**."
    )
