"""ALBERT (Lan et al. 2020): layers that share their weights, and token tables narrower than the model."""

from __future__ import annotations

import dataclasses

from encoder.load.families.bert import EMBEDDING_NAMES, POOLED_CLASSIFIER, TAGGER, bert_fields
from encoder.load.families.family import HEADS_DROPPED, OLD_NORMS, Family, Fields, HeadNames, both, unsupported
from encoder.model.config import EncoderConfig
from encoder.model.mlm import MLMHeadConfig

LAYER = "encoder.albert_layer_groups.{l}.albert_layers.0"


def albert_config(fields: Fields) -> EncoderConfig:
    """ALBERT's config.json."""
    fields.only("inner_group_num", 1, "choose a model whose groups repeat a single layer")
    width = fields.integer("embedding_size", 128)
    if width == fields.integer("hidden_size"):
        raise unsupported("embedding_size", width, "choose a width that differs from hidden_size")
    return EncoderConfig(
        **bert_fields(fields)
        | {
            "activation": fields.activation("hidden_act", "gelu_new"),
            "dropout": fields.number("hidden_dropout_prob", 0.0),
            "attention_dropout": fields.number("attention_probs_dropout_prob", 0.0),
        },
        embedding_width=width,
        layer_groups=fields.integer("num_hidden_groups", 1),
    )


def albert_head(fields: Fields) -> MLMHeadConfig:
    """Its head has the encoder's activation."""
    chosen = fields.activation("hidden_act", "gelu_new")
    return MLMHeadConfig(chosen, fields.number("layer_norm_eps", 1e-12), tied=fields.tied)


ALBERT = Family(
    config=albert_config,
    names=EMBEDDING_NAMES
    | {
        **both("embedding.projection", "encoder.embedding_hidden_mapping_in"),
        **both("layers.{l}.attention.w_q", f"{LAYER}.attention.query"),
        **both("layers.{l}.attention.w_k", f"{LAYER}.attention.key"),
        **both("layers.{l}.attention.w_v", f"{LAYER}.attention.value"),
        **both("layers.{l}.attention.w_o", f"{LAYER}.attention.dense"),
        **both("layers.{l}.attention_norm", f"{LAYER}.attention.LayerNorm"),
        **both("layers.{l}.ffn.w_in", f"{LAYER}.ffn"),
        **both("layers.{l}.ffn.w_out", f"{LAYER}.ffn_output"),
        **both("layers.{l}.ffn_norm", f"{LAYER}.full_layer_layer_norm"),
        **both("pooler", "pooler"),
    },
    prefixes=("albert.", ""),
    head=HeadNames(
        config=albert_head,
        dense="predictions.dense",
        norm="predictions.LayerNorm",
        bias=("predictions.decoder.bias", "predictions.bias"),
        table="predictions.decoder.weight",
    ),
    classifiers={"sequence": dataclasses.replace(POOLED_CLASSIFIER, dense="{encoder}pooler"), "token": TAGGER},
    dropped=HEADS_DROPPED | {r"sop_classifier\.classifier\.(weight|bias)": "a head for the order of sentences"},
    renamed=OLD_NORMS,
)
