"""GPT-2 (Radford et al. 2019) and decoders with its names: GPT-J, GPT-Neo; MPT.

They have LayerNorm before each sublayer, and attend to earlier tokens only.
"""

from typing import Any

from encoder.checkpoints.families.family import Family, LMNames
from encoder.checkpoints.families.llama import HEADS
from encoder.checkpoints.families.names import QKV, blocks, both, layer
from encoder.checkpoints.families.reader import PRE, STANDARD, Fields, Key, unsupported

LAYER = "h.{l}"
#: The most layers of one pattern in GPT-Neo's config.json.
MOST_REPEATED = 1000


def inner_width(name: str, width: str) -> Any:
    """A reader of the number of neurons: the field `name`, or four for each number of the residual stream."""
    return lambda fields: fields.unless_null(name, 4 * fields.integer(width))


CONFIG = STANDARD.but(
    d_model=Key("n_embd"),
    n_layers=Key("n_layer"),
    n_heads=Key("n_head"),
    max_positions=Key("n_positions", 1024),
    d_ffn=inner_width("n_inner", "n_embd"),
    norm_eps=Key("layer_norm_epsilon", 1e-5),
    causal=True,
    activation=Key("activation_function", "gelu_new"),
    dropout=Key("resid_pdrop", 0.1),
    attention_dropout=Key("attn_pdrop", 0.1),
    **PRE,
)
NAMES = {
    "embedding.tokens.weight": "wte.weight",
    "embedding.positions.table.weight": "wpe.weight",
    **layer(LAYER, norms="ln_1 ln_2"),
    **both("final_norm", "ln_f"),
}
#: Linear maps are saved as [in, out].
GPT2 = Family(
    config=CONFIG.refusing(
        scale_attn_weights=(True, "choose a model whose scores are scaled"),
        scale_attn_by_inverse_layer_idx=(False, "choose a model whose layers have one scale"),
    ),
    names={
        **NAMES,
        **blocks(QKV, f"{LAYER}.attn.c_attn", transpose=True),
        **blocks(("layers.{l}.attention.w_o",), f"{LAYER}.attn.c_proj", transpose=True),
        **blocks(("layers.{l}.ffn.w_in",), f"{LAYER}.mlp.c_fc", transpose=True),
        **blocks(("layers.{l}.ffn.w_out",), f"{LAYER}.mlp.c_proj", transpose=True),
    },
    prefixes=("transformer.", ""),
    lm=LMNames(),
    dropped=HEADS | {r"h\.\d+\.attn\.(masked_)?bias": ""},
)
#: Wang and Komatsuzaki 2021: attention and FFN side by side with one norm, neighbours rotate together.
GPTJ = GPT2.but(
    layer(LAYER, "attn.q_proj attn.k_proj attn.v_proj attn.out_proj", "mlp.fc_in mlp.fc_out", "ln_1 ln_1"),
    config=CONFIG.but(
        parallel=True,
        position="rotary",
        rotary_interleaved=True,
        rotary_width=Key("rotary_dim", 64),
        attention_bias=False,
    ).taking(n_positions=2048, resid_pdrop=0.0, attn_pdrop=0.0),
    lm=LMNames(bias="lm_head.bias"),
)


def windows_by_pattern(fields: Fields) -> dict[str, Any]:
    """GPT-Neo's attention_types: patterns of "global" and "local" layers, each with its number of repetitions."""
    given: Any = fields.get("attention_types") or [[["global", "local"], 12]]
    kinds: list[Any] = []
    for item in given if isinstance(given, list) else [None]:
        if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], list) or type(item[1]) is not int:
            raise unsupported("attention_types", given, "specify patterns with their numbers of repetitions")
        kinds += item[0][:MOST_REPEATED] * min(max(item[1], 0), MOST_REPEATED)
    n_layers = fields.layers("num_layers")
    if len(kinds) != n_layers or not set(map(str, kinds)) <= {"global", "local"}:
        raise unsupported("attention_types", given, f"specify global or local for each of {n_layers} layers")
    reach = fields.integer("window_size", 256) - 1
    return {"attention_window": tuple(reach if kind == "local" else None for kind in kinds)}


#: Black et al. 2021: windows in every second layer, and scores that are not scaled.
GPT_NEO = GPT2.but(
    {
        **layer(
            LAYER,
            "attn.attention.q_proj attn.attention.k_proj attn.attention.v_proj attn.attention.out_proj",
            "mlp.c_fc mlp.c_proj",
        )
    },
    config=CONFIG.but(
        windows_by_pattern,
        d_model=Key("hidden_size"),
        n_layers=Key("num_layers"),
        n_heads=Key("num_heads"),
        max_positions=Key("max_position_embeddings", 2048),
        d_ffn=inner_width("intermediate_size", "hidden_size"),
        qkv_bias=False,
        attention_scale=1.0,
        dropout=Key("resid_dropout", 0.0),
        attention_dropout=Key("attention_dropout", 0.0),
    ),
    dropped=HEADS | {r"h\.\d+\.attn\.attention\.(masked_)?bias": ""},
)


def mpt_attention(fields: Fields) -> dict[str, Any]:
    """MPT's attn_config. Its slopes are ALiBi's, whatever alibi_bias_max says, as in transformers."""
    given = fields.get("attn_config") or {}
    if not isinstance(given, dict):
        raise unsupported("attn_config", given, "specify an object")
    inner = Fields(given)
    if inner.get("clip_qkv"):
        raise unsupported("attn_config.clip_qkv", inner["clip_qkv"], "choose a model that does not clip q, k and v")
    scale = None if inner.get("softmax_scale") is None else inner.number("softmax_scale", 1.0)
    return {"attention_scale": scale, "attention_dropout": inner.number("attn_pdrop", 0.0)}


#: MosaicML 2023: ALiBi, and no bias anywhere.
MPT = Family(
    config=STANDARD.but(
        mpt_attention,
        d_model=Key("d_model"),
        n_layers=Key("n_layers"),
        n_heads=Key("n_heads"),
        d_ffn=lambda fields: 4 * fields.integer("d_model"),
        max_positions=Key("max_seq_len", 2048),
        norm_eps=Key("layer_norm_epsilon", 1e-5),
        norm_bias=False,
        attention_bias=False,
        ffn_bias=False,
        position="alibi",
        causal=True,
        activation="gelu",
        dropout=Key("resid_pdrop", 0.0),
        **PRE,
    ),
    names={
        "embedding.tokens.weight": "wte.weight",
        **blocks(QKV, "blocks.{l}.attn.Wqkv"),
        **both("layers.{l}.attention.w_o", "blocks.{l}.attn.out_proj"),
        **layer("blocks.{l}", ffn="ffn.up_proj ffn.down_proj", norms="norm_1 norm_2"),
        **both("final_norm", "norm_f"),
    },
    prefixes=("transformer.", ""),
    lm=LMNames(),
    dropped=HEADS,
)


FAMILIES = {"gpt2": GPT2, "gpt_neo": GPT_NEO, "gptj": GPTJ, "mpt": MPT}
