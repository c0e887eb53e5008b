"""Models that translate and summarise: T5, BART and those after them, encoders and decoders."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from encoder.checkpoints.families.bert import full_attention, longformer_windows
from encoder.checkpoints.families.family import Family, LMNames
from encoder.checkpoints.families.llama import FOUR_NORMS, GEMMA2, GEMMA2_CONFIG, LAYER, less_one, rows_before, windows
from encoder.checkpoints.families.names import both, cross, layer
from encoder.checkpoints.families.parts import Part
from encoder.checkpoints.families.reader import PRE, STANDARD, Fields, Key, Reader, unsupported
from encoder.model.sines import sines_and_cosines

DECODER = {
    r"(model\.)?(decoder|lm_head|classification_head|qa_outputs|classifier|score)\..*": "the decoder and its heads",
    r"(model\.)?final_logits_bias|encoder\.embed_tokens\.weight": "",
}
#: Weights of the decoder that are elsewhere, too, or never used.
COPIES = {
    r"decoder\.embed_tokens\.weight": "",
    r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight": "",
}
NEXT_TO_DECODER = STANDARD.allowing("is_encoder_decoder")


def feed_forward_of(fields: Fields) -> str:
    """The name of the FFN. Where config.json has none, T5's has ReLU, and those of mT5 and UMT5 have a gate."""
    usual = "gated-gelu" if fields.get("model_type") in ("mt5", "umt5") else "relu"
    name = fields.get("feed_forward_proj", usual)
    if not isinstance(name, str):
        raise unsupported("feed_forward_proj", name, "specify the name of an activation")
    return name


def t5_fields(fields: Fields) -> dict[str, Any]:
    """What has a form of its own in T5's config.json. "gated-gelu" means the tanh form, as in the reference."""
    name = feed_forward_of(fields)
    named = Fields({"act": "gelu_new" if name == "gated-gelu" else name.removeprefix("gated-")})
    return {"activation": named.activation("act"), "gated": name.startswith("gated-")}


def scale_when_tied(fields: Fields) -> dict[str, Any]:
    """T5 scales the decoder's output before its map, v1.1 and mT5 do not, which config.json calls untied."""
    scaled = fields.flag("scale_decoder_outputs", fields.tied) and fields.get("model_type") != "mt5"
    return {"scale": max(1, fields.integer("d_model")) ** -0.5} if scaled else {}


BLOCK, D_BLOCK = "encoder.block.{l}.layer", "decoder.block.{l}.layer"
BIAS = "SelfAttention.relative_attention_bias.weight"
T5_LAYER = "SelfAttention.q SelfAttention.k SelfAttention.v SelfAttention.o"


def t5_stack(at: str) -> dict[str, str | Part]:
    """What the names of T5's encoder and decoder share. at: what comes before each."""
    return {
        "embedding.tokens.weight": "shared.weight",
        "relative_bias.weight": f"{at}.block.0.layer.0.{BIAS}",
        "layers.{l}.attention.relative_bias.weight": f"{at}.block.{{l}}.layer.0.{BIAS}",
        **layer(f"{at}.block.{{l}}.layer.0", T5_LAYER),
        **both("final_norm", f"{at}.final_layer_norm"),
    }


#: Raffel et al. 2020, mT5 (Xue et al. 2021) and UMT5 (2023). Their biases by distance have no limit: where config.json
#: has none, 4,096 tokens are taken.
T5_PLAIN = Family(
    config=NEXT_TO_DECODER.but(
        t5_fields, d_model=Key("d_model"), n_layers=Key("num_layers"), n_heads=Key("num_heads"), d_ffn=Key("d_ff"),
        d_head=Key("d_kv"), max_positions=Key("n_positions", 4096), norm_eps=Key("layer_norm_epsilon", 1e-6),
        norm_kind="rms", norm_bias=False, position="none", attention_scale=1.0, attention_bias=False, ffn_bias=False,
        relative_buckets=Key("relative_attention_num_buckets", 32), dropout=Key("dropout_rate", 0.1),
        relative_max_distance=Key("relative_attention_max_distance", 128), attention_dropout=Key("dropout_rate", 0.1),
        relative_per_layer=lambda fields: fields.get("model_type") == "umt5", **PRE,
    ),
    names={
        **t5_stack("encoder"),
        **layer(f"{BLOCK}.1", ffn="DenseReluDense.wi DenseReluDense.wo"),
        **layer(BLOCK, norms="0.layer_norm 1.layer_norm"),
    },
    prefixes=("", "transformer."),
    dropped=DECODER,
)  # fmt: skip
T5_PLAIN = T5_PLAIN.but(
    lm=LMNames(config=scale_when_tied),
    decoder=Family(
        config=T5_PLAIN.config.but(
            n_layers=lambda fields: fields.unless_null("num_decoder_layers", fields.layers("num_layers")), causal=True,
            memory_width=Key("d_model"), relative_one_sided=True,
        ),
        names={
            **t5_stack("decoder"),
            **cross(layer(f"{D_BLOCK}.1", T5_LAYER.replace("Self", "EncDec"), norms="layer_norm")),
            **layer(f"{D_BLOCK}.2", ffn="DenseReluDense.wi DenseReluDense.wo"),
            **layer(D_BLOCK, norms="0.layer_norm 2.layer_norm"),
        },
        dropped=COPIES,
    ),
)  # fmt: skip
GATED = "DenseReluDense.wi_0 DenseReluDense.wi_1 DenseReluDense.wo"
#: Shazeer 2020: wi_0 has the activation.
T5_GATED = T5_PLAIN.but(
    layer(f"{BLOCK}.1", ffn=GATED),
    decoder=T5_PLAIN.decoder and T5_PLAIN.decoder.but(layer(f"{D_BLOCK}.2", ffn=GATED)),
)
T5 = T5_PLAIN.but(of=lambda fields: T5_GATED if feed_forward_of(fields).startswith("gated-") else T5_PLAIN)


def scale_of(fields: Fields) -> float:
    """The factor of the tokens' vectors."""
    return fields.integer("d_model") ** 0.5 if fields.flag("scale_embedding", False) else 1.0


def sines(fields: Fields) -> dict[str, Any]:
    """M2M100's sines count from the row after that of padding, and are not saved."""
    pad = fields.pad_id(default=1)
    return {"position": "sinusoidal", "sine_halves": True, "position_offset": pad + 1, "pad_position": pad}


MARIAN_CONFIG = NEXT_TO_DECODER.but(
    d_model=Key("d_model"),
    n_layers=Key("encoder_layers"),
    n_heads=Key("encoder_attention_heads"),
    d_ffn=Key("encoder_ffn_dim"),
    max_positions=Key("max_position_embeddings", 1024),
    norm_eps=1e-5,
    embedding_scale=scale_of,
    activation=Key("activation_function", "gelu"),
    dropout=Key("dropout", 0.1),
    attention_dropout=Key("attention_dropout", 0.0),
    pad_id=Key("pad_token_id", 58_100),
    embedding_norm=False,
)
#: What the decoder of a family has other than its encoder.
WRITES: dict[str, Any] = {
    "n_layers": Key("decoder_layers"), "n_heads": Key("decoder_attention_heads"), "d_ffn": Key("decoder_ffn_dim"),
    "causal": True, "memory_width": Key("d_model"),
}  # fmt: skip
BART_CONFIG = MARIAN_CONFIG.but(rows_before, pad_id=Key("pad_token_id", 1), embedding_norm=True)
BART_ATTENTION = "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj"


def bart_stack(at: str) -> dict[str, str | Part]:
    """The names of BART's encoder or decoder, of Whisper's, too. at: what comes before each."""
    return {
        "embedding.tokens.weight": "shared.weight",
        "embedding.positions.table.weight": f"{at}.embed_positions.weight",
        **both("embedding.norm", f"{at}.layernorm_embedding"),
        **layer(f"{at}.layers.{{l}}", BART_ATTENTION, "fc1 fc2", "self_attn_layer_norm final_layer_norm"),
        **both("final_norm", f"{at}.layer_norm"),
    }


#: Lewis et al. 2020.
BART = Family(config=BART_CONFIG, names=bart_stack("encoder"), prefixes=("model.", ""), dropped=DECODER)
BART_DECODER = bart_stack("decoder") | cross(
    layer("decoder.layers.{l}", BART_ATTENTION.replace("self", "encoder"), norms="encoder_attn_layer_norm")
)


def writing(config: Reader, sines: Callable[[int, int], Tensor] | None = None) -> Family:
    """A family of BART's names, encoder and decoder, whose config.json is read so. sines: `Family.sines`."""
    decoder = Family(config=config.but(**WRITES), names=BART_DECODER, dropped=COPIES, sines=sines)
    return BART.but(config=config, lm=LMNames(bias="final_logits_bias"), decoder=decoder, sines=sines)


LED_CONFIG = MARIAN_CONFIG.but(pad_id=Key("pad_token_id", 1), embedding_norm=True, embedding_scale=1.0)
LED_PLAIN = writing(LED_CONFIG.but(max_positions=Key("max_decoder_position_embeddings", 1024)))
#: Beltagy et al. 2020: BART's layers with Longformer's windows in the encoder. No token is global here.
LED = LED_PLAIN.but(
    layer(
        "encoder.layers.{l}.self_attn",
        "longformer_self_attn.query longformer_self_attn.key longformer_self_attn.value output",
    ),
    config=LED_CONFIG.but(longformer_windows, max_positions=Key("max_encoder_position_embeddings", 16_384)).renaming(
        encoder_layers="num_hidden_layers"
    ),
    prefixes=("led.", ""),
    dropped=DECODER
    | {r"encoder\.layers\.\d+\.self_attn\.\w+\.(query|key|value)_global\.(weight|bias)": "the maps of global tokens"},
)


def short_enough(fields: Fields) -> dict[str, Any]:
    """BigBird-Pegasus attends between some pairs of blocks in inputs that are longer."""
    return {"longest": full_attention(fields)["longest"]}


BIG_CONFIG = MARIAN_CONFIG.but(
    max_positions=Key("max_position_embeddings", 4096), pad_id=Key("pad_token_id", 0),
    activation=Key("activation_function", "gelu_new"), attention_bias=Key("use_bias", False), **PRE,
).taking(scale_embedding=True)  # fmt: skip
BIG_PLAIN = writing(BIG_CONFIG)
#: Zaheer et al. 2020: Pegasus with BigBird's attention. Its last norms have the name of the norm after the embeddings.
BIGBIRD_PEGASUS = BIG_PLAIN.but(
    {
        **layer("encoder.layers.{l}.self_attn", "self.query self.key self.value output"),
        **both("final_norm", "encoder.layernorm_embedding"),
    },
    config=BIG_CONFIG.but(short_enough),
    decoder=BIG_PLAIN.decoder and BIG_PLAIN.decoder.but(both("final_norm", "decoder.layernorm_embedding")),
)


def local_windows(fields: Fields) -> dict[str, Any]:
    """LongT5 (Guo et al. 2022) with its local attention: a token reaches this far to each side."""
    return {"attention_window": fields.integer("local_radius", 127, 1)}


def local(family: Family) -> Family:
    """LongT5 with either feed-forward layer of T5."""
    return family.but(
        layer(f"{BLOCK}.0", T5_LAYER.replace("Self", "LocalSelf"))
        | {
            "relative_bias.weight": f"encoder.block.0.layer.0.Local{BIAS}",
            "layers.{l}.attention.relative_bias.weight": f"{BLOCK}.0.Local{BIAS}",
        },
        config=family.config.but(local_windows).refusing(
            encoder_attention_type=("local", "choose a model without tokens that summarise blocks, as long-t5-local")
        ),
    )


LONGT5_PLAIN, LONGT5_GATED = local(T5_PLAIN), local(T5_GATED)
LONGT5 = LONGT5_PLAIN.but(
    of=lambda fields: LONGT5_GATED if feed_forward_of(fields).startswith("gated-") else LONGT5_PLAIN
)

#: Zhang et al. 2025: the encoder is Gemma 2 in which every token attends to every token.
T5GEMMA = GEMMA2.but(
    less_one(
        {
            **FOUR_NORMS,
            **both("layers.{l}.attention_norm", f"{LAYER}.pre_self_attn_layernorm"),
            **both("layers.{l}.attention_out_norm", f"{LAYER}.post_self_attn_layernorm"),
        }
    ),
    config=GEMMA2_CONFIG.but(windows(every=2, radius=True), causal=False)
    .taking(num_key_value_heads=4, attn_logit_softcapping=50.0)
    .within("encoder"),
    prefixes=("model.encoder.", "encoder."),
    dropped={
        r"(model\.)?(lm_head|score)\..*": "the decoder's heads",
        r"(model\.)?decoder\..*": "the decoder, whose cross-attention has norms on both sides",
    },
)

FAMILIES = {
    "bart": writing(BART_CONFIG),
    "bigbird_pegasus": BIGBIRD_PEGASUS,
    "led": LED,
    "longt5": LONGT5,
    # Fan et al. 2021, and NLLB (2022).
    "m2m_100": writing(
        MARIAN_CONFIG.but(
            sines, activation=Key("activation_function", "relu"), pad_id=Key("pad_token_id", 1), **PRE
        ).taking(scale_embedding=True)
    ),
    # Junczys-Dowmunt et al. 2018 (Opus-MT): post-norm, and sines that are saved as a table.
    "marian": writing(MARIAN_CONFIG, sines=sines_and_cosines),
    # Liu et al. 2020: pre-norm, with a norm after the embeddings and one at the end.
    "mbart": writing(BART_CONFIG.but(norm_placement="pre", final_norm=True)),
    "mt5": T5,
    # Zhang et al. 2020. Its sines are saved as a table.
    "pegasus": writing(MARIAN_CONFIG.but(pad_id=Key("pad_token_id", 0), **PRE), sines=sines_and_cosines),
    "t5": T5,
    "t5gemma": T5GEMMA,
    "umt5": T5,
}
