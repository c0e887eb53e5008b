"""The twins that ship in encoder/data, as a person uses them."""

from __future__ import annotations

import dataclasses
import json

import pytest
import torch

import encoder
from encoder.checkpoints.bundled import bundled_folder
from encoder.encoders.text import TextEncoder
from encoder.train import curves
from recipes.twins import recipe

PROSE = (
    "a small boat that is used to carry people across a river",
    "the teacher read the letter and went back to the house.",
    "someone who studies the history of a country",
    "he put the book on the table and looked out of the window",
    "a disease of plants that is caused by a fungus",
)


@pytest.fixture(scope="module", params=["twin-pre", "twin-post"])
def twin(request: pytest.FixtureRequest) -> TextEncoder:
    return encoder.load(request.param, device="cpu")


def test_the_pair_differs_in_placement_and_final_norm():
    pre, post = (encoder.load(name, device="cpu") for name in recipe.MAIN)
    moved = dataclasses.replace(pre.config, norm_placement="post", final_norm=False)
    assert moved == post.config
    assert pre.tokenizer.backend.to_str() == post.tokenizer.backend.to_str()
    assert set(pre.encoder.state_dict()) - set(post.encoder.state_dict()) == {"final_norm.weight", "final_norm.bias"}


def test_together_they_take_less_than_18_mb():
    sizes = [path.stat().st_size for path in curves.DATA.rglob("*") if path.is_file()]
    assert 5e6 < sum(sizes) < 18e6


def test_the_card_has_the_figures_of_these_weights(twin: TextEncoder):
    folder = bundled_folder(twin.name)
    figures = json.loads((folder / "figures.json").read_text())
    assert figures["accuracy"] > 5 * figures["unigram_accuracy"]
    assert figures["loss"] < figures["unigram_loss"] - 2
    card = (folder / "MODEL_CARD.md").read_text()
    assert f"| {twin.name} | {figures['loss']:.2f} | {figures['accuracy']:.3f} |" in card
    assert f"{figures['n_parameters']:,} parameters" in card


@pytest.mark.parametrize(("which", "offset"), [("previous", -1), ("following", 1)])
def test_the_strongest_heads_attend_as_the_card_says(twin: TextEncoder, which: str, offset: int):
    weights = torch.tensor(json.loads((bundled_folder(twin.name) / "figures.json").read_text())[which])
    layer, head = divmod(int(weights.argmax()), weights.shape[1])
    for text in PROSE:
        inner = twin.trace(text).attention(layer, head)
        along = (
            inner.diagonal(offset)[1:] if offset == 1 else inner.diagonal(offset)[:-1]
        )  # without [CLS], [SEP] as queries
        assert float(along.mean()) > 0.75, text


def test_masked_words_are_predicted(twin: TextEncoder):
    expected = {
        "born in the united [MASK]": "states",
        "a member of the [MASK] of representatives": "house",
        "in the middle [MASK] of the city": "part",
        "a person [MASK] sells books": "who",
        "one of [MASK] sides": "two",
    }
    found = [twin.predict_masked(twin.trace(text), 5)[0].tokens for text in expected]
    right = sum(word in tokens for word, tokens in zip(expected.values(), found, strict=True))
    assert right >= 3, found


def test_the_curves_of_every_run_are_recorded():
    table = curves.recorded()
    assert set(table.run) == set(recipe.recipes())
    for name in table.run.unique():
        settings, rows = recipe.recipes()[name], table[table.run == name]
        assert (rows.status == "done").all()
        assert rows.step.max() == settings.last_step
        assert (rows.step.diff().dropna() == settings.record_every).all()
        assert set(rows.norm_placement) == {settings.norm_placement}


def test_runs_are_compared_at_their_last_common_step():
    step, right = curves.at_common_step(curves.recorded())
    assert step == min(settings.last_step for settings in recipe.recipes().values())
    assert len(right) == 4
    assert set(right) == {"pre", "post"}
    assert right.notna().all(axis=None)
    table = curves.recorded()
    row = table[(table.run == "deep-post-no-warmup") & (table.step == step)].iloc[0]
    assert right.post[12, "without"] == row.held_out_accuracy
    # What these runs show: of one seed each, only pre-norm learned at twelve layers.
    assert right.pre[12, "with"] > 3 * right.post[12, "with"]
