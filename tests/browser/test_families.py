"""Every family in Chromium: a tiny random checkpoint of each, made by transformers, on the pages that accept its input.

All of it is in the slow tier; tests/pages opens pages with models of each kind without a browser.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from benchmarks.serving import addresses
from tests.browser.test_every_page import OPEN_ALL
from tests.conftest import Server, Tab, go, query, settle

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1_800)]

#: Pages without a model of the visitor's, and pages that accept texts only.
WITHOUT, TEXTS_ONLY = {"training", "lessons", "classroom", "by_hand", "glossary"}, {"texts", "probes", "diagnose"}
PAGES = {folder: path for folder, path in addresses().items() if folder not in WITHOUT}
#: What stays in the address from page to page.
INPUT = {"model": "other", "text": "w7 w20 w33 w8 w41 w33", "i": "2", "j": "3"}
#: Parts that only an address opens.
PARTS = {"model": {"start": "1", "step": "scores", "check": "1"}, "heads": {"view": "vectors"}}
JOINTS = ("aimv2", "clip", "metaclip2", "owlv2", "siglip", "siglip2")
#: Checkpoint -> the name of its class, of models of texts and pages.
OF_PAGES = {"modernvbert": "ModernVBert", "colmodernvbert": "ColModernVBert"}
#: What a page says where something failed.
ERRORS = '[data-testid="stAlertContentError"], [data-testid="stException"], .katex-error'
#: Whether a field above the page shows this model.
SHOWN = """() => [...document.querySelectorAll(".stMain input")].some(one => one.value === "SOURCE")"""


def folder_of(name: str) -> str:
    """A case's folder: its name without what an address escapes."""
    return re.sub(r"[^a-z0-9]+", "-", name)


@dataclass(frozen=True)
class Families:
    """The app, which offers all checkpoints; the names of all, and of those that accept texts."""

    server: Server
    names: tuple[str, ...]
    texts: frozenset[str]

    def pages_of(self, name: str) -> list[str]:
        """The pages that accept the input of a checkpoint."""
        return [folder for folder in PAGES if name in self.texts or folder not in TEXTS_ONLY]


@pytest.fixture(scope="module")
def families(
    serve: Callable[..., contextlib.AbstractContextManager[Server]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Families]:
    from tests.load import every_family, joints, pages  # torch takes seconds in each process

    root = tmp_path_factory.mktemp("families")
    chosen = (*every_family.ALL, *JOINTS, *OF_PAGES)
    for name in chosen:
        if name in JOINTS:
            joints.write(joints.model_of(name), root / name, name)
        elif name in OF_PAGES:
            pages.write(pages.model_of(OF_PAGES[name]), root / name)
        else:
            case = every_family.ALL[name]
            every_family.write(case, case.make(), root / folder_of(name))
    with serve(ENCODERSCOPE_MODELS_ROOT=str(root)) as server:
        yield Families(server, chosen, frozenset((*every_family.TEXTS, *JOINTS, *OF_PAGES)) & {*chosen})


def opened(page: Page, folder: str, name: str) -> list[str]:
    """Open a page with a checkpoint, and its closed parts: what it says went wrong."""
    source = folder_of(name)
    values = {**INPUT, "source": source, **PARTS.get(folder, {})}
    go(page, f"{PAGES[folder]}?{urlencode(values)}", wait_for=SHOWN.replace("SOURCE", source))
    page.evaluate(OPEN_ALL)
    page.wait_for_timeout(250)
    settle(page)
    found = page.locator(ERRORS).all_inner_texts()
    if query(page).get("model") != "other":
        found.append("another model stands in")
    return found


def visited(browser: Browser, server: Server, visits: list[tuple[str, str]]) -> None:
    """Fails if a page has an error, the console or the server's log a line, or a request goes elsewhere."""
    before, tab, found = len(server.log()), Tab(browser, server.url, {}), []
    tab.page.set_viewport_size({"width": 1280, "height": 720})
    tab.page.goto(f"{server.url}/glossary")
    settle(tab.page)
    for name, folder in visits:
        said = opened(tab.page, folder, name) + tab.complaints
        found += [f"{folder} with {name}: {one}" for one in said]
        tab.complaints.clear()
    tab.context.close()
    assert not found, "\n".join(found)
    assert not server.log()[before:]


@pytest.mark.slow("opens every page with fifty families")
@pytest.mark.parametrize("folder", PAGES)
def test_every_page_opens_with_every_second_family(browser: Browser, families: Families, folder: str) -> None:
    first = list(PAGES).index(folder) % 2  # every second family; the next page has the others
    visits = [(name, folder) for name in families.names[first::2] if folder in families.pages_of(name)]
    visited(browser, families.server, visits)
