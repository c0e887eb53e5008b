"""The bundled pair of digits and words: what its captions name, its card, and that its training learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import encoder
from encoder.encoders.joint import JointEncoder
from encoder.errors import EncoderError
from encoder.inputs import captions
from encoder.inputs.captions import UNSEEN_TEMPLATES
from encoder.inputs.digits import dataset, decode, examples
from encoder.measure import pair_scores, patches
from recipes.digit_words.__main__ import main
from recipes.digit_words.captions import tokenizer as tokenizer_of_captions
from recipes.digit_words.finish import accuracies
from recipes.digit_words.strokes import accuracy_of_strokes
from recipes.digit_words.training import Pair, PairRecipe, train
from recipes.zero_shot import held_out_vectors, of_held_out
from tests.conftest import ROOT

DATA = ROOT / "encoder/data"
TEMPLATE = "a handwritten {number}"


@pytest.fixture(scope="module")
def pair() -> JointEncoder:
    found = encoder.load("digit-words", device="cpu")
    assert isinstance(found, JointEncoder)
    return found


def test_captions_name_held_out_digits(pair: JointEncoder):
    found = of_held_out(pair, TEMPLATE)
    assert len(found.truth) == 359
    assert found.accuracy >= 0.96
    low, high = accuracies(pair)["unseen"]
    assert low >= 0.96
    card = (DATA / "digit-words/MODEL_CARD.md").read_text(encoding="utf-8")
    assert f'| "a handwritten three" | {found.accuracy:.3f} |' in card
    assert f"| {len(UNSEEN_TEMPLATES)} templates that were not | {low:.3f} to {high:.3f} |" in card


def test_words_that_were_never_trained_together(pair: JointEncoder):
    share, count = accuracy_of_strokes(pair, unseen=True)
    assert count == 64
    assert share >= 0.85
    assert f"| {share:.3f} |" in (DATA / "digit-words/MODEL_CARD.md").read_text(encoding="utf-8")


def test_counts_and_errors_of_the_held_out_digits(pair: JointEncoder):
    found = of_held_out(pair, TEMPLATE)
    assert int(found.counts.sum()) == len(found.truth)
    assert int(found.counts.diagonal().sum()) == round(found.accuracy * len(found.truth))
    at = int(torch.nonzero(found.said != found.truth)[0])
    assert int(found.counts[found.truth[at], found.said[at]]) > 0
    ten = [captions.filled(TEMPLATE, word) for word in captions.WORDS]
    assert int(pair.probabilities([dataset()[2][at]], ten)[0].argmax()) == int(found.said[at])


def test_another_model_has_no_held_out_digits():
    image = encoder.load("digits-pre", device="cpu")
    assert image.patches.image_size == 8
    other = JointEncoder("other", encoder.load("digit-words", device="cpu").text, _of_colours())
    with pytest.raises(EncoderError, match="digit-words"):
        held_out_vectors(other)


def _of_colours() -> encoder.ImageEncoder:
    from encoder.model.config import Patches
    from encoder.model.encoder import Encoder
    from encoder.model.vector_head import VectorHead, VectorHeadConfig

    config = encoder.EncoderConfig(
        vocab_size=0, d_model=8, n_layers=1, n_heads=2, d_ffn=8, max_positions=5, patches=Patches(8, 4)
    )
    return encoder.ImageEncoder("colours", Encoder(config), vector_head=VectorHead(8, VectorHeadConfig("cls", 32)))


def test_the_words_of_a_caption_over_the_patches(pair: JointEncoder):
    image = pair.image.trace(decode(examples()["3"]))
    text = pair.text.trace("a handwritten three")
    found = pair_scores.token_patches(pair, image, text)
    assert found.shape == (text.n_tokens, 4, 4)
    whole = pair.text_vector(text)  # the last token is pooled, so its vector is the caption's
    alone = pair.projected_tokens(image) @ whole
    assert torch.allclose(found[-1], patches.over_image(image, alone), atol=1e-6)
    other = pair_scores.token_patches(pair, image, pair.text.trace("a handwritten eight"))
    assert torch.equal(found[:3], other[:3])  # a causal mask: [START] and two words have not read the third
    assert not torch.allclose(found[3], other[3])


def test_a_larger_scale_makes_probabilities_sharper(pair: JointEncoder):
    images = pair.embed_images([decode(examples()[digit]) for digit in "38"])
    texts = pair.embed_texts(["a three", "an eight", "a nine"])
    usual, sharp = (pair_scores.scores(pair, images, texts, times) for times in (1.0, 4.0))
    assert torch.allclose(usual.probabilities, pair.probabilities_of(pair.logits(images, texts)))
    assert torch.allclose(sharp.logits, 4 * usual.logits)
    assert bool((sharp.probabilities.amax(-1) >= usual.probabilities.amax(-1)).all())
    by_template = pair_scores.by_template(pair, images[0], texts[None])
    assert torch.allclose(by_template[0], usual.probabilities[0])


def test_all_bundled_weights_of_digits_and_sound_are_small():
    names = ("digits-pre", "digits-post", "spoken-digits", "digit-words")
    assert sum(file.stat().st_size for name in names for file in (DATA / name).iterdir()) < 6_000_000


def test_in_training_the_pair_gives_the_vectors_that_it_gives_later():
    pair, tokenizer = Pair(PairRecipe()).eval(), tokenizer_of_captions()
    finished = pair.finished(tokenizer)
    texts = ["a three", "a picture of a handwritten three"]
    images = [decode(examples()[digit]) for digit in "12"]
    with torch.no_grad():
        assert torch.allclose(pair.of_texts(texts, tokenizer), finished.embed_texts(texts), atol=1e-6)
        given = torch.from_numpy(np.stack(images))
        assert torch.allclose(pair.of_images(given), finished.embed_images(images), atol=1e-6)


def test_a_few_steps_lower_the_loss():
    images, labels, _, _ = dataset()
    recipe = PairRecipe(d_model=32, image_layers=1, text_layers=1, d_ffn=64, epochs=6, batch=60, warmup_steps=5)
    lines: list[str] = []
    train(recipe, images[:240], labels[:240], lines.append)
    losses = [float(line.split("loss ")[1].split(",")[0]) for line in lines]
    assert len(losses) == 6
    assert losses[-1] < losses[0] - 0.1


@pytest.mark.slow("trains a model")
def test_the_command_writes_all_files(tmp_path, capsys: pytest.CaptureFixture):
    assert main(["--out", str(tmp_path), "--epochs", "1"]) == 0
    stored = encoder.load(tmp_path / "digit-words", device="cpu")
    assert isinstance(stored, JointEncoder)
    assert stored.text.config == PairRecipe().text_config
    assert "1 epochs" in (tmp_path / "digit-words/MODEL_CARD.md").read_text(encoding="utf-8")
    assert str(tmp_path / "digit-words") in capsys.readouterr().out
