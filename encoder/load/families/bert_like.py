"""Families that are BERT with other names, norms or positions: one table each."""

from __future__ import annotations

import dataclasses
from typing import Any

from encoder.load.families.bert import (
    BERT,
    BERT_NAMES,
    DENSE_CLASSIFIER,
    EMBEDDING_NAMES,
    LAYER_NAMES,
    LM_HEAD,
    POOLER,
    ROBERTA,
    bert_fields,
    roberta_fields,
)  # fmt: skip
from encoder.load.families.family import HEADS_DROPPED, Family, Fields, Part, blocks, both, unsupported, with_defaults
from encoder.load.families.rotary import rotary_fields
from encoder.model.config import EncoderConfig

SEGMENTS = "embeddings.token_type_embeddings.weight"


def like_bert(prefix: str, names: dict[str, str | Part] | None = None, **changes: Any) -> Family:
    """BERT with another prefix, and names that differ."""
    return dataclasses.replace(BERT, names={**BERT_NAMES, **(names or {})}, prefixes=(f"{prefix}.", ""), **changes)


def config_of(**more: Any) -> Any:
    """A reader of BERT's config.json with other fields of EncoderConfig."""
    return lambda fields: EncoderConfig(**bert_fields(fields) | more)


SPLINTER = like_bert(
    "splinter", dropped=HEADS_DROPPED | {r"(splinter_)?qass\..*": "a question-answering head"}
)  # Ram et al. 2021

#: Sun et al. 2020. With tasks, the vector of task 0 is part of the segments' vectors here: every text has it.
ERNIE = like_bert("ernie", dropped=BERT.dropped)
ERNIE_TASKS = like_bert(
    "ernie",
    {"embedding.segments.weight": Part(SEGMENTS, plus=("embeddings.task_type_embeddings.weight",))},
    dropped=BERT.dropped,
)
#: Xu et al. 2020. A text has no places on a page: all boxes are 0, and their vectors are part of the segments' vectors.
LAYOUTLM = like_bert(
    "layoutlm",
    {
        "embedding.segments.weight": Part(
            SEGMENTS, plus=tuple(f"embeddings.{side}_position_embeddings.weight" for side in "xyxyhw")
        )
    },
)
#: Hong et al. 2022. With all boxes 0, each query's scores change by one number, which the softmax ignores.
BROS = like_bert(
    "bros",
    dropped=HEADS_DROPPED | {r"bbox_embeddings\..*": "the places of words on a page", r".*\.inv_freq": ""},
)

MEGATRON = like_bert(
    "bert",
    {
        **both("layers.{l}.attention_norm", "encoder.layer.{l}.attention.ln"),
        **both("layers.{l}.ffn_norm", "encoder.layer.{l}.ln"),
        **both("final_norm", "encoder.ln"),
    },
    config=config_of(norm_placement="pre", final_norm=True, embedding_norm=False),
)  # Shoeybi et al. 2019

#: Chung et al. 2021: tables of another width, with a projection.
REMBERT = like_bert(
    "rembert",
    both("embedding.projection", "encoder.embedding_hidden_mapping_in"),
    config=lambda fields: EncoderConfig(
        **bert_fields(fields), embedding_width=fields.integer("input_embedding_size", 256)
    ),
    head=None,
    dropped=HEADS_DROPPED | {r"cls\.predictions\..*": "a masked-word head with tables of its own width"},
)


def big_bird_config(fields: Fields) -> EncoderConfig:
    """BigBird (Zaheer et al. 2020): up to 5 + 2 x random blocks, its attention is full; longer texts are refused."""
    kind = fields.get("attention_type", "block_sparse")
    if kind not in ("block_sparse", "original_full"):
        raise unsupported("attention_type", kind, "choose block_sparse or original_full")
    block, random = fields.integer("block_size", 64), fields.integer("num_random_blocks", 3)
    rows = fields.integer("max_position_embeddings")
    longest = min(rows, max(1, (5 + 2 * random) * block)) if kind == "block_sparse" else rows
    scale = fields.integer("hidden_size") ** 0.5 if fields.flag("rescale_embeddings", False) else 1.0
    return EncoderConfig(
        **bert_fields(fields) | {"activation": fields.activation("hidden_act", "gelu_new")},
        qkv_bias=fields.flag("use_bias", True),
        embedding_scale=scale,
        longest=longest,
    )


BIG_BIRD = like_bert(
    "bert",
    both("pooler", "pooler"),
    config=big_bird_config,
    dropped={**BERT.dropped, r"(qa_classifier|sequence_summary)\..*": "a head"},
    classifiers={"sequence": DENSE_CLASSIFIER, "token": BERT.classifiers["token"]},
)


def longformer_config(fields: Fields) -> EncoderConfig:
    """Longformer (Beltagy et al. 2020): attention_window counts both sides. No token is global here."""
    sizes = fields.get("attention_window", 512)
    sizes = [sizes] * fields.layers() if isinstance(sizes, int) else sizes
    if not isinstance(sizes, list) or any(type(size) is not int or size < 2 or size % 2 for size in sizes):
        raise unsupported("attention_window", sizes, "specify an even number of 2 or more for each layer")
    return EncoderConfig(**roberta_fields(fields), attention_window=tuple(size // 2 for size in sizes))


LONGFORMER = dataclasses.replace(
    ROBERTA,
    config=longformer_config,
    prefixes=("longformer.", ""),
    dropped=HEADS_DROPPED
    | {r"encoder\.layer\.\d+\.attention\.self\.(query|key|value)_global\.(weight|bias)": "the maps of global tokens"},
)

#: Baevski et al. 2022.
DATA2VEC_TEXT = dataclasses.replace(ROBERTA, prefixes=("data2vec_text.", ""))

#: Goyal et al. 2021: RoBERTa with the norms before the sublayers, and none after the embeddings.
XLM_ROBERTA_XL = dataclasses.replace(
    ROBERTA,
    config=with_defaults(
        lambda fields: EncoderConfig(
            **roberta_fields(fields), norm_placement="pre", final_norm=True, embedding_norm=False
        ),
        type_vocab_size=1,
        layer_norm_eps=1e-5,
    ),
    names={
        **EMBEDDING_NAMES, **LAYER_NAMES, **POOLER,
        **both("layers.{l}.attention_norm", "encoder.layer.{l}.attention.self_attn_layer_norm"),
        **both("layers.{l}.ffn_norm", "encoder.layer.{l}.LayerNorm"),
        **both("final_norm", "encoder.LayerNorm"),
    },
)  # fmt: skip


def roformer_config(fields: Fields) -> EncoderConfig:
    """RoFormer (Su et al. 2021): neighbouring components rotate together."""
    fields.only("rotary_value", False, "choose a model that rotates queries and keys only")
    return EncoderConfig(
        **bert_fields(fields),
        position="rotary",
        rotary_interleaved=True,
        embedding_width=fields.integer("embedding_size", fields.integer("hidden_size")),
    )


ROFORMER = like_bert(
    "roformer",
    both("embedding.projection", "embeddings_project"),
    config=roformer_config,
    classifiers={"token": BERT.classifiers["token"]},
    dropped=HEADS_DROPPED | {r"encoder\.embed_positions\.weight": "", r"sequence_summary\..*": "a head"},
)


def esm_config(fields: Fields) -> EncoderConfig:
    """ESM-1b and ESM-2 (Rives et al. 2021, Lin et al. 2023): proteins, one token for each amino acid."""
    kind = fields.get("position_embedding_type", "absolute")
    if kind not in ("absolute", "rotary"):
        raise unsupported("position_embedding_type", kind, "choose absolute or rotary")
    fields.only("is_folding_model", False, "choose the encoder only")
    plain = Fields({name: value for name, value in fields.items() if name != "position_embedding_type"})
    plain.setdefault("hidden_act", "gelu")
    pad = fields.pad_id(default=1)
    found = bert_fields(plain) | {"n_segments": 0, "pad_id": pad, "activation": "gelu"}
    if kind == "rotary":
        heads = max(1, fields.integer("num_attention_heads"))
        found |= rotary_fields(fields, fields.integer("hidden_size") // heads)
    else:
        found |= {"position_offset": pad + 1, "pad_position": pad}
    hides = fields.flag("token_dropout", False)
    return EncoderConfig(
        **found,
        norm_placement="pre",
        final_norm=True,
        embedding_norm=bool(fields.get("emb_layer_norm_before")),
        mask_id=fields.integer("mask_token_id") if hides else None,
    )


ESM = Family(
    config=esm_config,
    names={
        **EMBEDDING_NAMES, **LAYER_NAMES, **POOLER,
        **both("embedding.norm", "embeddings.layer_norm"),
        **both("layers.{l}.attention_norm", "encoder.layer.{l}.attention.LayerNorm"),
        **both("layers.{l}.ffn_norm", "encoder.layer.{l}.LayerNorm"),
        **both("final_norm", "encoder.emb_layer_norm_after"),
    },
    prefixes=("esm.", ""),
    head=LM_HEAD,
    classifiers={"sequence": DENSE_CLASSIFIER, "token": BERT.classifiers["token"]},
    dropped=HEADS_DROPPED
    | {
        r"(esm\.)?contact_head\..*": "a head that predicts contacts of amino acids",
        r"(encoder\.layer\.[\d*]+\.attention\.self\.)?rotary_embeddings\.inv_freq": "",
        r"embeddings\.position_embeddings\.weight": "",  # of models with rotary positions, unused
    },
    renamed=BERT.renamed,
)  # fmt: skip


def nomic_fields(fields: Fields, default: float, **more: Any) -> EncoderConfig:
    """NomicBERT and the two after it: post-norm, rotary positions. default: their rotary base; segments: by default."""
    found = bert_fields(fields) | {"n_segments": fields.integer("type_vocab_size", more.pop("segments", 1))}
    rotary = rotary_fields(fields, found["d_model"] // max(1, found["n_heads"]), default=default)
    return EncoderConfig(**found | rotary | more)


def nomic_names(attention: str, fused: str) -> dict[str, str | Part]:
    """The names that NomicBERT and Jina v3 share. fused: of q, k and v."""
    layer = "encoder.layers.{l}"
    return {
        "embedding.tokens.weight": "embeddings.word_embeddings.weight",
        "embedding.segments.weight": SEGMENTS,
        **both("embedding.norm", "emb_ln"),
        **blocks(tuple(f"layers.{{l}}.attention.w_{one}" for one in "qkv"), f"{layer}.{attention}.{fused}"),
        **both("layers.{l}.attention.w_o", f"{layer}.{attention}.out_proj"),
        **both("layers.{l}.attention_norm", f"{layer}.norm1"),
        **both("layers.{l}.ffn_norm", f"{layer}.norm2"),
        **both("layers.{l}.ffn.w_out", f"{layer}.mlp.fc2"),
        **POOLER,
    }


#: Nussbaum et al. 2024: fc12 has the activation, fc11 is the gate.
NOMIC = Family(
    config=lambda fields: nomic_fields(
        fields,
        1000.0,
        gated=True,
        attention_bias=False,
        ffn_bias=False,
        activation=fields.activation("hidden_act", "silu"),
        segments=2,
    ),
    names={
        **nomic_names("attn", "Wqkv"),
        **both("layers.{l}.ffn.w_in", "encoder.layers.{l}.mlp.fc12"),
        **both("layers.{l}.ffn.w_gate", "encoder.layers.{l}.mlp.fc11"),
    },
    prefixes=("nomic_bert.", "bert.", ""),
    head=BERT.head,
    dropped=BERT.dropped,
)
#: Sturua et al. 2024, in the form with all of its adapters left out.
JINA_V3 = Family(
    config=with_defaults(lambda fields: nomic_fields(fields, 20_000.0), pad_token_id=1, layer_norm_eps=1e-5),
    names={**nomic_names("mixer", "Wqkv"), **both("layers.{l}.ffn.w_in", "encoder.layers.{l}.mlp.fc1")},
    prefixes=("roberta.", "jina_embeddings_v3.", ""),
    head=LM_HEAD,
    dropped=HEADS_DROPPED,
)


def gte_names() -> dict[str, str | Part]:
    """GTE's names."""
    layer = "encoder.layer.{l}"
    gate = {f"layers.{{l}}.ffn.{name}.weight": Part(f"{layer}.mlp.up_gate_proj.weight", index, 2)
            for index, name in enumerate(("w_gate", "w_in"))}  # fmt: skip
    return {
        "embedding.tokens.weight": "embeddings.word_embeddings.weight",
        "embedding.segments.weight": SEGMENTS,
        **both("embedding.norm", "embeddings.LayerNorm"),
        **blocks(tuple(f"layers.{{l}}.attention.w_{one}" for one in "qkv"), f"{layer}.attention.qkv_proj"),
        **both("layers.{l}.attention.w_o", f"{layer}.attention.o_proj"),
        **both("layers.{l}.attention_norm", f"{layer}.attn_ln"),
        **gate,
        **both("layers.{l}.ffn.w_out", f"{layer}.mlp.down_proj"),
        **both("layers.{l}.ffn_norm", f"{layer}.mlp_ln"),
        **POOLER,
    }


#: Zhang et al. 2024 (gte-*-v1.5 and gte-multilingual).
GTE = Family(
    config=with_defaults(lambda fields: nomic_fields(fields, 160_000.0, gated=True, ffn_in_bias=False), pad_token_id=1),
    names=gte_names(),
    prefixes=("gte.", "new.", ""),
    dropped=HEADS_DROPPED | {r"lm_head\..*": "a masked-word head"},
)
