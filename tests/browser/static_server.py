"""A server of static files, as any host of a published folder is."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

#: What a page needs whose threads share memory.
ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *given: Any, headers: Mapping[str, str], **named: Any) -> None:
        self.more = headers
        super().__init__(*given, **named)

    def end_headers(self) -> None:
        """Also those of the server."""
        for name, value in self.more.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """The server's log stays silent."""


@contextmanager
def serving(folder: Path, headers: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """The address of a server of a folder, with "/" at its end. headers: of all its answers."""
    handler = functools.partial(Quiet, directory=str(folder), headers=headers)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
