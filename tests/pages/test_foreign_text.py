"""What a visitor types, asks for in the address or opens as a file is shown as text: no image, no link, no markup."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from streamlit.testing.v1 import AppTest

import encoder
from pages.core.words.markdown import LONGEST_ERROR, plain, say_error, screen_name
from tests.conftest import ROOT
from tests.pages.apps import registered, visit

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

HOSTILE = (
    "![p](http://foreign.test/m.png) [l](http://foreign.test) <b>x</b> https://foreign.test www.foreign.test "
    "a@foreign.test"
)
PAGES = sorted(path.parent.name for path in ROOT.glob("pages/*/page.py"))
#: The fields of Streamlit's messages that are Markdown.
MARKDOWN = {"body", "label", "help", "caption"}
#: What GitHub's Markdown makes a link of, in a text whose marks are resolved.
AUTOLINK = re.compile(r"(?i)(https?:|www\.)[-.\w/]*foreign|\w@foreign")


def strings(message) -> Iterator[str]:
    """All Markdown of a protobuf message."""
    for field, value in message.ListFields():
        several = value if field.is_repeated else [value]
        for one in several:
            if field.message_type is not None and hasattr(one, "ListFields"):
                yield from strings(one)
            elif field.name in MARKDOWN and isinstance(one, str):
                yield one


def foreign(markdown: str) -> list[str]:
    """Images, and links to another machine, in a Markdown text."""
    found = []
    for block in MarkdownIt("gfm-like", {"linkify": False}).parse(markdown):
        for token in block.children or []:
            address = str(token.attrs.get("href") or token.attrs.get("src") or "")
            if (
                token.type == "image"
                or "foreign" in address
                or (token.type == "text" and AUTOLINK.search(token.content))
            ):
                found.append(markdown)
        if block.type == "html_block" and "foreign" in block.content:
            found.append(markdown)
    return found


def shown(app: AppTest) -> list[str]:
    """All Markdown of the page. HTML is escaped by another rule, which test_frame.py looks at."""
    nodes = [node for node in app.main if node.type != "html"]
    protos = [getattr(node, "proto", None) for node in nodes]
    return [text for proto in protos if proto is not None for text in strings(proto)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint whose name and notes are hostile."""
    here = tmp_path_factory.mktemp("models") / "[l](http:foreign.test) <img src=x>"
    shutil.copytree(ROOT / "encoder/data/twin-pre", here)
    (here / "config.json").write_text(
        json.dumps(json.loads((here / "config.json").read_text()) | {"name": HOSTILE.replace("/", "∕")})
    )
    return here


def hostile_view() -> dict[str, str]:
    """Every value of the address that may be a text, hostile."""
    texts = {name for name, param in registered().items() if isinstance(param.default, str) and _takes(param)}
    return dict.fromkeys(sorted(texts - {"source"}), HOSTILE)


def _takes(param) -> bool:
    try:
        return param.parse(HOSTILE) == HOSTILE
    except ValueError:
        return False


def test_the_detector_finds_what_it_should():
    assert foreign("![p](http://foreign.test/m.png)")
    assert foreign("see [l](http://foreign.test)")
    assert foreign(r"see http\://foreign.test")
    assert foreign("a@foreign.test")
    assert not foreign("[Heads](heads) are fine")
    assert not foreign(plain(HOSTILE))
    assert not foreign(screen_name(HOSTILE))


def test_an_escaped_text_reads_as_it_was_typed():
    typed = r"a*b _c_ `d` <e> &lt; [f](g) # h \ i $j$ :red[k] ~l~ == ^"
    shown = "".join(
        token.content
        for block in MarkdownIt("gfm-like", {"linkify": False}).parse(plain(typed))
        for token in block.children or []
    )
    assert shown == typed


def test_a_long_error_is_cut_in_the_middle():
    said = []
    say_error(ValueError("a" * 9_000 + "z"), lambda text, icon: said.append(text))
    assert len(said[0]) < LONGEST_ERROR + 10
    assert said[0].startswith("a")
    assert said[0].endswith("z")


@pytest.mark.sample(3, "opens another page with hostile text")
@pytest.mark.parametrize("page", PAGES)
def test_no_page_shows_a_visitors_markup(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    view = hostile_view()
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(folder.parent))
    for more in ({"model": "other", "source": HOSTILE}, {"model": "other", "source": folder.name}):
        app = visit(page, **view, **more)
        assert not [text for one in shown(app) for text in foreign(one)]


def test_every_error_on_a_page_goes_through_one_function():
    """`st.error(str(error))` would show what the error quotes as Markdown."""
    boxes = {"error", "warning", "info", "markdown", "caption", "success"}
    for path in [ROOT / "app.py", *ROOT.glob("pages/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in boxes:
                bare = [
                    name
                    for argument in node.args
                    for name in ast.walk(argument)
                    if isinstance(name, ast.Name) and name.id in {"error", "problem"} and not _escaped(argument)
                ]
                assert not bare, f"{path}:{node.lineno}: use say_error"


def _escaped(argument: ast.expr) -> bool:
    return any(getattr(getattr(node, "func", None), "id", "") == "plain" for node in ast.walk(argument))


def test_the_models_name_is_not_changed_where_it_is_ordinary():
    assert screen_name("all-MiniLM-L6-v2") == "all-MiniLM-L6-v2"
    assert screen_name("org/my_model (2)") == "org/my_model (2)"
    assert encoder.load("twin-pre").name == screen_name(encoder.load("twin-pre").name)
