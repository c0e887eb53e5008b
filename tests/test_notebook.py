"""`encoder.show` and saved pages without a browser: what the kernel answers, and what happens without anywidget."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import traitlets

import encoder
from encoder import EncoderError, export
from encoder.export import notebook
from encoder.export.notebook import choices_of
from tests.test_components import unpack


@pytest.fixture(scope="module")
def trace() -> encoder.Trace:
    return encoder.load("minilm", device="cpu").trace("The cat sat on the mat.")


def test_a_trait_draws_the_layer_of_the_trace(trace: encoder.Trace) -> None:
    widget = encoder.show(trace, layer=2, head=3)
    widget.layer = 4
    header, arrays = unpack(widget.block)
    assert (header["layer"], header["head"]) == (4, 3)
    assert arrays["weights"] == pytest.approx(trace.attention(4, 3).numpy(), abs=1e-6)
    assert widget.block == export.model(trace, 4, 3).block()  # the bytes of the app


def test_a_choice_that_does_not_exist_is_taken_back(trace: encoder.Trace) -> None:
    widget = encoder.show(trace, layer=2)
    before = widget.block
    with pytest.raises(EncoderError, match="99"):
        widget.layer = 99
    assert (widget.layer, widget.block) == (2, before)
    with pytest.raises(traitlets.TraitError):
        widget.head = "first"


def test_a_click_reaches_the_traits_and_whatever_else_does_not(trace: encoder.Trace) -> None:
    widget = encoder.show(trace, layer=2, head=3)
    seen: list[tuple[str, object]] = []
    widget.observe(lambda change: seen.append((change["name"], change["new"])), names=["layer", "head", "query", "key"])
    widget._handle_custom_msg({"name": "open", "event": {"layer": 5, "head": 1, "id": 7}}, [])
    widget._handle_custom_msg({"name": "select", "event": {"query": 2, "key": None, "first": None}}, [])
    assert dict(seen) == {"layer": 5, "head": 1, "query": 2}
    drawn = widget.block
    for message in (None, [], {"event": 3}, {"event": {"layer": -1, "head": True, "query": "2", "part": "engine"}}):
        widget._handle_custom_msg(message, [])
    assert widget.block == drawn
    widget._handle_custom_msg({"name": "part", "event": {"part": "softmax", "query": 2, "key": 1, "check": True}}, [])
    header, _ = unpack(widget.block)
    assert header["part"] == "softmax"
    assert header["parts"]["softmax"]["checks"]
    assert all(agrees for *_, agrees, _ in header["parts"]["softmax"]["checks"])
    widget._handle_custom_msg({"name": "switch", "event": {"name": "scaled", "on": False}}, [])
    assert unpack(widget.block)[0]["options"][0]["on"] is False


def test_lines_tell_their_first_query() -> None:
    assert choices_of({"event": {"queries": [3, 5], "keys": [], "id": 1}}) == {"query": 3, "key": None}
    assert choices_of({"event": {"queries": "all"}}) == {"query": None, "key": None}


@pytest.mark.parametrize("name", ["lines", "map", "text", "grid", "model"])
def test_a_view_of_a_head_has_the_bytes_of_its_picture(trace: encoder.Trace, name: str, tmp_path: Path) -> None:
    make = {
        "lines": lambda: export.lines(trace, [(0, 2)]),
        "map": lambda: export.map(trace, 0, 2),
        "text": lambda: export.text(trace, 0, 2, selected=[3]),
        "grid": lambda: export.grid(trace, 0, 2),
        "model": lambda: export.model(trace, 0, 2),
    }
    view = make[name]()
    picture = notebook.picture_of(view)
    widget = encoder.show(view)
    assert (widget.kind, widget.block) == (picture.kind, picture.block())
    assert "<iframe" in picture._repr_html_()
    page = export.save_html(view, tmp_path / "view.html").read_text(encoding="utf-8")
    assert picture._data() in page
    assert "http" not in page.split("<script>")[0].replace("http-equiv", "")
    with pytest.raises(EncoderError, match="pooling"):
        encoder.show(view, pooling="mean")


def test_the_grid_has_every_heads_map(trace: encoder.Trace) -> None:
    picture = export.grid(trace, 1, 2)
    n = trace.n_tokens
    assert picture.arrays["thumbnails"].shape == (6, 12, n, n)
    assert picture.header["selected"] == [1, 2]
    expected = (trace.attention(1, 2) * 255).round().numpy()
    assert picture.arrays["thumbnails"][1, 2] == pytest.approx(expected, abs=1)


def test_a_saved_page_holds_every_head_or_those_of_one_row_and_column(
    trace: encoder.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = trace.save_html(tmp_path / "all.html", 3, 1).read_text(encoding="utf-8")
    assert page.count("<i hidden data-place=") == 72
    monkeypatch.setattr("encoder.export.saved.MOST_BYTES", 100_000)
    page = trace.save_html(tmp_path / "some.html", 3, 1).read_text(encoding="utf-8")
    assert page.count("<i hidden data-place=") == 6 + 12 - 1
    with pytest.raises(encoder.SaveError, match="no-folder"):
        trace.save_html(tmp_path / "no-folder" / "some.html")
    with pytest.raises(EncoderError, match="layer 9"):
        trace.save_html(tmp_path / "none.html", 9)


def test_without_anywidget_one_sentence_says_what_to_install(
    trace: encoder.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    notebook._widget_class.cache_clear()
    try:
        with pytest.raises(EncoderError, match=r"encoderscope\[notebook\]"):
            encoder.show(trace)
    finally:
        notebook._widget_class.cache_clear()
    with pytest.raises(EncoderError, match="int"):
        notebook.picture_of(3)  # type: ignore[arg-type]
