"""Servers of embeddings, right and hostile ones: all of them local and small."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from encoder.diagnose import endpoint
from encoder.diagnose.endpoint import Endpoint
from encoder.errors import EncoderError

TEXTS = ("a", "two words", "a longer text")


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0, -0.5]


Answer = Callable[[BaseHTTPRequestHandler, dict], None]


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """A server on this machine that answers every request in one way; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                answer(self, body)
            except (BrokenPipeError, ConnectionResetError):  # the client has seen enough
                return

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def reply(handler: BaseHTTPRequestHandler, content: object, status: int = 200, **headers: str) -> None:
    body = json.dumps(content).encode()
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def only(path: str, answer: Callable[[dict], object]) -> Answer:
    """A server that has one path."""
    return lambda handler, body: reply(handler, answer(body)) if handler.path == path else reply(handler, {}, 404)


KINDS: dict[str, Answer] = {
    "openai": only(
        "/v1/embeddings",
        lambda body: {"data": [{"index": at, "embedding": vector(one)} for at, one in enumerate(body["input"])]},
    ),
    "tei": only("/embed", lambda body: [vector(one) for one in body["inputs"]]),
    "ollama": only("/api/embed", lambda body: {"embeddings": [vector(one) for one in body["input"]]}),
    "llama": only(
        "/embedding",
        lambda body: [{"index": at, "embedding": [vector(one)]} for at, one in enumerate(body["content"])],
    ),
}


@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_server_is_found(kind: str, batch: int | None):
    with serving(KINDS[kind]) as url:
        found = Endpoint(url, batch=batch).embed(TEXTS)
    np.testing.assert_allclose(found, [vector(text) for text in TEXTS])


def sizes_of(addresses: list[str]) -> list[list[float]]:
    """The lengths of the files that addresses hold."""
    return [[float(len(base64.b64decode(one.partition("base64,")[2]))), 1.0] for one in addresses]


def conversation(body: dict) -> object:
    (message,) = body["messages"]
    (part,) = message["content"]
    return {"data": [{"index": 0, "embedding": sizes_of([part[part["type"]]["url"]])[0]}]}


#: Servers of images and sounds: path, and body -> answer, of which a KeyError or TypeError is a refusal.
OF_FILES: dict[str, tuple[str, Callable[[dict], object]]] = {
    "vllm": ("/v1/embeddings", conversation),
    "sglang": ("/v1/embeddings", lambda body: sizes_of([one["image"] for one in body["input"]])),
    "infinity": ("/embeddings", lambda body: sizes_of([f"{one:s}" for one in body["input"] if body["modality"]])),
}


@pytest.mark.parametrize("kind", OF_FILES)
def test_servers_of_images_are_asked_in_their_form(kind: str):
    path, answer = OF_FILES[kind]
    seen: list[dict] = []

    def answered(handler: BaseHTTPRequestHandler, body: dict) -> None:
        seen.append(body)
        try:
            reply(handler, *((answer(body),) if handler.path == path else ({}, 404)))
        except (KeyError, TypeError) as error:
            reply(handler, {"detail": repr(error)}, 422)

    files = {"a.png": b"12345", "b.webp": b"123", "c": b"1"}
    with serving(answered) as url:
        np.testing.assert_allclose(Endpoint(url).embed_files(files, "image"), [[5, 1], [3, 1], [1, 1]])
    assert len(seen) <= 6  # a form that is refused is not tried again
    refusing = serving(
        lambda handler, body: reply(handler, {"detail": "too large" if "messages" in body else "no messages"}, 400)
    )
    with refusing as url, pytest.raises(EncoderError, match="too large"):  # the form that this server knows
        Endpoint(url).embed_files(files, "image")


@pytest.mark.parametrize(("status", "after"), [(503, 0), (413, 0), (503, 1), (422, 1), (404, 1)])
def test_no_other_form_is_tried_for_another_refusal_or_later(status: int, after: int):
    seen: list[dict] = []

    def refusing(handler: BaseHTTPRequestHandler, body: dict) -> None:
        seen.append(body)
        if "messages" not in body:  # what takes the addresses for texts
            reply(handler, [vector(str(one)) for one in body["input"]])
        else:
            reply(handler, *((conversation(body),) if len(seen) <= after else ({"detail": "busy"}, status)))

    with serving(refusing) as url, pytest.raises(EncoderError, match=r"busy|/v1/embeddings"):
        Endpoint(url).embed_files({"a.png": b"12", "b.png": b"345", "c.png": b"6"}, "image")
    assert len(seen) == after + 1


def test_a_sound_is_audio():
    with serving(only("/v1/embeddings", conversation)) as url:
        assert Endpoint(url).embed_files({"a.wav": b"1234"}, "sound").tolist() == [[4, 1]]


def test_a_path_of_ones_own_is_used():
    with serving(only("/team/v1/embeddings", lambda body: [vector(one) for one in body["input"]])) as url:
        assert len(Endpoint(f"{url}/team/v1/embeddings").embed(TEXTS)) == 3
        with pytest.raises(EncoderError, match="/v1/embeddings"):
            Endpoint(url).embed(TEXTS)


def endless(handler: BaseHTTPRequestHandler, body: dict) -> None:
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b" " * 100_000)


def hanging(handler: BaseHTTPRequestHandler, body: dict) -> None:
    time.sleep(1.0)


def dripping(handler: BaseHTTPRequestHandler, body: dict) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(40):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def dripping_headers(handler: BaseHTTPRequestHandler, body: dict) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nServer: ")
    for _ in range(40):
        handler.wfile.write(b"a")
        handler.wfile.flush()
        time.sleep(0.05)


def deep(handler: BaseHTTPRequestHandler, body: dict) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 200_000 + b"]" * 200_000)


HOSTILE: dict[str, tuple[Answer, str]] = {
    "hangs": (hanging, "does not answer"),
    "answers drop by drop": (dripping, "seconds"),
    "begins drop by drop": (dripping_headers, "seconds"),
    "nests its answer": (deep, "not JSON|nested"),
    "answers without end": (endless, "fewer inputs"),
    "is not JSON": (lambda handler, body: handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n<html>"), "not JSON"),
    "fails": (lambda handler, body: reply(handler, {"error": "out of memory"}, 500), "out of memory"),
    "says an error": (lambda handler, body: reply(handler, {"error": "no such model"}), "no such model"),
    "gives too few": (lambda handler, body: reply(handler, [[1.0, 2.0]]), "1 vectors for 3 inputs"),
    "speaks another protocol": (lambda handler, body: handler.wfile.write(b"220 smtp\r\n"), "cannot be asked"),
    "turns in a circle": (lambda handler, body: reply(handler, {}, 307, Location=handler.path), "redirects"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_server_is_left_in_time(name: str, monkeypatch: pytest.MonkeyPatch):
    answer, said = HOSTILE[name]
    if answer in (hanging, dripping, dripping_headers):  # the others answer as soon as the machine lets them
        monkeypatch.setattr(endpoint, "PART_SECONDS", 0.4)
        monkeypatch.setattr(endpoint, "ALL_SECONDS", 0.8)
    monkeypatch.setattr(endpoint, "TEXT_BYTES", 2_000_000)
    with serving(answer) as url, pytest.raises(EncoderError, match=said):
        Endpoint(f"{url}/v1/embeddings").embed(TEXTS)


def test_a_redirect_to_another_host_is_not_followed():
    asked: list[str] = []

    def other(handler: BaseHTTPRequestHandler, body: dict) -> None:
        asked.append(handler.path)
        reply(handler, [vector(one) for one in TEXTS])

    with serving(other) as second:
        place = f"{second.replace('127.0.0.1', 'localhost')}/v1/embeddings"
        with (
            serving(lambda handler, body: reply(handler, {}, 307, Location=place)) as first,
            pytest.raises(EncoderError, match="another host"),
        ):
            Endpoint(f"{first}/v1/embeddings").embed(TEXTS)
    assert not asked


def test_a_redirect_on_the_same_host_is_followed():
    def moved(handler: BaseHTTPRequestHandler, body: dict) -> None:
        if handler.path == "/embed":
            reply(handler, [vector(one) for one in body["inputs"]])
        else:
            reply(handler, {}, 308, Location="/embed")

    with serving(moved) as url:
        assert len(Endpoint(f"{url}/old/embed").embed(TEXTS)) == 3


@pytest.mark.parametrize("url", ["ftp://localhost", "http://", "http://localhost:99999", "http://a:b@localhost", ""])
def test_what_is_no_address_is_refused(url: str):
    with pytest.raises(EncoderError, match="address"):
        Endpoint(url).embed(TEXTS)


def test_a_server_that_is_not_there_is_named():
    with pytest.raises(EncoderError, match="check that it runs"):
        Endpoint("http://127.0.0.1:9/v1/embeddings").embed(TEXTS)


def test_ones_own_network_is_distinguished():
    assert endpoint.is_near("http://127.0.0.1:8080")
    assert endpoint.is_near("http://10.0.0.7/embed")
    with pytest.raises(EncoderError, match="your machine or network"):
        Endpoint("http://8.8.8.8/v1/embeddings").embed(TEXTS)
