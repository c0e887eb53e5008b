"""The runs while they train: progress, curves, and attention over the steps."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder import figures
from encoder.figures import placements as drawn
from encoder.train import task_inspection
from encoder.train.run_view import RunView
from pages.components import plot
from pages.core import sidebar
from pages.core.view import state
from pages.training.params import Params
from pages.training.runs import RunGroup

STATUS = {"ready": "not started", "waiting": "waits for its turn", "running": "trains"}
#: Column of a curve -> its title.
CURVES = {"held_out_loss": "held-out loss, nats", "accuracy": "held-out accuracy"}
WRONG = "background-color: rgba(201, 118, 26, 0.45)"


def live(group: RunGroup, was_active: bool) -> None:
    """Progress, curves and attention of the runs as they are now."""
    if was_active:
        group.restart_lapsed(was_here=True)
    views = group.poll()
    if group.active != was_active:
        st.rerun()
    progress(group, views)
    if any(view.curve for view in views.values()):
        curves(group, views)
    if any(view.frames for view in views.values()):
        attention(group, views)


def progress(group: RunGroup, views: dict[str, RunView]) -> None:
    """The step, the status and the accuracy of each run."""
    for column, (name, view) in zip(st.columns(len(views)), views.items(), strict=True):
        status = STATUS.get(view.status, view.status.split(":")[0])
        text = f"**{name}**: {status}, step {view.step:,} of {view.settings.steps:,}"
        if view.curve:
            text += f", {view.accuracy:.1%} right"
        column.progress(view.progress, text)
        if view.diverged:
            column.warning(
                f"{view.status[0].upper()}{view.status[1:]}. The learning rate {view.settings.learning_rate:g} may be "
                "too large: choose a smaller one, or a warm-up.",
                icon=":material/trending_up:",
            )
        elif view.status.startswith("failed"):
            column.error(f"This run ended with an error: {view.status.partition(': ')[2]}. Choose smaller sizes.")
    if group.left and any(view.status == "stopped" for view in views.values()):
        st.info("Training stopped because this page was closed. “Continue” resumes it.", icon=":material/pause:")


def curve_figures(group: RunGroup, views: dict[str, RunView]) -> dict[str, go.Figure]:
    """Title -> loss and accuracy over the steps, a line for each run that has a curve."""
    tables = {name: view.to_frame() for name, view in views.items() if view.curve}
    found = {}
    for what, title in CURVES.items():
        lines = {
            name: (views[name].settings.norm_placement, group.dashes[name], table.step, table[what])
            for name, table in tables.items()
        }
        found[title] = drawn.recorded_curves(lines, title, log=what == "held_out_loss")
    return found


def curves(group: RunGroup, views: dict[str, RunView]) -> None:
    """Loss and accuracy over the steps."""
    found = curve_figures(group, views)
    found[CURVES["accuracy"]].update_yaxes(range=[0, 1.03], tickformat=".0%")
    for column, (what, title) in zip(st.columns(2, gap="medium"), CURVES.items(), strict=True):
        column.plotly_chart(
            found[title], key=f"task-{what}", height=300, config={"displayModeBar": False},
            alt=f"{title} over the steps, a line for each run; colour shows the norm placement.",
        )  # fmt: skip
    st.caption(results(group, {name: view.to_frame() for name, view in views.items() if view.curve}))


def results(group: RunGroup, tables: dict[str, pd.DataFrame]) -> str:
    """The curves in words."""
    first = next(iter(group.runs.values()))
    said = [f"Measured on {len(first.inputs)} held-out sequences; guessing gets {1 / len(first.task.classes):.0%}."]
    for name, table in tables.items():
        nearly_all = table[table.accuracy >= 0.995]
        if len(nearly_all):
            said.append(f"{name}: over 99% right after {int(nearly_all.step.iloc[0]):,} steps.")
        else:
            last = table.iloc[-1]
            said.append(f"{name}: {last.accuracy:.1%} right after {int(last.step):,} steps, loss {last.loss:.2f}.")
    return " ".join([*said, "Each run is one seed: small differences may be chance."])


# --- attention over the steps -----------------------------------------------------------------------------------------


def attention(group: RunGroup, views: dict[str, RunView]) -> None:
    """A slider through the steps, and the attention of each run at that step."""
    st.subheader("Attention during training", anchor=False)
    steps = sorted({frame.step for view in views.values() for frame in view.frames})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        step = chosen_step(steps, running=group.active)
        head_controls(group)
    params = state.read(Params)
    answers: dict[str, task_inspection.Answers] = {}
    for column, (name, view) in zip(columns(len(views)), views.items(), strict=False):
        if view.frames:
            with column:
                answers[name] = one_map(group, name, view, step, params)
    # One table for all runs, which answer the same sequence: half a page would cut it.
    st.dataframe(answer_table(answers), width="stretch", key="answers")


def columns(n_runs: int) -> list[DeltaGenerator]:
    """A column for each run, two in a row: narrower columns cut a map's colour bar and the names of buttons."""
    return [place for _ in range(0, n_runs, 2) for place in st.columns(min(2, n_runs), gap="medium")]


def chosen_step(steps: list[int], *, running: bool) -> int:
    """The newest step during training, then the one that the slider selects."""
    if running:
        st.caption(f"Step {steps[-1]:,}, the newest. After training, a slider selects earlier steps.")
        return steps[-1]
    if len(steps) < 2:
        st.caption(f"Only the maps of step {steps[-1]:,} exist: training stopped before the next ones.")
        return steps[-1]
    # A key for each length: runs that continued bring a longer slider, which starts at their newest step.
    return st.select_slider(
        "Step", steps, value=steps[-1], key=f"training-time-{len(steps)}-{steps[-1]}", width=420,
        format_func=lambda step: f"{step:,}",
    )  # fmt: skip


def head_controls(group: RunGroup) -> None:
    """Which head the maps show, and whether for one sequence or on average."""
    settings = next(iter(group.runs.values())).settings
    for param, title, count in (
        (Params.shown_layer, "Layer", settings.n_layers),
        (Params.shown_head, "Head", settings.n_heads),
    ):
        if state.get(param) >= count:
            state.put(param, 0)
        if count > 1:
            state.bound(st.number_input, param, title, min_value=0, max_value=count - 1, width=110)
    state.bound(
        st.toggle, Params.shown_mean, "Mean of all sequences",
        help="Off: the map of one held-out sequence. On: the mean of the maps of all held-out sequences.",
    )  # fmt: skip


def one_map(group: RunGroup, name: str, view: RunView, step: int, params: Params) -> task_inspection.Answers:
    """Draw a run's attention at a step, and return its answers at that step."""
    run, frame = group.runs[name], view.frame_at(step)
    layer, head = params.shown_layer, params.shown_head
    answers = task_inspection.answers(run, frame)
    maps, labels = frame.sample, list(answers.shown)
    if params.shown_mean:
        maps, labels = frame.mean, [str(position) for position in range(len(answers.shown))]
    st.markdown(f"**{sidebar.plain(name)}**, step {frame.step:,}")
    plot(
        figures.attention_heatmap(maps[layer, head], labels), key=f"training-map-{name}", height=380,
        alt=f"Attention of L{layer} H{head} of the run {name} after {frame.step} steps.",
    )  # fmt: skip
    total = len(answers.shown)
    caption = f"Right answers in this sequence: {answers.right} of {total}."
    rows = task_inspection.right_rows(run, frame, layer, head)
    if rows is not None:
        caption += f" Rows where L{layer} H{head} attends most to the token with the answer: {rows} of {total}."
    st.caption(caption)
    return answers


def answer_table(answers: dict[str, task_inspection.Answers]) -> pd.io.formats.style.Styler:
    """The sequence, the right answers, and a row with the answers of each run; wrong answers are orange."""
    first = next(iter(answers.values()))
    rows = {"sequence": first.shown, "right answers": first.expected}
    rows |= {name: given.predicted for name, given in answers.items()}
    table = pd.DataFrame(list(rows.values()), index=list(rows))
    marks = pd.DataFrame("", index=table.index, columns=table.columns)
    for name in answers:
        marks.loc[name] = (table.loc[name] != table.loc["right answers"]).map({True: WRONG, False: ""})
    return table.style.apply(lambda _: marks, axis=None)
