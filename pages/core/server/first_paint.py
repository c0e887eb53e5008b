"""The page that a browser loads first, with the app's style and the scripts that every page of it needs.

Streamlit sends a style as an element of a page, after elements that it changes: they move when it comes. And it asks
for the script of an element only when the first such element comes.
"""

import gzip
import re
from functools import cache, lru_cache
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from encoder.drawing.javascript import joined, name_of
from pages.core.server import reconnect

PAGES = Path(__file__).resolve().parents[2]
#: In a block, so that its names are its own.
SCRIPT = "{" + joined(Path(__file__).with_suffix(".js")) + "}" + reconnect.SCRIPT
#: What the frame listens to: the bar, keys, the history.
FRAME = "{" + joined(PAGES / "core" / "frame" / "frame.js") + "}"
#: Streamlit's names of the scripts of elements that most pages have.
SCRIPTS = ("BidiComponent", "Button", "ButtonGroup", "Html", "PageLink", "Selectbox", "TextArea")
#: Components of every page.
COMPONENTS = ("find", "ask")
#: Those of the first screen of the pages that most visitors open first; "" is the page at "/". Who joins a class next
#: sees the picture that most lessons begin with.
OF_PAGE = {
    "": ("model_picture",), "heads": ("head_grid", "plot"), "pre_post": ("head_grid",), "classroom": ("model_picture",)
}  # fmt: skip
#: What a script of Streamlit imports when it starts.
_IMPORT = re.compile(rb"""(?:from|import)\s*["']\./([\w.-]+\.js)["']""")
#: Headers by which a browser asks whether its copy is still valid, and what answers them: ours differs from the file.
#: The last one asks Streamlit for compression, which comes after our changes.
_ASKS = (b"if-none-match", b"if-modified-since", b"accept-encoding")
_TELLS = ("etag", "last-modified")
#: Where Streamlit's script draws the app; a style after it wins over Streamlit's own in the head.
_ROOT = b'<div id="root"></div>'


@lru_cache(maxsize=1)
def style() -> str:
    """The style sheets next to the modules of pages/, without those of components and of folders named `sent`.

    A component loads its own. Those in `sent` are sent to the screens of a class only: a rule costs time on every page.
    """
    files = sorted(path for path in PAGES.rglob("*.css") if path.parent.name not in ("components", "sent"))
    return "".join(path.read_text(encoding="utf-8") for path in files)


def scripts(folder: Path) -> list[str]:
    """Names of the files of SCRIPTS, and of all that they import. folder: Streamlit's static/js."""
    found: dict[str, None] = {}
    waiting = [path.name for name in SCRIPTS for path in sorted(folder.glob(f"{name}.*.js"))]
    while waiting:
        name = waiting.pop()
        if name not in found and (folder / name).is_file():
            found[name] = None
            waiting += [one.decode() for one in _IMPORT.findall((folder / name).read_bytes())]
    return sorted(found)


@cache  # of a few tuples: any other page has COMPONENTS only
def files_of(components: tuple[str, ...]) -> list[str]:
    """Names of the files with the scripts of components; pages/components/assets.py writes them."""
    scripts = (PAGES / "components" / f"{name}.js" for name in components)
    return [name_of(script.stem, joined(script).encode()) for script in scripts]


class FirstPaint:
    """ASGI middleware: puts style and scripts into Streamlit's HTML page.

    folder: the one that has it; base_url: the path that the app lies under; static: the app's own folder of files, None
    if they are not served.
    """

    def __init__(self, app: ASGIApp, folder: Path, base_url: str = "", static: Path | None = None) -> None:
        self._app = app
        self._base, self._static = base_url.strip("/"), static
        page = (folder / "index.html").read_text(encoding="utf-8")
        links = (
            f'<link rel="modulepreload" crossorigin href="./static/js/{name}">'
            for name in scripts(folder / "static" / "js")
            if name not in page
        )
        self._preload = "".join(links).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or "text/html" not in Headers(scope=scope).get("accept", ""):
            await self._app(scope, receive, send)
            return
        compresses = "gzip" in Headers(scope=scope).get("accept-encoding", "")
        scope = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] not in _ASKS]}
        start: Message | None = None
        body = b""

        async def collect(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and "text/html" in _kind(message):
                start = message
            elif start is None or message["type"] != "http.response.body":
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    await self._send(start, body, send, compresses, scope["path"])

        await self._app(scope, receive, collect)

    async def _send(self, start: Message, body: bytes, send: Send, compresses: bool, path: str) -> None:
        headers = MutableHeaders(raw=start["headers"])
        if _ROOT in body:
            body = body.replace(b"</head>", self._preload + self._scripts_of(path) + b"</head>", 1)
            own = f"<style>{style()}</style><script>{SCRIPT}</script><script>{FRAME}</script>"
            body = body.replace(_ROOT, _ROOT + own.encode(), 1)
            for name in _TELLS:
                del headers[name]
        if compresses and "content-encoding" not in headers:
            body = _gzip(body)
            headers["content-encoding"] = "gzip"
            headers.add_vary_header("accept-encoding")
        headers["content-length"] = str(len(body))
        await send(start)
        await send({"type": "http.response.body", "body": body})

    def _scripts_of(self, path: str) -> bytes:
        """Names for first_paint.js what it fetches at once; nothing before the first run of the app wrote it."""
        if self._static is None:
            return b""
        page = path.strip("/").removeprefix(self._base).strip("/")
        names = files_of((*OF_PAGE.get(page, ()), *COMPONENTS))
        there = [f"app/static/{name}" for name in names if (self._static / name).is_file()]
        return f'<meta name="encoderscope-scripts" content="{" ".join(there)}">'.encode() if there else b""


@lru_cache(maxsize=8)
def _gzip(body: bytes) -> bytes:
    """A page compressed; every visitor gets the same one."""
    return gzip.compress(body, mtime=0)


def _kind(start: Message) -> str:
    return Headers(raw=start["headers"]).get("content-type", "")
