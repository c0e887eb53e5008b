"""A lesson as a file: it runs without a server, and its code holds the answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from encoder.export.document import document
from encoder.export.javascript import joined
from pages.core.frame.frame import import_params
from pages.core.teaching.lessons import codes, library
from pages.lessons import material

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def test_a_lesson_runs_without_a_server(browser: Browser, tmp_path: Path) -> None:
    import_params()
    lesson = library.find("03b-from-weight-to-output")
    assert lesson is not None
    css = (material.HERE / "material.css").read_text(encoding="utf-8")
    scripts = (joined(material.HERE / "student.js"),)
    file = tmp_path / "lesson.html"
    file.write_text(document("A lesson", list(material._student(lesson)), scripts=scripts, css=css), encoding="utf-8")
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
