"""A run as one file: what it holds, and which files are refused."""

from __future__ import annotations

import dataclasses
import json

import pytest
import torch
from safetensors.torch import load, save

from encoder.errors import LoadError, TextError
from encoder.train import single_file
from encoder.train.loop import TaskRun
from encoder.train.settings import TaskSettings

SETTINGS = TaskSettings(
    task="brackets", length=6, d_model=8, n_layers=2, n_heads=2, steps=30, record_every=10, frames=3
)


@pytest.fixture(scope="module")
def run() -> TaskRun:
    made = TaskRun(SETTINGS)
    while not made.ended:
        made._advance()
    return made


@pytest.fixture(scope="module")
def data(run: TaskRun) -> bytes:
    return single_file.to_bytes(run.snapshot())


def test_a_file_holds_the_whole_run(run: TaskRun, data: bytes) -> None:
    task = single_file.from_bytes(data)
    assert (task.settings, task.step) == (SETTINGS, 30)
    assert single_file.held_out_accuracy(task) == pytest.approx(run.poll().accuracy)
    text = run.held_out.sample_text
    assert torch.equal(task.text_encoder.trace(text).output, run.text_encoder().trace(text).output)


def test_a_snapshot_does_not_change_with_the_run() -> None:
    made = TaskRun(dataclasses.replace(SETTINGS, steps=3))
    made._advance()
    before = made.snapshot()
    weight = before.model.head.weight.clone()
    made._advance()
    assert before.step == 1
    assert torch.equal(before.model.head.weight, weight)


def header(data: bytes, **about: str) -> bytes:
    """The same tensors with other words in the header."""
    kept = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    return save(load(data), kept | about)


def settings(data: bytes, **changes: object) -> bytes:
    return header(data, settings=json.dumps(dataclasses.asdict(SETTINGS) | changes))


BAD = {
    "nothing": (lambda data: b"", "safetensors file"),
    "text": (lambda data: b"hello, this is not a file of weights", "safetensors file"),
    "cut short": (lambda data: data[:-9], "safetensors file"),
    "another kind": (lambda data: header(data, format="something else"), "not saved on this page"),
    "no settings": (lambda data: header(data, settings="{"), "not valid"),
    "an unknown setting": (lambda data: settings(data, surprise=1), "surprise"),
    "a word for a number": (lambda data: settings(data, steps="many"), "steps"),
    "out of bounds": (lambda data: settings(data, n_layers=99), "n_layers=99"),
    "a giant": (lambda data: settings(data, d_ffn=10**9), "d_ffn=1000000000"),
    "another width": (lambda data: settings(data, d_model=12), "its settings say"),
    "a tensor less": (
        lambda data: save({k: v for k, v in load(data).items() if k != "head.bias"}, json_about(data)), "lacks tensor",
    ),
    "a tensor more": (lambda data: save(load(data) | {"x": torch.zeros(1)}, json_about(data)), "surplus tensor"),
    "not finite": (
        lambda data: save(load(data) | {"head.bias": torch.full((6,), torch.nan)}, json_about(data)), "not finite",
    ),
}  # fmt: skip


def json_about(data: bytes) -> dict[str, str]:
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]


@pytest.mark.parametrize("what", BAD)
def test_bad_files_are_refused_with_a_reason(data: bytes, what: str) -> None:
    spoil, reason = BAD[what]
    with pytest.raises(LoadError, match=reason):
        single_file.from_bytes(spoil(data), "my.safetensors")


def test_a_file_that_is_too_large_is_refused_unread(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(single_file, "MAX_BYTES", 1000)
    with pytest.raises(LoadError, match="MB"):
        single_file.from_bytes(data)


def test_the_best_head_attends_to_the_answers(run: TaskRun) -> None:
    frame = run.poll().frames[-1]
    layer, head = run.held_out.best_head(frame)
    assert run.held_out.right_rows(frame, layer, head) == max(
        run.held_out.right_rows(frame, l, h)
        for l in range(2)  # noqa: E741
        for h in range(2)
    )
    # By hand: where row i of the map is largest, against the partner that is expected.
    largest = frame.sample[layer, head].argmax(-1)
    rows = run.held_out.right_rows(frame, layer, head)
    partners = [int(run.held_out.task.classes[int(answer)]) for answer in run.held_out.answers[0]]
    assert rows == sum(largest == partners)


def test_an_empty_text_is_refused(run: TaskRun) -> None:
    with pytest.raises(TextError, match="text is empty"):
        run.text_encoder().trace("  ")
