"""Encoders of models that translate and summarise: T5, BART and those after them. No decoder is read."""

from __future__ import annotations

import dataclasses
from typing import Any

from encoder.load.families.family import Family, Fields, both, unsupported
from encoder.load.families.llama import ATTENTION, FFN, FOUR_NORMS, gains, gemma2_fields
from encoder.model.config import EncoderConfig

DECODER = {
    r"(model\.)?(decoder|lm_head|classification_head|qa_outputs|classifier|score)\..*": "the decoder and its heads",
    r"(model\.)?final_logits_bias": "",
    r"encoder\.embed_tokens\.weight": "",
}
#: Tokens that T5's encoder takes where config.json has no limit: its biases by distance have none.
T5_TOKENS = 4096


def t5_config(fields: Fields, per_layer: bool = False) -> EncoderConfig:
    """T5 (Raffel et al. 2020), mT5 (Xue et al. 2021) and, with a table of biases for each layer, UMT5 (2023)."""
    fields.check_is_encoder(with_decoder=True)
    name = fields.get("feed_forward_proj", feed_forward_of(fields))
    if not isinstance(name, str):
        raise unsupported("feed_forward_proj", name, "specify the name of an activation")
    gated = name.startswith("gated-")
    # "gated-gelu" means the tanh form, as in the reference.
    named = {"act": "gelu_new" if name == "gated-gelu" else name.removeprefix("gated-")}
    rate = fields.number("dropout_rate", 0.1)
    return EncoderConfig(
        vocab_size=fields.integer("vocab_size"),
        d_model=fields.integer("d_model"),
        n_layers=fields.layers("num_layers"),
        n_heads=fields.integer("num_heads"),
        d_ffn=fields.integer("d_ff"),
        d_head=fields.integer("d_kv"),
        max_positions=fields.integer("n_positions", T5_TOKENS),
        norm_kind="rms",
        norm_placement="pre",
        norm_bias=False,
        embedding_norm=False,
        final_norm=True,
        norm_eps=fields.number("layer_norm_epsilon", 1e-6),
        position="none",
        relative_buckets=fields.integer("relative_attention_num_buckets", 32),
        relative_max_distance=fields.integer("relative_attention_max_distance", 128),
        relative_per_layer=per_layer,
        attention_scale=1.0,
        activation=Fields(named).activation("act"),
        gated=gated,
        attention_bias=False,
        ffn_bias=False,
        dropout=rate,
        attention_dropout=rate,
        pad_id=fields.pad_id(),
    )


def feed_forward_of(fields: Fields) -> str:
    """The feed-forward layer where config.json does not name it: T5's has ReLU, those of mT5 and UMT5 have a gate."""
    return "relu" if fields.get("model_type") == "t5" else "gated-gelu"


BLOCK = "encoder.block.{l}.layer"
T5 = Family(
    config=t5_config,
    names={
        "embedding.tokens.weight": "shared.weight",
        "relative_bias.weight": "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
        "layers.{l}.attention.relative_bias.weight": f"{BLOCK}.0.SelfAttention.relative_attention_bias.weight",
        **{f"layers.{{l}}.attention.w_{one}.weight": f"{BLOCK}.0.SelfAttention.{one}.weight" for one in "qkvo"},
        "layers.{l}.attention_norm.weight": f"{BLOCK}.0.layer_norm.weight",
        "layers.{l}.ffn.w_in.weight": f"{BLOCK}.1.DenseReluDense.wi.weight",
        "layers.{l}.ffn.w_out.weight": f"{BLOCK}.1.DenseReluDense.wo.weight",
        "layers.{l}.ffn_norm.weight": f"{BLOCK}.1.layer_norm.weight",
        "final_norm.weight": "encoder.final_layer_norm.weight",
    },
    prefixes=("", "transformer."),
    dropped=DECODER,
)
#: Shazeer 2020: wi_0 has the activation.
T5_GATED = dataclasses.replace(
    T5,
    names={
        **T5.names,
        "layers.{l}.ffn.w_in.weight": f"{BLOCK}.1.DenseReluDense.wi_0.weight",
        "layers.{l}.ffn.w_gate.weight": f"{BLOCK}.1.DenseReluDense.wi_1.weight",
    },
)
UMT5 = dataclasses.replace(T5, config=lambda fields: t5_config(fields, per_layer=True))
UMT5_GATED = dataclasses.replace(T5_GATED, config=UMT5.config)


def bart_config(
    fields: Fields, offset: int = 0, default_pad: int = 1, default_activation: str = "gelu", **more: Any
) -> EncoderConfig:
    """BART (Lewis et al. 2020) and those after it. offset: rows of the table of positions before the first."""
    fields.check_is_encoder(with_decoder=True)
    width = fields.integer("d_model")
    found: dict[str, Any] = {
        "vocab_size": fields.integer("vocab_size"),
        "d_model": width,
        "n_layers": fields.layers("encoder_layers"),
        "n_heads": fields.integer("encoder_attention_heads"),
        "d_ffn": fields.integer("encoder_ffn_dim"),
        "max_positions": fields.integer("max_position_embeddings", 1024) + offset,
        "position_offset": offset,
        "norm_eps": 1e-5,
        "embedding_scale": width**0.5 if fields.flag("scale_embedding", False) else 1.0,
        "activation": fields.activation("activation_function", default_activation),
        "dropout": fields.number("dropout", 0.1),
        "attention_dropout": fields.number("attention_dropout", 0.0),
        "pad_id": fields.pad_id(default_pad),
    }
    return EncoderConfig(**found | more)


PRE: dict[str, Any] = {"norm_placement": "pre", "final_norm": True}
BART_LAYER = "encoder.layers.{l}"
BART = Family(
    config=lambda fields: bart_config(fields, offset=2),
    names={
        "embedding.tokens.weight": "shared.weight",
        "embedding.positions.table.weight": "encoder.embed_positions.weight",
        **both("embedding.norm", "encoder.layernorm_embedding"),
        **both("layers.{l}.attention.w_q", f"{BART_LAYER}.self_attn.q_proj"),
        **both("layers.{l}.attention.w_k", f"{BART_LAYER}.self_attn.k_proj"),
        **both("layers.{l}.attention.w_v", f"{BART_LAYER}.self_attn.v_proj"),
        **both("layers.{l}.attention.w_o", f"{BART_LAYER}.self_attn.out_proj"),
        **both("layers.{l}.attention_norm", f"{BART_LAYER}.self_attn_layer_norm"),
        **both("layers.{l}.ffn.w_in", f"{BART_LAYER}.fc1"),
        **both("layers.{l}.ffn.w_out", f"{BART_LAYER}.fc2"),
        **both("layers.{l}.ffn_norm", f"{BART_LAYER}.final_layer_norm"),
        **both("final_norm", "encoder.layer_norm"),
    },
    prefixes=("model.", ""),
    dropped=DECODER,
)
#: Liu et al. 2020: pre-norm, with a norm after the embeddings and one at the end.
MBART = dataclasses.replace(BART, config=lambda fields: bart_config(fields, offset=2, **PRE))
#: Zhang et al. 2020. Its sines are saved as a table.
PEGASUS = dataclasses.replace(
    BART, config=lambda fields: bart_config(fields, default_pad=0, embedding_norm=False, **PRE)
)
#: Junczys-Dowmunt et al. 2018 (Opus-MT): post-norm, and sines that are saved as a table.
MARIAN = dataclasses.replace(BART, config=lambda fields: bart_config(fields, default_pad=58_100, embedding_norm=False))
#: Fan et al. 2021, and NLLB (2022): sines that are not saved.
M2M100 = dataclasses.replace(
    BART,
    config=lambda fields: bart_config(
        Fields({"scale_embedding": True, **fields}),
        default_activation="relu",
        embedding_norm=False,
        position="sinusoidal",
        sine_halves=True,
        position_offset=fields.pad_id(default=1) + 1,
        pad_position=fields.pad_id(default=1),
        **PRE,
    ),
)


def t5gemma_config(fields: Fields) -> EncoderConfig:
    """T5Gemma (Zhang et al. 2025): the encoder is Gemma 2 in which every token attends to every token."""
    inner = fields.get("encoder")
    if not isinstance(inner, dict):
        raise unsupported("encoder", inner, "specify the fields of the encoder")
    fields = Fields({"head_dim": 256, "num_key_value_heads": 4, "attn_logit_softcapping": 50.0, **inner})
    found = gemma2_fields(fields, causal=False)
    # Both ways, the size of the window is a radius that includes its ends.
    size = fields.integer("sliding_window", 4096)
    window = tuple(None if one is None else size for one in found["attention_window"])
    return EncoderConfig(**found | {"attention_window": window})


T5GEMMA = Family(
    config=t5gemma_config,
    names={
        "embedding.tokens.weight": "embed_tokens.weight",
        **ATTENTION,
        **FFN,
        **gains(
            FOUR_NORMS
            | {
                "layers.{l}.attention_norm": "layers.{l}.pre_self_attn_layernorm",
                "layers.{l}.attention_out_norm": "layers.{l}.post_self_attn_layernorm",
            },
            1.0,
        ),
    },
    prefixes=("model.encoder.", "encoder."),
    dropped={r"(model\.)?(decoder|lm_head|score)\..*": "the decoder and its heads"},
)
