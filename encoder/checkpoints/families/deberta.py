"""DeBERTa (He et al. 2021) and DeBERTa v2 and v3 (He et al. 2023): disentangled attention."""

from typing import Any

from encoder.checkpoints.families.bert import BERT, LAYER, MAPS, POST_NORMS, TABLES, TAGGER
from encoder.checkpoints.families.family import ClassifierNames, Family
from encoder.checkpoints.families.names import HEADS_DROPPED, QKV, blocks, both, layer
from encoder.checkpoints.families.reader import STANDARD, Fields, Key, unsupported
from encoder.model.disentangled import Disentangled


def deberta_fields(fields: Fields) -> dict[str, Any]:
    """The vectors of distances, and the terms that they make. Those of version 1 are clipped."""
    if fields.get("conv_kernel_size"):
        raise unsupported("conv_kernel_size", fields["conv_kernel_size"], "choose a model without a convolution")
    learned = fields.flag("position_biased_input", True)
    found: dict[str, Any] = {"position": "learned" if learned else "none"}
    kinds: Any = fields.get("pos_att_type") or []
    kinds = kinds.lower().split("|") if isinstance(kinds, str) else kinds
    if not isinstance(kinds, list) or kinds not in ([], ["c2p"], ["p2c"], ["c2p", "p2c"], ["p2c", "c2p"]):
        raise unsupported("pos_att_type", kinds, "choose c2p, p2c or both")
    if not fields.flag("relative_attention", False):
        # The reference divides by the number of terms that are named, also where it computes one of them only.
        width = max(1, fields.integer("hidden_size")) / max(1, fields.integer("num_attention_heads"))
        return found | {"attention_scale": (width * (1 + len(kinds))) ** -0.5}
    longest = fields.integer("max_relative_positions", -1)
    longest = fields.integer("max_position_embeddings") if longest < 1 else longest
    terms = {"to_position": "c2p" in kinds, "to_content": "p2c" in kinds}
    if fields.get("model_type") == "deberta":
        return found | {"disentangled": Disentangled(longest, shared=False, norm=False, key_bias=False, **terms)}
    buckets = fields.integer("position_buckets", -1)
    norm = fields.get("norm_rel_ebd", "none")
    if norm not in ("none", "layer_norm"):
        raise unsupported("norm_rel_ebd", norm, "choose none or layer_norm")
    shape = Disentangled(
        span=buckets if buckets > 0 else longest,
        farthest=longest if buckets > 0 else 0,
        shared=fields.flag("share_att_key", False),
        norm=norm == "layer_norm",
        **terms,
    )
    return found | {"disentangled": shape}


SELF = f"{LAYER}.attention.self"
DEBERTA_V2 = Family(
    config=STANDARD.but(
        deberta_fields, n_segments=Key("type_vocab_size", 0), norm_eps=Key("layer_norm_eps", 1e-7)
    ).refusing(
        embedding_size=(
            lambda fields: fields.integer("hidden_size"),
            "choose a model whose token vectors have the width of its layers",
        ),
        talking_head=(False, "choose a model whose heads are not mixed"),
    ),
    names={
        **TABLES, **MAPS, **POST_NORMS,
        **layer(SELF, "query_proj key_proj value_proj"),
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

#: Version 1 saves q, k and v of each head side by side, and the biases of q and v. Its keys have none.
DEBERTA = DEBERTA_V2.but(
    {
        **blocks(QKV, f"{SELF}.in_proj", per_head=True),
        "layers.{l}.attention.w_q.bias": f"{SELF}.q_bias",
        "layers.{l}.attention.w_v.bias": f"{SELF}.v_bias",
        **both("layers.{l}.attention.w_pos_k", f"{SELF}.pos_proj"),
        **both("layers.{l}.attention.w_pos_q", f"{SELF}.pos_q_proj"),
    },
    config=DEBERTA_V2.config.but(key_bias=False),
)

FAMILIES = {"deberta": DEBERTA, "deberta-v2": DEBERTA_V2}
