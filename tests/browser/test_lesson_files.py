"""A lesson as a file: it runs without a server, and its code holds the answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from encoder.documents.document import Section, document
from encoder.drawing.javascript import joined
from encoder.export.report import footer
from pages.core.frame.frame import import_params
from pages.teaching.lessons import codes, library, material, path, worksheet

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser

    Part = Callable[[list[worksheet.Asking]], Iterable[Section]]

pytestmark = pytest.mark.browser

#: Pixels of a printed millimetre, and the width between the margins of a slide of Letter, the narrower paper.
MILLIMETRE = 96 / 25.4
NARROWER = (279.4 - 2 * 10) * MILLIMETRE


def written(folder: Path, sections: Iterable[Section]) -> Path:
    css = (material.HERE / "material.css").read_text(encoding="utf-8")
    scripts = (joined(material.HERE / "student.js"),)
    file = folder / "file.html"
    file.write_text(document("A title", list(sections), footer=footer(), scripts=scripts, css=css), encoding="utf-8")
    return file


@pytest.mark.slow("another form of the same lesson")
@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_each_worksheet_is_one_page(browser: Browser, tmp_path: Path, paper: str) -> None:
    import_params()
    lessons = {one.name: one for one in library.lessons()[0]}
    page = browser.new_page()
    for one in path.paths().values():
        steps = [(lessons[mark.lesson], mark.step, lessons[mark.lesson].step(mark.step)) for mark in one.marks]
        page.goto(written(tmp_path, worksheet.sheet(worksheet.asking(steps))).as_uri())
        expect(page.locator("ol.sheet li")).not_to_have_count(0)
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format=paper))) == 1
    page.close()


@pytest.mark.parametrize("width", [1920, 820])
def test_a_printed_slide_is_one_page_and_its_open_part_covers_nothing(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    import_params()
    one = path.paths()["45"]
    steps = [library.find(mark.lesson).step(mark.step) for mark in one.marks]  # type: ignore[union-attr]
    (file := tmp_path / "slides.html").write_text(material.slides(one.title, steps), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(file.as_uri())
    opened = page.locator(".enc-model-opened:not([hidden])")
    expect(opened).to_have_count(3)
    for paper in ("A4", "Letter"):
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format=paper, landscape=True))) == len(steps)
    page.emulate_media(media="print")
    for picture in page.locator(".drawing").all():  # as wide as the paper, whatever the window
        assert 0.95 * NARROWER < picture.evaluate("picture => picture.getBoundingClientRect().width") <= NARROWER
    expect(opened.get_by_role("button", name=re.compile("←|→|Back|More"))).to_have_count(0)
    covers = """panel => {
      const { top, bottom } = panel.getBoundingClientRect();
      const others = panel.closest(".drawing").querySelectorAll(".enc-model-body, .enc-model-legend, .enc-model-heads");
      return [...others].map(other => other.getBoundingClientRect())
        .some(other => other.top < bottom - 1 && other.bottom > top + 1);
    }"""
    assert not any(part.evaluate(covers) for part in opened.all())
    page.close()


@pytest.mark.parametrize("part", [worksheet.key, worksheet.sheet])
def test_paper_has_a_margin_and_splits_no_answer(browser: Browser, tmp_path: Path, part: Part) -> None:
    import_params()
    lesson = library.find("03-one-weight-by-hand")
    assert lesson is not None
    steps = worksheet.asking([(lesson, number, step) for number, step in lesson.numbered()])
    page = browser.new_page()
    page.goto(written(tmp_path, part(steps)).as_uri())
    page.emulate_media(media="print")
    margins = page.evaluate("""[...document.styleSheets].flatMap(sheet => [...sheet.cssRules])
      .filter(rule => rule instanceof CSSPageRule).map(rule => parseFloat(rule.style.marginLeft))""")
    assert min(margins) > 0
    answers = page.locator("ol.sheet > li" if part is worksheet.sheet else "section")
    assert answers.count() > 1
    assert {one.evaluate("one => getComputedStyle(one).breakInside") for one in answers.all()} == {"avoid"}
    page.close()


@pytest.mark.slow("another form of the same lesson")
def test_an_open_part_stays_in_a_narrow_window(browser: Browser, tmp_path: Path) -> None:
    import_params()
    lesson = library.find("03b-from-weight-to-output")
    assert lesson is not None
    page = browser.new_page(viewport={"width": 1000, "height": 768})
    page.goto(written(tmp_path, material._student(lesson)).as_uri())
    expect(page.locator(".enc-model-opened:not([hidden])")).not_to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") == 1000
    page.close()


def test_a_lesson_runs_without_a_server(browser: Browser, tmp_path: Path) -> None:
    import_params()
    lesson = library.find("03b-from-weight-to-output")
    assert lesson is not None
    file = written(tmp_path, material._student(lesson))
    context = browser.new_context(offline=True)
    page, complaints = context.new_page(), []
    page.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(file.as_uri())
    forms = page.locator("form")
    expect(forms).to_have_count(7)
    first = forms.nth(0)
    picture = page.locator(".drawing").nth(1)
    expect(picture).to_be_hidden()
    first.get_by_role("spinbutton").fill("4")
    first.get_by_role("button", name="Answer").click()
    expect(first.get_by_role("status")).to_contain_text("Not quite. The answer is: 3.")
    expect(picture).to_be_visible()
    forms.nth(3).get_by_role("combobox").nth(0).select_option("animal")
    forms.nth(3).get_by_role("button", name="Answer").click()
    expect(forms.nth(3).get_by_role("status")).to_contain_text("Answer all parts")
    forms.nth(4).get_by_role("radio").nth(1).check()
    forms.nth(4).get_by_role("button", name="Answer").click()
    expect(forms.nth(4).get_by_role("status")).to_contain_text("Right.")
    forms.nth(6).get_by_role("textbox").fill("Länge und Gewicht.")
    forms.nth(6).get_by_role("button", name="Answer").click()
    found, answers = codes.read(page.locator("#code").input_value())
    assert found.name == lesson.name
    assert answers == {1: 4.0, 5: 1, 7: "Länge und Gewicht."}
    assert complaints == []
    context.close()
