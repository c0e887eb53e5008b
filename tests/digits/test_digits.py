"""The bundled encoders of digits: what they name, how a picture becomes a digit, and that their training learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw

import encoder
from encoder.encoders.image import ImageEncoder
from encoder.errors import EncoderError
from encoder.inputs.digits import as_digit, dataset, decode, encode, examples
from recipes.digits.__main__ import main
from recipes.digits.finish import accuracy_of
from recipes.digits.training import DigitRecipe, moved, predictions
from tests.conftest import ROOT


@pytest.fixture(scope="module", params=["digits-pre", "digits-post"])
def model(request: pytest.FixtureRequest) -> ImageEncoder:
    found = encoder.load(request.param, device="cpu")
    assert isinstance(found, ImageEncoder)
    return found


def test_held_out_digits_are_named(model: ImageEncoder):
    _, _, images, labels = dataset()
    accuracy = accuracy_of(predictions(model, images), labels)
    assert len(labels) == 359
    assert accuracy >= 0.96
    card = (ROOT / "encoder/data" / model.name / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert f"| held out | {accuracy:.3f} |" in card


def test_no_held_out_image_is_trained_on():
    images, labels, held_out, truth = dataset()
    assert len(images) == len(labels) == 1438
    assert len(held_out) == len(truth) == 359
    seen = {encode(image) for image in images}
    assert sum(encode(image) in seen for image in held_out) == 0


def test_the_examples_are_held_out_and_named(model: ImageEncoder):
    held_out = {encode(image) for image in dataset()[2]}
    assert set(examples().values()) <= held_out
    for digit in "0123456789":
        found = model.probabilities(model.trace(decode(examples()[digit])))
        assert max(found, key=found.__getitem__) == digit
        assert sum(found.values()) == pytest.approx(1.0)


def test_the_twins_differ_in_their_norms_alone():
    pre, post = (encoder.load(f"digits-{placement}", device="cpu") for placement in ("pre", "post"))
    assert pre.config == post.config.replace(norm_placement="pre", final_norm=True)
    assert pre.config.max_tokens == pre.trace(decode(examples()["3"])).n_tokens == 17


def test_a_digit_as_text_comes_back():
    image = dataset()[0][7]
    assert np.array_equal(decode(encode(image)), image.numpy())
    for wrong in ("", "0" * 63, "z" * 64):
        with pytest.raises(EncoderError, match="64"):
            decode(wrong)


@pytest.mark.parametrize("dark", [True, False])
def test_a_picture_of_a_digit_in_a_corner(dark: bool, model: ImageEncoder):
    """A seven of 60 pixels somewhere in a large picture is cut out, scaled and named."""
    picture = Image.new("L", (640, 480), 235 if dark else 10)
    pen, ink = ImageDraw.Draw(picture), 20 if dark else 240
    pen.line([(40, 60), (115, 60), (70, 190)], fill=ink, width=14, joint="curve")
    pen.line([(55, 120), (110, 120)], fill=ink, width=14)
    digit = as_digit(picture)
    assert digit[0].max() > 0.5
    assert digit[-1].max() > 0.5
    found = model.probabilities(model.trace(digit))
    assert max(found, key=found.__getitem__) == "7"


def test_a_picture_without_ink():
    with pytest.raises(EncoderError, match="no ink"):
        as_digit(Image.new("L", (50, 50), 200))


def test_moved_images_keep_their_ink():
    images = dataset()[0][:64]
    there = moved(images, torch.Generator().manual_seed(0))
    assert there.shape == images.shape
    assert not torch.equal(there, images)
    assert float(there.sum() / images.sum()) == pytest.approx(1.0, abs=0.15)


@pytest.mark.slow("trains a model")
def test_a_short_training_learns_and_writes_all_files(tmp_path, capsys: pytest.CaptureFixture):
    assert main(["--out", str(tmp_path), "--epochs", "4"]) == 0
    _, _, images, labels = dataset()
    for placement in ("pre", "post"):
        stored = encoder.load(tmp_path / f"digits-{placement}", device="cpu")
        assert accuracy_of(predictions(stored, images), labels) > 0.5
        assert stored.config == DigitRecipe(placement).config
    assert (tmp_path / "digits.json").is_file()
    assert str(tmp_path / "digits-post") in capsys.readouterr().out
