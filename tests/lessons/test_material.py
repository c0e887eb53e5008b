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
from pages.core.words.symbols import in_html
from pages.teaching.lessons import codes, command, library, path, worksheet
from pages.teaching.questions import controls, gestures
from pages.teaching.questions.kinds import NumberQuestion, TokenQuestion
from pages.teaching.questions.open_kinds import ConclusionQuestion


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import_params()
    made, own = tmp_path_factory.mktemp("material"), tmp_path_factory.mktemp("own")
    assert command.main(["new", str(own / "agreement.md")]) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(library.ROOT, "")  # the command sets it
        assert command.main(["material", f"--lessons-root={own}", str(made)]) == 0
    return made


def code(lesson: str, answers: object) -> str:
    said = json.dumps({"lesson": lesson, "answers": answers}, ensure_ascii=False)
    return codes.PREFIX + base64.b64encode(said.encode()).decode()


def test_the_paths_take_their_minutes_and_each_step_exists() -> None:
    import_params()
    for one in path.paths().values():
        assert one.marks[-1].at + one.marks[-1].minutes == int(one.name)
        assert all(mark.minutes > 0 for mark in one.marks)
        for mark in one.marks:
            lesson = library.find(mark.lesson)
            assert lesson
            assert lesson.nearest(mark.step) == mark.step
        assert one.place(one.marks[3].lesson, one.marks[3].step) == 3
        assert one.place("01-tokens", 1) is None
    weeks = [name for week in path.weeks() for name in week["lessons"]]
    assert sorted(weeks) == sorted(one.name for one in library.lessons()[0])


def test_all_files_are_made_and_open_without_a_network(folder: Path) -> None:
    names = {file.stem for file in folder.glob("*.html")}
    others = {file.name for file in folder.iterdir() if file.suffix != ".html"}
    assert others == {LIST, "questions-moodle.xml", "questions-qti21.zip"}
    lessons = {f"lesson-{mark.lesson}" for one in path.paths().values() for mark in one.marks}
    by_hand = {f"gesture-{name}" for name in gestures.table()}
    of_paths = {f"{kind}-{one}" for kind in ("path", "answer-key", "worksheet", "slides") for one in path.paths()}
    every = ["agreement", *(one.name for one in library.lessons()[0])]
    of_lessons = {f"{kind}-{one}" for kind in ("answer-key", "worksheet") for one in every}
    assert names == {"syllabus"} | of_paths | of_lessons | lessons | by_hand
    for file in folder.glob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert "default-src &#39;none&#39;" in text
        assert not re.findall(r"<(?:img|link|script|iframe)[^>]*(?:src|href)=.(?:https?:)?//", text)
        shown = re.sub(r"<(script|style).*?</\1>|<[^>]*>", "", text, flags=re.DOTALL)
        assert not re.findall(r"\bd_k\b|\be\^-?\d", shown), "a symbol as it is typed"


def test_an_own_lesson_is_in_the_syllabus_and_has_no_number(folder: Path) -> None:
    syllabus = (folder / "syllabus.html").read_text(encoding="utf-8")
    assert len(re.findall("<section>", syllabus)) == len(path.weeks()) + 1
    assert "<li>Agreement (20 minutes)</li>" in syllabus
    names = re.findall(r"<name>\s*<text>(.*?)<", (folder / "questions-moodle.xml").read_text(encoding="utf-8"))
    assert "1 What a word attends to" in names
    assert not [name for name in names if name.startswith(".")]


def test_a_slide_is_landscape_and_shows_no_answer(folder: Path) -> None:
    slides = (folder / "slides-90.html").read_text(encoding="utf-8")
    assert "landscape" in slides
    sections = re.findall(r"<section>.*?</section>", slides, re.DOTALL)
    pictures = [part for part in sections if 'class="drawing"' in part]
    assert len(pictures) == len(set(pictures)) > 5
    predicted = [
        step.question.ask
        for one in path.paths()["90"].marks
        if isinstance((step := library.find(one.lesson).step(one.step)).question, TokenQuestion)  # type: ignore[union-attr]
    ]
    for ask in predicted:
        place = next(n for n, part in enumerate(sections) if in_html(ask) in part)
        assert sections[place + 1] not in pictures


@pytest.mark.parametrize("name", path.paths())
def test_worksheet_and_key_have_one_numbering(folder: Path, name: str) -> None:
    key, sheet = ((folder / f"{kind}-{name}.html").read_text(encoding="utf-8") for kind in ("answer-key", "worksheet"))
    items = re.findall(r"<li>(.*?)<(?!/?su)", sheet)
    numbered = re.findall(r"<h2>\d+\. .*?<b>(.*?)</b>", key, re.DOTALL)
    assert items == numbered != []
    for one in path.paths()[name].marks:
        step = library.find(one.lesson).step(one.step)  # type: ignore[union-attr]
        if step.question is None:
            continue
        asked, look = in_html(step.question.ask), library.look_of(step.view)
        assert asked in key
        assert (asked in items) == (worksheet.on_paper(step.question, step) is not None)
        truth = step.question.truth(look)
        if truth.value is not None:
            assert in_html(controls.true_value(step.question, look, truth)) in key


def test_a_question_on_paper_has_the_numbers_that_answer_it(folder: Path) -> None:
    """The row of weights, the products with their sum, the sizes of the model, or all in its words."""
    import_params()
    steps = [step for lesson in library.lessons()[0] for step in lesson.steps if step.question is not None]
    given = [(step, worksheet.on_paper(step.question, step)) for step in steps]
    for step, html in given:
        question, look = step.question, library.look_of(step.view)
        numbers = [float(one) for one in re.findall(r"<i>([\d.]+)</i>", html or "")]
        if html is None:
            assert not isinstance(question, TokenQuestion | ConclusionQuestion)
        elif isinstance(question, TokenQuestion):
            assert numbers[question.truth(look).answers[0]] == max(numbers[place] for place in question.choices(look))
        elif isinstance(question, NumberQuestion) and question.asked.quantity.name == "norm_weighted":
            low, high = question.accepted(question.truth(look))
            assert low <= numbers[1] / sum(numbers[1::2]) <= high  # [CLS] is the first token
    assert sum(html is None for _, html in given) > 10


def test_a_folder_without_a_lesson_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(library.ROOT, "")  # the command sets it
    assert command.main(["material", f"--lessons-root={tmp_path}", str(tmp_path / "made")]) == 1
    assert str(tmp_path) in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


def test_a_key_to_another_question_than_the_text_asks_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(library.ROOT, "")  # the command sets it
    (own := tmp_path / "own").mkdir()
    import_params()
    lesson = library.find("04-heads")
    assert lesson is not None
    text = (library.SHIPPED / "04-heads.md").read_text(encoding="utf-8")
    other = re.sub(r"(?m)^ask: .*L0 H2.*$|^title: .*$", lambda line: line[0].replace("title: ", "title: My "), text)
    (own / "mine.md").write_text(re.sub(r"(?m)^layer: \d+$", "layer: 5", other), encoding="utf-8")
    assert command.main(["material", f"--lessons-root={own}", str(tmp_path / "made")]) == 0
    assert "mine.md:" in capsys.readouterr().err


def test_a_mistake_that_is_not_an_answer_stops_with_lesson_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(library.ROOT, "")  # the command sets it
    (own := tmp_path / "own").mkdir()
    assert command.main(["new", str(own / "mine.md")]) == 0
    text = (own / "mine.md").read_text(encoding="utf-8")
    line = text[: text.index("```question")].count("\n") + 1
    (own / "mine.md").write_text(re.sub(r"(?m)^why: ", "mistakes: [{answer: zebra}]\nwhy: ", text, count=1), "utf-8")
    assert command.main(["material", f"--lessons-root={own}", str(tmp_path / "made")]) == 1
    assert re.search(rf"(?m)^mine\.md, line {line}: .*zebra", capsys.readouterr().err)
    assert not (tmp_path / "made").exists()


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
