from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import encoder
from encoder.errors import ConfigError, EncoderError
from recipes.twins import batches, mlm
from recipes.twins.checkpoint import read_checkpoint
from recipes.twins.corpus import CorpusError, Prepared
from recipes.twins.recipe import TrainingRecipe

TINY = TrainingRecipe(
    name="tiny",
    norm_placement="pre",
    steps=12,
    n_layers=2,
    n_heads=2,
    d_model=16,
    d_ffn=24,
    max_positions=32,
    batch_tokens=128,
    learning_rate=5e-3,
    warmup_steps=4,
    record_every=2,
    evaluate_every=6,
    checkpoint_every=4,
)


def test_rows_of_a_batch_are_whole_sentences_of_one_length(prepared: Prepared):
    special = batches.Special.of(prepared.tokenizer)
    plan = batches.plan_epoch(prepared.train, TINY, epoch=0)
    kinds = {0: 0, 1: 0}
    for batch in plan:
        ids = batches.rows_of(prepared.train, batch, TINY, special)
        assert ids.size <= TINY.batch_tokens
        assert (ids[:, 0] == special.cls).all()
        kinds[int(batch[1] > 0)] += 1
        if batch[1]:
            assert (ids[:, -1] == special.sep).all()
            assert (ids[:, 1:-1] >= special.n_special).all()
            first = prepared.train.ids[prepared.train.starts[batch[0][0]] :][: batch[1]]
            assert np.array_equal(ids[0, 1:-1], first)
        else:
            assert ids.shape[1] == TINY.max_positions
            assert (ids == special.sep).any(axis=1).all()
    assert kinds[0] > 0
    assert kinds[1] > kinds[0]


def test_the_order_depends_on_the_seed_and_the_epoch_alone(prepared: Prepared):
    special = batches.Special.of(prepared.tokenizer)

    def first(recipe: TrainingRecipe, epoch: int = 0) -> np.ndarray:
        return batches.rows_of(prepared.train, batches.plan_epoch(prepared.train, recipe, epoch)[0], recipe, special)

    post = dataclasses.replace(TINY, norm_placement="post", name="other")
    assert np.array_equal(first(TINY), first(post))
    assert not np.array_equal(first(TINY), first(TINY, epoch=1))
    assert not np.array_equal(first(TINY), first(dataclasses.replace(TINY, seed=1)))


def test_batches_continue_from_any_step(prepared: Prepared):
    special = batches.Special.of(prepared.tokenizer)
    per_epoch = len(batches.plan_epoch(prepared.train, TINY, 0))
    run = batches.batches_from(prepared.train, TINY, special, 0)
    every = [next(run) for _ in range(per_epoch + 3)]
    for first in (1, per_epoch - 1, per_epoch, per_epoch + 2):
        assert np.array_equal(next(batches.batches_from(prepared.train, TINY, special, first)), every[first])


def test_too_little_text_for_a_batch_is_refused(prepared: Prepared):
    special = batches.Special.of(prepared.tokenizer)
    huge = dataclasses.replace(TINY, batch_tokens=1_000_000)
    with pytest.raises(CorpusError, match="no batch of 1000000 tokens"):
        next(batches.batches_from(prepared.train, huge, special, 0))


def test_masks_follow_devlin():
    special = batches.Special(cls=2, sep=3, mask=4, n_special=5)
    ids = np.random.default_rng(0).integers(5, 100, size=(400, 50))
    ids[:, 0], ids[:, -1] = special.cls, special.sep
    inputs, labels = batches.mask_tokens(ids, np.random.default_rng(1), special, 100)
    chosen = labels != batches.IGNORE
    assert not chosen[:, [0, -1]].any()
    assert np.array_equal(labels[chosen], ids[chosen])
    assert np.array_equal(inputs[~chosen], ids[~chosen])
    assert chosen[:, 1:-1].mean() == pytest.approx(0.15, abs=0.01)
    hidden, kept = inputs[chosen] == special.mask, inputs[chosen] == ids[chosen]
    assert hidden.mean() == pytest.approx(0.8, abs=0.02)
    assert kept.mean() == pytest.approx(0.1, abs=0.02)
    assert (inputs[chosen][~hidden] >= special.n_special).all()


def test_there_is_always_something_to_predict():
    special = batches.Special(cls=2, sep=3, mask=4, n_special=5)
    for seed in range(50):
        _, labels = batches.mask_tokens(np.array([[2, 7, 3]]), np.random.default_rng(seed), special, 100)
        assert labels.tolist() == [[batches.IGNORE, 7, batches.IGNORE]]


def test_both_placements_start_from_the_same_weights(prepared: Prepared):
    pre, post = (
        mlm.new_model(dataclasses.replace(TINY, norm_placement=p).config(prepared.tokenizer), seed=3).state_dict()
        for p in ("pre", "post")
    )
    assert set(pre) - set(post) == {"encoder.final_norm.weight", "encoder.final_norm.bias"}
    for name, value in post.items():
        assert torch.equal(value, pre[name]), name


def test_the_schedule_rises_and_falls():
    recipe = dataclasses.replace(TINY, steps=10, warmup_steps=4, learning_rate=1.0)
    rates = [recipe.rate(step) for step in range(10)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    assert rates[4:] == pytest.approx([1.0, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    assert dataclasses.replace(recipe, warmup_steps=0).rate(0) == 1.0


def test_checkpoints_need_a_point_of_the_curve():
    with pytest.raises(ConfigError, match="multiple of 2"):
        dataclasses.replace(TINY, checkpoint_every=5)


def test_held_out_words_are_all_masked_and_always_the_same(prepared: Prepared):
    special = batches.Special.of(prepared.tokenizer)
    first, second = (mlm.held_out_batches(prepared.held_out, special, longest=32) for _ in range(2))
    assert first
    for (ids, chosen, words), (again, _, _) in zip(first, second, strict=True):
        assert torch.equal(ids, again)
        assert (ids.flatten()[chosen] == special.mask).all()
        assert (words >= special.n_special).all()
        assert (ids == special.mask).sum() == len(chosen)


def test_the_unigram_baseline_guesses_the_most_frequent_word(prepared: Prepared):
    special = batches.Special.of(prepared.tokenizer)
    held_out = mlm.held_out_batches(prepared.held_out, special, longest=32)
    loss, accuracy = mlm.unigram_baseline(prepared.train, held_out, prepared.tokenizer.vocab_size)
    words = torch.cat([words for _, _, words in held_out]).tolist()
    counts = {word: int((prepared.train.ids == word).sum()) + 1 for word in range(prepared.tokenizer.vocab_size)}
    total, best = sum(counts.values()), max(counts, key=lambda word: counts[word])
    assert accuracy == pytest.approx(words.count(best) / len(words))
    assert loss == pytest.approx(-sum(math.log(counts[word] / total) for word in words) / len(words))


def test_a_stopped_run_continues_with_the_same_numbers(prepared: Prepared, tmp_path: Path):
    whole = mlm.TrainingRun(TINY, prepared, tmp_path / "whole")
    assert whole.train().status == "done"
    calls = iter([False, False, True])
    stopped = mlm.TrainingRun(TINY, prepared, tmp_path / "parts")
    assert stopped.train(stop=lambda: next(calls)).status == "stopped"
    assert stopped.state.step == 6
    resumed = mlm.TrainingRun(TINY, prepared, tmp_path / "parts")
    assert resumed.state.step == 6
    assert resumed.train().status == "done"
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name
    timeless = [
        [{k: v for k, v in row.items() if k != "seconds"} for row in run.state.rows] for run in (whole, resumed)
    ]
    assert timeless[0] == timeless[1]
    assert [row["step"] for row in whole.state.rows] == [2, 4, 6, 8, 10, 12]
    assert [row["step"] for row in whole.state.rows if "held_out_accuracy" in row] == [6, 12]
    assert not list(tmp_path.rglob("*.partial"))


def test_a_checkpoint_holds_tensors_and_json(prepared: Prepared, tmp_path: Path):
    run = mlm.TrainingRun(TINY, prepared, tmp_path)
    run.train()
    tensors, state, fields = read_checkpoint(run.checkpoint)
    assert state == run.state
    assert fields["warmup_steps"] == 4
    assert set(tensors) == set(load_file(run.checkpoint))
    assert sum(name.endswith("exp_avg_sq") for name in tensors) == len(list(run.model.parameters()))


def test_a_checkpoint_of_another_recipe_is_refused(prepared: Prepared, tmp_path: Path):
    mlm.TrainingRun(TINY, prepared, tmp_path).train()
    with pytest.raises(EncoderError, match="another recipe"):
        mlm.TrainingRun(dataclasses.replace(TINY, learning_rate=1.0), prepared, tmp_path)


def test_a_run_may_end_early_on_its_schedule(prepared: Prepared, tmp_path: Path):
    run = mlm.TrainingRun(dataclasses.replace(TINY, stop_after=4), prepared, tmp_path)
    assert (run.train().status, run.state.step) == ("done", 4)
    assert run.state.rows[-1]["learning_rate"] == pytest.approx(TINY.rate(3))


def test_a_loss_that_is_not_finite_is_a_status(prepared: Prepared, tmp_path: Path):
    run = mlm.TrainingRun(dataclasses.replace(TINY, learning_rate=1e25, warmup_steps=0), prepared, tmp_path)
    state = run.train()
    assert state.status.startswith("diverged at step ")
    assert run.finished
    assert mlm.TrainingRun(run.recipe, prepared, tmp_path).train().status == state.status  # and stays so


@pytest.mark.slow("trains a model")
def test_it_learns(prepared: Prepared, tmp_path: Path):
    recipe = dataclasses.replace(TINY, steps=150, stop_after=150, evaluate_every=150, checkpoint_every=150)
    for placement in ("pre", "post"):
        run = mlm.TrainingRun(dataclasses.replace(recipe, norm_placement=placement, name=placement), prepared, tmp_path)
        run.train()
        _, unigram = mlm.unigram_baseline(prepared.train, run.held_out, prepared.tokenizer.vocab_size)
        assert run.state.rows[-1]["held_out_accuracy"] > unigram + 0.2


def test_a_float16_folder_loads_the_trained_weights(prepared: Prepared, tmp_path: Path):
    run = mlm.TrainingRun(TINY, prepared, tmp_path)
    run.train()
    model = run.text_encoder()
    loaded = encoder.load(encoder.save(model, tmp_path / "tiny", dtype="float16", layout="encoderscope"), device="cpu")
    for ours, theirs in ((model.encoder, loaded.encoder), (model.mlm_head, loaded.mlm_head)):
        for name, value in ours.state_dict().items():
            assert torch.equal(theirs.state_dict()[name], value.half().float()), name
    text = "the cat [MASK] a boat"
    expected, found = (m.predict_masked(m.trace(text), 3)[0] for m in (model, loaded))
    assert found.probabilities == pytest.approx(expected.probabilities, abs=2e-3)
