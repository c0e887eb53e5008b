"""DINOv3 (Simeoni et al. 2025): ViT with registers, layer scale, and rotary positions by row and column."""

from __future__ import annotations

import dataclasses

from encoder.load.families.dinov2 import scaled
from encoder.load.families.family import Family, Fields, both, unsupported
from encoder.load.families.vit import square
from encoder.model.config import EncoderConfig, Patches


def dinov3_config(fields: Fields) -> EncoderConfig:
    """DINOv3's config.json."""
    fields.check_is_encoder()
    fields.only("apply_layernorm", True, "choose a model with a norm at its end")
    biased = fields.flag("query_bias", True)
    fields.only("value_bias", biased, "choose a model whose queries and values both have a bias, or none")
    patches = Patches(
        square(fields, "image_size", 224), square(fields, "patch_size", 16), fields.integer("num_channels", 3),
        registers=fields.integer("num_register_tokens", 0),
    )  # fmt: skip
    gated = fields.flag("use_gated_mlp", False)
    base = fields.number("rope_theta", 100.0)
    if base <= 0:
        raise unsupported("rope_theta", base, "choose a number above 0")
    return EncoderConfig(
        vocab_size=0,
        d_model=fields.integer("hidden_size"),
        n_layers=fields.layers(),
        n_heads=fields.integer("num_attention_heads"),
        d_ffn=fields.integer("intermediate_size"),
        max_positions=patches.n_tokens,
        norm_placement="pre",
        embedding_norm=False,
        final_norm=True,
        norm_eps=fields.number("layer_norm_eps", 1e-5),
        position="rotary",
        rotary_base=base,
        rotary_grid=True,
        activation=fields.activation("hidden_act"),
        gated=gated,
        attention_bias=fields.flag("proj_bias", True),
        qkv_bias=biased,
        key_bias=fields.flag("key_bias", False),
        ffn_bias=fields.flag("mlp_bias", True),
        attention_dropout=fields.number("attention_dropout", 0.0),
        patches=patches,
    )


LAYER = "layer.{l}"
DINOV3 = Family(
    config=dinov3_config,
    names={
        "embedding.tokens.cls": "embeddings.cls_token",
        "embedding.tokens.registers": "embeddings.register_tokens",
        **both("embedding.tokens.projection", "embeddings.patch_embeddings"),
        **both("layers.{l}.attention_norm", f"{LAYER}.norm1"),
        **{key: value for one in "qkv"
           for key, value in both(f"layers.{{l}}.attention.w_{one}", f"{LAYER}.attention.{one}_proj").items()},
        **scaled("layers.{l}.attention.w_o", f"{LAYER}.attention.o_proj", f"{LAYER}.layer_scale1.lambda1"),
        **both("layers.{l}.ffn_norm", f"{LAYER}.norm2"),
        **both("layers.{l}.ffn.w_in", f"{LAYER}.mlp.up_proj"),
        **scaled("layers.{l}.ffn.w_out", f"{LAYER}.mlp.down_proj", f"{LAYER}.layer_scale2.lambda1"),
        **both("final_norm", "norm"),
    },
    prefixes=("dinov3_vit.", "model.", ""),
    dropped={r"embeddings\.(mask_token|register_tokens)": ""},  # without registers the file has a table of none
    images=True,
)  # fmt: skip
DINOV3_GATED = dataclasses.replace(
    DINOV3,
    names={
        **DINOV3.names,
        **both("layers.{l}.ffn.w_in", f"{LAYER}.mlp.gate_proj"),
        **both("layers.{l}.ffn.w_gate", f"{LAYER}.mlp.up_proj"),
    },
)
