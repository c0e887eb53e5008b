"""Live training: the runs that start together, kept by an id in the link, and the models that they leave."""

import copy
import itertools
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from encoder import ConfigError
from encoder.figures.placements import DASHES, PLACEMENT_NAMES
from encoder.run import TRAINED
from encoder.run.untrained import check_width
from encoder.train.blocks import BASE, SEEDS, SWITCHES
from encoder.train.blocks import PRESETS as MODELS
from encoder.train.loop import TaskRun
from encoder.train.recorded import DEEP
from encoder.train.run_view import HeldOut, RunView
from encoder.train.settings import TaskSettings
from encoder.train.task_model import TrainedTask
from pages.base.access import limits
from pages.core.frame import input_row
from pages.core.stores import trained
from pages.core.stores.byte_cache import CACHE_MB, ByteCache
from pages.core.view import ViewParams, norm_pair, selection
from pages.state import Param, not_chosen, state
from pages.state.params import declared
from pages.training.params import WIDTHS, Params

#: Seconds without a poll after which runs stop by themselves: enough for a reload.
HEARTBEAT = 10.0
_SHOWN = "_training_settings_shown"
_STARTED, _OPENED, _UPLOADS = "_training_started", "_trained_opened", "_trained_uploads"

Values = dict[Param[Any], Any]
#: The experiment whose runs are recorded.
RECORDED = "12 layers without warm-up"
#: The same with it, for more steps: most of them come after the learning rate has risen.
WITH_WARM_UP = "12 layers with warm-up"
#: Experiments to try: title -> the values that differ from those of the task.
PRESETS: dict[str, Values] = {
    RECORDED: {
        Params.warm: ["without"], Params.steps: DEEP["steps"], Params.layers: DEEP["n_layers"],
    },
    WITH_WARM_UP: {Params.steps: 400, Params.layers: DEEP["n_layers"], Params.rise: 200},
    "Reverse the sequence": {},
    "Without positions": {Params.encodings: ["learned", "none"], Params.norms: ["post"], Params.steps: 200},
    "Sinks, with and without gates": {
        Params.norms: ["pre", "post"], Params.attention: ["gate"], Params.contrast: True, Params.layers: 3,
        Params.heads: 4, Params.steps: 300,
    },
    "Learning rate 1": {Params.rate: 1.0, Params.warm: ["without"], Params.steps: 100},
}  # fmt: skip
#: The values that an experiment sets.
_SET = [
    one for one in declared(Params).values() if one not in (Params.part, Params.seed, Params.shown_mean, Params.runs)
]


@dataclass
class RunGroup:
    """Runs that start together, by name. Sessions that open the same link share them.

    by_hand: whether a person stopped them; left: whether they stopped since the page was left; kept: step and id of
    their models, by name, as they were at the last opening.
    """

    runs: dict[str, TaskRun]
    by_hand: bool = False
    left: bool = False
    kept: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def n_bytes(self) -> int:
        """The most bytes that the runs take in memory."""
        return sum(run.n_bytes for run in self.runs.values())

    @property
    def held_out(self) -> HeldOut:
        """The held-out sequences, which all runs share."""
        return next(iter(self.runs.values())).held_out

    @property
    def active(self) -> bool:
        """Whether a thread works or waits for its turn."""
        return any(run.active for run in self.runs.values())

    @property
    def ended(self) -> bool:
        """Whether every run has ended."""
        return all(run.ended for run in self.runs.values())

    def first_seeds(self, views: Mapping[str, RunView]) -> dict[str, RunView]:
        """Of runs that differ in their seed only, the first: these are drawn."""
        return {name: view for name, view in views.items() if view.settings.trial == 0}

    def poll(self) -> dict[str, RunView]:
        """Every run as it is now; a poll also keeps the runs alive."""
        return {name: run.poll() for name, run in self.runs.items()}

    def start(self) -> None:
        """Begin, or continue after a stop."""
        self.by_hand = self.left = False
        for run in self.runs.values():
            run.start()

    def restart_lapsed(self, *, was_here: bool) -> None:
        """Restart runs whose heartbeat lapsed on a busy machine.

        was_here: whether the page stayed open. Runs that stopped since the page was left wait for a person.
        """
        if self.by_hand or self.left or self.ended or self.active:
            return
        if was_here:
            self.start()
        else:
            self.left = True

    def stop(self) -> None:
        """End all runs after their current step."""
        self.by_hand = True
        for run in self.runs.values():
            run.stop()


#: Bytes of the runs that the server keeps for all sessions together, the newest; a run without room stops.
RUN_BYTES = 2 * CACHE_MB * 1_000_000 // 3
_GROUPS = ByteCache(RUN_BYTES, lambda _, group: group.stop())


def of_id(identity: str) -> RunGroup | None:
    """The runs of an id, while the server has them. Asking keeps them among the newest."""
    return _GROUPS.known(identity)


def group() -> RunGroup | None:
    """The runs that the link names; None without any, or where the server no longer has them."""
    return of_id(state.get(Params.runs))


def set_what_is_shown() -> None:
    """Set the values of the recorded runs, which the page shows until a person or a link chooses others.

    So "Train" runs what the page shows. They stay out of the address while nobody changes them.
    """
    reads, asked = not_chosen.asked()
    if st.session_state.get(_SHOWN) != reads:
        st.session_state[_SHOWN] = reads
        is_chosen = any(one.name in asked or state.newest(one) != one.default for one in _SET)
        if not is_chosen and not state.get(Params.runs):
            state.put_all(PRESETS[RECORDED])
    if state.get(Params.runs):  # the link has the settings of its runs
        not_chosen.leave_out({}, (), of="training")
    else:
        shown = {one.name: PRESETS[RECORDED].get(one, one.default) for one in _SET}
        not_chosen.leave_out(shown, [Params.layers], of="training")


def begin() -> None:
    """Stop the runs that this session started, and start those that the page describes. For callbacks."""
    try:
        settings = described(state.read(Params))
    except ConfigError:
        return  # the page shows the reason
    if (before := of_id(st.session_state.get(_STARTED, ""))) is not None:
        before.stop()
    made = RunGroup({name: TaskRun(one, heartbeat=HEARTBEAT) for name, one in settings.items()})
    identity = secrets.token_urlsafe(12)
    _GROUPS.get(identity, lambda: made, lambda one: one.n_bytes)
    st.session_state[_STARTED] = identity
    state.put(Params.runs, identity)
    made.start()


def described(params: Params) -> dict[str, TaskSettings]:
    """The runs that the page describes, by name. Raises ConfigError, with the remedy, for impossible ones."""
    positions = [SWITCHES["Positions"][MODELS[name].choices[0]]["position"] for name in params.history]
    for position in positions or params.encodings:
        check_width(params.width, params.heads, position, WIDTHS)
    base = TaskSettings(
        task=params.task,
        length=params.length,
        n_symbols=params.symbols,
        n_layers=params.layers,
        n_heads=params.heads,
        d_model=params.width,
        learning_rate=params.rate,
        warmup_steps=params.rise,
        steps=params.steps,
        seed=params.seed,
        record_every=max(1, min(10, params.steps // 20)),
    )
    alike = {name: MODELS[name].settings(base) for name in params.history} or variants(params, base)
    if not alike:
        raise ConfigError("Nothing to train: choose at least one norm placement, one warm-up and one encoding.")
    if len(alike) > limits.TRAINING_RUNS.value:
        raise ConfigError(
            f"These choices make {len(alike)} runs, one for each combination: choose at most "
            f"{limits.TRAINING_RUNS.value}."
        )
    return {
        f"{name}, seed {trial + 1}" if trial else name: replace(one, trial=trial)
        for name, one in alike.items()
        for trial in range(params.seeds)
    }


def variants(params: Params, base: TaskSettings) -> dict[str, TaskSettings]:
    """A run for each combination of the switches; its name has those that differ between runs."""
    parts = ",".join(params.attention)
    attention = {f"with {', '.join(params.attention)}": parts} if parts else {}
    attention = ({"full attention": ""} if params.contrast or not parts else {}) | attention
    found = {}
    choices = params.norms, params.warm, params.encodings, params.kinds, params.ffns, attention
    for placement, warm, encoding, kind, ffn, part in itertools.product(*choices):
        position = "no positions" if encoding == "none" else f"{encoding} positions"
        words = [PLACEMENT_NAMES.get(placement, "sandwich norms")]
        named = f"{warm} warm-up", position, kind, ffn, part
        words += [word for word, several in zip(named, choices[1:], strict=True) if len(several) > 1]
        changes = SWITCHES["Norm placement"][placement] | SWITCHES["Norm"][kind] | SWITCHES["FFN"][ffn]
        found[", ".join(words)] = replace(
            base,
            position=encoding,
            warmup_steps=params.rise if warm == "with" else 0,
            attention=attention[part],
            **changes,
        )
    return found


def dashes(settings: dict[str, TaskSettings]) -> dict[str, str]:
    """A dash for each kind of run; colour tells the two placements of a kind apart."""
    alike = {name: replace(one, norm_placement="pre", sandwich=False, trial=0) for name, one in settings.items()}
    kinds = list(dict.fromkeys(alike.values()))
    return {name: DASHES[kinds.index(one) % len(DASHES)] for name, one in alike.items()}


#: Models that train at a time.
MOST_PRESETS = limits.TRAINING_RUNS.value


def train_presets(names: list[str]) -> None:
    """Train these models with five seeds each, at the sizes of the recorded comparison. For callbacks."""
    state.put_all(
        {param: param.default for param in _SET}
        | {
            Params.history: names,
            Params.seeds: SEEDS,
            Params.layers: BASE.n_layers,
            Params.heads: BASE.n_heads,
            Params.steps: BASE.steps,
            Params.part: "runs",
        }
    )
    begin()


def use_preset(title: str) -> None:
    """Set the values of an experiment and start it. For callbacks."""
    task = Params.task.default
    state.put_all(copy.deepcopy({param: param.default for param in _SET} | suggested(task) | PRESETS[title]))
    begin()


def suggested(task: str) -> Values:
    """The values that learn a task."""
    one = TaskSettings.suggested(task)
    return {
        Params.layers: one.n_layers,
        Params.heads: one.n_heads,
        Params.width: one.d_model,
        Params.steps: one.steps,
        Params.rate: one.learning_rate,
        Params.rise: one.warmup_steps,
    }


# --- opening a model --------------------------------------------------------------------------------------------------


def open_run(name: str) -> None:
    """Keep the models of the session's runs and open one of them. For callbacks; the page then opens its heads."""
    here = group()
    if here is None:
        return
    for other, run in here.runs.items():
        view = run.poll()
        # A run that continued after it was opened is another model.
        if not view.diverged and here.kept.get(other, (None,))[0] != view.step:
            here.kept[other] = view.step, trained.keep_model(run.text_encoder())
    _remember_partners(here)
    run = here.runs[name]
    frames = run.poll().frames
    best = run.held_out.best_head(frames[-1]) if frames else None
    _open(here.kept[name][1], run.held_out.sample_text, best or (0, 0))


def _remember_partners(here: RunGroup) -> None:
    """Let “Pre/post-norm” compare runs that differ in the placement of their norms only."""
    kept = {run.settings: here.kept[name][1] for name, run in here.runs.items() if name in here.kept}
    for settings, post in kept.items():
        pre = kept.get(replace(settings, norm_placement="pre"))
        if settings.norm_placement == "post" and pre is not None:
            norm_pair.remember_partners(TRAINED + pre, TRAINED + post)


def open_file(task: TrainedTask, identity: str) -> None:
    """Open the model of an uploaded file, kept once for each upload. For callbacks."""
    known = st.session_state.setdefault(_UPLOADS, {})
    if identity not in known:
        known[identity] = trained.keep_model(task.text_encoder)
    _open(known[identity], HeldOut.of(task.settings).sample_text, (0, 0))


def _open(run: str, text: str, head: tuple[int, int]) -> None:
    input_row.remember_sentence(text)
    state.put_all(
        {
            ViewParams.model: "trained",
            ViewParams.run: run,
            ViewParams.norm: "trained",
            ViewParams.text: text,
            ViewParams.pair: "",
        }
    )
    selection.open_head(*head)
    selection.clear()
    st.session_state[_OPENED] = True


def opened() -> bool:
    """Whether a callback of this run opened a model; true once."""
    return st.session_state.pop(_OPENED, False)
