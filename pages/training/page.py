"""Train a small encoder: a small task, live, in both norm placements."""

from __future__ import annotations

import itertools

import streamlit as st

from encoder.config import POSITION_KINDS
from encoder.errors import ConfigError
from encoder.figures.placements import PLACEMENT_NAMES
from encoder.train.tasks import TASKS, make
from pages.core import placement_toggle
from pages.core.frame import heading
from pages.core.links import next_page
from pages.core.view import state
from pages.training import params as limits
from pages.training import runs
from pages.training.live import live
from pages.training.models import open_file, open_or_save
from pages.training.params import Params

#: Seconds between two polls of runs that are training.
EVERY = 1.0


def main() -> None:
    if runs.opened():
        st.switch_page("pages/heads/page.py")
    heading()
    st.markdown(
        "You see small encoders learn a task: their loss, their accuracy, and the attention of each head.  \n"
        "Look for the step from which a head attends most to the token with the answer. Compare the runs.  \n"
        "All runs share one seed. Differences suggest an effect of norms, warm-up or positions; they may be chance."
    )
    choose_task()
    choose_runs()
    problem = impossible()
    group = runs.group()
    if group is not None:
        group.restart_lapsed(was_here=placement_toggle.was_here())
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Train",
            type="primary",
            icon=":material/play_arrow:",
            key="train",
            on_click=runs.begin,
            disabled=bool(problem),
        )
        if group is not None and group.active:
            st.button("Stop", icon=":material/stop:", on_click=group.stop)
        elif group is not None and not group.ended:
            st.button("Continue", icon=":material/resume:", on_click=group.start)
    if problem:
        st.warning(problem)
    if group is not None:
        st.fragment(live, run_every=EVERY if group.active else None)(group, group.active)
        if not group.active:
            open_or_save(group)
    open_file()
    next_page("gradients", "Gradients at initialisation, before the first step")


def choose_task() -> None:
    """The task, and experiments to try."""
    left, right = st.columns([2, 3], gap="medium", vertical_alignment="bottom")
    with left:
        task = state.bound(
            st.selectbox, Params.task, "Task", list(TASKS), format_func=lambda name: make(name).title,
            on_change=lambda: runs.put(runs.suggested(st.session_state[state.key(Params.task)])),
        )  # fmt: skip
    with right:
        st.pills("Experiments", list(runs.PRESETS), key="preset", on_change=runs.use_preset)
    st.caption(make(task).rule)


def choose_runs() -> None:
    """What the runs differ in; sizes, steps and seed in an expander."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state.bound(
            st.segmented_control, Params.norms, "Norm placement", ["pre", "post"], selection_mode="multi",
            format_func=PLACEMENT_NAMES.get,
            help="Both start from the same weights. Pre-norm has one LayerNorm more, after the last layer.",
        )  # fmt: skip
        state.bound(
            st.segmented_control, Params.warm, "Warm-up", list(limits.WARM), selection_mode="multi",
            help="With: the learning rate rises from 0 over the first steps. Without: it is constant.",
        )  # fmt: skip
        state.bound(
            st.segmented_control, Params.encodings, "Positions", list(POSITION_KINDS), selection_mode="multi",
            help="Without positions, the encoder cannot tell the order of the symbols.",
        )  # fmt: skip
        state.bound(
            st.number_input, Params.rate, "Learning rate", min_value=limits.RATES[0], max_value=limits.RATES[1],
            format="%g", step=1e-3, width=140,
        )  # fmt: skip
    numbers = (
        (Params.length, "Length", limits.LENGTHS), (Params.symbols, "Symbols", limits.SYMBOLS),
        (Params.layers, "Layers", limits.LAYERS), (Params.heads, "Heads", limits.HEADS),
        (Params.width, "Width", limits.WIDTHS), (Params.rise, "Warm-up steps", limits.RISES),
        (Params.steps, "Steps", limits.STEPS), (Params.seed, "Seed", limits.SEEDS),
    )  # fmt: skip
    with st.expander("Sizes, steps, seed"):
        for column, (param, title, (low, high)) in zip(itertools.cycle(st.columns(4)), numbers, strict=False):
            state.bound(column.number_input, param, title, min_value=low, max_value=high)


def impossible() -> str:
    """Why the described runs cannot be trained; "" if they can."""
    try:
        runs.described(state.read(Params))
    except ConfigError as error:
        return str(error)
    return ""


main()
