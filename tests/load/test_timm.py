"""timm's files of ViTs: the numbers of transformers' ViT with the same weights, timm's preparation, and refusals."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import encoder
from encoder import ImageEncoder, LoadError
from tests.load import timm_files
from tests.load.every_family import numbers_of

PIXELS = torch.randn(3, 24, 24, generator=torch.Generator().manual_seed(0))


def opened(folder: Path) -> ImageEncoder:
    found = encoder.load(folder, device="cpu")
    assert isinstance(found, ImageEncoder)
    return found


def assert_exact(ours: ImageEncoder, theirs: torch.nn.Module) -> None:
    """Attention maps and outputs, in float64."""
    with numbers_of(torch.float64):
        exact = dataclasses.replace(ours, encoder=copy.deepcopy(ours.encoder).double(), classifier=None)
        reference: Any = copy.deepcopy(theirs).double()
        found = reference(pixel_values=PIXELS.double()[None], output_attentions=True, output_hidden_states=True)
        trace = exact.trace_image(PIXELS.double())
        for layer, maps in enumerate(found.attentions):
            assert float((trace.layer_attention(layer) - maps[0]).abs().max()) < 1e-10
        norm = next(module for name, module in reference.named_modules() if name.split(".")[-1] == "layernorm")
        output = found.last_hidden_state if "last_hidden_state" in found else norm(found.hidden_states[-1])
        assert float((trace.output - output[0]).abs().max()) < 1e-10


@pytest.mark.parametrize("prefix", ["", "timm_model."])
@torch.no_grad()
def test_a_vit_is_what_transformers_computes(prefix: str, tmp_path: Path):
    theirs = timm_files.model_of()
    kind = {"model_type": "timm_wrapper"} if prefix else {}
    ours = opened(timm_files.write(theirs, tmp_path / "model", prefix, **kind))
    assert ours.config.n_heads == 3
    assert_exact(ours, theirs)
    probabilities = torch.tensor(list(ours.probabilities(ours.trace_image(PIXELS)).values()))
    expected = theirs(pixel_values=PIXELS[None]).logits.softmax(-1)[0]
    torch.testing.assert_close(probabilities, expected, atol=1e-5, rtol=0.0)
    again = opened(encoder.save(ours, tmp_path / "saved"))
    assert torch.equal(again.trace_image(PIXELS).output, ours.trace_image(PIXELS).output)


@torch.no_grad()
def test_a_deit_with_a_teacher_s_token(tmp_path: Path):
    theirs = timm_files.model_of("DeiT", "Model", add_pooling_layer=False)
    ours = opened(timm_files.write(theirs, tmp_path / "model", architecture=timm_files.DISTILLED))
    assert ours.tokens[:3] == ("[CLS]", "[DIST]", "r0 c0")
    assert_exact(ours, theirs)


def test_classes_have_their_names(tmp_path: Path):
    names = [f"kind {number}" for number in range(7)]
    ours = opened(timm_files.write(timm_files.model_of(), tmp_path / "model", label_names=names))
    assert list(ours.probabilities(ours.trace_image(PIXELS))) == names


@pytest.mark.parametrize("size", [(80, 100), (24, 24), (31, 200)], ids=str)
def test_the_preparation_is_timm_s(size: tuple[int, int], tmp_path: Path):
    """Its transforms for tests: the shorter side to floor(24 / 0.9), bicubic, the middle, mean and std."""
    ours = opened(timm_files.write(timm_files.model_of(), tmp_path / "model"))
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8))
    short = 26
    width, height = image.size
    sides = (short, int(short * height / width)) if width <= height else (int(short * width / height), short)
    scaled = image.resize(sides, Image.Resampling.BICUBIC)
    left, top = (sides[0] - 24) // 2, (sides[1] - 24) // 2
    pixels = np.asarray(scaled.crop((left, top, left + 24, top + 24)), dtype=np.float32) / 255
    expected = (pixels - np.array([0.485, 0.456, 0.406])) / np.array([0.229, 0.224, 0.225])
    found = ours.prepare(image).permute(1, 2, 0).numpy()
    assert np.abs(found - expected).max() < 1e-4


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"architecture": "resnet50"}, "architecture='resnet50'"),
    ({"architecture": "vit_base_patch16_clip_224.openai"}, "architecture"),
    ({"architecture": 3}, "architecture=3"),
    ({"architecture": None, "model_type": "timm_wrapper"}, "architecture"),
    ({"model_args": {"depth": 3}}, "model_args"),
    ({"architecture": "vit_small_patch8_24"}, "pos_embed|cls_token|patch_embed"),
    ({"pretrained_cfg": {"crop_pct": "most"}}, "crop_pct"),
    ({"pretrained_cfg": {"interpolation": "random"}}, "resample"),
]


@pytest.mark.parametrize(("fields", "named"), WRONG)
def test_another_architecture_is_named(fields: dict[str, Any], named: str, tmp_path: Path):
    folder = timm_files.write(timm_files.model_of(), tmp_path / "model", **fields)
    with pytest.raises(LoadError, match=named):
        encoder.load(folder, device="cpu")
