"""Uploads: how much a session and all sessions together may send. ASGI middleware.

A widget's own limit holds in the browser only. Streamlit's server limits one file (server.maxUploadSize, in
.streamlit/config.toml), but not how many there are.
"""

from collections import Counter
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.runtime import get_instance
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from pages.base.access import limits

#: Bytes of an upload after which the files of other uploads are counted again: counting many takes milliseconds.
LOOK_AGAIN = 4_000_000
FULL = "This server keeps no more files: remove one that you have uploaded, or choose a smaller one."


class Uploads:
    """ASGI middleware: an upload that has no room is refused with 413; all other requests go to `app`.

    kept: session -> (bytes of its files, bytes of all files).
    """

    def __init__(self, app: ASGIApp, kept: Callable[[str], tuple[int, int]], base_url: str = "") -> None:
        self._app, self._kept = app, kept
        self._prefix = "/".join(["", *filter(None, base_url.split("/")), "_stcore", "upload_file", ""])
        self._coming: Counter[str] = Counter()  # session -> bytes that have come of its unfinished uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "PUT" or not scope["path"].startswith(self._prefix):
            await self._app(scope, receive, send)
            return
        session = scope["path"].removeprefix(self._prefix).partition("/")[0]
        announced = Headers(scope=scope).get("content-length", "")
        received, looked, refused, kept = 0, 0, False, self._kept(session)
        if announced.isdecimal() and not self._fits(session, int(announced), kept):
            await PlainTextResponse(FULL, 413)(scope, receive, send)
            return

        async def bounded() -> Message:
            nonlocal received, looked, refused, kept
            message = await receive()
            size = len(message.get("body", b""))
            if received - looked > LOOK_AGAIN:
                looked, kept = received, self._kept(session)
            if not self._fits(session, size, kept):  # its length was not announced or wrong, or others came meanwhile
                refused = True
                return {"type": "http.disconnect"}
            received += size
            self._coming[session] += size
            return message

        async def answer(message: Message) -> None:
            if not refused:
                await send(message)

        try:
            await self._app(scope, bounded, answer)
        except Exception:
            if not refused:
                raise
        finally:
            self._coming[session] -= received  # kept by now, or dropped
            self._coming += Counter()  # forgets who sends nothing
        if refused:
            await PlainTextResponse(FULL, 413)(scope, receive, send)

    def _fits(self, session: str, n_bytes: int, kept: tuple[int, int]) -> bool:
        """Whether there is room for so many more bytes of a session. What is announced and does not come takes none."""
        own, total = kept[0] + self._coming[session], kept[1] + self._coming.total()
        return own + n_bytes <= limits.SESSION_FILES.value and total + n_bytes <= limits.ALL_FILES.value


def kept_by_streamlit(session: str) -> tuple[int, int]:
    """Bytes of the files that Streamlit keeps for a session, and for all."""
    manager = get_instance().uploaded_file_mgr
    if not isinstance(manager, MemoryUploadedFileManager):
        return 0, 0
    sizes = {
        name: sum(len(file.data) for file in list(files.values())) for name, files in list(manager.file_storage.items())
    }
    return sizes.get(session, 0), sum(sizes.values())
