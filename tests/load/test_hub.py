"""The Hub, played by a small server of our own: fetched once, there without a network, not waited for for ever."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub.utils import disable_progress_bars

import encoder
from encoder.checkpoints import hub as hub_module
from encoder.checkpoints.hub import looks_like_hub_id

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """As much of the Hub as fetching one model takes: its commit, its files, their contents."""

    folder: Path
    asked: list[str]
    status = 200

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        path = self.path.split("?")[0]
        self.asked.append(path)
        if self.status != 200:
            self.send_response(self.status)
            kind = {401: "RepoNotFound", 403: "GatedRepo", 404: "RepoNotFound"}.get(self.status)
            if kind:
                self.send_header("X-Error-Code", kind)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if path.startswith("/api/models/org/tiny/tree/"):
            self.reply(json.dumps([self.entry(file) for file in self.files()]).encode(), body, "application/json")
        elif path.startswith("/api/models/org/tiny"):
            self.reply(json.dumps({"id": "org/tiny", "sha": COMMIT, "siblings": []}).encode(), body, "application/json")
        elif f"/resolve/{COMMIT}/" in path:
            file = self.folder / path.split(f"/resolve/{COMMIT}/")[1]
            self.reply(file.read_bytes(), body, "application/octet-stream")
        else:
            self.send_error(404)

    def files(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if path.is_file())

    def entry(self, path: Path) -> dict:
        oid = hashlib.sha1(path.read_bytes()).hexdigest()
        return {"type": "file", "oid": oid, "size": path.stat().st_size, "path": str(path.relative_to(self.folder))}

    def reply(self, content: bytes, body: bool, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def hub(folder: Path, status: int = 200) -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    handler = type("Handler", (Hub,), {"folder": folder, "asked": asked, "status": status})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    """`load(endpoint)`: what loading org/tiny from there says, with a cache of this test's own."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    disable_progress_bars()

    def attempt(endpoint: str, offline: bool = False) -> str:
        monkeypatch.setattr(constants, "ENDPOINT", endpoint)
        template = "{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{endpoint}/{template}")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
        try:
            model = encoder.load("org/tiny", device="cpu")
        except encoder.LoadError as error:
            return str(error)
        return f"{model.name} {tuple(model.trace('w17 w18').output.shape)}"

    return attempt


UNREACHED = r".*cannot be reached\b.* org/tiny\b"


def test_fetched_once_and_there_without_a_network(load: Callable[..., str], checkpoint: Callable, tmp_path: Path):
    folder = tmp_path / "hub"
    folder.mkdir()
    for path in checkpoint("bert", n_layers=1).folder.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "config.json").write_text("{}")
    with hub(folder) as (endpoint, asked):
        assert load(endpoint) == "org/tiny (4, 40)"
        assert any(path.endswith("/model.safetensors") for path in asked)
        assert not any(path.endswith(".bin") or "onnx" in path for path in asked)
    assert load(endpoint) == "org/tiny (4, 40)"
    assert load(endpoint, offline=True) == "org/tiny (4, 40)"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, r"\bno public model 'org/tiny'.* spelling\b"),
        (403, r"org/tiny\b.* agreement\b"),
        (404, "no public model 'org/tiny'"),
        (500, UNREACHED),
    ],
)
def test_what_the_hub_refuses(load: Callable[..., str], status: int, message: str, tmp_path: Path):
    with hub(tmp_path, status) as (endpoint, _):
        assert re.match(rf".*{message}", load(endpoint)), "on its first line"


def test_a_machine_that_refuses(load: Callable[..., str]):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    assert re.match(UNREACHED, load(f"http://127.0.0.1:{port}"))


def test_a_machine_that_never_answers_is_given_up(load: Callable[..., str], monkeypatch: pytest.MonkeyPatch):
    """The limit is the test's own time-out: without one of ours this would wait for ever."""
    monkeypatch.setattr(hub_module, "PATIENCE_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connections are accepted by the system, and never read
        assert re.match(UNREACHED, load(f"http://127.0.0.1:{silent.getsockname()[1]}"))


def test_switched_to_offline(load: Callable[..., str]):
    assert re.match(UNREACHED, load("http://127.0.0.1:9", offline=True))


@pytest.mark.parametrize(
    "name", ["org/name", "sentence-transformers/all-MiniLM-L6-v2", "a/b", "answerdotai/ModernBERT-base"]
)
def test_a_hub_id(name: str):
    assert looks_like_hub_id(name)


@pytest.mark.parametrize(
    "name", ["name", "org/name/more", "/name", "org/", "../name", "org/..", "-o/name", "org/na me", "o\n/n"]
)
def test_no_hub_id(name: str):
    assert not looks_like_hub_id(name)
