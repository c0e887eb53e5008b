"""The first response has the app's style and its scripts; other responses stay as they are."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pages.components import assets
from pages.core.server import first_paint
from pages.core.server.first_paint import FirstPaint
from tests.conftest import ROOT

PAGE = '<html><head><script src="./static/js/index.1.js"></script></head><body><div id="root"></div></body></html>'
SCRIPTS = {
    "index.1.js": "",
    "Button.2.js": 'import{a}from"./index.1.js";import"./deep.3.js";const later=()=>import("./later.5.js")',
    "deep.3.js": 'import{b}from"./deeper.4.js"',
    "deeper.4.js": "",
    "later.5.js": "",
}


def test_the_server_starts_without_torch():
    script = "import sys, pages.core.server.app_server, pages.core.server.first_paint; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "static/js").mkdir(parents=True)
    (tmp_path / "index.html").write_text(PAGE, encoding="utf-8")
    for name, script in SCRIPTS.items():
        (tmp_path / "static/js" / name).write_text(script, encoding="utf-8")
    return tmp_path


def answered(
    folder: Path, content: str, kind: str = "text/html; charset=utf-8", path: str = "/heads", **more: Any
) -> tuple[dict[str, str], bytes, list]:
    """Headers and body that arrive of what the app behind answers, and the names of the headers that it gets."""
    asked, sent = [], []

    async def behind(scope, receive, send):
        asked.extend(name for name, _ in scope["headers"])
        headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(content)), (b"etag", b'"old"')]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content.encode()[:20], "more_body": True})
        await send({"type": "http.response.body", "body": content.encode()[20:]})

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request"}

    headers = [(b"accept", b"text/html,*/*"), (b"if-none-match", b'"old"')]
    scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
    asyncio.run(FirstPaint(behind, folder, **more)(scope, receive, send))
    found = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
    return found, b"".join(message["body"] for message in sent[1:]), asked


def test_the_page_has_the_style_and_what_scripts_import(folder: Path):
    headers, body, asked = answered(folder, PAGE)
    page = body.decode()
    assert int(headers["content-length"]) == len(body)
    assert "etag" not in headers
    assert b"if-none-match" not in asked
    for name in ("Button.2.js", "deep.3.js", "deeper.4.js"):
        assert page.count(f'<link rel="modulepreload" crossorigin href="./static/js/{name}">') == 1
    assert page.count("index.1.js") == 1
    assert "later.5.js" not in page
    assert page.index('<div id="root">') < page.index(".enc-pages")  # a later style wins over Streamlit's own
    assert ".st-key-ask" in page  # until its script is there, Streamlit draws a grey bar in its place


@pytest.mark.parametrize(("path", "drawing"), [("/lab/", "model_picture"), ("/lab/heads", "head_grid"), ("/lab/x", "")])
def test_the_page_names_the_scripts_of_its_first_components(folder: Path, path: str, drawing: str):
    wanted = {"find", "ask", *filter(None, [drawing])}
    written = {
        name: assets._write_script(folder / "own", name).name for name in ("find", "ask", "model_picture", "head_grid")
    }
    for base_url, static in (("lab", folder / "own"), ("/lab/", folder / "own"), ("lab", folder), ("lab", None)):
        page = answered(folder, PAGE, path=path, base_url=base_url, static=static)[1].decode()
        named = {name for name, file in written.items() if f"app/static/{file}" in page}
        assert named == (wanted if static == folder / "own" else set())


@pytest.mark.parametrize(
    ("content", "kind"), [("<p>A report that somebody downloads</p>", "text/html"), (PAGE, "text/plain")]
)
def test_anything_else_stays_as_it_is(folder: Path, content: str, kind: str):
    headers, body, _ = answered(folder, content, kind)
    assert body.decode() == content
    assert headers["etag"] == '"old"'


def test_a_style_sheet_of_a_page_is_in_it_and_one_of_a_component_is_not():
    style = first_paint.style()
    assert (first_paint.PAGES / "heads" / "page.css").read_text(encoding="utf-8") in style
    assert (first_paint.PAGES / "components" / "curves.css").read_text(encoding="utf-8") not in style
    for name in ("ballot.css", "wall.css"):
        sheet = first_paint.PAGES / "teaching" / "stage" / "sent" / name
        assert sheet.read_text(encoding="utf-8") not in style
