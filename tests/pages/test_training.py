"""“Train” under AppTest: runs that start, stop and continue, and their models."""

from __future__ import annotations

import dataclasses
import re
import threading
import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from encoder.errors import ConfigError
from encoder.train import recorded, single_file
from encoder.train.loop import TaskRun
from encoder.train.settings import TaskSettings
from pages.core.stores.byte_cache import ByteCache
from pages.training import live
from pages.training import runs as training
from tests.pages.apps import assert_well, exported, labels, noted, press, sentences, visit, written
from tests.test_components import unpack

TINY = {"length": "5", "symbols": "4", "train_width": "8", "steps": "40"}
PATIENCE = 300  # seconds; to fail, not to measure


def own_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("task-")]


def runs_of(app: AppTest) -> training.RunGroup:
    """The runs that the address names."""
    found = training.of_id(app.query_params["training_run"])
    assert found is not None
    return found


def picture(app: AppTest) -> tuple[dict, dict[str, np.ndarray]]:
    """What the picture of the runs got."""
    (drawn,) = (one for one in app.get("bidi_component") if "curves" in one.proto.component_name)
    return unpack(drawn.proto.bytes)


def wait_until_still(app: AppTest) -> None:
    """Rerun the page, as a browser does, until no run is active."""
    deadline = time.monotonic() + PATIENCE
    while "Stop" in labels(app):
        assert time.monotonic() < deadline
        time.sleep(0.1)
        app.run()


@pytest.mark.slow("trains a model")
def test_a_run_is_trained_opened_and_compared() -> None:
    app = visit("training", text="a sentence of mine", **TINY)
    press(app, "Train")
    wait_until_still(app)
    assert_well(app)
    assert "at step 40" in written(app)
    assert not own_threads()
    runs = runs_of(app).poll()
    header, arrays = picture(app)
    for number, (name, view) in enumerate(runs.items()):
        assert header["runs"][number]["name"] == name
        np.testing.assert_array_equal(arrays[f"{number}.losses"], np.float32(view.losses))
        np.testing.assert_array_equal(arrays[f"{number}.maps"], [frame.sample[0, 0] for frame in view.frames])
        np.testing.assert_array_equal(arrays[f"{number}.predicted"], [frame.predicted for frame in view.frames])
    names: dict = {}
    exec(exported(app), names)  # the curves once more, by the exported lines
    for name, rows in names["table"].groupby("run"):
        assert list(rows.loss) == pytest.approx(list(runs[name].to_frame().loss), rel=1e-3)
    app.button(key="open-post-norm").click().run()
    assert_well(app)
    assert app.title[0].value == "Heads"
    assert app.query_params["model"] == "trained"
    assert re.fullmatch(r"\d( \d){4}", app.query_params["text"])
    link = dict(app.query_params)
    app.switch_page("pages/pre_post/page.py").run()
    for placement in ("pre", "post"):
        assert f"reverse, {placement}-norm, 40 steps" in written(app)
    app.selectbox(key="view:model").set_value("minilm").run()
    assert app.query_params["text"] == "a sentence of mine"
    other = visit(**link)  # another visitor with the link, on the same server
    assert_well(other)
    assert "post-norm, 40 steps" in written(other)


def wait_for_first_steps(group: training.RunGroup) -> None:
    """Wait until every run has learned something: only then is there a model to open."""
    deadline = time.monotonic() + PATIENCE
    while not all(run.step for run in group.poll().values()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow("trains a model")
def test_stop_continue_and_leaving_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "HEARTBEAT", 1.0)
    app = visit("training", **TINY | {"steps": "3000", "train_layers": "4"})
    press(app, "Train")
    assert "Stop" in labels(app)
    group = runs_of(app)
    wait_for_first_steps(group)
    press(app, "Stop")
    wait_until_still(app)
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
    for name, view in runs_of(app).poll().items():
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
    placements = [one for one in app.get("button_group") if one.label == "Norm placement"]
    assert [one.key for one in placements] == ["view:train_norm"]
    app.segmented_control(key="view:train_norm").set_value([]).run()
    assert app.button(key="train").disabled


def test_a_recorded_run_is_shown_first() -> None:
    app = visit("training")
    assert_well(app)
    assert "training_run" not in app.query_params
    header, arrays = picture(app)
    views = recorded.recorded().views
    assert [run["name"] for run in header["runs"]] == list(views)
    assert not header["channel"]
    np.testing.assert_array_equal(arrays["1.maps"], [frame.sample[0, 0] for frame in views["post-norm"].frames])
    # The two placements differ, and the first preset would train them again.
    accuracy = {name: view.curve[-1]["accuracy"] for name, view in views.items()}
    assert accuracy["pre-norm"] > 5 * accuracy["post-norm"]
    assert "Without warm-up: **pre-norm** over 99% right from step" in written(app)
    assert f"**post-norm** {accuracy['post-norm']:.1%} right" in written(app)
    names = {id(param): name for name, param in vars(training.Params).items()}
    preset = {names[id(param)]: value for param, value in next(iter(training.PRESETS.values())).items()}
    made = training.described(dataclasses.replace(training.Params(), **preset))
    assert [vars(one) | {"frames": 20} for one in made.values()] == [vars(view.settings) for view in views.values()]
    app.toggle(key="view:watch_mean").set_value(True).run()
    np.testing.assert_array_equal(picture(app)[1]["0.maps"], [frame.mean[0, 0] for frame in views["pre-norm"].frames])


def test_train_runs_what_the_page_shows() -> None:
    app = visit("training")
    assert not dict(app.query_params), "what nobody chose is not in the address"
    assert app.number_input(key="view:train_layers").value == recorded.DEEP["n_layers"]
    app.button(key="train").click().run()
    began = {name: vars(view.settings) for name, view in runs_of(app).poll().items()}
    press(app, "Stop")
    shown = {name: vars(view.settings) for name, view in recorded.recorded().views.items()}
    assert {name: {**one, "frames": 0} for name, one in began.items()} == {
        name: {**one, "frames": 0} for name, one in shown.items()
    }
    assert app.query_params["train_layers"] == str(recorded.DEEP["n_layers"]), "the link of runs has their settings"
    wait_until_still(app)


def test_settings_that_a_link_or_a_person_chose_stay() -> None:
    assert visit("training", steps="40").number_input(key="view:train_layers").value == 1
    app = visit("training")
    app.number_input(key="view:train_layers").set_value(1).run()
    assert app.number_input(key="view:train_layers").value == 1
    again = visit("training", **dict(app.query_params))
    assert again.number_input(key="view:train_layers").value == 1


def test_an_experiment_starts_with_one_click_and_a_task_brings_its_sizes() -> None:
    app = visit("training", length="9")
    app.selectbox(key="view:task").set_value("brackets").run()
    assert app.query_params["train_layers"] == "2"
    press(app, "12 layers")
    assert_well(app)
    assert app.query_params["warm"] == "without"
    settings = [view.settings for view in runs_of(app).poll().values()]
    assert {(one.task, one.n_layers, one.warmup_steps, one.length) for one in settings} == {("reverse", 12, 0, 16)}
    first = app.query_params["training_run"]
    press(app, "Reverse")  # stops the runs before
    assert "warm" not in app.query_params
    assert app.query_params["training_run"] != first
    press(app, "Stop")
    wait_until_still(app)
    deadline = time.monotonic() + PATIENCE
    while own_threads():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_runs_survive_a_reload_and_nobody_else_sees_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "HEARTBEAT", PATIENCE)  # a reload may take long here
    app = visit("training", **TINY | {"steps": "3000", "train_norm": "post"})
    press(app, "Train")
    link = dict(app.query_params)
    again = visit("training", **link)  # a reload is a new session with the same address
    assert "Stop" in labels(again)
    assert runs_of(again) is runs_of(app)
    assert "training_run" not in visit("training").query_params
    press(again, "Stop")
    wait_until_still(app)
    status = picture(app)[0]["runs"][0]["status"]
    assert picture(visit("training", **link))[0]["runs"][0]["status"] == status
    gone = visit("training", **link | {"training_run": "nosuchrun"})
    assert not gone.exception
    assert noted(gone, "history")
    assert not picture(gone)[0]["channel"]


def test_the_channel_gives_new_numbers_only_and_refuses_others() -> None:
    app = visit("training", **TINY | {"train_norm": "post"})
    press(app, "Train")
    wait_until_still(app)
    identity = app.query_params["training_run"]
    whole = picture(app)[1]
    query = {"layer": "0", "head": "0", "mean": "0", "seen": "30,1,3"}
    answer = live.answer(identity, query)
    assert answer is not None
    header, new = unpack(answer)
    assert not header["runs"][0]["active"]
    for name, start in {"losses": 30, "points": 1, "steps": 3, "maps": 3, "predicted": 3, "rows": 3}.items():
        np.testing.assert_array_equal(new[f"0.{name}"], whole[f"0.{name}"][start:])
    assert live.answer("nosuchrun", query) is None
    for wrong in ({"seen": "1,2"}, {"seen": "a,b,c"}, {"seen": "-1,0,0"}, {"layer": "7"}, {"head": ""}):
        with pytest.raises(ConfigError):
            live.answer(identity, query | wrong)
    with pytest.raises(ConfigError):
        live.answer(identity, {})


@pytest.mark.slow("trains several models")
def test_the_server_keeps_the_newest_runs_and_stops_those_without_room(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = ByteCache(1, training._GROUPS._on_evict)
    monkeypatch.setattr(training, "_GROUPS", limit)
    first = visit("training", **TINY | {"steps": "3000", "train_norm": "post"})
    press(first, "Train")
    group = runs_of(first)
    other = visit("training", **TINY | {"train_norm": "post"})
    press(other, "Train")
    assert training.of_id(first.query_params["training_run"]) is None
    assert group.by_hand
    wait_until_still(other)
    assert len(limit._entries) == 1


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
    assert app.title[0].value == "Heads"
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


def test_the_block_of_each_year_is_shown_and_trains_with_five_seeds() -> None:
    app = visit("training", train_part="history", train_history="BERT 2018,EuroBERT 2025")
    assert_well(app)
    blocks = [one.proto.body for one in app.get("html") if "<section" in one.proto.body]
    assert len(blocks) == 2
    assert "RMSNorm" not in blocks[0]
    assert "once" in blocks[0], "learned positions are added once, below the layer"
    assert "once" not in blocks[1], "rotary positions act in the attention"
    assert "Q and K" in blocks[1]
    assert blocks[1].count("RMSNorm") == 2
    said = written(app)
    changed = said.index("FFN GELU → **SwiGLU**")
    assert "norm placement post → **pre**" in said
    assert changed < said.index("blocks learn it"), "first what changed, then what it does"
    app.button(key="train-history").click().run()
    assert_well(app)
    group = runs_of(app)
    views = group.poll()
    assert len(views) == 10
    header, _ = picture(app)
    assert [run["name"] for run in header["runs"]] == ["BERT 2018", "EuroBERT 2025"]
    for run in group.runs.values():
        run.stop()
    assert {view.settings.trial for view in views.values()} == set(range(5))


def test_switches_make_a_run_for_each_combination() -> None:
    params = dataclasses.replace(
        training.Params(), norms=["sandwich"], kinds=["LayerNorm", "RMSNorm"], attention=["gate"], contrast=True
    )
    made = training.described(params)
    assert list(made) == [
        "sandwich norms, LayerNorm, full attention",
        "sandwich norms, LayerNorm, with gate",
        "sandwich norms, RMSNorm, full attention",
        "sandwich norms, RMSNorm, with gate",
    ]
    assert all(one.config().output_norms for one in made.values())
    assert [one.config().output_gate for one in made.values()] == [False, True] * 2


def test_the_page_norms_names_the_norm_that_a_model_has() -> None:
    app = visit("training", **TINY | {"train_norm": "pre", "train_norm_kind": "RMSNorm", "train_attention": "sink"})
    press(app, "Train")
    wait_until_still(app)
    app.button(key="open-pre-norm").click().run()
    app.switch_page("pages/norms/page.py").run()
    assert_well(app)
    assert "RMSNorms" in written(app)
    assert "root mean square 1" in written(app)
    assert not [one.label for one in app.select_slider if "LayerNorm" in one.label]
