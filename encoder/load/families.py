"""What each family calls its fields and its weights: one table a family, read strictly in both directions.

A table maps our parameter names to the names on disk; "{l}" stands for the layer. Whatever is on disk and in no table must
match a pattern of `dropped`, which says what it is; anything else is an error that names the key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from encoder.config import EncoderConfig
from encoder.errors import LoadError

Fields = Mapping[str, Any]

ACTIVATION_NAMES = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}


@dataclass(frozen=True)
class Family:
    """A family of checkpoints.

    config: its config.json -> EncoderConfig; names: our parameter -> name on disk; prefixes: what may stand before the
    names, the longest first; dropped: pattern of a name -> what it is, for weights that are no part of the encoder.
    """

    config: Callable[[Fields], EncoderConfig]
    names: Mapping[str, str]
    prefixes: tuple[str, ...] = ("",)
    dropped: Mapping[str, str] = field(default_factory=dict)


def activation(fields: Fields, key: str = "hidden_act") -> Any:
    """Our name of an activation function. Raises LoadError naming the field."""
    value = fields.get(key, "gelu")
    if value not in ACTIVATION_NAMES:
        raise unsupported(key, value, f"known are {', '.join(ACTIVATION_NAMES)}")
    return ACTIVATION_NAMES[value]


def unsupported(key: str, value: Any, why: str) -> LoadError:
    """The error for a field of config.json that is the reason why a checkpoint cannot be loaded."""
    return LoadError(f"This checkpoint is not supported because of config.json's {key}={value!r}: {why}.")


def require(fields: Fields, key: str) -> Any:
    """A field that must be there. Raises LoadError naming it."""
    if key not in fields:
        raise LoadError(f"config.json has no {key}, which an encoder cannot do without.")
    return fields[key]


# --- BERT (Devlin et al. 2019) -----------------------------------------------------------------------------------------


def bert_config(fields: Fields) -> EncoderConfig:
    """BERT's config.json -> EncoderConfig; `pooler` is settled by the weights."""
    if fields.get("position_embedding_type", "absolute") != "absolute":
        raise unsupported(
            "position_embedding_type", fields["position_embedding_type"], "only absolute positions are known"
        )
    if fields.get("is_decoder"):
        raise unsupported("is_decoder", True, "this is a decoder, and encoders are what is shown here")
    return EncoderConfig(
        vocab_size=require(fields, "vocab_size"),
        d_model=require(fields, "hidden_size"),
        n_layers=require(fields, "num_hidden_layers"),
        n_heads=require(fields, "num_attention_heads"),
        d_ffn=require(fields, "intermediate_size"),
        max_positions=require(fields, "max_position_embeddings"),
        n_segments=fields.get("type_vocab_size", 2),
        norm_eps=fields.get("layer_norm_eps", 1e-12),
        activation=activation(fields),
        dropout=fields.get("hidden_dropout_prob", 0.1),
        attention_dropout=fields.get("attention_probs_dropout_prob", 0.1),
        pad_id=fields.get("pad_token_id") or 0,
    )


def linear(ours: str, theirs: str) -> dict[str, str]:
    """Weight and bias of a linear map or a norm."""
    return {f"{ours}.weight": f"{theirs}.weight", f"{ours}.bias": f"{theirs}.bias"}


BERT_NAMES = {
    "embedding.tokens.weight": "embeddings.word_embeddings.weight",
    "embedding.positions.table.weight": "embeddings.position_embeddings.weight",
    "embedding.segments.weight": "embeddings.token_type_embeddings.weight",
    **linear("embedding.norm", "embeddings.LayerNorm"),
    **linear("layers.{l}.attention.w_q", "encoder.layer.{l}.attention.self.query"),
    **linear("layers.{l}.attention.w_k", "encoder.layer.{l}.attention.self.key"),
    **linear("layers.{l}.attention.w_v", "encoder.layer.{l}.attention.self.value"),
    **linear("layers.{l}.attention.w_o", "encoder.layer.{l}.attention.output.dense"),
    **linear("layers.{l}.attention_norm", "encoder.layer.{l}.attention.output.LayerNorm"),
    **linear("layers.{l}.ffn.w_in", "encoder.layer.{l}.intermediate.dense"),
    **linear("layers.{l}.ffn.w_out", "encoder.layer.{l}.output.dense"),
    **linear("layers.{l}.ffn_norm", "encoder.layer.{l}.output.LayerNorm"),
    **linear("pooler", "pooler.dense"),
}

BERT_DROPPED = {
    r"(.*\.)?embeddings\.position_ids": "position numbers, which are counted anew",
    r"cls\.predictions\..*": "a masked-word head",
    r"cls\.seq_relationship\..*": "a next-sentence head",
    r"classifier\..*": "a classification head",
    r"qa_outputs\..*": "a question-answering head",
}

FAMILIES: dict[str, Family] = {
    "bert": Family(config=bert_config, names=BERT_NAMES, prefixes=("bert.", ""), dropped=BERT_DROPPED),
}


def family_of(fields: Fields) -> Family:
    """The family that config.json names in model_type. Raises LoadError for one that is not known."""
    kind = require(fields, "model_type")
    if kind not in FAMILIES:
        raise unsupported("model_type", kind, f"known families are {', '.join(FAMILIES)}")
    return FAMILIES[kind]


def match_dropped(family: Family, key: str) -> str | None:
    """What a weight is that the encoder does not need, or None when it is not known."""
    for pattern, meaning in family.dropped.items():
        if re.fullmatch(pattern, key):
            return meaning
    return None
