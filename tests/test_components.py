"""The Python side of the drawing components: what travels to the browser, and what comes back."""

from __future__ import annotations

import datetime
import gzip
import itertools
import json
import re
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from plotly.offline import get_plotlyjs_version
from streamlit.testing.v1 import AppTest

from encoder import figures
from encoder.drawing import plotly_js, wire
from encoder.drawing.javascript import SHARED, joined
from encoder.figures.colours import HEADS
from pages.components import assets, events, head_grid
from pages.components.head_grid import BAR, MARK_ROOM, _room
from pages.components.plot import _message
from tests.conftest import ROOT
from tests.run_javascript import evaluated

# ---- wire ----


def unpack(block: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a block, as the browser reads them."""
    (length,) = struct.unpack_from("<I", block)
    header = json.loads(block[4 : 4 + length])
    body = memoryview(block)[4 + length :]
    arrays = {}
    for name, entry in header.pop("arrays").items():
        dtype = np.dtype(entry["dtype"]).newbyteorder("<")
        count = int(np.prod(entry["shape"], dtype=np.int64))
        arrays[name] = np.frombuffer(body, dtype, count, entry["offset"]).reshape(entry["shape"])
    return header, arrays


@pytest.mark.parametrize("dtype", wire.DTYPES)
def test_arrays_come_back_as_they_went(dtype: str) -> None:
    rng = np.random.default_rng(3)
    arrays = {
        f"{shape}": rng.integers(0, 200, size=shape).astype(dtype) for shape in [(1,), (3, 5), (2, 3, 7), (0, 4), (11,)]
    }
    header, back = unpack(wire.pack({"name": "קטה 🎉", "nested": {"a": [1, None, 0.5]}}, arrays))
    assert header == {"name": "קטה 🎉", "nested": {"a": [1, None, 0.5]}}
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)


@pytest.mark.parametrize("padding", range(9))
def test_every_buffer_starts_where_a_typed_array_can(padding: int) -> None:
    block = wire.pack({"x": "y" * padding}, {"a": np.ones(3, np.uint8), "b": np.ones(5, np.float64)})
    (length,) = struct.unpack_from("<I", block)
    assert (4 + length) % 8 == 0
    assert len(block) % 8 == 0
    table = json.loads(block[4 : 4 + length])["arrays"]
    assert [entry["offset"] % 8 for entry in table.values()] == [0, 0]


def test_a_strided_and_a_big_endian_array_are_put_in_order() -> None:
    array = np.arange(24, dtype=">f4").reshape(4, 6)[::2, ::-3]
    _, back = unpack(wire.pack({}, {"a": array}))
    np.testing.assert_array_equal(back["a"], array)


@pytest.mark.parametrize("dtype", ["float16", "int64", "bool", "complex64"])
def test_a_dtype_that_the_browser_has_not_is_refused(dtype: str) -> None:
    with pytest.raises(TypeError, match=rf"'weights'.* {dtype}\b.* float32"):
        wire.pack({}, {"weights": np.zeros(2, dtype)})


def test_a_header_that_json_cannot_say_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        wire.pack({"x": float("nan")}, {})
    with pytest.raises(ValueError, match="'arrays'"):
        wire.pack({"arrays": 1}, {})


def test_drawings_that_are_joined_share_no_name() -> None:
    """A report and a notebook have all drawings in one scope."""
    declared = re.compile(r"^(?:export )?(?:async )?(?:const|let|class|function) (?:\[([^\]]*)\]|(\w+))", re.MULTILINE)
    names = [
        name.strip()
        for path in SHARED.glob("*.js")
        for found in declared.findall(path.read_text(encoding="utf-8"))
        for name in (found[1] or found[0]).split(",")
    ]
    assert [name for name in set(names) if names.count(name) > 1] == []
    assert "ModelView" in names


# ---- a figure on its way to the browser ----


def figure_of(message: tuple[dict, dict[str, np.ndarray]]) -> tuple[dict, dict[str, np.ndarray]]:
    """The figure after the wire, which also proves that it can travel."""
    header, arrays = unpack(wire.pack(*message))
    return header["figure"], arrays


def test_a_figures_numbers_travel_as_bytes_and_its_words_as_json() -> None:
    z = np.linspace(0, 1, 12).reshape(3, 4)
    heatmap = go.Heatmap(z=z, x=np.arange(4), text=np.array([["a", "<b>", "c", "d"]] * 3))
    figure, arrays = figure_of(_message(go.Figure([heatmap, go.Scatter(x=[0.5], y=np.array([0.1]))]), None))
    assert figure["data"][0]["z"] == {"$array": "data.0.z"}
    assert arrays["data.0.z"].dtype == np.float32
    np.testing.assert_allclose(arrays["data.0.z"], z, rtol=1e-7)
    assert figure["data"][0]["text"][0] == ["a", "<b>", "c", "d"]
    assert arrays["data.0.x"].dtype == np.int32
    assert arrays["data.1.y"].dtype == np.float64  # a curve keeps its digits
    assert arrays["data.1.y"][0] == 0.1


def test_what_json_lacks_is_converted_or_refused() -> None:
    figure = go.Figure(go.Scatter(x=[datetime.date(2024, 2, 29)], y=np.array([True]), customdata=[[float("nan")]]))
    figure.update_layout(meta={"large": np.array([2**40]), "scalar": np.float32(0.5), "zero": np.array(3)})
    sent, arrays = figure_of(_message(figure, None))
    assert sent["data"][0]["x"] == ["2024-02-29"]
    assert sent["data"][0]["y"] == [True]
    assert sent["data"][0]["customdata"] == [[None]]
    assert sent["layout"]["meta"] == {"large": [2**40], "scalar": 0.5, "zero": 3}
    assert not arrays
    with pytest.raises(TypeError, match=r"layout\.meta\.odd\b.* object\b"):
        _message(go.Figure(layout={"meta": {"odd": object()}}), None)


@pytest.mark.parametrize("log", [False, True])
def test_a_plain_figure_is_sent_as_plotlys_own(log: bool):
    weights = np.random.default_rng(0).dirichlet(np.ones(5), 5)
    look = {"selected": (1, [0, 3]), "log": log, "title": "a <b>"}
    spec = figures.attention_spec(weights, list("abcde"), **look)
    plain, arrays = figure_of(_message(spec, (1, None)))
    checked, others = figure_of(_message(figures.attention_heatmap(weights, list("abcde"), **look), (1, None)))
    checked["layout"].pop("template")  # an empty one
    assert plain["layout"] == checked["layout"]
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name])
    for trace in plain["data"] + checked["data"]:
        trace.pop("type", None)
    assert plain["data"] == checked["data"]


def test_names_that_are_their_tick_texts_do_not_travel_twice():
    spec = figures.attention_spec(np.eye(4), ["the", "cat", "the", "mat"])
    axis = figure_of(_message(spec, None))[0]["layout"]["xaxis"]
    assert axis["ticktext"] == ["the", "cat", "the", "mat"]
    assert axis["labelalias"] == {"0": "the (0)", "2": "the (2)"}
    assert spec["layout"]["xaxis"]["labelalias"]["1"] == "cat", "what is sent is a copy"


def test_nan_stays_nan_in_an_array() -> None:
    _, arrays = figure_of(_message(go.Figure(go.Heatmap(z=np.array([[np.nan, 1.0]]))), None))
    assert np.isnan(arrays["data.0.z"][0, 0])


def test_plotlys_own_template_makes_way_for_the_theme_and_a_chosen_one_stays() -> None:
    plain, _ = _message(go.Figure(), None)
    assert "template" not in plain["figure"]["layout"]
    chosen, _ = _message(go.Figure(layout={"template": "simple_white"}), None)
    assert chosen["figure"]["layout"]["template"]["layout"]


@pytest.mark.parametrize(
    ("selected", "sent"),
    [
        (None, None),
        ((3, 5), {"i": [3], "j": [5]}),
        ((None, 5), {"i": [], "j": [5]}),
        (([1, 2], np.int64(4)), {"i": [1, 2], "j": [4]}),
        (((0,), None), {"i": [0], "j": []}),
    ],
)
def test_a_selection_may_be_said_in_several_ways(selected: object, sent: object) -> None:
    assert _message(go.Figure(), selected)[0]["selected"] == sent


# ---- events ----


def test_clicks_are_read() -> None:
    assert events.plot_click({"axis": "cell", "i": 3, "j": 0.0, "trace": 1, "shift": True, "id": 9}) == {
        "event": "click",
        "axis": "cell",
        "i": 3,
        "j": 0,
        "trace": 1,
        "shift": True,
    }
    assert events.plot_click({"axis": "x", "j": 7, "trace": 0}) == {
        "event": "click",
        "axis": "x",
        "j": 7,
        "shift": False,
    }
    assert events.plot_click({"axis": "clear", "shift": True}) == {"event": "click", "axis": "clear"}
    assert events.grid_event({"event": "open", "layer": 2, "head": 11, "shift": False}) == {
        "event": "open",
        "layer": 2,
        "head": 11,
        "shift": False,
    }
    assert events.grid_event({"event": "pin", "layer": 0, "head": 0}) == {"event": "pin", "layer": 0, "head": 0}
    assert events.lines_event({"queries": [4, 1, 4], "keys": []}, (5, 5)) == {
        "event": "select",
        "queries": [1, 4],
        "keys": [],
    }
    assert events.lines_event({"queries": [4, 5], "keys": [9]}, (5, 5)) == {
        "event": "select",
        "queries": [4],
        "keys": [],
    }
    assert events.lines_event({"queries": [4, 2], "keys": [9]}, (3, 10)) == {
        "event": "select",
        "queries": [2],
        "keys": [9],
    }
    assert events.text_event({"units": [3, 0, 3, 5]}, 5) == {"event": "select", "units": [0, 3]}


NONSENSE = [None, 7, "cell", [], {}, {"axis": []}, {"axis": "z", "i": 1}, {"event": "delete"}, {"event": {}}]
INDICES = [-1, 1.5, True, "1", None, float("nan"), float("inf"), [1]]


@pytest.mark.parametrize("value", NONSENSE)
def test_nonsense_is_no_event(value: object) -> None:
    assert events.plot_click(value) is None
    assert events.grid_event(value) is None
    assert events.lines_event(value, (5, 5)) is None
    assert events.text_event(value, 5) is None
    assert events.zoom_window(value) is None


@pytest.mark.parametrize("index", INDICES)
def test_a_position_is_a_whole_number_from_zero(index: object) -> None:
    assert events.plot_click({"axis": "cell", "i": index, "j": 0, "trace": 0}) is None
    assert events.plot_click({"axis": "x", "j": index}) is None
    assert events.grid_event({"event": "pin", "layer": 0, "head": index}) is None
    assert events.lines_event({"queries": [0, index], "keys": []}, (5, 5)) is None
    assert events.text_event({"units": [0, index]}, 5) is None


def test_a_zoom_window_runs_from_low_to_high() -> None:
    assert events.zoom_window({"x": [4, 1.5], "y": [0, 2]}) == {"x": [1.5, 4.0], "y": [0.0, 2.0]}
    for side in ([1, 1], [1], [1, None], [1, float("nan")], ["a", "b"], 3):
        assert events.zoom_window({"x": side, "y": [0, 1]}) is None


# ---- plotly.js among the static files ----


def test_plotly_is_written_once_whole_and_named_by_its_content(tmp_path: Path) -> None:
    folder = tmp_path / "static"
    with ThreadPoolExecutor(8) as pool:
        (written,) = set(pool.map(lambda _: assets.write_plotly(folder), range(8)))
    assert [*folder.iterdir()] == [written]  # no half-written file stays
    assert re.fullmatch(r"plotly-[0-9a-f]{16}\.min\.js\.gz", written.name)
    assert gzip.decompress(written.read_bytes()).decode() == plotly_js.plotly_js()
    assert written.stat().st_size < 450_000
    before = written.stat().st_ino
    assert assets.write_plotly(folder).stat().st_ino == before


def test_the_bundle_is_the_plotly_js_that_the_pinned_plotly_expects() -> None:
    wanted = get_plotlyjs_version()
    made_from = json.loads((plotly_js.HERE / "package.json").read_text(encoding="utf-8"))["devDependencies"][
        "plotly.js"
    ]
    assert made_from == wanted, f"Write {wanted} into encoder/drawing/plotly/package.json, then run: make plotly"
    assert plotly_js.plotly_js().startswith(f"/*! plotly.js v{wanted} "), "Run: make plotly"
    licences = (plotly_js.HERE / "LICENSES.txt").read_text(encoding="utf-8")
    assert f"plotly.js {wanted}: MIT" in licences, "Run: make plotly"


def test_a_trace_of_a_kind_outside_the_bundle_is_refused() -> None:
    _message(go.Figure([go.Bar(y=[1]), go.Scatter(y=[1]), go.Heatmap(z=[[1]])]), None)
    with pytest.raises(ValueError, match=r"draws bar, heatmap, scatter, not pie.*make plotly"):
        _message(go.Figure(go.Pie(values=[1, 2])), None)


def test_a_folder_that_cannot_be_written_is_an_oserror(tmp_path: Path) -> None:
    (tmp_path / "static").write_text("a file where the folder should be")
    with pytest.raises(OSError, match="static"):
        assets.write_plotly(tmp_path / "static")


def test_a_script_lies_among_the_static_files_under_what_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assets, "_static_folder", lambda: None)
    whole = assets.script("plot")
    monkeypatch.setattr(assets, "_static_folder", lambda: tmp_path)
    loader = assets.script("plot")
    (file,) = tmp_path.iterdir()
    assert file.read_text(encoding="utf-8") == whole
    assert f'"app/static/{file.name}"' in loader
    assert len(loader) < len(whole) / 10
    assert assets.script("plot") == loader
    (tmp_path / "a file").write_text("where the folder should be")
    monkeypatch.setattr(assets, "_static_folder", lambda: tmp_path / "a file")
    assert assets.script("plot") == whole


SCRIPTS = [path for folder in ("pages", "encoder", "docs") for path in ROOT.glob(f"{folder}/**/*.js")]
IMPORTS = re.compile(r"^import \{\s+([^}]*?),?\s+\} from \"(?:[^\"]*/)?(\w+\.js)\";$", re.MULTILINE)
EXPORT = re.compile(r"^export (?:const|function|async function|class) (?:(\w+)|\[([^\]]+)\])", re.MULTILINE)
TOP_LEVEL = re.compile(r"^(?:export (?:default )?)?(?:const|let|function|async function|class) (\w+)", re.MULTILINE)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_imports_what_another_exports(script: Path) -> None:
    exported = {
        path.name: {
            name
            for found in EXPORT.findall(path.read_text(encoding="utf-8"))
            for name in re.findall(r"\w+", " ".join(found))
        }
        for path in SCRIPTS
    }
    for names, file in IMPORTS.findall(script.read_text(encoding="utf-8")):
        assert set(re.split(r",\s+", names)) <= exported[file]


def test_types_and_comments_are_left_out_and_no_code_is(tmp_path: Path) -> None:
    types = ["/** @type {A} */", "/**", " * @param {C} d", " */"]
    code = ["const a = 1;", "/** @type {B} */ (b).c = 2;", "function e() {", "return 1; // what it says", "}"]
    script = tmp_path / "typed.js"
    script.write_text("\n".join(["// why", types[0], *code[:2], *types[1:], code[2], "  // how", *code[3:], ""]))
    assert joined(script).splitlines() == code


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_joined_scripts_have_no_imports_and_each_name_once(script: Path) -> None:
    assert not re.search(r"^(import|export (?!default))", joined(script), re.MULTILINE)
    parts: list[Path] = []
    waiting = [script]
    while waiting:
        part = waiting.pop()
        if part not in parts:
            parts.append(part)
            imported = {name for _, name in IMPORTS.findall(part.read_text(encoding="utf-8"))}
            waiting += [other for other in SCRIPTS if other.name in imported]
    names = [name for part in parts for name in TOP_LEVEL.findall(part.read_text(encoding="utf-8"))]
    assert sorted(names) == sorted(set(names))


# ---- what the components refuse ----

MAPS = np.zeros((2, 3, 4, 4), np.uint8)
GRID = {
    "layers": 2, "heads": 3, "selected": None, "key": "k", "alt": "a", "colorscale": np.zeros((256, 3), np.uint8),
}  # fmt: skip


def test_the_grid_gets_the_room_that_it_takes(tmp_path: Path) -> None:
    """Nothing below it moves when it is drawn."""
    sizes = list(itertools.product((6, 12), (4, 12), (8, 23), (0, BAR), (0, MARK_ROOM), (240, 365, 635, 1302)))
    views = [
        [{"header": {"layers": [0] * layers, "heads": [0] * heads, "badges": {"L0H0": "x"} if mark else {}},
          "theme": {"scale": 1}, "cells": [],
          "arrays": {"thumbnails": {"shape": [layers, heads, side, side]}, **({"measure": {}} if bar else {})}}, width]
        for layers, heads, side, bar, mark, width in sizes
    ]  # fmt: skip
    expression = f"(globalThis.devicePixelRatio = 1, {json.dumps(views)}.map((one) => gridLayout(...one).height))"
    drawn = evaluated(SHARED / "grid_picture.js", "gridLayout", expression, tmp_path)
    line = 24  # of its legend
    rooms = [_room((layers, heads), side, width, bar + mark) for layers, heads, side, bar, mark, width in sizes]
    assert rooms == [height + line for height in drawn]


@pytest.mark.parametrize(
    ("maps", "changed", "message"),
    [
        (MAPS.astype(np.float32), {}, r"uint8 \[L, H, s, s\], not float32 \[2, 3, 4, 4\]"),
        (MAPS[..., :2], {}, r"not uint8 \[2, 3, 4, 2\]"),
        (MAPS, {"heads": 4}, r"\[2, 3\].* \[2, 4\]"),
        (MAPS, {"colorscale": np.zeros((16, 3))}, r"\b256 colours\b.* \[16, 3\]"),
        (MAPS, {"measure": np.zeros((3, 2))}, r"measure must be \[L, H\] = \[2, 3\], not \[3, 2\]"),
        (MAPS, {"dim": np.zeros(6)}, r"dim must be \[L, H\] = \[2, 3\], not \[6\]"),
    ],
)
def test_the_grid_says_what_does_not_fit(maps: np.ndarray, changed: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        head_grid(maps, **(GRID | changed))


# ---- colours of heads ----


def linear(colour: str) -> np.ndarray:
    """Linear RGB 0..1 of "#rrggbb"."""
    channels = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* (D65) of linear RGB."""
    matrix = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    xyz = np.array(matrix) @ np.clip(rgb, 0, 1) / [0.95047, 1, 1.08883]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def ciede2000(one: np.ndarray, other: np.ndarray) -> float:
    """Colour difference of two L*a*b* colours (Sharma, Wu and Dalal 2005)."""
    mean_chroma = (np.hypot(*one[1:]) + np.hypot(*other[1:])) / 2
    stretch = 1 + 0.5 * (1 - np.sqrt(mean_chroma**7 / (mean_chroma**7 + 25.0**7)))
    light, chroma, hue = (
        np.array(pair)
        for pair in zip(
            *(
                (c[0], np.hypot(stretch * c[1], c[2]), np.degrees(np.arctan2(c[2], stretch * c[1])) % 360)
                for c in (one, other)
            ),
            strict=True,
        )
    )
    turn = (hue[1] - hue[0] + 180) % 360 - 180
    middle = (hue[0] + turn / 2) % 360
    l_mean, c_mean = light.mean(), chroma.mean()
    cosines = [(-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63)]
    t = 1 + sum(weight * np.cos(np.radians(times * middle + shift)) for weight, times, shift in cosines)
    lightness = (light[1] - light[0]) / (1 + 0.015 * (l_mean - 50) ** 2 / np.sqrt(20 + (l_mean - 50) ** 2))
    saturation = (chroma[1] - chroma[0]) / (1 + 0.045 * c_mean)
    angle = 2 * np.sqrt(chroma.prod()) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * c_mean * t)
    rotation = (
        2 * np.sqrt(c_mean**7 / (c_mean**7 + 25.0**7)) * np.sin(np.radians(60 * np.exp(-(((middle - 275) / 25) ** 2))))
    )
    return float(np.sqrt(lightness**2 + saturation**2 + angle**2 - rotation * saturation * angle))


def test_the_colour_difference_is_the_published_one() -> None:
    # Rows 1, 7 and 17 of the test data of Sharma, Wu and Dalal.
    assert ciede2000(np.array([50, 2.6772, -79.7751]), np.array([50, 0, -82.7485])) == pytest.approx(2.0425, abs=1e-4)
    assert ciede2000(np.array([50, 0, 0]), np.array([50, -1, 2])) == pytest.approx(2.3669, abs=1e-4)
    assert ciede2000(np.array([50, 2.5, 0]), np.array([73, 25, -18])) == pytest.approx(27.1492, abs=1e-4)


# Machado, Oliveira and Fernandes 2009, severity 1; and the least difference that HEADS claims.
PROTANOPIA = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
DEUTERANOPIA = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
SIGHTS = {"common": (np.eye(3), 20), "protanopia": (PROTANOPIA, 13), "deuteranopia": (DEUTERANOPIA, 13)}


@pytest.mark.parametrize("sight", SIGHTS)
def test_twelve_heads_keep_apart(sight: str) -> None:
    matrix, least = SIGHTS[sight]
    seen = [lab(np.array(matrix) @ linear(colour)) for colour in HEADS]
    assert len(seen) == 12
    assert min(ciede2000(one, other) for one, other in itertools.combinations(seen, 2)) >= least


def test_heads_are_seen_on_both_grounds() -> None:
    luminance = {colour: float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (*HEADS, "#121217")}
    dark = luminance.pop("#121217")
    for value in luminance.values():
        assert 1.05 / (value + 0.05) >= 2
        assert (value + 0.05) / (dark + 0.05) >= 2.6


# ---- in an app ----


def page() -> None:
    import numpy as np
    import plotly.graph_objects as go
    import streamlit as st

    from encoder.drawing import picture
    from pages import components

    figure = go.Figure(go.Heatmap(z=np.eye(3)))
    components.plot(figure, key="map", alt="A map.", height=300, selected=(0, 1))
    window = components.plot_window("map")
    maps = np.zeros((2, 3, 4, 4), np.uint8)
    components.head_grid(
        maps,
        layers=2,
        heads=3,
        selected=(0, 1),
        key="grid",
        alt="Maps.",
        colorscale=np.zeros((256, 3)),
        measure=np.full((2, 3), np.nan),
        order=[(1, 2)],
        pinned=[(0, 0)],
        badges={"L0H0": "self"},
    )
    components.lines(picture.attention_lines(np.zeros((1, 3, 3)), ["a", "b", "a"], alt="Lines."), key="lines")
    text = picture.shaded_text(
        [[("a", 0), (" ", -1), ("b", 1)]],
        [0.5, float("nan")],
        labels=["a", "b"],
        rows=[0, 1],
        columns=[0, -1],
        alt="Text.",
        weights=np.zeros((2, 1)),
        selected=[1],
    )
    components.text_shade(text, key="text")
    st.text(f"{window}")


def test_components_do_not_disturb_apptest() -> None:
    test = AppTest.from_function(page, default_timeout=60).run()
    assert not test.exception
    assert test.text[0].value == "None"
    assert not test.run().exception
