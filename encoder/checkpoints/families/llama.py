"""Llama's block (Touvron et al. 2023) and those after it: RMSNorm, rotary positions, SwiGLU, grouped-query attention.

Decoders, which attend to earlier tokens only, and encoders of the same parts (EuroBERT, EmbeddingGemma).
"""

from functools import partial
from typing import Any

from encoder.checkpoints.families.family import ClassifierNames, Family, HeadNames, LMNames
from encoder.checkpoints.families.names import HEADS_DROPPED, IN_GATE, QKV, blocks, both, layer, times
from encoder.checkpoints.families.parts import NO_BIAS, Part
from encoder.checkpoints.families.reader import PRE, STANDARD, Fields, Key, unsupported
from encoder.checkpoints.families.rotary import FULL, SLIDING, d_head_of, layer_kinds, rotary_fields, windows_of
from encoder.model.experts import Experts
from encoder.model.mlm import MLMHeadConfig


def heads(fields: Fields) -> dict[str, Any]:
    """The width of a head, and the heads of keys and values."""
    n_heads = fields.integer("num_attention_heads")
    if n_heads < 1:
        raise unsupported("num_attention_heads", n_heads, "choose 1 or more")
    return {"n_kv_heads": fields.unless_null("num_key_value_heads", n_heads), "d_head": d_head_of(fields)}


def windows(default: str = SLIDING, every: int = 1, size: int = 4096, radius: bool = False) -> Any:
    """A reader of the window of each layer. default: the kind of layers where config.json has none; every: of this many
    layers, one is FULL; radius: whether a window of n tokens reaches n to each side, and not n - 1 before the token."""

    def read(fields: Fields) -> dict[str, Any]:
        places = range(fields.layers())
        usual = [FULL if every > 1 and (place + 1) % every == 0 else default for place in places]
        kinds = layer_kinds(fields, usual)
        reach = fields.integer("sliding_window", size) - (not radius) if SLIDING in kinds else 0
        return windows_of(kinds, reach)

    return read


def window_everywhere(fields: Fields) -> dict[str, Any]:
    """Mistral (Jiang et al. 2023): a window in each layer, where config.json has one."""
    return {"attention_window": None if fields.get("sliding_window") is None else fields.integer("sliding_window") - 1}


def late_windows(fields: Fields) -> dict[str, Any]:
    """Qwen2 and Qwen3: windows only where use_sliding_window says so, from layer max_window_layers on."""
    kinds = [FULL] * fields.layers()
    if not fields.flag("use_sliding_window", False) or fields.get("sliding_window") is None:
        return windows_of(kinds, None)
    first = fields.integer("max_window_layers", 28)
    kinds = layer_kinds(fields, [SLIDING if place >= first else FULL for place in range(len(kinds))])
    reach = fields.integer("sliding_window", 4096) - 1 if SLIDING in kinds else 0
    return windows_of(kinds, reach)


def gemma_fields(fields: Fields) -> dict[str, Any]:
    """Gemma (2024): token vectors times sqrt(D), GELU in the gate."""
    named = "hidden_activation" if fields.get("hidden_activation") is not None else "hidden_act"
    return {
        "embedding_scale": fields.integer("hidden_size") ** 0.5,
        "activation": fields.activation(named, "gelu_pytorch_tanh"),
    }


def gemma2_fields(fields: Fields) -> dict[str, Any]:
    """Gemma 2: a cap on the scores, and a scale of its own."""
    cap = fields.get("attn_logit_softcapping")
    scalar = fields.number("query_pre_attn_scalar", 256)
    if scalar <= 0:
        raise unsupported("query_pre_attn_scalar", scalar, "choose a number above 0")
    return {
        "score_cap": None if cap is None else fields.number("attn_logit_softcapping", 50.0),
        "attention_scale": scalar**-0.5,
    }


def final_cap(fields: Fields, most: float = 30.0) -> dict[str, Any]:
    """Gemma 2's cap on the logits. Gemma 3 has none."""
    usual = None if fields.get("model_type") == "gemma3_text" else most
    cap = fields.get("final_logit_softcapping", usual)
    return {"cap": None if cap is None else fields.number("final_logit_softcapping", 30.0)}


def gemma3_fields(fields: Fields) -> dict[str, Any]:
    """Gemma 3 (2025): two rotary bases. use_bidirectional_attention makes an encoder of it (EmbeddingGemma); its window
    of n tokens then reaches n // 2 to each side."""
    every = fields.integer("sliding_window_pattern", fields.integer("_sliding_window_pattern", 6))
    if every < 1:
        raise unsupported("sliding_window_pattern", every, "specify 1 or more")
    usual = [SLIDING if (place + 1) % every else FULL for place in range(fields.layers())]
    kinds, both_ways = layer_kinds(fields, usual), fields.flag("use_bidirectional_attention", False)
    size = fields.integer("sliding_window", 4096) if SLIDING in kinds else 1
    reach = size // 2 if both_ways else size - 1
    bases = {FULL: ("rope_theta", 1_000_000.0), SLIDING: ("rope_local_base_freq", 10_000.0)}
    rotary = rotary_fields(fields, kinds, bases, scaled=(FULL,))
    return {**windows_of(kinds, reach), **rotary, "causal": not both_ways}


def ultrabert_rotary(fields: Fields) -> dict[str, Any]:
    """UltraBERT: a rotary base for each kind of layer. Settings without a base have the one of other models."""
    kinds = layer_kinds(fields, [SLIDING if (place + 1) % 3 else FULL for place in range(fields.layers())])
    usual = 2_560_000.0 if fields.get("rope_parameters") is None else 10_000.0
    bases = {FULL: ("rope_theta", usual), SLIDING: ("rope_theta", 10_000.0)}
    return rotary_fields(fields, kinds, bases)


DECODER = STANDARD.but(
    heads,
    norm_eps=Key("rms_norm_eps", 1e-6),
    norm_kind="rms",
    norm_bias=False,
    causal=True,
    gated=True,
    activation=Key("hidden_act", "silu"),
    attention_bias=Key("attention_bias", False),
    ffn_bias=Key("mlp_bias", False),
    dropout=0.0,
    attention_dropout=Key("attention_dropout", 0.0),
    **PRE,
).refusing(pretraining_tp=(1, "choose a checkpoint whose matrices are whole"))
LLAMA_CONFIG = DECODER.but(rotary_fields)
GEMMA_CONFIG = LLAMA_CONFIG.but(gemma_fields).taking(head_dim=256)
GEMMA2_CONFIG = GEMMA_CONFIG.but(gemma2_fields, output_norms=True)
#: Decoders with LayerNorm and biases, an FFN without a gate: Phi, GPT-NeoX, OPT.
PLAIN = DECODER.but(
    norm_kind="layer",
    norm_bias=True,
    norm_eps=Key("layer_norm_eps", 1e-5),
    gated=False,
    attention_bias=True,
    ffn_bias=True,
    activation=Key("hidden_act", "gelu"),
)

LAYER = "layers.{l}"
NORMS = {
    **layer(LAYER, norms="input_layernorm post_attention_layernorm"),
    **both("layers.{l}.attention.q_norm", f"{LAYER}.self_attn.q_norm"),
    **both("layers.{l}.attention.k_norm", f"{LAYER}.self_attn.k_norm"),
    **both("final_norm", "norm"),
}
#: Gemma 2's four norms.
FOUR_NORMS = {
    **NORMS,
    **layer(LAYER, norms="input_layernorm pre_feedforward_layernorm"),
    **both("layers.{l}.attention_out_norm", f"{LAYER}.post_attention_layernorm"),
    **both("layers.{l}.ffn_out_norm", f"{LAYER}.post_feedforward_layernorm"),
}


def less_one(norms: dict[str, str | Part]) -> dict[str, str | Part]:
    """Norms whose gains are saved minus 1, as Gemma's."""
    return {ours: Part(str(theirs), offset=1.0) for ours, theirs in norms.items()}


HEADS = {
    r"((model\.)?lm_head|embed_out)\.(weight|bias)": "a head that predicts the next token",
    r"score\.weight": "a classification head",
    r"(classifier|dense|decoder|qa_outputs)\.[\w.]+": "a head",
    r".*\.rotary_emb\.inv_freq": "",
}
LLAMA = Family(
    config=LLAMA_CONFIG,
    names={
        "embedding.tokens.weight": "embed_tokens.weight",
        **layer(
            LAYER, "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj",
            "mlp.gate_proj mlp.up_proj mlp.down_proj",
        ),
        **NORMS,
    },
    prefixes=("model.", ""),
    dropped=HEADS,
    lm=LMNames(),
)  # fmt: skip


#: What each sublayer adds, on disk.
ADDED = {
    **both("layers.{l}.attention.w_o", f"{LAYER}.self_attn.o_proj"),
    **both("layers.{l}.ffn.w_out", f"{LAYER}.mlp.down_proj"),
}


def granite_fields(fields: Fields) -> dict[str, Any]:
    """Granite (IBM 2024): factors of the vectors of tokens and of the scores."""
    return {
        "embedding_scale": fields.number("embedding_multiplier", 1.0),
        "attention_scale": fields.number("attention_multiplier", 1.0),
    }


def divided_logits(fields: Fields) -> dict[str, Any]:
    """Granite's logits are divided by this number."""
    divisor = fields.number("logits_scaling", 1.0)
    if divisor <= 0:
        raise unsupported("logits_scaling", divisor, "choose a number above 0")
    return {"scale": 1.0 / divisor}


def granite_of(fields: Fields) -> Family:
    """Granite with its factor of what sublayers add."""
    factor = fields.number("residual_multiplier", 1.0)
    if factor == 0.0:
        raise unsupported("residual_multiplier", factor, "choose another number than 0")
    return GRANITE.but(times(ADDED, factor))


GRANITE = LLAMA.but(config=LLAMA_CONFIG.but(granite_fields), lm=LMNames(config=divided_logits), of=granite_of)

#: ESM C divides what sublayers add by the square root of its layers in this number.
ESMC_LAYERS = 36


def esmc_of(fields: Fields) -> Family:
    """ESM C with the factor that follows from its number of layers."""
    return ESMC.but(times(ADDED, (ESMC_LAYERS / fields.layers()) ** 0.5))


#: EvolutionaryScale 2024: an encoder of proteins of Llama's parts with LayerNorm, on all of q and k, too. The norms of
#: q and k and the last one have no bias.
ESMC = LLAMA.but(
    {f"{norm}.bias": NO_BIAS for norm in ("layers.{l}.attention.q_norm", "layers.{l}.attention.k_norm", "final_norm")},
    config=LLAMA_CONFIG.but(
        norm_kind="layer", norm_bias=True, norm_eps=1e-5, qk_norm="full", causal=False
    ).taking(
        vocab_size=64, hidden_size=2560, intermediate_size=6912, num_hidden_layers=80, num_attention_heads=40,
        pad_token_id=1,
    ),
    prefixes=("esmc.", ""),
    head=HeadNames(
        config=lambda fields: MLMHeadConfig("gelu", 1e-5, tied=False),
        dense="lm_head.dense",
        norm="lm_head.layer_norm",
        bias=("lm_head.decoder.bias",),
        table="lm_head.decoder.weight",
    ),
    classifiers={
        "sequence": ClassifierNames(
            out="classifier.out_proj", dense="classifier.dense", options=lambda fields: {"activation": "tanh"}
        ),
        "token": ClassifierNames("score"),
    },
    dropped=HEADS_DROPPED | HEADS,
    lm=None,
    of=esmc_of,
)  # fmt: skip


def experts(count: str, width: str = "intermediate_size", renormalised: bool | None = None) -> Any:
    """A reader of a mixture of experts. count, width: fields of the number of experts, and of the neurons of each;
    renormalised: None where norm_topk_prob says it."""

    def read(fields: Fields) -> dict[str, Any]:
        summed = fields.flag("norm_topk_prob", False) if renormalised is None else renormalised
        found = Experts(fields.integer(count), fields.integer("num_experts_per_tok"), summed)
        return {"experts": found, "d_ffn": found.count * fields.integer(width), "ffn_bias": False}

    return read


def mixed(at: str, maps: str) -> dict[str, str | Part]:
    """A mixture of experts on disk. at: its place in a layer; maps: of the gate, up and down, for each expert."""
    ours, axes = ("w_in", "w_gate", "w_out"), (0, 0, 1)
    return {"layers.{l}.ffn.router.weight": f"{LAYER}.{at}.gate.weight"} | {
        f"layers.{{l}}.ffn.{one}.weight": Part(f"{LAYER}.{at}.experts.{{e}}.{theirs}.weight", joined=axis)
        for one, theirs, axis in zip(ours, maps.split(), axes, strict=True)
    }


#: Qwen3's experts and OLMoE's.
MIXED = LLAMA.but(mixed("mlp", "gate_proj up_proj down_proj"))
MISTRAL_CONFIG = LLAMA_CONFIG.but(window_everywhere)
QWEN_CONFIG = LLAMA_CONFIG.but(late_windows).taking(sliding_window=4096, num_key_value_heads=32)
GEMMA = LLAMA.but(less_one(NORMS), config=GEMMA_CONFIG.taking(num_key_value_heads=16))
GEMMA2 = LLAMA.but(
    less_one(FOUR_NORMS),
    lm=LMNames(config=final_cap),
    config=GEMMA2_CONFIG.but(windows(every=2)).taking(num_key_value_heads=4, attn_logit_softcapping=50.0),
)
GEMMA3 = GEMMA2.but(config=GEMMA2_CONFIG.but(gemma3_fields, qk_norm="head").taking(num_key_value_heads=4))
STARCODER2 = LLAMA.but(
    layer(LAYER, ffn="mlp.c_fc mlp.c_proj"),
    config=MISTRAL_CONFIG.but(
        norm_kind="layer",
        norm_bias=True,
        norm_eps=Key("norm_epsilon", 1e-5),
        gated=False,
        attention_bias=Key("use_bias", True),
        ffn_bias=Key("use_bias", True),
        activation=Key("hidden_act", "gelu_pytorch_tanh"),
    ).taking(num_key_value_heads=2),
)
#: Phi-1.5 and Phi-2 (Li et al. 2023): attention and FFN side by side, with one norm for both.
PHI = LLAMA.but(
    {
        **both("layers.{l}.attention.w_o", f"{LAYER}.self_attn.dense"),
        **layer(LAYER, ffn="mlp.fc1 mlp.fc2", norms="input_layernorm input_layernorm"),
        **both("final_norm", "final_layernorm"),
    },
    lm=LMNames(bias="lm_head.bias"),
    config=PLAIN.but(rotary_fields, parallel=True, activation=Key("hidden_act", "gelu_new"))
    .taking(partial_rotary_factor=0.5)
    .refusing(qk_layernorm=(False, "choose a model without norms on q and k")),
)


def unscaled_rotary(fields: Fields) -> dict[str, Any]:
    """Phi-3's positions, which no other scaling than "longrope" stretches, whatever name it has in the file."""
    for key in ("rope_scaling", "rope_parameters"):
        rope = fields.get(key)
        kind = rope.get("rope_type", rope.get("type", "default")) if isinstance(rope, dict) else "default"
        if kind != "default":
            raise unsupported(key, rope, "choose the checkpoint of 4,096 tokens, whose positions are not stretched")
    return rotary_fields(fields)


#: Phi-3 (Abdin et al. 2024): Llama's block with q, k and v in one weight, and the gate with the map next to it.
PHI3 = LLAMA.but(
    {**blocks(QKV, f"{LAYER}.self_attn.qkv_proj"), **blocks(IN_GATE, f"{LAYER}.mlp.gate_up_proj")},
    config=MISTRAL_CONFIG.but(unscaled_rotary, attention_bias=False, ffn_bias=False)
    .taking(rms_norm_eps=1e-5, pad_token_id=32_000)
    .refusing(
        num_key_value_heads=(
            lambda fields: fields.integer("num_attention_heads"),
            "choose a checkpoint with keys and values for each head, as Phi-3-mini has them",
        )
    ),
)

NEOX_LAYER = {
    **blocks(QKV, f"{LAYER}.attention.query_key_value", per_head=True),
    **both("layers.{l}.attention.w_o", f"{LAYER}.attention.dense"),
    **layer(LAYER, ffn="mlp.dense_h_to_4h mlp.dense_4h_to_h", norms="input_layernorm post_attention_layernorm"),
}
#: Black et al. 2022, and Pythia (Biderman et al. 2023): parallel sublayers, partial rotary positions.
NEOX = Family(
    config=PLAIN.but(
        rotary_fields, parallel=Key("use_parallel_residual", True), attention_bias=Key("attention_bias", True)
    )
    .taking(partial_rotary_factor=0.25)
    .renaming(rotary_pct="partial_rotary_factor", rotary_emb_base="rope_theta"),
    names={"embedding.tokens.weight": "embed_in.weight", **NEOX_LAYER, **both("final_norm", "final_layer_norm")},
    prefixes=("gpt_neox.", ""),
    lm=LMNames("embed_out.weight"),
    dropped=HEADS | {r"layers\.\d+\.attention\.(bias|masked_bias)": ""},
)  # fmt: skip
#: Scao et al. 2022: ALiBi, and a norm after the embeddings. Its inputs have no limit; it was trained on 2,048 tokens.
BLOOM = Family(
    config=STANDARD.but(
        n_layers=Key("n_layer"), n_heads=Key("n_head"), d_ffn=lambda fields: 4 * fields.integer("hidden_size"),
        max_positions=Key("seq_length", 2048), norm_placement="pre", norm_eps=Key("layer_norm_epsilon", 1e-5),
        position="alibi", causal=True, activation="gelu_rounded", dropout=Key("hidden_dropout", 0.0),
        attention_dropout=Key("attention_dropout", 0.0), pad_id=Key("pad_token_id", 3),
    ).refusing(
        apply_residual_connection_post_layernorm=(False, "choose a model whose residual stream is not normed")
    ).renaming(n_embed="hidden_size"),
    names={
        "embedding.tokens.weight": "word_embeddings.weight",
        **both("embedding.norm", "word_embeddings_layernorm"),
        **blocks(QKV, "h.{l}.self_attention.query_key_value", per_head=True),
        **both("layers.{l}.attention.w_o", "h.{l}.self_attention.dense"),
        **layer("h.{l}", ffn="mlp.dense_h_to_4h mlp.dense_4h_to_h", norms="input_layernorm post_attention_layernorm"),
        **both("final_norm", "ln_f"),
    },
    prefixes=("transformer.", ""),
    dropped=HEADS,
    lm=LMNames(),
)  # fmt: skip


def rows_before(fields: Fields) -> dict[str, Any]:
    """The tables of positions of OPT and BART have two rows before the first."""
    return {"max_positions": fields.integer("max_position_embeddings", 1024) + 2, "position_offset": 2}


#: Zhang et al. 2022.
OPT = Family(
    config=PLAIN.but(
        rows_before, d_ffn=Key("ffn_dim"), norm_eps=1e-5, activation=Key("activation_function", "relu"),
        pad_id=Key("pad_token_id", 1),
    ).refusing(
        do_layer_norm_before=(True, "choose a model with do_layer_norm_before=true"),
        _remove_final_layer_norm=(False, "choose a model with a norm at its end"),
        enable_bias=(True, "choose a model with biases"),
        layer_norm_elementwise_affine=(True, "choose a model whose norms have gains"),
        word_embed_proj_dim=(lambda fields: fields.integer("hidden_size"), "choose a model without a projection"),
    ),
    names={
        "embedding.tokens.weight": "embed_tokens.weight",
        "embedding.positions.table.weight": "embed_positions.weight",
        **layer(
            LAYER, "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj", "fc1 fc2",
            "self_attn_layer_norm final_layer_norm",
        ),
        **both("final_norm", "final_layer_norm"),
    },
    prefixes=("model.decoder.", "decoder."),
    dropped=HEADS,
    lm=LMNames(),
)  # fmt: skip


FAMILIES = {
    "bloom": BLOOM,
    "esmc": ESMC,
    # Boizard et al. 2025: Llama's block, and every token attends to every token.
    "eurobert": LLAMA.but(config=LLAMA_CONFIG.but(causal=False).taking(rms_norm_eps=1e-5, pad_token_id=128_001)),
    "gemma": GEMMA,
    "gemma2": GEMMA2,
    "gemma3_text": GEMMA3,
    "gpt_neox": NEOX,
    "granite": GRANITE,
    "llama": LLAMA,
    # 2024: windows in the layers that layer_types names.
    "ministral": LLAMA.but(config=LLAMA_CONFIG.but(windows())),
    "mistral": LLAMA.but(config=MISTRAL_CONFIG.taking(sliding_window=4096, num_key_value_heads=8)),
    # Jiang et al. 2024. In memory it has the names of Qwen3's experts.
    "mixtral": MIXED.but(
        mixed("block_sparse_moe", "w1 w3 w2"),
        config=MISTRAL_CONFIG.but(
            experts("num_local_experts", renormalised=True), partial(rotary_fields, default=1_000_000.0)
        ).taking(num_key_value_heads=8, rms_norm_eps=1e-5, num_local_experts=8, num_experts_per_tok=2),
        renamed=(
            (r"(.*)\.mlp\.gate\.weight", r"\1.block_sparse_moe.gate.weight"),
            (r"(.*)\.mlp\.(experts\.\d+)\.gate_proj\.weight", r"\1.block_sparse_moe.\2.w1.weight"),
            (r"(.*)\.mlp\.(experts\.\d+)\.up_proj\.weight", r"\1.block_sparse_moe.\2.w3.weight"),
            (r"(.*)\.mlp\.(experts\.\d+)\.down_proj\.weight", r"\1.block_sparse_moe.\2.w2.weight"),
        ),
    ),
    # Karpathy 2025: norms without gains, on q and k too, and after the embeddings.
    "nanochat": LLAMA.but(
        layer(LAYER, ffn="mlp.fc1 mlp.fc2"),
        config=LLAMA_CONFIG.but(
            norm_gain=False,
            qk_norm="head",
            rotary_reversed=True,
            embedding_norm=True,
            gated=False,
            ffn_bias=False,
            activation=Key("hidden_act", "relu2"),
        ).taking(pad_token_id=1),
        lm=LMNames(config=partial(final_cap, most=15.0)),
    ),
    # Muennighoff et al. 2024.
    "olmoe": MIXED.but(
        config=LLAMA_CONFIG.but(experts("num_experts"), qk_norm="full")
        .taking(rms_norm_eps=1e-5, num_experts=64, num_experts_per_tok=8, pad_token_id=1)
        .refusing(clip_qkv=(None, "choose a model that does not clip q, k and v"))
        .renaming(num_local_experts="num_experts"),
    ),
    "opt": OPT,
    "phi": PHI,
    "phi3": PHI3,
    "qwen2": LLAMA.but(config=QWEN_CONFIG.but(qkv_bias=True)),
    "qwen3": LLAMA.but(config=QWEN_CONFIG.but(qk_norm="head").taking(head_dim=128)),
    "qwen3_moe": MIXED.but(
        config=LLAMA_CONFIG.but(experts("num_local_experts", "moe_intermediate_size"), qk_norm="head")
        .taking(num_key_value_heads=4, moe_intermediate_size=768, num_local_experts=128, num_experts_per_tok=8)
        .refusing(
            mlp_only_layers=([], "choose a model with experts in each layer"),
            decoder_sparse_step=(1, "choose a model with experts in each layer"),
            use_sliding_window=(False, "choose a model without windows"),
        )
        .renaming(num_experts="num_local_experts"),
    ),
    "starcoder2": STARCODER2,
    # EuroBERT with windows, whose size is a radius that includes its ends.
    "ultrabert": LLAMA.but(
        config=LLAMA_CONFIG.but(ultrabert_rotary, windows(every=3, size=128, radius=True), causal=False)
    ),
}
