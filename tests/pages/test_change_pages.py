"""Pre / post, training, gradients and Fill the blank under AppTest: links, the toggle, live runs, and their numbers."""

from __future__ import annotations

import re
import threading
import time

import pytest
from streamlit.testing.v1 import AppTest

import encoder
from encoder.measure import stream
from encoder.train import gradients, single_file
from encoder.train.loop import TaskRun, TaskSettings
from pages.masked_words import blanks
from pages.training import runs as training
from tests.pages.apps import assert_well, sentences, visit

SCRATCH = {"model": "scratch", "layers": "2", "heads": "2", "width": "16", "ffn": "24"}
TINY = {"length": "5", "symbols": "4", "train_width": "8", "steps": "40"}
PATIENCE = 300  # seconds; to fail, not to measure


def written(app: AppTest) -> str:
    """The page's running text, without Markdown's escapes."""
    texts = [element.value for kind in ("markdown", "caption", "subheader") for element in app.get(kind)]
    return "\n".join(texts).replace("\\", "")


def press(app: AppTest, label: str) -> None:
    next(button for button in app.button if button.label.startswith(label)).click().run()


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def own_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("task-")]


def wait_until_still(app: AppTest) -> None:
    """Look at the page again and again, as a browser does, until no run is at work."""
    deadline = time.monotonic() + PATIENCE
    while "Stop" in labels(app):
        assert time.monotonic() < deadline
        time.sleep(0.1)
        app.run()


# --- side by side -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sides", ["heads", "stream", "curves"])
@pytest.mark.parametrize("model", [{"model": "twin-post"}, SCRATCH, {"model": "minilm"}], ids=["twin", "new", "own"])
def test_side_by_side_opens(sides: str, model: dict[str, str]) -> None:
    app = visit("pre_post", sides=sides, text="the cat sat", **model)
    assert_well(app)
    assert app.query_params["norm"] == "both"
    assert ("Not trained so" in sentences(app)) == (model == {"model": "minilm"})
    assert ("the placements differ most with **12 layers" in written(app)) == (sides == "curves")


def test_the_numbers_of_the_twins() -> None:
    text, layer, head = "the cat sat on the mat", 1, 1
    traces = [encoder.load(f"twin-{placement}", device="cpu").trace(text) for placement in ("pre", "post")]
    found = stream.map_difference(*traces, layer, head)
    row, column = found.largest
    app = visit("pre_post", model="twin-pre", text=text, layer=str(layer), head=str(head))
    assert f"{found.pre[row, column]:.3f} in pre-norm, {found.post[row, column]:.3f} in post-norm" in written(app)
    apart = [stream.head_differences(*traces, each) for each in range(4)]
    worst = max((values.max(), each, int(values.argmax())) for each, values in enumerate(apart))
    assert f"Most of all heads L{worst[1]} H{worst[2]}: {worst[0]:.0%}" in written(app)
    lengths = [stream.measure(trace).length for trace in traces]
    app = visit("pre_post", model="twin-pre", text=text, sides="stream")
    assert f"{lengths[0][0]:.3g} after the embeddings, {lengths[0][-1]:.3g} after the last layer" in written(app)
    assert f"{lengths[1][0]:.3g} becomes {lengths[1][-1]:.3g}" in written(app)


def test_any_text_side_by_side() -> None:
    for text in ("x", "", "the the القطة جلست", "**b** $x$ `c`", "a b " * 200):
        assert_well(visit("pre_post", text=text, **SCRATCH))


def test_the_toggle_leads_there_and_back() -> None:
    app = visit(text="one two", norm="pre")
    app.sidebar.segmented_control(key="view:norm").set_value("both").run()
    assert app.header[0].value == "Pre-norm vs post-norm"
    app.switch_page("pages/qkv/page.py").run()
    assert_well(app)
    assert app.header[0].value == "Queries, keys, values"
    assert app.query_params["norm"] == "pre"  # what was chosen before
    app.switch_page("pages/pre_post/page.py").run()
    assert app.sidebar.segmented_control(key="view:norm").value == "both"
    app.sidebar.segmented_control(key="view:norm").set_value("post").run()
    assert app.header[0].value == "Attention heads"
    assert app.query_params["norm"] == "post"
    assert app.query_params["text"] == "one two"


def test_a_link_with_both_opens_side_by_side() -> None:
    app = visit(norm="both", **SCRATCH)
    assert_well(app)
    assert app.header[0].value == "Pre-norm vs post-norm"


# --- fill the blank ---------------------------------------------------------------------------------------------------


def test_random_weights_are_not_said_to_be_trained_for_anything() -> None:
    app = visit("masked_words", text="the [MASK] sat", model="scratch")
    assert "no masked-word head: it was never trained to name words" in sentences(app)


def test_a_model_without_a_head_says_so_and_offers_the_twins() -> None:
    app = visit("masked_words", text="the [MASK] sat")
    assert "no masked-word head" in sentences(app)
    press(app, "Use the twins")
    assert_well(app)
    assert app.query_params["model"] == "twin-pre"
    assert "expects" in written(app)


def test_the_twins_have_titles_in_the_sidebar() -> None:
    app = visit("masked_words", model="twin-post", text="the [MASK] sat")
    chosen = app.sidebar.selectbox(key="view:model")
    assert chosen.value == "twin-post"
    assert {"Twin, pre-norm", "Twin, post-norm"} <= set(chosen.options)
    assert app.query_params["model"] == "twin-post"


def test_both_twins_fill_the_blank() -> None:
    text = "the [MASK] of a country"
    app = visit("masked_words", model="twin-post", text=text, top="3")
    for name in ("twin-pre", "twin-post"):
        model = encoder.load(name, device="cpu")
        entry = model.predict_masked(model.trace(text), 3)[0]
        assert f"{name} expects “{entry.tokens[0]}” with {entry.probabilities[0]:.3f}" in written(app)
        assert f"{sum(entry.probabilities):.1%} of the probability" in written(app)


def test_a_word_is_hidden_and_put_back() -> None:
    text = "The cat sat on the mat."
    app = visit("masked_words", model="twin-pre", text=text)
    assert "put [MASK] in the place" in sentences(app)
    pills = next(group for group in app.get("button_group") if group.key.startswith("hide:"))
    assert pills.options == ["The", "cat", "sat", "on", "the", "mat", "."]
    pills.set_value(1).run()
    assert app.query_params["text"] == "The [MASK] sat on the mat."
    model = encoder.load("twin-pre", device="cpu")
    entry = model.predict_masked(model.trace("The [MASK] sat on the mat."), 8_000)[0]
    rank = entry.tokens.index("cat")
    assert f"“cat”, has rank {rank + 1:,} with {entry.probabilities[rank]:.4f} in twin-pre" in written(app)
    pills = next(group for group in app.get("button_group") if group.key.startswith("hide:"))
    assert "[MASK]" not in pills.options
    pills.set_value(4).run()  # "mat": the cat comes back
    assert app.query_params["text"] == "The cat sat on the [MASK]."
    press(app, "Put “mat” back")
    assert app.query_params["text"] == text


def test_words_that_can_be_hidden() -> None:
    model = encoder.load("twin-pre", device="cpu")
    text = "Unbelievably, a [MASK] 😀"
    found = blanks.words(model.trace(text), "[MASK]")
    assert [word.text for word in found][:3] == ["Unbelievably", ",", "a"]
    assert found[0].pieces > 1
    assert blanks.hide(text, found[2], "[MASK]") == "Unbelievably, [MASK] [MASK] 😀"
    assert [word.text for word in blanks.words(model.trace("a b", "c d"), "[MASK]")] == ["a", "b"]


def test_several_blanks_and_one_that_was_cut() -> None:
    app = visit("masked_words", model="twin-pre", text="a [MASK] and a [MASK]")
    assert_well(app)
    assert "Blank 2 (token 5)" in written(app)
    app = visit("masked_words", model="twin-pre", text="word " * 200 + "[MASK]")
    assert_well(app)
    assert "no [MASK]" in sentences(app)
    app = visit("masked_words", model="twin-pre", text="[MASK] " * 30)
    assert_well(app)
    assert "30 blanks" in sentences(app)


# --- gradients --------------------------------------------------------------------------------------------------------


def test_gradients_are_measured_with_the_slope_in_words() -> None:
    app = visit("gradients", grad_width="32", grad_depths="2,6", grad_seeds="2")
    assert_well(app)
    found = list(gradients.measure_all((2, 6), (0, 1), gradients.Setting(d_model=32)))
    for placement in ("pre", "post"):
        slope = gradients.fit_slope(found, placement)
        assert slope is not None
        assert f"{placement}-norm L^({slope.slope:+.2f})".replace("-0", "−0").replace("(-", "(−") in written(app)
    rows = gradients.to_frame(found)
    post = rows[(rows.placement == "post") & (rows.depth == 6)].groupby("layer").squared_norm.mean()
    assert f"{post.min():.2f} to {post.max():.2f}" in written(app)
    before = gradients.measure
    gradients.measure = None  # type: ignore[assignment]
    try:
        app.segmented_control(key="gradients-one-depth").set_value(2).run()  # nothing is measured twice
    finally:
        gradients.measure = before
    assert_well(app)
    assert app.query_params["grad_depth"] == "2"


def test_gradients_of_a_real_encoder_and_of_no_depth() -> None:
    real = {"grad_setting": "real", "grad_width": "32", "grad_heads": "4"}
    app = visit("gradients", grad_depths="2", grad_seeds="1", **real)
    assert_well(app)
    assert "Choose a second depth" in written(app)
    assert "Lemma 2 is about the theory's setting" in written(app)
    app.number_input(key="view:grad_heads").set_value(5).run()
    assert "Width 32 cannot be split among 5 heads. Choose 1, 2, 4, 8 or 16 heads." in sentences(app)
    app.number_input(key="view:grad_heads").set_value(4)
    app.segmented_control(key="view:grad_depths").set_value([]).run()
    assert "No depth is chosen" in sentences(app)
    again = visit("gradients", grad_depths="", **real)  # the address of that view is that view
    assert "No depth is chosen" in sentences(again)
    assert "The link asks" not in sentences(again)


# --- training ---------------------------------------------------------------------------------------------------------


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
    assert "no safetensors file" in sentences(app)
    assert not app.exception


def test_a_link_to_a_model_that_is_gone() -> None:
    app = visit(model="trained", run="nosuchmodel")
    assert not app.exception
    assert "no longer kept" in sentences(app)
    app = visit(model="trained")
    assert "no longer kept" in sentences(app)
