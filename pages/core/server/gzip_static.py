"""Streamlit's own scripts and styles, compressed once and kept: a class that opens the app at once shares them.

Streamlit leaves compression to a proxy, as it would compress again for every visitor. A classroom has no proxy: without
this a first visit takes 6.3 MB instead of 3.2, and half of the server's work for it is reading a hundred files.
"""

import asyncio
import gzip
import hashlib
import mimetypes
from functools import cache
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

TEXT = {".js", ".css", ".svg"}
#: Level 9 takes three times as long as 6, for a hundredth of the bytes.
LEVEL = 6
#: Where the files lie, under the folder and in a request's path alike. Their names change with their content.
PLACE = "static"
HEADERS = {"cache-control": "public, immutable, max-age=31536000", "vary": "Accept-Encoding"}


class GzipStatic:
    """ASGI middleware: text files below `folder`/static, gzipped, from memory; all other requests go to `app`.

    base_url: the path that the app lies under, "" for none. Only names that were there at the start are answered, and
    only to GET from a browser that takes gzip and wants the whole file.
    """

    def __init__(self, app: ASGIApp, folder: Path, base_url: str = "") -> None:
        self._app = app
        prefix = "/".join(["", *filter(None, base_url.split("/")), ""])
        files = (path for path in (folder / PLACE).rglob("*") if path.suffix in TEXT and path.is_file())
        self._files = {f"{prefix}{path.relative_to(folder).as_posix()}": path for path in files}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        file = self._files.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "GET" else None
        asked = Headers(scope=scope) if file is not None else {}
        if file is None or "range" in asked or "gzip" not in asked.get("accept-encoding", ""):
            await self._app(scope, receive, send)
            return
        content, tag = await asyncio.to_thread(_compressed, file)
        headers = {**HEADERS, "etag": tag}
        if asked.get("if-none-match") == tag:
            response = Response(status_code=304, headers=headers)
        else:
            headers["content-encoding"] = "gzip"
            response = Response(content, headers=headers, media_type=mimetypes.guess_type(file.name)[0])
        await response(scope, receive, send)


@cache
def _compressed(file: Path) -> tuple[bytes, str]:
    """A file's content, and its tag."""
    content = gzip.compress(file.read_bytes(), LEVEL, mtime=0)
    return content, f'"{hashlib.blake2b(content, digest_size=8).hexdigest()}"'
