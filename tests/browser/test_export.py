"""Comparison and export in a real Chromium: a click selects in all maps, files are saved, a report opens by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

import encoder
from encoder import export
from encoder.export import report
from encoder.measure import align
from encoder.run import ModelSpec
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

#: What is drawn wider than the page, and how wide the drawings are.
WIDE = """() => {
  const page = document.querySelector(".stMainBlockContainer").getBoundingClientRect();
  const drawn = [...document.querySelectorAll(".stMain .enc-root :is(svg.main-svg, canvas)")];
  const boxes = drawn.map(one => one.getBoundingClientRect()).filter(one => one.width);
  return { beyond: boxes.filter(one => one.right > page.right + 1 || one.left < page.left - 1).length,
           widths: boxes.map(one => Math.round(one.width)) };
}"""


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


@pytest.mark.slow("another form of the same export")
def test_a_comparison_is_clicked_and_exported(visit: Callable[..., Page], tmp_path: Path) -> None:
    page = visit(f"/heads?view=beside&compare=sentences&layer=1&head=8&text={quote(RIVER)}&text_b={quote(MONEY)}")
    maps = page.locator(MAP)
    page.wait_for_function("() => document.querySelectorAll('.stMain .nsewdrag').length === 3")
    expect(maps).to_have_count(3)
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
    expect(alone.locator(".grid image")).to_have_count(1)  # one picture of all heads
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


#: A fainter line changes no pixel and is not drawn.
FAINTEST = 1 / 255
#: Words of a text -> as many tokens with [CLS] and [SEP].
WORDS = "the cat sat on the mat and looked at the dog while it rained outside ,".split()


@pytest.mark.slow("another form of the same export")
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
        file.write_text(report.page(model, ModelSpec(), one), "utf-8")
        assert file.stat().st_size < 1_500_000
        alone.goto(file.as_uri())
        grounds = []
        for theme, width in (("dark", 390), ("light", 1280)):
            alone.emulate_media(color_scheme=theme)
            alone.set_viewport_size({"width": width, "height": 720})
            assert alone.evaluate("document.scrollingElement.scrollWidth") <= width
            grounds.append(alone.evaluate("getComputedStyle(document.querySelector('.drawing')).backgroundColor"))
        assert grounds == ["rgb(20, 22, 28)", "rgb(255, 255, 255)"]
        if name == "text":
            selected_units = alone.locator(".enc-text-unit.enc-selected")
            assert selected_units.all_text_contents() == [trace.labels[token] for token in selected]
            answers(alone, alone.locator(".enc-text-unit").nth(3), "is attended to most by")
            expect(alone.locator(".enc-text-top")).to_contain_text("mean attention weight")
            continue
        assert alone.locator(".enc-lines-from b").all_text_contents() == list(trace.labels)
        with alone.expect_download() as waiting:
            alone.get_by_role("button", name="SVG").click()
        assert waiting.value.suggested_filename.endswith("as-lines.svg")
        # Where tokens are selected, the lines of all others are faint behind theirs.
        drawn = lines_of(Path(waiting.value.path()).read_text(encoding="utf-8"))
        least = (one.weights >= max(FAINTEST, one.threshold)).sum()
        assert drawn == min(4_000, (one.frame()["weight"] >= FAINTEST).sum()) + (min(600, least) if one.queries else 0)
        if name == "haze":
            says_a_line(alone, one.weights, trace.labels)
        answers(alone, alone.locator(".enc-lines-from .enc-lines-token").nth(3), "attends most to")
    context.close()
    assert not complaints, "\n".join(complaints)


def lines_of(svg: str) -> int:
    """The number of lines in a saved picture."""
    return sum(path.count("L") for path in re.findall(r'<path d="([^"]*)"', svg))


def says_a_line(page: Page, weights: np.ndarray, labels: Sequence[str]) -> None:
    """Pointing at a line says which weight it is: the last query's weights in all heads end at the left side."""
    canvas = page.locator(".enc-lines canvas")
    canvas.scroll_into_view_if_needed()
    # The scroll event comes with the next frame, and hides a tip.
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 3, box["y"] + box["height"] / len(labels) / 2)
    tip = page.locator(".enc-tip:popover-open")
    tip.wait_for()
    said = re.fullmatch(r"(L\d H\d+): (\S+)( \(\d+\))? → .*: ([\d.e-]+)", tip.text_content() or "")
    assert said is not None
    assert said[2] == labels[0]
    head = ["L0 H1", "L0 H2", "L0 H8", "L0 H11"].index(said[1]) if said[1].startswith("L0") else None
    rows = weights[:, 0] if head is None else weights[[head], 0]
    assert np.abs(rows - float(said[4])).min() < 6e-3 * float(said[4])
    page.mouse.move(1, 1)
    expect(tip).to_have_count(0)


def answers(page: Page, token: Locator, verb: str) -> None:
    """Pointer, click and keys show what one token attends to; Escape clears the selection."""
    said = page.locator(".enc-aloud")
    looked_at = re.compile(rf"^sat( \(\d+\))? {verb} .* 0\.\d+")
    page.locator("[role=application]").focus()
    page.keyboard.press("Escape")
    expect(page.locator(".enc-selected")).to_have_count(0)
    expect(said).to_have_text(re.compile("^Point at"))
    token.hover()
    expect(said).to_have_text(looked_at)
    page.mouse.move(1, 1)
    expect(said).to_have_text(re.compile("^Point at"))
    token.click()
    page.mouse.move(1, 1)
    expect(token).to_have_class(re.compile("enc-selected"))
    expect(said).to_have_text(looked_at)
    page.emulate_media(color_scheme="dark")  # what the reader selected outlives the theme
    expect(page.locator(".drawing")).to_have_css("background-color", "rgb(20, 22, 28)")
    page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    expect(token).to_have_class(re.compile("enc-selected"))
    expect(said).to_have_text(looked_at)
    page.keyboard.press("Escape")
    expect(page.locator(".enc-selected")).to_have_count(0)
    step = "ArrowDown" if "attends" in verb else "ArrowRight"
    for _ in range(4):  # the first key shows where the cursor is
        page.keyboard.press(step)
    expect(said).to_have_text(looked_at)
    page.keyboard.press("Enter")
    expect(token).to_have_class(re.compile("enc-selected"))
    page.keyboard.press("Escape")
    expect(page.locator(".enc-selected")).to_have_count(0)


@pytest.mark.slow("another form of the same export")
def test_a_long_text_keeps_its_selection_in_a_report(browser: Browser, tmp_path: Path) -> None:
    """Its weights are not in the file, so nothing could shade another selection."""
    model = encoder.build(
        encoder.EncoderConfig(vocab_size=30_522, d_model=24, n_layers=1, n_heads=2, d_ffn=40, max_positions=1_024),
        encoder.load("minilm", device="cpu").tokenizer,
        seed=1,
    )
    view = export.text(model.trace("a b c " * 250), 0, 1, selected=[3])
    file = tmp_path / "long.html"
    file.write_text(report.page(model, ModelSpec(), view), "utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    units = page.locator(".enc-text-unit")
    expect(units).to_have_count(752)
    units.nth(5).click()
    page.keyboard.press("Escape")
    expect(page.locator(".enc-selected")).to_have_count(1)
    expect(units.nth(3)).to_have_class(re.compile("enc-selected"))
    page.close()


@pytest.mark.slow("another form of the same export")
def test_a_notebooks_frame_is_as_high_as_its_picture(browser: Browser) -> None:
    model = encoder.load("minilm", device="cpu")
    trace = model.trace("The cat sat on the mat.")
    complaints: list[str] = []
    page = browser.new_page(viewport={"width": 800, "height": 900})
    collect_complaints(page, "about:", complaints)
    for view in (export.lines(trace, [(0, 2), (1, 8)]), export.text(trace, 3, 3)):
        page.set_content(view.picture()._repr_html_())
        inside = page.frame_locator("iframe")
        inside.locator(".enc-drawn").wait_for()
        page.wait_for_function(
            """() => {
              const frame = document.querySelector('iframe');
              const { scrollHeight, offsetHeight } = frame.contentDocument.documentElement;
              return scrollHeight <= frame.clientHeight && frame.clientHeight - offsetHeight < 2;
            }"""
        )
        inside.get_by_text("cat", exact=True).first.hover()
        expect(inside.locator(".enc-aloud")).to_have_text(re.compile(r"^cat .*attend.* 0\.\d+"))
    page.close()
    assert not complaints, "\n".join(complaints)


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
        page.keyboard.press("Enter")  # by keyboard only
        part.get_by_text(said, exact=True).wait_for()
        expect(field).to_have_value(whole)
        paste.fill("")
        paste.press("Control+v")
        expect(paste).to_have_value(expected)


@pytest.mark.parametrize("address", ["/heads", pytest.param("/?start=1", marks=pytest.mark.slow("another picture"))])
def test_a_printed_page_has_its_pictures_whole_and_no_bar(visit: Callable[..., Page], address: str) -> None:
    page = visit(address, width=1366, height=768)
    page.locator(".stMain .enc-drawn :is(svg.main-svg, .enc-model-bands)").first.wait_for()
    settle(page)
    before = page.evaluate(WIDE)
    page.emulate_media(media="print")
    page.evaluate("() => { dispatchEvent(new Event('beforeprint')); }")
    assert not page.evaluate(WIDE)["beyond"], "at once: the browser makes the pages now"
    expect(page.locator(".enc-pages")).to_be_hidden()
    page.evaluate("() => { dispatchEvent(new Event('afterprint')); }")
    page.emulate_media(media="screen")
    page.wait_for_function(f"before => JSON.stringify(({WIDE})()) === JSON.stringify(before)", arg=before)
