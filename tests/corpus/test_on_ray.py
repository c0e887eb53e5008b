"""Blocks on several processes by Ray: killed workers and a killed build change nothing. Needs the extra "corpus"."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest
import torch

import encoder
from encoder import EncoderError, corpus
from tests.conftest import ROOT
from tests.corpus.conftest import built, contents, sentences

PROGRAM = "import sys; from encoder.cli.main import main; sys.exit(main())"


def workers_of(process: subprocess.Popen) -> list[psutil.Process]:
    """The processes below this one that hold a model."""
    found = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if child.cmdline()[:1] and "_Worker" in child.cmdline()[0]:
                    found.append(child)
    return found


def wait_for(condition, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, "the build was over too early"
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow("starts Ray three times and kills its workers")
@pytest.mark.skipif(find_spec("ray") is None, reason="the extra “corpus” is not installed")
def test_workers_and_the_build_are_killed_and_the_files_are_the_same(tmp_path: Path):
    path, out = tmp_path / "texts.txt", tmp_path / "killed"
    path.write_text("\n".join(sentences(1_600)), encoding="utf-8")
    options = ["--texts", str(path), "--block", "16", "--threads", "1", "--checkpoint", "0", "--out", str(out)]
    command = [sys.executable, "-c", PROGRAM, "corpus", "build", "twin-post", *options]
    checkpoint = out.with_name("killed.partial") / "checkpoint.safetensors"

    child = subprocess.Popen([*command, "--workers", "2"], cwd=ROOT, stdout=subprocess.DEVNULL)
    wait_for(checkpoint.exists, child)
    before = checkpoint.stat().st_mtime_ns
    workers_of(child)[0].kill()
    wait_for(lambda: checkpoint.stat().st_mtime_ns > before, child)
    left = workers_of(child)
    child.kill()
    child.wait()
    assert not psutil.wait_procs(left, timeout=60)[1], "a worker goes on without its build"
    assert not out.exists()

    again = subprocess.run([*command, "--workers", "3"], cwd=ROOT, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    model = encoder.load("twin-post", device="cpu")
    whole = built(model, corpus.Source(str(path)), tmp_path / "whole", settings=corpus.Settings(block_texts=16))
    assert contents(out) == contents(whole.folder)


def test_a_worker_opens_the_encoder_of_texts_of_a_pair():
    from encoder.corpus import on_ray

    pair = encoder.load("digit-words", device="cpu")
    options = {"survey": None, "device": "cpu", "threads": torch.get_num_threads(), "plan": None, "blocks": None}
    for tower in pair.towers.values():
        sha256 = corpus.model_about(tower)["sha256"] if tower.takes == "text" else "of images"
        with contextlib.nullcontext() if tower.takes == "text" else pytest.raises(EncoderError, match="other weights"):
            on_ray._Worker("digit-words", sha256=sha256, **options)


@pytest.mark.parametrize("options", [{"workers": 0}, {"threads": 0}], ids=str)
def test_no_worker_is_refused(options):
    with pytest.raises(EncoderError, match=r"1 or more|encoderscope\[corpus\]"):
        corpus.Cluster("twin-post", **options).check()


def test_a_missing_ray_is_said(monkeypatch):
    from encoder.corpus import on_ray

    monkeypatch.setattr(on_ray, "find_spec", lambda name: None)
    with pytest.raises(EncoderError, match="encoderscope"):
        corpus.Cluster("twin-post").check()
