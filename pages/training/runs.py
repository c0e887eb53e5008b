"""Live training in a session: the runs that were started together, and what becomes of them."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass, field

import streamlit as st

from encoder.errors import ConfigError
from encoder.figures.placements import DASHES, PLACEMENT_NAMES
from encoder.train import task_inspection
from encoder.train.loop import RunView, TaskRun
from encoder.train.settings import TaskSettings
from encoder.train.single_file import TrainedTask
from pages.core import cache, norm_pair, sidebar
from pages.core.view import check_width, state
from pages.training.params import BOUNDS, WARM

#: Runs that are trained at the same time, and seconds without a look after which they stop by themselves.
MOST_RUNS, HEARTBEAT = 4, 6.0
_GROUP, _OPENED = "_training", "_trained_opened"

#: Things to try: title -> values of the page.
PRESETS: dict[str, dict[str, object]] = {
    "Pre and post": {},
    "Without positions": {"encodings": ["learned", "none"], "train_norm": ["post"], "steps": 200},
    "Why warm-up": {
        "warm": list(WARM), "rate": 3e-3, "rise": 100, "steps": 300, "train_layers": 8,
    },
    "Far too fast": {"rate": 1.0, "warm": ["without"], "steps": 100},
}  # fmt: skip
_NAMES = ("train_norm", "warm", "encodings", "rate", "rise", "steps", "train_layers", "train_heads", "train_width")


@dataclass
class Group:
    """Runs that were started together, by what they are called.

    by_hand: whether a person stopped them; left: whether they stopped because the page was left; kept: the step and
    the id of their models, by name, as they were when one was opened last.
    """

    runs: dict[str, TaskRun]
    dashes: dict[str, str]
    by_hand: bool = False
    left: bool = False
    kept: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def active(self) -> bool:
        """Whether a thread is at work or waits for its turn."""
        return any(run.active for run in self.runs.values())

    @property
    def ended(self) -> bool:
        """Whether there is nothing left to do."""
        return all(run.ended for run in self.runs.values())

    def poll(self) -> dict[str, RunView]:
        """Where every run is; also keeps them alive."""
        return {name: run.poll() for name, run in self.runs.items()}

    def start(self) -> None:
        """Begin, or go on where they stopped."""
        self.by_hand = self.left = False
        for run in self.runs.values():
            run.start()

    def looked_at_again(self, *, was_here: bool) -> None:
        """Start again what stopped for want of a look, where its page was not left: a busy machine was late.

        was_here: whether the page was there all the time. What stopped while it was left waits for a person.
        """
        if self.by_hand or self.left or self.ended or self.active:
            return
        if was_here:
            self.start()
        else:
            self.left = True

    def stop(self) -> None:
        """End all after their current step."""
        self.by_hand = True
        for run in self.runs.values():
            run.stop()


def group() -> Group | None:
    """The runs of this session, or None before the first."""
    return st.session_state.get(_GROUP)


def begin() -> None:
    """Start what the page describes; runs from before end. For callbacks: what cannot be becomes no group."""
    if (before := group()) is not None:
        before.stop()
    try:
        settings = described()
    except ConfigError:
        return  # the page says why
    st.session_state[_GROUP] = Group(
        {name: TaskRun(one, heartbeat=HEARTBEAT) for name, one in settings.items()}, dashes(settings)
    )
    st.session_state[_GROUP].start()


def described() -> dict[str, TaskSettings]:
    """The runs that the page describes, by name. Raises ConfigError for what cannot be, with the remedy."""
    placements, warm, encodings = (state.get(name) for name in ("train_norm", "warm", "encodings"))
    n_runs = len(placements) * len(warm) * len(encodings)
    if not n_runs:
        raise ConfigError("Nothing is chosen to train: choose at least one norm placement, one warm-up, one encoding.")
    if n_runs > MOST_RUNS:
        raise ConfigError(
            f"{len(placements)} placements × {len(warm)} warm-ups × {len(encodings)} encodings are {n_runs} runs; at "
            f"most {MOST_RUNS} are trained at once. Choose fewer."
        )
    for encoding in encodings:
        check_width(state.get("train_width"), state.get("train_heads"), encoding, BOUNDS["train_width"])
    found = {}
    for placement, warmth, encoding in itertools.product(placements, warm, encodings):
        parts = [PLACEMENT_NAMES[placement]]
        if len(warm) > 1:
            parts.append(f"{warmth} warm-up")
        if len(encodings) > 1:
            parts.append("no positions" if encoding == "none" else f"{encoding} positions")
        found[", ".join(parts)] = TaskSettings(
            task=state.get("task"), length=state.get("length"), n_symbols=state.get("symbols"),
            norm_placement=placement, position=encoding, n_layers=state.get("train_layers"),
            n_heads=state.get("train_heads"), d_model=state.get("train_width"), learning_rate=state.get("rate"),
            warmup_steps=state.get("rise") if warmth == "with" else 0, steps=state.get("steps"),
            seed=state.get("train_seed"), record_every=max(1, min(10, state.get("steps") // 20)),
        )  # fmt: skip
    return found


def dashes(settings: dict[str, TaskSettings]) -> dict[str, str]:
    """A dash for each kind of run: the two placements of a kind share it, since their colour tells them apart."""
    kinds = list(dict.fromkeys((one.warmup_steps, one.position) for one in settings.values()))
    return {name: DASHES[kinds.index((one.warmup_steps, one.position)) % len(DASHES)] for name, one in settings.items()}


def use_preset(title: str) -> None:
    """Set the page's values to one of PRESETS; what it does not name goes back to what the task suggests."""
    values = {name: state.params[name].default for name in _NAMES} | suggested(state.get("task")) | PRESETS[title]
    for name, value in values.items():
        state.put(name, list(value) if isinstance(value, list) else value)


def suggested(task: str) -> dict[str, object]:
    """The page's values with which a task is learned."""
    one = TaskSettings.suggested(task)
    return {
        "train_layers": one.n_layers, "train_heads": one.n_heads, "train_width": one.d_model, "steps": one.steps,
        "rate": one.learning_rate, "rise": one.warmup_steps,
    }  # fmt: skip


# --- what was trained -------------------------------------------------------------------------------------------------


def open_run(name: str) -> None:
    """Keep the models of the session's runs and look at one of them. For callbacks; the page then goes to Heads."""
    mine = group()
    if mine is None:
        return
    for other, run in mine.runs.items():
        view = run.poll()
        # A run that has gone on since it was opened is another model.
        if not view.diverged and mine.kept.get(other, (None,))[0] != view.step:
            mine.kept[other] = view.step, cache.keep_model(run.text_encoder())
    _remember_partners(mine)
    run = mine.runs[name]
    best = task_inspection.best_head(run, run.poll().frames[-1]) if run.poll().frames else None
    _look_at(mine.kept[name][1], task_inspection.sample_text(run), best or (0, 0))


def _remember_partners(mine: Group) -> None:
    """Runs that differ in their placement alone belong together on the page side by side."""
    placed = {
        (dataclasses.replace(run.settings, norm_placement="pre"), run.settings.norm_placement): name
        for name, run in mine.runs.items()
        if name in mine.kept
    }
    for (rest, placement), name in placed.items():
        if placement == "pre" and (rest, "post") in placed:
            other = placed[rest, "post"]
            norm_pair.remember_partners(*(cache.TRAINED + mine.kept[one][1] for one in (name, other)))


def open_file(task: TrainedTask, identity: str) -> None:
    """Look at the model of an uploaded file, kept once for each upload. For callbacks."""
    known = st.session_state.setdefault("_trained_uploads", {})
    if identity not in known:
        known[identity] = cache.keep_model(task.text_encoder)
    made = task.settings.make_task()
    inputs, _ = made.sample(1, (task.settings.seed, 1))
    _look_at(known[identity], made.text(inputs[0]), (0, 0))


def _look_at(name: str, text: str, head: tuple[int, int]) -> None:
    sidebar.remember_sentence(text)
    values = {"model": "trained", "run": name, "text": text, "pair": "", "norm": "trained", "i": None, "j": None}
    for key, value in (values | {"layer": head[0], "head": head[1]}).items():
        state.put(key, value)
    st.session_state[_OPENED] = True


def opened() -> bool:
    """Whether a model was opened by the callback of this run; once."""
    return st.session_state.pop(_OPENED, False)
