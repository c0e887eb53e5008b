"""Conformers (Gulati et al. 2020): encoders of sound with a convolution in each layer."""

import dataclasses
from typing import Any

from encoder.checkpoints.families.family import Family
from encoder.checkpoints.families.names import blocks, both, layer, times
from encoder.checkpoints.families.parts import Part
from encoder.checkpoints.families.reader import SIGNAL, Fields, Key, unsupported
from encoder.checkpoints.families.sound import RATE, SOUND_CLASSIFIER, WAV2VEC2, convolutions_of
from encoder.inputs.sound import MOST_SECONDS
from encoder.model.conformer import Conformer
from encoder.model.distances import DistanceKeys
from encoder.model.sound_shapes import Frames

LAYER = "encoder.layers.{l}"
#: A linear map that is saved as a convolution over one token.
ONE_TOKEN = 1
COUNTED = {r"encoder\.layers\.\d+\.conv(_module)?\.(batch_)?norm\.num_batches_tracked": ""}


def convolution(at: str, norm: str) -> dict[str, str | Part]:
    """The convolution module. at: its place on disk; norm: the name of the norm inside it."""
    maps = {"w_in": "pointwise_conv1", "w_out": "pointwise_conv2"}
    ours = "layers.{l}.convolution"
    return {
        **{
            f"{ours}.{name}.{kind}": Part(f"{at}.{theirs}.{kind}", groups=ONE_TOKEN if kind == "weight" else 0)
            for name, theirs in maps.items()
            for kind in ("weight", "bias")
        },
        **both(f"{ours}.convolution", f"{at}.depthwise_conv"),
        **both(f"{ours}.norm", f"{at}.{norm}"),
        f"{ours}.norm.mean": f"{at}.{norm}.running_mean",
        f"{ours}.norm.variance": f"{at}.{norm}.running_var",
    }


def halved(first: str, second: str, maps: tuple[str, str], at: str = LAYER) -> dict[str, str | Part]:
    """Both feed-forward layers, of which half is added. maps: into the hidden layer and out of it; at: their place."""
    found: dict[str, str | Part] = {}
    for ours, theirs in (("first_ffn", first), ("ffn", second)):
        found |= both(f"layers.{{l}}.{ours}.w_in", f"{at}.{theirs}.{maps[0]}")
        found |= times(both(f"layers.{{l}}.{ours}.w_out", f"{at}.{theirs}.{maps[1]}"), 0.5)
    return found


def distances_of(fields: Fields, default: str) -> dict[str, Any]:
    """How a layer knows the distance of two tokens: position_embeddings_type."""
    kind = fields.get("position_embeddings_type", default)
    if kind == "rotary":
        return {"position": "rotary", "rotary_input": True, "rotary_base": fields.number("rotary_embedding_base", 1e4)}
    if kind == "relative":
        return {"position": "none", "distance_keys": DistanceKeys()}
    if kind == "relative_key" and default == kind:
        earlier = fields.integer("left_max_position_embeddings", 64)
        found = DistanceKeys(earlier, fields.integer("right_max_position_embeddings", 8))
        return {"position": "none", "distance_keys": found}
    if kind is not None:
        raise unsupported(
            "position_embeddings_type", kind, "choose rotary, relative or, in Wav2Vec2-BERT, relative_key"
        )
    return {"position": "none"}


def wav2vec2_fields(fields: Fields) -> dict[str, Any]:
    """Wav2Vec2's convolutions of the samples, which may have another activation than the layers."""
    found = dataclasses.replace(convolutions_of(fields), projected=True, projection_norm=True)
    return {
        "convolutions": found,
        "max_positions": max(1, found.n_tokens(int(MOST_SECONDS * RATE))),
        "conformer": Conformer(fields.integer("conv_depthwise_kernel_size", 31)),
        **distances_of(fields, "relative"),
    }


def classifier_options(fields: Fields) -> dict[str, Any]:
    """A sum over the layers takes the last one before the final norm."""
    return SOUND_CLASSIFIER.options(fields) | {"before_norm": fields.flag("use_weighted_layer_sum", False)}


#: Names of a layer of Wav2Vec2's Conformers.
LAYERS = {
    **halved("ffn1", "ffn2", ("intermediate_dense", "output_dense")),
    **layer(f"{LAYER}.self_attn", "linear_q linear_k linear_v linear_out"),
    "layers.{l}.attention.w_pos_k.weight": f"{LAYER}.self_attn.linear_pos.weight",
    "layers.{l}.attention.content_bias": f"{LAYER}.self_attn.pos_bias_u",
    "layers.{l}.attention.position_bias": f"{LAYER}.self_attn.pos_bias_v",
    **convolution(f"{LAYER}.conv_module", "batch_norm"),
    **both("layers.{l}.first_ffn_norm", f"{LAYER}.ffn1_layer_norm"),
    **both("layers.{l}.attention_norm", f"{LAYER}.self_attn_layer_norm"),
    **both("layers.{l}.convolution_norm", f"{LAYER}.conv_module.layer_norm"),
    **both("layers.{l}.ffn_norm", f"{LAYER}.ffn2_layer_norm"),
    **both("layers.{l}.end_norm", f"{LAYER}.final_layer_norm"),
}
#: Positions by distance or by rotation. A convolution for positions is saved, too, which nothing reads.
WAV2VEC2_CONFORMER = WAV2VEC2.but(
    LAYERS,
    config=SIGNAL.but(
        wav2vec2_fields, d_model=Key("hidden_size", 768), n_layers=Key("num_hidden_layers", 12),
        n_heads=Key("num_attention_heads", 12), d_ffn=Key("intermediate_size", 3072), norm_eps=1e-5,
        dropout=Key("hidden_dropout", 0.0), attention_dropout=Key("attention_dropout", 0.0),
    ).refusing(
        add_adapter=(False, "it has an adapter after the encoder; choose a model without one"),
        layer_norm_eps=(1e-5, "the norms of its layers have 1e-05, and all norms need one; choose 1e-05"),
    ),
    prefixes=("wav2vec2_conformer.", ""),
    classifiers={"sequence": dataclasses.replace(SOUND_CLASSIFIER, options=classifier_options)},
    dropped={
        **WAV2VEC2.dropped,
        **COUNTED,
        r"encoder\.pos_conv_embed\..*": "",  # the forward pass has no use for it
        r"encoder\.embed_positions\.inv_freq": "",
    },
)  # fmt: skip

#: Frames of Kaldi's spectrogram for each second, of which two are side by side in Wav2Vec2-BERT's.
FRAMES = 100


def wav2vec2_bert_fields(fields: Fields) -> dict[str, Any]:
    """A linear map of frames that lie side by side; the convolution of a layer sees earlier tokens only."""
    return {
        "frames": Frames(fields.integer("feature_projection_input_dim", 160), norm=True),
        "max_positions": int(MOST_SECONDS * FRAMES) // 2,
        "conformer": Conformer(fields.integer("conv_depthwise_kernel_size", 31), norm="layer", causal=True),
        **distances_of(fields, "relative_key"),
    }


#: Seamless Communication 2023: log-mel frames, keys of clipped distances, and no norm after the last layer.
WAV2VEC2_BERT = dataclasses.replace(
    WAV2VEC2_CONFORMER,
    names={
        **both("embedding.tokens.projection", "feature_projection.projection"),
        **both("embedding.tokens.norm", "feature_projection.layer_norm"),
        **LAYERS,
        **convolution(f"{LAYER}.conv_module", "depthwise_layer_norm"),
        "layers.{l}.attention.distance_keys.weight": f"{LAYER}.self_attn.distance_embedding.weight",
    },
    config=WAV2VEC2_CONFORMER.config.allowing("layer_norm_eps").taking(hidden_act="swish").but(
        d_model=Key("hidden_size", 1024), n_layers=Key("num_hidden_layers", 24),
        n_heads=Key("num_attention_heads", 16), d_ffn=Key("intermediate_size", 4096),
        norm_eps=Key("layer_norm_eps", 1e-5), final_norm=False,
    ).reading(wav2vec2_bert_fields).refusing(
        use_intermediate_ffn_before_adapter=(False, "it has a layer after the encoder; choose a model without one")
    ),
    prefixes=("wav2vec2_bert.", ""),
    classifiers={"sequence": SOUND_CLASSIFIER},
)  # fmt: skip


def parakeet_fields(fields: Fields) -> dict[str, Any]:
    """Convolutions of the spectrogram over time and bands; a bias in attention is one in the feed-forward layers."""
    width, heads = fields.integer("hidden_size", 1024), fields.integer("num_attention_heads", 8, 1)
    factor, has_bias = fields.integer("subsampling_factor", 8, 2), fields.flag("attention_bias", True)
    found = Frames(
        fields.integer("num_mel_bins", 80), layers=factor.bit_length() - 1,
        channels=fields.integer("subsampling_conv_channels", 256),
        kernel=fields.integer("subsampling_conv_kernel_size", 3),
        stride=fields.integer("subsampling_conv_stride", 2, 1, 100),
    )  # fmt: skip
    return {
        "frames": found,
        "max_positions": max(1, found.n_tokens(int(MOST_SECONDS * FRAMES))),
        "d_head": fields.unless_null("head_dim", width // heads),
        "embedding_scale": width**0.5 if fields.flag("scale_input", True) else 1.0,
        "attention_bias": has_bias,
        "ffn_bias": has_bias,
        "conformer": Conformer(fields.integer("conv_kernel_size", 9), bias=fields.flag("convolution_bias", True)),
    }


#: Rekesh et al. 2023 (Fast Conformer): a token for each 80 ms. At most 16 convolutions; `Frames` checks it.
PARAKEET = Family(
    config=SIGNAL.but(
        parakeet_fields, d_model=Key("hidden_size", 1024), n_layers=Key("num_hidden_layers", 24),
        n_heads=Key("num_attention_heads", 8), d_ffn=Key("intermediate_size", 4096), norm_eps=1e-5, final_norm=False,
        position="none", distance_keys=DistanceKeys(), dropout=Key("dropout", 0.1),
        attention_dropout=Key("attention_dropout", 0.1),
    ).taking(hidden_act="silu", num_hidden_layers=24),
    names={
        **both("embedding.tokens.convolutions.0", "subsampling.layers.0"),
        **{
            f"embedding.tokens.{ours}.{index}.{kind}": f"subsampling.layers.{place + 3 * index}.{kind}"
            for ours, place in (("convolutions", -1), ("channel_maps", 3))
            for index in range(ours == "convolutions", 16)
            for kind in ("weight", "bias")
        },
        **both("embedding.tokens.projection", "subsampling.linear"),
        **halved("feed_forward1", "feed_forward2", ("linear1", "linear2"), "layers.{l}"),
        **layer("layers.{l}.self_attn", "q_proj k_proj v_proj o_proj"),
        "layers.{l}.attention.w_pos_k.weight": "layers.{l}.self_attn.relative_k_proj.weight",
        "layers.{l}.attention.content_bias": "layers.{l}.self_attn.bias_u",
        "layers.{l}.attention.position_bias": "layers.{l}.self_attn.bias_v",
        **convolution("layers.{l}.conv", "norm"),
        **both("layers.{l}.first_ffn_norm", "layers.{l}.norm_feed_forward1"),
        **both("layers.{l}.attention_norm", "layers.{l}.norm_self_att"),
        **both("layers.{l}.convolution_norm", "layers.{l}.norm_conv"),
        **both("layers.{l}.ffn_norm", "layers.{l}.norm_feed_forward2"),
        **both("layers.{l}.end_norm", "layers.{l}.norm_out"),
    },
    dropped={r"layers\.\d+\.conv\.norm\.num_batches_tracked": ""},
    sounds=True,
)  # fmt: skip
#: The same with what writes the text, which is left out.
PARAKEET_WRITER = PARAKEET.but(
    config=PARAKEET.config.within("encoder_config").allowing("is_encoder_decoder"),
    prefixes=("encoder.",),
    dropped={
        **PARAKEET.dropped,
        r"ctc_head\.(weight|bias)": "a head that writes letters (CTC)",
        r"(decoder|joint|encoder_projector)\..*": "the decoder, which writes the text",
    },
)


def granite_fields(fields: Fields) -> dict[str, Any]:
    """Attention inside blocks, by a table of distances, and the letters of the middle layer."""
    width, heads = fields.integer("hidden_dim", 1024, 1), fields.integer("num_heads", 8, 1)
    block, rows = fields.integer("context_size", 200, 1), fields.integer("max_pos_emb", 512, 1)
    if block > rows:
        raise unsupported("context_size", block, f"at most max_pos_emb={rows}")
    kernel = fields.integer("conv_kernel_size", 15, 1)
    if kernel % 2 == 0:
        raise unsupported("conv_kernel_size", kernel, "choose an odd number")
    return {
        "frames": Frames(fields.integer("input_dim", 160, 1)),
        "max_positions": int(MOST_SECONDS * FRAMES) // 2 + 1,
        "d_head": fields.unless_null("dim_head", width // heads),
        "d_ffn": width * fields.integer("feedforward_mult", 4, 1),
        "attention_block": block,
        "distance_keys": DistanceKeys(rows, rows),
        "conformer": Conformer(
            kernel, bias=True, kernel_bias=False, expansion=fields.integer("conv_expansion_factor", 2, 1),
            letters=fields.integer("output_dim", 42, 1),
        ),
    }  # fmt: skip


#: IBM's Granite Speech 3.3 (2025): a token for each 20 ms. Half of each feed-forward layer is part of its weights.
GRANITE = Family(
    config=SIGNAL.but(
        granite_fields, d_model=Key("hidden_dim", 1024), n_layers=Key("num_layers", 10), n_heads=Key("num_heads", 8),
        d_ffn=0, norm_eps=1e-5, final_norm=False, position="none", activation="silu", qkv_bias=False,
        dropout=Key("dropout", 0.1), attention_dropout=0.0,
    ).taking(num_layers=10),
    names={
        **both("embedding.tokens.projection", "input_linear"),
        **halved("ff1", "ff2", ("up_proj", "down_proj"), "layers.{l}"),
        **both("layers.{l}.attention.w_q", "layers.{l}.attn.to_q"),
        **blocks(("layers.{l}.attention.w_k", "layers.{l}.attention.w_v"), "layers.{l}.attn.to_kv"),
        **both("layers.{l}.attention.w_o", "layers.{l}.attn.to_out"),
        "layers.{l}.attention.distance_keys.weight": Part("layers.{l}.attn.rel_pos_emb.weight", flip=True),
        **{
            f"layers.{{l}}.convolution.{ours}.{kind}": Part(
                f"layers.{{l}}.conv.{theirs}.{kind}", groups=ONE_TOKEN if kind == "weight" else 0
            )
            for ours, theirs in (("w_in", "up_conv"), ("w_out", "down_conv"))
            for kind in ("weight", "bias")
        },
        "layers.{l}.convolution.convolution.weight": "layers.{l}.conv.depth_conv.conv.weight",
        **both("layers.{l}.convolution.norm", "layers.{l}.conv.batch_norm"),
        "layers.{l}.convolution.norm.mean": "layers.{l}.conv.batch_norm.running_mean",
        "layers.{l}.convolution.norm.variance": "layers.{l}.conv.batch_norm.running_var",
        **both("layers.{l}.first_ffn_norm", "layers.{l}.ff1.pre_norm"),
        **both("layers.{l}.attention_norm", "layers.{l}.attn.pre_norm"),
        **both("layers.{l}.convolution_norm", "layers.{l}.conv.norm"),
        **both("layers.{l}.ffn_norm", "layers.{l}.ff2.pre_norm"),
        **both("layers.{l}.end_norm", "layers.{l}.post_norm"),
        **both("layers.{l}.letters.w_in", "out"),
        **both("layers.{l}.letters.w_out", "out_mid"),
    },
    dropped={r"layers\.\d+\.conv\.batch_norm\.num_batches_tracked": ""},
    sounds=True,
    preparation={"feature_extractor_type": "GraniteSpeechFeatureExtractor"},
)  # fmt: skip
#: The same with what writes the text, which is left out.
GRANITE_WRITER = GRANITE.but(
    config=GRANITE.config.within("encoder_config"),
    prefixes=("model.encoder.", "encoder."),
    dropped={
        **GRANITE.dropped,
        r"(model\.)?(projector|language_model)\..*|lm_head\..*": "the language model that writes the text",
    },
)

FAMILIES: dict[str, Family] = {
    "granite_speech": GRANITE_WRITER,
    "granite_speech_encoder": GRANITE,
    "parakeet_ctc": PARAKEET_WRITER,
    "parakeet_encoder": PARAKEET,
    "parakeet_rnnt": PARAKEET_WRITER,
    "parakeet_tdt": PARAKEET_WRITER,
    "wav2vec2-bert": WAV2VEC2_BERT,
    "wav2vec2-conformer": WAV2VEC2_CONFORMER,
}
