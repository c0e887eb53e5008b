"""Llama's block (Touvron et al. 2023) and those after it: RMSNorm, rotary positions, SwiGLU, grouped-query attention.

Decoders, which attend to earlier tokens only, and encoders of the same parts (EuroBERT, EmbeddingGemma). What a decoder
predicts next is left out: here it is an encoder of texts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from encoder.load.families.family import Family, Fields, Part, both, unsupported, with_defaults
from encoder.load.families.rotary import FULL, SLIDING, layer_kinds, rotary_fields
from encoder.model.config import EncoderConfig


def llama_fields(fields: Fields, **more: Any) -> dict[str, Any]:
    """The fields that all of them share; `more` overrides them."""
    fields.check_is_encoder()
    fields.only("pretraining_tp", 1, "choose a checkpoint whose matrices are whole")
    n_heads, width = fields.integer("num_attention_heads"), fields.integer("hidden_size")
    if n_heads < 1:
        raise unsupported("num_attention_heads", n_heads, "choose 1 or more")
    d_head = width // n_heads if fields.get("head_dim") is None else fields.integer("head_dim")
    shared = n_heads if fields.get("num_key_value_heads") is None else fields.integer("num_key_value_heads")
    biased = fields.flag("attention_bias", False)
    found = {
        "vocab_size": fields.integer("vocab_size"),
        "d_model": width,
        "n_layers": fields.layers(),
        "n_heads": n_heads,
        "n_kv_heads": shared,
        "d_ffn": fields.integer("intermediate_size"),
        "d_head": d_head,
        "max_positions": fields.integer("max_position_embeddings"),
        "norm_kind": "rms",
        "norm_placement": "pre",
        "norm_bias": False,
        "embedding_norm": False,
        "final_norm": True,
        "norm_eps": fields.number("rms_norm_eps", 1e-6),
        "causal": True,
        "activation": fields.activation("hidden_act", "silu"),
        "gated": True,
        "attention_bias": biased,
        "ffn_bias": fields.flag("mlp_bias", False),
        "attention_dropout": fields.number("attention_dropout", 0.0),
        "pad_id": fields.pad_id(),
    }
    if "position" not in more:
        found |= rotary_fields(fields, d_head)
    return found | more


def sliding(fields: Fields, kinds: list[str], default: int = 4096) -> tuple[int | None, ...]:
    """The window of each layer. A causal window of n tokens has the token itself and n - 1 before it."""
    size = fields.integer("sliding_window", default) if SLIDING in kinds else 1
    return tuple(size - 1 if kind == SLIDING else None for kind in kinds)


def mistral_fields(fields: Fields) -> dict[str, Any]:
    """Mistral (Jiang et al. 2023): a window in each layer, where config.json has one."""
    size = fields.get("sliding_window")
    window = None if size is None else fields.integer("sliding_window") - 1
    return llama_fields(fields, attention_window=window)


def qwen_fields(fields: Fields, **more: Any) -> dict[str, Any]:
    """Qwen2 and Qwen3: windows only where use_sliding_window says so, from layer max_window_layers on."""
    kinds = [FULL] * fields.layers()
    if fields.flag("use_sliding_window", False) and fields.get("sliding_window") is not None:
        first = fields.integer("max_window_layers", 28)
        kinds = layer_kinds(fields, [SLIDING if layer >= first else FULL for layer in range(len(kinds))])
    return llama_fields(fields, attention_window=sliding(fields, kinds), **more)


def gemma_fields(fields: Fields, **more: Any) -> dict[str, Any]:
    """Gemma (2024): token vectors times sqrt(D), GELU in the gate."""
    named = "hidden_activation" if fields.get("hidden_activation") is not None else "hidden_act"
    scale = fields.integer("hidden_size") ** 0.5
    return llama_fields(fields, embedding_scale=scale, activation=fields.activation(named, "gelu_pytorch_tanh"), **more)


def gemma2_fields(fields: Fields, **more: Any) -> dict[str, Any]:
    """Gemma 2: four norms a layer, a cap on the scores, windows in every second layer."""
    kinds = layer_kinds(fields, [FULL if layer % 2 else SLIDING for layer in range(fields.layers())])
    cap = fields.get("attn_logit_softcapping")
    scalar = fields.number("query_pre_attn_scalar", 256)
    if scalar <= 0:
        raise unsupported("query_pre_attn_scalar", scalar, "choose a number above 0")
    found = {
        "output_norms": True,
        "attention_window": sliding(fields, kinds),
        "score_cap": None if cap is None else fields.number("attn_logit_softcapping", 50.0),
        "attention_scale": scalar**-0.5,
    }
    return gemma_fields(fields, **found | more)


def gemma3_fields(fields: Fields) -> dict[str, Any]:
    """Gemma 3 (2025): norms on q and k, two rotary bases. use_bidirectional_attention makes an encoder of it
    (EmbeddingGemma); its window of n tokens then reaches n // 2 to each side."""
    every = fields.integer("sliding_window_pattern", fields.integer("_sliding_window_pattern", 6))
    if every < 1:
        raise unsupported("sliding_window_pattern", every, "specify 1 or more")
    kinds = layer_kinds(fields, [SLIDING if (layer + 1) % every else FULL for layer in range(fields.layers())])
    both_ways = fields.flag("use_bidirectional_attention", False)
    d_head = fields.integer("head_dim", 256)
    bases = {FULL: ("rope_theta", 1_000_000.0), SLIDING: ("rope_local_base_freq", 10_000.0)}
    rotary = rotary_fields(fields, d_head, kinds, bases)
    window = sliding(fields, kinds)
    if both_ways:
        half = fields.integer("sliding_window", 4096) // 2
        window = tuple(None if one is None else half for one in window)
    more = {"d_head": d_head, "qk_norm": "head", "attention_window": window, "causal": not both_ways, **rotary}
    return gemma2_fields(fields, **more)


LAYER = "layers.{l}"
ATTENTION = {
    **both("layers.{l}.attention.w_q", f"{LAYER}.self_attn.q_proj"),
    **both("layers.{l}.attention.w_k", f"{LAYER}.self_attn.k_proj"),
    **both("layers.{l}.attention.w_v", f"{LAYER}.self_attn.v_proj"),
    **both("layers.{l}.attention.w_o", f"{LAYER}.self_attn.o_proj"),
}
FFN = {
    **both("layers.{l}.ffn.w_in", f"{LAYER}.mlp.gate_proj"),
    **both("layers.{l}.ffn.w_gate", f"{LAYER}.mlp.up_proj"),
    **both("layers.{l}.ffn.w_out", f"{LAYER}.mlp.down_proj"),
}
NORMS = {
    "layers.{l}.attention_norm": f"{LAYER}.input_layernorm",
    "layers.{l}.ffn_norm": f"{LAYER}.post_attention_layernorm",
    "layers.{l}.attention.q_norm": f"{LAYER}.self_attn.q_norm",
    "layers.{l}.attention.k_norm": f"{LAYER}.self_attn.k_norm",
    "final_norm": "norm",
}
#: Gemma 2's four norms.
FOUR_NORMS = NORMS | {
    "layers.{l}.attention_out_norm": f"{LAYER}.post_attention_layernorm",
    "layers.{l}.ffn_norm": f"{LAYER}.pre_feedforward_layernorm",
    "layers.{l}.ffn_out_norm": f"{LAYER}.post_feedforward_layernorm",
}


def gains(norms: dict[str, str], offset: float = 0.0) -> dict[str, str | Part]:
    """The gains of norms. Gemma saves each gain minus 1, so that `offset` is 1."""
    return {f"{ours}.weight": Part(f"{theirs}.weight", offset=offset) for ours, theirs in norms.items()}


def family(config: Callable[[Fields], dict[str, Any]], norms: dict[str, str | Part]) -> Family:
    """A family with Llama's names."""
    return Family(
        config=lambda fields: EncoderConfig(**config(fields)),
        names={"embedding.tokens.weight": "embed_tokens.weight", **ATTENTION, **FFN, **norms},
        prefixes=("model.", ""),
        dropped={
            r"(model\.)?lm_head\.(weight|bias)": "a head that predicts the next token",
            r"score\.weight": "a classification head",
            r"(classifier|dense|decoder)\.[\w.]+": "a head",
            r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq": "",
        },
    )


LLAMA = family(llama_fields, gains(NORMS))
MISTRAL = family(with_defaults(mistral_fields, sliding_window=4096, num_key_value_heads=8), gains(NORMS))
QWEN2 = family(
    with_defaults(lambda fields: qwen_fields(fields, qkv_bias=True), sliding_window=4096, num_key_value_heads=32),
    gains(NORMS),
)
QWEN3 = family(
    with_defaults(
        lambda fields: qwen_fields(fields, qk_norm="head"), sliding_window=4096, num_key_value_heads=32, head_dim=128
    ),
    gains(NORMS),
)
GEMMA = family(with_defaults(gemma_fields, head_dim=256, num_key_value_heads=16), gains(NORMS, 1.0))
GEMMA2 = family(
    with_defaults(gemma2_fields, head_dim=256, num_key_value_heads=4, attn_logit_softcapping=50.0),
    gains(FOUR_NORMS, 1.0),
)
GEMMA3 = family(with_defaults(gemma3_fields, num_key_value_heads=4), gains(FOUR_NORMS, 1.0))
#: Boizard et al. 2025: Llama's block, and every token attends to every token.
EUROBERT = family(
    with_defaults(lambda fields: llama_fields(fields, causal=False), rms_norm_eps=1e-5, pad_token_id=128_001),
    gains(NORMS),
)


def ministral_fields(fields: Fields) -> dict[str, Any]:
    """Ministral (2024): windows in the layers that layer_types names."""
    kinds = layer_kinds(fields, [SLIDING] * fields.layers())
    return llama_fields(fields, attention_window=sliding(fields, kinds))


def ultrabert_fields(fields: Fields) -> dict[str, Any]:
    """UltraBERT: EuroBERT with windows, whose size is a radius that includes its ends."""
    kinds = layer_kinds(fields, [SLIDING if (layer + 1) % 3 else FULL for layer in range(fields.layers())])
    d_head = fields.integer("hidden_size") // max(1, fields.integer("num_attention_heads"))
    d_head = d_head if fields.get("head_dim") is None else fields.integer("head_dim")
    bases = {FULL: ("rope_theta", 2_560_000.0), SLIDING: ("rope_theta", 10_000.0)}
    size = fields.integer("sliding_window", 128)
    window = tuple(size if kind == SLIDING else None for kind in kinds)
    return llama_fields(fields, causal=False, attention_window=window, **rotary_fields(fields, d_head, kinds, bases))


MINISTRAL = family(ministral_fields, gains(NORMS))
ULTRABERT = family(ultrabert_fields, gains(NORMS))


def starcoder2_fields(fields: Fields) -> dict[str, Any]:
    """StarCoder2 (Lozhkov et al. 2024): LayerNorm and a feed-forward layer without a gate."""
    biased = fields.flag("use_bias", True)
    more = {
        "norm_kind": "layer",
        "norm_bias": True,
        "norm_eps": fields.number("norm_epsilon", 1e-5),
        "gated": False,
        "attention_bias": biased,
        "ffn_bias": biased,
        "activation": fields.activation("hidden_act", "gelu_pytorch_tanh"),
    }
    return mistral_fields(fields) | more


def norms_with_bias(names: dict[str, str]) -> dict[str, str | Part]:
    """Gains and biases of norms."""
    return {key: value for ours, theirs in names.items() for key, value in both(ours, theirs).items()}


STARCODER2 = family(
    with_defaults(starcoder2_fields, num_key_value_heads=2),
    norms_with_bias(NORMS)
    | both("layers.{l}.ffn.w_in", f"{LAYER}.mlp.c_fc")
    | both("layers.{l}.ffn.w_out", f"{LAYER}.mlp.c_proj"),
)


def plain_fields(fields: Fields, **more: Any) -> dict[str, Any]:
    """Decoders with LayerNorm and biases, an FFN without a gate: Phi, GPT-NeoX, OPT."""
    found = {
        "norm_kind": "layer",
        "norm_bias": True,
        "norm_eps": fields.number("layer_norm_eps", 1e-5),
        "gated": False,
        "attention_bias": True,
        "ffn_bias": True,
        "activation": fields.activation("hidden_act"),
    }
    return llama_fields(fields, **found | more)


def phi_fields(fields: Fields) -> dict[str, Any]:
    """Phi-1.5 and Phi-2 (Li et al. 2023): attention and FFN side by side, with one norm for both."""
    fields.only("qk_layernorm", False, "choose a model without norms on q and k")
    plain = Fields(fields)
    plain.setdefault("partial_rotary_factor", 0.5)
    return plain_fields(plain, parallel=True, activation=fields.activation("hidden_act", "gelu_new"))


PHI_NORM = f"{LAYER}.input_layernorm"
PHI = family(
    phi_fields,
    {
        **both("layers.{l}.attention.w_o", f"{LAYER}.self_attn.dense"),
        **both("layers.{l}.attention_norm", PHI_NORM), **both("layers.{l}.ffn_norm", PHI_NORM),
        **both("layers.{l}.ffn.w_in", f"{LAYER}.mlp.fc1"), **both("layers.{l}.ffn.w_out", f"{LAYER}.mlp.fc2"),
        **both("final_norm", "final_layernorm"),
    },
)  # fmt: skip


def neox_fields(fields: Fields) -> dict[str, Any]:
    """GPT-NeoX and Pythia (Black et al. 2022, Biderman et al. 2023): parallel sublayers, partial rotary positions."""
    plain = Fields(fields)
    plain.setdefault("partial_rotary_factor", fields.number("rotary_pct", 0.25))
    plain.setdefault("rope_theta", fields.number("rotary_emb_base", 10_000.0))
    return plain_fields(
        plain, parallel=fields.flag("use_parallel_residual", True), attention_bias=fields.flag("attention_bias", True)
    )


def heads_apart(theirs: str) -> dict[str, str | Part]:
    """q, k and v of each head, side by side in one weight."""
    return {
        f"layers.{{l}}.attention.w_{one}.{kind}": Part(f"{theirs}.{kind}", index, 3, per_head=True)
        for index, one in enumerate("qkv")
        for kind in ("weight", "bias")
    }


NEOX_NAMES = {
    **both("layers.{l}.attention_norm", f"{LAYER}.input_layernorm"),
    **both("layers.{l}.ffn_norm", f"{LAYER}.post_attention_layernorm"),
    **heads_apart(f"{LAYER}.attention.query_key_value"),
    **both("layers.{l}.attention.w_o", f"{LAYER}.attention.dense"),
    **both("layers.{l}.ffn.w_in", f"{LAYER}.mlp.dense_h_to_4h"),
    **both("layers.{l}.ffn.w_out", f"{LAYER}.mlp.dense_4h_to_h"),
}
NEOX = Family(
    config=lambda fields: EncoderConfig(**neox_fields(fields)),
    names={"embedding.tokens.weight": "embed_in.weight", **NEOX_NAMES, **both("final_norm", "final_layer_norm")},
    prefixes=("gpt_neox.", ""),
    dropped={
        r"embed_out\.weight": "a head that predicts the next token",
        r"(score|classifier|qa_outputs)\.(weight|bias)": "a head",
        r"layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)": "",
    },
)


def bloom_config(fields: Fields) -> EncoderConfig:
    """BLOOM (Scao et al. 2022): ALiBi, and a norm after the embeddings. Its inputs have no limit; trained on 2,048."""
    fields.check_is_encoder()
    fields.only("apply_residual_connection_post_layernorm", False, "choose a model whose residual stream is not normed")
    width = fields.integer("hidden_size", fields.integer("n_embed", 0))
    return EncoderConfig(
        vocab_size=fields.integer("vocab_size"),
        d_model=width,
        n_layers=fields.layers("n_layer"),
        n_heads=fields.integer("n_head"),
        d_ffn=4 * width,
        max_positions=fields.integer("seq_length", 2048),
        norm_placement="pre",
        final_norm=True,
        norm_eps=fields.number("layer_norm_epsilon", 1e-5),
        position="alibi",
        causal=True,
        activation="gelu_tanh",
        dropout=fields.number("hidden_dropout", 0.0),
        attention_dropout=fields.number("attention_dropout", 0.0),
        pad_id=fields.pad_id(default=3),
    )


def _bloom(name: str) -> str:
    """GPT-NeoX's name -> BLOOM's."""
    return name.replace("layers.", "h.").replace(".attention.", ".self_attention.")


BLOOM = Family(
    config=bloom_config,
    names={
        "embedding.tokens.weight": "word_embeddings.weight",
        **both("embedding.norm", "word_embeddings_layernorm"),
        **{ours: dataclasses.replace(theirs, name=_bloom(theirs.name)) if isinstance(theirs, Part) else _bloom(theirs)
           for ours, theirs in NEOX_NAMES.items()},
        **both("final_norm", "ln_f"),
    },
    prefixes=("transformer.", ""),
    dropped={r"lm_head\.weight": "a head that predicts the next token", r"score\.weight": "a classification head"},
)  # fmt: skip


def opt_fields(fields: Fields) -> dict[str, Any]:
    """OPT (Zhang et al. 2022): learned positions, whose table has two rows before the first."""
    for name, wanted in (("do_layer_norm_before", True), ("_remove_final_layer_norm", False), ("enable_bias", True)):
        fields.only(name, wanted, f"choose a model with {name}={str(wanted).lower()}")
    fields.only("layer_norm_elementwise_affine", True, "choose a model whose norms have gains")
    fields.only("word_embed_proj_dim", fields.integer("hidden_size"), "choose a model without a projection")
    plain = Fields(fields | {"intermediate_size": fields.integer("ffn_dim")})
    return plain_fields(
        plain,
        position="learned",
        max_positions=fields.integer("max_position_embeddings") + 2,
        position_offset=2,
        norm_eps=1e-5,
        activation=fields.activation("activation_function", "relu"),
        pad_id=fields.pad_id(default=1),
    )


OPT = Family(
    config=lambda fields: EncoderConfig(**opt_fields(fields)),
    names={
        "embedding.tokens.weight": "embed_tokens.weight",
        "embedding.positions.table.weight": "embed_positions.weight",
        **ATTENTION,
        **both("layers.{l}.attention.w_o", f"{LAYER}.self_attn.out_proj"),
        **both("layers.{l}.attention_norm", f"{LAYER}.self_attn_layer_norm"),
        **both("layers.{l}.ffn.w_in", f"{LAYER}.fc1"),
        **both("layers.{l}.ffn.w_out", f"{LAYER}.fc2"),
        **both("layers.{l}.ffn_norm", f"{LAYER}.final_layer_norm"),
        **both("final_norm", "final_layer_norm"),
    },
    prefixes=("model.decoder.", "decoder."),
    dropped={r"lm_head\.weight": "a head that predicts the next token", r"(score|qa_outputs)\..*": "a head"},
)


def gpt2_config(fields: Fields) -> EncoderConfig:
    """GPT-2 (Radford et al. 2019): pre-norm, learned positions, causal."""
    fields.check_is_encoder()
    fields.only("scale_attn_weights", True, "choose a model whose scores are scaled")
    fields.only("scale_attn_by_inverse_layer_idx", False, "choose a model whose layers have one scale")
    width = fields.integer("n_embd")
    return EncoderConfig(
        vocab_size=fields.integer("vocab_size"),
        d_model=width,
        n_layers=fields.layers("n_layer"),
        n_heads=fields.integer("n_head"),
        d_ffn=4 * width if fields.get("n_inner") is None else fields.integer("n_inner"),
        max_positions=fields.integer("n_positions", 1024),
        norm_placement="pre",
        embedding_norm=False,
        final_norm=True,
        norm_eps=fields.number("layer_norm_epsilon", 1e-5),
        causal=True,
        activation=fields.activation("activation_function", "gelu_new"),
        dropout=fields.number("resid_pdrop", 0.1),
        attention_dropout=fields.number("attn_pdrop", 0.1),
        pad_id=fields.pad_id(),
    )


def turned(ours: tuple[str, ...], theirs: str) -> dict[str, str | Part]:
    """Linear maps that are saved as [in, out], side by side."""
    return {
        f"{name}.{kind}": Part(f"{theirs}.{kind}", index, len(ours), transpose=True)
        for index, name in enumerate(ours)
        for kind in ("weight", "bias")
    }


GPT2 = Family(
    config=gpt2_config,
    names={
        "embedding.tokens.weight": "wte.weight",
        "embedding.positions.table.weight": "wpe.weight",
        **both("layers.{l}.attention_norm", "h.{l}.ln_1"),
        **turned(tuple(f"layers.{{l}}.attention.w_{one}" for one in "qkv"), "h.{l}.attn.c_attn"),
        **turned(("layers.{l}.attention.w_o",), "h.{l}.attn.c_proj"),
        **both("layers.{l}.ffn_norm", "h.{l}.ln_2"),
        **turned(("layers.{l}.ffn.w_in",), "h.{l}.mlp.c_fc"),
        **turned(("layers.{l}.ffn.w_out",), "h.{l}.mlp.c_proj"),
        **both("final_norm", "ln_f"),
    },
    prefixes=("transformer.", ""),
    dropped={
        r"lm_head\.weight": "a head that predicts the next token",
        r"score\.weight": "a classification head",
        r"h\.\d+\.attn\.(masked_)?bias": "",
    },
)
