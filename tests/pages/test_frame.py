"""The frame and the Heads page under AppTest: links, odd input, models that cannot be, and what is said about them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import streamlit as st
import torch
from huggingface_hub import constants
from streamlit.navigation.page import StreamlitPage
from streamlit.testing.v1 import AppTest

import encoder
from encoder.maps import entry
from encoder.model.encoder import Encoder
from encoder.run import Run, Text, Untrained
from pages.base.access import visitors
from pages.core.frame import input_row
from pages.core.frame.frame import import_params
from pages.core.stores import cache, model_access
from pages.core.view import view
from pages.core.view.view import FIRST_SENTENCE
from pages.core.widgets import examples
from pages.state.former import FORMER, current, is_former
from pages.state.url_state import state
from tests.conftest import ROOT
from tests.pages.apps import assert_well, exported, noted, numbers, sentences, visit, written

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

ODD_TEXTS = {
    "empty": "",
    "spaces": "     ",
    "one character": "x",
    "emoji": "I ❤️ 🤖👩‍👩‍👧 you",
    "right to left": "القطة جلست على السجادة",
    "Chinese": "猫坐在垫子上。",
    "Markdown and HTML": "<b>bold</b> **stars** $x$ `code` [link](http://example.org) :smile:",
    "control characters": "a\x00b\u202ec\u200bd",
    "repeated": "the the the the",
}


@pytest.fixture(autouse=True)
def one_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)


def test_it_opens_with_real_attention() -> None:
    app = visit()
    assert_well(app)
    assert app.text_area(key="view:text").value == FIRST_SENTENCE
    assert not app.warning
    assert not app.query_params, "a view of nothing but defaults needs no address"


@pytest.mark.sample(3, "another odd text")
@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_odd_input_is_shown_and_kept(text: str) -> None:
    app = visit()
    app.text_area(key="view:text").set_value(text).run()
    assert_well(app)
    assert app.text_area(key="view:text").value == text


def test_a_text_longer_than_the_model_takes_is_cut_and_said_so() -> None:
    text = "attention is all you need " * 800  # 20,800 characters
    app = visit()
    app.text_area(key="view:text").set_value(text).run()
    assert_well(app)
    assert numbers(noted(app, "content_cut")) == [4002, 512, 512]
    assert app.segmented_control(key="view:long").value == "cut"
    assert app.text_area(key="view:text").value == text
    assert "text" not in app.query_params
    assert any("link" in caption.value for caption in app.caption)


def test_nothing_typed_is_said_in_words() -> None:
    app = visit()
    app.text_area(key="view:text").set_value("  ").run()
    assert_well(app)
    assert [box.icon for box in app.info] == [""]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"layer": "999"}, ["layer=999", "0 to 5", "Shown: 5"]),
        ({"head": "99"}, ["head=99", "0 to 11", "Shown: 11"]),
        ({"layer": "two"}, ["layer='two'", "whole number", "Shown: 0"]),
        ({"layer": "-1"}, ["layer='-1'", "Shown: 0"]),
        ({"norm": "middle"}, ["norm='middle'", "trained, pre, post", "Shown: Original"]),
        ({"i": "500"}, ["i=500", "tokens 0 to"]),
        ({"nonsense": "1"}, ["'nonsense'"]),
    ],
)
def test_a_bad_link_falls_back_with_a_note(query: dict[str, str], said: list[str]) -> None:
    app = visit(**query)
    assert_well(app)
    assert all(part in noted(app, "link_off") for part in said)


def test_a_good_link_shows_its_view() -> None:
    app = visit(text="one two three", layer="3", head="7", i="2", j="1", colours="magma", special="zero")
    assert_well(app)
    assert not app.warning
    assert app.text_area(key="view:text").value == "one two three"
    assert app.number_input(key="view:layer").value == 3
    assert app.number_input(key="view:head").value == 7
    assert any("two" in markdown.value and "one" in markdown.value for markdown in app.markdown)


def test_what_is_chosen_goes_into_the_address() -> None:
    app = visit()
    app.number_input(key="view:layer").set_value(4).run()
    app.text_area(key="view:text").set_value("hello there").run()
    assert app.query_params["layer"] == "4"
    assert app.query_params["text"] == "hello there"


@pytest.mark.parametrize(("model", "group"), [("minilm", "text"), ("dates-pre", "dates")])
def test_every_example_is_one_that_the_model_was_trained_on(model: str, group: str) -> None:
    app = visit(model=model)
    offered = examples.read(input_row.__file__, group)
    assert app.selectbox(key="example").options == list(offered)
    for title, values in offered.items():
        app.selectbox(key="example").set_value(title).run()
        assert_well(app)
        assert app.text_area(key="view:text").value == values["text"]


def test_moving_the_norms_of_a_pretrained_model_is_said_plainly_and_undone() -> None:
    app = visit(norm="pre")
    assert_well(app)
    assert not noted(app, "info"), "a box would move the page"
    assert "post-norm" in app.title[0].help
    app.segmented_control(key="view:norm").set_value("trained").run()
    assert not app.title[0].help


@pytest.mark.sample(3, "another untrained encoder")
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "none"])
def test_an_encoder_from_scratch(norm: str, positions: str) -> None:
    app = visit(model="scratch", norm=norm, positions=positions, layers="2", heads="3", width="24", ffn="40")
    assert_well(app)
    assert app.number_input(key="view:head").max == 2


@pytest.mark.parametrize("page", ["model", "heads", "norms", "positions"])
@pytest.mark.parametrize("positions", ["alibi", "bias"])
def test_every_mechanism_of_an_untrained_encoder_is_a_switch(
    page: str, positions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Untrained] = []
    monkeypatch.setattr(view, "untrained", lambda own=view.untrained: made.append(own()) or made[-1])
    app = visit(
        page,
        model="scratch",
        norm="pre",
        positions=positions,
        untrained_norm="rms",
        untrained_sandwich="1",
        untrained_attention="grouped,windows,qk-norm,gate,sink,causal",
        gated="1",
        activation="silu",
        layers="3",
        text="a b c d",
    )
    assert_well(app)
    if page == "norms":
        assert "RMSNorm" in written(app)
    config = made[-1].config()
    assert config.n_kv_heads == 2
    assert (config.qk_norm, config.norm_kind, config.norm_bias) == ("head", "rms", False)
    assert config.output_norms
    assert config.output_gate
    assert config.attention_sinks
    assert config.causal
    assert config.attention_window == (None, 8, 8)
    assert (config.position == "alibi") == (positions == "alibi")


def test_sizes_that_do_not_fit_are_a_sentence() -> None:
    app = visit(model="scratch", width="65", heads="4")
    assert not app.exception
    assert numbers(noted(app, "error")) == [65, 4, 64, 68]
    assert [title.value for title in app.title] == ["Heads"]
    assert app.number_input(key="resting layer").disabled
    assert app.number_input(key="view:width").value == 65
    app.number_input(key="view:width").set_value(64).run()
    assert_well(app)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"width": "12", "heads": "4", "positions": "rotary"}, [3, 8, 16]),
        ({"width": "15", "heads": "3"}, [15, 12, 18]),
        ({"width": "766", "heads": "16", "positions": "none"}, [766, 16, 752, 768]),
    ],
)
def test_other_sizes_that_do_not_fit(settings: dict[str, str], named: list[int]) -> None:
    assert numbers(noted(visit(model="scratch", **settings), "error")) == named


def test_random_weights_are_called_so_on_every_page() -> None:
    for page in (None, "contribution"):
        assert noted(visit(page, model="scratch"), "casino")
    assert not noted(visit(), "casino")


def test_another_model_begins_with_its_own_norms() -> None:
    app = visit()
    app.selectbox(key="view:model").set_value("scratch").run()
    assert app.segmented_control(key="view:norm").value == "post"
    app.selectbox(key="view:model").set_value("minilm").run()
    assert app.segmented_control(key="view:norm").value == "trained"
    assert not sentences(app)


def test_what_the_vocabulary_does_not_know_is_explained() -> None:
    said = noted(visit(text="I ❤️ 🤖 you"), "unknown_document")
    assert all(word in said for word in ("[UNK]", "all-MiniLM-L6-v2", "“🤖”"))


LONG_TEXT = "One day the attention went " * 200 + "and the very last words are these."  # 1,010 tokens


def window_note(app: AppTest) -> list[int]:
    """The numbers of the note on the window: length, most tokens, window, first and last window, its tokens."""
    return numbers(noted(app, "view_carousel").split("processes each")[0])


def test_a_long_text_is_read_window_by_window() -> None:
    app = visit(text=LONG_TEXT)
    assert noted(app, "content_cut")
    app.segmented_control(key="view:long").set_value("windows").run()
    assert_well(app)
    assert app.slider(key="view:window").max == 2
    assert window_note(app) == [1008, 512, 0, 0, 2, 0, 509]
    app.slider(key="view:window").set_value(2).run()
    assert_well(app)
    assert window_note(app) == [1008, 512, 2, 0, 2, 510, 1007]
    assert "these." in noted(app, "view_carousel").replace("\\", "")
    assert app.query_params["long"] == "windows"
    assert app.query_params["window"] == "2"
    app.text_area(key="view:text").set_value("a short one").run()
    assert_well(app)
    assert not [slider for slider in app.slider if slider.key == "view:window"]
    assert not noted(app, "view_carousel")


@pytest.mark.parametrize("page", ["contribution", "norms"])
def test_every_page_shows_the_selected_window(page: str) -> None:
    app = visit(page, text=LONG_TEXT, long="windows", window="2", i="497")
    assert_well(app)
    assert window_note(app)[2:5] == [2, 0, 2]
    if page == "norms":
        assert any("these" in line.value for line in (*app.markdown, *app.caption))


@pytest.mark.slow("traces a long text window by window")
def test_of_a_pair_the_longer_sentence_slides() -> None:
    app = visit(text="Where is it?", pair=LONG_TEXT)
    assert numbers(noted(app, "content_cut")) == [1015, 512, 512]
    app = visit(text="Where is it?", pair=LONG_TEXT, long="windows", window="1")
    assert_well(app)
    assert window_note(app) == [1008, 512, 1, 0, 2, 252, 756]
    names: dict = {}
    exec(exported(app), names)
    assert names["trace"].tokens[:6] == ("[CLS]", "where", "is", "it", "?", "[SEP]")
    assert names["trace"].n_tokens == 512
    app = visit(text=LONG_TEXT, pair=LONG_TEXT, long="windows")
    assert_well(app)
    assert window_note(app)[2:4] == [382, 1008]
    assert window_note(app)[-2:] == [0, 126]


@pytest.mark.slow("traces a long text window by window")
def test_how_far_windows_overlap_is_the_readers_to_choose() -> None:
    query = {"text": LONG_TEXT, "long": "windows", "window": "2"}
    app = visit(**query)
    assert numbers(noted(app, "view_carousel"))[-2:] == [255, 510]
    app.number_input(key="view:stride").set_value(100).run()
    assert_well(app)
    assert numbers(noted(app, "view_carousel"))[2:] == [2, 0, 5, 200, 709, 0, 410, 510]
    names: dict = {}
    exec(exported(app), names)
    assert names["trace"].tokens == cache.trace(Run(input=Text(LONG_TEXT, window=2, stride=100))).tokens
    assert names["trace"].source.offsets[1][0] == names["model"].windows(LONG_TEXT)[0].sentence.offsets[201][0]
    app = visit(**query | {"stride": "510", "window": "1"})
    assert numbers(noted(app, "view_carousel"))[-1] == 0, "positions start at 0, and no overlap is named"
    app = visit(**query | {"stride": "3"})
    assert_well(app)
    assert numbers(noted(app, "link_off")) == [3, 26, 510, 26]


def test_a_window_that_a_text_does_not_have() -> None:
    app = visit(text=LONG_TEXT, long="windows", window="9")
    assert_well(app)
    assert numbers(noted(app, "link_off")) == [9, 0, 2, 2]


@pytest.mark.sample(3, "another error of memory, on another page")
@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB"),
        RuntimeError("MPS backend out of memory (MPS allocated: 17.5 GB)"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 1000 bytes."),
        MemoryError(),
    ],
    ids=["cuda", "mps", "linux", "windows", "python"],
)
@pytest.mark.parametrize("where", ["forward", "page"])
def test_out_of_memory_is_a_sentence_and_the_app_goes_on(
    error: Exception, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    app = visit(text="before it happens")
    with monkeypatch.context() as patched:
        target = (Encoder, "forward") if where == "forward" else (entry, "dense_map")
        patched.setattr(*target, fail)
        cache.forget_traces()
        app.text_area(key="view:text").set_value(f"too much {where} {error!r}").run()
        assert not app.exception
        assert len(app.error) == 1
        assert "memory" in app.error[0].value
        assert "shorter text" in app.error[0].value
    app.text_area(key="view:text").set_value("and on it goes").run()
    assert_well(app)


def test_a_smaller_model_brings_the_layer_into_its_range() -> None:
    app = visit(layer="5", head="11")
    app.selectbox(key="view:model").set_value("scratch").run()
    assert_well(app)
    assert app.number_input(key="view:layer").value == 1
    assert app.number_input(key="view:head").value == 3


def other_model(source: str) -> AppTest:
    app = visit(model="other")
    app.text_input(key="view:source").set_value(source).run()
    assert not app.exception
    assert app.text_input(key="view:source").value == source
    return app


def test_a_folder_that_is_no_checkpoint(tmp_path: Path) -> None:
    assert "config.json" in noted(other_model(str(tmp_path)), "error")


def test_the_operators_folder_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(tmp_path))
    for name in (".", "empty"):
        said = sentences(other_model(name))
        assert "config.json" in said
        assert str(tmp_path) not in said


def test_weights_that_are_no_numbers_are_named(tmp_path: Path) -> None:
    broken = encoder.load("twin-pre", device="cpu")
    with torch.no_grad():
        broken.encoder.block(1).ffn.w_out.bias[3] = float("nan")
    encoder.save(broken, tmp_path / "broken")
    app = other_model(str(tmp_path / "broken"))
    assert "NaN" in noted(app, "error")
    assert len(app.title) == 1
    app.selectbox(key="view:model").set_value("twin-pre").run()
    assert_well(app)


def test_a_pickle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"\x80\x04K\x01.")
    assert "pickle" in sentences(other_model(str(tmp_path / "model.bin"))).lower()


def test_a_hub_id_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    app = other_model("org/tiny")
    assert "org/tiny" in noted(app, "error")
    assert "network" in noted(app, "error")
    assert app.text_area(key="view:text").value == FIRST_SENTENCE


def test_no_name_yet_is_an_invitation() -> None:
    app = visit(model="other")
    assert not app.exception
    assert not app.error
    assert "Hub id" in noted(app, "folder_open")


def test_a_model_that_fails_leaves_the_sentence_alone() -> None:
    app = visit(model="other", text="what I typed")
    assert app.text_area(key="view:text").value == "what I typed"
    app.selectbox(key="view:model").set_value("minilm").run()
    assert_well(app)
    assert app.text_area(key="view:text").value == "what I typed"


def test_a_shared_server_reads_no_folder_that_a_visitor_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors, "for_one_person", lambda: False)
    said = sentences(other_model(str(tmp_path)))
    assert "--models-root" in said
    assert "config.json" not in said, "whether a folder exists must not show"


def test_a_shared_server_offers_the_folders_of_its_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "offered").mkdir()
    monkeypatch.setattr(visitors, "for_one_person", lambda: False)
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(tmp_path / "offered"))
    assert model_access.offered_folders() == []
    said = sentences(other_model("../secret"))
    assert "config.json" not in said
    assert said


def test_a_wrong_value_is_answered_in_the_words_of_the_control() -> None:
    app = visit(norm="sideways", hold="x", text="a")
    assert_well(app)
    assert "one of map" in noted(visit("heads", view="no such"), "link_off")  # the default has no name
    norm, selected = sorted(noted(app, "link_off").splitlines(), reverse=True)
    assert "norm='sideways'" in norm
    assert "Original" in norm
    assert "hold='x'" in selected


@pytest.mark.parametrize("name", [*FORMER, "model"])  # Streamlit shows the first page at "/" only
def test_a_former_address_opens_its_page_with_its_values(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    opened: list[tuple[str, dict[str, str]]] = []

    def open_page(script: str, *, query_params: dict[str, str]) -> None:
        opened.append((script, query_params))
        st.stop()

    def the_former(sections: dict[str, list[StreamlitPage]], **_options: object) -> StreamlitPage:
        return next(page for pages in sections.values() for page in pages if page.url_path == name)

    monkeypatch.setattr(st, "navigation", the_former)
    monkeypatch.setattr(st, "switch_page", open_page)
    app = AppTest.from_file(str(ROOT / "app.py"))
    app.query_params["layer"] = "1"
    app.run()
    now = current({"page": name, "layer": "1"})
    marked = {"start": "1"} if now["page"] == "model" else {}
    assert opened == [(f"pages/{now.pop('page')}/page.py", {**now, **marked})]
    assert now["layer"] == "1"


def test_the_first_step_opens_unless_a_former_address_names_another() -> None:
    assert current({"page": "steps"}) == {"page": "model", "step": "ids"}
    assert current({"page": "forward_pass", "step": "norm", "part": "ffn", "stage": "2"}) == {
        "page": "model",
        "step": "norm",
        "part": "ffn",
    }


def test_a_part_that_is_gone_opens_its_page() -> None:
    view = {"page": "head_types", "layer": "1"}
    assert current({**view, "find": "map", "points": "role"}) == {"page": "heads", "layer": "1", "all_heads": "roles"}


@pytest.mark.parametrize("name", ["head_types", "find"])
def test_head_types_are_a_part_of_heads(name: str) -> None:
    assert current({"page": name}) == {"page": "heads", "all_heads": "roles"}
    assert current({"page": name, "find": "table", "i": "2"}) == {"page": "heads", "i": "2", "all_heads": "table"}
    assert current({"page": "head_atlas"}) == {"page": "heads", "all_heads": "corpus"}
    assert is_former("head_types", {"find": "table"})
    assert not is_former("heads", {"all_heads": "table"})


def test_former_views_name_pages_and_values_that_exist() -> None:
    import_params()
    for name in FORMER:
        view = current({"page": name})
        assert (ROOT / "pages" / view.pop("page") / "page.py").is_file(), name
        assert set(view) <= set(state.params), name
        for value, text in view.items():
            assert state.params[value].parse(text) is not None, (name, value)


def test_a_text_in_the_first_address_opens_the_first_page_and_a_head_opens_heads() -> None:
    assert visit(at_front=True, text="hello world").title[0].value == visit(at_front=True).title[0].value
    for name, value in (("layer", "1"), ("view", "lines"), ("special", "zero")):
        assert visit(at_front=True, text="hello world", **{name: value}).title[0].value == "Heads"


def test_a_page_has_one_name_in_the_bar_its_title_and_its_address() -> None:
    tree = ast.parse((ROOT / "app.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Page"]
    for call in calls:
        folder, title, _, _, *short = (ast.literal_eval(value) for value in call.args)
        address = re.sub(r"[-/ ]", "_", title.lower()).removesuffix("_norm")
        assert not short, title
        assert address == folder or folder == "training", title
    assert visit("by_hand").title[0].value == "By hand"
    assert visit("pre_post", model="twin-pre").title[0].value == "Pre/post-norm"
