"""Every page in Chromium, on a projector, on a phone in the dark and at a zoom of 200%: nothing is cut, axe-core finds
no violation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe

from benchmarks.serving import addresses
from tests.conftest import go, settle, wait_until_none

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

SENTENCE = "text=Antidisestablishmentarianism+was+too+much+for+the+animal."
#: A browser that reads this as Markdown or as HTML asks another machine, which fails the test.
HOSTILE = quote("![p](http://foreign.test/m.png) <img src=http://foreign.test/i.png> http://foreign.test")
#: Parts of pages that another address opens; never the same page twice in a row (`go` waits for another page).
PARTS = [
    "/?start=1&step=softmax&i=2&j=5&check=1&" + SENTENCE,
    "/pre_post?model=twin-pre&sides=stream",
    "/?start=1&show=stream&" + SENTENCE,
    "/heads?view=vectors&layer=3&head=7&i=2&j=5&" + SENTENCE,
    "/?start=1&show=cost",
    "/positions?positions_part=encoding&model=scratch&positions=rotary&i=2&j=5&" + SENTENCE,
    "/norms?at=layers.0.ffn_norm&i=0&norm_part=one&" + SENTENCE,
    "/positions?positions_part=similar&model=scratch&positions=sinusoidal&" + SENTENCE,
    f"/heads?view=beside&compare=models&model=other&source={HOSTILE}&text={HOSTILE}",
]

#: Everything to read: prose, captions, headings, tables in the text, formulas.
TEXTS = ", ".join(
    f".stMain {selector}"
    for selector in (
        '[data-testid="stMarkdownContainer"]',
        '[data-testid="stHeading"]',
        '[data-testid="stCaptionContainer"]',
        "table",
        ".katex-display",
        ".katex-display > .katex > .katex-html",
    )
)
#: Elements that are wider than their container, and formulas that their own box cuts. What only a screen reader shows
#: is one pixel wide.
CUT = """selector => {
  const wide = [...document.querySelectorAll(selector)]
    .filter(one => getComputedStyle(one).display !== "inline" && one.clientWidth > 1)
    .filter(one => one.scrollWidth > one.clientWidth)
    .map(one => `${one.textContent.slice(0, 60)}: ${one.scrollWidth} > ${one.clientWidth}`);
  const cut = [...document.querySelectorAll(".stMain .katex-display")].filter(formula => {
    const box = formula.getBoundingClientRect(), base = formula.querySelector(".base").getBoundingClientRect();
    return formula.scrollHeight > formula.clientHeight || base.top < box.top + 3 || base.bottom > box.bottom - 3;
  }).map(formula => `${formula.textContent.slice(0, 60)}: cut above or below`);
  const errors = [...document.querySelectorAll(".katex-error")].map(one => `${one.textContent}: no formula`);
  const main = document.querySelector(".stMain");
  const page = main.scrollWidth > innerWidth ? [`the page: ${main.scrollWidth} > ${innerWidth}`] : [];
  return [...wide, ...cut, ...errors, ...page];
}"""
#: Whether all formulas are typeset and all plots drawn at the current width.
DRAWN = """() => {
  const rows = [...document.querySelectorAll('.stMain [data-testid="stMarkdownContainer"]')];
  return document.fonts.status === "loaded" && !rows.some(row => /\\$\\$|\\\\begin/.test(row.innerText ?? ""))
    && [...document.querySelectorAll(".stMain .js-plotly-plot")].every(plot => plot.querySelector(".main-svg"));
}"""
#: All of axe's rules but those of WCAG's level AAA, whose contrast of 7 no theme of Streamlit has.
ALL = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice", "experimental"]
#: The rules whose result depends on the colour scheme.
OF_COLOUR = ["color-contrast", "link-in-text-block"]
#: (rule, part of the element) of Streamlit's own markup: we have no way to change it, and it does no harm.
EXCEPT = {
    # Code gets the keyboard's focus so that its long lines can be scrolled: another rule demands just that.
    ("focus-order-semantics", 'data-testid="stCode"'),
}
#: Opens the closed parts, which are drawn when they open; how many there were.
OPEN_ALL = """() => [...document.querySelectorAll(".stMain details:not([open]) > summary")]
  .map((summary) => summary.click()).length"""
#: Whether the app has this colour scheme.
HAS_SCHEME = "scheme => getComputedStyle(document.querySelector('.stApp')).colorScheme === scheme"
VIOLATIONS = "async (options) => (await axe.run(options)).violations"
#: What still changes its look: half a colour has half a contrast.
IN_TRANSITION = """() => document.getAnimations().filter((one) => one instanceof CSSTransition)
  .map((one) => one.transitionProperty)"""

#: Buttons, fields and chips whose words are cut, or that reach out of the window.
CUT_CONTROLS = """() => {
  const controls = [...document.querySelectorAll(".stMain :is(button, [role=radio], [data-baseweb=tag], label)")];
  const seen = controls.filter((one) => one.offsetParent && one.clientWidth > 1 && one.textContent.trim());
  const main = document.querySelector(".stMain").getBoundingClientRect();
  return seen.flatMap((one) => {
    const box = one.getBoundingClientRect();
    const words = one.querySelector("p") ?? one;
    const isCut = words.clientWidth > 1 && words.scrollWidth > words.clientWidth + 1;
    const isOut = box.left < main.left - 1 || box.right > main.right + 1;
    return isCut || isOut ? [`${one.textContent.trim().slice(0, 40)}: ${isCut ? "cut" : "outside"}`] : [];
  });
}"""


#: Opaque grounds that almost have the page's colour: their edges show as seams in the dark.
SEAMS = """() => {
  const channels = (colour) => colour.match(/[\\d.]+/g)?.map(Number) ?? [];
  const ground = channels(getComputedStyle(document.querySelector(".stApp")).backgroundColor);
  return [...document.querySelectorAll("body *")].flatMap((one) => {
    const [r, g, b, alpha = 1] = channels(getComputedStyle(one).backgroundColor);
    const off = Math.max(...[r, g, b].map((channel, at) => Math.abs(channel - ground[at])));
    return alpha === 1 && off > 0 && off < 6 ? [`${one.className}: ${[r, g, b]} on ${ground}`] : [];
  });
}"""
#: Canvases of few pixels that are drawn large and smoothed: a strip of separate numbers would look like a gradient.
SMOOTHED = """() => [...document.querySelectorAll(".stMain canvas")]
  .filter((one) => one.width && one.clientWidth > 1.5 * one.width)
  .filter((one) => getComputedStyle(one).imageRendering !== "pixelated")
  .map((one) => `${one.parentElement.className}: ${one.width} pixels on ${one.clientWidth}`)"""


def wait_until_uncut(page: Page, path: str) -> None:
    settle(page)
    page.wait_for_function(DRAWN)
    try:
        wait_until_none(page, CUT, TEXTS)
    except AssertionError as error:
        raise AssertionError(f"{path}: {error}") from error


def violations(page: Page, rules: dict[str, Any]) -> list[str]:
    """What axe finds on a page: rule, element, and the first message about it."""
    wait_until_none(page, IN_TRANSITION)
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(Axe().axe_script)
    found = page.evaluate(VIOLATIONS, {"runOnly": rules, "resultTypes": ["violations"]})
    return [
        f"{rule['id']}: {node['html'][:200]}\n    {node['target']}\n    {node['failureSummary']}"
        for rule in found
        for node in rule["nodes"]
        if not any(rule["id"] == name and part in node["html"] for name, part in EXCEPT)
    ]


def are_well(page: Page) -> None:
    """In both colour schemes nothing is cut, and no rule of axe is violated."""
    for scheme, rules in (("light", {"type": "tag", "values": ALL}), ("dark", {"type": "rule", "values": OF_COLOUR})):
        page.emulate_media(color_scheme=scheme)
        wait_until_uncut(page, scheme)
        assert violations(page, rules) == []


def in_turn(paths: list[str], groups: int) -> list[list[str]]:
    """The paths in some groups: a visitor who goes on has the app's scripts already.

    Each begins with one of the last, which the bar above the page does not have: there `go` looks for the open page.
    """
    return [paths[::-1][first::groups] for first in range(groups)]


def on_projector(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    page.emulate_media(color_scheme="light")
    page.wait_for_function(HAS_SCHEME, arg="light")


def on_dark_phone(page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function(HAS_SCHEME, arg="dark")


def at_twice_the_size(page: Page) -> None:
    """A browser's zoom of 200% on a laptop, in the dark: half as many pixels of the page."""
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 683, "height": 384})
    page.wait_for_function(HAS_SCHEME, arg="dark")
    settle(page)


def open_all(page: Page) -> None:
    """Open the closed parts, and wait until the page has answered: each opened part sends a message of its own."""
    if page.evaluate(OPEN_ALL):
        page.wait_for_timeout(250)
        settle(page)


def wrong_on_projector(page: Page, path: str, *, all_open: bool) -> list[str]:
    """all_open: whether the closed parts open too, here and on the other screens."""
    on_projector(page)
    wait_until_uncut(page, path)
    if not all_open:
        return []
    open_all(page)
    return violations(page, {"type": "tag", "values": ALL})


def wrong_on_dark_phone(page: Page, path: str, *, all_open: bool) -> list[str]:
    on_dark_phone(page)
    wait_until_uncut(page, path)
    assert page.evaluate(SEAMS) == []
    assert page.evaluate(SMOOTHED) == []
    return violations(page, {"type": "rule", "values": [*OF_COLOUR, "list", "listitem"]}) if all_open else []


def wrong_at_twice_the_size(page: Page, path: str, *, all_open: bool) -> list[str]:
    if all_open:
        at_twice_the_size(page)
        open_all(page)
        wait_until_none(page, CUT_CONTROLS)
    return []


SCREENS = (wrong_on_projector, wrong_on_dark_phone, wrong_at_twice_the_size)


def check(page: Page, paths: list[str], *, all_open: bool, screens: Sequence[Callable[..., list[str]]]) -> None:
    """Open each path in a tab that shows the first one; fails with all that is wrong on a screen.

    A change of the screen draws all again, so each page opens on the screen on which the one before was looked at last.
    """
    found, screens = [], [*screens]
    for number, path in enumerate(paths):
        if number:
            go(page, path)
        found += [f"{path}: {one}" for wrong in screens for one in wrong(page, path, all_open=all_open)]
        screens.reverse()
    assert not found, "\n".join(found)


each_page = pytest.mark.parametrize("paths", in_turn([*addresses().values()], 4), ids=lambda paths: paths[0])


@each_page
def test_every_page_opens_and_everybody_can_read_it(visit: Callable[..., Page], paths: list[str]) -> None:
    check(visit(paths[0]), paths, all_open=True, screens=SCREENS[:1])


@pytest.mark.slow("draws every page again on two more screens, and checks it there")
@each_page
def test_every_page_fits_on_every_screen(visit: Callable[..., Page], paths: list[str]) -> None:
    check(visit(paths[0]), paths, all_open=True, screens=SCREENS)


@pytest.mark.slow("loads nine more parts of pages, on two screens")
def test_every_part_fits(visit: Callable[..., Page]) -> None:
    check(visit(PARTS[0]), PARTS, all_open=False, screens=SCREENS)


#: Marks whose box is outside the window, and buttons above the picture that cover one another.
OVERLAPS = """() => {
  const chips = [...document.querySelectorAll(".enc-model-chips button")];
  const boxes = chips.map((one) => [one.title, one.getBoundingClientRect()]);
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  return boxes.flatMap(([name, box], at) => [
    ...(box.left < 0 || box.right > innerWidth ? [`${name} outside`] : []),
    ...boxes.slice(at + 1).filter(([, other]) => meet(box, other)).map(([other]) => `${name} over ${other}`),
  ]);
}"""


@pytest.mark.slow("opens every part of the picture, on two screens")
@pytest.mark.parametrize(("norm", "screen"), [("pre", on_projector), ("post", on_dark_phone)])
def test_every_part_of_the_picture_fits(visit: Callable[..., Page], norm: str, screen: Callable[[Page], None]) -> None:
    page = visit(f"/?start=1&i=3&j=2&text=The+cat+sat+on+the+mat&norm={norm}&model=twin-pre")
    screen(page)
    page.locator(".enc-model-chips button").first.wait_for()
    wait_until_none(page, OVERLAPS)
    for chip in page.locator(".enc-model-chips button").all():
        chip.dispatch_event("click")  # the part that is open may cover it
        page.locator(f".enc-model[data-opened='{chip.get_attribute('data-key')}']").wait_for()
        page.locator(".enc-model-opened h3, .enc-model-opened .enc-model-math").first.wait_for()
        wait_until_uncut(page, chip.get_attribute("title") or "")
        assert page.evaluate(SMOOTHED) == []
