"""BERT (Devlin et al. 2019) and the families that kept its names: RoBERTa, RoBERTa-PreLayerNorm, ELECTRA."""

from __future__ import annotations

import dataclasses
from typing import Any

from encoder.load.families.family import HEADS_DROPPED, OLD_NORMS, ClassifierNames, Family, Fields, HeadNames, both
from encoder.model.config import EncoderConfig
from encoder.model.mlm import MLMHeadConfig


def bert_fields(fields: Fields) -> dict[str, Any]:
    """The fields that all of them share. type_vocab_size is 2 by default."""
    fields.check_is_encoder()
    return {
        "vocab_size": fields.integer("vocab_size"),
        "d_model": fields.integer("hidden_size"),
        "n_layers": fields.layers(),
        "n_heads": fields.integer("num_attention_heads"),
        "d_ffn": fields.integer("intermediate_size"),
        "max_positions": fields.integer("max_position_embeddings"),
        "n_segments": fields.integer("type_vocab_size", 2),
        "norm_eps": fields.number("layer_norm_eps", 1e-12),
        "activation": fields.activation("hidden_act"),
        "dropout": fields.number("hidden_dropout_prob", 0.1),
        "attention_dropout": fields.number("attention_probs_dropout_prob", 0.1),
        "pad_id": fields.pad_id(),
    }


def roberta_fields(fields: Fields) -> dict[str, Any]:
    """RoBERTa (Liu et al. 2019): positions count from the row after that of padding."""
    pad = fields.pad_id(default=1)
    return bert_fields(fields) | {"pad_id": pad, "position_offset": pad + 1, "pad_position": pad}


def bert_head(fields: Fields) -> MLMHeadConfig:
    """BERT's head has the encoder's activation."""
    return MLMHeadConfig(fields.activation("hidden_act"), fields.number("layer_norm_eps", 1e-12), tied=fields.tied)


def gelu_head(fields: Fields) -> MLMHeadConfig:
    """RoBERTa's and ELECTRA's head: GELU, whatever the encoder's activation is."""
    return MLMHeadConfig("gelu", fields.number("layer_norm_eps", 1e-12), tied=fields.tied)


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

#: Every family tags tokens with one linear map, ModernBERT excepted.
TAGGER = ClassifierNames()
#: BERT's and ALBERT's classifier uses the pooler.
POOLED_CLASSIFIER = ClassifierNames(dense="{encoder}pooler.dense", options=lambda fields: {"activation": "tanh"})
#: RoBERTa's and MPNet's has a dense map of its own.
DENSE_CLASSIFIER = ClassifierNames(
    out="classifier.out_proj", dense="classifier.dense", options=lambda fields: {"activation": "tanh"}
)

BERT = Family(
    config=lambda fields: EncoderConfig(**bert_fields(fields)),
    names=BERT_NAMES,
    prefixes=("bert.", ""),
    head=HeadNames(
        config=bert_head,
        dense="cls.predictions.transform.dense",
        norm="cls.predictions.transform.LayerNorm",
        bias=("cls.predictions.decoder.bias", "cls.predictions.bias"),
        table="cls.predictions.decoder.weight",
    ),
    classifiers={"sequence": POOLED_CLASSIFIER, "token": TAGGER},
    dropped=HEADS_DROPPED | {r"cls\.seq_relationship\.(weight|bias)": "a next-sentence head"},
    renamed=OLD_NORMS,
)

#: XLM-RoBERTa's and CamemBERT's too.
ROBERTA = Family(
    config=lambda fields: EncoderConfig(**roberta_fields(fields)),
    names=BERT_NAMES,
    prefixes=("roberta.", ""),
    head=LM_HEAD,
    classifiers={"sequence": DENSE_CLASSIFIER, "token": TAGGER},
    dropped=HEADS_DROPPED,
    renamed=OLD_NORMS,
)

#: Wettig et al. 2022: norms before the sublayers, and a final norm.
ROBERTA_PRELAYERNORM = dataclasses.replace(
    ROBERTA,
    config=lambda fields: EncoderConfig(**roberta_fields(fields), norm_placement="pre", final_norm=True),
    names=EMBEDDING_NAMES | LAYER_NAMES | PRE_NORMS | POOLER,
    prefixes=("roberta_prelayernorm.", ""),
)

#: Clark et al. 2020: tables of another width, with a projection.
ELECTRA = Family(
    config=lambda fields: EncoderConfig(**bert_fields(fields), embedding_width=fields.integer("embedding_size", 128)),
    names=EMBEDDING_NAMES | LAYER_NAMES | POST_NORMS | both("embedding.projection", "embeddings_project"),
    prefixes=("electra.", ""),
    head=HeadNames(
        config=gelu_head,
        dense="generator_predictions.dense",
        norm="generator_predictions.LayerNorm",
        bias=("generator_lm_head.bias",),
        table="generator_lm_head.weight",
    ),
    # The reference takes GELU here, whatever config.json says.
    classifiers={
        "sequence": dataclasses.replace(DENSE_CLASSIFIER, options=lambda fields: {"activation": "gelu"}),
        "token": TAGGER,
    },
    dropped=HEADS_DROPPED
    | {
        r"discriminator_predictions\.(dense|dense_prediction)\.(weight|bias)": "a head that finds replaced words",
        r"sequence_summary\.summary\.(weight|bias)": "a multiple-choice head",
    },
    renamed=OLD_NORMS,
)
