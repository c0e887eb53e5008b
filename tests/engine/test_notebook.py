"""What somebody sees in a notebook: objects in a line, and a sentence for what is not text, head or model."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import encoder
from encoder import EncoderError, LoadError, TextEncoder, TextError
from tests.engine.conftest import tiny


def test_models_and_traces_are_a_line() -> None:
    model = tiny()
    trace = model.trace("the cat sat on a mat and the dog ran to the big red bus !")
    for shown in (repr(model), repr(trace), repr(trace.norms["layers.0.ffn_norm"])):
        assert len(shown) < 250
        assert "\n" not in shown
        assert "tensor(" not in shown
    assert f"{model.config.n_layers} layers x {model.config.n_heads} heads" in repr(model)
    assert f"{model.n_parameters:,} parameters" in repr(model)
    assert f"{trace.n_tokens} tokens" in repr(trace)
    assert "[CLS] the cat sat" in repr(trace)
    assert "…" in repr(trace)
    assert len(repr(dict(trace.norms))) < 200 * len(trace.norms)


@pytest.mark.parametrize("value", [None, 5, b"bytes", ["the", "cat"]])
def test_what_is_no_text_is_said_so(value: object) -> None:
    model = tiny()
    for run in (model.trace, model.windows, lambda text: model.embed([text]), lambda text: model.trace("a", text)):
        if value is None and run is not model.trace:
            continue  # no second text
        with pytest.raises(TextError, match=type(value).__name__):
            run(value)
    if isinstance(value, list):
        with pytest.raises(TextError, match="trace_batch"):
            model.trace(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["a", 1.0, None])
def test_what_is_no_head_is_said_so(wrong: object) -> None:
    trace = tiny().trace("the cat")
    with pytest.raises(EncoderError, match=r"whole number.*0 to \d"):
        trace.attention(True, 0)
    with pytest.raises(EncoderError, match=r"whole number.*0 to \d"):
        trace.scores(0, wrong)  # type: ignore[arg-type]
    with pytest.raises(EncoderError, match=r"whole number.*0 to \d"):
        trace.z(wrong, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("MiniLM", "minilm"),
        ("mini-lm", "minilm"),
        ("twin_pre", "twin-pre"),
        ("bert-base-uncased", "google-bert/bert-base-uncased"),
        ("roberta-base", "FacebookAI/roberta-base"),
        ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
    ],
)
def test_a_name_that_is_nearly_right_is_guessed(name: str, meant: str) -> None:
    with pytest.raises(LoadError, match=f"Did you mean '{meant}'"):
        encoder.load(name)


def test_a_folder_that_is_no_checkpoint_is_named_as_it_was_typed(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=str(tmp_path)):
        encoder.load(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_what_is_saved_may_be_read_by_whom_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        folder = encoder.save(tiny(), tmp_path / "saved")
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o640}
    assert isinstance(encoder.load(folder), TextEncoder)
