"""Streamlit's own files, compressed once: the right bytes to whoever takes them, and nothing else touched."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path

import pytest

from pages.core.server.gzip_static import GzipStatic

SCRIPT = b"export const x = 'kept';\n" * 200


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in {"static/js/a.12ab.js": SCRIPT, "static/media/b.woff2": b"font", "secret.js": b"no"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return tmp_path


async def behind(scope, receive, send):
    """The app that all other requests reach."""
    await send({"type": "http.response.start", "status": 418, "headers": []})
    await send({"type": "http.response.body", "body": b"behind"})


def ask(files: GzipStatic, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer to one request."""
    sent = []
    fields = {"accept-encoding": "gzip, deflate, br"} | {name.replace("_", "-"): text for name, text in headers.items()}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(name.encode(), text.encode()) for name, text in fields.items()],
    }

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request"}

    asyncio.run(files(scope, receive, send))
    start, body = sent
    return start["status"], {key.decode(): value.decode() for key, value in start["headers"]}, body["body"]


def test_a_script_arrives_whole_and_compressed(folder: Path):
    status, headers, body = ask(GzipStatic(behind, folder), "/static/js/a.12ab.js")
    assert status == 200
    assert gzip.decompress(body) == SCRIPT
    assert headers["content-encoding"] == "gzip"
    assert int(headers["content-length"]) == len(body) < len(SCRIPT) / 10
    assert headers["content-type"].partition(";")[0] in {"application/javascript", "text/javascript"}
    assert "immutable" in headers["cache-control"]
    assert headers["vary"] == "Accept-Encoding"


def test_it_is_read_once(folder: Path):
    files = GzipStatic(behind, folder)
    first = ask(files, "/static/js/a.12ab.js")
    (folder / "static/js/a.12ab.js").unlink()
    assert ask(files, "/static/js/a.12ab.js") == first


def test_a_cached_file_is_answered_with_304(folder: Path):
    files = GzipStatic(behind, folder)
    tag = ask(files, "/static/js/a.12ab.js")[1]["etag"]
    status, headers, body = ask(files, "/static/js/a.12ab.js", if_none_match=tag)
    assert (status, body) == (304, b"")
    assert headers["etag"] == tag


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/static/media/b.woff2", {}),
        ("/static/js/none.js", {}),
        ("/static/../secret.js", {}),
        ("/secret.js", {}),
        ("/", {}),
        ("/static/js/a.12ab.js", {"accept_encoding": "identity"}),
        ("/static/js/a.12ab.js", {"range": "bytes=0-9"}),
        ("/static/js/a.12ab.js", {"method": "HEAD"}),
    ],
)
def test_everything_else_is_left_to_the_app(folder: Path, path: str, headers: dict[str, str]):
    assert ask(GzipStatic(behind, folder), path, **headers)[0] == 418


@pytest.mark.parametrize("base_url", ["app", "/app/", "deep/app"])
def test_below_a_path(folder: Path, base_url: str):
    files = GzipStatic(behind, folder, base_url)
    assert ask(files, f"/{base_url.strip('/')}/static/js/a.12ab.js")[0] == 200
    assert ask(files, "/static/js/a.12ab.js")[0] == 418


def test_other_traffic_passes(folder: Path):
    passed = []

    async def app(scope, receive, send):
        passed.append(scope["type"])

    asyncio.run(GzipStatic(app, folder)({"type": "websocket", "path": "/static/js/a.12ab.js"}, None, None))
    assert passed == ["websocket"]
