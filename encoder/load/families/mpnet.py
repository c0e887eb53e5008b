"""MPNet (Song et al. 2020): RoBERTa's positions, no segments, and a bias by distance on the scores."""

from __future__ import annotations

import dataclasses

from encoder.load.families.bert import POOLER, ROBERTA, bert_fields
from encoder.load.families.family import Fields, both
from encoder.model.config import EncoderConfig

#: The reference ignores config.json here.
PAD_POSITION = 1
BUCKETS = 32


def mpnet_config(fields: Fields) -> EncoderConfig:
    """MPNet's config.json."""
    fields.only("relative_attention_num_buckets", BUCKETS, f"choose {BUCKETS}, as in the reference")
    return EncoderConfig(
        **bert_fields(fields)
        | {"n_segments": 0, "pad_id": PAD_POSITION, "position_offset": PAD_POSITION + 1, "pad_position": PAD_POSITION},
        relative_buckets=fields.integer("relative_attention_num_buckets", BUCKETS),
        relative_max_distance=128,
    )


MPNET = dataclasses.replace(
    ROBERTA,
    config=mpnet_config,
    names={
        "embedding.tokens.weight": "embeddings.word_embeddings.weight",
        "embedding.positions.table.weight": "embeddings.position_embeddings.weight",
        **both("embedding.norm", "embeddings.LayerNorm"),
        "relative_bias.weight": "encoder.relative_attention_bias.weight",
        **both("layers.{l}.attention.w_q", "encoder.layer.{l}.attention.attn.q"),
        **both("layers.{l}.attention.w_k", "encoder.layer.{l}.attention.attn.k"),
        **both("layers.{l}.attention.w_v", "encoder.layer.{l}.attention.attn.v"),
        **both("layers.{l}.attention.w_o", "encoder.layer.{l}.attention.attn.o"),
        **both("layers.{l}.attention_norm", "encoder.layer.{l}.attention.LayerNorm"),
        **both("layers.{l}.ffn.w_in", "encoder.layer.{l}.intermediate.dense"),
        **both("layers.{l}.ffn.w_out", "encoder.layer.{l}.output.dense"),
        **both("layers.{l}.ffn_norm", "encoder.layer.{l}.output.LayerNorm"),
        **POOLER,
    },
    prefixes=("mpnet.", ""),
)
