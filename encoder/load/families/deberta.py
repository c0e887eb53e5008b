"""DeBERTa (He et al. 2021) and DeBERTa v2 and v3 (He et al. 2023): disentangled attention."""

from __future__ import annotations

import dataclasses
from typing import Any

from encoder.load.families.bert import BERT, EMBEDDING_NAMES, LAYER_NAMES, POST_NORMS, TAGGER, bert_fields
from encoder.load.families.family import HEADS_DROPPED, ClassifierNames, Family, Fields, Part, both, unsupported
from encoder.model.config import EncoderConfig
from encoder.model.disentangled import Disentangled


def deberta_config(fields: Fields, first: bool) -> EncoderConfig:
    """DeBERTa's config.json. first: of version 1, whose distances are clipped and whose keys have no bias."""
    width = fields.integer("hidden_size")
    fields.only("embedding_size", width, "choose a model whose token vectors have the width of its layers")
    if fields.get("conv_kernel_size"):
        raise unsupported("conv_kernel_size", fields["conv_kernel_size"], "choose a model without a convolution")
    fields.only("talking_head", False, "choose a model whose heads are not mixed")
    learned = fields.flag("position_biased_input", True)
    found = bert_fields(fields) | {"n_segments": fields.integer("type_vocab_size", 0)}
    found |= {"position": "learned" if learned else "none", "norm_eps": fields.number("layer_norm_eps", 1e-7)}
    if first:
        found["key_bias"] = False
    if fields.flag("relative_attention", False):
        found["disentangled"] = distances(fields, first)
    return EncoderConfig(**found)


def distances(fields: Fields, first: bool) -> Disentangled:
    """The vectors of distances, and the terms that they make."""
    longest = fields.integer("max_relative_positions", -1)
    longest = fields.integer("max_position_embeddings") if longest < 1 else longest
    kinds: Any = fields.get("pos_att_type") or []
    kinds = kinds.lower().split("|") if isinstance(kinds, str) else kinds
    if not isinstance(kinds, list) or any(kind not in ("c2p", "p2c") for kind in kinds):
        raise unsupported("pos_att_type", kinds, "choose c2p, p2c or both")
    terms = {"to_position": "c2p" in kinds, "to_content": "p2c" in kinds}
    if first:
        return Disentangled(longest, shared=False, norm=False, key_bias=False, **terms)
    buckets = fields.integer("position_buckets", -1)
    norm = fields.get("norm_rel_ebd", "none")
    if norm not in ("none", "layer_norm"):
        raise unsupported("norm_rel_ebd", norm, "choose none or layer_norm")
    return Disentangled(
        span=buckets if buckets > 0 else longest,
        farthest=longest if buckets > 0 else 0,
        shared=fields.flag("share_att_key", False),
        norm=norm == "layer_norm",
        **terms,
    )


SELF = "encoder.layer.{l}.attention.self"
DEBERTA_V2 = Family(
    config=lambda fields: deberta_config(fields, first=False),
    names={
        **EMBEDDING_NAMES, **LAYER_NAMES, **POST_NORMS,
        **both("layers.{l}.attention.w_q", f"{SELF}.query_proj"),
        **both("layers.{l}.attention.w_k", f"{SELF}.key_proj"),
        **both("layers.{l}.attention.w_v", f"{SELF}.value_proj"),
        **both("layers.{l}.attention.w_pos_k", f"{SELF}.pos_key_proj"),
        **both("layers.{l}.attention.w_pos_q", f"{SELF}.pos_query_proj"),
        "distances.weight": "encoder.rel_embeddings.weight",
        **both("distance_norm", "encoder.LayerNorm"),
    },
    prefixes=("deberta.", ""),
    head=BERT.head,
    classifiers={
        "sequence": ClassifierNames(
            dense="pooler.dense", options=lambda fields: {"activation": fields.activation("pooler_hidden_act")}
        ),
        "token": TAGGER,
    },
    dropped=HEADS_DROPPED
    | {
        r"pooler\.dense\.(weight|bias)": "a classification head",
        r"(lm_predictions|mask_predictions)\..*": "a masked-word head of another form",
    },
    renamed=BERT.renamed,
)  # fmt: skip

#: Version 1 saves q, k and v of each head side by side, and the biases of q and v.
DEBERTA = dataclasses.replace(
    DEBERTA_V2,
    config=lambda fields: deberta_config(fields, first=True),
    names={
        **DEBERTA_V2.names,
        **{f"layers.{{l}}.attention.w_{one}.weight": Part(f"{SELF}.in_proj.weight", index, 3, per_head=True)
           for index, one in enumerate("qkv")},
        "layers.{l}.attention.w_q.bias": f"{SELF}.q_bias",
        "layers.{l}.attention.w_v.bias": f"{SELF}.v_bias",
        **both("layers.{l}.attention.w_pos_k", f"{SELF}.pos_proj"),
        **both("layers.{l}.attention.w_pos_q", f"{SELF}.pos_q_proj"),
    },
)  # fmt: skip
