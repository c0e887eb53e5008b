"""Runs on the screen: loss, accuracy and attention in one picture, which refreshes itself while they train."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder import ConfigError, figures
from encoder.figures import placements as drawn
from encoder.train import progress
from encoder.train.blocks import accuracies
from encoder.train.recorded import recorded
from encoder.train.run_view import HeldOut, RunView
from encoder.train.settings import TaskSettings
from encoder.train.tasks import Task
from pages.components.curves import CurveRun, SampleSequence, curves, refresh
from pages.core.server import channel
from pages.core.view import ViewParams
from pages.core.words import plain
from pages.state import state
from pages.training import runs
from pages.training.params import Params

STATUS = {"ready": "not started", "waiting": "waits for its turn", "running": "training"}
#: Column of a curve -> its title in a report.
CURVES = {"held_out_loss": "held-out loss, nats", "accuracy": "held-out accuracy"}
CHANNEL = "training"


@dataclass(frozen=True)
class Shown:
    """Runs as they are now, by name. All answer the same held-out sequences. every: those of other seeds, too."""

    views: Mapping[str, RunView]
    held_out: HeldOut
    every: Mapping[str, RunView] = field(default_factory=dict)

    @property
    def active(self) -> bool:
        """Whether a run works or waits for its turn."""
        return any(view.active for view in (self.every or self.views).values())

    @property
    def settings(self) -> TaskSettings:
        """Those of the first run; the others share the task and the sizes."""
        return next(iter(self.views.values())).settings


def recording() -> Shown:
    """The recorded runs."""
    views = recorded().views
    return Shown(views, HeldOut.of(next(iter(views.values())).settings))


def task_of(shown: Shown | None) -> Task:
    """What the encoders of the picture learn. shown: None for the recorded runs."""
    return (recording() if shown is None else shown).held_out.task


def table(views: Mapping[str, RunView]) -> pd.DataFrame:
    """The curves of the runs that have one: a row a run and a measured step."""
    return pd.concat(
        [view.to_frame().assign(run=name) for name, view in views.items() if view.curve], ignore_index=True
    )


def picture(shown: Shown, identity: str = "") -> None:
    """Draw the runs. identity: of the runs on the server, whose new numbers the browser asks for."""
    watched = watched_head(shown.settings)
    arrays = [progress.since(view, shown.held_out, watched, progress.Seen()) for view in shown.views.values()]
    curves(
        described(shown.views),
        arrays,
        sample=sample(shown.held_out, watched),
        head=f"L{watched.layer} H{watched.head}{', mean' if watched.mean else ''}",
        place=(watched.layer, watched.head),
        colorscale=figures.thumbnails_lut(state.get(ViewParams.colours)),
        key="training-runs",
        alt=f"{shown.held_out.task.title}, a line for each run: {', '.join(shown.views)}.",
        channel=channel.path(CHANNEL, identity) if identity else "",
        query=f"layer={watched.layer}&head={watched.head}&mean={int(watched.mean)}",
    )


def described(views: Mapping[str, RunView]) -> list[CurveRun]:
    """How each run is drawn, and what it has come to."""
    dashes = runs.dashes({name: view.settings for name, view in views.items()})
    return [
        CurveRun(
            name=name,
            colour=drawn.PLACEMENT_COLOURS[view.settings.norm_placement],
            dash=dashes[name],
            status=status(view),
            progress=view.progress,
            steps=view.settings.steps,
            active=view.active,
            registers=view.settings.registers,
        )
        for name, view in views.items()
    ]


def status(view: RunView) -> str:
    """What a run has come to, in words."""
    said = STATUS.get(view.status, view.status.split(":")[0])
    said += f", step {view.step:,} of {view.settings.steps:,}"
    if not view.curve:
        return said
    measured = int(view.curve[-1]["step"])
    return f"{said}, {view.accuracy:.1%} right" + ("" if measured == view.step else f" at step {measured:,}")


def sample(held_out: HeldOut, watched: progress.WatchedHead) -> SampleSequence:
    """The sequence whose attention is shown; a mean over many sequences has positions as its labels."""
    task = held_out.task
    tokens = held_out.sample_text.split()
    return SampleSequence(
        tokens=tokens,
        expected=[task.classes[int(answer)] for answer in held_out.answers[0]],
        classes=list(task.classes),
        source=[] if held_out.source is None else held_out.source.tolist(),
        labels=[str(position) for position in range(len(tokens))] if watched.mean else tokens,
    )


def watched_head(settings: TaskSettings) -> progress.WatchedHead:
    """The head of the maps, with layer and head inside the model."""
    params = state.read(Params)
    layer = params.shown_layer if params.shown_layer < settings.n_layers else 0
    head = params.shown_head if params.shown_head < settings.n_heads else 0
    return progress.WatchedHead(layer, head, params.shown_mean)


def head_controls(settings: TaskSettings) -> None:
    """Which head the maps show, and whether for one sequence or on average."""
    with st.container(key="training-head", horizontal=True, vertical_alignment="bottom"):
        for param, title, count in (
            (Params.shown_layer, "Layer", settings.n_layers),
            (Params.shown_head, "Head", settings.n_heads),
        ):
            if state.newest(param) >= count:
                state.put(param, 0)
            if count > 1:
                state.bound(st.number_input, param, title, min_value=0, max_value=count - 1, width=110)
        state.bound(
            st.toggle,
            Params.shown_mean,
            "Mean of all sequences",
            help="Off: the map of one held-out sequence. On: the mean of the maps of all held-out sequences.",
        )


def answer(identity: str, query: Mapping[str, str]) -> bytes | None:
    """The channel's answer: what the runs of an id have come to since the reader's numbers. Asking keeps them alive.

    Raises ConfigError for numbers that are not valid.
    """
    group = runs.of_id(identity)
    if group is None:
        return None
    try:
        numbers = [int(part) for part in query["seen"].split(",")]
        watched = progress.WatchedHead(int(query["layer"]), int(query["head"]), query["mean"] == "1")
        seen = [progress.Seen(*three) for three in zip(*[iter(numbers)] * 3, strict=True)]
    except (KeyError, ValueError) as error:
        raise ConfigError(f"This address is not complete: {error}. Reload the page.") from error
    views = group.first_seeds(group.poll())
    parts = zip(views.values(), seen, strict=False)
    arrays = [progress.since(view, group.held_out, watched, had) for view, had in parts]
    return refresh(described(views), arrays, [vars(one) for one in seen])


channel.register(CHANNEL, answer)


# --- in words ---------------------------------------------------------------------------------------------------------


def problems(group: runs.RunGroup, views: Mapping[str, RunView]) -> None:
    """What went wrong with each run, and what to do."""
    for name, view in views.items():
        if view.diverged:
            st.warning(
                f"{plain(name)} {view.status}. The learning rate {view.settings.learning_rate:g} may be too "
                "large: choose a smaller one, or a warm-up.",
                icon=":material/trending_up:",
            )
        elif view.status.startswith("failed"):
            st.error(
                f"{plain(name)} ended with an error: {plain(view.status.partition(': ')[2])}. Choose smaller sizes."
            )
    if group.left and any(view.status == "stopped" for view in views.values()):
        st.info("Training stopped because this page was closed. “Continue” resumes it.", icon=":material/pause:")


def answer_in_words(shown: Shown) -> str:
    """What each run has come to, in Markdown, next to guessing, and whether with warm-up where all runs agree on it."""
    said = []
    for name, view in shown.views.items():
        if not view.curve:
            continue
        nearly_all = next((point for point in view.curve if point["accuracy"] >= 0.995), None)
        if nearly_all is not None:
            said.append(f"**{plain(name)}** over 99% right from step {int(nearly_all['step']):,}")
        else:
            last = view.curve[-1]
            said.append(f"**{plain(name)}** {last['accuracy']:.1%} right at step {int(last['step']):,}")
    if not said:
        return "Nothing is measured yet."
    warm = {view.settings.warmup_steps for view in shown.views.values()}
    shared = f"With {warm_up(shown.settings)}: " if warm != {0} else "Without warm-up: "
    guessing = f"Guessing: {1 / len(shown.held_out.task.classes):.0%}."
    return f"{shared if len(warm) == 1 else ''}{'; '.join(said)}. {guessing}"


def warm_up(settings: TaskSettings) -> str:
    """The warm-up of a run, in words."""
    return f"warm-up of {settings.warmup_steps} steps" if settings.warmup_steps else "no warm-up"


def measured_on(shown: Shown) -> str:
    """On how many sequences and seeds the runs are measured, with the means of several seeds."""
    said = f"Measured on {len(shown.held_out.inputs)} held-out sequences."
    several = {name: one for name, one in accuracies(shown.every).items() if one.n > 1}
    if not several:
        return f"{said} Each run is one seed: small differences may be chance."
    means = "; ".join(f"{name}: {one.mean:.1%} ± {one.half:.1%}" for name, one in several.items())
    n_seeds = next(iter(several.values())).n
    return f"{said} Drawn: the first of {n_seeds} seeds. Means and 95% intervals of all seeds: {means}."


def curve_figures(views: Mapping[str, RunView]) -> dict[str, go.Figure]:
    """Title -> loss and accuracy over the steps, a line for each run that has a curve: for a report."""
    tables: dict[str, pd.DataFrame] = {name: view.to_frame() for name, view in views.items() if view.curve}
    dashes = runs.dashes({name: view.settings for name, view in views.items()})
    found = {}
    for what, title in CURVES.items():
        lines = {
            name: (views[name].settings.norm_placement, dashes[name], table.step, table[what])
            for name, table in tables.items()
        }
        found[title] = drawn.recorded_curves(lines, title, log=what == "held_out_loss")
    return found
