"""At 1366 x 768 the main picture of every page with a map has 900 x 520 pixels, its cells in the window and a name for
each row. A map of few pairs is as high as its rows need, and the names of its columns are in the window too. A larger
screen has larger maps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.conftest import go

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

SENTENCE = "text=The+animal+didn%27t+cross+the+street+because+it+was+too+tired."
#: Every page with a map, and its parts that have one; never the same page twice in a row, so that a page that is there
#: is the one that was opened. Not Pre/post-norm, whose two maps and their difference stand in a row.
WITH_MAP = [
    f"/?start=1&{SENTENCE}", f"/heads?{SENTENCE}", f"/contribution?beyond=moves&{SENTENCE}",
    f"/heads?all_heads=roles&{SENTENCE}", f"/contribution?beyond=rollout&{SENTENCE}",
    f"/heads?all_heads=corpus&{SENTENCE}", f"/contribution?beyond=plane&{SENTENCE}", f"/positions?{SENTENCE}",
    f"/norms?{SENTENCE}", f"/positions?positions_part=encoding&{SENTENCE}", f"/interventions?{SENTENCE}",
    f"/feed_forward?{SENTENCE}", f"/interventions?intervention=patching&{SENTENCE}",
    "/predict?model=digit-words&predict=caption", f"/texts?{SENTENCE}&explain=pairs", "/texts?explain=map",
]  # fmt: skip
LEAST = (900, 520)
#: Pages whose map is measured on a larger screen too.
LARGER = (f"/heads?{SENTENCE}", f"/norms?{SENTENCE}")
#: A page whose map is as high as its rows need.
LOW = "/texts?text"
#: A page whose largest map follows the input.
BELOW = "/predict"
DRAWN = """() => document.querySelector(".stMain :is(.enc-plot, .enc-model).enc-drawn")"""
#: [width, height] of the largest drawing, and of its map, the cells without labels; the lower edges of the cells and of
#: the drawing.
LARGEST = """() => {
  const size = (one) => { const box = one.getBoundingClientRect(); return [box.width, box.height]; };
  const drawings = [...document.querySelectorAll(".stMain :is(.enc-plot, .enc-model)")];
  const [first] = drawings.sort((a, b) => size(b)[0] * size(b)[1] - size(a)[0] * size(a)[1]);
  const cells = first?.querySelector(".plot .hm, .heatmaplayer image");
  return [first ? size(first) : [0, 0], cells ? size(cells) : null, cells?.getBoundingClientRect().bottom ?? 0,
    first?.getBoundingClientRect().bottom ?? 0];
}"""
#: [rows, names of rows] of every map of up to 24 rows that have names, not numbers.
ROWS = """() => [...document.querySelectorAll(".stMain .js-plotly-plot")].flatMap((one) => {
  const maps = one.data.filter((trace) => trace.type === "heatmap" && trace.visible !== false);
  const rows = maps.length === 1 && one._fullLayout.yaxis.tickmode === "array" ? maps[0].z.length : 0;
  return rows && rows <= 24 ? [[rows, one.querySelectorAll(".ytick text").length]] : [];
})"""


@pytest.mark.slow("loads sixteen pages at one size")
def test_the_main_picture_has_room_on_a_laptop_and_more_on_a_larger_screen(visit: Callable[..., Page]) -> None:
    page = visit(WITH_MAP[0], width=1366, height=768)
    page.wait_for_function(DRAWN)
    small, sizes = [], {}
    for path in WITH_MAP:
        if path != WITH_MAP[0]:
            go(page, path, wait_for=DRAWN)
        sizes[path], cells, of_cells, of_drawing = page.evaluate(LARGEST)
        width, height = sizes[path]
        least = 0 if path.startswith(LOW) else LEAST[1]
        if width < LEAST[0] or height < least or (cells and cells[0] < width / 2):
            small.append(f"{path}: {width:.0f} x {height:.0f}, cells {cells}")
        lower = of_drawing if path.startswith(LOW) else of_cells
        if lower > 768 and not path.startswith(BELOW):
            small.append(f"{path}: ends at {lower:.0f}")
        small += [f"{path}: {named} names for {rows} rows" for rows, named in page.evaluate(ROWS) if named < rows]
    assert not small, "\n".join(small)

    page.set_viewport_size({"width": 1920, "height": 1080})
    for path in LARGER:
        go(page, path, wait_for=DRAWN)
        size = page.evaluate(LARGEST)[0]
        assert all(larger > before for before, larger in zip(sizes[path], size, strict=True)), f"{path}: {size}"
