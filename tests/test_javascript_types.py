"""JavaScript knows headers and events by the types of Python, and these types are what Python sends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deno
import numpy as np
import plotly.graph_objects as go
import pytest
import streamlit as st

import encoder
from encoder.drawing import wire
from encoder.drawing.headers import FigureHeader, GridHeader, LinesHeader, ModelHeader, TextHeader
from encoder.drawing.picture import attention_lines, figure_picture, shaded_text
from encoder.explain import Place
from encoder.explain.by_hand import Inputs
from encoder.inputs import spoken_digits
from encoder.views.grid import grid
from encoder.views.model_parts import with_parts
from encoder.views.model_picture import model_picture
from pages.components import (
    beam_tree,
    by_hand,
    copy_link,
    curves,
    draw_boxes,
    draw_digit,
    find,
    gesture,
    head_grid,
    headers,
    patch_map,
    rooms,
    row_sketch,
    store,
)
from pages.components import plot as draw_plot
from pages.core.frame import finding
from pages.teaching.lessons.library import look_of
from pages.teaching.questions import gestures, read_question
from tests import javascript_types
from tests.conftest import ROOT
from tests.typed import mismatches

WRONG = """
/** @extends {Drawing<ModelHeader, Sent<ModelEvent>>} */
export class Wrong extends Drawing {
  right() {
    return this.header.labels.length + this.header.first;
  }

  wrong() {
    this.send("select", { quary: 1 });
    return this.header.lables;
  }
}
"""


def test_the_types_are_those_of_python() -> None:
    message = "The types have changed: run `python -m tests.javascript_types`."
    assert javascript_types.FILE.read_text(encoding="utf-8") == javascript_types.written(), message


def test_a_wrong_name_in_a_header_or_an_event_is_found(tmp_path: Path) -> None:
    script = tmp_path / "wrong.js"
    shared = (ROOT / "encoder" / "drawing" / "shared.js").as_uri()
    script.write_text(f"import {{ Drawing }} from {json.dumps(shared)};\n{WRONG}", encoding="utf-8")
    found = checked(script, tmp_path)
    lines = WRONG.splitlines()
    assert {lines[number - 2] for number in found} == {line for line in lines if "quary" in line or "lables" in line}


def checked(script: Path, folder: Path) -> set[int]:
    """The lines in which `deno check` finds errors, by the settings of the project."""
    done = subprocess.run(
        [deno.find_deno_bin(), "check", "--quiet", "--no-remote", "--no-npm", "--config", ROOT / "deno.json", script],
        env={**os.environ, "DENO_DIR": str(folder / "deno"), "DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode, "nothing was found"
    return {int(line) for line in re.findall(rf"{re.escape(script.as_uri())}:(\d+):", done.stderr)}


def test_every_module_of_the_product_is_checked() -> None:
    settings = json.loads((ROOT / "deno.json").read_text(encoding="utf-8"))
    assert settings["compilerOptions"]["checkJs"] is True
    assert re.search(r"^\t\$\(DENO\) check .* encoder pages$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for path in (path for folder in ("encoder", "pages") for path in ROOT.glob(f"{folder}/**/*.js")):
        assert not re.search(r"@ts-(nocheck|ignore|expect-error)", path.read_text(encoding="utf-8")), path


# ---- what Python sends ----


def test_the_headers_of_views_have_their_types() -> None:
    trace = encoder.load("minilm", device="cpu").trace("The cat sat")
    weights, labels = trace.attention(0, 0).numpy(), list(trace.labels)
    units = range(len(labels))
    pictures = {
        LinesHeader: attention_lines(weights, labels, alt="", names=([f"{one}!" for one in labels], labels)),
        TextHeader: shaded_text(
            [[(one, at) for at, one in enumerate(labels)]],
            weights[0],
            labels=labels,
            rows=units,
            columns=units,
            alt="",
        ),
        FigureHeader: figure_picture(go.Figure(go.Heatmap(z=weights)), name="", places=[[0], [0]]),
        GridHeader: grid(trace, 0, 0),
    }
    for kind, picture in pictures.items():
        assert mismatches(picture.header, kind) == []


@pytest.mark.parametrize("name", ["minilm", "dates-post", "digits-pre", "spoken-digits"])
def test_the_header_of_every_kind_of_model_has_its_type(name: str) -> None:
    model = encoder.load(name, device="cpu")
    given = {
        "minilm": "The cat sat",
        "dates-post": "May 3",
        "digits-pre": np.zeros((28, 28), dtype=np.uint8),
        "spoken-digits": next(iter(spoken_digits.examples().values())).sound,
    }[name]
    trace = model.trace(given)
    place = Place(layer=0, head=1, query=1, key=1)
    picture = model_picture(trace, 0, 1, 1, 1, first=0, given=None if isinstance(given, str) else given)
    opened = with_parts(picture, trace.decoder or trace, place, part="softmax", model=model)
    assert opened.header != picture.header
    assert mismatches(opened.header, ModelHeader) == []


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The headers that components send, without a browser."""
    found: list[Any] = []

    def record(header: Any, arrays: Any) -> bytes:
        found.append(header)
        return PACK(header, arrays)

    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(wire, "pack", record)
    for module in [one for name, one in sys.modules.items() if name.startswith("pages.components.")]:
        for name in RENDERERS & vars(module).keys():
            monkeypatch.setattr(module, name, lambda **_: None)
    return found


PACK = wire.pack
RENDERERS = {"_render", "_strip", "_refresh", "_door", "_store", "_kept_text"}
COLOURS = np.zeros((256, 3), dtype=np.uint8)
RUN = curves.CurveRun("a", "red", "dot", "trains", 0.5, 400, True)
SAMPLE = curves.SampleSequence(("a",), ("b",), ("a", "b"), (0,), ("a",))
TASKS = [
    read_question({"kind": "gesture", "gesture": name}).task(look_of({}))  # type: ignore[attr-defined]
    for name in gestures.table()
]
ROOM: dict[str, Any] = {
    "code": "K7", "version": 3, "stale": False, "member": "", "key": "", "desk": True, "asks_class": False,
    "words": "Room K7", "note": "", "timer": 12.5, "spotlight": False, "asks": False, "hidden": False,
    "wall": False,
}  # fmt: skip


def nothing(*_: object) -> None:
    """Takes any event."""


def a_grid() -> None:
    maps = np.zeros((2, 3, 4, 4), dtype=np.uint8)
    head_grid(maps, layers=2, heads=[3, 4, 5], selected=(1, 2), key="grid", alt="", colorscale=COLOURS, order=[(1, 4)])


def a_plot() -> None:
    shared = {"key": "map", "alt": "", "selected": ([1], None), "on_event": nothing}
    draw_plot(go.Figure(go.Heatmap(z=np.eye(3))), together={"key": "both", "name": "one"}, **shared)


def a_patch_map() -> None:
    image, weights = np.zeros((8, 8, 3), dtype=np.uint8), np.eye(2)
    look = {"label": "weight", "names": ["a", "b"], "selected": (0, 1)}
    patch_map.patch_map(image, weights, key="map", alt="", colorscale=COLOURS, **look)


def a_beam_tree() -> None:
    model = encoder.load("dates-post", device="cpu")
    beam_tree.beam_tree(model.generate("May 3", 4, beams=2), key="tree", alt="")


COMPONENTS: list[tuple[Callable[[], object], list[type]]] = [
    (a_grid, [headers.StoredArrays, GridHeader]),
    (a_plot, [headers.PlotHeader]),
    (a_patch_map, [headers.PatchHeader]),
    (a_beam_tree, [headers.BeamHeader]),
    (
        lambda: curves.curves(
            [RUN], [{}], sample=SAMPLE, head="L0 H0", place=(0, 0), colorscale=COLOURS, key="curves", alt=""
        ),
        [headers.CurvesHeader],
    ),
    (lambda: curves.refresh([RUN], [{}], [[0, 0, 0]]), [headers.CurvesRefresh]),
    (lambda: by_hand.by_hand(Inputs(), key="hand", problem=False, on_change=nothing), [headers.ByHandHeader]),
    (lambda: draw_digit.draw_digit(COLOURS[:32, :1], key="digit", on_drawing=nothing), [headers.DigitHeader]),
    (
        lambda: draw_boxes.draw_boxes([("Total", (1, 2, 3, 4))], key="boxes", on_boxes=nothing),
        [headers.BoxesHeader],
    ),
    *(
        (
            lambda task=task: gesture.gesture(task.header, key="gesture", given=task.truth, truth=task.truth),
            [headers.GestureHeader],
        )
        for task in TASKS
    ),
    (lambda: row_sketch.row_sketch(["a", "b"], key="row", question="q", drawn=[0.5, 0.5]), [headers.SketchHeader]),
    (lambda: copy_link.copy_link({"text": "a"}, ["text"], key="link"), [headers.CopyLinkHeader]),
    (lambda: store.kept_text({"a1": "text"}, key="kept"), [headers.KeptTextHeader]),
    (lambda: rooms.room_refresh(3, key="refresh"), [headers.RefreshHeader]),
    (lambda: rooms.room_door(key="door", code="K7", secret="s"), [headers.DoorHeader]),
    (
        lambda: rooms.room_strip(ROOM, [{"name": "end", "label": "End"}], key="strip", on_event=nothing),
        [headers.StripHeader],
    ),
    (lambda: find.find(find.index(list(finding._entries({}))), key="find", on_open=nothing), [headers.FindHeader]),
]


@pytest.mark.parametrize(("draw", "kinds"), COMPONENTS)
def test_a_component_sends_a_header_of_its_type(sent: list[Any], draw: Callable[[], object], kinds: list[type]) -> None:
    draw()
    assert len(sent) >= len(kinds)
    for header, kind in zip(sent[-len(kinds) :], kinds, strict=True):
        assert mismatches(header, kind) == []
