"""Compare and take away in a real Chromium: a click selects in all maps, files come down, the report opens alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import pandas as pd
import pytest
from encoder.export.lines_picture import FAINTEST
from playwright.sync_api import expect

import encoder
from encoder import export
from encoder.export import python_code, report
from encoder.measure import align
from tests.browser.test_main_flow import LABELS, MAP
from tests.conftest import collect_complaints, query, settle
from tests.test_report import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Download, Locator, Page

pytestmark = pytest.mark.browser

RIVER, MONEY = "We sat on the bank of the river.", "We took our money to the bank."
TYPED = HOSTILE.replace("\x00", "").strip()
#: No clipboard interface, as in a page that came over plain http from another machine.
WITHOUT_CLIPBOARD = "() => Object.defineProperty(navigator, 'clipboard', { value: undefined })"


def opened(page: Page) -> Locator:
    """The part "Export and share", unfolded."""
    part = page.get_by_test_id("stExpander").filter(has_text="Export and share")
    part.locator("summary").click()
    part.get_by_role("button", name="HTML report").wait_for()
    return part


def fetched(page: Page, part: Locator, name: str) -> Download:
    with page.expect_download(timeout=120_000) as waiting:
        part.get_by_role("button", name=name, exact=True).click()
    return waiting.value


def test_a_comparison_is_clicked_and_exported(visit: Callable[..., Page], tmp_path: Path) -> None:
    page = visit(f"/compare?compare=sentences&layer=1&head=8&text={quote(RIVER)}&text_b={quote(MONEY)}")
    maps = page.locator(MAP)
    page.wait_for_function("() => document.querySelectorAll('.stMain .nsewdrag').length === 4")
    expect(maps).to_have_count(4)
    model = encoder.load("minilm", device="cpu")
    steps = align.align_traces(model.trace(RIVER), model.trace(MONEY))
    select_cell(page, 2, 1, 0, len(steps))
    page.wait_for_function("() => new URL(location).searchParams.get('i') === '1'")
    settle(page)
    assert query(page)["j"] == "0"
    # The selection is one: every map frames it, and the words and the table are about it.
    page.get_by_role("button", name="Clear selection").wait_for()
    part = opened(page)
    table = pd.read_csv(fetched(page, part, "CSV").path(), keep_default_na=False)
    assert len(table) == len(steps) ** 2
    report = fetched(page, part, "HTML report")
    assert report.suggested_filename == "Two-sentences-L1-H8-and-L1-H8.html"
    assert Path(report.path()).stat().st_size > 1_000_000


def select_cell(page: Page, number: int, row: float, column: float, side: int) -> None:
    """Click a cell of the map of this number, once the label at the pointer shows that it is drawn."""
    plot = page.locator(f"{MAP} .nsewdrag").nth(number)
    for attempt in range(600):
        plot.scroll_into_view_if_needed()  # again each time: what appears above it moves it
        box = plot.bounding_box()
        if box is not None:
            x = box["x"] + (column + 0.5) * box["width"] / side + attempt % 2
            y = box["y"] + (row + 0.5) * box["height"] / side
            page.mouse.move(x, y)
            page.wait_for_timeout(100)
            if page.evaluate(LABELS):
                page.mouse.click(x, y)
                return
    raise AssertionError("no cell ever said what it is")


def test_a_report_opens_without_a_server_or_a_network(
    visit: Callable[..., Page], browser: Browser, tmp_path: Path
) -> None:
    page = visit(f"/?text={quote(TYPED)}&layer=2&head=3&i=2")
    part = opened(page)
    file = tmp_path / "report.html"
    fetched(page, part, "HTML report").save_as(file)
    complaints: list[str] = []
    context = browser.new_context(offline=True, color_scheme="dark")
    alone = context.new_page()
    collect_complaints(alone, "file:", complaints)
    alone.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    alone.goto(file.as_uri())
    plot = alone.locator(".figure .nsewdrag").first
    plot.wait_for()
    assert alone.locator("blockquote").inner_text() == TYPED
    assert alone.locator("img").count() == 0
    expect(alone.locator(".grid image")).to_have_count(72)
    plot.hover(position={"x": 20, "y": 20})
    label = alone.locator(".hoverlayer .hovertext")
    label.wait_for()
    assert "attends to" in (label.text_content() or "")
    drawn = "colour => document.querySelector('.figure .main-svg').style.background.includes(colour)"
    alone.wait_for_function(drawn, arg="rgb(20, 22, 28)")
    alone.emulate_media(color_scheme="light")
    alone.wait_for_function(drawn, arg="rgb(255, 255, 255)")
    with alone.expect_download() as waiting:
        alone.locator('.modebar-btn[data-title*="PNG" i], .modebar-btn[data-title*="png" i]').first.click()
    assert waiting.value.suggested_filename == "L2-H3.png"
    context.close()
    assert not complaints, "\n".join(complaints)


#: Words of a text -> as many tokens with [CLS] and [SEP].
WORDS = "the cat sat on the mat and looked at the dog while it rained outside ,".split()


@pytest.mark.parametrize("n_tokens", [8, 128])
def test_lines_and_text_open_without_a_server_or_a_network(browser: Browser, n_tokens: int, tmp_path: Path) -> None:
    model = encoder.load("minilm", device="cpu")
    trace = model.trace(" ".join((WORDS * 9)[: n_tokens - 2]))
    assert trace.n_tokens == n_tokens
    selected = [2, n_tokens - 3]
    heads = [(layer, head) for layer in (0, 1, 4) for head in (1, 2, 8, 11)]
    seen = {
        "lines": export.lines(trace, heads, queries=selected, threshold=0.02),
        "haze": export.lines(trace, heads),
        "text": export.text(trace, 3, 3, direction="from", selected=selected),
    }
    complaints: list[str] = []
    context = browser.new_context(offline=True)
    alone = context.new_page()
    collect_complaints(alone, "file:", complaints)
    for name, one in seen.items():
        file = tmp_path / f"{name}.html"
        file.write_bytes(report.file(".html", model, python_code.ModelOrigin(), one))
        assert file.stat().st_size < 1_500_000
        alone.goto(file.as_uri())
        grounds = []
        for theme, width in (("light", 1280), ("dark", 390)):
            alone.emulate_media(color_scheme=theme)
            alone.set_viewport_size({"width": width, "height": 720})
            assert alone.evaluate("document.scrollingElement.scrollWidth") <= width
            grounds.append(alone.evaluate("getComputedStyle(document.querySelector('.seen')).backgroundColor"))
        assert grounds == ["rgb(255, 255, 255)", "rgb(20, 22, 28)"]
        if name == "text":
            assert alone.locator(".seen .selected").all_text_contents() == [trace.labels[token] for token in selected]
            answers(alone, alone.locator(".seen-text p span").nth(3), "sat", "is attended to most by")
            continue
        assert alone.locator(".seen-from b").all_text_contents() == list(trace.labels)
        drawn = alone.evaluate(LINES_DRAWN)
        assert drawn["count"] == min(4_000, int((one.frame()["weight"] >= FAINTEST).sum()))
        assert drawn["astray"] == 0
        answers(alone, alone.locator(".seen-from > div").nth(3), "sat", "attends most to")
    context.close()
    assert not complaints, "\n".join(complaints)


#: Every element of a picture with its attributes, in no order of these.
ELEMENTS = """(picture) => [picture.textContent, ...[...picture.querySelectorAll('*')].map((one) => (
  [one.tagName, ...[...one.attributes].filter(({ value }) => value)
    .map(({ name, value }) => `${name}=${value}`).sort()].join(' ')))]"""


def answers(page: Page, token: Locator, name: str, verb: str) -> None:
    """Pointer, keys and click look at a token alone; Escape brings back the picture as it was."""
    said, picture = page.locator(".seen-says"), page.locator(".seen")
    before = picture.evaluate(ELEMENTS)
    looked_at = re.compile(rf"^{name}( \(\d+\))? {verb} .* 0\.\d+")
    token.hover()
    expect(said).to_have_text(looked_at)
    expect(token).to_have_class(re.compile("selected"))
    page.mouse.move(1, 1)
    expect(said).to_have_text(re.compile("^Point at"))
    assert picture.evaluate(ELEMENTS) == before
    page.locator("[role=application]").focus()
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    expect(said).to_have_text(looked_at)
    page.keyboard.press("Escape")
    token.click()
    page.mouse.move(1, 1)
    expect(said).to_have_text(looked_at)
    page.keyboard.press("Escape")
    assert picture.evaluate(ELEMENTS) == before


#: How many lines a report has, and how many of them do not end at the tokens that their label names, in their order.
LINES_DRAWN = """() => {
  const rows = (side) => [...document.querySelectorAll(`.seen-${side} div`)].map((row) => row.getBoundingClientRect());
  const [left, right] = [rows('from'), rows('to')];
  const at = (side, y) => side.findIndex((row) => Math.abs((row.top + row.bottom) / 2 - y) < 1);
  const titles = [...document.querySelectorAll('.seen-from > div')].map((row) => row.title.split('\\n')[0]);
  const bare = titles.map((title) => title.replace(/ \\(\\d+\\)$/, ''));
  const names = titles.map((title, k) => (bare.filter((name) => name === bare[k]).length > 1 ? title : bare[k]));
  const lines = [...document.querySelectorAll('.seen-body path')];
  const astray = lines.filter((line) => {
    const [from, to] = [line.getPointAtLength(0), line.getPointAtLength(line.getTotalLength())]
      .map((point) => point.matrixTransform(line.getScreenCTM()));
    const [i, j] = [at(left, from.y), at(right, to.y)];
    return !line.textContent.includes(`: ${names[i]} → ${names[j]}: `) || Math.abs(from.x - left[0].right) > 2
      || Math.abs(to.x - right[0].left) > 2;
  });
  return { count: lines.length, astray: astray.length };
}"""


def test_the_link_is_copied_with_and_without_the_text(visit: Callable[..., Page]) -> None:
    page = visit("/?text=a+secret&layer=2&head=3", permissions=["clipboard-read", "clipboard-write"])
    part = opened(page)
    field = part.get_by_label("Link to this view")
    whole = field.input_value()
    assert urlsplit(whole).query == urlsplit(page.url).query
    page.evaluate("() => { document.body.append(Object.assign(document.createElement('textarea'), { id: 'paste' })); }")
    paste = page.locator("#paste")
    copies = [
        ("Copy link", "The link is copied.", whole),
        ("Copy without the text", "The link is copied, without your text.", whole.replace("text=a+secret&", "")),
    ]
    for number, (name, said, expected) in enumerate(copies * 2):
        if number == len(copies):
            page.evaluate(WITHOUT_CLIPBOARD)
        button = part.get_by_role("button", name=name)
        button.focus()
        page.keyboard.press("Enter")  # by keyboard alone
        part.get_by_text(said, exact=True).wait_for()
        expect(field).to_have_value(whole)
        paste.fill("")
        paste.press("Control+v")
        expect(paste).to_have_value(expected)
