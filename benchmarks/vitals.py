"""Web vitals of the app, from the browser's own entries: largest paint, layout shifts, from a click to the next paint.

The goals are stricter than those of web.dev/articles/vitals ("good": 2.5 s, 0.1, 200 ms).
"""

import statistics
from collections.abc import Iterator
from typing import Any

from benchmarks import report, serving
from benchmarks.report import Figure
from tests.conftest import settle

LARGEST_PAINT_SECONDS, SHIFT, NEXT_PAINT_SECONDS = 1.5, 0.05, 0.2
#: A head's map, with a sentence of 12 tokens in it.
HEADS = "/heads?text=The+cat+sat+on+the+mat+because+it+was+tired."
TOKENS = 12
CELLS = '[aria-roledescription="heat map"] .nsewdrag'
#: After a page has settled, late shifts and paints are waited for.
LATE_MS = 1500

#: Run before a page's own scripts. A page's shift is its worst session window: shifts less than 1 s apart, 5 s at most.
OBSERVE = """(() => {
  const vitals = window.vitals = { paint: 0, shift: 0, clicks: {} };
  const observe = (type, take, more) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true, ...more });
  observe("largest-contentful-paint", (entry) => { vitals.paint = entry.startTime; });
  let session = { first: 0, last: 0, sum: 0 };
  observe("layout-shift", ({ hadRecentInput, startTime, value }) => {
    if (hadRecentInput) return;
    const isNew = startTime - session.last > 1000 || startTime - session.first > 5000;
    if (isNew) session = { first: startTime, last: startTime, sum: 0 };
    session.last = startTime;
    session.sum += value;
    vitals.shift = Math.max(vitals.shift, session.sum);
  });
  observe("event", ({ interactionId, duration }) => {
    if (interactionId) vitals.clicks[interactionId] = Math.max(vitals.clicks[interactionId] ?? 0, duration);
  }, { durationThreshold: 16 });
})();
"""


def figures(browser: Any, app: serving.App, repeats: int) -> Iterator[Figure]:
    """The largest paint of "/", the shift of each page, and the next paint after a click on a cell.

    repeats: the number of visits to "/", and of clicks. The server has answered before: it is warm.
    """
    paints = [visit(browser, app.url, "/")["paint"] / 1000 for _ in range(repeats)]
    yield _of("largest contentful paint of /", paints, statistics.median(paints), LARGEST_PAINT_SECONDS)
    for folder, path in serving.addresses().items():
        shift = visit(browser, app.url, path)["shift"]
        yield Figure("browser", f"cumulative layout shift, {folder}", "", shift, target=SHIFT)
    clicks = click_cells(browser, app.url, repeats)
    yield _of("click on a cell to the next paint, worst", clicks, max(clicks), NEXT_PAINT_SECONDS)


def visit(browser: Any, url: str, path: str) -> dict[str, Any]:
    """The vitals of a page that a new visitor opens, without any input. Times in milliseconds."""
    page = _open(browser, url + path)
    try:
        return page.evaluate("vitals")
    finally:
        page.context.close()


def click_cells(browser: Any, url: str, repeats: int) -> list[float]:
    """Seconds from a click on a cell to the next paint, for cells on the diagonal: the slowest event of each click."""
    page = _open(browser, url + HEADS)
    try:
        cells = page.locator(CELLS).first
        for number in range(repeats):
            box = cells.bounding_box()
            share = (number % TOKENS + 0.5) / TOKENS
            cells.click(position={"x": box["width"] * share, "y": box["height"] * share})
            settle(page)
            page.wait_for_timeout(LATE_MS)
        durations = page.evaluate("Object.values(vitals.clicks)")
    finally:
        page.context.close()
    # The browser reports no event below 16 ms.
    return [duration / 1000 for duration in durations] or [0.016]


def _open(browser: Any, address: str) -> Any:
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(120_000)
    context.add_init_script(OBSERVE)
    page = context.new_page()
    page.goto(address)
    settle(page)
    page.wait_for_timeout(LATE_MS)
    return page


def _of(what: str, series: list[float], value: float, target: float) -> Figure:
    raw = {"median": report.seconds(statistics.median(series)), "worst": report.seconds(max(series))}
    return Figure("browser", what, "", value, unit="s", target=target, raw=raw)
