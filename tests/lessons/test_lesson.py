"""Lesson files: what is read, and what is refused with its line."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.base.access import limits
from pages.core.frame.frame import import_params
from pages.teaching.lessons import lesson, library
from pages.teaching.lessons.command import TEMPLATE
from pages.teaching.lessons.lesson import FORBIDDEN, LessonError

ABOUT = "---\ntitle: A title\nminutes: 5\nlevel: any\ngoals: [one, two]\nneeds: nothing\n---\n"
VIEW = "```view\npage: heads\ntext: A text\nlayer: 2\npadding: true\n```\n"
QUESTION = "```question\nkind: token\nask: Which?\nquery: text\n```\n"


@pytest.fixture(autouse=True, scope="module")
def _registered() -> None:
    import_params()


def test_a_lesson_is_read() -> None:
    found = lesson.read(
        f"{ABOUT}## One\n\nProse *here*.\n\n{VIEW}\nMore.\n\n{QUESTION}\n## Two\n\n```\ncode\n```\n", "a"
    )
    assert (found.name, found.title, found.minutes, found.goals) == ("a", "A title", 5, ("one", "two"))
    one, two = found.steps
    assert (one.title, two.title) == ("One", "Two")
    assert one.view == {"page": "heads", "text": "A text", "layer": "2", "padding": "1"}
    assert one.question
    assert one.question.kind == "token"
    assert "Prose *here*." in one.prose
    assert one.about_view == "More."
    assert one.text == "Prose *here*.\n\nMore."
    assert "```" not in one.prose
    assert two.prose == "```\ncode\n```"
    assert (two.view, two.question) == ({}, None)
    assert (one.line, one.view_line, one.question_line) == (8, 12, 21)


@pytest.mark.parametrize("word", ["on", "off", "Yes", "NO", "true"])
def test_a_word_that_yaml_reads_as_true_or_false_is_named_until_it_is_quoted(word: str) -> None:
    def written(word: str) -> str:
        mistakes = f"mistakes:\n  - answer: {word}\n    says: A guess.\n"
        return f"{ABOUT}## One\n\n{QUESTION.replace('query: text', mistakes)}"

    with pytest.raises(LessonError) as refused:
        lesson.read(written(word), "a")
    assert written(word).splitlines()[refused.value.line - 1].endswith(f"answer: {word}")
    assert f'answer: "{word}"' in str(refused.value)
    question = lesson.read(written(f'"{word}"'), "a").steps[0].question
    assert question
    assert question.mistakes[0]["answer"] == word


def test_what_is_true_or_false_needs_no_quotes() -> None:
    holds = "holds: {left: {n_tokens: {text: a}}, compare: above, right: 1}"
    text = f"{ABOUT}## One\n\n```question\nkind: concept\nask: Which?\nlook: yes\noptions:\n"
    text += f"  - {{says: a, {holds}}}\n  - {{says: b, right: on}}\n```\n"
    question = lesson.read(text, "a").steps[0].question
    assert question
    assert question.look
    with pytest.raises(LessonError) as refused:
        lesson.read(text.replace("says: b", "says: no"), "a")
    assert text.splitlines()[refused.value.line - 1].startswith("  - {says: b")
    for value in ("padding: on", "text: on"):
        view = VIEW.replace("padding: true" if "padding" in value else "text: A text", value)
        with contextlib.nullcontext() if "padding" in value else pytest.raises(LessonError):
            lesson.read(f"{ABOUT}## One\n\n{view}", "a")


def test_the_template_is_a_lesson() -> None:
    assert lesson.read(TEMPLATE.format(title="New"), "new").steps[0].question


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        ("", 1, "title"),
        ("---\ntitle: [\n---\n## One", 3, "YAML"),
        (ABOUT.replace("minutes: 5\n", "") + "## One", 1, "minutes"),
        (ABOUT.replace("level: any", "level: any\ncolour: red") + "## One", 1, "colour"),
        (ABOUT.replace("minutes: 5", "minutes: five") + "## One", 1, "minutes"),
        (ABOUT, 1, "step"),
        (ABOUT + "text\n## One", 8, "first step"),
        (ABOUT + f"## One\n{VIEW}\n{VIEW}", 16, "view"),
        (ABOUT + "## One\n```view\nlayer: 2\n```", 9, "page"),
        (ABOUT + "## One\n```view\npage: heads\nspeed: 2\n```", 9, "speed"),
        (ABOUT + "## One\n```view\npage: heads\nlayer: [2]\n```", 9, "layer"),
        (ABOUT + "## One\n```view\njust text\n```", 9, "names and values"),
        (ABOUT + "## One\n```question\nkind: riddle\n```", 9, "riddle"),
        (ABOUT + "## One\n\n```question\nkind: token\nask: 'open\n```", 12, "YAML"),
        (ABOUT + "## One\n\n<script>alert(1)</script>", 10, "HTML"),
        (ABOUT + "## One\n\nText with <b>bold</b>.", 10, "HTML"),
        (ABOUT + "## One\n\n![](https://example.org/p.png)", 10, "pictures"),
        (ABOUT + "## One\n\n[a](javascript:alert(1))", 10, "https"),
        (ABOUT + "## One\n\n[a](file:///etc/passwd)", 10, "https"),
        (ABOUT + "## One\n" * 51, 58, "50"),
        *[(ABOUT + f"## One\n```view\npage: heads\n{name}: x\n```", 9, name) for name in FORBIDDEN],
    ],
)
def test_a_wrong_lesson_is_refused_with_its_line(text: str, line: int, named: str) -> None:
    with pytest.raises(LessonError, match=named) as refused:
        lesson.read(text, "a")
    assert refused.value.line == line


@given(st.text(max_size=200))
def test_any_text_is_a_lesson_or_a_sentence(body: str) -> None:
    for text in (
        body,
        ABOUT + "## One\n" + body,
        ABOUT + "## One\n```view\n" + body,
        ABOUT + "## One\n```question\n" + body,
    ):
        with contextlib.suppress(LessonError):
            assert lesson.read(text, "a").steps


def test_yaml_makes_no_objects() -> None:
    text = ABOUT + "## One\n```view\npage: !!python/object/apply:os.getcwd []\n```"
    with pytest.raises(LessonError):
        lesson.read(text, "a")


def test_a_folder_of_lessons_is_read_again_when_a_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(library.ROOT, str(tmp_path))
    file = tmp_path / "mine.md"
    file.write_text(f"{ABOUT}## One\n")
    (tmp_path / "broken.md").write_text("nothing")
    (tmp_path / ".hidden.md").write_text(f"{ABOUT}## One\n")
    (tmp_path / "notes.txt").write_text(f"{ABOUT}## One\n")
    good, broken = library.lessons()
    assert "mine" in [one.name for one in good]
    assert [one.name for one in broken] == ["broken.md"]
    assert library.find("mine")
    assert library.find(".hidden") is None
    assert library.find("../mine") is None
    file.write_text(f"{ABOUT}## One\n\n## Two\n")
    found = library.find("mine")
    assert found
    assert len(found.steps) == 2


def test_a_file_that_is_too_large_or_no_text_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LessonError, match="UTF-8"):
        lesson.load(file)
    file.write_text("x" * (limits.LESSON_FILE.value + 1))
    with pytest.raises(LessonError, match="200,000"):
        lesson.load(file)


HOSTILE = ("2001-13-45", "1" * 6_000, "0x" + "f" * 6_000, "[" * 5_000, "{? [1]: 2}", "!!timestamp x", "!!int x")


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: value[:12])
@pytest.mark.parametrize("name", ["minutes", "title", "goals", "level"])
def test_a_broken_lesson_is_listed_and_the_others_open(
    name: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = next(iter(sorted(library.SHIPPED.glob("*.md")))).read_text(encoding="utf-8")
    lines = [f"{name}: {value}" if line.startswith(f"{name}:") else line for line in good.split("\n")]
    (tmp_path / "zz-bad.md").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "zz-good.md").write_text(good, encoding="utf-8")
    monkeypatch.setenv(library.ROOT, str(tmp_path))
    lessons, broken = library.lessons()
    assert "zz-good" in {one.name for one in lessons}
    if name != "title" or "zz-bad" not in {one.name for one in lessons}:  # any words may be a title
        (one,) = broken
        assert one.name == "zz-bad.md"
        assert one.reason
