"""Train them yourself: a small task, both placements of the norms, live."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder import figures
from encoder.config import POSITION_KINDS
from encoder.errors import ConfigError, LoadError
from encoder.figures import placements as drawn
from encoder.train import task_inspection
from encoder.train.loop import RunView
from encoder.train.single_file import MAX_BYTES, from_bytes, held_out_accuracy, to_bytes
from encoder.train.tasks import TASKS, make
from pages.components import plot
from pages.core import placement_toggle, sidebar
from pages.core.frame import heading
from pages.core.view import state
from pages.training import runs
from pages.training.export import export_runs
from pages.training.params import BOUNDS, HIGHEST_RATE, LOWEST_RATE, WARM

#: Seconds between two looks at runs that are at work.
EVERY = 1.0
STATUS = {"ready": "not begun", "waiting": "waits for its turn", "running": "trains", "paused": "paused",
          "done": "done", "stopped": "stopped"}  # fmt: skip


def main() -> None:
    if runs.opened():
        st.switch_page("pages/heads/page.py")
    heading()
    st.markdown(
        "A small encoder learns a task in seconds, while you watch: loss, accuracy, and where its attention "
        "looks. Train "
        "the same one with its norms before and after the sublayers, with and without warm-up, with and without "
        "positions."
    )
    what_to_train()
    problem = cannot_be()
    mine = runs.group()
    if mine is not None:
        mine.looked_at_again(was_here=placement_toggle.was_here())
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Train", type="primary", icon=":material/play_arrow:", on_click=runs.begin, disabled=bool(problem))
        if mine is not None and mine.active:
            st.button("Stop", icon=":material/stop:", on_click=mine.stop)
        elif mine is not None and not mine.ended:
            st.button("Go on", icon=":material/resume:", on_click=mine.start)
    if problem:
        st.warning(problem)
    if mine is not None:
        st.fragment(live, run_every=EVERY if mine.active else None)(mine, mine.active)
        if not mine.active:
            results(mine)
    upload()


# --- what is to be trained --------------------------------------------------------------------------------------------


def what_to_train() -> None:
    """The task and its runs; sizes and seed behind an expander."""
    left, right = st.columns([2, 3], gap="medium", vertical_alignment="bottom")
    with left:
        task = state.bound(
            st.selectbox, "task", "Task", list(TASKS), format_func=lambda name: make(name).title, on_change=take_sizes
        )
    with right:
        st.pills("Try", list(runs.PRESETS), key="preset", on_change=use_preset)
    made = make(task)
    st.caption(made.rule)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state.bound(
            st.segmented_control, "train_norm", "Norm placement", ["pre", "post"], selection_mode="multi",
            help="Both have the same weights to begin with.",
        )  # fmt: skip
        state.bound(
            st.segmented_control, "warm", "Warm-up", list(WARM), selection_mode="multi",
            help="With: the learning rate rises from 0 over the first steps. Without: it is whole from the first.",
        )  # fmt: skip
        state.bound(
            st.segmented_control, "encodings", "Positions", list(POSITION_KINDS), selection_mode="multi",
            help="Without positions the encoder sees a bag of symbols: it cannot know which stands where.",
        )  # fmt: skip
        state.bound(
            st.number_input, "rate", "Learning rate", min_value=LOWEST_RATE, max_value=HIGHEST_RATE, format="%g",
            step=1e-3, width=140,
        )  # fmt: skip
    with st.expander("Sizes, steps, seed"):
        numbers()


def numbers() -> None:
    titles = {
        "length": "Length", "symbols": "Symbols", "train_layers": "Layers", "train_heads": "Heads",
        "train_width": "Width", "rise": "Steps of warm-up", "steps": "Steps",
    }  # fmt: skip
    columns = st.columns(4)
    for number, (name, title) in enumerate(titles.items()):
        low, high = BOUNDS[name]
        state.bound(columns[number % 4].number_input, name, title, min_value=low, max_value=high)
    state.bound(columns[3].number_input, "train_seed", "Seed", min_value=0, max_value=999_999)


def take_sizes() -> None:
    """Another task brings the sizes with which it is learned."""
    task = st.session_state[state.key("task")]
    for name, value in runs.suggested(task).items():
        state.put(name, value)


def use_preset() -> None:
    title = st.session_state.get("preset")
    if title is not None:
        runs.use_preset(title)
        st.session_state["preset"] = None


def cannot_be() -> str:
    """Why what is described cannot be trained; nothing where it can."""
    try:
        runs.described()
    except ConfigError as error:
        return str(error)
    return ""


# --- while it runs ----------------------------------------------------------------------------------------------------


def live(mine: runs.Group, was_active: bool) -> None:
    """Curves and attention of the runs as they are now; runs that stopped for want of a look go on."""
    if was_active:
        mine.looked_at_again(was_here=True)
    views = mine.poll()
    if mine.active != was_active:
        st.rerun()
    progress(mine, views)
    if any(view.curve for view in views.values()):
        curves(mine, views)
    if any(view.frames for view in views.values()):
        over_time(mine, views)


def progress(mine: runs.Group, views: dict[str, RunView]) -> None:
    """How far each run is, and how it goes."""
    for column, (name, view) in zip(st.columns(len(views)), views.items(), strict=True):
        accuracy = f", {view.accuracy:.1%} right" if view.curve else ""
        status = STATUS.get(view.status, view.status.split(":")[0])
        column.progress(view.progress, f"**{name}**: {status}, step {view.step:,} of {view.settings.steps:,}{accuracy}")
        if view.diverged:
            column.warning(
                f"{view.status[0].upper()}{view.status[1:]}. A learning rate of {view.settings.learning_rate:g} is too "
                "large for it: choose a smaller one, or let it rise by a warm-up.",
                icon=":material/trending_up:",
            )
        elif view.status.startswith("failed"):
            column.error(f"This run ended by an error: {view.status.partition(': ')[2]}. Choose smaller sizes.")
    stopped = [name for name, view in views.items() if view.status == "stopped"]
    if stopped and mine.left:
        st.info("Nobody looked at this page for a few seconds, so training stopped. “Go on” continues where it was.")


def curves(mine: runs.Group, views: dict[str, RunView]) -> None:
    """Loss and accuracy over the steps."""
    tables = {name: view.to_frame() for name, view in views.items() if view.curve}
    charts = (("held_out_loss", "held-out loss, nats", True), ("accuracy", "held-out accuracy", False))
    for column, (what, title, log) in zip(st.columns(2, gap="medium"), charts, strict=True):
        lines = {
            name: (views[name].settings.norm_placement, mine.dashes[name], table.step, table[what])
            for name, table in tables.items()
        }
        figure = drawn.recorded_curves(lines, title, log=log)
        if what == "accuracy":
            figure.update_yaxes(range=[0, 1.03], tickformat=".0%")
        column.plotly_chart(
            figure, key=f"task-{what}", height=300, config={"displayModeBar": False},
            alt=f"{title} over the steps, a line for each run; colour says the placement of the norms.",
        )  # fmt: skip
    st.caption(how_it_went(mine, views))


def how_it_went(mine: runs.Group, views: dict[str, RunView]) -> str:
    """The curves in words."""
    first = next(iter(mine.runs.values()))
    chance = 1 / len(first.task.classes)
    said = [f"Measured on {len(first.inputs)} sequences that are never trained on; guessing gets {chance:.0%}."]
    for name, view in views.items():
        if not view.curve:
            continue
        table = view.to_frame()
        perfect = table[table.accuracy >= 0.995]
        if len(perfect):
            said.append(f"{name} is right after {int(perfect.step.iloc[0]):,} steps.")
        else:
            last = table.iloc[-1]
            said.append(f"{name} gets {last.accuracy:.1%} after {int(last.step):,} steps, loss {last.loss:.2f}.")
    return " ".join(said)


# --- attention along the way ------------------------------------------------------------------------------------------


def over_time(mine: runs.Group, views: dict[str, RunView]) -> None:
    """A slider through training time, and each run's attention at that time."""
    st.subheader("Attention while it learned", anchor=False)
    steps = sorted({frame.step for view in views.values() for frame in view.frames})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        step = time_slider(steps, running=mine.active)
        layer, head = which_head(mine)
    given: dict[str, task_inspection.Answers] = {}
    for column, (name, view) in zip(places(len(views)), views.items(), strict=False):
        if view.frames:
            with column:
                given[name] = one_map(mine, name, view, step, layer, head)
    # One table across the page: all runs of a group answer the same sequence, and half a page cuts it.
    st.dataframe(answer_table(given), width="stretch", key="answers")


def places(n_runs: int) -> list[DeltaGenerator]:
    """A place for each run, two beside each other: narrower ones cut a map's colour bar and the names of buttons."""
    return [place for _ in range(0, n_runs, 2) for place in st.columns(min(2, n_runs), gap="medium")]


def time_slider(steps: list[int], *, running: bool) -> int:
    """The step that is looked at: the newest while the runs are at work, then the one that is chosen."""
    if running:
        st.caption(f"Now: step {steps[-1]:,}. Once training ends or is stopped, a slider goes back through all of it.")
        return steps[-1]
    if len(steps) < 2:
        st.caption(f"The maps were recorded at step {steps[-1]:,} alone: training stopped before the next ones.")
        return steps[-1]
    # A key for each end: runs that went on bring a longer slider, which begins at their newest step.
    return st.select_slider(
        "Training time, in steps", steps, value=steps[-1], key=f"training-time-{len(steps)}-{steps[-1]}", width=420
    )


def which_head(mine: runs.Group) -> tuple[int, int]:
    """The head that is watched, and whether on one sequence or on average."""
    settings = next(iter(mine.runs.values())).settings
    for name, count in (("watch_layer", settings.n_layers), ("watch_head", settings.n_heads)):
        if state.get(name) >= count:
            state.put(name, 0)
    if settings.n_layers > 1:
        state.bound(st.number_input, "watch_layer", "Layer", min_value=0, max_value=settings.n_layers - 1, width=110)
    if settings.n_heads > 1:
        state.bound(st.number_input, "watch_head", "Head", min_value=0, max_value=settings.n_heads - 1, width=110)
    state.bound(
        st.toggle, "watch_mean", "Mean of all sequences",
        help="The map of one held-out sequence, or the mean of the maps of all of them.",
    )  # fmt: skip
    return state.get("watch_layer"), state.get("watch_head")


def one_map(
    mine: runs.Group, name: str, view: RunView, step: int, layer: int, head: int
) -> task_inspection.Answers:  # fmt: skip
    """A run's attention at a step, with its sentence; returns what the run answered then."""
    run, frame = mine.runs[name], view.frame_at(step)
    answers = task_inspection.answers(run, frame)
    mean = state.get("watch_mean")
    labels = [str(place) for place in range(len(answers.shown))] if mean else list(answers.shown)
    st.markdown(f"**{sidebar.plain(name)}**, after {frame.step:,} steps")
    plot(
        figures.attention_heatmap((frame.mean if mean else frame.sample)[layer, head], labels),
        key=f"training-map-{name}", height=380,
        alt=f"Attention of L{layer} H{head} of the run {name} after {frame.step} steps.",
    )  # fmt: skip
    looks = task_inspection.right_rows(run, frame, layer, head)
    where = "" if looks is None else (
        f" In {looks} of {len(answers.shown)} rows L{layer} H{head} looks most at the token with the answer."
    )  # fmt: skip
    st.caption(f"{answers.right} of {len(answers.shown)} answers are right on this sequence.{where}")
    return answers


def answer_table(given: dict[str, task_inspection.Answers]) -> pd.io.formats.style.Styler:
    """Sequence, right answers, and a row for what each run answered; wrong ones are marked."""
    first = next(iter(given.values()))
    rows = {"sequence": first.shown, "right answers": first.expected}
    rows |= {name: answers.predicted for name, answers in given.items()}
    table = pd.DataFrame(list(rows.values()), index=list(rows))
    marks = pd.DataFrame("", index=table.index, columns=table.columns)
    for name, answers in given.items():
        wrong = [one != right for one, right in zip(answers.predicted, answers.expected, strict=True)]
        marks.loc[name] = ["background-color: rgba(201, 118, 26, 0.45)" if mark else "" for mark in wrong]
    return table.style.apply(lambda _: marks, axis=None)


# --- what becomes of it -----------------------------------------------------------------------------------------------


def results(mine: runs.Group) -> None:
    """Each run opens like any model, and can be saved."""
    views = mine.poll()
    usable = {name: view for name, view in views.items() if view.step and not view.diverged}
    if not usable:
        return
    st.subheader("Look inside, or keep it", anchor=False)
    for column, (name, view) in zip(places(len(views)), views.items(), strict=False):
        if name not in usable:
            column.caption(f"{name} diverged: its weights are of no use.")
            continue
        run = mine.runs[name]
        column.button(
            f"Open in Heads: {name}", icon=":material/grid_view:", key=f"open-{name}", on_click=runs.open_run,
            args=(name,), width="stretch",
        )  # fmt: skip
        column.download_button(
            "Save as safetensors", lambda run=run: to_bytes(run.snapshot()), icon=":material/download:",
            file_name=f"{view.settings.task}-{view.settings.norm_placement}-{view.step}.safetensors",
            mime="application/octet-stream", key=f"save-{name}", on_click="ignore", width="stretch",
        )  # fmt: skip
    st.caption(
        "An opened model stands in the sidebar as “Trained here”, with the sequence as its sentence: every page "
        "shows it "
        "like any other. Saved files hold the weights and the settings, nothing else."
    )
    export_runs(views, mine.dashes)


def upload() -> None:
    """A saved run from a file."""
    with st.expander("Open a saved run"):
        given = st.file_uploader(
            "A file saved on this page", type=["safetensors"], max_upload_size=MAX_BYTES // 10**6, key="training-file"
        )
        if given is None:
            return
        try:
            task = from_bytes(given.getvalue(), given.name)
        except LoadError as error:
            st.error(sidebar.plain(str(error)), icon=":material/error:")
            return
        st.markdown(
            f"**{sidebar.plain(task.text_encoder.name)}**: {held_out_accuracy(task):.1%} right on held-out sequences, "
            f"{task.text_encoder.n_parameters:,} parameters."
        )
        st.button(
            "Open in Heads", icon=":material/grid_view:", key="open-file", on_click=runs.open_file,
            args=(task, given.file_id),
        )  # fmt: skip


main()
