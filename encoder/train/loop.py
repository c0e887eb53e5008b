"""Live training of a small task: a run in the background that a page polls, pauses, resumes and stops.

A run stops by itself when nobody has polled it for a while (`heartbeat` seconds): a page that was left leaves
nothing running. A run never raises: what goes wrong is its status. Runs share a few slots (`SLOTS`) in short turns,
so a classroom does not bring the machine down.

    run = TaskRun(TaskSettings(task="reverse", norm_placement="pre"))
    run.start()
    view = run.poll()          # immutable; again and again, at least every few seconds
    model = run.text_encoder() # a TextEncoder, at any time
    run.stop()

Shapes: B sequences of a batch, T tokens, L layers, H heads, D d_model, C classes.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from encoder import attend
from encoder.capture import record
from encoder.config import Activation, EncoderConfig, NormPlacement, PositionKind
from encoder.errors import ConfigError, EncoderError, LoadError
from encoder.load import load, save
from encoder.model import Encoder, initialise
from encoder.pipeline import TextEncoder
from encoder.train.corpus import write_atomically
from encoder.train.tasks import Task, make

if TYPE_CHECKING:
    import pandas

#: How many runs take a turn at the same time, and how long a turn is, in seconds.
SLOTS = threading.BoundedSemaphore(max(2, os.cpu_count() or 1))
TURN = 0.2
HEARTBEAT = 5.0
#: A loss so many times that of guessing counts as diverged, although it is finite: a norm keeps many of them finite.
HOPELESS = 10.0
N_HELD_OUT = 256


#: What differs from the defaults for tasks that a single head of width 32 does not solve.
SUGGESTED: dict[str, dict[str, Any]] = {
    "sort": {"d_model": 64, "steps": 600},
    "brackets": {"d_model": 64, "n_layers": 2, "n_heads": 2, "steps": 600},
}
#: Reversing with eight layers at this rate: post-norm without warm-up is far behind the three others (measured: after
#: 200 steps it gets 16 % right where they are at 100 %), which is what Xiong et al. 2020 explain.
WARMUP_LESSON: dict[str, Any] = {"n_layers": 8, "learning_rate": 3e-3, "warmup_steps": 100, "steps": 300}


@dataclass(frozen=True)
class TaskSettings:
    """One run, all of it: the same settings give the same curve (on one machine).

    warmup_steps: the learning rate rises linearly over these, then stays; record_every: steps between points of the
    curve; frames: about how many attention maps are kept over the whole run. Raises ConfigError for values out of
    bounds.
    """

    task: str = "reverse"
    length: int = 16
    n_symbols: int = 10
    norm_placement: NormPlacement = "post"
    position: PositionKind = "learned"
    n_layers: int = 1
    n_heads: int = 1
    d_model: int = 32
    d_ffn: int = 0
    activation: Activation = "gelu"
    learning_rate: float = 3e-3
    warmup_steps: int = 50
    steps: int = 400
    batch_size: int = 64
    seed: int = 0
    record_every: int = 10
    frames: int = 40

    def __post_init__(self) -> None:
        bounds = {
            "steps": (1, 100_000), "batch_size": (1, 1024), "record_every": (1, 1000), "frames": (1, 200),
            "warmup_steps": (0, 100_000), "n_layers": (1, 24), "d_model": (2, 512),
        }  # fmt: skip
        for name, (least, most) in bounds.items():
            if not least <= getattr(self, name) <= most:
                raise ConfigError(f"{name}={getattr(self, name)}: choose {least} to {most}.")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ConfigError(f"learning_rate={self.learning_rate}: choose a number above 0.")
        self.config()  # raises for what the architecture does not allow

    @classmethod
    def suggested(cls, task: str, **changes: Any) -> TaskSettings:
        """Sizes with which `task` is learned within seconds to a minute on two cores, with some fields changed."""
        return cls(**({"task": task} | SUGGESTED.get(task, {}) | changes))

    def make_task(self) -> Task:
        """The task, with its length and symbols."""
        return make(self.task, self.length, self.n_symbols)

    def config(self) -> EncoderConfig:
        """The architecture."""
        return EncoderConfig(
            vocab_size=self.make_task().vocab_size, d_model=self.d_model, n_layers=self.n_layers, n_heads=self.n_heads,
            d_ffn=self.d_ffn or 4 * self.d_model, max_positions=self.length, norm_placement=self.norm_placement,
            embedding_norm=False, position=self.position, activation=self.activation, norm_eps=1e-5,
        )  # fmt: skip

    def rate(self, step: int) -> float:
        """Learning rate of `step`, counted from 0."""
        return self.learning_rate * min(1.0, (step + 1) / self.warmup_steps if self.warmup_steps else 1.0)

    @property
    def frame_every(self) -> int:
        """Steps between two attention maps that are kept."""
        return max(1, self.steps // self.frames)


@dataclass(frozen=True, eq=False)
class Frame:
    """What the encoder did after `step` steps. sample [L, H, T, T]: attention on the sample sequence; mean [L, H,
    T, T]: over the held-out sequences; predicted [T]: class of each token of the sample.
    """

    step: int
    sample: np.ndarray
    mean: np.ndarray
    predicted: np.ndarray


@dataclass(frozen=True, eq=False)
class View:
    """A run at the time of a poll. Nothing in it changes afterwards.

    status: "ready", "waiting", "running", "paused", "done", "stopped", "diverged at step n: ...", "failed: ...";
    active: whether a thread is at work or waits for its turn; curve: step, loss (training, mean since the last
    point), held_out_loss, accuracy (held-out, share of tokens), learning_rate, seconds; frames: attention along the
    way.
    """

    settings: TaskSettings
    status: str
    active: bool
    step: int
    seconds: float
    curve: tuple[dict[str, float], ...]
    frames: tuple[Frame, ...]

    @property
    def progress(self) -> float:
        """0 to 1."""
        return self.step / self.settings.steps

    @property
    def accuracy(self) -> float:
        """Held-out, at the last point of the curve; 0 before the first."""
        return self.curve[-1]["accuracy"] if self.curve else 0.0

    @property
    def diverged(self) -> bool:
        """Whether the loss went out of hand."""
        return self.status.startswith("diverged")

    def frame_at(self, step: int) -> Frame:
        """The last frame that is not later than `step`. Raises EncoderError before the first one is there."""
        if not self.frames:
            raise EncoderError("No attention map has been kept yet: start the run first.")
        return max((frame for frame in self.frames if frame.step <= step), key=lambda f: f.step, default=self.frames[0])

    def to_frame(self) -> pandas.DataFrame:
        """The curve as a table."""
        import pandas as pd

        names = ["step", "loss", "held_out_loss", "accuracy", "learning_rate", "seconds"]
        return pd.DataFrame(list(self.curve), columns=names)


class TaskModel(nn.Module):
    """An encoder and a linear map from each output to the classes."""

    def __init__(self, config: EncoderConfig, n_classes: int, seed: int | None = None) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.head = nn.Linear(config.d_model, n_classes)
        if seed is not None:
            initialise(self.encoder, seed, "xavier")
            with torch.no_grad():
                generator = torch.Generator().manual_seed(seed + 1)
                deviation = (2.0 / (config.d_model + n_classes)) ** 0.5
                self.head.weight.normal_(0.0, deviation, generator=generator)
                self.head.bias.zero_()

    def forward(self, ids: Tensor) -> Tensor:
        """ids [B, T] -> logits [B, T, C]."""
        return self.head(self.encoder(ids))


class TaskRun:
    """One training run. Safe to call from any thread; never raises for anything that happens while it trains."""

    def __init__(self, settings: TaskSettings, heartbeat: float = HEARTBEAT) -> None:
        self.settings, self.heartbeat = settings, heartbeat
        self.task = settings.make_task()
        # Held out from training; the first of them is the sample whose attention is kept.
        self.inputs, self.answers = self.task.sample(N_HELD_OUT, (settings.seed, 1))
        self._model = TaskModel(settings.config(), len(self.task.classes), settings.seed)
        self._optimiser = torch.optim.Adam(self._model.parameters(), lr=settings.learning_rate, betas=(0.9, 0.98))
        self._lock = threading.RLock()  # over the weights and everything below
        self._thread: threading.Thread | None = None
        self._stop, self._pause = threading.Event(), threading.Event()
        self._status, self._step, self._seconds, self._last_poll = "ready", 0, 0.0, 0.0
        self._losses: list[float] = []
        self._curve: list[dict[str, float]] = []
        self._frames: list[Frame] = []

    # --- what an owner calls ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin, or go on after a pause, a stop or a time without polls. Without effect on a run that has ended."""
        with self._lock:
            self._last_poll = time.monotonic()
            self._pause.clear()
            if self.ended:
                return
            if self._thread is not None and self._thread.is_alive() and not self._stop.is_set():
                return
            before = self._thread
            self._stop = threading.Event()  # a new one: the thread before, if it still ends, keeps its own
            self._status = "waiting"
            self._thread = threading.Thread(
                target=self._loop, args=(self._stop, before), name=f"task-{self.task.name}", daemon=True
            )
            self._thread.start()

    resume = start

    def pause(self) -> None:
        """Hold still after the current step; `start` goes on. A pause nobody polls becomes a stop."""
        self._pause.set()

    def stop(self, wait: float = 0.0) -> None:
        """End after the current step; `start` goes on from there. wait: seconds to wait for the thread to end."""
        with self._lock:
            self._stop.set()
            thread = self._thread
            if not self.ended and (thread is None or not thread.is_alive()):
                self._status = "stopped" if self._step else self._status
        if thread is not None and wait > 0 and thread is not threading.current_thread():
            thread.join(wait)

    def poll(self) -> View:
        """Where the run is; also says that somebody still asks."""
        with self._lock:
            self._last_poll = time.monotonic()
            return View(
                self.settings, self._status, self.active, self._step, self._seconds, tuple(self._curve),
                tuple(self._frames),
            )  # fmt: skip

    @property
    def active(self) -> bool:
        """Whether a thread is at work, waits for its turn, or is paused."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def ended(self) -> bool:
        """Whether `start` would do nothing: done, diverged or failed."""
        return self._status == "done" or self._status.startswith(("diverged", "failed"))

    def text_encoder(self) -> TextEncoder:
        """A copy of the encoder as it is now, with the task's tokenizer: opens like any model."""
        with self._lock:
            encoder = copy.deepcopy(self._model.encoder)
            step = self._step
        encoder.zero_grad()
        name = f"{self.task.name}, {self.settings.norm_placement}-norm, {step:,} steps"
        return TextEncoder(name=name, encoder=encoder, tokenizer=self.task.tokenizer())

    def snapshot(self) -> TrainedTask:
        """A copy of everything as it is after a whole step: what a file of the run holds."""
        with self._lock:
            model, step = copy.deepcopy(self._model), self._step
            named = self.text_encoder().name
        model.zero_grad()
        model.eval()
        text_encoder = TextEncoder(name=named, encoder=model.encoder, tokenizer=self.task.tokenizer())
        return TrainedTask(self.settings, step, text_encoder, model)

    def save(self, folder: str | Path) -> Path:
        """Write the encoder as `encoder.save` does, and the task's head and settings beside it. Every file is whole
        or absent.
        """
        from safetensors.torch import save as to_bytes

        with self._lock:
            model = self.text_encoder()
            head = {name: value.detach().clone() for name, value in self._model.head.state_dict().items()}
            fields = {"settings": dataclasses.asdict(self.settings), "step": self._step}
        target = save(model, folder)
        write_atomically(target / HEAD_FILE, to_bytes(head))
        write_atomically(target / TASK_FILE, (json.dumps(fields, indent=2) + "\n").encode())
        return target

    # --- the thread ---------------------------------------------------------------------------------------------------

    def _loop(self, stop: threading.Event, before: threading.Thread | None) -> None:
        if before is not None:
            before.join()  # it has been told to stop; two must never train the same weights
        try:
            while not self._over(stop):
                if self._pause.is_set():
                    self._status = "paused"
                    stop.wait(0.05)
                elif SLOTS.acquire(timeout=0.1):
                    try:
                        self._turn(stop)
                    finally:
                        SLOTS.release()
                    time.sleep(0.001)  # another run may take the slot
                else:
                    self._status = "waiting"
        except Exception as error:  # a thread has nobody to raise to: the page shows the status
            self._status = f"failed: {error}"

    def _over(self, stop: threading.Event) -> bool:
        """Whether to end the thread; says why in the status."""
        with self._lock:
            if self.ended:
                return True
            silent = time.monotonic() - self._last_poll > self.heartbeat
            if stop.is_set() or silent:
                stop.set()  # so that a `start` from now on makes a new thread rather than trust this one
                self._status = "stopped"
                return True
            return False

    def _turn(self, stop: threading.Event) -> None:
        self._status = "running"
        began = time.perf_counter()
        while time.perf_counter() - began < TURN and not stop.is_set() and not self._pause.is_set():
            with self._lock:
                at = time.perf_counter()
                self._advance()
                self._seconds += time.perf_counter() - at
                if self.ended:
                    return

    def _advance(self) -> None:
        """One step, and what is due after it."""
        settings = self.settings
        if not self._frames:
            self._keep_frame()  # the attention of the untrained encoder
        for group in self._optimiser.param_groups:
            group["lr"] = settings.rate(self._step)
        ids, answers = self.task.sample(settings.batch_size, (settings.seed, 2, self._step))
        logits = self._model(ids)
        loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten())
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
        self._step += 1
        self._losses.append(float(loss.detach()))
        if self._gone_wrong():
            return
        last = self._step >= settings.steps
        if self._step % settings.record_every == 0 or last:
            self._keep_point()
        if self._step % settings.frame_every == 0 or last:
            self._keep_frame()
        if last and not self.ended:
            self._status = "done"

    def _gone_wrong(self) -> bool:
        """Set the status where the loss is not finite, or ten times that of guessing."""
        loss, guessing = self._losses[-1], math.log(len(self.task.classes))
        if not math.isfinite(loss):
            self._status = f"diverged at step {self._step}: loss is not finite"
        elif loss > HOPELESS * guessing:
            self._status = f"diverged at step {self._step}: loss is {loss:.3g}, that of guessing is {guessing:.3g}"
        return self.ended

    @torch.no_grad()
    def _keep_point(self) -> None:
        logits = self._model(self.inputs)
        held_out = float(F.cross_entropy(logits.flatten(0, 1), self.answers.flatten()))
        point = {
            "step": self._step,
            "loss": sum(self._losses) / len(self._losses),
            "held_out_loss": held_out,
            "accuracy": float((logits.argmax(-1) == self.answers).float().mean()),
            "learning_rate": self.settings.rate(self._step - 1),
            "seconds": self._seconds,
        }
        if math.isfinite(held_out):
            self._curve.append(point)
        else:
            self._status = f"diverged at step {self._step}: loss is not finite"
        self._losses = []

    @torch.no_grad()
    def _keep_frame(self) -> None:
        with record() as recorder:
            logits = self._model(self.inputs)
        config = self._model.encoder.config
        maps = []
        for layer in range(config.n_layers):
            q, k = (recorder.values[f"layers.{layer}.{name}"] for name in "qk")  # [B, H, T, K]
            maps.append(attend.pattern(attend.scores(q, k, float(config.attention_scale or 1.0))))
        pattern = torch.stack(maps, dim=1)  # [B, L, H, T, T]
        self._frames.append(
            Frame(self._step, pattern[0].numpy().copy(), pattern.mean(0).numpy(), logits[0].argmax(-1).numpy())
        )


# --- what comes back from disk ----------------------------------------------------------------------------------------

HEAD_FILE = "task_head.safetensors"
TASK_FILE = "task.json"


@dataclass(frozen=True, eq=False)
class TrainedTask:
    """A finished (or interrupted) run read back. text_encoder: opens like any model; model: with the task's head."""

    settings: TaskSettings
    step: int
    text_encoder: TextEncoder
    model: TaskModel

    @torch.no_grad()
    def predict(self, ids: Tensor) -> Tensor:
        """ids [B, T] -> classes [B, T]."""
        return self.model(ids).argmax(-1)


def load_task(folder: str | Path) -> TrainedTask:
    """Read what `TaskRun.save` wrote. Raises LoadError where the folder is none of these."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    folder = Path(folder).expanduser()
    for name in (TASK_FILE, HEAD_FILE):
        if not (folder / name).is_file():
            raise LoadError(f"{folder.name} has no {name}: it is no saved task. Models of other kinds open with load.")
    try:
        fields = json.loads((folder / TASK_FILE).read_text(encoding="utf-8"))
        settings, step = TaskSettings(**fields["settings"]), int(fields["step"])
        head = load_file(folder / HEAD_FILE)
    except (ValueError, KeyError, TypeError, SafetensorError) as error:
        raise LoadError(f"{folder.name} is a damaged task: {error}") from error
    text_encoder = load(folder, device="cpu")
    task = settings.make_task()
    model = TaskModel(text_encoder.config, len(task.classes))
    model.encoder = text_encoder.encoder
    wanted = {"weight": (len(task.classes), settings.d_model), "bias": (len(task.classes),)}
    if {name: tuple(value.shape) for name, value in head.items()} != wanted:
        raise LoadError(f"{HEAD_FILE} in {folder.name} does not fit {TASK_FILE}: save the run again.")
    model.head.load_state_dict(head)
    model.eval()
    return TrainedTask(settings, step, text_encoder, model)


def hits(pattern: np.ndarray | Tensor, source: Tensor) -> int:
    """Rows of one attention map [T, T] whose largest weight lies on the token that the answer is read from ([T])."""
    return int((torch.as_tensor(pattern).argmax(-1) == source).sum())
