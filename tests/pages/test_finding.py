"""The search of the bar: its index holds every page, term, lesson and value; what it opens, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.serving import rooms
from encoder.words.glossary import TERMS
from pages.core.frame import finding
from pages.state.former import FORMER
from pages.teaching.lessons import library
from tests.conftest import ROOT
from tests.pages.apps import assert_well, registered, visit
from tests.run_javascript import evaluated
from tests.test_components import unpack


def entries(app) -> list[dict]:
    [found] = [one.proto for one in app.get("bidi_component") if one.proto.component_name == "encoderscope_find"]
    return unpack(found.bytes)[0]["entries"]


def test_the_index_has_every_page_term_lesson_and_model() -> None:
    app = visit("glossary")
    found = entries(app)
    titles = {kind: {one["title"] for one in found if one["kind"] == kind} for kind in ("Page", "Term", "Lesson")}
    assert {one["page"] for one in found if one["kind"] == "Page"} == set(rooms())
    assert titles["Term"] == {term.name for term in TERMS}
    assert titles["Lesson"] >= {lesson.title for lesson in library.lessons()[0]}
    params = registered()
    for one in found:
        assert one["title"], one
        assert one["page"] == "" or (ROOT / "pages" / one["page"] / "page.py").is_file(), one
        assert one["page"] not in FORMER
        for name, text in one["values"].items():
            params[name].parse(text)


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("posit", "Positions"),
        ("l3 h1", "L3 H1"),
        ("3.1", "L3 H1"),
        ("layer 3 head 1", "L3 H1"),
        ("residual stream", "residual stream"),
    ],
)
def test_the_best_entry_comes_first(typed: str, title: str, tmp_path: Path) -> None:
    found = entries(visit("glossary"))
    best = evaluated(
        ROOT / "pages/components/find_ranking.js",
        "found",
        f"found({json.dumps(found)}, {json.dumps(typed)})[0]",
        tmp_path,
    )
    assert best["title"] == title


def test_a_chosen_entry_opens_and_anything_else_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    app = visit("heads", text="one two")
    chosen: list[tuple[str, dict[str, str]]] = [("positions", {"layer": "4", "head": "3", "colours": "pink", "x": "y"})]

    def find(entries, *, key, on_open) -> None:
        if chosen:
            on_open(*chosen.pop())

    monkeypatch.setattr(finding, "find", find)
    app.run()
    app.run()
    assert_well(app)
    assert app.title[0].value == "Positions"
    assert {name: app.query_params[name] for name in ("text", "layer", "head")} == {
        "text": "one two",
        "layer": "4",
        "head": "3",
    }
    assert "colours" not in app.query_params
