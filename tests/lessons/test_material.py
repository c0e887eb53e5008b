"""`encoderscope lesson material` and `answers`: what is printed, and a lesson without a server."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from pathlib import Path

import pytest

from encoder.disk.folder import LIST
from encoder.errors import EncoderError
from pages.core.frame.frame import import_params
from pages.teaching.lessons import codes, command, library, material, path
from pages.teaching.questions import controls, gestures
from pages.teaching.questions.kinds import TokenQuestion


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import_params()
    made = tmp_path_factory.mktemp("material")
    assert command.main(["material", str(made)]) == 0
    return made


def code(lesson: str, answers: object) -> str:
    said = json.dumps({"lesson": lesson, "answers": answers}, ensure_ascii=False)
    return codes.PREFIX + base64.b64encode(said.encode()).decode()


def test_the_path_takes_ninety_minutes_and_each_step_exists() -> None:
    import_params()
    marks = path.marks()
    assert sum(one.minutes for one in marks) == 90
    assert all(one.minutes > 0 for one in marks)
    for one in marks:
        lesson = library.find(one.lesson)
        assert lesson
        assert lesson.nearest(one.step) == one.step
    assert path.place(marks[3].lesson, marks[3].step) == 3
    assert path.place("01-tokens", 1) is None
    weeks = [name for week in path.written()["weeks"] for name in week["lessons"]]
    assert sorted(weeks) == sorted(one.name for one in library.lessons()[0])


def test_all_files_are_made_and_open_without_a_network(folder: Path) -> None:
    names = {file.stem for file in folder.glob("*.html")}
    others = {file.name for file in folder.iterdir() if file.suffix != ".html"}
    assert others == {LIST, "questions-moodle.xml", "questions-qti21.zip"}
    lessons = {f"lesson-{one.lesson}" for one in path.marks()}
    by_hand = {f"gesture-{name}" for name in gestures.table()}
    assert names == {"path", "answer-key", "worksheet", "slides", "syllabus"} | lessons | by_hand
    for file in folder.glob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert "default-src &#39;none&#39;" in text
        assert not re.findall(r"<(?:img|link|script|iframe)[^>]*(?:src|href)=.(?:https?:)?//", text)


def test_a_slide_is_landscape_and_shows_no_answer(folder: Path) -> None:
    slides = (folder / "slides.html").read_text(encoding="utf-8")
    assert "landscape" in slides
    sections = re.findall(r"<section>.*?</section>", slides, re.DOTALL)
    pictures = [part for part in sections if 'class="drawing"' in part]
    assert len(pictures) == len(set(pictures)) > 5
    predicted = [
        step.question.ask
        for one in path.marks()
        if isinstance((step := library.find(one.lesson).step(one.step)).question, TokenQuestion)  # type: ignore[union-attr]
    ]
    for ask in predicted:
        place = next(n for n, part in enumerate(sections) if material.escape(ask) in part)
        assert sections[place + 1] not in pictures


def test_the_key_has_computed_answers_and_the_worksheet_none(folder: Path) -> None:
    key, sheet = ((folder / f"{name}.html").read_text(encoding="utf-8") for name in ("answer-key", "worksheet"))
    for one in path.marks():
        step = library.find(one.lesson).step(one.step)  # type: ignore[union-attr]
        if step.question is None:
            continue
        asked, look = material.escape(step.question.ask), library.look_of(step.view)
        assert asked in key
        # Paper has no page of the app to read a number from.
        assert (asked in sheet) == (not step.question.look or step.question.kind == "conclusion")
        truth = step.question.truth(look)
        if truth.value is not None:
            said = material.escape(controls.true_value(step.question, look, truth))
            assert said in key
            assert said not in sheet
    assert "A head copies the value" in key


def test_a_code_has_the_answers_and_a_bad_one_is_a_sentence() -> None:
    import_params()
    lesson, answers = codes.read(code("03b-from-weight-to-output", {"1": 4, "5": 1, "7": "Länge und Gewicht."}))
    assert lesson.name == "03b-from-weight-to-output"
    assert answers == {1: 4.0, 5: 1, 7: "Länge und Gewicht."}
    good = code("03b-from-weight-to-output", {"1": 3})
    for bad in (
        "",
        "hello",
        good[:-4],
        codes.PREFIX + "!!!",
        codes.PREFIX + "x" * 300_000,
        code("nowhere", {"1": 3}),
        code("03b-from-weight-to-output", {"0": 3}),
        code("03b-from-weight-to-output", {"1": "three"}),
        code("03b-from-weight-to-output", {"99": 3}),
        code("03b-from-weight-to-output", [3]),
        code("03b-from-weight-to-output", {"one": 3}),
        code("03b-from-weight-to-output", {"7": "x" * 5_000}),
        codes.PREFIX + base64.b64encode(b"[1, 2]").decode(),
        codes.PREFIX + base64.b64encode(b"\xff").decode(),
    ):
        with pytest.raises(EncoderError):
            codes.read(bad)


def test_a_file_of_codes_becomes_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "codes.txt"
    lines = [
        code("03b-from-weight-to-output", {"1": 3, "7": "=SUM(A1)"}),
        "",
        code("03b-from-weight-to-output", {"1": 4}),
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    assert command.main(["answers", str(file)]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["student"], row["step"], row["right"]) for row in rows] == [
        ("1", "1", "1"),
        ("1", "7", ""),
        ("3", "1", "0"),
    ]
    assert rows[1]["answer"] == "'=SUM(A1)"
    file.write_text("nonsense", encoding="utf-8")
    assert command.main(["answers", str(file)]) == 1
    assert ":1: " in capsys.readouterr().err
