"""The channel of components that refresh themselves: who is answered, and with what."""

from __future__ import annotations

import asyncio

import pytest

from encoder.errors import ConfigError
from pages.core import channel


async def behind(scope, receive, send):
    """The app that all other requests reach."""
    await send({"type": "http.response.start", "status": 418, "headers": []})
    await send({"type": "http.response.body", "body": b"behind"})


def ask(path: str, query: str = "", method: str = "GET", base_url: str = "") -> tuple[int, bytes]:
    """Status and body of the answer to one request."""
    sent = []
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": []}

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request"}

    asyncio.run(channel.Channel(behind, base_url)(scope, receive, send))
    start, body = sent
    return start["status"], body["body"]


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(identity: str, query) -> bytes | None:
        if query.get("wrong"):
            raise ConfigError("Choose another.")
        return f"{identity} from {query['from']}".encode() if identity == "known" else None

    monkeypatch.setattr(channel, "_ANSWERS", {"test": answer, "broken": lambda *_: 1 / 0})


@pytest.mark.usefixtures("registered")
def test_who_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    assert ask(f"/{channel.path('test', 'known')}", "from=3") == (200, b"known from 3")
    assert ask("/app/live/test/known", "from=3", base_url="/app/") == (200, b"known from 3")
    assert ask("/live/test/known", "wrong=1") == (400, b"Choose another.")
    for path in ("/live/test/unknown", "/live/other/known", "/live/", "/live/test"):
        assert ask(path, "from=3")[0] == 404
    for path, method in (("/live/test/known", "POST"), ("/alive/test/known", "GET"), ("/", "GET")):
        assert ask(path, "from=3", method)[0] == 418
    assert not caplog.records
    assert ask("/live/broken/known") == (500, b"")
    assert len(caplog.records) == 1
