"""CLIP and SigLIP against transformers: each tower by itself, what compares their vectors, and the preparation."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

import encoder
from encoder import ImageEncoder, JointEncoder, LoadError, TextEncoder
from encoder.checkpoints.families import FAMILIES as FAMILY_TABLES
from encoder.checkpoints.families import Fields
from encoder.checkpoints.families.reader import ACTIVATIONS
from tests.load.joints import FAMILIES, TEXTS, ids_of, model_of, write
from tests.load.test_parity import close, run

pytestmark = pytest.mark.sample(3, "another checkpoint")

PIXELS = torch.randn(3, 3, 24, 24, generator=torch.Generator().manual_seed(0))


def loaded(family: str, folder: Path, head: str = "Model", **more: Any) -> tuple[Any, Any]:
    """The reference, and the same weights here."""
    theirs = model_of(family, head, **more)
    return theirs, encoder.load(write(theirs, folder / "model", family), device="cpu")


def compare_maps(trace: encoder.Trace, theirs: Any, index: int) -> None:
    """Streams between layers and all attention maps. The last stream of CLIP's images has no final norm there."""
    n, n_layers = trace.n_real, trace.config.n_layers
    streams = [trace.values["embedding"]] + [trace.values[f"layers.{layer}.after_ffn"] for layer in range(n_layers)]
    for layer in range(n_layers):
        close(streams[layer][:n], theirs.hidden_states[layer][index, :n], f"stream {layer}")
        close(trace.layer_attention(layer)[:, :n, :n], theirs.attentions[layer][index, :, :n, :n], f"maps {layer}")


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_both_towers_are_what_transformers_computes(family: str, tmp_path: Path):
    theirs, ours = loaded(family, tmp_path)
    assert isinstance(ours, JointEncoder)
    inputs = ids_of(ours.text, TEXTS)
    found = run(theirs, pixel_values=PIXELS, **inputs)
    texts = ours.embed_texts(TEXTS)
    images = torch.stack([ours.image_vector(trace) for trace in ours.image.trace_images(PIXELS)])
    close(texts, found.text_embeds, "vectors of texts")
    close(images, found.image_embeds, "vectors of images")
    close(ours.logits(images, texts), found.logits_per_image, "logits", rtol=1e-5)
    expected = (
        found.logits_per_image.softmax(-1) if not family.startswith("siglip") else found.logits_per_image.sigmoid()
    )
    close(ours.probabilities_of(ours.logits(images, texts)), expected, "probabilities")
    text_states = run(theirs.text_model, **inputs)
    for index, text in enumerate(TEXTS):
        trace = ours.text.trace(text)
        compare_maps(trace, text_states, index)
        close(trace.output, text_states.last_hidden_state[index, : trace.n_real], "output")
        close(ours.text_vector(trace), found.text_embeds[index], "the vector of a trace")
    for trace in ours.text.trace_batch(TEXTS):
        later = trace.attention(1, 2).triu(1)[: trace.n_real]
        assert bool(later.any()) == family.startswith(("siglip", "chinese"))  # the others are causal
    image_states = run(theirs.vision_model, pixel_values=PIXELS)
    for index, trace in enumerate(ours.image.trace_images(PIXELS)):
        compare_maps(trace, image_states, index)
        normed = family.startswith(("siglip", "aimv2"))  # the others end before the last norm there
        before = trace.output if normed else trace.values["final_norm.input"]
        close(before, image_states.last_hidden_state[index], "output")
    again = encoder.load(encoder.save(ours, tmp_path / "saved"), device="cpu")
    assert torch.equal(again.embed_texts(TEXTS), texts)


TOWERS = [("clip", f"{tower}Model{end}") for tower in ("Text", "Vision") for end in ("", "WithProjection")]
TOWERS += [("chinese-clip", "VisionModel"), ("aimv2", "VisionModel"), ("aimv2-native", "VisionModel")]
TOWERS += [(family, f"{tower}Model") for family in ("owlvit", "owlv2") for tower in ("Text", "Vision")]


@pytest.mark.parametrize(
    ("family", "heads"),
    [*TOWERS, *((name, f"{tower}Model") for name in ("siglip", "siglip2") for tower in ("Text", "Vision"))],
)
@torch.no_grad()
def test_a_tower_alone(family: str, heads: str, tmp_path: Path):
    theirs, ours = loaded(family, tmp_path, heads)
    if heads.startswith("Text"):
        assert isinstance(ours, TextEncoder)
        found, vectors = theirs(**ids_of(ours, TEXTS)), ours.embed(TEXTS)
    else:
        assert isinstance(ours, ImageEncoder)
        found = theirs(pixel_values=PIXELS)
        vectors = torch.stack([ours.vector_of(trace) for trace in ours.trace_images(PIXELS)])
    name = {"TextModelWithProjection": "text_embeds", "VisionModelWithProjection": "image_embeds"}
    close(vectors, found[name.get(heads, "pooler_output")], "vectors")


@pytest.mark.parametrize("family", ["owlvit", "owlv2"])
@torch.no_grad()
def test_a_detector_opens_without_its_heads(family: str, tmp_path: Path):
    """As published: every weight of the towers behind a prefix, and heads that name and place objects."""
    theirs, ours = loaded(family, tmp_path, "ForObjectDetection")
    found = theirs.base_model(pixel_values=PIXELS, **ids_of(ours.text, TEXTS))
    images = torch.stack([ours.image_vector(trace) for trace in ours.image.trace_images(PIXELS)])
    close(ours.embed_texts(TEXTS), found.text_embeds, "vectors of texts")
    close(images, found.image_embeds, "vectors of images")
    assert any("objects" in note for note in ours.notes)


@pytest.mark.parametrize(("family", "end"), [("owlv2", 97), ("aimv2", 2)])
def test_the_token_whose_vector_counts(family: str, end: int, tmp_path: Path):
    """OWLv2 takes the largest id, whatever eos_token_id says; AIMv2 takes eos_token_id, and a 2 is a 2."""
    folder = write(model_of(family), tmp_path, family)
    fields = json.loads((folder / "config.json").read_text())
    fields["text_config"]["eos_token_id"] = end
    (folder / "config.json").write_text(json.dumps(fields))
    if family == "owlv2":
        encoder.load(folder, device="cpu")
        return
    with pytest.raises(LoadError, match="token 2"):
        encoder.load(folder)


@pytest.mark.parametrize("family", ["clip", "siglip", "siglip2"])
@torch.no_grad()
def test_classes_of_an_image(family: str, tmp_path: Path):
    theirs, ours = loaded(family, tmp_path, "ForImageClassification", num_labels=7)
    assert isinstance(ours, ImageEncoder)
    expected = theirs(pixel_values=PIXELS).logits.softmax(-1)
    for trace, row in zip(ours.trace_images(PIXELS), expected, strict=True):
        close(torch.tensor(list(ours.probabilities(trace).values())), row, "probabilities")


def test_older_files_say_it_in_other_words(tmp_path: Path):
    """Towers in "..._config_dict", ids of positions among the weights, the prefix of both towers for one only."""
    _, ours = loaded("clip", tmp_path)
    folder = tmp_path / "model"
    fields = json.loads((folder / "config.json").read_text())
    fields["text_config_dict"], fields["text_config"] = fields["text_config"], {"hidden_size": 1}
    (folder / "config.json").write_text(json.dumps(fields))
    weights = load_file(folder / "model.safetensors")
    weights["text_model.embeddings.position_ids"] = torch.arange(21)[None]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert torch.equal(encoder.load(folder, device="cpu").embed_texts(TEXTS), ours.embed_texts(TEXTS))


PROCESSORS = {
    "clip": ("clip", "CLIP", {"size": {"shortest_edge": 24}, "crop_size": {"height": 24, "width": 24}}),
    "clip old": ("clip", "CLIP", {"size": 24, "crop_size": 24}),
    "siglip": ("siglip", "Siglip", {"size": {"height": 24, "width": 24}}),
    "owlvit": ("owlvit", "OwlViT", {"size": {"height": 24, "width": 24}}),
    "owlv2": ("owlv2", "Owlv2", {"size": {"height": 24, "width": 24}}),
    "owlv2, as it is": ("owlv2", "Owlv2", {"size": {"height": 24, "width": 24}, "do_pad": False}),
    "aimv2": ("clip", "CLIP", {"size": {"shortest_edge": 24}, "crop_size": {"height": 24, "width": 24}}),
}


@pytest.mark.parametrize("size", [(48, 36), (24, 24), (31, 90), (9, 12), (70, 33)], ids=str)
@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_preparation_of_its_processor(processor: str, size: tuple[int, int], tmp_path: Path):
    module, name, fields = PROCESSORS[processor]
    found = importlib.import_module(f"transformers.models.{module}.image_processing_pil_{module}")
    theirs = getattr(found, f"{name}ImageProcessorPil")(**fields)
    write(model_of(re.split(r"\W", processor)[0], "VisionModel"), tmp_path, processor)
    (tmp_path / "processor_config.json").write_text(json.dumps({"image_processor": fields}))
    ours = encoder.load(tmp_path, device="cpu")
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8))
    expected = torch.as_tensor(np.asarray(theirs(image)["pixel_values"][0])).float()
    torch.testing.assert_close(ours.prepare(image), expected, atol=1e-4, rtol=0.0)


def change(folder: Path, **fields: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text_config": [1]}, "text_config"),
        ({"vision_config": {"hidden_size": 10**12}}, "hidden_size|d_model|shape"),
        ({"projection_dim": 5}, "text_projection"),
        ({"text_config_dict": {"eos_token_id": 7}}, "lacks the weight"),
    ],
)
def test_fields_that_do_not_fit(fields: dict[str, Any], message: str, tmp_path: Path):
    folder = write(model_of("clip"), tmp_path, "clip")
    change(folder, **fields)
    with pytest.raises(LoadError, match=message):
        encoder.load(folder)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("logit_scale", None, "logit_scale"),
        ("logit_scale", torch.tensor(float("nan")), "logit_scale"),
        ("logit_scale", torch.zeros(3), "logit_scale"),
        ("text_projection.weight", None, "text"),
        ("visual_projection.weight", None, "image"),
        ("qformer.weight", torch.zeros(3), "qformer"),
        ("vision_model.embeddings.class_embedding", torch.zeros(23), "class_embedding"),
    ],
)
def test_weights_that_do_not_fit(name: str, value: torch.Tensor | None, message: str, tmp_path: Path):
    folder = write(model_of("clip"), tmp_path, "clip")
    weights = load_file(folder / "model.safetensors")
    weights.pop(name, None)
    if value is not None:
        weights[name] = value
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(LoadError, match=message):
        encoder.load(folder)


def test_the_end_of_a_text_is_the_token_that_the_model_takes(tmp_path: Path):
    folder = write(model_of("clip", "TextModel"), tmp_path, "clip")
    change(folder, eos_token_id=97)
    with pytest.raises(LoadError, match="97"):
        encoder.load(folder)


@pytest.mark.parametrize(
    "kind",
    [
        "aimv2_text_model",
        "aimv2_vision_model",
        "chinese_clip_text_model",
        "chinese_clip_vision_model",
        "owlv2_text_model",
        "owlv2_vision_model",
        "owlvit_text_model",
        "owlvit_vision_model",
        "clip_text_model",
        "clip_vision_model",
        "siglip_text_model",
        "siglip_vision_model",
        "siglip2_text_model",
        "siglip2_vision_model",
    ],
)
def test_what_config_json_leaves_out_is_what_transformers_takes(kind: str):
    """SigLIP's published files give only the model_type of each tower."""
    import transformers

    theirs = transformers.AutoConfig.for_model(kind)
    ours = FAMILY_TABLES[kind].config(Fields({"model_type": kind}))
    expected = (theirs.hidden_size, theirs.num_hidden_layers, theirs.num_attention_heads, theirs.intermediate_size)
    assert (ours.d_model, ours.n_layers, ours.n_heads, ours.d_ffn) == expected
    assert ours.norm_eps == getattr(theirs, "layer_norm_eps", None) or theirs.rms_norm_eps
    assert ours.activation == ACTIVATIONS[theirs.hidden_act]
    if ours.patches is None:
        assert (ours.vocab_size, ours.max_positions) == (theirs.vocab_size, theirs.max_position_embeddings)
    else:
        side = getattr(theirs, "image_size", 16 * theirs.patch_size)  # SigLIP 2 has 16 x 16 patches
        assert (ours.patches.image_size, ours.patches.patch_size) == (side, theirs.patch_size)
