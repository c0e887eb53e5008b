"""A model of one's own, published with --live: its pages in Chromium, by themselves and in a frame of another page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser, Page, Route, expect

import encoder
import encoder.live.packed
from docs.site import MODELS, TEXTS, write_site
from encoder.cli import main
from encoder.encoders.text import TextEncoder
from encoder.live.packed import BLOCK
from encoder.live.pages import heads_page
from tests.browser.static_server import serving
from tests.conftest import PATIENCE, ROOT
from tests.site.test_engine import BROWSER, of_page, texts, unpack
from tests.site.test_kinds import KINDS, NUMBERS, are_numbers_of, model_of

pytestmark = pytest.mark.browser
RECIPES = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
#: A page of a blog: what its frame says is kept in `heard`.
HOST = """<!DOCTYPE html><title>A post</title><link rel="icon" href="data:,">{line}<script>
window.heard = [];
addEventListener("message", ({{ data }}) => heard.push(data));
window.tell = (values) => document.querySelector("iframe").contentWindow.postMessage(
  {{ encoderscope: "set", ...values }}, "*");
</script>"""

#: Until a browser has a file for a visit without network.
UNTIL_KEPT = """async (file) => {
  while (!await caches.match(new URL(`/${file}`, location))) await new Promise((next) => setTimeout(next, 50));
}"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> tuple[TextEncoder, Path]:
    """A model of the kind of RoBERTa as a folder."""
    folder = tmp_path_factory.mktemp("model") / "my model"
    encoder.save(model_of("roberta"), folder, layout="encoderscope")
    opened = encoder.load(folder, device="cpu")
    assert isinstance(opened, TextEncoder)
    return opened, folder


@pytest.fixture(scope="module")
def server(model: tuple[TextEncoder, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a server, and its folder, which has the published model in `live`."""
    root = tmp_path_factory.mktemp("server")
    options = ["--bits", "8", "--text", "The cat sat on the river banks.", "--device", "cpu"]
    assert main.main(["publish", str(model[1]), "--live", "--out", str(root / "live"), *options]) == 0
    with serving(root) as address:
        yield address, root


@pytest.fixture(scope="module")
def hosts(server: tuple[str, Path]) -> Iterator[tuple[str, str]]:
    """The same files at two other addresses. In a page of the first one the frame of the server has its service worker;
    the second one is another site, where browsers may forbid it."""
    with serving(server[1]) as address:
        yield address, address.replace("127.0.0.1", "localhost")


@pytest.fixture
def visitor(browser: Browser, server: tuple[str, Path], hosts: tuple[str, str]) -> Iterator[Page]:
    """A page whose console stays silent and that asks no other host."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    known = (server[0], *hosts, "data:", "blob:")
    page.on("request", lambda one: one.url.startswith(known) or said.append(one.url))
    yield page
    context.close()
    assert not said


def test_a_published_model_computes_a_text_of_the_reader(
    visitor: Page, server: tuple[str, Path], model: tuple[TextEncoder, Path]
) -> None:
    visitor.goto(f"{server[0]}live/")
    expect(visitor.locator("#note")).to_contain_text("rounded to 8 bits")
    visitor.get_by_label("Sentence", exact=True).fill("the cat river")
    visitor.get_by_label("Sentence", exact=True).press("Enter")
    expect(visitor.locator(".enc-model-names text").filter(has_text="river")).to_have_count(1)
    assert "text=the+cat+river" in visitor.url
    assert str(model[1]) not in visitor.content()
    visitor.get_by_text("Export and share").click()
    assert "embed=1" in visitor.locator("#share-frame").input_value()
    visitor.get_by_role("link", name="Heads", exact=True).click()
    expect(visitor.locator("#head .xtick text").filter(has_text="<s>")).to_have_count(1)


def test_the_words_of_two_sentences_have_their_effect(
    visitor: Page, server: tuple[str, Path], model: tuple[TextEncoder, Path]
) -> None:
    visitor.goto(f"{server[0]}live/similarity/?text=the+cat+river&similar_to=A+cat")
    visitor.get_by_label("Sentence B").fill("the river banks")
    visitor.get_by_label("Sentence B").press("Enter")
    rows = visitor.locator("#said section").last.locator("li")
    expect(rows.last).to_contain_text("banks")
    assert "similar_to=the+river+banks" in visitor.url
    ours = encoder.explain_score(encoder.live.packed.as_read(model[0], 8), "the cat river", "the river banks")
    shown = [rows.last.locator("b").inner_text(), visitor.locator("#said p b").inner_text()]
    for number, expected in zip(shown, (ours.words_b[-1].effect, ours.score), strict=True):
        assert abs(float(number.replace("−", "-")) - expected) < 1e-3


def test_a_phone_opens_the_folder_again_when_its_server_has_stopped(browser: Browser, server: tuple[str, Path]) -> None:
    """After one visit, without a reload; another published folder of the same host stays, too. Then threads help."""
    shutil.copytree(server[1] / "live", server[1] / "other")
    asked: list[str] = []
    context = browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    with serving(server[1]) as address:
        context.on("request", lambda one: asked.append(one.url))
        for folder in ("live", "other"):
            page.goto(f"{address}{folder}/")
            assert not page.evaluate("crossOriginIsolated")
            [weights] = (server[1] / folder / "models").glob("*.bin")
            blocks = [*weights.with_suffix("").glob("*.bin")]
            assert blocks
            for file in (weights, *blocks):
                page.evaluate(UNTIL_KEPT, file.relative_to(server[1]).as_posix())
        first = len(asked)
    for folder in ("live", "other"):
        page.goto(f"{address}{folder}/")
        assert page.evaluate("crossOriginIsolated")
        page.get_by_label("Sentence", exact=True).fill("a river, the river")
        page.get_by_label("Sentence", exact=True).press("Enter")
        expect(page.locator(".enc-model-names text").filter(has_text="river")).to_have_count(2)
        page.goto(f"{address}{folder}/heads/?text=the+river")
        expect(page.locator("#head .xtick text").filter(has_text="river")).to_have_count(1)
    page.locator("[data-name=view]").select_option("Compare")
    expect(page.locator("#head .heatmaplayer image")).to_have_count(3)
    has_helpers = page.evaluate("navigator.hardwareConcurrency") > 1
    context.close()
    assert all(one.startswith((address, "data:", "blob:")) for one in asked)
    assert any("/helper." in one for one in asked[first:]) == has_helpers


def test_what_is_typed_is_taken_before_a_cell_is_clicked(visitor: Page, server: tuple[str, Path]) -> None:
    visitor.goto(f"{server[0]}live/heads/?text=the+cat+river&view=map")
    cell = {"x": 30, "y": 30}
    expect(visitor.locator("#head .heatmaplayer image")).to_have_count(1)
    sentence, head = visitor.get_by_label("Sentence", exact=True), visitor.get_by_label("Head", exact=True)
    sentence.fill("a river, the river")
    visitor.locator("#head .nsewdrag").click(position=cell)
    expect(visitor.locator("#head .xtick text").filter(has_text="river")).to_have_count(2)
    expect(sentence).to_have_value("a river, the river")
    assert "text=a+river%2C+the+river&" in visitor.url
    head.fill("2")
    visitor.locator("#head .nsewdrag").click(position=cell)
    expect(visitor.locator("#said")).to_contain_text("L0 H2")
    expect(head).to_have_value("2")
    sentence.press_sequentially(" banks")  # and no other key: typing has stopped
    expect(visitor.locator("#head .xtick text").filter(has_text="bank")).to_have_count(1)
    head.fill("99")
    expect(head).to_have_value("2")
    expect(visitor.locator("#status")).to_contain_text("0 to 2")
    assert "head=2&" in visitor.url


def test_a_link_with_edits_shows_them_and_a_switch_writes_them(visitor: Page, server: tuple[str, Path]) -> None:
    address = f"{server[0]}live/?text=the+cat+river&layer=1&head=2"
    visitor.goto(f"{address}&edits=ablate_l1_h2~zero_offn-out_l0~uniform_l0&norm=charm&step=charm")
    switch = visitor.get_by_role("button", name="head 2", exact=True)
    expect(switch).to_have_attribute("aria-pressed", "false")
    said = visitor.locator("#status")
    for asked in ("uniform_l0", "charm", "step"):
        expect(said).to_contain_text(asked)
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "true")
    assert visitor.url.endswith("edits=zero_offn-out_l0")
    visitor.get_by_role("button", name="Causal mask").click()
    expect(visitor.locator("#app")).to_have_attribute(
        "href", re.compile("edits=zero_offn-out_l0%7Ecausal%7Euniform_l0")
    )
    visitor.get_by_role("link", name="Similarity").click()
    expect(visitor.locator("#status")).to_contain_text("L0 ffn off")
    visitor.go_back()
    expect(visitor.get_by_role("button", name="Causal mask")).to_have_attribute("aria-pressed", "true")


def test_a_word_that_is_not_on_this_device_is_named(
    browser: Browser, server: tuple[str, Path], model: tuple[TextEncoder, Path]
) -> None:
    """The picture of the other text is not shown as if it were that of this one."""
    first, second = "the cat", "日"
    known, wanted = ({number // BLOCK for number in model[0].tokenize(text).ids} for text in (first, second))
    assert wanted - known
    context = browser.new_context(service_workers="block")
    page = context.new_page()

    def answer(route: Route) -> None:
        route.continue_() if block_of(route.request.url) in known else route.abort()

    page.route(re.compile(r"/\d+\.bin$"), answer)
    page.goto(f"{server[0]}live/heads/?text={first}")
    expect(page.locator("#head .xtick text").filter(has_text="cat")).to_have_count(1)
    sentence = page.get_by_label("Sentence", exact=True)
    sentence.fill(second)
    sentence.press("Enter")
    expect(page.locator("#status")).to_contain_text("not on this device")
    expect(page.locator("#status")).to_contain_text(f"“{first}”")
    expect(page.locator("#head")).to_have_css("opacity", "0.35")
    sentence.fill(first)
    sentence.press("Enter")
    expect(page.locator("#head")).to_have_css("opacity", "1")
    context.close()


@pytest.mark.slow("packs a model of 44 MB")
def test_a_large_model_comes_whole_in_the_background(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    write_site(tmp_path / "site", [heads_page(TEXTS[2:], [])], [one for one in MODELS if one.name == "minilm"])
    page = browser.new_page()
    with serving(tmp_path) as address:
        page.goto(f"{address}site/heads/?text=the+cat")
        expect(page.locator("#offline")).to_contain_text("now", timeout=PATIENCE)
    page.goto(f"{address}site/heads/?text=a+quagmire")
    expect(page.locator("#head .xtick text").filter(has_text="##mir")).to_have_count(1)
    page.close()


def block_of(address: str) -> int:
    """The number of a file of word vectors."""
    return int(address.rsplit("/", 1)[1].removesuffix(".bin"))


def open_in_a_post(page: Page, server: tuple[str, Path], host: str, view: str) -> None:
    """Open a page of another host with the line that a view of the published model gives for it."""
    page.goto(f"{server[0]}live/{view}")
    expect(page.locator("body")).to_have_attribute("aria-busy", "false")
    page.get_by_text("Export and share").click()
    line = page.locator("#share-frame").input_value()
    (server[1] / "post.html").write_text(HOST.format(line=line), encoding="utf-8")
    page.evaluate("navigator.serviceWorker.ready")
    page.goto(f"{host}post.html")


def heard_by(page: Page, kind: str, **values: Any) -> dict[str, Any]:
    """The first message of a kind with these values; earlier ones are forgotten."""
    found = page.evaluate(
        "([kind, values]) => new Promise((done) => { const look = () => { const at = heard.findIndex((one) =>"
        " one.encoderscope === kind && Object.entries(values).every(([name, value]) => one[name] === value));"
        " at < 0 ? setTimeout(look, 50) : done(heard.splice(0, at + 1).at(-1)); }; look(); })",
        [kind, values],
    )
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        ("?layer=1", "#model svg"),
        ("heads/?view=map", "#head .heatmaplayer image"),
        ("heads/?view=text", "#head .enc-root"),
        ("heads/?view=beside&compare=models", "#head .heatmaplayer image"),
        ("similarity/?text=the+cat+river&similar_to=A+cat+banks", "#said li"),
    ],
)
def test_a_frame_of_each_view_has_its_height_and_hears_the_page(
    visitor: Page, server: tuple[str, Path], hosts: tuple[str, str], view: str, shown: str
) -> None:
    open_in_a_post(visitor, server, hosts[1], view)
    heard_by(visitor, "drawn")
    visitor.evaluate("tell({ text: 'the river cat' })")
    heard_by(visitor, "drawn", text="the river cat")
    inside = visitor.frame_locator("iframe")
    expect(inside.locator(shown).first).to_be_visible()
    picture = inside.locator(shown).last.bounding_box()
    frame = visitor.locator("iframe").bounding_box()
    assert picture is not None
    assert frame is not None
    assert picture["y"] + picture["height"] <= frame["y"] + frame["height"]
    assert frame["height"] > 100


def test_a_frame_is_driven_from_the_page_around_it(
    visitor: Page, server: tuple[str, Path], hosts: tuple[str, str], model: tuple[TextEncoder, Path]
) -> None:
    open_in_a_post(visitor, server, hosts[0], "heads/?view=lines")
    heard = partial(heard_by, visitor)
    heard("ready")
    assert visitor.frames[1].evaluate("navigator.serviceWorker.controller !== null")
    heard("drawn")
    inside = visitor.frame_locator("iframe")
    expect(inside.locator("#head .enc-root")).to_be_visible()
    for hidden in ("#grid", "h1", "footer", "textarea[data-name]"):
        expect(inside.locator(hidden).first).to_be_hidden()
    visitor.evaluate("tell({ text: 'The naïve cat', view: 'beside', compare: 'heads', head_b: 0 })")
    heard("drawn", text="The naïve cat")
    expect(inside.locator("#head .annotation-text").filter(has_text="B L0 H0")).to_have_count(1)
    visitor.evaluate("tell({ view: 'lines', layer: 2, head: 1, i: 1, j: 2 })")
    drawn = heard("drawn", text="The naïve cat", j=2, view="lines", norm="", compare="heads")
    trace = encoder.live.packed.as_read(model[0], 8).trace("The naïve cat")
    assert drawn["tokens"] == list(trace.labels)
    assert (drawn["layers"], drawn["heads"]) == (3, 3)
    assert abs(drawn["weight"] - float(trace.attention(2, 1)[1, 2])) < 1e-3
    assert drawn["strongest"] == int(trace.attention(2, 1)[1].argmax())
    inside.locator("#head .enc-root").get_by_text("cat").first.click()
    clicked = heard("click")
    assert (clicked["layer"], clicked["head"]) == (2, 1)
    for values, said in (
        ("{ word: 'x' }", "word"),
        ("{ model: 'gpt' }", "gpt"),
        ("{ text: 'a'.repeat(5000) }", "4000"),
        ("{ head: 99 }", "0 to 2"),
        ("{ layer: 'abc' }", "abc"),
        ("{ view: 'nonsense' }", "beside"),
        ("{ i: 500 }", "500"),
        ("{ text: 'the river', i: 500 }", "500"),
    ):
        visitor.evaluate(f"tell({values})")
        assert said in heard("error")["message"]
    assert heard_nothing_of(visitor)


def heard_nothing_of(page: Page) -> bool:
    """Whether a page that is not in a frame hears no message."""
    address = page.url.replace("post.html", "live/heads/?text=a")
    page.goto(address)
    expect(page.locator("#head .heatmaplayer image")).to_have_count(1)
    page.evaluate("postMessage({ encoderscope: 'set', text: 'other' })")
    page.locator("[data-name=view]").select_option("lines")
    expect(page.locator("#head .heatmaplayer")).to_have_count(0)
    return "text=a&" in page.url


@pytest.mark.slow("Sphinx builds two pages")
def test_the_recipe_of_sphinx_shows_a_picture_in_both_of_its_markups(visitor: Page, server: tuple[str, Path]) -> None:
    root, source, line = server[1], server[1] / "sphinx", frame_line()
    shutil.copytree(root / "live", source / "extra" / "published")
    [setting] = re.findall(r"`(html_extra_path = [^`]+)`", RECIPES)
    (source / "icon.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>', encoding="utf-8")
    look = 'html_theme = "basic"\nhtml_favicon = "icon.svg"'
    (source / "conf.py").write_text(f'extensions = ["myst_parser"]\n{look}\n{setting}\n', encoding="utf-8")
    plain = f"A post\n======\n\n.. raw:: html\n\n   {line}\n\n.. toctree::\n\n   other\n"
    (source / "index.rst").write_text(plain, encoding="utf-8")
    (source / "other.md").write_text(f"# Another\n\n```{{raw}} html\n{line}\n```\n", encoding="utf-8")
    build = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(source), str(root / "built")]
    subprocess.run(build, check=True, timeout=120)
    for name in ("index", "other"):
        visitor.goto(f"{server[0]}built/{name}.html")
        check_frame(visitor)


@pytest.mark.slow("MkDocs builds a page")
def test_the_recipe_of_mkdocs_shows_a_picture(visitor: Page, server: tuple[str, Path]) -> None:
    root, source = server[1], server[1] / "mkdocs"
    [place] = re.findall(r"\| MkDocs \| `([^`]+)` \|", RECIPES)
    shutil.copytree(root / "live", source / place)
    (source / "docs" / "index.md").write_text(f"# A post\n\n{frame_line()}\n", encoding="utf-8")
    # Its own search and its other theme speak to the console.
    about = {"site_name": "Posts", "theme": {"name": "readthedocs", "highlightjs": False}, "plugins": []}
    (source / "mkdocs.yml").write_text(yaml.safe_dump(about), encoding="utf-8")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(root / "posts")]
    subprocess.run(build, check=True, timeout=120, cwd=source)
    visitor.goto(f"{server[0]}posts/index.html")
    check_frame(visitor)


def frame_line() -> str:
    """The line of the document, for a page beside the published folder."""
    [line] = re.findall(r"<iframe.*?</iframe>", RECIPES, re.DOTALL)
    return line.replace("https://you.example/", "").replace("\n", " ")


def check_frame(page: Page) -> None:
    inside = page.frame_locator("iframe")
    expect(inside.locator("#head .enc-lines")).to_contain_text("L2 H2")
    assert inside.locator("h1").is_hidden()


def test_the_readme_of_a_space_has_keys_of_its_reference(server: tuple[str, Path]) -> None:
    """https://huggingface.co/docs/hub/spaces-config-reference"""
    [front] = re.findall(r"```yaml\n---\n(.*?)---\n```", RECIPES, re.DOTALL)
    about = yaml.safe_load(front)
    assert about["sdk"] == "static"
    assert set(about) <= {"title", "emoji", "colorFrom", "colorTo", "sdk", "app_file", "pinned", "license"}
    assert (server[1] / "live" / about["app_file"]).is_file()


@pytest.mark.slow("fifty texts for each kind")
@pytest.mark.parametrize("kind", list(KINDS)[:6])
def test_fifty_texts_have_the_numbers_and_ids_of_python_in_chromium(
    kind: str, browser: Browser, tmp_path: Path
) -> None:
    model, given = model_of(kind), texts(50)
    shutil.copytree(BROWSER, tmp_path / "browser")
    unpack(model, tmp_path)
    (tmp_path / "index.html").write_text("<!DOCTYPE html>", encoding="utf-8")
    page = browser.new_page()
    with serving(tmp_path) as address:
        page.goto(address)
        are_numbers_of(json.loads(page.evaluate(of_page(NUMBERS, texts=given))), model, model, given)
    page.close()
