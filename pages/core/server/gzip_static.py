"""Streamlit's own scripts and styles, compressed once and kept: a class that opens the app at once shares them.

Streamlit leaves compression to a proxy, as it would compress again for every visitor. A classroom has no proxy: without
this a first visit takes 6.3 MB instead of 3.2, and half of the server's work for it is reading a hundred files.
"""

import asyncio
import gzip
import hashlib
import mimetypes
import threading
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

TEXT = {".js", ".css", ".svg"}
#: Level 9 takes three times as long as 6, for a hundredth of the bytes.
LEVEL = 6
#: Where the files lie, under the folder and in a request's path alike. Their names change with their content.
PLACE = "static"
KEEP = "public, immutable, max-age=31536000"


class GzipStatic:
    """ASGI middleware: text files below `folder`/static, gzipped, from memory; all other requests go to `app`.

    base_url: the path that the app lies under, "" for none. Only names that were there at the start are answered, and
    only to GET from a browser that takes gzip and wants the whole file.
    """

    def __init__(self, app: ASGIApp, folder: Path, base_url: str = "") -> None:
        self._app = app
        self._prefix = "/".join(["", *filter(None, base_url.split("/"))])
        files = (path for path in (folder / PLACE).rglob("*") if path.suffix in TEXT and path.is_file())
        self._files = {f"/{path.relative_to(folder).as_posix()}": path for path in files}
        self._kept: dict[str, tuple[bytes, str]] = {}  # a file's content and its tag
        self._lock = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        name = self._name(scope)
        if name is None:
            await self._app(scope, receive, send)
            return
        try:
            content, tag = self._kept.get(name) or await asyncio.to_thread(self._read, name)
        except OSError:  # gone since the start
            await self._app(scope, receive, send)
            return
        headers = {"etag": tag, "cache-control": KEEP, "vary": "Accept-Encoding"}
        if Headers(scope=scope).get("if-none-match") == tag:
            response = Response(status_code=304, headers=headers)
        else:
            kind = mimetypes.guess_type(name)[0] or "text/plain"
            headers |= {"content-type": f"{kind}; charset=utf-8", "content-encoding": "gzip"}
            response = Response(content, headers=headers)
        await response(scope, receive, send)

    def _name(self, scope: Scope) -> str | None:
        """The file that a request is for, where it is one of ours and can be answered with gzip."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return None
        headers = Headers(scope=scope)
        if "range" in headers or not takes_gzip(headers.get("accept-encoding", "")):
            return None
        path = scope["path"]
        name = path.removeprefix(self._prefix) if path.startswith(f"{self._prefix}/") else None
        return name if name in self._files else None

    def _read(self, name: str) -> tuple[bytes, str]:
        with self._lock:  # sixty may ask for the same file before it is there
            if name not in self._kept:
                content = gzip.compress(self._files[name].read_bytes(), LEVEL, mtime=0)
                self._kept[name] = content, f'"{hashlib.blake2b(content, digest_size=8).hexdigest()}"'
        return self._kept[name]


def takes_gzip(accepted: str) -> bool:
    """Whether `Accept-Encoding` names gzip, and not with the quality 0 that refuses it."""
    for part in accepted.lower().split(","):
        coding, _, quality = part.partition(";")
        if coding.strip() == "gzip":
            return quality.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
