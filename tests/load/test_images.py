"""An image on its way into a ViT, and what its trace says."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import encoder
from encoder.edits import AblateHead
from encoder.encoders.image import ImageEncoder, Preparation
from encoder.model.classifier import Classifier, ClassifierConfig
from encoder.trace.tokens import is_special


def prepared(checkpoint: Callable, tmp_path: Path, **fields) -> ImageEncoder:
    shutil.copytree(checkpoint("vit").folder, tmp_path / "images")
    (tmp_path / "images" / "preprocessor_config.json").write_text(json.dumps(fields))
    return encoder.load(tmp_path / "images", device="cpu")


def test_without_a_file_the_usual_preparation(checkpoint: Callable):
    assert checkpoint("vit").ours.preparation == Preparation((0.5, 0.5, 0.5), (0.5, 0.5, 0.5), "bilinear")


def test_a_model_is_one_line_in_a_notebook(checkpoint: Callable):
    model = checkpoint("vit").ours
    assert repr(model).startswith(f"<ImageEncoder {model.name}: {model.config.n_layers} layers x ")
    assert f"{model.n_parameters:,} parameters" in repr(model)
    assert f"in {len(model.tokens)} tokens" in repr(model)
    assert "\n" not in repr(model)


def test_mean_and_std_by_channel(checkpoint: Callable, tmp_path: Path):
    model = prepared(checkpoint, tmp_path, image_mean=[0.1, 0.2, 0.3], image_std=[0.5, 0.25, 0.125], resample=3)
    assert model.preparation.interpolation == "bicubic"
    image = torch.full((3, 24, 24), 51, dtype=torch.uint8)  # 0.2 of 255
    pixels = model.prepare(image)
    assert pixels.shape == (3, 24, 24)
    expected = torch.tensor([(0.2 - 0.1) / 0.5, 0.0, (0.2 - 0.3) / 0.125])
    torch.testing.assert_close(pixels[:, 3, 5], expected)
    torch.testing.assert_close(model.prepare(image / 255.0), pixels)


def test_as_it_is_where_nothing_is_to_be_normalised(checkpoint: Callable, tmp_path: Path):
    model = prepared(checkpoint, tmp_path, do_normalize=False)
    image = torch.rand(3, 24, 24)
    assert torch.equal(model.prepare(image), image)


@pytest.mark.parametrize("size", [(48, 36), (24, 24), (31, 90), (9, 12)], ids=str)
def test_the_preparation_of_transformers(size: tuple[int, int], checkpoint: Callable, tmp_path: Path):
    """Both scale by Pillow."""
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

    model = prepared(checkpoint, tmp_path, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    image = np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8)
    processor = ViTImageProcessorPil(size={"height": 24, "width": 24})
    theirs = torch.as_tensor(np.asarray(processor(image)["pixel_values"][0]))
    ours = model.prepare(torch.from_numpy(image).permute(2, 0, 1))
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0.0)


def test_what_a_trace_of_an_image_says(checkpoint: Callable):
    model = checkpoint("vit").ours
    trace = model.trace_image(torch.randn(3, 24, 24), edits=[AblateHead(1, 2)])
    assert trace.n_tokens == trace.n_real == 37 == trace.config.max_tokens
    assert trace.tokens[1:8] == ("r0 c0", "r0 c1", "r0 c2", "r0 c3", "r0 c4", "r0 c5", "r1 c0")
    assert set(trace.ids) == {-1}
    assert trace.q.shape == (3, 5, 37, 8)
    assert trace.position.shape == (37, 40)
    assert float(trace.z(1, 2).abs().max()) == 0.0
    torch.testing.assert_close(trace.attention(0, 0).sum(-1), torch.ones(37))
    assert trace.thumbnails(16).shape[:2] == (3, 5)
    assert list(trace.norms)[-1] == "final_norm"


def test_the_order_of_patches_is_row_by_row(checkpoint: Callable):
    model = checkpoint("vit").ours
    blank = torch.zeros(3, 24, 24)
    marked = blank.clone()
    marked[:, 4:8, 20:24] = 1.0  # second row, last column
    change = model.trace_image(marked).residual["embedding"] - model.trace_image(blank).residual["embedding"]
    moved = [model.tokens[index] for index in change.abs().amax(-1).nonzero().flatten()]
    assert moved == ["r1 c5"]


def test_another_norm_placement_is_noted(checkpoint: Callable):
    model = checkpoint("vit").ours
    moved = model.with_norm_placement("post")
    assert moved.config.norm_placement == "post"
    assert "vit" in moved.moved_norms
    assert moved.moved_norms in moved.remarks
    assert model.with_norm_placement("pre") is model
    pixels = torch.randn(3, 24, 24)
    assert torch.equal(moved.with_norm_placement("pre").trace_image(pixels).output, model.trace_image(pixels).output)


def test_what_is_saved_comes_back(checkpoint: Callable, tmp_path: Path):
    config = ClassifierConfig("sequence", ("cat", "dog"))
    model = dataclasses.replace(
        checkpoint("vit").ours, classifier=Classifier(40, config), preparation=Preparation(resize=31)
    )
    back = encoder.load(encoder.save(model, tmp_path / "saved"), device="cpu")
    assert isinstance(back, ImageEncoder)
    assert back.preparation == model.preparation
    image = np.random.default_rng(0).integers(0, 256, (50, 70, 3), dtype=np.uint8)
    here, there = model.trace(image), back.trace(image)
    assert torch.equal(here.output, there.output)
    assert back.probabilities(there) == model.probabilities(here)
    assert sum(back.probabilities(there).values()) == pytest.approx(1.0)


def test_probabilities_need_a_head(checkpoint: Callable):
    model = checkpoint("vit").ours
    with pytest.raises(encoder.EncoderError, match="classification head"):
        model.probabilities(model.trace(np.zeros((24, 24, 3), np.uint8)))


def test_an_image_and_its_prepared_pixels_give_the_same_trace(checkpoint: Callable):
    model = checkpoint("vit").ours
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (50, 70, 3), dtype=np.uint8))
    trace = model.trace(image, edits=[AblateHead(1, 2)], request=["pattern"])
    again = model.trace_image(model.prepare(image), edits=[AblateHead(1, 2)])
    torch.testing.assert_close(trace.output, again.output)
    assert (trace.kind, trace.source, model.takes) == ("image", None, "image")
    assert trace.layout == model.layout
    assert is_special(trace) == (True, *(False,) * 36)
    assert [model.layout.place(token) for token in (0, 1, 7, 36, 37)] == [None, (0, 0), (1, 0), (5, 5), None]
    assert model.layout.token(5, 5) == 36
    with pytest.raises(encoder.EncoderError, match="row 6"):
        model.layout.token(6, 0)


def test_an_encoder_in_training_is_not_traced(checkpoint: Callable, tmp_path: Path):
    model = prepared(checkpoint, tmp_path)
    model.encoder.train()
    with pytest.raises(encoder.EncoderError, match="training mode"):
        model.trace_image(torch.zeros(3, 24, 24))
