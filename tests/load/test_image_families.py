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
from encoder import edits, explain
from encoder.causal.variants import run_variants
from encoder.encoders.image import ImageEncoder
from encoder.errors import LoadError
from encoder.gradients.direct import direct_effect
from encoder.model.config import Patches
from encoder.model.embed import rows_of_tokens
from tests.load import every_family
from tests.load.reference import image_model_of, vit_of, write
from tests.load.test_parity import compare, run

pytestmark = pytest.mark.sample(3, "another checkpoint")

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
    import transformers

    theirs = image_model_of(name, "ForImageClassification", 2, num_labels=7)
    ours = loaded(theirs, tmp_path / "model")
    pixels = torch.randn(1, 3, 24, 24, generator=torch.Generator().manual_seed(1))
    expected = theirs(pixel_values=pixels).logits.softmax(-1)[0]
    found = ours.probabilities(ours.trace_image(pixels[0]))
    torch.testing.assert_close(torch.tensor(list(found.values())), expected, atol=1e-5, rtol=0.0)
    assert list(found)[:2] == ["LABEL_0", "LABEL_1"]
    folder = encoder.save(ours, tmp_path / "saved", layout="huggingface")
    [named] = json.loads((folder / "config.json").read_text())["architectures"]
    again = getattr(transformers, named).from_pretrained(folder)
    torch.testing.assert_close(again(pixel_values=pixels).logits.softmax(-1)[0], expected, atol=1e-5, rtol=0.0)


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


@pytest.fixture
def yolos(tmp_path: Path) -> ImageEncoder:
    case = every_family.ALL["yolos"]
    found = encoder.load(every_family.write(case, case.make(), tmp_path / "model"), device="cpu")
    assert isinstance(found, ImageEncoder)
    return found


def test_positions_of_a_layer_are_in_its_steps(yolos: ImageEncoder, tmp_path: Path):
    trace = yolos.trace_image(every_family.PIXELS[0])
    assert trace.tokens[:7] == ("[CLS]", *(f"[DET{index}]" for index in range(5)), "r0 c0")
    added = trace.values["layers.1.entering"] - trace.streams[1]
    assert "layers.0.entering" not in trace.values
    assert float(added.abs().max()) > 0.1
    place = explain.Place(layer=1, query=4, component=5)
    for part in trace.config.sublayers:  # the update is computed by the sublayer's own step
        step = explain.add_norm(trace, place, part)
        np.testing.assert_allclose(step.before + step.update, step.total, atol=1e-4)
    parts = direct_effect(trace, torch.ones(trace.config.d_model))
    assert parts.sum == pytest.approx(parts.total, rel=1e-4)
    again = encoder.open_trace(trace.save(tmp_path / "trace.safetensors"))
    torch.testing.assert_close(again.layer_attention(2), trace.layer_attention(2))
    saved = encoder.load(encoder.save(yolos, tmp_path / "saved", layout="encoderscope"), device="cpu")
    assert torch.equal(saved.trace_image(every_family.PIXELS[0]).output, trace.output)


def test_effects_of_edits_keep_the_positions_of_later_layers(yolos: ImageEncoder):
    trace = yolos.trace_image(every_family.PIXELS[0])
    variants = [(edits.Zero("attention_out", layer=layer),) for layer in range(3)]
    for indices, outputs in run_variants(yolos, trace, variants):
        for index, output in zip(indices, outputs, strict=True):
            edited = yolos.trace_image(every_family.PIXELS[0], edits=variants[index])
            torch.testing.assert_close(output, edited.output, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("wrong", [{"image_size": 24}, {"image_size": [24, "40"]}, {"num_detection_tokens": -1},
                                   {"image_size": [24, 44]}, {"image_size": [2, 40]}, {"patch_size": 0}])  # fmt: skip
def test_sizes_that_do_not_fit_the_tables_of_positions(wrong: dict[str, Any], tmp_path: Path):
    case = every_family.ALL["yolos"]
    folder = every_family.write(case, case.make(), tmp_path / "model")
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **wrong}))
    with pytest.raises(LoadError):
        encoder.load(folder, device="cpu")


def test_a_table_of_another_grid_is_scaled_as_the_reference_does():
    """Of a square the rows stay; from a wide table, halves of a row come from two columns."""
    square, wide = Patches(8, 2, detection=2), Patches(8, 2, detection=2, table=(4, 8))
    rows = torch.arange(square.n_positions, dtype=torch.float32)[:, None]
    assert rows_of_tokens(rows, square).flatten().tolist() == [0, 17, 18, *range(1, 17)]
    table = torch.cat((rows[:1], torch.arange(8.0).repeat(4)[:, None], rows[-2:]))
    found = rows_of_tokens(table, wide)[3:, 0].view(4, 4)
    torch.testing.assert_close(found, found[:1].expand(4, 4))
    assert found[0].diff().min() > 1.5
