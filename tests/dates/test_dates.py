"""The bundled translators of dates: what they write, how large they are, and that the recipe makes such models."""

from __future__ import annotations

import random

import pytest
import torch

import encoder
from encoder.checkpoints.bundled import bundled_folder
from encoder.measure import dates
from encoder.model.config import NORM_PLACEMENTS
from recipes.dates.finish import accuracy
from recipes.dates.phrasings import draw
from recipes.dates.training import DatesRecipe, batch_of, loss, train, untrained, written

NAMES = [f"dates-{placement}" for placement in NORM_PLACEMENTS]


@pytest.mark.slow("generates 300 dates with each model")
@pytest.mark.parametrize("name", NAMES)
def test_held_out_phrasings_are_right(name: str):
    model = encoder.load(name, device="cpu")
    found = accuracy(model, 300, unseen=True, seed=3)
    assert found.of_all >= 0.99


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_writes_what_generate_writes(name: str):
    model = encoder.load(name, device="cpu")
    numbers = random.Random(4)
    examples = [draw(numbers, unseen=True) for _ in range(8)]
    assert written(model, examples) == [model.generate(one.text).text for one in examples]


def test_both_are_small_and_differ_in_their_norms_only():
    sizes = [file.stat().st_size for name in NAMES for file in bundled_folder(name).iterdir()]
    assert sum(sizes) < 3_000_000
    pre, post = (encoder.load(name, device="cpu") for name in NAMES)
    for one, other in ((pre.config, post.config), (pre.decoder.config, post.decoder.config)):
        assert one.replace(norm_placement="post", final_norm=False) == other
    assert pre.tokenizer.backend.get_vocab() == dates.tokenizer().backend.get_vocab()


def test_both_placements_begin_with_the_same_weights():
    first, second = (untrained(DatesRecipe(placement)) for placement in NORM_PLACEMENTS)
    weights = dict(second.decoder.encoder.named_parameters())
    assert all(
        torch.equal(one, weights[name]) for name, one in first.decoder.encoder.named_parameters() if name in weights
    )


@pytest.mark.slow("trains a model")
def test_a_short_training_learns():
    numbers = random.Random(6)
    recipe = DatesRecipe("pre", epochs=1, examples=960, warmup_steps=2)
    examples = [draw(numbers) for _ in range(64)]
    before, model = untrained(recipe), train(recipe)
    batch = batch_of(examples, model.tokenizer)
    with torch.no_grad():
        assert float(loss(model, *batch)) < float(loss(before, *batch)) - 0.5
