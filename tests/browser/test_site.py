"""The site in Chromium: a static folder, whose pages compute what a reader types."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

import encoder
from docs.site import MODELS, pages, write_site
from encoder.figures.numbers import three_digits
from tests.browser.static_server import serving
from tests.conftest import PATIENCE
from tests.site.test_head_views import SHOWN, are_moved_norms, are_vectors

pytestmark = pytest.mark.browser
SENTENCE = "The river flows past the old bank."


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site") / "course"  # as where a site shares its host with others
    folder.mkdir()
    write_site(folder, pages(), [one for one in MODELS if one.name != "minilm"])
    with serving(folder.parent) as address:
        yield f"{address}course/"


@pytest.fixture
def visitor(browser: Browser, site: str) -> Iterator[Page]:
    """A page whose console stays silent and that asks no other host."""
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: request.url.startswith((site, "data:", "blob:")) or said.append(request.url))
    yield page
    context.close()
    assert not said


def test_a_sentence_of_her_own_is_computed_in_the_browser(visitor: Page, site: str) -> None:
    visitor.goto(site)
    visitor.get_by_label("Sentence", exact=True).fill(SENTENCE)
    visitor.get_by_label("Sentence", exact=True).press("Enter")
    expect(visitor.locator(".enc-model-names text").filter(has_text="river")).to_have_count(1)
    model = encoder.load("twin-pre")
    norm = three_digits(float(model.embed(SENTENCE).norm()))
    expect(visitor.locator(".enc-model-end")).to_contain_text(f"length {norm}")


@pytest.mark.slow("another part of the same site")
def test_the_norms_move_and_a_part_opens(visitor: Page, site: str) -> None:
    visitor.goto(f"{site}?text=The+cat+sat.&i=2&j=1")
    visitor.get_by_role("button", name="Pre-norm", exact=True).click()
    expect(visitor.locator(".enc-model-caption")).to_contain_text("Similarity to the vector of the unchanged model")
    assert "norm=post" in visitor.url
    visitor.get_by_role("button", name="Queries").click()
    expect(visitor.locator(".enc-model-opened")).to_contain_text("Query of “cat” in head 0")


@pytest.mark.slow("another part of the same site")
def test_a_head_opens_from_the_grid_and_stays_in_the_link(visitor: Page, site: str) -> None:
    visitor.goto(f"{site}heads/?text=The+cat+sat.&layer=1&head=3")
    grid = visitor.get_by_role("application").first
    expect(visitor.locator("#head .heatmaplayer image")).to_have_count(1)
    grid.focus()
    grid.press("ArrowRight")
    grid.press("ArrowLeft")
    grid.press("Enter")
    visitor.locator("[data-name=view]").select_option("lines")
    expect(visitor.locator("#head .enc-root")).to_be_visible()
    visitor.get_by_role("link", name="Model", exact=True).click()
    expect(visitor.get_by_label("Sentence", exact=True)).to_have_value("The cat sat.")


def test_queries_keys_values_and_moved_norms_have_the_numbers_of_python(visitor: Page, site: str) -> None:
    visitor.goto(f"{site}heads/?{urlencode({'text': SENTENCE, 'layer': 1, 'head': 3})}")
    visitor.locator("[data-name=view]").select_option("Q K V")
    drawn = visitor.locator("#head .heatmaplayer image")
    expect(drawn).to_have_count(3)
    are_vectors(visitor.evaluate(SHOWN), SENTENCE, 1, 3)
    visitor.locator("#head .nsewdrag").nth(1).click(position={"x": 20, "y": 5})
    expect(visitor.locator("#said")).to_contain_text("match “[CLS]”")
    assert "&j=0" in visitor.url
    visitor.locator("[data-name=view]").select_option("Compare")
    visitor.get_by_label("What to compare").select_option("Another model")
    expect(visitor.locator("#said")).to_contain_text("teal where A attends more")
    are_moved_norms(visitor.evaluate(SHOWN), SENTENCE, 1, 3)
    for name, value in {"view": "beside", "compare": "models", "model_b": "moved"}.items():
        assert f"{name}={value}" in (visitor.locator("#app").get_attribute("href") or "")


@pytest.mark.slow("another part of the same site")
def test_another_head_and_sentence_are_compared_and_a_score_opens_in_the_model(visitor: Page, site: str) -> None:
    visitor.goto(f"{site}heads/?{urlencode({'text': SENTENCE, 'layer': 1, 'head': 3, 'view': 'beside'})}")
    expect(visitor.locator("#head .annotation-text").filter(has_text="B")).to_contain_text(["B L1 H0", "B − A"])
    grid = visitor.get_by_role("application").first
    grid.focus()
    for key in ("ArrowLeft", "ArrowLeft", "Enter"):
        grid.press(key)
    expect(visitor.get_by_label("Head B")).to_have_value("2")
    expect(visitor.locator("#head .annotation-text").filter(has_text="B")).to_contain_text(["B L1 H2", "B − A"])
    visitor.get_by_label("What to compare").select_option("Another sentence")
    visitor.get_by_label("Sentence B").fill("The river flows past the new bank and the mill.")
    visitor.get_by_label("Sentence B").press("Enter")
    expect(visitor.locator("#said")).to_contain_text("Grey")
    visitor.locator("[data-name=view]").select_option("Q K V")
    visitor.get_by_role("link", name="How this score is made").click()
    expect(visitor.locator(".enc-model-opened")).to_contain_text("Score: ")
    assert "step=scores" in visitor.url


@pytest.mark.slow("another part of the same site")
def test_a_layer_is_computed_by_hand(visitor: Page, site: str) -> None:
    visitor.goto(f"{site}by_hand/")
    first = visitor.locator(".enc-hand-math").nth(3)
    before = first.text_content()
    visitor.get_by_label("Embeddings X, row 1, column 1", exact=True).fill("7.5")
    visitor.get_by_label("Embeddings X, row 1, column 1", exact=True).press("Tab")
    expect(first).not_to_have_text(before or "")
    changed = first.text_content()
    visitor.goto(visitor.url)
    expect(first).to_have_text(changed or "")
    visitor.get_by_label("Norm placement").select_option("Pre-norm")
    assert "norm_placement" in visitor.url


@pytest.mark.slow("another part of the same site")
def test_a_drawn_digit_gets_its_class(visitor: Page, site: str) -> None:
    visitor.goto(f"{site}digit/")
    visitor.get_by_role("button", name="7", exact=True).click()
    expect(visitor.locator("#said li").first).to_contain_text("7")
    square = visitor.locator("#draw canvas")
    box = square.bounding_box()
    assert box
    middle = box["x"] + box["width"] / 2
    visitor.mouse.move(middle, box["y"] + 20)
    visitor.mouse.down()
    visitor.mouse.move(middle, box["y"] + box["height"] - 20, steps=8)
    visitor.mouse.up()
    expect(visitor.locator("#said li").first).to_contain_text("1")


@pytest.mark.slow("another part of the same site")
def test_hidden_words_are_named(visitor: Page, site: str) -> None:
    visitor.goto(f"{site}predict/?text=The+cat+sat+on+the+[MASK].")
    model = encoder.load("twin-pre")
    [found] = model.predict_masked(model.trace("The cat sat on the [MASK]."), k=1)
    expect(visitor.locator("#said li").first).to_contain_text(found.tokens[0])


#: Values that an address may have and no link of the site has.
STRANGE = [
    "", "0", "-1", "1e9", "99999", "nan", "0.5", "abc", "0,1", "L2H3", "toString", "__proto__", "constructor",
    "<img src=x onerror=alert(1)>", "javascript:alert(1)", "\0", "\ud55c\uad6d\uc5b4 e\u0301 \U0001f600",
    "[MASK] [SEP]", "x" * 3_000, "word " * 400,
]  # fmt: skip
NAMES = (
    "model", "text", "layer", "head", "i", "j", "norm", "view", "image", "hand",
    "compare", "layer_b", "head_b", "text_b", "model_b", "i_b", "step", "vector", "component",
)  # fmt: skip


#: What a sentence for a reader does not have.
NO_SENTENCE = re.compile(r"\b(undefined|null|NaN|\w*Error)\b")


@pytest.mark.slow("ten addresses for each page")
@pytest.mark.parametrize("folder", [one.folder for one in pages() if one.folder not in ("lessons", "glossary")])
def test_a_strange_address_opens_a_page_that_works(visitor: Page, site: str, folder: str) -> None:
    """The page computes or says what is wrong; nothing of the address becomes a part of the page."""
    chance = random.Random(folder)
    visitor.on("dialog", lambda dialog: pytest.fail(f"a script of the address ran: {dialog.message}"))
    for name in chance.sample(NAMES, 10):
        query = {"view": "beside", name: chance.choice(STRANGE), chance.choice(NAMES): chance.choice(STRANGE)}
        visitor.goto(f"{site}{folder}{'/' if folder else ''}?{urlencode(query)}")
        if folder == "by_hand":
            expect(visitor.locator(".enc-hand-math").first).to_be_visible()
        else:
            expect(visitor.locator("body"), str(query)).to_have_attribute("aria-busy", "false")
            said = visitor.locator("#status").inner_text()
            assert not NO_SENTENCE.search(said), (query, said)
        assert visitor.locator("img[src=x]").count() == 0, query


@pytest.mark.slow("another part of the same site")
def test_a_long_text_is_drawn_in_parts(visitor: Page, site: str) -> None:
    """The numbers are those of the whole text, wherever the window is."""
    text = " ".join(f"{one} river" for one in range(60))
    trace = encoder.load("twin-pre").trace(text)
    assert trace.n_tokens > 100
    visitor.goto(f"{site}?{urlencode({'text': text})}")
    strip = visitor.get_by_label("Window of the whole input")
    expect(strip).to_have_attribute("aria-valuetext", re.compile(rf"of {trace.n_tokens}$"))
    strip.focus()
    strip.press("End")
    expect(strip).to_have_attribute("aria-valuetext", re.compile(rf"to {trace.n_tokens - 1} of {trace.n_tokens}$"))
    expect(visitor.locator(".enc-model-names text").last).to_contain_text("[SEP]")
    norm = three_digits(float(encoder.load("twin-pre").embed(text).norm()))
    expect(visitor.locator(".enc-model-end")).to_contain_text(f"length {norm}")
