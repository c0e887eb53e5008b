"""The site in Firefox, where one is installed: the engine's numbers, and what a reader does first."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from encoder.live.tokenizer import described
from tests import firefox
from tests.browser.static_server import ISOLATED, serving
from tests.browser.test_site import site
from tests.browser.test_threads import RUN, folder
from tests.site.odd_texts import odd_texts, tokenizers
from tests.site.test_engine import BROWSER, FIFTY, are_those_of_python, of_page, texts, unpack
from tests.site.test_head_views import SHOWN, are_moved_norms, are_vectors
from tests.site.test_kinds import KINDS, NUMBERS, are_numbers_of, model_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow("starts Firefox"),
    pytest.mark.skipif(firefox.find() is None, reason="no Firefox: install one, or name it in FIREFOX"),
]
__all__ = ["folder", "site"]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[firefox.Firefox]:
    with firefox.opened(firefox.find() or "", tmp_path_factory.mktemp("firefox")) as opened:
        yield opened


@pytest.mark.parametrize("name", ["twin-pre", "twin-post"])
def test_fifty_texts_give_the_numbers_of_python(name: str, page: firefox.Firefox, tmp_path: Path) -> None:
    shutil.copytree(BROWSER, tmp_path / "browser")
    unpack(name, tmp_path)
    with serving(tmp_path) as address:
        page.open(address)
        found = json.loads(page.run(of_page(FIFTY, texts=texts(50))))
    are_those_of_python(found, name, texts(50))


@pytest.mark.parametrize("kind", list(KINDS)[:6])
def test_fifty_texts_have_the_numbers_and_ids_of_python(kind: str, page: firefox.Firefox, tmp_path: Path) -> None:
    model, given = model_of(kind), texts(50)
    shutil.copytree(BROWSER, tmp_path / "browser")
    unpack(model, tmp_path)
    with serving(tmp_path) as address:
        page.open(address)
        are_numbers_of(json.loads(page.run(of_page(NUMBERS, texts=given))), model, model, given)


@pytest.mark.parametrize("kind", ["wordpiece", "bytes", "unigram", "precompiled"])
def test_two_thousand_odd_texts_have_the_ids_of_the_library(kind: str, page: firefox.Firefox, tmp_path: Path) -> None:
    """Its regular expressions and its tables of Unicode are its own."""
    tokenizer, given = tokenizers(texts(60))[kind], odd_texts(2000)
    shutil.copytree(BROWSER, tmp_path / "browser")
    (tmp_path / "index.html").write_text("<!DOCTYPE html>", encoding="utf-8")
    about = {"tokenizer": described(tokenizer, "a model"), "texts": given}
    (tmp_path / "about.json").write_text(json.dumps(about), encoding="utf-8")
    with serving(tmp_path) as address:
        page.open(address)
        found = page.run(
            "Promise.all([import('/browser/engine/tokenizer.js'), fetch('/about.json').then((one) => one.json())])"
            ".then(([{ Tokenizer }, about]) => { const made = new Tokenizer(about.tokenizer);"
            " return about.texts.map((text) => made.tokens(text, 512).map(({ id }) => id)); })"
        )
    for text, ids in zip(given, found, strict=True):
        assert ids == list(tokenizer.encode(text, None, 512).ids), repr(text)


def test_two_threads_give_the_bits_of_one(page: firefox.Firefox, folder: Path) -> None:
    with serving(folder, ISOLATED) as address:
        page.open(address)
        found = page.run(f"({RUN})({json.dumps({'texts': texts(12), 'enough': 300})})")
    assert (found["threads"], found["different"], found["isOne"]) == (2, 0, True)
    assert found["compared"] > 10_000
    assert found["all"] - found["own"] >= 300


def test_a_reader_types_opens_a_head_moves_the_norms_and_draws_a_digit(page: firefox.Firefox, site: str) -> None:
    start, before = len(page.requests), len(page.console)
    page.open(site)
    page.wait_for("!!document.querySelector('.enc-model-names text')")
    page.run(
        "((box) => { box.value = 'The river flows past the old bank.'; box.dispatchEvent(new Event('change')); })"
        "(document.querySelector('textarea'))"
    )
    page.wait_for("document.querySelector('.enc-model-names')?.textContent.includes('river')")
    page.run("document.querySelector('.enc-model-switches button').setAttribute('id', 'norms')")
    page.draw("#norms", (0.5, 0.5))
    page.wait_for("location.search.includes('norm=post')")
    page.open(f"{site}heads/?text=The+cat+sat.&layer=1&head=1")
    page.wait_for("!!document.querySelector('#head .heatmaplayer image')")
    page.draw("#grid canvas", (0.97, 0.97))
    page.wait_for("location.search.includes('layer=3') && location.search.includes('head=3')")
    page.draw("#grid canvas", (0.3, 0.4), touch=True)
    page.wait_for("!location.search.includes('head=3')")
    for view, shown, are_those in (
        ("vectors", "attend to “cat”", are_vectors),
        ("beside&compare=models", "teal", are_moved_norms),
    ):
        page.open(f"{site}heads/?text=The+cat+sat.&layer=1&head=1&j=2&view={view}")
        page.wait_for(f"document.querySelector('#said').textContent.includes('{shown}')")
        page.wait_for("document.querySelectorAll('#head .heatmaplayer image').length === 3")
        are_those(page.run(SHOWN), "The cat sat.", 1, 1)
    page.open(f"{site}digit/")
    page.wait_for("document.querySelector('#said').textContent.length > 5")
    page.draw("#draw canvas", *((0.5, at / 10) for at in (1, 3, 5, 7, 9)), touch=True)
    page.wait_for("document.querySelector('#said li')?.textContent.startsWith('1')")
    page.open(f"{site}by_hand/")
    page.wait_for("document.querySelectorAll('.enc-hand-math').length > 20")
    assert [one for one in page.requests[start:] if not one.startswith((site, "data:", "blob:"))] == []
    # Of requests that were on their way when the page was left.
    assert [one for one in page.console[before:] if "ServiceWorker intercepted" not in one] == []
