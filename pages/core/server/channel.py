"""A light channel for components that refresh themselves: `GET live/NAME/ID?...` is answered with bytes.

A fragment's refresh starts a script run and sends messages to its session; an answer of this channel with the new
numbers of two training runs is 0.5 ms of the server's work. It belongs to no session: choose ids that nobody can guess.
Pages ask for the map of a head here, too, while their script run begins.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from starlette.datastructures import QueryParams
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from encoder.errors import EncoderError

#: (id, query) -> the answer, or None for an id that is not known.
Answer = Callable[[str, Mapping[str, str]], bytes | None]
_ANSWERS: dict[str, Answer] = {}
#: Names of answers that compute, and their threads. All others run in the server's event loop: they must be quick.
_COMPUTING: set[str] = set()
_THREADS = ThreadPoolExecutor(2, thread_name_prefix="channel")
#: Requests that wait for these threads at once. Further ones get nothing: each has an ordinary answer, too.
MOST_WAITING = 20
PLACE = "live"
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def register(name: str, answer: Answer, *, computes: bool = False) -> None:
    """Answer requests for `live/{name}/...`. computes: it may take more than a millisecond, and gets a thread."""
    _ANSWERS[name] = answer
    if computes:
        _COMPUTING.add(name)


def path(name: str, identity: str) -> str:
    """The path of one id below the app's root, for a component."""
    return f"{PLACE}/{name}/{identity}"


class Channel:
    """ASGI middleware: answers what is registered; all other requests go to `app`. base_url: the path of the app."""

    def __init__(self, app: ASGIApp, base_url: str = "") -> None:
        self._app = app
        self._prefix = "/".join(["", *filter(None, base_url.split("/")), PLACE, ""])
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "GET" or not scope["path"].startswith(self._prefix):
            await self._app(scope, receive, send)
            return
        name, _, identity = scope["path"].removeprefix(self._prefix).partition("/")
        query = QueryParams(scope["query_string"])
        response = (
            await self._computed(name, identity, query) if name in _COMPUTING else _response(name, identity, query)
        )
        await response(scope, receive, send)

    async def _computed(self, name: str, identity: str, query: Mapping[str, str]) -> Response:
        if self._waiting >= MOST_WAITING:
            return Response(status_code=204, headers=HEADERS)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(_THREADS, _response, name, identity, query)
        finally:
            self._waiting -= 1


def _response(name: str, identity: str, query: Mapping[str, str]) -> Response:
    answer = _ANSWERS.get(name)
    if answer is None:
        return Response(status_code=404, headers=HEADERS)
    try:
        content = answer(identity, query)
    except EncoderError as error:
        return Response(str(error), status_code=400, headers=HEADERS, media_type="text/plain")
    except Exception:
        logging.getLogger("encoderscope").exception("The channel %s failed", name)
        return Response(status_code=500, headers=HEADERS)
    if content is None:  # the server forgets, which is not an error of the page
        return Response(status_code=204, headers=HEADERS)
    return Response(content, headers=HEADERS, media_type="application/octet-stream")
