"""DistilBERT (Sanh et al. 2019): BERT without segments and pooler, with other names."""

from __future__ import annotations

from encoder.config import EncoderConfig
from encoder.load.families.family import (
    HEADS_DROPPED,
    OLD_NORMS,
    Family,
    Fields,
    HeadNames,
    activation,
    both,
    check_is_encoder,
    integer,
    layers,
    number,
    pad_id,
    tied,
)
from encoder.mlm import MLMHeadConfig

#: config.json does not say it: all models have the same.
NORM_EPS = 1e-12


def distilbert_config(fields: Fields) -> EncoderConfig:
    """DistilBERT's config.json. Sinusoidal positions, where it has them, are in the table on disk."""
    check_is_encoder(fields)
    return EncoderConfig(
        vocab_size=integer(fields, "vocab_size"),
        d_model=integer(fields, "dim"),
        n_layers=layers(fields, "n_layers"),
        n_heads=integer(fields, "n_heads"),
        d_ffn=integer(fields, "hidden_dim"),
        max_positions=integer(fields, "max_position_embeddings"),
        norm_eps=NORM_EPS,
        activation=activation(fields, "activation"),
        dropout=number(fields, "dropout", 0.1),
        attention_dropout=number(fields, "attention_dropout", 0.1),
        pad_id=pad_id(fields),
    )


def distilbert_head(fields: Fields) -> MLMHeadConfig:
    """Its head takes the encoder's activation."""
    return MLMHeadConfig(activation(fields, "activation"), NORM_EPS, tied=tied(fields))


DISTILBERT = Family(
    config=distilbert_config,
    names={
        "embedding.tokens.weight": "embeddings.word_embeddings.weight",
        "embedding.positions.table.weight": "embeddings.position_embeddings.weight",
        **both("embedding.norm", "embeddings.LayerNorm"),
        **both("layers.{l}.attention.w_q", "transformer.layer.{l}.attention.q_lin"),
        **both("layers.{l}.attention.w_k", "transformer.layer.{l}.attention.k_lin"),
        **both("layers.{l}.attention.w_v", "transformer.layer.{l}.attention.v_lin"),
        **both("layers.{l}.attention.w_o", "transformer.layer.{l}.attention.out_lin"),
        **both("layers.{l}.attention_norm", "transformer.layer.{l}.sa_layer_norm"),
        **both("layers.{l}.ffn.w_in", "transformer.layer.{l}.ffn.lin1"),
        **both("layers.{l}.ffn.w_out", "transformer.layer.{l}.ffn.lin2"),
        **both("layers.{l}.ffn_norm", "transformer.layer.{l}.output_layer_norm"),
    },
    prefixes=("distilbert.", ""),
    head=HeadNames(
        config=distilbert_head,
        dense="vocab_transform",
        norm="vocab_layer_norm",
        bias=("vocab_projector.bias",),
        table="vocab_projector.weight",
    ),
    dropped=HEADS_DROPPED | {r"pre_classifier\.(weight|bias)": "a classification head"},
    renamed=OLD_NORMS,
)
