"""Who may talk to the server, what a browser may do with its answers, and how much may be uploaded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from streamlit import file_util

from encoder.cli.ports import is_loopback
from pages.base.access import limits, visitors
from pages.core.server.guard import FRAMES, HOSTS, METRICS, Guard, Policy, inline_scripts
from pages.core.server.uploads import Uploads

OWN = Policy.of({}, "localhost")
SHARED = Policy.of({"ENCODERSCOPE_SHARED": "1"}, "0.0.0.0")
NAMED = Policy.of({"ENCODERSCOPE_SHARED": "1", HOSTS: "school.example, *.lab.example"}, "localhost")


async def ok(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"fine"})


def ask(app: Any, path: str = "/", method: str = "GET", kind: str = "http", body: bytes = b"", **headers: str) -> Any:
    """(status or type of the answer, headers) of one request."""
    sent: list[dict[str, Any]] = []
    parts = [body[start : start + 1000] for start in range(0, len(body), 1000)] or [b""]
    messages = [{"type": "http.request", "body": one, "more_body": one is not parts[-1]} for one in parts]
    messages = [{"type": "websocket.connect"}] if kind == "websocket" else messages

    async def receive() -> Any:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": kind,
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }
    asyncio.run(app(scope, receive, send))
    first = sent[0]
    found = {name.decode(): value.decode() for name, value in first.get("headers", [])}
    return (first.get("status") or first["type"]), found


@pytest.mark.parametrize(
    ("policy", "host", "answers"),
    [
        (OWN, "localhost:8501", True), (OWN, "127.0.0.1:8501", True), (OWN, "[::1]:8501", True),
        (OWN, "app.localhost", True), (OWN, "rebind.test:8501", False), (OWN, "192.168.1.7:8501", False),
        (OWN, "", False), (OWN, "localhost@evil.test", False), (OWN, "localhost/x", False), (OWN, "a:b:c", False),
        (SHARED, "192.168.1.7:8501", True), (SHARED, "school.example", True), (SHARED, "x y", False),
        (NAMED, "school.example", True), (NAMED, "SCHOOL.example.:443", True), (NAMED, "a.lab.example", True),
        (NAMED, "lab.example", False), (NAMED, "evil.test", False), (NAMED, "10.0.0.7", True),
    ],
)  # fmt: skip
def test_which_names_the_server_answers_to(policy: Policy, host: str, answers: bool):
    assert policy.answers_to(host) == answers
    assert ask(Guard(ok, policy), host=host)[0] == (200 if answers else 403)


@pytest.mark.parametrize(
    ("policy", "host", "origin", "taken"),
    [
        (OWN, "localhost:8501", "http://localhost:8501", True), (OWN, "localhost:8501", "http://evil.test", False),
        (OWN, "localhost:8501", "http://localhost:9999", False), (OWN, "localhost:8501", "null", False),
        (SHARED, "10.0.0.7:8501", "http://10.0.0.7:8501", True), (SHARED, "10.0.0.7", "http://evil.test", False),
        (NAMED, "127.0.0.1:8501", "https://school.example", True), (NAMED, "127.0.0.1:8501", "https://x.test", False),
    ],
)  # fmt: skip
def test_which_pages_may_open_a_websocket_or_send(policy: Policy, host: str, origin: str, taken: bool):
    app = Guard(ok, policy)
    accepted = "websocket.accept" if taken else "websocket.close"
    assert ask(app, "/_stcore/stream", kind="websocket", host=host, origin=origin)[0] == accepted
    assert ask(app, "/_stcore/upload_file/a/b", "PUT", host=host, origin=origin)[0] == (200 if taken else 403)
    assert ask(app, host=host, origin=origin)[0] == 200, "reading is the browser's own rule"
    assert ask(app, "/_stcore/stream", kind="websocket", host=host)[0] == "websocket.accept", "no browser"


def test_every_answer_has_the_headers():
    _, headers = ask(Guard(ok, OWN), host="localhost:8501")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "SAMEORIGIN"
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["frame-ancestors"] == "'self'"
    assert policy["object-src"] == "'none'"
    assert "unsafe" not in policy["script-src"]
    assert "http:" not in headers["content-security-policy"]


def test_streamlits_own_inline_script_is_known_by_its_digest():
    from pathlib import Path

    page = (Path(file_util.get_static_dir()) / "index.html").read_text()
    assert len(inline_scripts(page)) == 1
    policy = ask(Guard(ok, OWN, inline_scripts(page)), host="localhost")[1]["content-security-policy"]
    assert policy.count("'sha256-") == 1


def test_the_operator_names_who_may_embed():
    policy = Policy.of({FRAMES: "'self' https://moodle.example; script-src *"}, "localhost")
    headers = ask(Guard(ok, policy), host="localhost")[1]
    assert "frame-ancestors 'self' https://moodle.example script-src *" in headers["content-security-policy"]
    assert "x-frame-options" not in headers


def test_metrics_are_for_the_operator():
    for path in ("/_stcore/metrics", "/_stcore/metrics/"):
        assert ask(Guard(ok, OWN), path, host="localhost")[0] == 404
        app = Guard(ok, Policy.of({METRICS: "secret"}, "localhost"))
        assert ask(app, path, host="localhost")[0] == 404
        assert ask(app, path, host="localhost", authorization="Bearer wrong")[0] == 404
        assert ask(app, path, host="localhost", authorization="Bearer secret")[0] == 200
    app = Guard(ok, Policy.of({METRICS: "secret"}, "localhost"), base_url="/here/")
    assert ask(app, "/here/_stcore/metrics", host="localhost")[0] == 404


def test_refusals_have_the_headers_too():
    app = Guard(ok, OWN)
    answers = [
        ask(app, host="localhost"),
        ask(app, host="rebind.test"),
        ask(app, "/_stcore/metrics", host="localhost"),
        ask(app, "/oauth2callback", host="localhost"),
        ask(app, "/", "POST", host="localhost", origin="http://a.test"),
    ]
    assert [status for status, _ in answers] == [200, 403, 404, 404, 403]
    for _, headers in answers:
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"


# --- uploads ----------------------------------------------------------------------------------------------------------

PATH = "/_stcore/upload_file/one/file"


def test_an_upload_without_room_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "SESSION_FILES", limits.Limit("", 10_000))
    monkeypatch.setattr(limits, "ALL_FILES", limits.Limit("", 20_000))
    kept = {"one": 4_000, "two": 0}
    app = Uploads(ok, lambda session: (kept.get(session, 0), sum(kept.values())))
    assert ask(app, PATH, "PUT", body=b"x" * 6_000)[0] == 200
    assert ask(app, PATH, "PUT", body=b"x" * 6_001)[0] == 413, "its length is not announced"
    assert ask(app, PATH, "PUT", content_length="6001")[0] == 413
    assert ask(app, PATH, "PUT", content_length="1", body=b"x" * 6_001)[0] == 413, "its length is wrong"
    kept["two"] = 15_000
    assert ask(app, PATH, "PUT", body=b"x" * 2_000)[0] == 413, "all sessions together"
    assert ask(app, PATH, "DELETE")[0] == 200


def test_uploads_that_are_on_their_way_count(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "SESSION_FILES", limits.Limit("", 10_000))
    inner: list[int] = []

    async def second_comes(scope: Any, receive: Any, send: Any) -> None:
        other = "/_stcore/upload_file/one/other"
        if scope["path"] == PATH:  # while the first one is still read
            for _ in range(3):
                await receive()
            for size in (6_000, 9_000):
                inner.append(await asyncio.to_thread(lambda: ask(app, other, "PUT", body=b"x" * size)[0]))  # noqa: B023
        await ok(scope, receive, send)

    app = Uploads(second_comes, lambda session: (0, 0))
    assert ask(app, PATH, "PUT", content_length="8000", body=b"x" * 8_000)[0] == 200
    assert inner == [200, 413]
    assert ask(app, "/_stcore/upload_file/one/third", "PUT", body=b"x" * 10_000)[0] == 200  # the room is free again
    assert ask(app, "/", "GET", body=b"x" * 9_000)[0] == 200


@pytest.mark.parametrize(
    ("address", "shared", "local"),
    [
        ("localhost", "", True), ("127.0.0.1", "", True), ("127.0.0.2", "", True), ("::1", "", True),
        ("app.localhost", "", True), ("127.0.0.2", "1", False), ("0.0.0.0", "", False), ("192.168.1.7", "", False),
        (None, "", False),
    ],
)  # fmt: skip
def test_guard_and_pages_agree_on_who_reaches_the_server(
    address: str | None, shared: str, local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENCODERSCOPE_SHARED", shared)
    monkeypatch.setattr(visitors.st, "get_option", {"server.address": address}.get)
    assert Policy.of({"ENCODERSCOPE_SHARED": shared}, address).local is local
    assert visitors.for_one_person() is local
    if address:
        assert is_loopback(address) is (local or shared == "1")


def test_streamlit_checks_no_origin_again() -> None:
    seen: list[bytes] = []

    async def behind(scope: Any, receive: Any, send: Any) -> None:
        seen.extend(name for name, _ in scope["headers"])
        await send({"type": "websocket.accept"})

    policy = Policy.of({HOSTS: "school.example"}, "localhost")
    answer, _ = ask(Guard(behind, policy), kind="websocket", host="localhost", origin="https://school.example")
    assert answer == "websocket.accept"
    assert seen == [b"host"]
