"""BERT (Devlin et al. 2019) and the families that kept its names.

RoBERTa (XLM-RoBERTa and CamemBERT are RoBERTas too), RoBERTa-PreLayerNorm, ELECTRA.
"""

from __future__ import annotations

from typing import Any

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


def bert_fields(fields: Fields) -> dict[str, Any]:
    """The fields that all of them share. type_vocab_size is 2 by default."""
    check_is_encoder(fields)
    return {
        "vocab_size": integer(fields, "vocab_size"),
        "d_model": integer(fields, "hidden_size"),
        "n_layers": layers(fields),
        "n_heads": integer(fields, "num_attention_heads"),
        "d_ffn": integer(fields, "intermediate_size"),
        "max_positions": integer(fields, "max_position_embeddings"),
        "n_segments": integer(fields, "type_vocab_size", 2),
        "norm_eps": number(fields, "layer_norm_eps", 1e-12),
        "activation": activation(fields, "hidden_act"),
        "dropout": number(fields, "hidden_dropout_prob", 0.1),
        "attention_dropout": number(fields, "attention_probs_dropout_prob", 0.1),
        "pad_id": pad_id(fields),
    }


def bert_config(fields: Fields) -> EncoderConfig:
    """BERT's config.json."""
    return EncoderConfig(**bert_fields(fields))


def roberta_fields(fields: Fields) -> dict[str, Any]:
    """RoBERTa (Liu et al. 2019): positions count from the row after that of padding."""
    pad = pad_id(fields, default=1)
    return bert_fields(fields) | {"pad_id": pad, "position_offset": pad + 1, "pad_position": pad}


def roberta_config(fields: Fields) -> EncoderConfig:
    """RoBERTa's config.json; XLM-RoBERTa's and CamemBERT's too."""
    return EncoderConfig(**roberta_fields(fields))


def prelayernorm_config(fields: Fields) -> EncoderConfig:
    """RoBERTa-PreLayerNorm's config.json (Wettig et al. 2022): norms before the sublayers, and a final norm."""
    return EncoderConfig(**roberta_fields(fields), norm_placement="pre", final_norm=True)


def electra_config(fields: Fields) -> EncoderConfig:
    """ELECTRA's config.json (Clark et al. 2020): tables of another width, with a projection."""
    return EncoderConfig(**bert_fields(fields), embedding_width=integer(fields, "embedding_size", 128))


def bert_head(fields: Fields) -> MLMHeadConfig:
    """BERT's head has the encoder's activation."""
    return MLMHeadConfig(activation(fields, "hidden_act"), number(fields, "layer_norm_eps", 1e-12), tied=tied(fields))


def gelu_head(fields: Fields) -> MLMHeadConfig:
    """RoBERTa's and ELECTRA's head: GELU, whatever the encoder's activation is."""
    return MLMHeadConfig("gelu", number(fields, "layer_norm_eps", 1e-12), tied=tied(fields))


EMBEDDING_NAMES = {
    "embedding.tokens.weight": "embeddings.word_embeddings.weight",
    "embedding.positions.table.weight": "embeddings.position_embeddings.weight",
    "embedding.segments.weight": "embeddings.token_type_embeddings.weight",
    **both("embedding.norm", "embeddings.LayerNorm"),
}

LAYER_NAMES = {
    **both("layers.{l}.attention.w_q", "encoder.layer.{l}.attention.self.query"),
    **both("layers.{l}.attention.w_k", "encoder.layer.{l}.attention.self.key"),
    **both("layers.{l}.attention.w_v", "encoder.layer.{l}.attention.self.value"),
    **both("layers.{l}.attention.w_o", "encoder.layer.{l}.attention.output.dense"),
    **both("layers.{l}.ffn.w_in", "encoder.layer.{l}.intermediate.dense"),
    **both("layers.{l}.ffn.w_out", "encoder.layer.{l}.output.dense"),
}

POST_NORMS = {
    **both("layers.{l}.attention_norm", "encoder.layer.{l}.attention.output.LayerNorm"),
    **both("layers.{l}.ffn_norm", "encoder.layer.{l}.output.LayerNorm"),
}

PRE_NORMS = {
    **both("layers.{l}.attention_norm", "encoder.layer.{l}.attention.LayerNorm"),
    **both("layers.{l}.ffn_norm", "encoder.layer.{l}.intermediate.LayerNorm"),
    **both("final_norm", "LayerNorm"),
}

POOLER = both("pooler", "pooler.dense")

BERT_NAMES = EMBEDDING_NAMES | LAYER_NAMES | POST_NORMS | POOLER

LM_HEAD = HeadNames(
    config=gelu_head,
    dense="lm_head.dense",
    norm="lm_head.layer_norm",
    bias=("lm_head.decoder.bias", "lm_head.bias"),
    table="lm_head.decoder.weight",
)

BERT = Family(
    config=bert_config,
    names=BERT_NAMES,
    prefixes=("bert.", ""),
    head=HeadNames(
        config=bert_head,
        dense="cls.predictions.transform.dense",
        norm="cls.predictions.transform.LayerNorm",
        bias=("cls.predictions.decoder.bias", "cls.predictions.bias"),
        table="cls.predictions.decoder.weight",
    ),
    dropped=HEADS_DROPPED | {r"cls\.seq_relationship\.(weight|bias)": "a next-sentence head"},
    renamed=OLD_NORMS,
)

ROBERTA = Family(
    config=roberta_config,
    names=BERT_NAMES,
    prefixes=("roberta.", ""),
    head=LM_HEAD,
    dropped=HEADS_DROPPED,
    renamed=OLD_NORMS,
)

ROBERTA_PRELAYERNORM = Family(
    config=prelayernorm_config,
    names=EMBEDDING_NAMES | LAYER_NAMES | PRE_NORMS | POOLER,
    prefixes=("roberta_prelayernorm.", ""),
    head=LM_HEAD,
    dropped=HEADS_DROPPED,
    renamed=OLD_NORMS,
)

ELECTRA = Family(
    config=electra_config,
    names=EMBEDDING_NAMES | LAYER_NAMES | POST_NORMS | both("embedding.projection", "embeddings_project"),
    prefixes=("electra.", ""),
    head=HeadNames(
        config=gelu_head,
        dense="generator_predictions.dense",
        norm="generator_predictions.LayerNorm",
        bias=("generator_lm_head.bias",),
        table="generator_lm_head.weight",
    ),
    dropped=HEADS_DROPPED
    | {
        r"discriminator_predictions\.(dense|dense_prediction)\.(weight|bias)": "a head that finds replaced words",
        r"sequence_summary\.summary\.(weight|bias)": "a multiple-choice head",
    },
    renamed=OLD_NORMS,
)
