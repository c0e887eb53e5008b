"""OpenCLIP's files: the numbers of transformers' CLIP with the same weights, its preparation, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

import encoder
from encoder import JointEncoder, LoadError
from tests.load import joints
from tests.load.joints import TEXTS
from tests.load.test_parity import close, run

PIXELS = torch.randn(2, 3, 24, 24, generator=torch.Generator().manual_seed(0))
CONFIG = {
    "model_cfg": {
        "embed_dim": 17,
        "vision_cfg": {"image_size": 24, "layers": 3, "width": 24, "head_width": 8, "patch_size": 4, "mlp_ratio": 1.25},
        "text_cfg": {
            "context_length": 21, "vocab_size": 99, "width": 40, "heads": 5, "layers": 2, "mlp_ratio": 1.3,
        },
    },
    "preprocess_cfg": {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.25, 0.3], "interpolation": "bicubic"},
}  # fmt: skip
#: CLIP's names in transformers -> OpenCLIP's, as transformers' own conversion has them.
NAMES = {
    "text_model.embeddings.token_embedding.weight": "token_embedding.weight",
    "text_model.embeddings.position_embedding.weight": "positional_embedding",
    "text_model.final_layer_norm.": "ln_final.",
    "vision_model.embeddings.patch_embedding.": "visual.conv1.",
    "vision_model.embeddings.class_embedding": "visual.class_embedding",
    "vision_model.embeddings.position_embedding.weight": "visual.positional_embedding",
    "vision_model.pre_layrnorm.": "visual.ln_pre.",
    "vision_model.post_layernorm.": "visual.ln_post.",
    "text_model.encoder.layers.": "transformer.resblocks.",
    "vision_model.encoder.layers.": "visual.transformer.resblocks.",
    ".layer_norm": ".ln_",
    ".self_attn.out_proj.": ".attn.out_proj.",
    ".mlp.fc1.": ".mlp.c_fc.",
    ".mlp.fc2.": ".mlp.c_proj.",
}


def weights(model: nn.Module) -> dict[str, Tensor]:
    """The weights under OpenCLIP's names."""
    found: dict[str, Tensor] = {}
    stacked: dict[str, dict[str, Tensor]] = {}
    for full, value in model.state_dict().items():
        name = full
        for theirs, ours in NAMES.items():
            name = name.replace(theirs, ours)
        if name in ("text_projection.weight", "visual_projection.weight"):
            found["text_projection" if name.startswith("text") else "visual.proj"] = value.T.contiguous()
        elif ".self_attn." in name:
            place, rest = name.split(".self_attn.")
            kind, end = rest[0], rest.rsplit(".", 1)[1]
            stacked.setdefault(f"{place}.attn.in_proj_{end}", {})[kind] = value
        elif not name.endswith("position_ids"):
            found[name] = value.contiguous()
    return found | {name: torch.cat([parts[kind] for kind in "qkv"]) for name, parts in stacked.items()}


def write(model: nn.Module, folder: Path, config: dict[str, Any] = CONFIG) -> Path:
    joints.write(model, folder, "clip")
    for name in ("config.json", "model.safetensors"):
        (folder / name).unlink()
    (folder / "open_clip_config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file(weights(model), folder / "open_clip_model.safetensors")
    return folder


@pytest.mark.parametrize("activation", ["gelu", "quick_gelu"])
@torch.no_grad()
def test_both_towers_are_what_transformers_computes(activation: str, tmp_path: Path):
    theirs = joints.model_of("clip-gelu" if activation == "gelu" else "clip")
    config = {**CONFIG, "model_cfg": {**CONFIG["model_cfg"], "quick_gelu": activation == "quick_gelu"}}
    ours = encoder.load(write(theirs, tmp_path / "model", config), device="cpu")
    assert isinstance(ours, JointEncoder)
    found = run(theirs, pixel_values=PIXELS, **joints.ids_of(ours.text, TEXTS))
    images = torch.stack([ours.image_vector(trace) for trace in ours.image.trace_images(PIXELS)])
    texts = ours.embed_texts(TEXTS)
    close(images, found.image_embeds, "vectors of images")
    close(texts, found.text_embeds, "vectors of texts")
    close(ours.logits(images, texts), found.logits_per_image, "logits", rtol=1e-5)
    assert (ours.image.preparation.mean, ours.image.preparation.resize) == ((0.4, 0.5, 0.6), 24)
    assert ours.image.preparation.interpolation == "bicubic"
    again = encoder.load(encoder.save(ours, tmp_path / "saved"), device="cpu")
    assert torch.equal(again.embed_texts(TEXTS), texts)


WRONG = [
    (lambda config: config.pop("model_cfg"), "model_cfg"),
    (lambda config: config["model_cfg"].update(text_cfg=3), "text_cfg"),
    (lambda config: config["model_cfg"]["vision_cfg"].update(timm_model_name="resnet"), "timm_model_name"),
    (lambda config: config["model_cfg"]["text_cfg"].update(hf_model_name="roberta-base"), "hf_model_name"),
    (lambda config: config["model_cfg"]["vision_cfg"].update(layers=[3, 4, 6, 3]), "layers"),
    (lambda config: config["preprocess_cfg"].update(resize_mode="squash"), "resize_mode"),
    (lambda config: config["model_cfg"].update(embed_dim=16), "proj"),
]


@pytest.mark.parametrize(("change", "named"), WRONG)
def test_another_model_of_open_clip_is_named(change: Any, named: str, tmp_path: Path):
    config = json.loads(json.dumps(CONFIG))
    change(config)
    folder = write(joints.model_of("clip-gelu"), tmp_path / "model", config)
    with pytest.raises(LoadError, match=named):
        encoder.load(folder, device="cpu")


def test_a_folder_without_its_weights(tmp_path: Path):
    folder = write(joints.model_of("clip-gelu"), tmp_path / "model")
    (folder / "open_clip_model.safetensors").unlink()
    with pytest.raises(LoadError, match=r"open_clip_model\.safetensors"):
        encoder.load(folder, device="cpu")
