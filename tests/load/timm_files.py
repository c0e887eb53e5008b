"""Folders as timm writes them, from the ViT or DeiT of transformers: the same weights under timm's names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from tests.load.reference import randomised

#: The smallest of timm's sizes, on small images.
NAME, DISTILLED = "vit_tiny_patch8_24.augreg_in21k", "deit_tiny_distilled_patch8_24"
SIZES = {
    "hidden_size": 192, "num_hidden_layers": 12, "num_attention_heads": 3, "intermediate_size": 768,
    "image_size": 24, "patch_size": 8, "layer_norm_eps": 1e-6,
}  # fmt: skip
#: As transformers' conversion of timm's ViT, the other way.
LAYER = {
    "layernorm_before": "norm1", "layernorm_after": "norm2", "attention.o_proj": "attn.proj",
    "attention.output.dense": "attn.proj", "mlp.fc1": "mlp.fc1", "mlp.fc2": "mlp.fc2",
    "intermediate.dense": "mlp.fc1", "output.dense": "mlp.fc2",
}  # fmt: skip
AROUND = {
    "embeddings.cls_token": "cls_token", "embeddings.distillation_token": "dist_token",
    "embeddings.position_embeddings": "pos_embed", "embeddings.patch_embeddings.projection": "patch_embed.proj",
    "layernorm": "norm", "classifier": "head",
}  # fmt: skip
CONFIG = {
    "architecture": NAME.split(".")[0],
    "num_classes": 7,
    "pretrained_cfg": {
        "input_size": [3, 24, 24], "interpolation": "bicubic", "crop_pct": 0.9,
        "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225],
    },
}  # fmt: skip


def model_of(kind: str = "ViT", head: str = "ForImageClassification", **fields: Any) -> nn.Module:
    """The reference with random weights."""
    import transformers

    config = getattr(transformers, f"{kind}Config")(**SIZES, num_labels=7, **fields)
    made = randomised(getattr(transformers, f"{kind}{head}")._from_config(config, attn_implementation="eager"), 0)
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if name.endswith("weight") and weight.dim() > 1:  # of this width: larger ones amplify rounding twelve times
                weight.mul_(0.2)
    return made


def named(model: nn.Module, folder: Path) -> dict[str, Tensor]:
    """The weights under timm's names. transformers writes its own, which are renamed."""
    from safetensors.torch import load_file

    model.save_pretrained(folder)
    found: dict[str, Tensor] = {}
    stacked: dict[str, dict[str, Tensor]] = {}
    for name, value in load_file(folder / "model.safetensors").items():
        plain, end = name.removeprefix("vit.").removeprefix("deit.").rsplit(".", 1) if "." in name else (name, "")
        whole = f"{plain}.{end}"
        if whole in AROUND:
            found[AROUND[whole]] = value
        elif plain in AROUND:
            found[f"{AROUND[plain]}.{end}"] = value
        elif "layer." in plain:
            number, rest = plain.split("layer.", 1)[1].split(".", 1)
            kind = next((kind for kind in ("query", "key", "value") if rest.endswith(f".{kind}")), None)
            if kind is None:
                found[f"blocks.{number}.{LAYER[rest]}.{end}"] = value
            else:
                stacked.setdefault(f"blocks.{number}.attn.qkv.{end}", {})[kind] = value
    return found | {
        name: torch.cat([parts[kind] for kind in ("query", "key", "value")]) for name, parts in stacked.items()
    }


def write(model: nn.Module, folder: Path, prefix: str = "", **fields: Any) -> Path:
    """The folder. prefix: before each name; fields: of config.json."""
    weights = named(model, folder)
    save_file({prefix + name: value.contiguous() for name, value in weights.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG | fields), encoding="utf-8")
    return folder
