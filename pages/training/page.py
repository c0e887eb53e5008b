"""Train: small encoders on a small task, live, in both norm placements; and their gradients before the first step."""

import itertools

import streamlit as st

from encoder import ConfigError
from encoder.figures.placements import PLACEMENT_NAMES
from encoder.train.blocks import SEEDS, SWITCHES
from encoder.train.recorded import recorded
from encoder.train.settings import ATTENTION
from encoder.train.tasks import TASKS, make
from pages.core.frame.frame import heading, show, was_here
from pages.core.widgets import Export
from pages.core.words import about, opening, plain
from pages.state import next_page, state
from pages.training import at_start, history, live, runs, twins
from pages.training import params as limits
from pages.training.models import open_file, open_or_save
from pages.training.params import Params

#: Python that gives the recorded curves, and the first step at which each run is over 99% right.
RECORDED_PROGRAM = """import pandas as pd

from encoder.train.recorded import recorded

views = recorded().views
table = pd.concat([view.to_frame().assign(run=name) for name, view in views.items()], ignore_index=True)
solved = table[table.accuracy >= 0.995].groupby("run").step.min()
last = table.groupby("run").accuracy.last()
"""


def main() -> None:
    if runs.opened():
        st.switch_page("pages/heads/page.py")
    with heading():
        part = state.segmented(Params.part, "Part", limits.PARTS, label_visibility="collapsed")
    SHOW[part]()
    next_page("predict", "What can you use a trained encoder for?")


def train() -> None:
    """The runs: recorded ones first, then those of the reader."""
    runs.set_what_is_shown()
    group = runs.group()
    if group is not None:
        group.restart_lapsed(was_here=was_here())
    shown = None
    if group is not None:
        every = group.poll()
        shown = live.Shown(group.first_seeds(every), group.held_out, every)
    opening(f"From which step is “{live.task_of(shown).title}” solved?")
    buttons(group, active=shown is not None and shown.active)
    if problem := impossible():
        st.warning(plain(problem))
    if group is None or shown is None:
        show_recording()
    else:
        show_runs(group, shown)
    about.expander(__file__, "What is known about warm-up")
    open_file()


def buttons(group: runs.RunGroup | None, *, active: bool) -> None:
    """Train, stop, change the settings, and experiments that start with one click.

    active: as the picture of the runs has it, which asks for another run of the page when this changes.
    """
    with st.container(key="controls-runs", horizontal=True, vertical_alignment="center", gap="xsmall"):
        with st.popover("Experiments", icon=":material/science:"):
            st.caption("Each one chooses the settings and starts the runs.")
            for title in runs.PRESETS:
                st.button(
                    title,
                    icon=":material/play_arrow:",
                    type="tertiary",
                    key=f"preset {title}",
                    on_click=runs.use_preset,
                    args=(title,),
                )
        start = st.empty()  # drawn after the settings, which may be impossible
        if group is not None and active:
            st.button("Stop", icon=":material/stop:", on_click=group.stop)
        elif group is not None and not group.ended:
            st.button("Continue", icon=":material/resume:", on_click=group.start)
        with st.popover("Settings", icon=":material/tune:"):
            choose_task()
            choose_runs()
        start.button(
            "Train",
            type="primary",
            icon=":material/play_arrow:",
            key="train",
            on_click=runs.begin,
            disabled=bool(impossible()),
        )


def show_recording() -> None:
    """The recorded runs, before anyone trains here, and their export."""
    if state.get(Params.runs):
        st.warning(
            "The server no longer has the runs of this link: it keeps the newest ones until it restarts. Press “Train” "
            "to train them again; the link has their settings.",
            icon=":material/history:",
        )
    recording, shown = recorded(), live.recording()
    st.markdown(live.answer_in_words(shown))
    live.picture(shown)
    live.head_controls(shown.settings)
    st.caption(
        f"Recorded {recording.made}: {runs.RECORDED}. The buttons train here. In warm-up the learning rate rises over "
        f"the first steps: Experiments, “{runs.WITH_WARM_UP}”, trains with it. {settings_of(shown)}. "
        f"{live.measured_on(shown)}"
    )
    Export(
        None,
        "Recorded training runs",
        lambda: live.table(recording.views),
        figures=lambda: live.curve_figures(recording.views),
        program=RECORDED_PROGRAM,
        settings={"Runs": runs.RECORDED, "Settings": settings_of(shown)},
    ).draw()


def show_runs(group: runs.RunGroup, shown: live.Shown) -> None:
    """The runs of the link; when they have ended, what went wrong, what came out, and their models."""
    # While they train, the picture is newer than words of this run of the page.
    st.markdown("Your runs train." if shown.active else live.answer_in_words(shown))
    live.picture(shown, state.get(Params.runs))
    live.head_controls(shown.settings)
    if shown.active:
        st.caption(f"{settings_of(shown)}.")
        return
    live.problems(group, shown.views)
    st.caption(
        f"Your runs. This page’s link opens them again while the server keeps them. {settings_of(shown)}. "
        f"{plain(live.measured_on(shown))}"
    )
    open_or_save(group)


def settings_of(shown: live.Shown) -> str:
    """The settings that the runs share, in words."""
    one, task = shown.settings, shown.held_out.task
    layers = f"{one.n_layers} layer{'s' if one.n_layers > 1 else ''}"
    heads = f"{one.n_heads} head{'s' if one.n_heads > 1 else ''}"
    warm = {view.settings.warmup_steps for view in shown.views.values()}
    positions = {view.settings.position for view in shown.views.values()}
    said = [
        task.title,
        f"{task.length} tokens of {len(task.symbols)} symbols",
        layers,
        heads,
        f"width {one.d_model}",
        f"Adam, learning rate {one.learning_rate:g}",
    ]
    if len(positions) == 1:
        said.append("no positions" if positions == {"none"} else f"{one.position} positions")
    if len(warm) == 1:
        said.append(live.warm_up(one))
    return ", ".join([*said, f"batches of {one.batch_size}", f"seed {one.seed}"])


def choose_task() -> None:
    """The task."""
    task = state.selectbox(
        Params.task,
        "Task",
        {name: make(name).title for name in TASKS},
        on_change=lambda: state.put_all(runs.suggested(st.session_state[state.key(Params.task)])),
    )
    st.caption(make(task).rule)


def choose_runs() -> None:
    """What the runs differ in, then sizes, steps and seed."""
    state.bound(
        st.segmented_control,
        Params.norms,
        "Norm placement",
        list(limits.PLACEMENTS),
        selection_mode="multi",
        format_func=lambda one: PLACEMENT_NAMES.get(one, "sandwich"),
        help="All start from the same weights. Pre-norm has one more norm, after the last layer. Sandwich: pre-norm "
        "with one more norm on what each sublayer adds (Gemma 2).",
    )
    state.bound(
        st.segmented_control,
        Params.warm,
        "Warm-up",
        list(limits.WARM),
        selection_mode="multi",
        help="With: the learning rate rises from 0 over the first steps. Without: it is constant.",
    )
    state.bound(
        st.segmented_control,
        Params.encodings,
        "Positions",
        list(limits.ENCODINGS),
        selection_mode="multi",
        format_func=limits.ENCODINGS.get,
        help="Without positions, the encoder cannot tell the order of the symbols. Bias by distance: T5’s.",
    )
    for param, title, switch in ((Params.kinds, "Norm", "Norm"), (Params.ffns, "Feed-forward", "FFN")):
        state.bound(st.segmented_control, param, title, list(SWITCHES[switch]), selection_mode="multi")
    titles = {word: title for title, word in ATTENTION.items()}
    state.bound(
        st.segmented_control,
        Params.attention,
        "Attention also has",
        list(titles),
        selection_mode="multi",
        format_func=titles.get,
        help="Gated output: a factor between 0 and 1 for each token and head (Qiu et al. 2025). Registers: two learned "
        "tokens before the sequence (Darcet et al. 2024). Learned sink: one more score in each softmax (gpt-oss).",
    )
    state.bound(st.toggle, Params.contrast, "Compare with full attention")
    numbers = (
        (Params.length, "Length", limits.LENGTHS),
        (Params.symbols, "Symbols", limits.SYMBOLS),
        (Params.layers, "Layers", limits.LAYERS),
        (Params.heads, "Heads", limits.HEADS),
        (Params.width, "Width", limits.WIDTHS),
        (Params.steps, "Steps", limits.STEPS),
        (Params.rise, "Warm-up steps", limits.RISES),
        (Params.seed, "Seed", limits.SEED),
        (Params.seeds, "Runs with other seeds", (1, SEEDS)),
    )
    places = itertools.cycle(st.columns(3))
    state.bound(
        next(places).number_input,
        Params.rate,
        "Learning rate",
        min_value=limits.RATES[0],
        max_value=limits.RATES[1],
        format="%g",
        step=1e-3,
    )
    for param, title, (low, high) in numbers:
        state.bound(next(places).number_input, param, title, min_value=low, max_value=high)


def impossible() -> str:
    """Why the described runs cannot be trained; "" if they can."""
    try:
        runs.described(state.read(Params))
    except ConfigError as error:
        return str(error)
    return ""


#: Part -> what draws it.
SHOW = {"runs": train, "recorded": twins.show, "history": history.show, "gradients": at_start.show}


show(main)
