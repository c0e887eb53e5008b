"""A search that was stopped goes on where it was, with the answer of one that was not."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import encoder
from encoder import diagnose
from encoder.cli import main
from encoder.diagnose import search
from encoder.errors import EncoderError

TEXTS = ["A cat sat on the mat.", "two words", "Hokkaidō, café"]


@pytest.fixture(scope="module")
def model() -> encoder.TextEncoder:
    return encoder.load("twin-pre", device="cpu")


@pytest.fixture(scope="module")
def vectors(model: encoder.TextEncoder) -> np.ndarray:
    """Vectors that no fault gives: turned at random."""
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(model.config.d_model,) * 2))[0]
    return (model.embed(TEXTS).numpy() @ turn).astype(np.float32)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The candidates whose vectors were compared."""
    found: list[object] = []
    compared = search._Search.distance_at

    def counted(self, pipeline, *given):
        found.append(pipeline)
        return compared(self, pipeline, *given)

    monkeypatch.setattr(search._Search, "distance_at", counted)
    return found


@pytest.mark.parametrize("in_file", [False, True])
def test_a_stopped_search_goes_on(in_file: bool, model, vectors, tmp_path: Path, runs: list[object]):
    file = tmp_path / "search.safetensors" if in_file else None
    whole = diagnose.find(model, TEXTS, vectors, together=1)
    n_whole = len(runs)
    kept = diagnose.Excluded(file)
    work = diagnose.find_gradually(model, TEXTS, vectors, together=1, kept=kept)
    list(islice(work, 80))
    work.close()
    assert len(kept) > 50
    runs.clear()
    again = diagnose.Excluded(file) if in_file else kept
    found = diagnose.find(model, TEXTS, vectors, together=1, kept=again)
    assert found.about() == whole.about()
    assert len(runs) <= n_whole - 50
    runs.clear()
    assert diagnose.find(model, TEXTS, vectors, together=1, kept=again).about() == whole.about()
    assert len(runs) < n_whole / 4  # rounding of the whole computation is compared again


def test_another_search_does_not_go_on(model, vectors, tmp_path: Path):
    kept = diagnose.Excluded(tmp_path / "search.safetensors")
    diagnose.find(model, TEXTS, vectors, together=1, kept=kept)
    first = np.stack([model.trace(text).output[0].numpy() for text in TEXTS])
    other = diagnose.Excluded(tmp_path / "search.safetensors")
    assert [one.name for one in diagnose.find(model, TEXTS, first, together=1, kept=other).faults] == ["pooling"]


def test_a_file_of_something_else_is_a_sentence_and_stays(model, vectors, tmp_path: Path):
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    with pytest.raises(EncoderError, match=r"notes\.txt"):
        diagnose.find(model, TEXTS, vectors, together=1, kept=diagnose.Excluded(file))
    assert file.read_text() == "mine"


def test_the_command_keeps_and_resumes(model, vectors, tmp_path: Path, monkeypatch, capsys, runs: list[object]):
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    np.save("vectors.npy", vectors)
    words = "diagnose twin-pre --texts texts.txt --vectors vectors.npy --together 1 --json --resume kept.safetensors"
    assert main.main(words.split()) == 3
    first, n_first = capsys.readouterr().out, len(runs)
    runs.clear()
    assert main.main(words.split()) == 3
    assert capsys.readouterr().out == first
    assert len(runs) < n_first / 4


def test_a_long_search_says_beforehand_what_it_may_take(model, vectors, tmp_path: Path, monkeypatch, capsys):
    assert search.Step(0, 9, "single faults").estimate == ""
    monkeypatch.setattr(search, "LONG", 0.0)
    steps = list(diagnose.find_gradually(model, TEXTS, vectors, together=1))
    assert steps[0].seconds > steps[1].seconds > 0.0
    assert steps[0].estimate in steps[0].words
    np.save(tmp_path / "vectors.npy", vectors)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    files = ["--texts", str(tmp_path / "texts.txt"), "--vectors", str(tmp_path / "vectors.npy")]
    main.main(["diagnose", "twin-pre", *files, "--together", "1"])
    said = capsys.readouterr().err
    assert "minutes" in said
    assert "--together 1" not in said

    def stopped(*given, **options):
        yield steps[0]
        raise EncoderError("stopped")

    monkeypatch.setattr(diagnose, "find_gradually", stopped)
    main.main(["diagnose", "twin-pre", *files])
    assert "--together 1" in capsys.readouterr().err, "how to make it shorter"
