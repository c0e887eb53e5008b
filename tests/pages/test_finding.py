"""The search of the bar: its index holds every page, term, lesson, control and value; what it finds by words and by
meaning, what it opens, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

import encoder
from benchmarks.serving import rooms
from encoder import search
from encoder.encoders.text import TextEncoder
from encoder.errors import LoadError
from encoder.measure import head_types
from encoder.search import known
from encoder.words.glossary import TERMS
from pages.core.frame import finding, meaning
from pages.core.stores import model_store
from pages.state.former import FORMER
from pages.teaching.lessons import library
from tests.conftest import ROOT
from tests.pages.apps import assert_well, registered, visit
from tests.run_javascript import evaluated
from tests.test_components import unpack


def entries(app) -> list[dict]:
    [found] = [one.proto for one in app.get("bidi_component") if one.proto.component_name == "encoderscope_find"]
    path = Path(unpack(found.bytes)[0]["path"])
    return json.loads((ROOT / "static" / path.name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found() -> list[dict]:
    """The entries that the browser gets."""
    return entries(visit("glossary"))


def test_steps_are_plain_words(found: list[dict]) -> None:
    steps = [step for one in found for step in one["steps"]]
    assert steps
    assert not [step for step in steps if re.search(r"\]\(|\*\*|`", step)]


def test_the_index_has_every_page_term_lesson_and_model(found: list[dict]) -> None:
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
        ("[CLS]", "[CLS] as an attention sink"),
    ],
)
def test_the_best_entry_comes_first(found: list[dict], typed: str, title: str, tmp_path: Path) -> None:
    best = evaluated(
        ROOT / "pages/components/find_ranking.js",
        "found",
        f"found({json.dumps(found)}, {json.dumps(typed)})[0]",
        tmp_path,
    )
    assert best["title"] == title


def asked_by_newcomers() -> dict[str, dict[str, list[str]]]:
    """Group -> question -> what answers it."""
    return yaml.safe_load(Path(__file__).with_name("newcomers.yml").read_text(encoding="utf-8"))


def missed(found: list[dict], asked: dict[str, list[str]], folder: Path) -> dict[str, list[str]]:
    """The questions without a right entry among the first three -> these three."""
    answers = [meaning.answer(found, "newcomers", question) for question in asked]
    (folder / "found.json").write_text(json.dumps([found, answers]), encoding="utf-8")
    shown = evaluated(
        ROOT / "pages/components/find_ranking.js",
        "found, merged",
        f"""(([entries, answers]) => answers.map((answer) =>
          merged(found(entries, answer.typed), answer, entries, answer.typed).slice(0, 3).map(({{ entry }}) => entry)
        ))(JSON.parse(Deno.readTextFileSync({json.dumps(str(folder / "found.json"))})))""",
        folder,
    )
    return {
        question: [one["title"] for one in first]
        for (question, right), first in zip(asked.items(), shown, strict=True)
        if not any(one["title"] in right or f"at {one['page']}" in right for one in first)
    }


def test_newcomers_find_the_answer_among_the_first_three(found: list[dict], tmp_path: Path) -> None:
    asked = asked_by_newcomers()
    assert [len(questions) for questions in asked.values()] == [84, 42]
    assert missed(found, asked["known"], tmp_path) == {}
    assert len(missed(found, asked["unseen"], tmp_path)) <= 8


def test_a_special_token_is_found_by_its_name(found: list[dict]) -> None:
    """The tokenizer turns "[SEP]" into the token that ends every text, which says nothing of separators."""
    first, same = (
        [
            found[one["entry"]]
            for one in meaning.answer(found, "newcomers", f"why does my head attend to {name}")["found"]
        ]
        for name in ("[SEP]", "SEP")
    )
    assert first == same
    assert "[SEP]" in first[0]["title"]


def test_the_weeks_of_a_course_name_every_lesson(found: list[dict]) -> None:
    [weeks] = [one for one in found if one["kind"] == "Course"]
    assert [one for one in library.lessons()[0] if not any(one.heading in step for step in weeks["steps"])] == []


def test_what_a_title_begins_with_comes_before_the_answer(found: list[dict], tmp_path: Path) -> None:
    typed = "previous token"
    (tmp_path / "found.json").write_text(json.dumps([found, meaning.answer(found, "newcomers", typed)]))
    first = evaluated(
        ROOT / "pages/components/find_ranking.js",
        "found, merged",
        f"""(([entries, answer]) => merged(found(entries, answer.typed), answer, entries, answer.typed)[0].entry
        )(JSON.parse(Deno.readTextFileSync({json.dumps(str(tmp_path / "found.json"))})))""",
        tmp_path,
    )
    assert first["title"] == head_types.BY_NAME["previous"].title


def test_no_entry_is_a_name_of_an_address(found: list[dict]) -> None:
    """What a value is called in a link, such as token_target, is not a word for people."""
    shown = [one for one in found if one["kind"] in ("Setting", "Measure", "Head type", "Control")]
    assert {"Setting", "Measure", "Head type"} <= {one["kind"] for one in shown}
    for one in shown:
        assert not re.search(r"\w_\w", one["title"] + one["detail"]), one
        assert re.match(r"[A-Z[]", one["title"]), one


def test_every_answer_of_the_questions_is_an_entry(found: list[dict]) -> None:
    there = {one["title"] for one in found} | {f"at {one['page']}" for one in found}
    assert {answer for asked in asked_by_newcomers().values() for right in asked.values() for answer in right} <= there


def test_what_these_pages_do_not_answer_has_no_answer(found: list[dict]) -> None:
    assert meaning.answer(found, "newcomers", "who won the election")["found"] == []


def test_an_answer_says_why(found: list[dict]) -> None:
    answer = meaning.answer(found, "why", "why are two texts similar")
    first = answer["found"][0]
    shares = dict(zip(first["pieces"], first["shares"], strict=True))
    assert "".join(first["pieces"]) in {text for text, _ in meaning.texts_of(found[first["entry"]])}
    assert set(sorted(shares, key=lambda word: shares[word])[-2:]) == {"texts", "similar"}


def test_the_file_of_vectors_is_up_to_date(found: list[dict], minilm: TextEncoder) -> None:
    texts = sorted({meaning.compared(text) for entry in found for text, _ in meaning.texts_of(entry)})
    stored = known.from_bytes(meaning.FILE.read_bytes())
    missing = [text for text in texts if stored.row(text) is None]
    assert not missing, "run python -m docs.meanings"
    assert len(stored.rows) == len(texts), "run python -m docs.meanings: it has texts that no entry has"
    some = texts[:: len(texts) // 40]
    cosines = np.sum(search.embed(minilm, some).vectors * known.embed(minilm, some, stored).vectors, axis=1)
    assert cosines.min() > 0.999


def test_a_text_that_the_file_lacks_is_embedded(minilm: TextEncoder) -> None:
    stored = known.from_bytes(known.to_bytes(search.embed(minilm, ["one", "two"])))
    both = known.embed(minilm, ["three", "one"], stored)
    assert stored.row("three") is None
    assert np.sum(both.vectors * search.embed(minilm, ["three", "one"]).vectors, axis=1) == pytest.approx(1, abs=1e-3)


def test_vectors_of_another_model_are_not_used(minilm: TextEncoder) -> None:
    wrong = known.Known(np.ones((1, 3), dtype=np.int8), known.from_bytes(meaning.FILE.read_bytes()).rows, "other")
    text = "Type your own sentence"
    assert wrong.row(text) is not None
    assert np.allclose(known.embed(minilm, [text], wrong).vectors, search.embed(minilm, [text]).vectors)


def test_without_the_encoder_the_search_by_words_remains(found: list[dict], monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(spec: encoder.run.ModelSpec) -> None:
        raise LoadError("not installed")

    monkeypatch.setattr(model_store, "model", missing)
    assert meaning.answer(found, "without", "dark mode") == {"typed": "dark mode", "found": []}


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
