"""DistilBERT (Sanh et al. 2019): BERT without segments and pooler, with other names."""

from __future__ import annotations

from encoder.load.families.family import HEADS_DROPPED, OLD_NORMS, ClassifierNames, Family, Fields, HeadNames, both
from encoder.model.config import EncoderConfig
from encoder.model.mlm import MLMHeadConfig

#: config.json does not say it: all models have the same.
NORM_EPS = 1e-12


def distilbert_config(fields: Fields) -> EncoderConfig:
    """DistilBERT's config.json. Sinusoidal positions, where it has them, are in the table on disk."""
    fields.check_is_encoder()
    return EncoderConfig(
        vocab_size=fields.integer("vocab_size"),
        d_model=fields.integer("dim"),
        n_layers=fields.layers("n_layers"),
        n_heads=fields.integer("n_heads"),
        d_ffn=fields.integer("hidden_dim"),
        max_positions=fields.integer("max_position_embeddings"),
        norm_eps=NORM_EPS,
        activation=fields.activation("activation"),
        dropout=fields.number("dropout", 0.1),
        attention_dropout=fields.number("attention_dropout", 0.1),
        pad_id=fields.pad_id(),
    )


def distilbert_head(fields: Fields) -> MLMHeadConfig:
    """Its head takes the encoder's activation."""
    return MLMHeadConfig(fields.activation("activation"), NORM_EPS, tied=fields.tied)


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
    classifiers={
        "sequence": ClassifierNames(dense="pre_classifier", options=lambda fields: {"activation": "relu"}),
        "token": ClassifierNames(),
    },
    dropped=HEADS_DROPPED,
    renamed=OLD_NORMS,
)
