"""What an engineer tries first, by the command: three wrong programs, each named with two files and one command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from encoder.cli import main
from tests.diagnose.pipelines import PROMPT, Program, write_model
from tests.diagnose.test_endpoint import reply, serving
from tests.diagnose.test_folders import card


def probes(model: Path | str, capsys: pytest.CaptureFixture) -> tuple[str, ...]:
    """The first action: the texts to send, as a file."""
    capsys.readouterr()
    assert main.main(["diagnose", str(model), "--probes"]) == 0
    said = capsys.readouterr().out
    Path("probes.jsonl").write_text(said, encoding="utf-8")
    return tuple(json.loads(line)["text"] for line in said.splitlines())


def named(words: list[str], capsys: pytest.CaptureFixture) -> list[str]:
    """The last action: the names of what is found."""
    capsys.readouterr()
    main.main(["diagnose", *words, "--texts", "probes.jsonl", "--json"])
    return [one["name"] for one in json.loads(capsys.readouterr().out)["faults"]]


def test_an_e5_like_folder_without_its_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    """Its card names the prompt, as E5's do, and no file has it: `check` says so, and `--prompt` is the reference."""
    monkeypatch.chdir(tmp_path)
    folder = write_model(tmp_path / "e5", "bert", 1)
    card(folder)
    main.main(["check", str(folder), "--json"])
    assert "prompt" in {one["name"] for one in json.loads(capsys.readouterr().out)["findings"]}
    texts = probes(folder, capsys)
    np.save("vectors.npy", Program(folder, "mean").embed(texts))
    assert named([str(folder), "--vectors", "vectors.npy", "--prompt", PROMPT], capsys) == ["prompt-missing"]


def test_a_bge_like_folder_with_the_mean_for_cls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    monkeypatch.chdir(tmp_path)
    folder = write_model(tmp_path / "bge", "bert-cls", 2)
    np.save("vectors.npy", Program(folder, "mean").embed(probes(folder, capsys)))
    assert named([str(folder), "--vectors", "vectors.npy"], capsys) == ["pooling"]


def test_a_server_that_pads_to_128(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    monkeypatch.chdir(tmp_path)
    folder = write_model(tmp_path / "model", "bert", 3)
    program = Program(folder, "mean", fixed=128, masks_attention=False, masks_pooling=False)
    probes(folder, capsys)

    def answer(handler, body) -> None:
        reply(handler, program.embed(tuple(body["inputs"])).tolist())

    with serving(answer) as url:
        assert named([str(folder), "--endpoint", f"{url}/embed"], capsys) == ["fixed-padding"]
