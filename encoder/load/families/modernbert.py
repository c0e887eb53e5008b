"""ModernBERT (Warner et al. 2024): pre-norm, rotary positions, windows in most layers, gates, no biases."""

from __future__ import annotations

from typing import Any

from encoder.load.families.family import ClassifierNames, Family, Fields, HeadNames, blocks, both, unsupported
from encoder.model.config import EncoderConfig
from encoder.model.mlm import MLMHeadConfig

GLOBAL, LOCAL = "full_attention", "sliding_attention"
#: kind of layer -> (field of the rotary base in older files, its default).
BASES = {GLOBAL: ("global_rope_theta", 160_000.0), LOCAL: ("local_rope_theta", 10_000.0)}


def modernbert_config(fields: Fields) -> EncoderConfig:
    """ModernBERT's config.json, of transformers 4 (global_attn_every_n_layers) and of 5 (layer_types)."""
    fields.check_is_encoder()
    kinds = layer_kinds(fields)
    bases = {kind: rotary_base(fields, kind) for kind in BASES}
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
        position="rotary",
        rotary_base=tuple(bases[kind] for kind in kinds),
        attention_window=tuple(window if kind == LOCAL else None for kind in kinds),
        activation=fields.activation("hidden_activation"),
        gated=True,
        attention_bias=fields.flag("attention_bias", False),
        ffn_bias=fields.flag("mlp_bias", False),
        dropout=fields.number("mlp_dropout", 0.0),
        attention_dropout=fields.number("attention_dropout", 0.0),
        pad_id=fields.pad_id(default=50_283),
    )


def layer_kinds(fields: Fields) -> list[str]:
    """Global or local, for every layer. Raises LoadError for an unknown kind."""
    n_layers = fields.layers()
    kinds: Any = fields.get("layer_types")
    if kinds is None:
        every = fields.integer("global_attn_every_n_layers", 3)
        if every < 1:
            raise unsupported("global_attn_every_n_layers", every, "give 1 or more")
        return [LOCAL if layer % every else GLOBAL for layer in range(n_layers)]
    if not isinstance(kinds, list) or len(kinds) != n_layers or any(kind not in (GLOBAL, LOCAL) for kind in kinds):
        raise unsupported("layer_types", kinds, f"give {GLOBAL} or {LOCAL} for each of {n_layers} layers")
    return kinds


def rotary_base(fields: Fields, kind: str) -> float:
    """The rotary base of a kind of layer. Raises LoadError for scaled positions such as YaRN."""
    older, default = BASES[kind]
    for key in ("rope_parameters", "rope_scaling"):
        rope = fields.get(key)
        if rope is None:
            continue
        settings = rope.get(kind, rope) if isinstance(rope, dict) else None
        if not isinstance(settings, dict) or settings.get("rope_type", settings.get("type", "default")) != "default":
            raise unsupported(key, rope, "choose a model whose rotary positions are not scaled")
        if "rope_theta" in settings:
            return Fields(settings).number("rope_theta", default)
    base = fields.get(older)
    return default if base is None else fields.number(older, default)


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
