"""“Train a small encoder” under AppTest: runs that start, stop and go on, and what becomes of them."""

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
    """Look at the page again and again, as a browser does, until no run is at work."""
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
    assert "after 40 steps" in written(app)
    assert not own_threads()
    slider = next(one for one in app.select_slider if one.label == "Training time, in steps")
    slider.set_value(7).run()
    assert "pre-norm, after 7 steps" in written(app).replace("*", "")
    frame = app.session_state["_training"].runs["pre-norm"].poll().frame_at(7)
    answered = app.dataframe[0].value.loc["pre-norm"]
    assert [int(answer) for answer in answered] == frame.predicted.tolist()
    names: dict = {}
    exec(app.get("code")[-1].value, names)  # the curves once more, by the lines that are taken away
    runs = app.session_state["_training"].poll()
    for name, rows in names["table"].groupby("run"):
        assert list(rows.loss) == pytest.approx(list(runs[name].to_frame().loss), rel=1e-3)
    press(app, "Open in Heads: post-norm")
    assert_well(app)
    assert app.header[0].value == "Attention heads"
    assert app.query_params["model"] == "trained"
    assert re.fullmatch(r"\d( \d){4}", app.query_params["text"])
    link = dict(app.query_params)
    app.switch_page("pages/pre_post/page.py").run()
    assert "the run that you trained beside it" in written(app)
    app.sidebar.selectbox(key="view:model").set_value("minilm").run()
    assert app.query_params["text"] == "a sentence of mine"
    other = visit(**link)  # another visitor with the link, on the same server
    assert_well(other)
    assert "post-norm, 40 steps" in written(other)


def test_stop_go_on_and_leaving_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "HEARTBEAT", 1.0)
    app = visit("training", **TINY | {"steps": "3000", "train_layers": "4"})
    press(app, "Train")
    assert "Stop" in labels(app)
    press(app, "Stop")
    wait_until_still(app)
    mine = app.session_state["_training"]
    stopped_at = mine.poll()["pre-norm"].step
    assert "Go on" in labels(app)
    assert stopped_at < 3000
    assert not own_threads()
    press(app, "Open in Heads: pre-norm")
    opened_first = app.query_params["run"]
    app.switch_page("pages/training/page.py").run()
    press(app, "Go on")
    assert mine.active
    deadline = time.monotonic() + PATIENCE
    while mine.poll()["pre-norm"].step <= stopped_at:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    press(app, "Stop")
    wait_until_still(app)
    press(app, "Open in Heads: pre-norm")  # the run as it is now, not as it was when it was opened before
    assert app.query_params["run"] != opened_first
    assert f"pre-norm, {mine.poll()['pre-norm'].step:,} steps" in written(app)
    app.switch_page("pages/training/page.py").run()
    press(app, "Go on")
    assert mine.active
    app.switch_page("pages/heads/page.py").run()  # nobody looks any more
    deadline = time.monotonic() + PATIENCE
    while own_threads():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert all(run._status == "stopped" for run in mine.runs.values())
    app.switch_page("pages/training/page.py").run()
    assert "Nobody looked" in sentences(app)
    assert "Go on" in labels(app)


def test_a_rate_that_diverges_is_shown_as_such() -> None:
    app = visit("training", rate="8", warm="without", **TINY)
    press(app, "Train")
    wait_until_still(app)
    assert_well(app)
    assert "Diverged at step" in sentences(app)
    assert "learning rate of 8 is too large" in sentences(app)
    assert "Once training ends" not in sentences(app)
    assert not [label for label in labels(app) if label.startswith("Open in Heads")]


def test_what_cannot_be_trained_is_a_sentence() -> None:
    app = visit("training", warm="with,without", encodings="learned,rotary,none")
    assert "12 runs; at most 4" in sentences(app)
    assert app.button[0].disabled
    app = visit("training", task="brackets", length="7")
    assert "even number of tokens" in sentences(app)
    app = visit("training", train_heads="3")
    assert "Width 32 cannot be split among 3 heads. Choose Width 30 or 33" in sentences(app)
    app = visit("training", train_heads="7", train_width="128")
    assert "Choose Width 126, or other Heads" in sentences(app)  # 133 is not offered here
    app = visit("training", train_heads="2", train_width="30", encodings="learned,rotary")
    assert "15, the width of each head, is odd. Choose Width 28 or 32" in sentences(app)
    app = visit(rate="-1", train_norm="middle", task="juggle")
    assert sentences(app).count("The link asks for") == 3
    app.switch_page("pages/training/page.py").run()
    assert_well(app)
    app.segmented_control(key="view:train_norm").set_value([]).run()
    assert "Nothing is chosen" in sentences(app)


def test_presets_and_tasks_bring_their_sizes() -> None:
    app = visit("training")
    app.selectbox(key="view:task").set_value("brackets").run()
    assert app.query_params["train_layers"] == "2"
    pills = next(group for group in app.get("button_group") if group.key == "preset")
    pills.set_value("Why warm-up").run()
    assert_well(app)
    assert app.query_params["warm"] == "with,without"
    assert app.query_params["train_layers"] == "8"
    next(group for group in app.get("button_group") if group.key == "preset").set_value("Pre and post").run()
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
    press(app, "Open in Heads")
    assert app.header[0].value == "Attention heads"
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
