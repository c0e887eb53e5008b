"""The channel of components that refresh themselves: who is answered, and with what."""

from __future__ import annotations

import asyncio
import threading

import pytest

from encoder.errors import ConfigError
from pages.core.server import channel


async def behind(scope, receive, send):
    """The app that all other requests reach."""
    await send({"type": "http.response.start", "status": 418, "headers": []})
    await send({"type": "http.response.body", "body": b"behind"})


def ask(path: str, query: str = "", method: str = "GET", base_url: str = "") -> tuple[int, bytes]:
    """Status and body of the answer to one request."""
    return asyncio.run(answered(channel.Channel(behind, base_url), path, query, method))


async def answered(light: channel.Channel, path: str, query: str = "", method: str = "GET") -> tuple[int, bytes]:
    """`ask` a channel that is there."""
    sent = []
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": []}

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request"}

    await light(scope, receive, send)
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
    for path in ("/live/test/unknown", "/live/test"):
        assert ask(path, "from=3") == (204, b"")  # forgotten: the browser's console says nothing
    for path in ("/live/other/known", "/live/"):
        assert ask(path, "from=3")[0] == 404
    for path, method in (("/live/test/known", "POST"), ("/alive/test/known", "GET"), ("/", "GET")):
        assert ask(path, "from=3", method)[0] == 418
    assert not caplog.records
    assert ask("/live/broken/known") == (500, b"")
    assert len(caplog.records) == 1


def test_answers_that_compute_have_threads_and_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    ends, threads = threading.Event(), set()

    def answer(identity: str, query) -> bytes:
        threads.add(threading.current_thread())
        assert ends.wait(20)
        return b"computed"

    monkeypatch.setattr(channel, "_ANSWERS", {})
    monkeypatch.setattr(channel, "_COMPUTING", set())
    channel.register("slow", answer, computes=True)
    monkeypatch.setattr(channel, "MOST_WAITING", 3)
    light = channel.Channel(behind)

    async def all_answers() -> list[tuple[int, bytes]]:
        asked = [asyncio.ensure_future(answered(light, "/live/slow/any")) for _ in range(4)]
        first, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        assert [one.result() for one in first] == [(204, b"")]  # one too many, answered while the others compute
        ends.set()
        return list(await asyncio.gather(*asked))

    assert sorted(asyncio.run(all_answers())) == [(200, b"computed")] * 3 + [(204, b"")]
    assert threading.current_thread() not in threads
    assert asyncio.run(answered(light, "/live/slow/any")) == (200, b"computed")  # the places are free again
