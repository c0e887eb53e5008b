"""Words with boxes and nodes of HTML in a real Chromium: the example, a click on a word, another head; drawn boxes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.conftest import Server, Tab, check_width, query, settle, tab_with_models

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a LayoutLMv3 and a MarkupLM."""
    from tests.pages import on_page  # torch takes seconds in each process

    return on_page.write(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def opened(browser: Browser, serve: Callable[..., AbstractContextManager[Server]], folder: Path) -> Iterator[Tab]:
    """A tab of the app, which offers these models."""
    with tab_with_models(browser, serve, folder) as found:
        yield found


@pytest.fixture
def tab(opened: Tab) -> Iterator[Tab]:
    """The same tab of another visitor."""
    yield opened
    assert not opened.complaints
    opened.leave()


#: Of each model: the button of its example, words of the page to click, how many there are, a relation.
PAGES = {
    "layout": ("Show an invoice", ("Atlas", "Total"), 24, "above"),
    "markup": ("Show a report", ("title: Harbour report", "b: 412 ships"), 16, "next"),
}


@pytest.mark.parametrize(
    ("source", "size"),
    [("layout", (1366, 768)), ("layout", (390, 844)), ("markup", (390, 844))],
    ids=["laptop", "phone", "phone, nodes"],
)
def test_a_word_is_clicked_at_its_place(tab: Tab, source: str, size: tuple[int, int]) -> None:
    example, clicked, count, relation = PAGES[source]
    page = tab.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{tab.server}/heads?model=other&source={source}&layer=1&head=3")
    settle(page)
    page.get_by_role("button", name=example).click()
    settle(page)
    said, words = page.locator(".st-key-answer"), page.locator(".textpoint text")
    expect(words).to_have_count(count)
    for name in clicked:
        words.get_by_text(name, exact=True).scroll_into_view_if_needed()
        settle(page)  # the page scrolls, and the word with it
        box = words.get_by_text(name, exact=True).bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect(said).to_contain_text(f"{name} attends most to")
        settle(page)
    check_width(page)
    page.locator(f"[class*=st-key-page-most-{relation}] button").click()
    settle(page)
    expect(said).to_contain_text(f"{clicked[-1]} attends most to")


def sheet_of(tab: Tab, more: str = "") -> Page:
    page = tab.page
    page.goto(f"{tab.server}/heads?model=other&source=layout&layer=1&head=3{more}")
    settle(page)
    return page


def place(page: Page, x: int, y: int) -> tuple[float, float]:
    """A place of the page with boxes, in thousandths -> in the window."""
    box = page.locator(".enc-boxes-page").bounding_box()
    assert box is not None
    return box["x"] + 1 + x * (box["width"] - 2) / 1000, box["y"] + 1 + y * (box["height"] - 2) / 1000


def drag(page: Page, start: tuple[int, int], end: tuple[int, int]) -> None:
    settle(page)  # the run moves what is below the sentence
    page.mouse.move(*place(page, *start))
    page.mouse.down()
    page.mouse.move(*place(page, *end), steps=3)
    page.mouse.up()


def boxes_in(page: Page) -> list[list[int]]:
    """The boxes of the address."""
    settle(page)
    return [list(map(int, box.split("."))) for box in query(page).get("boxes", "").split("_") if box]


def test_boxes_are_drawn_moved_resized_and_deleted(tab: Tab, folder: Path) -> None:
    from encoder.run import address

    page = sheet_of(tab)
    page.set_viewport_size({"width": 1366, "height": 768})
    page.get_by_role("button", name="Draw boxes").click()
    settle(page)
    drag(page, (100, 100), (300, 150))
    page.keyboard.type("Total")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=Total&**")
    drag(page, (500, 100), (700, 150))
    page.keyboard.type("90.00 EUR")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=Total+90.00+EUR&**")
    drawn = [[100, 100, 300, 150], [500, 100, 700, 150], [500, 100, 700, 150]]  # two words of one box
    assert boxes_in(page) == [[pytest.approx(edge, abs=4) for edge in box] for box in drawn]
    run = address.read({**query(page), "source": str(folder / "layout")})
    trace = run.trace()
    assert trace.places is not None
    first = trace.source.words.index(0)  # a token of Total
    assert trace.places[first].tolist() == boxes_in(page)[0]
    words = page.locator(".textpoint text")
    expect(words).to_have_text(["Total", "90.00", "EUR"])
    drag(page, (200, 125), (250, 325))
    page.wait_for_function("old => location.search.split('boxes=')[1].split('&')[0] !== old", arg=query(page)["boxes"])
    assert boxes_in(page)[0] == [pytest.approx(edge, abs=6) for edge in (150, 300, 350, 350)]
    before = query(page)["boxes"]
    drag(page, (350, 350), (450, 450))  # the corner of the selected box
    page.wait_for_function("old => !location.search.includes(old)", arg=before)
    assert boxes_in(page)[0] == [pytest.approx(edge, abs=8) for edge in (150, 300, 450, 450)]
    page.get_by_role("button", name="Delete the box").click()
    page.wait_for_url("**text=90.00+EUR&**")
    assert len(boxes_in(page)) == 2
    page.get_by_role("button", name="Stop drawing").click()
    settle(page)
    expect(page.locator(".enc-boxes-page")).to_have_count(0)


def test_boxes_are_drawn_with_a_finger_over_an_image(tab: Tab) -> None:
    from encoder.inputs import example_page

    content = BytesIO()
    example_page.page().save(content, "PNG")
    page = sheet_of(tab, "&draw=1")
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("combobox", name="Under the boxes").click()
    page.get_by_role("option", name="An image file").click()
    page.locator("input[type=file]").set_input_files(
        {"name": "a.png", "mimeType": "image/png", "buffer": content.getvalue()}
    )
    page.wait_for_url("**page_image=file-*")
    settle(page)
    sheet = page.locator(".enc-boxes-page.enc-has-ground")
    sheet.scroll_into_view_if_needed()
    assert sheet.evaluate("page => getComputedStyle(page).backgroundImage").startswith("url(")
    finger = page.context.new_cdp_session(page)
    ends = [place(page, 600, 550), place(page, 800, 600)]
    for kind, end in (("touchStart", ends[0]), ("touchMove", ends[1]), ("touchEnd", None)):
        touched: list[Any] = [] if end is None else [{"x": end[0], "y": end[1]}]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touched})
    page.keyboard.type("Thanks")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=Thanks&**")
    assert boxes_in(page) == [[pytest.approx(edge, abs=5) for edge in (600, 550, 800, 600)]]
    check_width(page)
    points = page.locator(".scatterlayer .point")  # of the word, then of the patches of the image
    expect(points).to_have_count(1 + 16)
    points.first.scroll_into_view_if_needed()
    settle(page)
    for at, name in ((0, "Thanks"), (16, "r3 c3"), (0, "Thanks")):
        points.nth(at).click(force=True)
        expect(page.locator(".st-key-answer")).to_contain_text(f"{name} attends most to")


def test_boxes_are_drawn_with_keys(tab: Tab) -> None:
    page = sheet_of(tab, "&draw=1")
    page.get_by_role("button", name="Add a box").focus()
    page.keyboard.press("Enter")
    page.keyboard.type("Sum")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=Sum&**")
    ((left, upper, right, lower),) = boxes_in(page)
    box = page.get_by_role("button", name="Sum. Box 1")
    expect(box).to_be_focused()
    assert box.evaluate("box => getComputedStyle(box).outlineStyle") == "solid"
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Shift+ArrowRight", "Shift+ArrowUp"):
        page.keyboard.press(key)
    page.wait_for_url(f"**boxes={left + 10}.{upper + 5}.{right + 15}.{lower}&**")
    expect(box).to_be_focused()  # also after the run
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type(" of all", delay=300)  # the answer to the arrow key comes meanwhile
    page.keyboard.press("Escape")
    page.wait_for_url("**text=Sum+of+all&**")
    page.get_by_role("button", name="Sum of all. Box 1").press("Delete")
    page.wait_for_function("() => !location.search.includes('boxes=')")
    expect(page.get_by_role("button", name="Add a box")).to_be_focused()
