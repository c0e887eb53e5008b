"""Vision transformers as timm writes them: ViT and DeiT, whose config.json names an architecture and no sizes.

https://huggingface.co/timm has several hundred such folders. The name says the sizes, as in timm; the weights are those
of `families.vit` under timm's names.
"""

import re
from typing import Any

from encoder.checkpoints.families.family import ClassifierNames, Family
from encoder.checkpoints.families.names import QKV, blocks, both, layer
from encoder.checkpoints.families.parts import Part
from encoder.checkpoints.families.reader import Fields, unsupported
from encoder.checkpoints.families.vit import grid, vit_config

KIND = "timm_wrapper"
#: Name of a size -> width, layers, heads.
SIZES = {
    "tiny": (192, 12, 3),
    "small": (384, 12, 6),
    "base": (768, 12, 12),
    "large": (1024, 24, 16),
    "huge": (1280, 32, 16),
}
#: vit_base_patch16_224.augreg_in21k, deit_small_distilled_patch16_224: what comes after the dot is how it was trained.
NAME = re.compile(rf"(?:vit|deit)_({'|'.join(SIZES)})(_distilled)?_patch(\d+)_(\d+)(?:\.[\w.]+)?")


def is_timm(fields: Fields) -> bool:
    """Whether config.json is timm's: as transformers decides it, by its architecture."""
    kind = fields.get("model_type")
    return kind == KIND or (kind is None and "architecture" in fields)


def as_vit(fields: Fields) -> Fields:
    """The same config.json with the names of ViT's. Raises LoadError for another architecture."""
    name = fields.get("architecture")
    found = NAME.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        raise unsupported(
            "architecture", name, f"choose a vit_* or deit_* of timm in one of the sizes {', '.join(SIZES)}"
        )
    if fields.get("model_args"):
        raise unsupported("model_args", fields["model_args"], "choose a checkpoint without them")
    width, n_layers, n_heads = SIZES[found[1]]
    sizes: dict[str, Any] = {
        "model_type": KIND,
        "hidden_size": width,
        "num_hidden_layers": n_layers,
        "num_attention_heads": n_heads,
        "intermediate_size": 4 * width,
        "patch_size": int(found[3]),
        "image_size": int(found[4]),
        "layer_norm_eps": 1e-6,
    }
    named = fields.get("label_names")
    if isinstance(named, list) and named:
        sizes["id2label"] = dict(enumerate(named))
    elif fields.get("num_classes"):
        sizes["num_labels"] = fields.integer("num_classes")
    return Fields({**fields, **sizes})


def preparation(fields: Fields) -> dict[str, Any]:
    """timm's pretrained_cfg as keys of preprocessor_config.json: the middle of the scaled image, as for its tests."""
    said = fields.get("pretrained_cfg")
    about = said if isinstance(said, dict) else {}
    side = fields.integer("image_size")
    share = about.get("crop_pct", 0.875)
    if not isinstance(share, int | float) or not 0.1 <= share <= 1:
        raise unsupported("pretrained_cfg.crop_pct", share, "specify a share of the image")
    ways = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4}
    return {
        "resample": ways.get(str(about.get("interpolation", "bicubic")), -1),
        "size": {"shortest_edge": int(side / share)},
        "crop_size": {"height": side, "width": side},
        "do_center_crop": True,
        "image_mean": about.get("mean", [0.485, 0.456, 0.406]),
        "image_std": about.get("std", [0.229, 0.224, 0.225]),
    }


LAYER = "blocks.{l}"
VIT = Family(
    config=vit_config(grid()),
    names={
        **both("embedding.tokens.projection", "patch_embed.proj"),
        "embedding.tokens.cls": "cls_token",
        "embedding.positions.table.weight": Part("pos_embed", unwrap=True),
        **blocks(QKV, f"{LAYER}.attn.qkv"),
        **layer(LAYER, ffn="mlp.fc1 mlp.fc2", norms="norm1 norm2"),
        **both("layers.{l}.attention.w_o", f"{LAYER}.attn.proj"),
        **both("final_norm", "norm"),
    },
    prefixes=("timm_model.", ""),
    classifiers={"sequence": ClassifierNames(out="{encoder}head")},
    dropped={r"(head|head_dist)\.(weight|bias)": "a classification head"},
    images=True,
)
DISTILLED = VIT.but(
    {"embedding.tokens.distillation": "dist_token"}, config=vit_config(grid(distillation=True)), classifiers={}
)


def of_name(fields: Fields) -> Family:
    """The names of an architecture, and how its images are prepared."""
    fields = as_vit(fields)
    family = DISTILLED if "_distilled_" in fields["architecture"] else VIT
    return family.but(preparation=preparation(fields))


FAMILIES = {KIND: VIT.but(of=of_name)}
