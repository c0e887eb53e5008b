"""A light channel for components that refresh themselves: `GET live/NAME/ID?...` is answered with bytes.

A fragment's refresh starts a script run and sends messages to its session; an answer of this channel with the new
numbers of two training runs is 0.5 ms of the server's work. It belongs to no session: choose ids that nobody can guess.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from starlette.datastructures import QueryParams
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from encoder.errors import EncoderError

#: (id, query) -> the answer, or None for an id that is not known. It runs in the server's event loop: it must be quick.
Answer = Callable[[str, Mapping[str, str]], bytes | None]
_ANSWERS: dict[str, Answer] = {}
PLACE = "live"
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def register(name: str, answer: Answer) -> None:
    """Answer requests for `live/{name}/...`."""
    _ANSWERS[name] = answer


def path(name: str, identity: str) -> str:
    """The path of one id below the app's root, for a component."""
    return f"{PLACE}/{name}/{identity}"


class Channel:
    """ASGI middleware: answers what is registered; all other requests go to `app`. base_url: the path of the app."""

    def __init__(self, app: ASGIApp, base_url: str = "") -> None:
        self._app = app
        self._prefix = "/".join(["", *filter(None, base_url.split("/")), PLACE, ""])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "GET" or not scope["path"].startswith(self._prefix):
            await self._app(scope, receive, send)
            return
        name, _, identity = scope["path"].removeprefix(self._prefix).partition("/")
        await _response(name, identity, QueryParams(scope["query_string"]))(scope, receive, send)


def _response(name: str, identity: str, query: Mapping[str, str]) -> Response:
    answer = _ANSWERS.get(name)
    try:
        content = None if answer is None else answer(identity, query)
    except EncoderError as error:
        return Response(str(error), status_code=400, headers=HEADERS, media_type="text/plain")
    except Exception:
        logging.getLogger("encoderscope").exception("The channel %s failed", name)
        return Response(status_code=500, headers=HEADERS)
    if content is None:
        return Response(status_code=404, headers=HEADERS)
    return Response(content, headers=HEADERS, media_type="application/octet-stream")
