"""The new numbers of a run for a reader who has some already, and the recorded runs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from encoder.errors import ConfigError, EncoderError
from encoder.train import progress, recorded
from encoder.train.loop import TaskRun
from encoder.train.settings import FRAME_BYTES, TaskSettings

SETTINGS = TaskSettings(
    length=5, n_symbols=4, d_model=8, n_layers=2, n_heads=2, steps=20, record_every=5, frames=4, warmup_steps=0
)


@pytest.fixture(scope="module")
def run() -> TaskRun:
    made = TaskRun(SETTINGS)
    made.run_here()
    return made


def test_parts_join_to_the_whole(run: TaskRun) -> None:
    view, head = run.poll(), progress.WatchedHead(1, 0)
    whole = progress.since(view, run.held_out, head, progress.Seen())
    early = dataclasses.replace(view, losses=view.losses[:7], curve=view.curve[:1], frames=view.frames[:2])
    parts = [
        progress.since(early, run.held_out, head, progress.Seen()),
        progress.since(view, run.held_out, head, progress.Seen(7, 1, 2)),
        progress.since(view, run.held_out, head, progress.Seen(20, 4, 5)),
    ]
    for name, array in whole.items():
        np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), array)
        assert len(parts[-1][name]) == 0
    assert whole["steps"].tolist() == [0, 5, 10, 15, 20]
    assert whole["points"][:, 0].tolist() == [5, 10, 15, 20]
    assert whole["losses"].shape == (20,)
    np.testing.assert_array_equal(whole["maps"][3], view.frames[3].sample[1, 0])
    mean = progress.since(view, run.held_out, progress.WatchedHead(0, 1, mean=True), progress.Seen(frames=3))
    np.testing.assert_array_equal(mean["maps"][0], view.frames[3].mean[0, 1])


def test_the_curve_averages_the_losses_of_its_steps(run: TaskRun) -> None:
    view = run.poll()
    for k, point in enumerate(view.curve):
        assert point["loss"] == pytest.approx(np.mean(view.losses[5 * k : 5 * k + 5]))


def test_numbers_of_a_reader_that_cannot_be(run: TaskRun) -> None:
    with pytest.raises(ConfigError, match="0 or more"):
        progress.Seen(0, -1, 0)
    for head in (progress.WatchedHead(2, 0), progress.WatchedHead(0, -1)):
        with pytest.raises(ConfigError, match="layers 0 to 1 and heads 0 to 1"):
            progress.since(run.poll(), run.held_out, head, progress.Seen())


def test_large_maps_are_kept_at_fewer_steps() -> None:
    large = TaskSettings(length=32, n_layers=12, n_heads=8, d_model=64, steps=3000)
    assert large.steps // large.frame_every > 10
    assert large.bytes_of_frames <= FRAME_BYTES
    assert SETTINGS.frame_every == 5
    run = TaskRun(SETTINGS)
    assert run.n_bytes > sum(frame.sample.nbytes + frame.mean.nbytes for frame in run.poll().frames)


def test_a_recording_comes_back_as_it_went(run: TaskRun, tmp_path) -> None:
    view = run.poll()
    file = tmp_path / "runs.safetensors"
    file.write_bytes(recorded.to_bytes({"one": view, "two": view}, "today"))
    back = recorded.recorded(file)
    assert back.made == "today"
    assert list(back.views) == ["one", "two"]
    other = back.views["two"]
    assert (other.settings, other.step, other.status) == (SETTINGS, 20, "done")
    assert other.curve == view.curve
    for ours, theirs in zip(other.frames, view.frames, strict=True):
        assert ours.step == theirs.step
        np.testing.assert_array_equal(ours.predicted, theirs.predicted)
        for name in ("sample", "mean"):  # float16 in the file
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=3e-4)
    with pytest.raises(EncoderError, match=r"recipes\.tasks"):
        recorded.recorded(tmp_path / "none.safetensors")


@pytest.mark.slow("trains a model again")
def test_the_shipped_recording_is_a_run_of_its_settings() -> None:
    shipped = recorded.recorded()
    assert {name: view.settings for name, view in shipped.views.items()} == recorded.RUNS
    assert recorded.FILE.stat().st_size < 600_000
    for view in shipped.views.values():
        again = TaskRun(view.settings)
        for _ in range(12):
            again._advance()
        now = again.poll()
        assert view.losses[:12] == pytest.approx(now.losses, rel=1e-3)
        np.testing.assert_allclose(view.frames[1].sample, now.frames[1].sample, atol=1e-3)
        assert (view.accuracy > 0.99) == (view.settings.norm_placement == "pre")  # post-norm only guesses
