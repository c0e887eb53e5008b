from __future__ import annotations

import dataclasses
import os
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import encoder
from encoder.errors import ConfigError
from encoder.model import device
from encoder.train import loop
from encoder.train.loop import TaskRun
from encoder.train.run_view import RunView, hits
from encoder.train.settings import TaskSettings

SHORT = TaskSettings(length=5, n_symbols=4, d_model=8, steps=40, warmup_steps=0, record_every=10, frames=4)
LONG = dataclasses.replace(SHORT, steps=100_000, frames=1)


def finish(run: TaskRun) -> RunView:
    """Poll as a page does until the thread has ended."""
    run.start()
    while (view := run.poll()).active:
        time.sleep(0.02)
    return view


def wait_for(run: TaskRun, step: int) -> None:
    while run.poll().step < step:
        assert run.active
        time.sleep(0.01)


def ended(run: TaskRun) -> bool:
    """Wait for the end of a run's thread without polling it; the limit is there to fail, not to measure."""
    thread = run._thread
    assert thread is not None
    thread.join(60)
    return not thread.is_alive()


# --- what is learned --------------------------------------------------------------------------------------------------


@pytest.mark.slow("trains a model with each norm placement")
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_reversing_is_learned_and_attention_lies_on_the_anti_diagonal(placement: str):
    run = TaskRun(TaskSettings(norm_placement=placement, steps=200, frames=1))
    view = finish(run)
    assert (view.status, view.accuracy) == ("done", 1.0)
    assert run.task.source is not None
    source = run.task.source(run.inputs)[0]
    assert source.tolist() == list(range(15, -1, -1))
    assert hits(view.frames[-1].sample[0, 0], source) == 16
    assert hits(view.frames[-1].mean[0, 0], source) == 16
    assert hits(view.frames[0].sample[0, 0], source) < 8  # untrained
    assert (view.frames[-1].predicted == run.answers[0].numpy()).all()


@pytest.mark.slow("trains a model")
def test_without_positions_reversing_is_not_learned():
    view = finish(TaskRun(TaskSettings(position="none", steps=200, frames=1)))
    assert view.status == "done"
    assert 0.1 < view.accuracy < 0.4


@pytest.mark.slow("trains three models")
@pytest.mark.parametrize(("task", "least"), [("sort", 0.9), ("previous", 0.999), ("brackets", 0.95)])
def test_the_other_tasks_are_learned_with_their_suggested_sizes(task: str, least: float):
    run = TaskRun(TaskSettings.suggested(task, frames=1))
    run.start()
    while (view := run.poll()).active and not view.accuracy > least:  # it need not become better still
        time.sleep(0.02)
    run.stop(wait=60)
    assert view.accuracy > least


# --- curve and frames -------------------------------------------------------------------------------------------------


def test_the_steps_of_the_curve_and_of_the_frames():
    view = finish(TaskRun(SHORT))
    assert [point["step"] for point in view.curve] == [10, 20, 30, 40]
    assert [frame.step for frame in view.frames] == [0, 10, 20, 30, 40]
    assert view.progress == 1.0
    frame = view.frames[2]
    assert frame.sample.shape == frame.mean.shape == (1, 1, 5, 5)
    assert np.allclose(frame.sample.sum(-1), 1.0, atol=1e-5)
    table = view.to_frame()
    assert list(table.columns) == ["step", "loss", "held_out_loss", "accuracy", "learning_rate", "seconds"]
    assert len(table) == 4


def test_the_frame_is_the_attention_of_the_text_encoder():
    run = TaskRun(dataclasses.replace(SHORT, n_layers=2, n_heads=2))
    view = finish(run)
    trace = run.text_encoder().trace(run.task.text(run.inputs[0]))
    for layer in range(2):
        for head in range(2):
            ours = torch.from_numpy(view.frames[-1].sample[layer, head])
            assert torch.allclose(trace.attention(layer, head), ours, atol=1e-5)


def test_the_same_settings_give_the_same_curve_and_both_placements_the_same_weights():
    def curve(settings: TaskSettings) -> list[dict[str, float]]:
        return [{k: v for k, v in point.items() if k != "seconds"} for point in finish(TaskRun(settings)).curve]

    assert curve(SHORT) == curve(SHORT)
    pre, post = (
        TaskRun(dataclasses.replace(SHORT, norm_placement=p)).text_encoder().encoder.state_dict()
        for p in ("pre", "post")
    )
    assert set(post) < set(pre)
    assert all(torch.equal(post[name], pre[name]) for name in post)


def test_the_text_encoder_does_not_change_during_training():
    run = TaskRun(LONG)
    run.start()
    wait_for(run, 5)
    model = run.text_encoder()
    before = model.encoder.layers[0].attention.w_q.weight.clone()
    wait_for(run, run.poll().step + 5)
    run.stop(wait=60)
    assert torch.equal(before, model.encoder.layers[0].attention.w_q.weight)


# --- stopping ---------------------------------------------------------------------------------------------------------


def test_a_stopped_run_ends_with_the_weights_of_an_undisturbed_run():
    whole = TaskRun(SHORT)
    finish(whole)
    parts = TaskRun(SHORT)
    parts.start()
    wait_for(parts, 3)
    parts.stop(wait=60)
    assert not parts.active
    stopped = parts.poll()
    assert stopped.status in ("stopped", "done")
    assert stopped.curve[-1]["step"] == stopped.frames[-1].step == stopped.step
    view = finish(parts)
    assert (view.status, view.step) == ("done", 40)
    for name, value in whole.text_encoder().encoder.state_dict().items():
        assert torch.equal(value, parts.text_encoder().encoder.state_dict()[name]), name


def test_a_run_that_nobody_polls_stops_and_can_continue():
    run = TaskRun(LONG, heartbeat=0.2)
    run.start()
    assert ended(run)
    view = run.poll()
    assert view.status == "stopped"
    run.start()
    wait_for(run, view.step + 1)
    run.stop(wait=60)


def test_two_starts_and_two_stops_are_one():
    before = threading.active_count()
    run = TaskRun(LONG)
    run.start()
    run.start()
    assert threading.active_count() == before + 1
    run.stop(wait=60)
    run.stop(wait=60)
    assert threading.active_count() == before


def test_quick_stops_and_starts_leave_one_thread():
    before = threading.active_count()
    run = TaskRun(LONG)
    for _ in range(10):
        run.start()
        run.stop()
    run.start()
    wait_for(run, run.poll().step + 2)
    while threading.active_count() > before + 1:
        run.poll()
        time.sleep(0.01)
    run.stop(wait=60)
    assert threading.active_count() == before


def test_a_step_waits_for_a_person_but_not_for_ever(monkeypatch: pytest.MonkeyPatch):
    person = threading.Event()
    monkeypatch.setattr(loop, "NOBODY_WAITS", person)
    monkeypatch.setattr(loop, "GIVE_WAY", 3600.0)
    run = TaskRun(LONG, heartbeat=3600.0)
    run.start()
    time.sleep(0.3)
    assert run.poll().step == 0
    monkeypatch.setattr(loop, "GIVE_WAY", 0.001)
    person.set()
    wait_for(run, 1)
    person.clear()
    wait_for(run, run.poll().step + 3)
    run.stop(wait=60)


@pytest.mark.skipif(sys.platform != "linux", reason="no priority for each thread")
def test_a_run_comes_last_and_nothing_else_does():
    run = TaskRun(LONG)
    before = os.getpriority(os.PRIO_PROCESS, 0)
    run.start()
    wait_for(run, 1)
    assert run._thread is not None
    assert os.getpriority(os.PRIO_PROCESS, run._thread.native_id) == max(before, loop.NICENESS)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before
    run.stop(wait=60)


def test_torch_keeps_its_threads_for_others():
    def threads() -> int:
        found = []
        thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
        thread.start()
        thread.join()
        return found[0]

    def alone() -> None:
        with device.one_thread():
            own.append(torch.get_num_threads())
        own.append(torch.get_num_threads())
        device.use_one_thread()
        own.append(torch.get_num_threads())

    torch.set_num_threads(3)
    own: list[int] = []
    thread = threading.Thread(target=alone)
    thread.start()
    thread.join()
    assert own == [1, 3, 1]
    assert threads() == 3


def test_more_runs_than_slots_all_end():
    runs = [TaskRun(dataclasses.replace(SHORT, seed=seed)) for seed in range(6)]
    for run in runs:
        run.start()
    while [run for run in runs if run.poll().active]:  # every one is polled, each time
        time.sleep(0.02)
    assert {run.poll().status for run in runs} == {"done"}


# --- what goes wrong --------------------------------------------------------------------------------------------------


def test_a_learning_rate_that_diverges_is_a_status():
    for rate in (1e3, 1e30):
        run = TaskRun(dataclasses.replace(SHORT, learning_rate=rate, steps=1000))
        view = finish(run)
        assert view.diverged
        assert view.status.startswith("diverged at step ")
        assert view.step < 1000
        run.start()  # does nothing
        assert not run.active
    assert "loss is not finite" in view.status


def test_an_error_in_the_thread_is_a_status(monkeypatch: pytest.MonkeyPatch):
    run = TaskRun(SHORT)
    monkeypatch.setattr(run, "_advance", lambda: 1 / 0)
    assert finish(run).status == "failed: division by zero"
    assert loop.SLOTS.acquire(timeout=1)  # the slot was handed back
    loop.SLOTS.release()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rate": float("nan")}, "learning_rate=nan"),
        ({"learning_rate": -1.0}, "above 0"),
        ({"steps": 0}, "steps=0: choose 1 to 100000"),
        ({"d_model": 33, "n_heads": 2}, "cannot be split"),
        ({"task": "juggle"}, "choose one of"),
        ({"position": "rotary", "d_model": 3}, "even"),
    ],
)
def test_settings_out_of_bounds_are_refused(changes: dict, message: str):
    with pytest.raises(ConfigError, match=message):
        TaskSettings(**changes)


# --- saving -----------------------------------------------------------------------------------------------------------


def test_a_saved_run_opens_like_any_model_and_answers_as_before(tmp_path: Path):
    run = TaskRun(dataclasses.replace(SHORT, task="brackets", length=6))
    finish(run)
    text = run.task.text(run.inputs[0])
    model = encoder.load(encoder.save(run.text_encoder(), tmp_path / "mine"), device="cpu")
    assert torch.equal(model.trace(text).attention(0, 0), run.text_encoder().trace(text).attention(0, 0))
    assert model.trace(text).tokens == tuple(text.split())
    back = run.snapshot()
    assert (back.settings, back.step) == (run.settings, 40)
    assert torch.equal(back.predict(run.inputs), run._model(run.inputs).argmax(-1))


def test_a_snapshot_during_training_is_one_state():
    run = TaskRun(LONG)
    run.start()
    wait_for(run, 3)
    back = run.snapshot()
    run.stop(wait=60)
    again = TaskRun(LONG)
    for _ in range(back.step):
        again._advance()
    for name, value in again._model.state_dict().items():
        assert torch.equal(back.model.state_dict()[name], value), name
