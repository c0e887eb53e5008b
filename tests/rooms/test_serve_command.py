"""`encoderscope serve` where something is missing; tests/soak has its processes behind a real nginx."""

from __future__ import annotations

import os

import pytest

from encoder.cli import main
from tests.conftest import free_ports

pytestmark = pytest.mark.skipif(os.name != "posix", reason="serve needs POSIX")


def test_what_is_missing_is_said_before_anything_starts(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr("encoder.cli.serve.shutil.which", lambda *_, **__: None)
    for words in (["--workers", "2"], ["--rooms", "off"], ["--workers", "2", "--rooms", "memory"]):
        port = free_ports(3)
        assert main.main(["serve", "--port", str(port + 2), "--worker-port", str(port), *words]) == 1
    said = capsys.readouterr().err
    assert all(word in said for word in ("redis-server", "nginx-light", "one process"))
    assert main.main(["serve", "--workers", "3", "--host", "::", "--print-nginx"]) == 0
    printed = capsys.readouterr().out
    assert "listen [::]:8501;" in printed
    assert printed.count("127.0.0.1:8513") == 4
