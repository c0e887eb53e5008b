"""The app under Streamlit's AppTest: a fresh visitor at an address."""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import Any

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from pages.components.lazy import KEY
from pages.core.frame.navigation import AT_THE_ROOT
from pages.state.params import Param
from pages.state.url_state import state
from tests.conftest import ROOT
from tests.test_components import unpack

PATIENCE = 120  # seconds, for a busy machine; not a claim about speed

# AppTest looks for components in every installed package at every run, where a server does so once, at its start.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def visit(page: str | None = None, *, closed: bool = False, at_front: bool = False, **query: str) -> AppTest:
    """Open the app, at a page (its folder below pages/, by default "heads") and with values in the address.

    at_front: stay at "/"; closed: as a visitor finds it; otherwise the parts that are closed at first are open.
    """
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    for name, value in query.items():
        app.query_params[name] = value
    parts = ("options", "grid", "settings", "thresholds", "take", "input", "architecture", "updates", "lost")
    for part in () if closed else parts:
        app.session_state[f"{KEY}{part}"] = True
    if at_front:
        return app.run()
    name = AT_THE_ROOT if page == "model" else page or "heads"
    app._page_hash = calc_hash(name)  # as in a browser: no other page runs first, as `switch_page` needs it
    return app.run()


def registered() -> dict[str, Param]:
    """The values of the core and of every page: name in the address -> declaration."""
    for path in sorted(ROOT.glob("pages/*/params.py")):
        importlib.import_module(f"pages.{path.parent.name}.params")
    importlib.import_module("pages.core.frame.frame")
    return dict(state.params)


def sentences(app: AppTest) -> str:
    """Everything the page says in boxes: errors, warnings, notes, without Markdown's escapes."""
    boxes = (box.value for kind in ("error", "warning", "info") for box in app.get(kind))
    return "\n".join(boxes).replace("\\", "").replace("\N{WORD JOINER}", "")


def noted(app: AppTest, icon: str) -> str:
    """The texts of the boxes with this icon, without Markdown's escapes."""
    boxes = (box for kind in ("error", "warning", "info") for box in app.get(kind))
    return "\n".join(box.value for box in boxes if box.icon == f":material/{icon}:").replace("\\", "")


def numbers(text: str) -> list[int]:
    """The whole numbers in a text, in order, with or without commas at the thousands."""
    return [int(found.replace(",", "")) for found in re.findall(r"(?<![\w.-])\d[\d,]*\b(?!\.\d)", text)]


def words(app: AppTest) -> str:
    """Everything that the page says in running text; a word that links to the glossary is that word."""
    kinds = ("markdown", "caption", "header", "subheader")
    text = "\n".join(element.value for kind in kinds for element in app.get(kind))
    return re.sub(r'\[([^\]]+)\]\(glossary\?[^"]*"[^"]*"\)', r"\1", text)


def charts(app: AppTest) -> list[list[dict[str, Any]]]:
    """The traces of every chart, in order."""
    drawn = (one.proto for one in app.get("bidi_component") if one.proto.component_name == "encoderscope_plot")
    return [unpack(one.bytes)[0]["figure"]["data"] for one in drawn]


def assert_well(app: AppTest) -> None:
    """No exception, no error box, and no blank page: there is a heading with something below it."""
    assert not app.exception, app.exception
    assert not app.error, [box.value for box in app.error]
    shown = [type(node).__name__ for node in app.main]
    headings = {"Title", "Header", "Subheader"}
    assert headings & set(shown), "the page has no heading"
    assert set(shown) - headings - {"SpecialBlock", "Block", "Html"}, "the page has nothing but headings"


def written(app: AppTest) -> str:
    """The page's running text, without Markdown's escapes."""
    return words(app).replace("\\", "")


def press(app: AppTest, label: str) -> None:
    """Click the first button whose label begins like this."""
    next(button for button in app.button if button.label.startswith(label)).click().run()


def labels(app: AppTest) -> list[str]:
    """The labels of all buttons."""
    return [button.label for button in app.button]


def formulas(app: AppTest) -> str:
    """All formulas as LaTeX."""
    return "\n".join(element.value for element in app.get("latex"))


def exported(app: AppTest, language: str = "python") -> str:
    """What the page exports: its Python lines, or as "bash" the command that runs the same."""
    return [block.value for block in app.get("code") if block.language == language][-1]
