"""Encoders of texts with rotary positions: NomicBERT, Jina v3, GTE, and ModernBERT with windows and pre-norm."""

from functools import partial
from typing import Any

from encoder.checkpoints.families.bert import BERT, LM_HEAD, POOLER, SEGMENTS
from encoder.checkpoints.families.family import ClassifierNames, Family, HeadNames
from encoder.checkpoints.families.names import EXPERTS, HEADS_DROPPED, IN_GATE, QKV, blocks, both, layer
from encoder.checkpoints.families.parts import Part
from encoder.checkpoints.families.reader import PRE, STANDARD, Fields, Key, Reader, unsupported
from encoder.checkpoints.families.rotary import FULL, SLIDING, layer_kinds, rotary_fields, windows_of
from encoder.model.checks import MAX_LAYERS
from encoder.model.experts import Experts
from encoder.model.mlm import MLMHeadConfig


def post_norm(base: float, segments: int = 1, **more: Any) -> Reader:
    """Post-norm encoders with this rotary base and number of segments, where config.json has neither."""
    return STANDARD.but(partial(rotary_fields, default=base), n_segments=Key("type_vocab_size", segments), **more)


STEM = {
    "embedding.tokens.weight": "embeddings.word_embeddings.weight",
    "embedding.segments.weight": SEGMENTS,
    **both("embedding.norm", "emb_ln"),
    **POOLER,
}
LAYER = "encoder.layers.{l}"
#: activation_function in the published config.json of NomicBERT -> our fields; that of a gated layer is hidden_act.
NOMIC_ACTIVATIONS: dict[str, dict[str, Any]] = {
    "swiglu": {"gated": True},
    "gelu": {"gated": False, "activation": "gelu"},
}


def nomic_fields(fields: Fields) -> dict[str, Any]:
    """The feed-forward layers of NomicBERT, some of which have experts: the second one, and more at equal distances."""
    kind = fields.get("activation_function", "swiglu")
    if not isinstance(kind, str) or kind not in NOMIC_ACTIVATIONS:
        raise unsupported("activation_function", kind, f"choose one of {', '.join(NOMIC_ACTIVATIONS)}")
    found, count = NOMIC_ACTIVATIONS[kind], fields.integer("num_experts", 0)
    if not count:
        return found
    if found["gated"]:
        raise unsupported("activation_function", kind, "experts have no gates here; choose gelu")
    every = fields.integer("moe_every_n_layers", low=2, high=MAX_LAYERS)
    layers = tuple(range(1, fields.layers(), every))
    experts = Experts(count, fields.integer("moe_top_k"), renormalised=False, layers=layers)
    return {**found, "experts": experts, "d_ffn": count * fields.integer("intermediate_size")}


def nomic_of(fields: Fields) -> Family:
    """NomicBERT as transformers has it, or without gates."""
    return NOMIC_PLAIN if fields.get("activation_function") == "gelu" else NOMIC


#: Nussbaum et al. 2024: fc12 has the activation, fc11 is the gate.
NOMIC = Family(
    config=post_norm(
        1000.0,
        segments=2,
        activation=Key("hidden_act", "silu"),
        attention_bias=Key("qkv_proj_bias", False),
        ffn_bias=Key("mlp_fc2_bias", False),
        ffn_in_bias=Key("mlp_fc1_bias", False),
    )
    .but(nomic_fields)
    .renaming(
        n_embd="hidden_size",
        n_head="num_attention_heads",
        n_inner="intermediate_size",
        n_layer="num_hidden_layers",
        n_positions="max_position_embeddings",
        layer_norm_epsilon="layer_norm_eps",
        rotary_emb_base="rope_theta",
    )
    .refusing(
        prenorm=(False, "choose a model with its norms after the sublayers"),
        use_rms_norm=(False, "choose a model with LayerNorm"),
        parallel_block=(False, "choose a model with its sublayers in turn"),
        causal=(False, "choose an encoder"),
        rotary_emb_interleaved=(False, "choose a model that rotates the halves of a head"),
        rotary_emb_scale_base=(None, "choose a model whose rotations keep lengths"),
        rotary_emb_fraction=(1.0, "choose a model that rotates whole heads"),
        scale_attn_weights=(True, "choose a model with scaled scores"),
        scale_attn_by_inverse_layer_idx=(False, "choose a model with the same scale in each layer"),
        num_shared_experts=(0, "choose a model without shared experts"),
        expert_choice_router=(False, "choose a model whose tokens choose their experts"),
        moe_normalize_expert_weights=(False, "choose a model with the weights of the router's softmax"),
        ffn_div=(1, "choose a model whose experts are as wide as its other layers"),
    ),
    names={
        **STEM,
        **blocks(QKV, f"{LAYER}.attn.Wqkv"),
        **both("layers.{l}.attention.w_o", f"{LAYER}.attn.out_proj"),
        **layer(LAYER, ffn="mlp.fc12 mlp.fc11 mlp.fc2", norms="norm1 norm2"),
    },
    prefixes=("nomic_bert.", "bert.", ""),
    head=BERT.head,
    dropped=BERT.dropped,
    of=nomic_of,
)
#: Nussbaum et al. 2025 (nomic-embed-text-v2-moe). One weight has the maps of all experts; one bias is added at the end.
NOMIC_PLAIN = NOMIC.but(
    {
        **layer(LAYER, ffn="mlp.fc1 mlp.fc2"),
        f"{EXPERTS}.router.weight": f"{LAYER}.mlp.router.layer.weight",
        f"{EXPERTS}.w_in.weight": f"{LAYER}.mlp.experts.mlp.w1",
        f"{EXPERTS}.w_out.weight": Part(f"{LAYER}.mlp.experts.mlp.w2", transpose=True),
        f"{EXPERTS}.w_out.bias": f"{LAYER}.mlp.experts.bias",
    },
    config=NOMIC.config.taking(
        qkv_proj_bias=True, mlp_fc1_bias=True, mlp_fc2_bias=True, layer_norm_eps=1e-5, rope_theta=10_000.0
    ),
    note="transformers has NomicBERT with gated layers only: plain ones and experts are read by their published code, "
    "and compared with their definition.",
)
#: Sturua et al. 2024, in the form with all of its adapters left out.
JINA_V3 = NOMIC.but(
    {
        **blocks(QKV, f"{LAYER}.mixer.Wqkv"),
        **both("layers.{l}.attention.w_o", f"{LAYER}.mixer.out_proj"),
        **layer(LAYER, ffn="mlp.fc1 mlp.fc2"),
    },
    config=post_norm(20_000.0).taking(pad_token_id=1, layer_norm_eps=1e-5),
    prefixes=("roberta.", "jina_embeddings_v3.", ""),
    head=LM_HEAD,
    dropped=HEADS_DROPPED,
    of=None,
)
GTE_LAYER = "encoder.layer.{l}"
#: Zhang et al. 2024 (gte-*-v1.5 and gte-multilingual).
GTE = Family(
    config=post_norm(160_000.0, gated=True, ffn_in_bias=False).taking(pad_token_id=1),
    names={
        **STEM,
        **both("embedding.norm", "embeddings.LayerNorm"),
        **blocks(QKV, f"{GTE_LAYER}.attention.qkv_proj"),
        **both("layers.{l}.attention.w_o", f"{GTE_LAYER}.attention.o_proj"),
        **blocks(IN_GATE[::-1], f"{GTE_LAYER}.mlp.up_gate_proj"),
        **both("layers.{l}.ffn.w_out", f"{GTE_LAYER}.mlp.down_proj"),
        **layer(GTE_LAYER, norms="attn_ln mlp_ln"),
    },
    prefixes=("gte.", "new.", ""),
    dropped=HEADS_DROPPED | {r"lm_head\..*": "a masked-word head"},
)


def neobert_fields(fields: Fields) -> dict[str, Any]:
    """NeoBERT: two thirds of intermediate_size in a gated feed-forward layer, up to a multiple of 8."""
    neurons = 2 * fields.integer("intermediate_size", 3072) // 3
    return {"d_ffn": 8 * -(-neurons // 8), "position": "rotary", "rotary_interleaved": True}


NEO_LAYER = "transformer_encoder.{l}"
#: Le Breton et al. 2025. transformers has no class of it: the names are those of its published code.
NEOBERT = Family(
    config=STANDARD.but(
        neobert_fields, **PRE, d_model=Key("hidden_size", 768), n_layers=Key("num_hidden_layers", 28),
        n_heads=Key("num_attention_heads", 12), max_positions=Key("max_length", 1024), norm_eps=Key("norm_eps", 1e-6),
        norm_kind="rms", norm_bias=False, gated=True, activation="silu", attention_bias=False, ffn_bias=False,
        dropout=0.0, attention_dropout=0.0,
    ).refusing(
        rope=(True, "choose a model with rotary positions"), rms_norm=(True, "choose a model with RMSNorm"),
        ngpt=(False, "choose a model whose vectors are not normalised in each layer"),
    ),
    names={
        "embedding.tokens.weight": "encoder.weight",
        **blocks(QKV, f"{NEO_LAYER}.qkv", per_head=True),
        **both("layers.{l}.attention.w_o", f"{NEO_LAYER}.wo"),
        **blocks(IN_GATE, f"{NEO_LAYER}.ffn.w12"),
        **both("layers.{l}.ffn.w_out", f"{NEO_LAYER}.ffn.w3"),
        **layer(NEO_LAYER, norms="attention_norm ffn_norm"),
        **both("final_norm", "layer_norm"),
    },
    prefixes=("model.", ""),
    dropped={
        r"decoder\.(weight|bias)": "a masked-word head of one linear map",
        r"(dense|classifier)\.(weight|bias)": "a head",
        r"freqs_cis": "",
    },
    note="transformers has no class of NeoBERT: it is read by its published code, and compared with its definition.",
)  # fmt: skip

#: kind of layer -> (field of the rotary base in older files, its default).
BASES = {FULL: ("global_rope_theta", 160_000.0), SLIDING: ("local_rope_theta", 10_000.0)}


def kinds_of(fields: Fields) -> list[str]:
    """Global or local, for every layer, in config.json of transformers 4 and of 5 (layer_types)."""
    every = fields.integer("global_attn_every_n_layers", 3)
    if every < 1:
        raise unsupported("global_attn_every_n_layers", every, "specify 1 or more")
    return layer_kinds(fields, [SLIDING if place % every else FULL for place in range(fields.layers())])


def rotary_by_kind(fields: Fields) -> dict[str, Any]:
    """A rotary base for each kind of layer."""
    return rotary_fields(fields, kinds_of(fields), BASES)


def windows(fields: Fields) -> dict[str, Any]:
    """A window of n tokens on each side of a token."""
    return windows_of(kinds_of(fields), _one_side(fields))


def windows_before(fields: Fields) -> dict[str, Any]:
    """The decoder's: a window of n tokens counts the token itself, and the others before."""
    if fields.get("local_attention") is None:
        raise unsupported("local_attention", None, "specify the size of the windows")
    return windows_of(kinds_of(fields), _one_side(fields) - 1)


def _one_side(fields: Fields) -> int:
    """local_attention counts both sides of a token; sliding_window counts one and, as in transformers, comes first."""
    both_sides = fields.integer("local_attention", 128)
    return both_sides // 2 if fields.get("sliding_window") is None else fields.integer("sliding_window")


def modernbert_head(fields: Fields) -> MLMHeadConfig:
    """ModernBERT's masked-word head."""
    bias = fields.flag("decoder_bias", True)
    return MLMHeadConfig(**classifier_options(fields), decoder_bias=bias, tied=fields.tied)


def classifier_options(fields: Fields) -> dict[str, Any]:
    """The dense map and norm of the masked-word head, which ModernBERT's classifiers share."""
    return {
        "activation": fields.activation("classifier_activation"),
        "dense_bias": fields.flag("classifier_bias", False),
        "norm_eps": fields.number("norm_eps", 1e-5),
        "norm_bias": fields.flag("norm_bias", False),
    }


def sequence_options(fields: Fields) -> dict[str, Any]:
    """The same, with the pooling of a text's classifier."""
    pooling = fields.get("classifier_pooling", "cls")
    if pooling not in ("cls", "mean"):
        raise unsupported("classifier_pooling", pooling, "choose cls or mean")
    return {**classifier_options(fields), "pooling": pooling}


MODERN = STANDARD.but(
    rotary_by_kind,
    norm_placement="pre",
    first_norm=False,
    final_norm=True,
    norm_eps=Key("norm_eps", 1e-5),
    norm_bias=Key("norm_bias", False),
    max_positions=Key("max_position_embeddings", 8192),
    activation=Key("hidden_activation", "gelu"),
    gated=True,
    attention_bias=Key("attention_bias", False),
    ffn_bias=Key("mlp_bias", False),
    dropout=Key("mlp_dropout", 0.0),
    pad_id=Key("pad_token_id", 50_283),
    attention_dropout=Key("attention_dropout", 0.0),
)
#: Warner et al. 2024: pre-norm, rotary positions, windows in most layers, gates, no biases.
MODERNBERT = Family(
    config=MODERN.but(windows),
    names={
        "embedding.tokens.weight": "embeddings.tok_embeddings.weight",
        **both("embedding.norm", "embeddings.norm"),
        **blocks(QKV, "layers.{l}.attn.Wqkv"),
        **both("layers.{l}.attention.w_o", "layers.{l}.attn.Wo"),
        **blocks(IN_GATE, "layers.{l}.mlp.Wi"),
        **both("layers.{l}.ffn.w_out", "layers.{l}.mlp.Wo"),
        **layer("layers.{l}", norms="attn_norm mlp_norm"),
        **both("final_norm", "final_norm"),
    },
    prefixes=("model.", ""),
    head=HeadNames(
        config=modernbert_head, dense="head.dense", norm="head.norm", bias=("decoder.bias",), table="decoder.weight"
    ),
    classifiers={
        "sequence": ClassifierNames(dense="head.dense", norm="head.norm", options=sequence_options),
        "token": ClassifierNames(dense="head.dense", norm="head.norm", options=classifier_options),
    },
    # Its classifiers share the dense map and norm of the masked-word head.
    dropped={
        r"(classifier|head\.dense|head\.norm)\.(weight|bias)": "a classification head",
        r"qa_outputs\.(weight|bias)": "a question-answering head",
    },
)
#: Weller et al. 2025: causal; q, k and v are apart, and its head for the next token is left out.
MODERNBERT_DECODER = MODERNBERT.but(
    layer("layers.{l}", "attn.q_proj attn.k_proj attn.v_proj"),
    config=MODERN.but(windows_before, causal=True),
    head=None,
    classifiers={},
    dropped={**MODERNBERT.dropped, r"(lm_head|decoder)\.[\w.]+": "a head that predicts the next token"},
)

FAMILIES = {
    "gte": GTE,
    "jina_embeddings_v3": JINA_V3,
    "modernbert": MODERNBERT,
    "modernbert-decoder": MODERNBERT_DECODER,
    "neobert": NEOBERT,
    "nomic_bert": NOMIC,
}
