"""Families of image encoders against transformers, and the preparation of their images against its processors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import encoder
from encoder.encoders.image import ImageEncoder
from encoder.errors import LoadError
from tests.load.reference import image_model_of, vit_of, write
from tests.load.test_parity import compare, run

FAMILIES: dict[str, tuple[str, str, dict[str, Any], tuple[str, ...]]] = {
    "deit": ("DeiT", "Model", {}, ("[CLS]", "[DIST]")),
    "dinov2": ("Dinov2", "Model", {"mlp_ratio": 2}, ("[CLS]",)),
    "dinov2 swiglu": ("Dinov2", "Model", {"use_swiglu_ffn": True}, ("[CLS]",)),
    "dinov2 registers": ("Dinov2WithRegisters", "Model", {"num_register_tokens": 3},
                         ("[CLS]", "[REG0]", "[REG1]", "[REG2]")),
    "dinov2 no bias": ("Dinov2", "Model", {"qkv_bias": False, "hidden_act": "relu"}, ("[CLS]",)),
}  # fmt: skip


def loaded(model: torch.nn.Module, folder: Path, **preparation: Any) -> ImageEncoder:
    write(model, folder, None)
    if preparation:
        (folder / "preprocessor_config.json").write_text(json.dumps(preparation))
    found = encoder.load(folder, device="cpu")
    assert isinstance(found, ImageEncoder)
    return found


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n_layers", [1, 3])
@torch.no_grad()
def test_a_family_is_what_transformers_computes(family: str, n_layers: int, tmp_path: Path):
    name, head, fields, before = FAMILIES[family]
    theirs = image_model_of(name, head, n_layers, **fields)
    ours = loaded(theirs, tmp_path / "model")
    pixels = torch.randn(2, 3, 24, 24, generator=torch.Generator().manual_seed(0))
    found = run(theirs, pixel_values=pixels)
    for index, trace in enumerate(ours.trace_images(pixels)):
        assert trace.tokens[: len(before) + 1] == (*before, "r0 c0")
        assert trace.n_tokens == len(before) + 36 == ours.config.max_tokens
        compare(trace, found, index)
    again = encoder.load(encoder.save(ours, tmp_path / "saved"), device="cpu")
    assert torch.equal(again.trace_image(pixels[0]).output, ours.trace_image(pixels[0]).output)


@torch.no_grad()
@pytest.mark.parametrize("name", ["ViT", "DeiT"])
def test_classes_of_an_image(name: str, tmp_path: Path):
    theirs = image_model_of(name, "ForImageClassification", 2, num_labels=7)
    ours = loaded(theirs, tmp_path / "model")
    pixels = torch.randn(1, 3, 24, 24, generator=torch.Generator().manual_seed(1))
    expected = theirs(pixel_values=pixels).logits.softmax(-1)[0]
    found = ours.probabilities(ours.trace_image(pixels[0]))
    torch.testing.assert_close(torch.tensor(list(found.values())), expected, atol=1e-5, rtol=0.0)
    assert list(found)[:2] == ["LABEL_0", "LABEL_1"]


def test_a_layer_scale_of_another_length(tmp_path: Path):
    from safetensors.torch import load_file, save_file

    write(image_model_of("Dinov2", "Model", 1), tmp_path / "model", None)
    file = tmp_path / "model" / "model.safetensors"
    weights = load_file(file)
    weights["encoder.layer.0.layer_scale1.lambda1"] = torch.ones(39)
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(LoadError, match="layer_scale1"):
        encoder.load(tmp_path / "model")


PROCESSORS = {
    "vit": ("vit", "ViT", {"size": {"height": 24, "width": 24}}),
    "deit": ("deit", "DeiT", {"size": {"height": 28, "width": 28}, "do_center_crop": True,
                              "crop_size": {"height": 24, "width": 24}, "resample": 3}),
    "dinov2": ("bit", "Bit", {"size": {"shortest_edge": 29}, "do_center_crop": True,
                              "crop_size": {"height": 24, "width": 24}, "resample": 3}),
}  # fmt: skip


@pytest.mark.parametrize("size", [(48, 36), (24, 24), (31, 90), (9, 12), (70, 33)], ids=str)
@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_preparation_of_its_processor(processor: str, size: tuple[int, int], tmp_path: Path):
    import importlib

    module, name, fields = PROCESSORS[processor]
    module = f"transformers.models.{module}.image_processing_pil_{module}"
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    theirs = getattr(importlib.import_module(module), f"{name}ImageProcessorPil")(
        image_mean=mean, image_std=std, **fields
    )
    ours = loaded(vit_of("Model", 1), tmp_path / "model", image_mean=mean, image_std=std, **fields)
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8))
    expected = torch.as_tensor(np.asarray(theirs(image)["pixel_values"][0])).float()
    torch.testing.assert_close(ours.prepare(image), expected, atol=1e-4, rtol=0.0)


def test_a_middle_of_another_size_keeps_the_ratio(tmp_path: Path):
    """DINOv2's checkpoints cut out 224 pixels and interpolate positions; here images keep the size of the positions."""
    fields = {"size": {"shortest_edge": 256}, "do_center_crop": True, "crop_size": {"height": 224, "width": 224}}
    assert loaded(vit_of("Model", 1), tmp_path / "model", **fields).preparation.resize == round(256 * 24 / 224)


@pytest.mark.parametrize(
    "fields",
    [
        {"do_center_crop": True, "size": {"shortest_edge": "wide"}},
        {"do_center_crop": True, "crop_size": -3},
        {"do_center_crop": True, "size": 10**9},
        {"resample": [3]},
    ],
)
def test_a_preparation_that_is_none(fields: dict[str, Any], tmp_path: Path):
    with pytest.raises(LoadError, match=r"preprocessor_config\.json"):
        loaded(vit_of("Model", 1), tmp_path / "model", **fields)
