"""“Train a small encoder” under AppTest: runs that start, stop and continue, and their models."""

from __future__ import annotations

import re
import threading
import time

import pytest
from streamlit.testing.v1 import AppTest

from encoder.train import single_file
from encoder.train.loop import TaskRun
from encoder.train.settings import TaskSettings
from pages.training import runs as training
from tests.pages.apps import assert_well, labels, press, sentences, visit, written

TINY = {"length": "5", "symbols": "4", "train_width": "8", "steps": "40"}
PATIENCE = 300  # seconds; to fail, not to measure


def own_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("task-")]


def wait_until_still(app: AppTest) -> None:
    """Rerun the page, as a browser does, until no run is active."""
    deadline = time.monotonic() + PATIENCE
    while "Stop" in labels(app):
        assert time.monotonic() < deadline
        time.sleep(0.1)
        app.run()


def test_a_run_is_trained_opened_and_compared() -> None:
    app = visit("training", text="a sentence of mine", **TINY)
    press(app, "Train")
    wait_until_still(app)
    assert_well(app)
    assert "40 steps" in written(app)
    assert not own_threads()
    next(one for one in app.select_slider if one.key.startswith("training-time")).set_value(7).run()
    frame = app.session_state["_training"].runs["pre-norm"].poll().frame_at(7)
    answered = app.dataframe[0].value.loc["pre-norm"]
    assert [int(answer) for answer in answered] == frame.predicted.tolist()
    names: dict = {}
    exec(app.get("code")[-1].value, names)  # the curves once more, by the exported lines
    runs = app.session_state["_training"].poll()
    for name, rows in names["table"].groupby("run"):
        assert list(rows.loss) == pytest.approx(list(runs[name].to_frame().loss), rel=1e-3)
    app.button(key="open-post-norm").click().run()
    assert_well(app)
    assert app.title[0].value == "Attention heads"
    assert app.query_params["model"] == "trained"
    assert re.fullmatch(r"\d( \d){4}", app.query_params["text"])
    link = dict(app.query_params)
    app.switch_page("pages/pre_post/page.py").run()
    for placement in ("pre", "post"):
        assert f"reverse, {placement}-norm, 40 steps" in written(app)
    app.sidebar.selectbox(key="view:model").set_value("minilm").run()
    assert app.query_params["text"] == "a sentence of mine"
    other = visit(**link)  # another visitor with the link, on the same server
    assert_well(other)
    assert "post-norm, 40 steps" in written(other)


def test_stop_continue_and_leaving_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "HEARTBEAT", 1.0)
    app = visit("training", **TINY | {"steps": "3000", "train_layers": "4"})
    press(app, "Train")
    assert "Stop" in labels(app)
    press(app, "Stop")
    wait_until_still(app)
    group = app.session_state["_training"]
    stopped_at = group.poll()["pre-norm"].step
    assert "Continue" in labels(app)
    assert stopped_at < 3000
    assert not own_threads()
    app.button(key="open-pre-norm").click().run()
    opened_first = app.query_params["run"]
    app.switch_page("pages/training/page.py").run()
    press(app, "Continue")
    assert group.active
    deadline = time.monotonic() + PATIENCE
    while group.poll()["pre-norm"].step <= stopped_at:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    press(app, "Stop")
    wait_until_still(app)
    app.button(key="open-pre-norm").click().run()  # the run as it is now, not as at the first opening
    assert app.query_params["run"] != opened_first
    assert f"pre-norm, {group.poll()['pre-norm'].step:,} steps" in written(app)
    app.switch_page("pages/training/page.py").run()
    press(app, "Continue")
    assert group.active
    app.switch_page("pages/heads/page.py").run()  # nobody polls any more
    deadline = time.monotonic() + PATIENCE
    while own_threads():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert all(run._status == "stopped" for run in group.runs.values())
    app.switch_page("pages/training/page.py").run()
    assert len(app.info) == 1
    assert "Continue" in labels(app)


def test_a_rate_that_diverges_is_shown_as_such() -> None:
    app = visit("training", rate="8", warm="without", **TINY)
    press(app, "Train")
    wait_until_still(app)
    assert_well(app)
    for name, view in app.session_state["_training"].poll().items():
        assert view.diverged
        assert f"step {view.step}" in sentences(app)
        assert f"open-{name}" not in [button.key for button in app.button]
    assert len(app.warning) == 2


def test_runs_that_are_impossible_are_refused_with_a_remedy() -> None:
    for values, remedy in (
        ({"warm": "with,without", "encodings": "learned,rotary,none"}, r"12 runs\D+4\b"),
        ({"task": "brackets", "length": "7"}, "even"),
        ({"train_heads": "3"}, "Width 30 or 33"),
        ({"train_heads": "7", "train_width": "128"}, r"Width 126\b(?! or)"),  # the page does not offer 133
        ({"train_heads": "2", "train_width": "30", "encodings": "learned,rotary"}, "Width 28 or 32"),
    ):
        app = visit("training", **values)
        assert re.search(remedy, app.warning[0].value)
        assert app.button(key="train").disabled
    app = visit(rate="-1", train_norm="middle", task="juggle")
    assert all(name in sentences(app) for name in ("rate", "middle", "juggle"))
    app.switch_page("pages/training/page.py").run()
    assert_well(app)
    assert not app.button(key="train").disabled
    app.segmented_control(key="view:train_norm").set_value([]).run()
    assert app.button(key="train").disabled


def test_experiments_and_tasks_bring_their_sizes() -> None:
    def choose(title: str) -> None:
        next(group for group in app.get("button_group") if group.key == "preset").set_value(title).run()

    app = visit("training")
    app.selectbox(key="view:task").set_value("brackets").run()
    assert app.query_params["train_layers"] == "2"
    both, _, warm_up, _ = training.PRESETS
    choose(warm_up)
    assert_well(app)
    assert app.query_params["warm"] == "with,without"
    assert app.query_params["train_layers"] == "8"
    choose(both)
    assert "warm" not in app.query_params


def test_a_saved_file_opens_and_a_bad_one_says_why() -> None:
    run = TaskRun(TaskSettings(length=5, n_symbols=4, d_model=8, steps=5))
    while not run.ended:
        run._advance()
    data = single_file.to_bytes(run.snapshot())
    app = visit("training")
    app.file_uploader(key="training-file").upload("mine.safetensors", data, "application/octet-stream").run()
    assert_well(app)
    assert "reverse, post-norm, 5 steps" in written(app)
    app.button(key="open-file").click().run()
    assert app.title[0].value == "Attention heads"
    assert app.query_params["model"] == "trained"
    app = visit("training")
    app.file_uploader(key="training-file").upload("bad.safetensors", b"no weights", "application/octet-stream").run()
    assert "bad" in app.error[0].value
    assert not app.exception


def test_a_link_to_a_model_that_is_gone() -> None:
    for link in ({"run": "nosuchmodel"}, {}):
        app = visit(model="trained", **link)
        assert not app.exception
        assert len(app.error) == 1
