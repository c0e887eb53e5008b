"""Live training of a small task: a run in the background that a page polls and can stop.

A run stops by itself when nobody polls it for `heartbeat` seconds, so that a closed page leaves nothing running. A run
never raises: its status says what went wrong. Runs share a few slots (`SLOTS`) in short turns of one thread each, and
leave one core to the server: a classroom does not overload the machine.

    run = TaskRun(TaskSettings(task="reverse", norm_placement="pre"))
    run.start()                   # begins, or continues after a stop
    view = run.poll()             # immutable; poll at least every few seconds
    model = run.text_encoder()    # a TextEncoder, at any time
    run.stop()

Shapes: B sequences of a batch, T tokens, L layers, H heads.
"""

import contextlib
import copy
import math
import os
import sys
import threading
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from encoder.encoders.text import TextEncoder
from encoder.model.device import use_one_thread
from encoder.model.layers import Attention
from encoder.model.pauses import GIVE_WAY, NOBODY_WAITS
from encoder.trace.capture import record
from encoder.train.run_view import Frame, HeldOut, RunView
from encoder.train.settings import TaskSettings
from encoder.train.task_model import TaskModel, TrainedTask

#: How many runs take a turn at the same time. One core is left to the server; more than four Python threads only wait
#: for each other.
SLOTS = threading.BoundedSemaphore(max(1, min(4, (os.cpu_count() or 1) - 1)))
#: Seconds of a turn: two runs on one slot both advance several times between two pictures.
TURN = 0.05
#: Seconds without a turn after which a run says that it waits.
PATIENCE = 2.0
HEARTBEAT = 5.0
#: Niceness of a training thread on Linux. On two busy cores, two runs made a page take 1.3 to 1.5 times as long at 0;
#: at 10 they made no measurable difference.
NICENESS = 10
#: Bytes of a tensor or array next to its numbers: of small runs, half of what they take.
OBJECT_BYTES = 1_000
#: A finite loss this many times that of guessing counts as diverged, since LayerNorm keeps many losses finite.
DIVERGED_AT = 10.0


class TaskRun:
    """One training run. Safe to call from any thread; nothing that happens during training raises."""

    def __init__(self, settings: TaskSettings, heartbeat: float = HEARTBEAT) -> None:
        self.settings, self.heartbeat = settings, heartbeat
        self.held_out = HeldOut.of(settings)
        self.task, self.inputs, self.answers = self.held_out.task, self.held_out.inputs, self.held_out.answers
        seed = settings.seed + 1_000_003 * settings.trial
        self._model = TaskModel(settings.config(), len(self.task.classes), seed, settings.registers)
        self._optimiser = torch.optim.Adam(self._model.parameters(), lr=settings.learning_rate, betas=(0.9, 0.98))
        self._lock = threading.RLock()  # over the weights, for a whole step; `poll` never waits for it
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._status, self._step, self._seconds, self._last_poll = "ready", 0, 0.0, 0.0
        self._losses: list[float] = []
        self._averaged = 0  # losses that the points of the curve hold
        self._curve: list[dict[str, float]] = []
        self._frames: list[Frame] = []

    # --- what an owner calls ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin, or continue after a stop. Has no effect on a run that has ended."""
        with self._lock:
            self._last_poll = time.monotonic()
            if self.ended or (self.active and not self._stop.is_set()):
                return
            before = self._thread
            self._stop = threading.Event()  # a new one: the thread before, if it still ends, keeps its own
            self._status = "waiting"
            self._thread = threading.Thread(
                target=self._loop, args=(self._stop, before), name=f"task-{self.task.name}", daemon=True
            )
            self._thread.start()

    def run_here(self) -> None:
        """Train to the end in this thread, without turns."""
        while not self.ended:
            self._timed_step()

    def stop(self, wait: float = 0.0) -> None:
        """End after the current step; `start` continues there. wait: seconds to wait for the thread to end."""
        with self._lock:
            self._stop.set()
            thread = self._thread
            if self._step and not self.ended and not self.active:
                self._status = "stopped"
        if thread is not None and wait > 0 and thread is not threading.current_thread():
            thread.join(wait)

    def poll(self) -> RunView:
        """The run as it is now; a poll also keeps the run alive. It does not wait for the step that is computed."""
        self._last_poll = time.monotonic()
        # In this order, so that a run that is no longer active has its last status, and a run that is done all numbers.
        active, status, step = self.active, self._status, self._step
        return RunView(
            settings=self.settings,
            status=status,
            active=active,
            step=step,
            seconds=self._seconds,
            losses=tuple(self._losses),
            curve=tuple(self._curve),
            frames=tuple(self._frames),
        )

    @property
    def active(self) -> bool:
        """Whether a thread works or waits for its turn."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def n_bytes(self) -> int:
        """The most bytes that the run takes in memory: weights, gradients, Adam's two moments, attention maps."""
        weights = list(self._model.parameters())
        objects = 4 * len(weights) + 3 * self.settings.n_frames
        return 16 * sum(weight.numel() for weight in weights) + self.settings.bytes_of_frames + objects * OBJECT_BYTES

    @property
    def ended(self) -> bool:
        """Whether `start` has no effect: the run is done, diverged or failed."""
        return self._status == "done" or self._status.startswith(("diverged", "failed"))

    def snapshot(self) -> TrainedTask:
        """A copy of the model after a whole step: what a file of the run holds."""
        with self._lock:
            model, step = copy.deepcopy(self._model), self._step
        model.zero_grad()
        return TrainedTask(self.settings, step, model.eval())

    def text_encoder(self) -> TextEncoder:
        """A copy of the encoder as it is now, with the task's tokenizer: opens like any other model."""
        return self.snapshot().text_encoder

    # --- the thread ---------------------------------------------------------------------------------------------------

    def _loop(self, stop: threading.Event, before: threading.Thread | None) -> None:
        if before is not None:
            before.join()  # `stop` was set for it; two threads must never train the same weights
        try:
            use_one_thread()
            come_last()
            worked = time.monotonic()
            while not self._over(stop):
                if SLOTS.acquire(timeout=0.1):
                    try:
                        self._turn(stop)
                    finally:
                        SLOTS.release()
                    worked = time.monotonic()
                    time.sleep(0.001)  # another run may take the slot
                elif time.monotonic() - worked > PATIENCE:
                    self._status = "waiting"
        except Exception as error:  # a thread has no caller to raise to: the page shows the status
            self._status = f"failed: {error}"

    def _over(self, stop: threading.Event) -> bool:
        """Whether to end the thread; writes the reason into the status."""
        with self._lock:
            if self.ended:
                return True
            silent = time.monotonic() - self._last_poll > self.heartbeat
            if stop.is_set() or silent:
                stop.set()  # so that `start` makes a new thread from now on and does not rely on this one
                self._measure_here()
                if not self.ended:
                    self._status = "stopped"
                return True
            return False

    def _turn(self, stop: threading.Event) -> None:
        self._status = "running"
        began = time.perf_counter()
        while time.perf_counter() - began < TURN and not stop.is_set():
            NOBODY_WAITS.wait(GIVE_WAY)
            self._timed_step()
            if self.ended:
                return

    def _timed_step(self) -> None:
        with self._lock:
            at = time.perf_counter()
            self._advance()
            self._seconds += time.perf_counter() - at

    def _advance(self) -> None:
        """One step, and what is due after it."""
        settings = self.settings
        if not self._frames:
            self._keep_frame()  # the attention of the untrained encoder
        for group in self._optimiser.param_groups:
            group["lr"] = settings.rate(self._step)
        drawn = (settings.seed, 2, self._step, *([settings.trial] if settings.trial else []))
        ids, answers = self.task.sample(settings.batch_size, drawn)
        logits = self._model(ids)
        loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten())
        self._optimiser.zero_grad()
        torch.autograd.backward(loss)
        self._optimiser.step()
        self._losses.append(float(loss.detach()))
        self._step += 1
        if self._has_diverged():
            return
        last = self._step >= settings.steps
        if self._step % settings.record_every == 0 or last:
            self._keep_point()
        if self._step % settings.frame_every == 0 or last:
            self._keep_frame()
        if last and not self.ended:
            self._status = "done"

    def _measure_here(self) -> None:
        """The point and the maps of the current step, where they are not kept yet: a stop shows its own step."""
        if self._losses and not (self._curve and self._curve[-1]["step"] == self._step):
            self._keep_point()
        if self._losses and self._frames[-1].step < self._step:
            self._keep_frame()

    def _has_diverged(self) -> bool:
        """Set the status where the loss is not finite, or `DIVERGED_AT` times that of guessing."""
        loss, guessing = self._losses[-1], math.log(len(self.task.classes))
        if not math.isfinite(loss):
            self._status = f"diverged at step {self._step}: loss is not finite"
        elif loss > DIVERGED_AT * guessing:
            self._status = f"diverged at step {self._step}: loss is {loss:.3g}, that of guessing is {guessing:.3g}"
        return self.ended

    @torch.no_grad()
    def _keep_point(self) -> None:
        logits = self._model(self.inputs)
        held_out = float(F.cross_entropy(logits.flatten(0, 1), self.answers.flatten()))
        point = {
            "step": self._step,
            "loss": float(np.mean(self._losses[self._averaged :])),
            "held_out_loss": held_out,
            "accuracy": float((logits.argmax(-1) == self.answers).float().mean()),
            "learning_rate": self.settings.rate(self._step - 1),
            "seconds": self._seconds,
        }
        if math.isfinite(held_out):
            self._curve.append(point)
        else:
            self._status = f"diverged at step {self._step}: loss is not finite"
        self._averaged = len(self._losses)

    @torch.no_grad()
    def _keep_frame(self) -> None:
        with record() as recorder:
            logits = self._model(self.inputs)
        sample, mean, sinks, first = [], [], [], self.settings.registers
        # One layer at a time: the maps of all sequences and layers take 100 MB.
        for context in self._model.encoder.attention_contexts(recorder.values["embedding"], None):
            q, k, v = (recorder.values[f"layers.{context.layer}.{name}"] for name in "qkv")  # [B, H, T, K]
            pattern = context.pattern(context.scores(q, k))
            gate = recorder.values.get(f"layers.{context.layer}.gate")
            sinks.append(sink_numbers(pattern, self._model.encoder.block(context.layer).attention, v, gate))
            sample.append(pattern[0, :, first:, first:].clone())
            mean.append(pattern.mean(0)[:, first:, first:])
        self._frames.append(
            Frame(
                self._step,
                torch.stack(sample).numpy(),
                torch.stack(mean).numpy(),
                logits[0].argmax(-1).numpy(),
                torch.stack(sinks).numpy(),
            )
        )


def sink_numbers(pattern: Tensor, attention: Attention, v: Tensor, gate: Tensor | None = None) -> Tensor:
    """pattern [B, H, T, T], v [B, H, T, K], gate [B, H, T, 1] -> [H, 5], of the token that receives most attention.

    Its place; the share of attention that it receives; the norm of v W_O, what it adds where it is attended to, divided
    by the mean of the other tokens'; the place of that norm among all, 1 for the largest; and the rank of what the head
    adds to the T tokens, mean over sequences, as the participation ratio of its squared singular values: (sum of s^2)^2
    / sum of s^4, from 1. A sink with a small norm does nothing; one with a large norm adds the same vector to every
    token, and the rank comes near to 1.
    """
    received = pattern.mean((0, 2))  # [H, T]
    place = received.argmax(-1, keepdim=True)
    w_o = attention.w_o.weight.view(attention.w_o.out_features, v.shape[1], -1)  # [D, H, K]
    norms = torch.einsum("bhtk,dhk->bhtd", v, w_o).norm(dim=-1).mean(0)  # [H, T]
    own = norms.gather(-1, place)
    others = (norms.sum(-1, keepdim=True) - own) / max(1, norms.shape[-1] - 1)
    among = 1 + (norms > own).sum(-1, keepdim=True)
    z = pattern @ v if gate is None else pattern @ v * gate
    # [B, H, T, T]: products of what the head adds to two tokens
    squares = z @ torch.einsum("dhk,dhl->hkl", w_o, w_o) @ z.transpose(-1, -2)
    total = squares.diagonal(dim1=-2, dim2=-1).sum(-1)
    rank = (total.square() / squares.square().sum((-1, -2)).clamp(min=1e-30)).mean(0).unsqueeze(-1)
    return torch.cat((place.float(), received.gather(-1, place), own / others, among.float(), rank), dim=-1)


def come_last() -> None:
    """Let every other thread come first, where the system has a priority for each thread (Linux)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
