"""BEiT (Bao et al. 2022) and Data2Vec's encoder of images (Baevski et al. 2022): a bias by rows and columns."""

from __future__ import annotations

import dataclasses

from encoder.load.families.dinov2 import scaled
from encoder.load.families.family import Family, Fields, unsupported
from encoder.load.families.vit import VIT, vit_config
from encoder.model.config import EncoderConfig

TABLE = "relative_position_bias.relative_position_bias_table"
LAYER = "encoder.layer.{l}"


def beit_config(fields: Fields) -> EncoderConfig:
    """BEiT's config.json. With mean pooling its last norm belongs to the pooling, which is left out."""
    own, shared = (
        fields.flag("use_relative_position_bias", False),
        fields.flag("use_shared_relative_position_bias", False),
    )
    if own and shared:
        raise unsupported(
            "use_shared_relative_position_bias", shared, "choose a model with one table of biases a layer"
        )
    if fields.number("layer_scale_init_value", 0.1) <= 0:
        raise unsupported("layer_scale_init_value", fields["layer_scale_init_value"], "choose a model with layer scale")
    return vit_config(fields).replace(
        position="learned" if fields.flag("use_absolute_position_embeddings", False) else "none",
        final_norm=not fields.flag("use_mean_pooling", True),
        key_bias=False,
        relative_grid=own or shared,
        relative_per_layer=own,
    )


BEIT = Family(
    config=beit_config,
    names={
        **{ours: theirs for ours, theirs in VIT.names.items() if not ours.startswith("pooler")},
        **scaled("layers.{l}.attention.w_o", f"{LAYER}.attention.output.dense", f"{LAYER}.lambda_1"),
        **scaled("layers.{l}.ffn.w_out", f"{LAYER}.output.dense", f"{LAYER}.lambda_2"),
        "layers.{l}.attention.relative_bias.weight": f"{LAYER}.attention.attention.{TABLE}",
        "relative_bias.weight": f"encoder.{TABLE}",
    },
    prefixes=("beit.", ""),
    dropped={
        r"(classifier|lm_head)\.(weight|bias)": "a head",
        r"(pooler\.)?layernorm\.(weight|bias)": "the norm of the pooled vector",
        r"embeddings\.mask_token": "",
        r".*relative_position_index": "",
    },
    renamed=tuple(
        (pattern.replace("vit", "beit"), written) for pattern, written in VIT.renamed if "layers" not in pattern
    ),
    images=True,
)
DATA2VEC_VISION = dataclasses.replace(BEIT, prefixes=("data2vec_vision.", ""))
