"""DINOv2 (Oquab et al. 2023), also with registers (Darcet et al. 2024): ViT with layer scale, MLP or SwiGLU.

Layer scale multiplies what a sublayer adds, component by component; here it is part of the sublayer's last linear map.
"""

from __future__ import annotations

import dataclasses

from encoder.load.families.family import Family, Fields, Part, both
from encoder.load.families.vit import VIT, square
from encoder.model.config import EncoderConfig, Patches


def dinov2_config(fields: Fields) -> EncoderConfig:
    """DINOv2's config.json."""
    fields.check_is_encoder()
    width, gated = fields.integer("hidden_size"), fields.flag("use_swiglu_ffn", False)
    hidden = int(width * fields.number("mlp_ratio", 4))
    registers = fields.integer("num_register_tokens", 4) if fields["model_type"] != "dinov2" else 0
    patches = Patches(
        square(fields, "image_size", 224), square(fields, "patch_size", 14 if fields["model_type"] == "dinov2" else 16),
        fields.integer("num_channels", 3),
        registers=registers,
    )  # fmt: skip
    return EncoderConfig(
        vocab_size=0,
        d_model=width,
        n_layers=fields.layers(),
        n_heads=fields.integer("num_attention_heads"),
        d_ffn=(int(hidden * 2 / 3) + 7) // 8 * 8 if gated else hidden,
        max_positions=patches.n_tokens,
        norm_placement="pre",
        embedding_norm=False,
        final_norm=True,
        norm_eps=fields.number("layer_norm_eps", 1e-6),
        qkv_bias=fields.flag("qkv_bias", True),
        activation="silu" if gated else fields.activation("hidden_act"),
        gated=gated,
        dropout=fields.number("hidden_dropout_prob", 0.0),
        attention_dropout=fields.number("attention_probs_dropout_prob", 0.0),
        patches=patches,
    )


def scaled(ours: str, theirs: str, scale: str) -> dict[str, str | Part]:
    """Weight and bias of a linear map whose output a layer scale multiplies."""
    return {f"{ours}.{kind}": Part(f"{theirs}.{kind}", scale=scale) for kind in ("weight", "bias")}


_LAYER = "encoder.layer.{l}"
DINOV2 = Family(
    config=dinov2_config,
    names={
        **{ours: theirs for ours, theirs in VIT.names.items() if ours.startswith(("embedding.", "final_norm"))},
        **{ours: theirs for ours, theirs in VIT.names.items() if ours.split(".")[-2] in ("w_q", "w_k", "w_v")},
        "embedding.tokens.registers": "embeddings.register_tokens",
        **both("layers.{l}.attention_norm", "encoder.layer.{l}.norm1"),
        **scaled(
            "layers.{l}.attention.w_o",
            f"{_LAYER}.attention.output.dense",
            f"{_LAYER}.layer_scale1.lambda1",
        ),
        **both("layers.{l}.ffn_norm", "encoder.layer.{l}.norm2"),
        **both("layers.{l}.ffn.w_in", "encoder.layer.{l}.mlp.fc1"),
        **scaled("layers.{l}.ffn.w_out", "encoder.layer.{l}.mlp.fc2", f"{_LAYER}.layer_scale2.lambda1"),
    },
    prefixes=("dinov2.", "dinov2_with_registers.", ""),
    dropped={r"classifier\.(weight|bias)": "a classification head", r"embeddings\.mask_token": ""},
    renamed=tuple((pattern, written) for pattern, written in VIT.renamed if "attention" in pattern),
    images=True,
)

_IN = "encoder.layer.{l}.mlp.weights_in"
#: The same with SwiGLU: the map to the activation and the gate are one weight on disk.
DINOV2_SWIGLU = dataclasses.replace(
    DINOV2,
    names={
        **DINOV2.names,
        **{f"layers.{{l}}.ffn.{name}.{kind}": Part(f"{_IN}.{kind}", index, 2)
           for index, name in enumerate(("w_in", "w_gate")) for kind in ("weight", "bias")},
        **scaled("layers.{l}.ffn.w_out", "encoder.layer.{l}.mlp.weights_out", f"{_LAYER}.layer_scale2.lambda1"),
    },
)  # fmt: skip
