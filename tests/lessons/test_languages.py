"""Lessons in other languages: a file for each lesson, and English where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages.core.frame.frame import import_params
from pages.teaching.lessons import library
from pages.teaching.lessons.check import check
from pages.teaching.questions import read_question
from tests.pages.apps import visit

SPANISH = sorted(path.stem for path in (library.SHIPPED / "es").glob("*.md"))


@pytest.fixture(autouse=True, scope="module")
def _registered() -> None:
    import_params()


@pytest.mark.sample(3, "another translation")
@pytest.mark.parametrize("name", SPANISH)
def test_a_translation_holds_and_computes_what_its_lesson_computes(name: str) -> None:
    assert list(check(library.SHIPPED / "es" / f"{name}.md")) == []


def test_what_is_not_translated_is_in_english(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert len(SPANISH) >= 3
    english, spanish = library.lessons()[0], library.lessons("es")[0]
    assert [one.name for one in english] == [one.name for one in spanish]
    assert {one.name for one, other in zip(english, spanish, strict=True) if one != other} == set(SPANISH)
    assert library.languages() == ["es"]
    for foreign in ("fr", "../es", "..", "/etc"):
        assert library.lessons(foreign) == library.lessons()
    (tmp_path / "es").mkdir()
    (tmp_path / "mine.md").write_text((library.SHIPPED / "01-tokens.md").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "es" / "mine.md").write_text("broken", encoding="utf-8")
    monkeypatch.setenv(library.ROOT, str(tmp_path))
    good, broken = library.lessons("es")
    assert "mine" in {one.name for one in good}, "a translation with a fault"
    assert [one.name for one in broken] == ["mine.md"]


def test_a_translation_that_shows_or_asks_something_else_is_found(tmp_path: Path) -> None:
    (tmp_path / "es").mkdir()
    text = (library.SHIPPED / "01-tokens.md").read_text(encoding="utf-8")
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    changed = text.replace("text: unbelievably", "text: unlikely").replace("text: Hello!\nview", "text: Hi!\nview")
    assert changed != text
    (tmp_path / "es" / "a.md").write_text(changed, encoding="utf-8")
    found = [one.reason for one in check(tmp_path / "es" / "a.md")]
    assert any("“token-is-word”" in one for one in found)
    assert any("something else" in one for one in found)
    assert any("this view" in one for one in found)


def test_a_bundled_lesson_is_translated_in_a_folder_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    title = library.lessons()[0][0].title
    text = (library.SHIPPED / "01-tokens.md").read_text(encoding="utf-8")
    for language in ("de", "es"):
        (tmp_path / language).mkdir()
        (tmp_path / language / "01-tokens.md").write_text(text.replace(title, "Titel"), encoding="utf-8")
    monkeypatch.setenv(library.ROOT, str(tmp_path))
    assert library.languages() == ["de", "es"]
    assert library.find("01-tokens", "de").title == "Titel"  # type: ignore[union-attr]
    assert library.find("01-tokens", "es").title == "Titel", "before the bundled translation"  # type: ignore[union-attr]
    assert library.find("01-tokens").title == title  # type: ignore[union-attr]
    file = tmp_path / "de" / "01-tokens.md"
    file.write_text(text.replace("text: unbelievably", "text: unlikely"), encoding="utf-8")
    assert any("something else" in one.reason or "this view" in one.reason for one in check(file))


def test_a_reader_and_a_class_have_the_language_of_the_address() -> None:
    app = visit("model", lesson="01-tokens", lesson_step="1", lesson_language="es", step="ids", start="1")
    assert not app.exception
    spanish = library.find("01-tokens", "es")
    assert spanish
    assert [one.value for one in app.subheader] == [spanish.step(1).title]
    app.button(key="lesson:next").click().run()
    assert app.query_params["lesson_language"] == "es"
    assert [one.value.replace("\\", "") for one in app.subheader] == [spanish.step(2).title]
    assert read_question(spanish.step(2).question.definition()) == spanish.step(2).question
    listed = visit("lessons", lesson_language="es")
    assert any(spanish.title in one.value for one in listed.header)
