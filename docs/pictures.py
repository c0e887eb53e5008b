"""The pictures of the documents: `python -m docs.pictures` makes them, with what tests install.

It starts the app and photographs it in Chromium: heads-light.png, heads-dark.png, the moving encoderscope.webp, in
which a person types a sentence, clicks a head, clicks a cell and moves the norms, each page as it opens, what a class
gets, and the results of docs/research.md. `python -m docs.pictures pages samples` makes only these.
"""

import argparse
import io
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from PIL import Image

import encoder
from benchmarks.serving import addresses, app, chromium, rooms
from docs import gallery
from encoder.cli import main as command_line
from pages.components.head_grid import MARK_ROOM
from tests.conftest import settle

HERE = Path(__file__).parent
SENTENCE = "The cat sat on the mat because it was tired."
#: A head in which "it" attends most to "cat".
LAYER, HEAD, QUERY, KEY, TOKENS = 3, 1, 8, 2, 13
#: The grid of small maps: heads in a row, and the pixels that its names take.
HEADS, LEFT, TOP = 12, 26, 18
VIEW = f"/?text={SENTENCE.replace(' ', '+')}&layer={LAYER}&head={HEAD}&i={QUERY}"
WIDTH, HEIGHT = 1280, 860
#: Of the moving picture: the window, its width in README, and WebP's quality.
WINDOW, SHOWN_WIDTH, QUALITY = (1366, 768), 1024, 72
LARGEST_BYTES = 1_500_000
#: Pages whose first view has no picture, and the values of the address that open one.
VIEWS = {
    "lessons": "?lesson=03-one-weight-by-hand&lesson_step=3",
}
#: What a new visitor may try on each page.
TRY = {
    "model": "Press Play, then click Q: the arithmetic of one query opens.",
    "heads": "Click a small map, then a cell of the large one.",
    "contribution": "Click the longest blue part: from which tokens does it come?",
    "positions": "Find the word whose vector changes most in another order.",
    "feed_forward": "Select another token, and see which neurons are active now.",
    "interventions": "Click the darkest cell: the head whose loss changes the vector most.",
    "pre_post": "Choose a twin: both placements were trained.",
    "norms": "Select a cell: the token before and after one LayerNorm.",
    "training": "Press Train, and watch which placement learns first.",
    "predict": "Click another word to hide it.",
    "texts": "Type a query, and see which of its words make the score.",
    "diagnose": "Read the example: the fault of a program that pools another way.",
    "probes": "Train the probes, and compare with the control accuracy.",
    "lessons": "Open lesson 3, and compute one attention weight.",
    "classroom": "Open a room, and join it with your phone.",
    "by_hand": "Open “Spot the mistakes”, and find the wrong numbers.",
    "glossary": "Search a word that a page underlines.",
}
#: The pictures of the list: width in pixels, and WebP's quality.
PAGE_WIDTH, PAGE_QUALITY = 960, 60
PICTURES = HERE / "pages"
#: What a class gets: the pictures' folder, the path, a sheet of A4 in pixels, the margin above a slide, a lesson and
#: its step, and what a class answers there.
SAMPLES = HERE / "samples"
MINUTES, SHEET, MARGIN, LESSON, STEP = "45", (794, 1123), 16, "One attention weight by hand", 4
ANSWERS = ("animal", "street", "animal", "tired", "animal", "street", "animal", "animal")

GRID = 'canvas[aria-roledescription="grid of attention maps"]'
MAP = '.st-key-heads-head [aria-roledescription="heat map"] .nsewdrag'
#: A pointer, since a photograph shows none. It catches no click.
POINTER = """() => {
  const pointer = document.createElement("div");
  pointer.id = "pointer";
  pointer.style = "position:fixed;z-index:9999999;pointer-events:none;width:26px;height:26px;border-radius:50%;"
    + "border:3px solid #d97706;background:#d9770640;translate:-50% -50%;left:-99px;top:-99px";
  document.body.append(pointer);
}"""


#: Rows of the table in reading.md -> the key of the part's button in model_glyphs.js. The band has none.
MARKED = {
    "Tokens": "ids", "Embedding": "embedding", "K": "k", "V": "v", "Weights": "softmax", "Q": "q", "z": "mixing",
    "W_O": "heads", "+": "add-attention", "LayerNorm": "norm-attention", "Feed-forward": "ffn", "Vector": "output",
}  # fmt: skip
MARK = """names => {
  const chips = document.querySelector(".enc-model-chips");
  document.querySelector(".enc-model-heads").style.visibility = "hidden";
  const bands = document.querySelector(".enc-model-bands").getBoundingClientRect();
  const places = names.map((name, index) => {
    const box = chips.querySelector(`[data-key="${name}"]`).getBoundingClientRect();
    return [box.left + box.width / 2, bands.bottom + 36 + 24 * (index % 2)];
  });
  places.push([bands.left + 40, bands.top + bands.height / 2]);
  places.forEach(([x, y], index) => {
    const mark = document.createElement("b");
    mark.textContent = index + 1;
    mark.style = `position:absolute;left:${x + scrollX}px;top:${y + scrollY}px;translate:-50% -50%;z-index:99;`
      + "width:21px;height:21px;border-radius:50%;background:#b45309;color:#fff;font:600 12px/21px system-ui;"
      + "text-align:center";
    document.body.append(mark);
  });
}"""


def with_weight(text: str) -> str:
    """reading.md with the weight of the selected cell of its picture."""
    weight = encoder.load("minilm").trace(SENTENCE).attention(LAYER, HEAD)[QUERY, KEY].item()
    return re.sub(r"A weight of [\d.]+\d", f"A weight of {weight:.2f}", text)


def main() -> None:
    """Make all pictures or those that are named, and write the number that a text quotes of one."""
    parser = argparse.ArgumentParser(prog="python -m docs.pictures", description="Make the pictures of the documents.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (default: all)")
    parts = parser.parse_args().parts or [*PARTS]  # Python 3.11 checks an empty list against choices
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"no pictures {unknown[0]}: choose {', '.join(PARTS)}.")
    with app() as served, chromium() as browser:
        for part in parts:
            PARTS[part](browser, served.url)


def stills(browser: Any, url: str) -> None:
    """The page Heads in both themes."""
    for scheme in ("light", "dark"):
        still(browser, url, scheme)


def all_pages(browser: Any, url: str) -> None:
    """Each page."""
    PICTURES.mkdir(exist_ok=True)
    for folder in rooms():
        page_picture(browser, url, folder)


def readme(browser: Any, url: str) -> None:
    """The moving picture."""
    frames = list(moving(browser, url))
    pictures = [picture for picture, _ in frames]
    file = HERE / "encoderscope.webp"
    pictures[0].save(
        file,
        save_all=True,
        append_images=pictures[1:],
        duration=[duration for _, duration in frames],
        loop=0,
        quality=QUALITY,
        method=6,
    )
    if file.stat().st_size > LARGEST_BYTES:
        raise ValueError(f"{file.name} has {file.stat().st_size:,} bytes: lower QUALITY or SHOWN_WIDTH.")


def samples(browser: Any, url: str) -> None:
    """What a class gets: the worksheet and a slide of `encoderscope lesson material`, and the wall of a room."""
    SAMPLES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        if command_line.main(["lesson", "material", folder]):
            raise RuntimeError("encoderscope lesson material failed")
        page = browser.new_page(viewport={"width": SHEET[0], "height": SHEET[1]}, color_scheme="light")
        page.goto((Path(folder) / f"worksheet-{MINUTES}.html").as_uri())
        page.wait_for_timeout(1500)
        save(photograph(page, whole=True), SAMPLES / "worksheet.webp")
        page.set_viewport_size({"width": WINDOW[0], "height": HEIGHT})
        page.goto((Path(folder) / f"slides-{MINUTES}.html").as_uri())
        page.locator("section h2").first.evaluate(
            "(title, margin) => scrollTo(0, title.getBoundingClientRect().top + scrollY - margin)", MARGIN
        )
        page.wait_for_timeout(1500)
        save(photograph(page), SAMPLES / "slide.webp")
        page.close()
    save(wall(browser, url), SAMPLES / "wall.webp")


def wall(browser: Any, url: str) -> Image.Image:
    """The wall of a new room, with the answers of a class to a question of a lesson."""
    context = browser.new_context(viewport={"width": WINDOW[0], "height": WINDOW[1]}, color_scheme="light")
    context.set_default_timeout(120_000)
    desk, shown = context.new_page(), context.new_page()
    desk.goto(f"{url}/classroom")
    desk.get_by_role("button", name="Open a room").click()
    desk.wait_for_url(re.compile(r"room=\w{6}"))
    settle(desk)
    desk.get_by_role("combobox", name="Lesson").click()
    desk.get_by_role("option", name=re.compile(LESSON)).click()
    desk.get_by_role("button", name="Begin this lesson").click()
    for number in range(1, STEP + 1):  # the first step, 0, asks nothing
        desk.locator(f".st-key-desk-next-{number - 1} button").click()
        desk.get_by_text(f"step {number} of").wait_for()
        settle(desk)
    for word in ANSWERS:
        answer(browser, desk.url, word)
    desk.get_by_text(f"{len(ANSWERS)} answers").first.wait_for()
    desk.get_by_role("button", name="Show the result").click()
    settle(desk)
    address = desk.get_by_role("link", name="Open the wall").get_attribute("href")
    shown.goto(f"{url}/classroom{address}")
    shown.locator(".enc-wall").wait_for()
    settle(shown)
    shown.wait_for_timeout(1500)
    picture = photograph(shown)
    context.close()
    return picture


def answer(browser: Any, room: str, word: str) -> None:
    """A student joins a room, chooses a word, and leaves."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    context.set_default_timeout(120_000)
    phone = context.new_page()
    phone.goto(room.partition("#")[0])
    ballot = phone.locator('[class*="st-key-ballot"]')
    ballot.get_by_text(word, exact=True).click()
    ballot.get_by_role("button", name="Answer", exact=True).click()
    ballot.get_by_text("Your answer is sent.").wait_for()
    context.close()


def save(picture: Image.Image, file: Path) -> None:
    """As WebP, at the width of the pictures of pages or narrower."""
    width = min(PAGE_WIDTH, picture.width)
    size = (width, round(picture.height * width / picture.width))
    picture.resize(size, Image.Resampling.LANCZOS).save(file, quality=PAGE_QUALITY, method=6)


def photograph(page: Any, *, whole: bool = False) -> Image.Image:
    """What the window shows, or the whole page."""
    return Image.open(io.BytesIO(page.screenshot(full_page=whole))).convert("RGB")


def still(browser: Any, url: str, scheme: str) -> None:
    """One view, in the light or the dark theme."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(url + VIEW)
    wait(page)
    page.mouse.move(0, HEIGHT - 1)  # no label under the pointer
    page.wait_for_timeout(1500)
    photograph(page).save(HERE / f"heads-{scheme}.png", optimize=True)
    context.close()


def reading(browser: Any, url: str) -> None:
    """The picture of reading.md, a saved page of the whole model with numbered parts, and the weight it quotes."""
    document = HERE / "reading.md"
    document.write_text(with_weight(document.read_text(encoding="utf-8")), encoding="utf-8")
    context = browser.new_context(viewport={"width": WINDOW[0], "height": HEIGHT}, color_scheme="light")
    with tempfile.TemporaryDirectory() as folder:
        trace = encoder.load("minilm").trace(SENTENCE)
        file = trace.save_html(Path(folder) / "model.html", LAYER, HEAD, query=QUERY, key=KEY)
        page = context.new_page()
        page.goto(file.as_uri())
        page.locator(".enc-model-chips > *").first.wait_for()
        page.wait_for_timeout(1500)
        page.evaluate(MARK, list(MARKED.values()))
        box = page.locator(".enc-model-row").bounding_box()
        assert box is not None
        shown = page.screenshot(full_page=True, clip=box | {"height": box["height"] + 44})
        image = Image.open(io.BytesIO(shown)).convert("RGB")
    image.save(HERE / "reading.webp", quality=QUALITY, method=6)
    context.close()


def page_picture(browser: Any, url: str, folder: str) -> None:
    """A page as a new visitor sees it on a laptop."""
    context = browser.new_context(viewport={"width": WINDOW[0], "height": WINDOW[1]}, color_scheme="light")
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(url + addresses()[folder] + VIEWS.get(folder, ""))
    settle(page)
    page.wait_for_timeout(1500)
    save(photograph(page), PICTURES / f"{folder}.webp")
    context.close()


def text(pictures: str) -> str:
    """The list of pages of `make docs`, each with its question, what to try and its picture. pictures: their folder."""
    lines = ["# The pages", "", "Each page as it opens on a laptop."]
    for folder, (title, what) in rooms().items():
        lines += [
            "",
            f"## {title}",
            "",
            f"{what} Try: {TRY[folder]}",
            "",
            f"![The page “{title}”]({pictures}/{folder}.webp)",
        ]
    return "\n".join(lines) + "\n"


def wait(page: Any) -> None:
    """Until the page and its large map are drawn."""
    page.locator(".js-plotly-plot").first.wait_for()
    settle(page)
    page.wait_for_timeout(700)


def moving(browser: Any, url: str) -> Iterator[tuple[Image.Image, int]]:
    """The frames of the moving picture, each with its milliseconds."""
    width, height = WINDOW
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="light")
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(f"{url}/heads?text=Hello")
    wait(page)
    page.evaluate(POINTER)
    size = (SHOWN_WIDTH, round(height * SHOWN_WIDTH / width))

    def frame(milliseconds: int) -> tuple[Image.Image, int]:
        return photograph(page).resize(size, Image.Resampling.LANCZOS), milliseconds

    box = page.get_by_role("textbox", name="Sentence", exact=True)
    box.fill("")
    words = SENTENCE.split(" ")
    for number in range(len(words)):
        box.fill(" ".join(words[: number + 1]))
        yield frame(130)
    box.press("Enter")
    wait(page)
    yield frame(1300)
    grid = page.locator(GRID)
    yield from click(page, frame, grid, *head_place(grid))
    cells = page.locator(MAP).first
    area = cells.bounding_box()
    place = (area["width"] * (KEY + 0.5) / TOKENS, area["height"] * (QUERY + 0.5) / TOKENS)
    yield from click(page, frame, cells, *place)
    norm = page.get_by_role("radio", name="Pre-norm", exact=True)
    yield from click(page, frame, norm, 30, 15)
    context.close()


def head_place(grid: Any) -> tuple[float, float]:
    """The middle of the small map of LAYER and HEAD: below the names of the heads, right of those of the layers."""
    side = (grid.bounding_box()["width"] - LEFT) / HEADS
    return LEFT + (HEAD + 0.5) * side, TOP + (LAYER + 0.5) * (side + MARK_ROOM)  # a type's letter is above its map


def click(page: Any, frame: Any, target: Any, x: float, y: float) -> Iterator[tuple[Image.Image, int]]:
    """The pointer moves to a place of an element; a click; what it changes."""
    box = target.bounding_box()
    page.evaluate(
        "([x, y]) => Object.assign(document.getElementById('pointer').style, { left: `${x}px`, top: `${y}px` })",
        [box["x"] + x, box["y"] + y],
    )
    yield frame(700)
    page.mouse.click(box["x"] + x, box["y"] + y)
    wait(page)
    page.mouse.move(1, 1)
    yield frame(2200)


#: What a command may name -> what makes it.
PARTS: dict[str, Callable[[Any, str], None]] = {
    "heads": stills,
    "reading": reading,
    "pages": all_pages,
    "samples": samples,
    "research": lambda browser, url: gallery.photograph(browser),
    "readme": readme,
}

if __name__ == "__main__":
    main()
