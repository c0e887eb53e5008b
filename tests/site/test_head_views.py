"""Q K V and Compare of a page in the browser: their numbers, figures and links are those of Python and of the app."""

from __future__ import annotations

import base64
import json
import math
import random
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
import plotly.graph_objects as go
import pytest

import encoder
from encoder import TextEncoder, explain, figures
from encoder.drawing.picture import figure_json
from encoder.figures import difference
from encoder.figures.numbers import three_digits
from encoder.figures.vectors import TITLES
from encoder.live.blanks import blank_figures
from encoder.measure import align
from encoder.measure.map_comparison import TracedHead, compare, least_alike
from encoder.trace.trace import Trace
from encoder.views.options import COMPARED, HEAD_VIEWS, OTHER_SENTENCE
from pages.core.view.place import PlaceParams
from tests.pages.apps import registered
from tests.run_javascript import evaluated
from tests.site.test_engine import BROWSER, CLOSE, close, in_browser
from tests.site.test_kinds import model_of

TEXT = "The animal <b> didn't cross the street because the animal was too tired."
PLACE = {"layer": 1, "head": 2, "query": 3, "key": 5}
#: A view of a head, as the worker asks for it.
VIEW = (
    "await (async () => { const { tokens, trace } = await model.read(given.text, {});"
    " const labels = tokens.map(({ label }) => label); const { state, place, site } = given;"
    " return OF_HEAD[state.view]({ used: model, tokens, trace, labels, place, state: { model: '', off: [], ...state },"
    " site }); })()"
)
SITE = {"figures": blank_figures()}
#: In a page Plotly has no room to choose labels of a short text, and zooms of another text end.
OWN = ("tickmode", "uirevision")


def view(
    folder: Path, name: str, model: str | TextEncoder = "twin-pre", key: int = PLACE["key"], **state: Any
) -> dict[str, Any]:
    """What a view of a model has, on TEXT and PLACE with this key."""
    given = {"text": TEXT, "place": PLACE | {"key": key}, "site": SITE, "state": {"view": name, **state}}
    found = in_browser(model, VIEW, folder, **given)
    assert isinstance(found, dict)
    return found


def is_drawn(browser: Any, figure: go.Figure) -> None:
    """Whether a page has Python's figure: the same words, colours, axes and frames, and close numbers."""
    _same(browser, json.loads(figure_json(figure)), "figure")


def _numbers(packed: dict[str, str]) -> Any:
    """An array as Plotly writes it."""
    flat = np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])
    return flat.reshape([int(size) for size in packed.get("shape", str(flat.size)).split(",")]).tolist()


def _same(browser: Any, ours: Any, where: str) -> None:
    if isinstance(ours, dict) and "bdata" in ours:
        _same(browser, _numbers(ours), where)
    elif isinstance(ours, dict):
        assert set(browser) - set(OWN) == set(ours) - set(OWN), where
        for name in set(ours) - set(OWN):
            _same(browser[name], ours[name], f"{where}.{name}")
    elif isinstance(ours, list):
        assert len(browser) == len(ours), where
        for at, (one, other) in enumerate(zip(browser, ours, strict=True)):
            _same(one, other, f"{where}[{at}]")
    elif isinstance(ours, float) and math.isnan(ours):
        assert browser is None, where
    elif isinstance(ours, float):
        assert abs(browser - ours) <= CLOSE * max(1, abs(ours)), where
    else:
        assert browser == ours, where


def trace_of(text: str = TEXT, placement: str = "pre") -> Trace:
    model = encoder.load("twin-pre", device="cpu")
    return (model if placement == "pre" else model.with_norm_placement("post")).trace(text)


#: The numbers of the figures that a page shows of a head.
SHOWN = "JSON.stringify([...document.querySelectorAll('#head .js-plotly-plot')].map(({ data: [cells] }) => cells.z))"


def are_vectors(shown: str, text: str, layer: int, head: int) -> None:
    """Whether SHOWN has the queries, keys and values of twin-pre."""
    for browser, vectors in zip(json.loads(shown), trace_of(text).layer_qkv(layer), strict=True):
        close(browser, vectors[head])


def are_moved_norms(shown: str, text: str, layer: int, head: int) -> None:
    """Whether SHOWN has a head of twin-pre, of the same weights after its norms moved, and A - B."""
    first, second = (trace_of(text, placement).attention(layer, head) for placement in ("pre", "post"))
    for browser, weights in zip(json.loads(shown), (first, second, first - second), strict=True):
        close(browser, weights)


def test_a_map_is_the_figure_of_python(tmp_path: Path) -> None:
    trace = trace_of()
    selected = (PLACE["query"], PLACE["key"])
    ours = figures.attention_heatmap(trace.attention(1, 2), trace.labels, selected=selected)
    is_drawn(view(tmp_path, "map")["picture"]["header"]["figure"], ours)


def test_queries_keys_and_values_are_those_of_python_and_the_parts_sum_to_the_score(tmp_path: Path) -> None:
    found, trace = view(tmp_path, "vectors"), trace_of()
    for kind, one, vectors in zip("qkv", found["picture"]["header"]["figures"], trace.layer_qkv(1), strict=True):
        selected = PLACE["query"] if kind == "q" else PLACE["key"]
        ours = figures.vectors_heatmap(vectors[2], trace.labels, kind, title=TITLES[kind], selected=selected)
        is_drawn(one["figure"], ours)
        close(one["figure"]["data"][0]["z"], vectors[2])
    score = explain.score(trace, explain.Place(**PLACE))
    values = [row[1] for row in found["terms"]["rows"]]
    assert abs(sum(values) - score.dot) < CLOSE
    assert abs(values[0]) == pytest.approx(float(np.abs(score.terms).max()), abs=CLOSE)
    assert f"{three_digits(score.value)}." in found["said"][0]


def test_rotated_vectors_and_a_pair_outside_the_window_are_said(tmp_path: Path) -> None:
    model = model_of("modernbert")
    found, trace = view(tmp_path, "vectors", model, key=20), model.trace(TEXT)
    for one, vectors in zip(found["picture"]["header"]["figures"], trace.layer_qkv(1), strict=True):
        close(one["figure"]["data"][0]["z"], vectors[2], 1e-3)
    assert not explain.score(trace, explain.Place(**PLACE | {"key": 20})).visible
    assert [word for word in ("mask", "rotation") if word in " ".join(found["said"])] == ["mask", "rotation"]


@pytest.mark.parametrize("what", list(COMPARED))
def test_a_comparison_has_the_maps_and_the_difference_of_python(what: str, tmp_path: Path) -> None:
    other = "An animal didn't cross the wide street, the street was too wide."
    state = {"i": 3, "j": 5, "i_b": None, "j_b": None, "layer_b": 2, "head_b": None, "norm": "", "model_b": "moved"}
    found = view(tmp_path, "beside", compare=what, text=TEXT, text_b=other, **state)
    first = trace_of()
    second = {"heads": first, "sentences": trace_of(other), "models": trace_of(placement="post")}[what]
    there = {"heads": (2, 3), "sentences": (1, 2), "models": (2, 2)}[what]
    assert found["other"] == dict(zip(("layer", "head"), there, strict=True))
    steps = align.align_traces(first, second)
    ours = compare(TracedHead(first, 1, 2), TracedHead(second, *there), steps)
    of_a, of_b, change = (one["figure"] for one in found["picture"]["header"]["figures"])
    less, more = ("B", "A") if what == "models" else ("A", "B")
    selected = (steps.step_of(3), steps.step_of(5))
    labels = align.step_labels(first, second, steps)
    for drawn, name, weights, names, tokens, gaps, (layer, head) in (
        (of_a, "A", ours.first, labels[0], steps.first, steps.gaps[0], (1, 2)),
        (of_b, "B", ours.second, labels[1], steps.second, steps.gaps[1], there),
    ):
        figure = figures.attention_heatmap(weights, names, places=(tokens, tokens), selected=selected, square=False)
        difference.show_gaps(figure, gaps)
        shade = difference.LESS if name == less else difference.MORE
        is_drawn(drawn, difference.name_side(figure, name, f"L{layer} H{head}", shade))
    sides = {"A": ours.first, "B": ours.second}
    figure = difference.attention_difference(
        ours.difference if more == "B" else -ours.difference,
        labels[2],
        names=(less, more),
        selected=selected,
        weights=(sides[less], sides[more]),
        disambiguated=align.disambiguate(labels[2], steps),
        square=False,
    )
    difference.show_gaps(figure, sorted({*steps.gaps[0], *steps.gaps[1]}))
    is_drawn(change, difference.name_side(figure, f"{more} − {less}"))
    said = " ".join(found["said"])
    assert f"mean {ours.mean_distance:.0%}" in said
    least = least_alike(first, second, steps)
    assert least is not None
    name = align.disambiguate(labels[2], steps)[least[0]]
    assert (f"smallest for “{name}”: {least[1]:.2f}" in said) == (what == "sentences")
    assert f"“{align.disambiguate(labels[2], steps)[ours.most.query]}” to" in said


def test_two_texts_align_as_in_python(tmp_path: Path) -> None:
    chance = random.Random(0)
    pairs = []
    for _ in range(300):
        pairs.append([chance.choices(["a", "B", "b", "ß", "SS", "c"], k=chance.randrange(12)) for _ in range(2)])
    found = evaluated(
        BROWSER / "engine/alignment.js",
        "aligned, comparableNames",
        f"{json.dumps(pairs)}.map((pair) => aligned(...pair.map((labels) => comparableNames(labels, [0, 3]))))",
        tmp_path,
    )
    for pair, steps in zip(pairs, found, strict=True):
        names = [
            [("opens" if at == 0 else "parts",) if at in (0, 3) else one.casefold() for at, one in enumerate(side)]
            for side in pair
        ]
        ours = align.align(*names)
        assert (steps["first"], steps["second"]) == ([*ours.first], [*ours.second]), pair
        assert steps["isSame"] == [kind == "same" for kind in ours.kinds]


#: Views of the app, as its links have them.
LINKS: list[dict[str, str]] = [
    {"view": "vectors", "layer": "2", "head": "1", "i": "3", "j": "0"},
    {"view": "beside", "compare": "heads", "layer_b": "0", "head_b": "3", "i": "1"},
    {"view": "beside", "compare": "sentences", "text_b": "A dog & a cat", "i_b": "4", "j": "2"},
    {"view": "beside", "compare": "models", "model_b": "moved", "norm": "post"},
    {"view": "beside", "compare": "models", "model_b": "twin-post", "head_b": "1"},
    {"step": "scores", "component": "4"},
    {"step": "qkv", "vector": "v"},
    {"step": "norm", "part": "ffn", "neuron": "7"},
]


def test_links_of_the_app_and_of_a_page_open_the_same_view(tmp_path: Path) -> None:
    site = {"models": {"twin-pre": {}, "twin-post": {}}, "example": "A cat", "second": "b", "other": OTHER_SENTENCE}
    given = [urlencode({"text": "a <b>", "model": "twin-pre", **link}) for link in LINKS]
    strange = ["view=zzz&compare=toString&layer_b=-1&head_b=1e9&model_b=constructor&i_b=x", ""]
    found = evaluated(
        BROWSER / "view_address.js",
        "readAddress, written",
        f"{json.dumps([*given, *strange])}.map((query) => {{ const state = readAddress(new URLSearchParams(query),"
        f' {json.dumps(site)}, "heads"); return {{ state, written: written(state) }}; }})',
        tmp_path,
    )
    params = registered() | {one.name: one for one in (PlaceParams.component, PlaceParams.neuron)}
    for link, one in zip(LINKS, found, strict=False):
        back = dict(parse_qsl(one["written"].removeprefix("?")))
        for name, text in link.items():
            assert params[name].parse(back[name]) == params[name].parse(text), (link, back)
        for name in set(back) - {"image", "hand"}:
            params[name].parse(back[name])  # the app has each of these names, and accepts the value
    *_, odd, empty = (one["state"] for one in found)
    assert (odd["view"], odd["compare"], odd["layer_b"], odd["model_b"]) == ("map", "heads", 0, "moved")
    assert empty["text_b"] == params["text_b"].default
    assert {one["state"]["view"] for one in found} <= set(HEAD_VIEWS)
