from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import encoder
from encoder.errors import EncoderError
from encoder.model.encoder import Encoder
from encoder.train import curves
from recipes.twins import __main__ as command
from recipes.twins import corpus, finish, mlm, recipe
from recipes.twins.checkpoint import RunState, read_checkpoint
from recipes.twins.recipe import TrainingRecipe
from tests.conftest import ROOT


def test_a_pair_differs_in_the_placement_alone():
    recipes = recipe.recipes()
    for pre, post in [
        ("twin-pre", "twin-post"),
        ("deep-pre", "deep-post"),
        ("deep-pre-no-warmup", "deep-post-no-warmup"),
    ]:
        changed = dataclasses.replace(recipes[pre], name=post, norm_placement="post")
        assert changed == recipes[post]
    for name in recipe.VARIANTS:
        assert ("no-warmup" in name) == (recipes[name].warmup_steps == 0)
    assert recipes["deep-pre"].n_layers == 12
    assert set(recipe.MAIN) | set(recipe.VARIANTS) == set(recipes)


@pytest.fixture(scope="module")
def work(wordnet: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder with twins of a few steps, in place of the real ones."""
    folder = tmp_path_factory.mktemp("work")
    data = corpus.prepare(folder / "corpus", wordnet, vocab_size=120)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipe, "TWIN", tiny())
        for name in ("twin-pre", "twin-post", "twin-post-no-warmup"):
            mlm.TrainingRun(recipe.recipes()[name], data, folder).train()
    return folder


def tiny() -> TrainingRecipe:
    return dataclasses.replace(
        recipe.TWIN,
        steps=8,
        warmup_steps=2,
        n_layers=2,
        n_heads=2,
        d_model=16,
        d_ffn=24,
        max_positions=32,
        batch_tokens=128,
        record_every=2,
        checkpoint_every=4,
        evaluate_every=4,
    )


def test_finished_twins_load(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recipe, "TWIN", tiny())
    written = finish.finish(work, tmp_path)
    assert [folder.name for folder in written] == ["twin-pre", "twin-post"]
    for folder, placement in zip(written, ("pre", "post"), strict=True):
        model = encoder.load(folder, device="cpu")
        assert (model.name, model.config.norm_placement) == (folder.name, placement)
        assert model.predict_masked(model.trace("the [MASK] sees"), 3)
        card = (folder / "MODEL_CARD.md").read_text()
        assert card.startswith(f"# twin-{placement}\n")
        assert "WordNet 3.0" in card
        assert "{" not in card
        figures = json.loads((folder / "figures.json").read_text())
        assert f"{figures['accuracy']:.3f}" in card
        assert figures["n_parameters"] == model.n_parameters + sum(p.numel() for p in model.mlm_head.parameters())
    table = curves.recorded(tmp_path / curves.FILE)
    assert set(table.run) == {"twin-pre", "twin-post", "twin-post-no-warmup"}
    own = table[table.run == "twin-pre"]
    assert own.step.tolist() == [2, 4, 6, 8]
    assert own.held_out_accuracy.notna().tolist() == [False, True, False, True]
    assert set(own.norm_placement) == {"pre"}
    table.loc[:, "loss"] = 0.0
    assert (curves.recorded(tmp_path / curves.FILE).loss > 0).all()  # nobody changes another's table


def test_a_run_that_is_not_done_is_not_written(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(recipe, "TWIN", tiny())
    half = tmp_path / "half"
    data = corpus.prepare(half / "corpus", None) if (half / "corpus").exists() else corpus.prepare(work / "corpus")
    (half / "corpus").mkdir(parents=True)
    for path in (work / "corpus").iterdir():
        if path.is_file():
            (half / "corpus" / path.name).write_bytes(path.read_bytes())
    mlm.TrainingRun(recipe.recipes()["twin-pre"], data, half).train(stop=lambda: True)
    assert finish.finish(half, tmp_path / "out") == []
    said = capsys.readouterr().out
    assert "twin-pre is at step 2: not written" in said
    assert "twin-post has no checkpoint" in said


def test_without_curves_the_remedy_is_named(tmp_path: Path):
    with pytest.raises(EncoderError, match="make twins"):
        curves.recorded(tmp_path / "none.parquet")


def test_a_diverged_run_has_a_curve_too(tmp_path: Path):
    rows = [{"step": 2, "loss": 3.0, "held_out_loss": 4.0, "held_out_accuracy": 0.1}, {"step": 4}]
    state = RunState(step=4, status="diverged at step 4: loss is not finite", rows=rows)
    fields = dataclasses.asdict(tiny())
    finish.write_curves({"deep-post": (state, fields)}, tmp_path / "curves.parquet")
    table = pd.read_parquet(tmp_path / "curves.parquet")
    assert table.status.unique().tolist() == [state.status]
    assert np.isnan(table.loss.iloc[1])


def test_curves_of_other_runs_stay(tmp_path: Path):
    path, fields = tmp_path / "curves.parquet", dataclasses.asdict(tiny())

    def state(loss: float) -> RunState:
        return RunState(status="done", rows=[{"step": 2, "loss": loss}])

    finish.write_curves({"deep-pre": (state(1.0), fields), "twin-pre": (state(2.0), fields)}, path)
    finish.write_curves({"twin-pre": (state(3.0), fields)}, path)
    table = pd.read_parquet(path)
    assert dict(zip(table.run, table.loss, strict=True)) == {"deep-pre": 1.0, "twin-pre": 3.0}


def test_previous_and_next_token_are_not_swapped():
    """A head whose queries match the key before them: positions are one-hot, and W_Q shifts them by one."""
    from encoder.model.config import EncoderConfig

    config = EncoderConfig(
        vocab_size=4,
        d_model=8,
        n_layers=1,
        n_heads=1,
        d_ffn=4,
        max_positions=8,
        embedding_norm=False,
        attention_scale=1.0,
    )
    model = Encoder(config, seed=0)
    with torch.no_grad():
        model.embedding.tokens.weight.zero_()
        model.embedding.positions.table.weight.copy_(torch.eye(8))
        attention = model.layers[0].attention
        attention.w_k.weight.copy_(torch.eye(8))
        attention.w_q.weight.copy_(40.0 * torch.eye(8).roll(-1, 0))  # q_i = 40 e_(i-1): highest where the key is i - 1
    previous, following = finish.neighbour_weights(model, [torch.zeros(2, 8, dtype=torch.long)])
    assert float(previous[0, 0]) == pytest.approx(1.0, abs=1e-6)
    assert float(following[0, 0]) == pytest.approx(0.0, abs=1e-6)


def arguments(work: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "recipes.twins", "--work", str(work), *more]


@pytest.mark.slow("trains in another process, which is interrupted")
def test_the_command_ends_after_a_whole_checkpoint_when_it_is_interrupted(work: Path, tmp_path: Path):
    """The real recipe on the tiny text takes too long, so the test interrupts it after its first line."""
    target = tmp_path / "work"
    (target / "corpus").mkdir(parents=True)
    for path in (work / "corpus").iterdir():
        if path.is_file():
            (target / "corpus" / path.name).write_bytes(path.read_bytes())
    process = subprocess.Popen(
        arguments(target, "--one", "twin-post-no-warmup", "--device", "cpu", "--save-at", "0", "2500"),
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().endswith("twin-post-no-warmup-0\n")
        assert process.stdout.readline().startswith("twin-post-no-warmup step     25/3000")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert "stopped at step" in out
    assert process.returncode == 1
    tensors, state, _ = read_checkpoint(target / "twin-post-no-warmup.safetensors")
    assert state.status == "stopped"
    assert state.step >= 25
    assert all(bool(torch.isfinite(value).all()) for value in tensors.values())
    assert not list(target.glob(".*partial"))
    assert encoder.load(target / "twin-post-no-warmup-0", device="cpu").name == "twin-post-no-warmup-0"
    ended = subprocess.run(
        arguments(target, "--one", "twin-post-no-warmup", "--save-at", "25"), cwd=ROOT, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")  # step 25 is behind it: it takes no step
    assert read_checkpoint(target / "twin-post-no-warmup.safetensors")[1].step == state.step


def test_a_step_without_a_row_cannot_be_saved(capsys):
    with pytest.raises(SystemExit):
        command.main(["--save-at", "30"])
    assert "30" in capsys.readouterr().err


def test_finish_only_trains_nothing(work: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(recipe, "TWIN", tiny())
    monkeypatch.setattr(command, "train_side_by_side", lambda *_: pytest.fail("it trained"))
    began = time.time_ns()
    assert command.main(["--work", str(work), "--out", str(tmp_path), "--finish-only"]) == 0
    assert all(path.stat().st_mtime_ns < began for path in work.glob("*.safetensors"))
    assert "twin-post: held-out accuracy" in capsys.readouterr().out
