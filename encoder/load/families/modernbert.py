"""ModernBERT (Warner et al. 2024): pre-norm, rotary positions, windows in most layers, gates, no biases."""

from __future__ import annotations

import dataclasses
from typing import Any

from encoder.load.families.family import ClassifierNames, Family, Fields, HeadNames, blocks, both, unsupported
from encoder.load.families.rotary import FULL, SLIDING, layer_kinds, rotary_fields
from encoder.model.config import EncoderConfig
from encoder.model.mlm import MLMHeadConfig

#: kind of layer -> (field of the rotary base in older files, its default).
BASES = {FULL: ("global_rope_theta", 160_000.0), SLIDING: ("local_rope_theta", 10_000.0)}


def modernbert_config(fields: Fields) -> EncoderConfig:
    """ModernBERT's config.json, of transformers 4 (global_attn_every_n_layers) and of 5 (layer_types)."""
    fields.check_is_encoder()
    kinds, n_heads = modernbert_kinds(fields), max(1, fields.integer("num_attention_heads"))
    rotary = rotary_fields(fields, fields.integer("hidden_size") // n_heads, kinds, BASES)
    # local_attention counts both sides of the token; sliding_window counts one and, as in transformers, comes first.
    both_sides = fields.integer("local_attention", 128)
    window = both_sides // 2 if fields.get("sliding_window") is None else fields.integer("sliding_window")
    return EncoderConfig(
        vocab_size=fields.integer("vocab_size"),
        d_model=fields.integer("hidden_size"),
        n_layers=fields.layers(),
        n_heads=fields.integer("num_attention_heads"),
        d_ffn=fields.integer("intermediate_size"),
        max_positions=fields.integer("max_position_embeddings", 8192),
        norm_placement="pre",
        first_norm=False,
        final_norm=True,
        norm_eps=fields.number("norm_eps", 1e-5),
        norm_bias=fields.flag("norm_bias", False),
        **rotary,
        attention_window=tuple(window if kind == SLIDING else None for kind in kinds),
        activation=fields.activation("hidden_activation"),
        gated=True,
        attention_bias=fields.flag("attention_bias", False),
        ffn_bias=fields.flag("mlp_bias", False),
        dropout=fields.number("mlp_dropout", 0.0),
        attention_dropout=fields.number("attention_dropout", 0.0),
        pad_id=fields.pad_id(default=50_283),
    )


def modernbert_kinds(fields: Fields) -> list[str]:
    """Global or local, for every layer."""
    every = fields.integer("global_attn_every_n_layers", 3)
    if every < 1:
        raise unsupported("global_attn_every_n_layers", every, "specify 1 or more")
    return layer_kinds(fields, [SLIDING if layer % every else FULL for layer in range(fields.layers())])


def modernbert_head(fields: Fields) -> MLMHeadConfig:
    """ModernBERT's masked-word head."""
    return MLMHeadConfig(
        activation=fields.activation("classifier_activation"),
        norm_eps=fields.number("norm_eps", 1e-5),
        norm_bias=fields.flag("norm_bias", False),
        dense_bias=fields.flag("classifier_bias", False),
        decoder_bias=fields.flag("decoder_bias", True),
        tied=fields.tied,
    )


def classifier_options(fields: Fields) -> dict[str, Any]:
    """ModernBERT's classifiers: the dense map and norm of the masked-word head."""
    return {
        "activation": fields.activation("classifier_activation"),
        "dense_bias": fields.flag("classifier_bias", False),
        "norm_eps": fields.number("norm_eps", 1e-5),
        "norm_bias": fields.flag("norm_bias", False),
    }


def sequence_options(fields: Fields) -> dict[str, Any]:
    """The same, with the pooling of a text's classifier."""
    pooling = fields.get("classifier_pooling", "cls")
    if pooling not in ("cls", "mean"):
        raise unsupported("classifier_pooling", pooling, "choose cls or mean")
    return {**classifier_options(fields), "pooling": pooling}


MODERNBERT = Family(
    config=modernbert_config,
    names={
        "embedding.tokens.weight": "embeddings.tok_embeddings.weight",
        **both("embedding.norm", "embeddings.norm"),
        **both("layers.{l}.attention_norm", "layers.{l}.attn_norm"),
        **blocks(
            ("layers.{l}.attention.w_q", "layers.{l}.attention.w_k", "layers.{l}.attention.w_v"), "layers.{l}.attn.Wqkv"
        ),
        **both("layers.{l}.attention.w_o", "layers.{l}.attn.Wo"),
        **both("layers.{l}.ffn_norm", "layers.{l}.mlp_norm"),
        **blocks(("layers.{l}.ffn.w_in", "layers.{l}.ffn.w_gate"), "layers.{l}.mlp.Wi"),
        **both("layers.{l}.ffn.w_out", "layers.{l}.mlp.Wo"),
        **both("final_norm", "final_norm"),
    },
    prefixes=("model.", ""),
    head=HeadNames(
        config=modernbert_head, dense="head.dense", norm="head.norm", bias=("decoder.bias",), table="decoder.weight"
    ),
    classifiers={
        "sequence": ClassifierNames(dense="head.dense", norm="head.norm", options=sequence_options),
        "token": ClassifierNames(dense="head.dense", norm="head.norm", options=classifier_options),
    },
    # Its classifiers share the dense map and norm of the masked-word head.
    dropped={
        r"classifier\.(weight|bias)": "a classification head",
        r"head\.(dense|norm)\.(weight|bias)": "a classification head",
        r"qa_outputs\.(weight|bias)": "a question-answering head",
    },
)


def decoder_config(fields: Fields) -> EncoderConfig:
    """The decoder (Weller et al. 2025): causal. A window of n tokens counts the token itself, and the others before."""
    if fields.get("local_attention") is None:
        raise unsupported("local_attention", None, "specify the size of the windows")
    plain = Fields({name: value for name, value in fields.items() if name != "sliding_window"})
    config = modernbert_config(plain)
    size = fields.integer("local_attention") // 2
    kinds = modernbert_kinds(fields)
    return config.replace(causal=True, attention_window=tuple(size - 1 if kind == SLIDING else None for kind in kinds))


#: q, k and v are apart, and its head for the next token is left out.
MODERNBERT_DECODER = dataclasses.replace(
    MODERNBERT,
    config=decoder_config,
    names={
        **MODERNBERT.names,
        **both("layers.{l}.attention.w_q", "layers.{l}.attn.q_proj"),
        **both("layers.{l}.attention.w_k", "layers.{l}.attn.k_proj"),
        **both("layers.{l}.attention.w_v", "layers.{l}.attn.v_proj"),
    },
    head=None,
    classifiers={},
    dropped={
        **MODERNBERT.dropped,
        r"lm_head\.[\w.]+": "a head that predicts the next token",
        r"decoder\.(weight|bias)": "a head that predicts the next token",
    },
)
