"""The drawing components in a real Chromium: clicks, keys, the theme, and the events that Python gets."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from pages import components
from tests.browser.apps import components_tokens
from tests.conftest import ROOT, Server, Tab, collect_complaints, settle

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.browser

APP = Path(__file__).parent / "apps" / "components_app.py"
TOKENS = components_tokens.TOKENS
N = len(TOKENS)
#: Resolves when the page has not scrolled for ten frames.
STILL = """() => new Promise((done) => {
  let [top, frames] = [NaN, 0];
  const look = () => {
    const now = document.querySelector('.enc-root').getBoundingClientRect().top;
    frames = now === top ? frames + 1 : 0;
    top = now;
    frames < 10 ? requestAnimationFrame(look) : done();
  };
  look();
})"""
#: Whether Python tells of this drawing.
TELLS = "name => JSON.parse(document.querySelector('[data-testid=stCode]')?.innerText ?? '{}').show === name"
SVG = "{http://www.w3.org/2000/svg}"


def install(folder: Path, static: bool) -> Path:
    """The test app in its own folder: its static files stay out of the checkout."""
    for source in (APP, Path(components_tokens.__file__)):
        shutil.copy(source, folder)
    (folder / "static").mkdir()
    (folder / ".streamlit").mkdir()
    (folder / ".streamlit" / "config.toml").write_text(
        "[server]\n"
        f"enableStaticServing = {str(static).lower()}\n"
        'fileWatcherType = "none"\n'
        "[logger]\n"
        'level = "warning"\n'
    )
    return folder / APP.name


@pytest.fixture(scope="module")
def app(serve: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The test app instead of the app, for `visit`."""
    with serve(app=install(tmp_path_factory.mktemp("components"), True), PYTHONPATH=str(ROOT)) as server:
        yield server


@pytest.fixture(scope="module")
def stage(browser: Browser, app: Server) -> Iterator[Tab]:
    """A tab for the tests of this file that need no other: its page is loaded once."""
    tab = Tab(browser, app.url, {})
    tab.page.goto(f"{app.url}/?show=nothing")
    settle(tab.page)
    yield tab
    tab.context.close()


@pytest.fixture
def show(stage: Tab, app: Server) -> Iterator[Callable[[str], Page]]:
    """`page = show("grid")`: a drawing that is made now, on a page whose Python has heard nothing.

    The test fails if there is a warning or an error in the console, or a line in the server's log.
    """
    page, before = stage.page, len(app.log())

    def shown(name: str) -> Page:
        field = page.get_by_role("textbox", name="Show")
        for one in ("nothing", name):
            field.fill(one)
            field.press("Enter")
            page.wait_for_function(TELLS, arg=one)
            settle(page)
        return page

    stage.complaints.clear()
    page.set_viewport_size({"width": 1280, "height": 720})
    page.emulate_media(color_scheme="light")
    page.mouse.move(0, 0)
    yield shown
    assert not stage.complaints, "\n".join(stage.complaints)
    assert not app.log()[before:]


def told(page: Page) -> dict[str, Any]:
    """Python's state: all events of the callback, and the drawn numbers."""
    settle(page)
    return json.loads(page.get_by_test_id("stCode").inner_text())


def wait_heard(page: Page, count: int) -> list[dict[str, Any]]:
    """The events of the callback, once there are exactly `count`."""
    page.wait_for_function(
        "count => JSON.parse(document.querySelector('[data-testid=stCode]').innerText).heard.length >= count", arg=count
    )
    heard = told(page)["heard"]
    assert len(heard) == count, heard
    return heard


def wait_window(page: Page, condition: str) -> None:
    """Wait until the zoom window that Python knows fulfils a condition in JavaScript."""
    page.wait_for_function(
        f"() => JSON.parse(document.querySelector('[data-testid=stCode]').innerText).window {condition}"
    )


def run_again(page: Page) -> dict[str, Any]:
    runs = told(page)["runs"]
    page.get_by_role("button", name="Run again").click()
    page.wait_for_function(
        "runs => JSON.parse(document.querySelector('[data-testid=stCode]').innerText).runs > runs", arg=runs
    )
    return told(page)


def drawn_map(page: Page) -> Locator:
    """The plot with its map, ready for clicks."""
    page.locator(".enc-plot .heatmaplayer image").wait_for()
    return page.locator('[aria-roledescription="heat map"]')


def cell_centre(page: Page, i: int, j: int) -> tuple[float, float]:
    """Where in the window the cell of query i and key j lies while the whole map is shown."""
    box = page.locator(".enc-plot .nsewdrag").bounding_box()
    assert box
    return box["x"] + box["width"] * (j + 0.5) / N, box["y"] + box["height"] * (i + 0.5) / N


def click_cell(page: Page, i: int, j: int) -> None:
    x, y = cell_centre(page, i, j)
    page.mouse.move(x, y)
    page.mouse.click(x, y)


def zoom_in(page: Page) -> None:
    """Drag over the cells 2..4 of both axes."""
    page.mouse.move(*cell_centre(page, 2, 2))
    page.mouse.down()
    page.mouse.move(*cell_centre(page, 4, 4), steps=4)
    page.mouse.up()


# ---- plot ----


@pytest.mark.slow("waits for the first picture of a new server")
def test_a_map_has_labels_pictures_and_one_script(visit: Callable[..., Page], app: Server, tmp_path: Path) -> None:
    page = visit("/?show=plot")
    labels_of_cells_are_what_was_typed_and_the_numbers_that_python_has(page)
    the_label_of_a_cell_returns_after_scrolling(page)
    tick_labels_select_their_tokens(page)
    the_picture_is_exported(page, tmp_path)
    plotly_arrived_once_and_compressed(page, app)


def test_a_click_is_heard_once_with_its_cell_and_shift(show: Callable[[str], Page]) -> None:
    page = show("plot")
    drawn_map(page)
    click_cell(page, 3, 5)
    click = {"event": "click", "axis": "cell", "i": 3, "j": 5, "trace": 0, "shift": False}
    assert wait_heard(page, 1) == [click]
    later = run_again(page)
    assert later["heard"] == [click]
    page.keyboard.down("Shift")
    click_cell(page, 1, 7)
    page.keyboard.up("Shift")
    assert wait_heard(page, 2)[-1] == click | {"i": 1, "j": 7, "shift": True}


DRAW_AGAIN = "() => { const one = document.querySelector('.enc-plot .js-plotly-plot'); return Plotly.redraw(one); }"


def tick_labels_select_their_tokens(page: Page) -> None:
    drawn_map(page)
    count = itertools.count(1)
    for axis, name in (("x", "j"), ("y", "i")):
        labels = page.locator(f".enc-plot .{axis}tick text")
        assert labels.all_text_contents() == TOKENS
        for position in (6, 1):  # "<b>mat</b>", and the first of two equal tokens
            box = labels.nth(position).bounding_box()
            assert box
            page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            heard = wait_heard(page, next(count))[-1]
            assert heard == {"event": "click", "axis": axis, name: position, "shift": False}
        box = labels.nth(2).bounding_box()  # the map is drawn again before the release: the pressed element is gone
        assert box
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.evaluate(DRAW_AGAIN)
        page.mouse.up()
        assert wait_heard(page, next(count))[-1] == {"event": "click", "axis": axis, name: 2, "shift": False}


def labels_of_cells_are_what_was_typed_and_the_numbers_that_python_has(page: Page) -> None:
    drawn_map(page)
    values = told(page)["values"]
    for i, j in [(0, 0), (6, 7), (8, 6)]:
        page.mouse.move(*cell_centre(page, i, j))
        page.wait_for_function(
            "text => document.querySelector('.enc-tip').textContent === text",
            arg=f"{TOKENS[i]} attends to {TOKENS[j]}: {values[i][j]:.3f}",
        )
    expect(page.locator(".enc-tip b")).to_have_count(0)


def the_label_of_a_cell_returns_after_scrolling(page: Page) -> None:
    drawn_map(page)
    x, y = cell_centre(page, 6, 7)
    label = page.locator(".enc-tip:popover-open")
    page.mouse.move(x, y)
    expect(label).to_be_visible()
    page.evaluate("window.dispatchEvent(new Event('scroll'))")
    expect(label).to_be_hidden()
    page.mouse.move(x + 1, y)
    expect(label).to_be_visible()


def test_the_keyboard_alone_selects_a_cell_and_says_where_it_is(show: Callable[[str], Page]) -> None:
    page = show("plot")
    plot = drawn_map(page)
    values = told(page)["values"]
    plot.focus()
    for key in ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowUp"]:
        page.keyboard.press(key)
    # The first key only shows the cursor, on the first cell.
    assert page.locator(".enc-aloud").text_content() == f"the attends to the: {values[1][1]:.3f}"
    box = page.locator(".enc-cursor").first.bounding_box()
    centre = cell_centre(page, 1, 1)
    assert box
    assert box["x"] < centre[0] < box["x"] + box["width"]
    assert box["y"] < centre[1] < box["y"] + box["height"]
    page.keyboard.press("Enter")
    wait_heard(page, 1)
    page.keyboard.press("Shift+Enter")
    wait_heard(page, 2)
    page.keyboard.press("Escape")
    enter, shift_enter, escape = wait_heard(page, 3)
    assert enter == {"event": "click", "axis": "cell", "i": 1, "j": 1, "trace": 0, "shift": False}
    assert shift_enter == enter | {"shift": True}
    assert escape == {"event": "click", "axis": "clear"}
    expect(page.locator(".enc-cursor").first).not_to_be_visible()


@pytest.mark.slow("another way into the same component")
def test_a_zoom_is_sent_and_survives_a_selection(show: Callable[[str], Page]) -> None:
    page = show("plot")
    plot = drawn_map(page)
    whole = page.locator(".enc-plot .xtick").count()
    zoom_in(page)
    wait_window(page, "!== null")
    window = told(page)["window"]
    for low, high in window.values():
        assert 1.5 < low < 2.5
        assert 3.5 < high < 4.5

    plot.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")  # Python answers with a new figure, in which this cell is selected
    (click,) = wait_heard(page, 1)
    assert (click["i"], click["j"]) == (2, 2) or low < click["i"] < high  # the cursor starts where one looks
    assert told(page)["window"] == window
    page.wait_for_function("n => document.querySelectorAll('.enc-plot .xtick').length < n", arg=whole)
    page.locator(".enc-plot .shapelayer path").first.wait_for()

    page.mouse.dblclick(*cell_centre(page, 4, 4), delay=20)
    wait_window(page, "=== null")
    assert {"event": "click", "axis": "clear"} in told(page)["heard"]
    expect(page.locator(".enc-plot .xtick")).to_have_count(whole)


@pytest.mark.slow("another way into the same component")
def test_zooming_by_keyboard(show: Callable[[str], Page]) -> None:
    page = show("plot")
    drawn_map(page).focus()
    page.keyboard.press("+")
    wait_window(page, "!== null")
    zoomed = told(page)["window"]
    assert zoomed["x"][1] - zoomed["x"][0] < N
    page.keyboard.press("0")
    wait_window(page, "=== null")


@pytest.mark.slow("another way into the same component")
def test_a_point_of_another_trace(show: Callable[[str], Page]) -> None:
    page = show("points")
    points = page.locator(".enc-plot .point")
    points.first.wait_for()
    box = points.nth(1).bounding_box()
    assert box
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    page.mouse.click(*middle)
    expected = {"event": "click", "axis": "point", "trace": 0, "point": 1, "x": 1, "y": 2, "shift": False}
    assert wait_heard(page, 1) == [expected]
    page.locator('[aria-roledescription="chart"]').focus()
    page.keyboard.press("ArrowRight")  # shows the first point
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert wait_heard(page, 2)[-1] == expected | {"point": 2, "x": 2, "y": 1}


@pytest.mark.slow("another way into the same component")
def test_what_happens_on_a_chart_without_a_listener_stays_in_the_browser(show: Callable[[str], Page]) -> None:
    page = show("unheard")
    listed, bare = (page.locator(f".st-key-{key} .enc-plot") for key in ("points", "bare"))
    before = told(page)["runs"]
    point = listed.locator(".point").nth(1).bounding_box()
    assert point
    middle = (point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
    page.mouse.move(*middle)
    expect(listed.locator(".hoverlayer .hovertext")).to_have_count(1)
    page.mouse.click(*middle)
    chart = listed.locator('[aria-roledescription="chart"]')
    expect(chart).to_have_accessible_name("Three points. Arrow keys move over the points.")
    chart.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    ranges = [drag_across(page, one) for one in (listed, bare)]
    assert ranges[0][1] - ranges[0][0] < 1.2, "a drag zooms"
    assert ranges[1][1] - ranges[1][0] > 2, "without a mode bar there is no way back"
    expect(bare.locator(".modebar-btn")).to_have_count(0)
    listed.scroll_into_view_if_needed()
    box = listed.locator(".nsewdrag").bounding_box()
    assert box
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, delay=20)
    page.wait_for_function(f"() => ({X_RANGE})(document.querySelector('.st-key-points .enc-plot')).at(-1) > 2")
    page.wait_for_timeout(400)  # longer than a zoom takes to be sent
    assert told(page)["runs"] == before


X_RANGE = "root => root.querySelector('.js-plotly-plot').layout.xaxis.range"


def drag_across(page: Page, chart: Locator) -> list[float]:
    """Drag over the middle of a chart; what its horizontal axis shows then."""
    chart.scroll_into_view_if_needed()
    box = chart.locator(".nsewdrag").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.3)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.7, steps=4)
    page.mouse.up()
    page.wait_for_timeout(300)
    return chart.evaluate(X_RANGE)


def the_picture_is_exported(page: Page, tmp_path: Path) -> None:
    drawn_map(page).hover()
    starts = {"PNG": b"\x89PNG\r\n", "SVG": b"<svg"}
    for kind, start in starts.items():
        with page.expect_download() as waiting:
            page.locator(f'.modebar-btn[data-title="Download as {kind}"]').click()
        assert waiting.value.suggested_filename == f"map.{kind.lower()}"
        waiting.value.save_as(tmp_path / kind)
        assert (tmp_path / kind).read_bytes().startswith(start)


def plotly_arrived_once_and_compressed(page: Page, app: Server) -> None:
    drawn_map(page)
    run_again(page)
    names = page.evaluate("() => performance.getEntriesByType('resource').map(entry => entry.name)")
    (own,) = [name for name in names if "plotly-" in name and name.endswith(".gz")]
    assert own.startswith(f"{app.url}/app/static/plotly-")
    body = page.request.get(own).body()
    assert len(body) < 500_000 < 1_000_000 < len(gzip.decompress(body))


@pytest.mark.slow("starts a server without static files")
def test_without_static_files_plotly_comes_as_a_media_file(
    serve: Callable[..., Any], browser: Browser, tmp_path: Path
) -> None:
    with serve(app=install(tmp_path, False), PYTHONPATH=str(ROOT)) as server:
        complaints: list[str] = []
        page = browser.new_page()
        collect_complaints(page, server.url, complaints)
        page.goto(f"{server.url}/?show=plot")
        drawn_map(page)
        click_cell(page, 2, 2)
        wait_heard(page, 1)
        page.close()
        assert not complaints
        assert not list((tmp_path / "static").iterdir())


# ---- head_grid ----


def grid_cell(page: Page, name: str) -> tuple[float, float]:
    """A place in the window on the map of this head ("L1 H2"), found by the label that hovering shows."""
    page.locator('canvas[aria-roledescription="grid of attention maps"]').wait_for()
    place = page.evaluate(
        """name => {
          const canvas = document.querySelector('.enc-grid canvas');
          const box = canvas.getBoundingClientRect();
          const title = document.querySelector('.enc-grid-tip strong');
          const found = [];
          for (let y = 2; y < box.height; y += 16) for (let x = 2; x < box.width; x += 16) {
            title.textContent = '';
            const place = { clientX: box.left + x, clientY: box.top + y, bubbles: true };
            canvas.dispatchEvent(new PointerEvent('pointermove', place));
            if (title.textContent === name) found.push([box.left + x, box.top + y]);
          }
          canvas.dispatchEvent(new PointerEvent('pointerleave', {}));
          return found[Math.floor(found.length / 2)] ?? null;
        }""",
        name,
    )
    assert place, f"no cell of the grid calls itself {name}"
    return tuple(place)


def test_the_grid_has_labels_opens_pins_and_clears(show: Callable[[str], Page]) -> None:
    page = show("grid")
    labels_of_heads_have_their_measure_and_badge(page)
    page.mouse.click(*grid_cell(page, "L1 H2"))
    assert wait_heard(page, 1) == [{"event": "open", "layer": 1, "head": 2, "shift": False}]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    assert page.locator(".enc-aloud").text_content().startswith("layer 2 head 1")
    page.keyboard.press("Shift+Enter")
    wait_heard(page, 2)
    page.keyboard.press("p")
    wait_heard(page, 3)
    page.keyboard.press("Escape")
    assert wait_heard(page, 4)[1:] == [
        {"event": "open", "layer": 2, "head": 1, "shift": True},
        {"event": "pin", "layer": 2, "head": 1},
        {"event": "clear"},
    ]
    later = run_again(page)
    assert len(later["heard"]) == 4


def labels_of_heads_have_their_measure_and_badge(page: Page) -> None:
    page.mouse.move(*grid_cell(page, "L1 H2"))
    text = page.locator(".enc-grid-tip span").inner_text()
    assert "mean maximum: 0." in text
    assert "previous" in text
    page.mouse.move(*grid_cell(page, "L0 H0"))
    expect(page.locator(".enc-grid-tip span")).to_contain_text("filtered out")
    page.mouse.move(*grid_cell(page, "L2 H0"))
    expect(page.locator(".enc-grid-tip span")).to_contain_text("pinned, 1")


def test_the_outline_moves_before_python_answers(show: Callable[[str], Page]) -> None:
    page = show("grid")
    x, y = grid_cell(page, "L2 H3")
    changed = page.evaluate(
        """([x, y]) => {
          const canvas = document.querySelector('.enc-grid canvas');
          const before = canvas.toDataURL();
          canvas.dispatchEvent(new MouseEvent('click', { clientX: x, clientY: y, bubbles: true }));
          return canvas.toDataURL() !== before;   // no other task has run in between
        }""",
        [x, y],
    )
    assert changed
    wait_heard(page, 1)


@pytest.mark.slow("another way into the same component")
def test_a_sorted_grid_is_walked_in_its_order(show: Callable[[str], Page]) -> None:
    page = show("sorted")
    canvas = page.locator('canvas[aria-roledescription="grid of attention maps"]')
    canvas.focus()
    said = []
    for key in ["Home", "ArrowRight", "ArrowRight", "ArrowRight"]:
        page.keyboard.press(key)
        said.append(page.locator(".enc-aloud").text_content().split(",")[0])
    # The first key only shows the focus, which starts on the selected head, L0 H1.
    assert said == ["layer 0 head 1", "layer 1 head 2", "layer 1 head 2", "layer 1 head 2"]


@pytest.mark.sample(3, "the same for another component")
@pytest.mark.parametrize("name", ["grid", "lines", "text"])
def test_a_drawing_is_exported(show: Callable[[str], Page], name: str, tmp_path: Path) -> None:
    page = show(name)
    page.locator(DRAWN[name]).first.wait_for()
    for kind in ("png", "svg"):
        with page.expect_download() as waiting:
            page.locator(".enc-save", has_text=kind.upper()).click()
        assert waiting.value.suggested_filename == f"{'heads' if name == 'grid' else name}.{kind}"
        waiting.value.save_as(tmp_path / kind)
    assert (tmp_path / "png").read_bytes().startswith(b"\x89PNG\r\n")
    svg = ElementTree.parse(tmp_path / "svg")
    words = [element.text for element in svg.iter(f"{SVG}text")]
    counts = {tag: len(list(svg.iter(f"{SVG}{tag}"))) for tag in ("path", "image")}
    if name == "grid":
        assert counts["image"] == 12
        assert {"L0", "L2", "H0", "H3", "previous"} <= set(words)
    elif name == "lines":
        assert counts == {"path": counts["path"], "image": 0}
        assert words == ["L0 H0", "L0 H1", "L0 H2", *TOKENS, *TOKENS]
        lines = "".join(element.get("d") for element in svg.iter(f"{SVG}path")).count("L")
        assert lines == sum(weight >= 1 / 255 for head in told(page)["weights"] for row in head for weight in row)
    else:
        assert "".join(words).endswith("".join("".join(TOKENS).split()))
        assert counts["image"] == 0
    colours = {element.get(role) for element in svg.iter() for role in ("fill", "stroke")} - {None, "none"}
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours), "as every program that draws can read them"


# ---- lines ----


def row(page: Page, side: str, token: int) -> Locator:
    return page.locator(f".enc-lines-{side} .enc-lines-token").nth(token)


def numbers(page: Page, side: str) -> list[float]:
    return [float(text) for text in page.locator(f".enc-lines-{side} u").all_text_contents()]


@pytest.mark.slow("another way into the same component")
def test_selected_tokens_are_summed_and_sent(show: Callable[[str], Page]) -> None:
    page = show("lines")
    weights = told(page)["weights"]
    row(page, "from", 2).click()
    wait_heard(page, 1)
    row(page, "from", 5).click(modifiers=["Shift"])
    assert wait_heard(page, 2)[-1] == {"event": "select", "queries": [2, 5], "keys": []}
    page.mouse.move(1, 1)
    # This page's Python keeps no selection, so its answer clears it; hovering still works.
    row(page, "to", 3).hover()
    page.wait_for_function("() => document.querySelector('.enc-lines-from u').textContent !== ''")
    expected = [sum(head[i][3] for head in weights) / len(weights) for i in range(N)]
    assert numbers(page, "from") == pytest.approx(expected, rel=6e-3)
    assert page.locator(".enc-lines-from .enc-lines-token b").all_text_contents() == TOKENS


def test_a_selection_shows_at_once(show: Callable[[str], Page]) -> None:
    page = show("lines")
    expect(page.locator(".enc-lines-from .enc-lines-token")).to_have_count(N)
    weights = told(page)["weights"]
    sums = page.evaluate(
        """() => {
          const rows = [...document.querySelectorAll('.enc-lines-from .enc-lines-token')];
          const click = (row, shiftKey) => {
            const box = row.getBoundingClientRect();
            const place = { clientX: box.left + 3, clientY: box.top + 3 };
            row.dispatchEvent(new MouseEvent('click', { ...place, bubbles: true, shiftKey }));
          };
          click(rows[2], false);
          click(rows[5], true);
          return [...document.querySelectorAll('.enc-lines-to u')].map(number => Number(number.textContent));
        }"""
    )
    expected = [sum(head[2][j] + head[5][j] for head in weights) / len(weights) for j in range(N)]
    assert sums == pytest.approx(expected, rel=6e-3)


@pytest.mark.slow("another way into the same component")
def test_lines_by_keyboard(show: Callable[[str], Page]) -> None:
    page = show("lines")
    page.locator('[aria-roledescription="attention as lines"]').focus()
    for key in ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown"]:
        page.keyboard.press(key)
    assert re.match(r"cat is attended to\b.* \d", page.locator(".enc-aloud").text_content())
    page.keyboard.press("Enter")
    wait_heard(page, 1)
    page.keyboard.press("Escape")
    assert wait_heard(page, 2) == [
        {"event": "select", "queries": [], "keys": [2]},
        {"event": "select", "queries": [], "keys": []},
    ]


@pytest.mark.slow("another way into the same component")
def test_lines_between_other_tokens_than_themselves(show: Callable[[str], Page]) -> None:
    page = show("pair")
    weights = told(page)["weights"][0]
    expect(page.locator(".enc-lines-from .enc-lines-token")).to_have_count(3)
    row(page, "from", 1).hover()
    page.wait_for_function("() => document.querySelector('.enc-lines-to u').textContent !== ''")
    assert numbers(page, "to") == pytest.approx(weights[1], rel=6e-3)
    row(page, "to", N - 1).click()
    assert wait_heard(page, 1)[-1] == {"event": "select", "queries": [], "keys": [N - 1]}


# ---- text_shade ----


def shades(page: Page) -> list[float]:
    """How far each unit's ground is from white, in its strongest channel: 0 to 255."""
    return page.evaluate(
        """() => [...document.querySelectorAll('.enc-text-unit')].map(unit => {
          const [red, green, blue, alpha = 1] = getComputedStyle(unit).backgroundColor.match(/[\\d.]+/g).map(Number);
          return alpha ? 255 - Math.min(red, green, blue) : 0;
        })"""
    )


def ranks(values: list[float]) -> list[int]:
    return sorted(range(len(values)), key=lambda k: values[k])


def test_a_text_is_shaded_by_the_unit_under_the_pointer_or_the_selected_ones(show: Callable[[str], Page]) -> None:
    page = show("text")
    weights = told(page)["weights"]
    unit = page.locator(".enc-text-unit")
    mean = [sum(column) / N for column in zip(*weights, strict=True)]
    assert ranks(shades(page))[-3:] == ranks(mean)[-3:]
    unit.nth(2).hover()
    page.wait_for_function("() => document.querySelector('.enc-text-top em').textContent.includes('cat')")
    assert ranks(shades(page))[-2:] == ranks(weights[2])[-2:]
    unit.nth(2).click()
    wait_heard(page, 1)
    unit.nth(5).click(modifiers=["Shift"])
    assert wait_heard(page, 2) == [{"event": "select", "units": [2]}, {"event": "select", "units": [2, 5]}]
    summed = [one + other for one, other in zip(weights[2], weights[5], strict=True)]
    page.wait_for_function("() => document.querySelectorAll('.enc-text-unit.enc-selected').length === 2")
    assert ranks(shades(page))[-2:] == ranks(summed)[-2:]
    most = ranks(summed)[-1]
    page.mouse.move(1, 1)
    unit.nth(most).hover()
    says = page.locator(".enc-tip:popover-open").text_content()
    assert float(says.rsplit(" ", 1)[1]) == pytest.approx(summed[most], rel=6e-3)
    assert unit.nth(6).text_content() == "<b>mat</b>"


@pytest.mark.slow("another way into the same component")
def test_a_text_by_keyboard_in_both_directions_of_writing(show: Callable[[str], Page]) -> None:
    page = show("text")
    body = page.locator('[aria-roledescription="text shaded by attention"]')
    body.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Enter"):  # the first key shows where the cursor is
        page.keyboard.press(key)
    assert wait_heard(page, 1)[-1] == {"event": "select", "units": [2]}
    for key in ("End", "Shift+Enter"):
        page.keyboard.press(key)
    assert wait_heard(page, 2)[-1] == {"event": "select", "units": [2, N - 1]}
    expect(page.locator(".enc-text-unit.enc-at")).to_have_count(1)
    directions = page.evaluate(
        "() => [...document.querySelectorAll('.enc-text-body p')].map(part => getComputedStyle(part).direction)"
    )
    assert directions == ["ltr", "rtl"]  # the second part begins with right-to-left letters
    page.keyboard.press("ArrowRight")  # in right-to-left text that is one back
    page.keyboard.press("Enter")
    assert wait_heard(page, 3)[-1] == {"event": "select", "units": [N - 2]}
    page.keyboard.press("Escape")
    assert wait_heard(page, 4)[-1] == {"event": "select", "units": []}


# ---- all of them ----

SHOWS = ["plot", "points", "grid", "lines", "text"]
DRAWN = {
    "plot": ".heatmaplayer image",
    "points": ".point",
    "grid": ".enc-grid canvas",
    "lines": ".enc-lines canvas",
    "text": ".enc-text-unit",
}


#: What depends on the theme: a colour of a plot and of lines, the picture of a grid.
LOOK = """() => {
  const text = document.querySelector('.enc-plot .xtick text');
  if (text) return getComputedStyle(text).fill;
  const lines = document.querySelector('.enc-lines');
  if (lines) return lines.style.getPropertyValue('--enc-bar');
  const shaded = document.querySelector('.enc-text');
  if (shaded) return shaded.style.getPropertyValue('--enc-from');
  return document.querySelector('.enc-grid canvas')?.toDataURL();
}"""


def check_fit(page: Page, width: int) -> None:
    """The drawing lies inside the window and inside its own place, and makes nothing scroll sideways."""
    page.set_viewport_size({"width": width, "height": 720})
    page.wait_for_function(
        """width => {
          const root = document.querySelector('.enc-root');
          const box = root.getBoundingClientRect();
          const seen = element => !element.closest('.enc-aloud, .enc-tip')
            && (!element.closest('svg') || element.matches('svg text'));
          const right = Math.max(...[...root.querySelectorAll('*')].filter(seen)
            .map(element => element.getBoundingClientRect().right));
          return innerWidth === width && box.left >= 0 && box.right <= width && right <= box.right + 4
            && document.scrollingElement.scrollWidth <= width;
        }""",
        arg=width,
    )


@pytest.mark.slow("another way into the same component")
@pytest.mark.parametrize("name", SHOWS)
def test_it_follows_theme_and_window_and_leaves_nothing_behind(show: Callable[[str], Page], name: str) -> None:
    page = show(name)
    page.locator(DRAWN[name]).first.wait_for()
    light = page.evaluate(LOOK)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"light => ![light, undefined].includes(({LOOK})())", arg=light)
    for width in (390, 1280, 800):
        check_fit(page, width)
    page.get_by_text("Remove the drawing").click()
    page.locator(".enc-root").wait_for(state="detached")
    expect(page.locator(".enc-tip")).to_have_count(0)
    page.set_viewport_size({"width": 900, "height": 600})
    page.get_by_text("Remove the drawing").click()
    page.locator(DRAWN[name]).first.wait_for()


#: Data that came before the first call's module was there: Streamlit ends the first call, and the element stays.
OVERTAKEN = """async (script) => {
  const { mounted } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const seen = [];
  const draw = mounted(class {
    constructor() { seen.push("made"); }
    update({ data }) { seen.push(data); }
    destroy() { seen.push("destroyed"); }
  });
  const parentElement = document.body.appendChild(document.createElement("div"));
  draw({ parentElement, data: "old" })();
  const end = draw({ parentElement, data: "new" });
  parentElement.remove();
  end();
  return seen;
}"""


def test_a_drawing_outlives_a_call_that_newer_data_overtook(stage: Tab) -> None:
    script = (Path(components.__file__).parent / "mounted.js").read_text(encoding="utf-8")
    assert stage.page.evaluate(OVERTAKEN, script) == ["made", "old", "new", "destroyed"]


@pytest.mark.sample(3, "the same for another component")
@pytest.mark.parametrize("show", ["plot", "lines", "grid"])
def test_a_finger_scrolls_the_page_and_taps(visit: Callable[..., Page], show: str) -> None:
    page = visit(f"/?show={show}", width=390, height=360, has_touch=True, is_mobile=True)
    page.locator(DRAWN[show]).first.wait_for()
    box = page.locator(".enc-root").bounding_box()
    assert box
    session = page.context.new_cdp_session(page)
    x = box["x"] + box["width"] / 2
    places = [{"x": x, "y": 300 - 20 * step} for step in range(8)]
    for kind, touched in [("touchStart", places[0]), *(("touchMove", place) for place in places[1:])]:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [touched]})
        page.wait_for_timeout(20)
    page.wait_for_timeout(150)  # a finger that rests before it leaves lets nothing scroll on by itself
    session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": 159}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function(
        "top => document.querySelector('.enc-root').getBoundingClientRect().top < top - 40", arg=box["y"]
    )
    assert told(page)["heard"] == []
    page.evaluate(STILL)  # a tap while the page still scrolls stops it, and is not a tap
    target = {"plot": ".enc-plot .nsewdrag", "lines": ".enc-lines-to .enc-lines-token", "grid": ".enc-grid canvas"}[
        show
    ]
    page.locator(target).first.tap()
    assert len(wait_heard(page, 1)) == 1
