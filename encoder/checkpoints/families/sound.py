"""Encoders of sound: AST on a spectrogram, Whisper's on convolutions of one, Wav2Vec2 and others on samples."""

import dataclasses
from typing import Any

from encoder.checkpoints.families.deberta import deberta_fields
from encoder.checkpoints.families.family import ClassifierNames, Family, LMNames
from encoder.checkpoints.families.names import both, layer
from encoder.checkpoints.families.reader import PRE, SIGNAL, Fields, Key, unsupported
from encoder.checkpoints.families.rotary import rotary_fields
from encoder.checkpoints.families.seq2seq import BART_DECODER, MARIAN_CONFIG, WRITES, bart_stack
from encoder.checkpoints.families.vit import VIT
from encoder.inputs.sound import MOST_SECONDS
from encoder.model.sound_shapes import Convolutions, SpectrogramPatches

#: The head of Wav2Vec2, HuBERT and Whisper: the mean over time, mapped to another width.
SOUND_CLASSIFIER = ClassifierNames(
    dense="projector",
    layer_weights="layer_weights",
    options=lambda fields: {"pooling": "mean", "dense_width": fields.integer("classifier_proj_size", 256)},
)


def spectrogram(fields: Fields) -> dict[str, Any]:
    """AST's patches."""
    found = SpectrogramPatches(
        n_frames=fields.integer("max_length", 1024),
        n_mels=fields.integer("num_mel_bins", 128),
        patch_size=fields.integer("patch_size", 16),
        time_stride=fields.integer("time_stride", 10),
        mel_stride=fields.integer("frequency_stride", 10),
    )
    return {"spectrogram": found, "max_positions": found.n_tokens()}


#: Gong et al. 2021: the pre-norm encoder on patches of a log-mel spectrogram, as DeiT with two special tokens.
AST = VIT.but(
    {"embedding.tokens.distillation": "embeddings.distillation_token"},
    config=SIGNAL.but(spectrogram, qkv_bias=Key("qkv_bias", True)),
    prefixes=("audio_spectrogram_transformer.", ""),
    classifiers={
        "sequence": ClassifierNames(
            out="classifier.dense",
            norm="classifier.layernorm",
            options=lambda fields: {"pooling": "first_two", "norm_eps": fields.number("layer_norm_eps", 1e-12)},
        )
    },
    dropped={r"classifier\.(dense|layernorm)\.(weight|bias)": "a classification head"},
    images=False,
    sounds=True,
)


def two_convolutions(fields: Fields) -> dict[str, Any]:
    """Whisper's two convolutions of a log-mel spectrogram. Its positions are sines that are stored as a table."""
    width, n_tokens = fields.integer("d_model"), fields.integer("max_source_positions", 1500)
    found = Convolutions(
        channels=fields.integer("num_mel_bins", 80),
        widths=(width, width),
        kernels=(3, 3),
        strides=(1, 2),
        padded=True,
        length=2 * n_tokens,
    )
    return {"convolutions": found, "max_positions": n_tokens}


ATTENTION = "q_proj k_proj v_proj out_proj"
#: Radford et al. 2022. The decoder is left out where there is no tokenizer.json.
WHISPER = Family(
    config=SIGNAL.but(
        two_convolutions, d_model=Key("d_model"), n_layers=Key("encoder_layers"),
        n_heads=Key("encoder_attention_heads"), d_ffn=Key("encoder_ffn_dim"), norm_eps=1e-5,
        key_bias=False, activation=Key("activation_function", "gelu"),
        dropout=Key("dropout", 0.0), attention_dropout=Key("attention_dropout", 0.0),
    ).allowing("is_encoder_decoder"),
    names={
        **both("embedding.tokens.convolutions.0", "encoder.conv1"),
        **both("embedding.tokens.convolutions.1", "encoder.conv2"),
        **bart_stack("encoder"),
    },
    prefixes=("model.", ""),
    classifiers={"sequence": SOUND_CLASSIFIER},
    lm=LMNames("proj_out.weight"),
    decoder=Family(
        config=MARIAN_CONFIG.but(
            max_positions=Key("max_target_positions", 448), key_bias=False, dropout=Key("dropout", 0.0),
            pad_id=Key("pad_token_id", 0), **WRITES, **PRE,
        ),
        names=BART_DECODER | {"embedding.tokens.weight": "decoder.embed_tokens.weight"},
    ),
    dropped={
        r"(decoder|proj_out)\..*": "the decoder, which writes the text",
        r"(projector|classifier)\.(weight|bias)|layer_weights": "a classification head",
        r"masked_spec_embed": "",
    },
    sounds=True,
)  # fmt: skip

#: Wav2Vec2 and those after it take 16,000 samples per second; `checkpoints/sounds.py` checks it.
RATE = 16_000


def convolutions_of(fields: Fields) -> Convolutions:
    """Convolutions of the samples, without the projection that follows."""
    norm: Any = fields.get("feat_extract_norm", "group")
    if norm not in ("group", "layer"):
        raise unsupported("feat_extract_norm", norm, "choose group or layer")
    return Convolutions(
        channels=1,
        widths=whole_numbers(fields, "conv_dim", (512,) * 7),
        kernels=whole_numbers(fields, "conv_kernel", (10, 3, 3, 3, 3, 2, 2)),
        strides=whole_numbers(fields, "conv_stride", (5, 2, 2, 2, 2, 2, 2)),
        bias=fields.flag("conv_bias", False),
        activation=fields.activation("feat_extract_activation"),
        norm=norm,
    )


def sample_convolutions(fields: Fields) -> dict[str, Any]:
    """Convolutions of the samples. Base models are post-norm; do_stable_layer_norm means pre-norm."""
    found, stable = convolutions_of(fields), fields.flag("do_stable_layer_norm", False)
    if found.activation != fields.activation("hidden_act"):
        raise unsupported("feat_extract_activation", found.activation, "choose a model with one activation")
    found = dataclasses.replace(found, projected=True, projection_norm=fields.flag("feat_proj_layer_norm", True))
    return {
        "convolutions": found,
        "max_positions": max(1, found.n_tokens(int(MOST_SECONDS * RATE))),
        "norm_placement": "pre" if stable else "post",
        "embedding_norm": not stable,
        "final_norm": stable,
    }


def whole_numbers(fields: Fields, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
    """A list of whole numbers."""
    value = fields.get(key, default)
    if not isinstance(value, list | tuple) or not all(type(one) is int for one in value):
        raise unsupported(key, value, "specify a list of whole numbers")
    return tuple(value)


def classifier_options(fields: Fields) -> dict[str, Any]:
    """In a sum over the layers, transformers 5 takes the last one before the final norm, and 4 took it after."""
    summed = fields.flag("use_weighted_layer_sum", False)
    return SOUND_CLASSIFIER.options(fields) | {"before_norm": summed and fields.flag("do_stable_layer_norm", False)}


#: Baevski et al. 2020, HuBERT (Hsu et al. 2021), UniSpeech and UniSpeech-SAT (Wang et al. 2021, Chen et al. 2022):
#: convolutions of the samples, and positions that a convolution makes of the tokens.
WAV2VEC2 = Family(
    config=SIGNAL.but(
        sample_convolutions, d_model=Key("hidden_size", 768), n_heads=Key("num_attention_heads", 12),
        d_ffn=Key("intermediate_size", 3072), norm_eps=Key("layer_norm_eps", 1e-5), position="convolutional",
        position_kernel=Key("num_conv_pos_embeddings", 128), position_groups=Key("num_conv_pos_embedding_groups", 16),
        dropout=Key("hidden_dropout", 0.0), attention_dropout=Key("attention_dropout", 0.0),
    ).refusing(
        add_adapter=(False, "it has an adapter after the encoder; choose a model without one"),
        adapter_attn_dim=(None, "it has an adapter in each layer; choose a model without one"),
        conv_pos_batch_norm=(False, "its positions have a batch norm; choose a model without one"),
    ),
    names={
        # At most 16 convolutions; EncoderConfig checks it.
        "embedding.tokens.convolutions.0.weight": "feature_extractor.conv_layers.0.conv.weight",
        **{
            f"embedding.tokens.{ours}.{index}.{kind}": f"feature_extractor.conv_layers.{index}.{theirs}.{kind}"
            for ours, theirs in (("convolutions", "conv"), ("norms", "layer_norm"))
            for index in range(16)
            for kind in ("weight", "bias")
        },
        **both("embedding.tokens.projection_norm", "feature_projection.layer_norm"),
        **both("embedding.tokens.projection", "feature_projection.projection"),
        "embedding.positions.convolution.gain": "encoder.pos_conv_embed.conv.weight_g",
        "embedding.positions.convolution.direction": "encoder.pos_conv_embed.conv.weight_v",
        "embedding.positions.convolution.bias": "encoder.pos_conv_embed.conv.bias",
        **both("embedding.norm", "encoder.layer_norm"),  # after the embeddings in post-norm,
        **both("final_norm", "encoder.layer_norm"),  # after the last layer in pre-norm
        **layer("encoder.layers.{l}.attention", ATTENTION),
        **layer(
            "encoder.layers.{l}", ffn="feed_forward.intermediate_dense feed_forward.output_dense",
            norms="layer_norm final_layer_norm",
        ),
    },
    prefixes=("wav2vec2.", "hubert.", "unispeech.", "unispeech_sat.", ""),
    classifiers={"sequence": dataclasses.replace(SOUND_CLASSIFIER, options=classifier_options)},
    dropped={
        r"masked_spec_embed": "",
        r"lm_head\.(weight|bias)": "a head that writes letters (CTC)",
        r"(projector|classifier)\.(weight|bias)|layer_weights": "a classification head",
        r"(quantizer|project_hid|project_q)\..*": "the heads of pretraining",
        r"(tdnn|feature_extractor|objective)\..*": "a head that recognises speakers",
    },
    renamed=(
        (r"(.*pos_conv_embed\.conv)\.parametrizations\.weight\.original0", r"\1.weight_g"),
        (r"(.*pos_conv_embed\.conv)\.parametrizations\.weight\.original1", r"\1.weight_v"),
    ),
    sounds=True,
)  # fmt: skip


def merged_steps(fields: Fields) -> dict[str, Any]:
    """SEW's mean over steps; the linear map comes only where it changes the width."""
    found: Convolutions = sample_convolutions(fields)["convolutions"]
    projected = found.widths[-1:] != (fields.integer("hidden_size"),)
    found = dataclasses.replace(found, merged=fields.integer("squeeze_factor", 2), projected=projected)
    return {"convolutions": found, "max_positions": max(1, found.n_tokens(int(MOST_SECONDS * RATE)))}


#: Wu et al. 2022: means of steps are the tokens. What divides them again, for the letters, is left out.
SEW = WAV2VEC2.but(
    {
        **both("embedding.tokens.projection_norm", "layer_norm"),
        **both("embedding.tokens.projection", "feature_projection"),
    },
    config=WAV2VEC2.config.but(merged_steps).taking(
        conv_dim=[64, *[128] * 4, *[256] * 4, *[512] * 4], conv_kernel=[10, *[3, 1] * 4, *[2, 1] * 2],
        conv_stride=[5, *[2, 1] * 6],
    ),
    prefixes=("sew.", ""),
    classifiers={},
    dropped={**WAV2VEC2.dropped, r"encoder\.upsample\..*": "the layer that divides tokens into steps again"},
)  # fmt: skip


def disentangled_steps(fields: Fields) -> dict[str, Any]:
    """SEW-D: DeBERTa's attention, and an eps of the norm of its convolutions' result."""
    steps = merged_steps(fields)
    eps = fields.number("feature_layer_norm_eps", 1e-5)
    steps["convolutions"] = dataclasses.replace(steps["convolutions"], projection_eps=eps)
    return {**deberta_fields(fields), **steps, "position": "convolutional", "embedding_norm": False}


INNER = "encoder.encoder.layer.{l}"
SEW_D = SEW.but(
    {
        **layer(
            INNER, "attention.self.query_proj attention.self.key_proj attention.self.value_proj attention.output.dense",
            "intermediate.dense output.dense", "attention.output.LayerNorm output.LayerNorm",
        ),
        **both("layers.{l}.attention.w_pos_k", f"{INNER}.attention.self.pos_key_proj"),
        **both("layers.{l}.attention.w_pos_q", f"{INNER}.attention.self.pos_query_proj"),
        "distances.weight": "encoder.encoder.rel_embeddings.weight",
        **both("distance_norm", "encoder.encoder.LayerNorm"),
    },
    config=SEW.config.but(disentangled_steps).taking(
        layer_norm_eps=1e-7, max_position_embeddings=512, position_buckets=256, share_att_key=True,
        relative_attention=True, pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm", hidden_act="gelu_python",
    ).refusing(talking_head=(False, "choose a model whose heads are not mixed")),
    prefixes=("sew_d.", ""),
)  # fmt: skip
ATTEND = "encoder.layers.{l}.attention"
#: Chen et al. 2022: a bias by distance of all layers, which a gate in each scales.
WAVLM = WAV2VEC2.but(
    {
        "relative_bias.weight": "encoder.layers.0.attention.rel_attn_embed.weight",
        **both("layers.{l}.attention.w_bias_gate", f"{ATTEND}.gru_rel_pos_linear"),
        "layers.{l}.attention.bias_gain": f"{ATTEND}.gru_rel_pos_const",
    },
    config=WAV2VEC2.config.but(
        relative_gate=True, relative_buckets=Key("num_buckets", 320),
        relative_max_distance=Key("max_bucket_distance", 800),
    ),
    prefixes=("wavlm.", ""),
)  # fmt: skip

POSITIONS = "encoder.pos_conv_embed.layers"
#: Baevski et al. 2022: norms in each convolution, and several convolutions for positions.
DATA2VEC_AUDIO = WAV2VEC2.but(
    {
        f"embedding.positions.convolution.layers.{index}.{kind}": f"{POSITIONS}.{index}.conv.{kind}"
        for index in range(16)
        for kind in ("weight", "bias")
    },
    config=WAV2VEC2.config.but(
        position_kernel=Key("conv_pos_kernel_size", 19), position_layers=Key("num_conv_pos_embeddings", 5)
    ).taking(feat_extract_norm="layer"),
    prefixes=("data2vec_audio.", ""),
)


def three_convolutions(fields: Fields) -> dict[str, Any]:
    """Moonshine's convolutions of the samples. Its rotary positions have no limit: 30 s are read."""
    width = fields.integer("hidden_size")
    found = Convolutions(
        channels=1,
        widths=(width, 2 * width, width),
        kernels=(127, 7, 3),
        strides=(64, 3, 2),
        first_bias=False,
        first_activation="tanh",
        norm="whole",
    )
    heads = fields.integer("num_attention_heads")
    return {
        **rotary_fields(fields),
        "convolutions": found,
        "max_positions": found.n_tokens(int(MOST_SECONDS * RATE)),
        "n_kv_heads": fields.unless_null("encoder_num_key_value_heads", heads),
    }


#: Jeffries et al. 2024: pre-norm, rotary positions of which neighbours rotate. The decoder is left out.
MOONSHINE = Family(
    config=SIGNAL.but(
        three_convolutions, activation=Key("encoder_hidden_act", "gelu"), norm_eps=1e-5, norm_bias=False,
        rotary_interleaved=True, qkv_bias=Key("attention_bias", False), attention_bias=False, dropout=0.0,
        attention_dropout=Key("attention_dropout", 0.0),
    ).allowing("is_encoder_decoder").taking(partial_rotary_factor=0.9).renaming(
        encoder_num_hidden_layers="num_hidden_layers", encoder_num_attention_heads="num_attention_heads"
    ),
    names={
        **both("embedding.tokens.convolutions.0", "encoder.conv1"),
        **both("embedding.tokens.convolutions.1", "encoder.conv2"),
        **both("embedding.tokens.convolutions.2", "encoder.conv3"),
        **both("embedding.tokens.norms.0", "encoder.groupnorm"),
        **layer("encoder.layers.{l}.self_attn", "q_proj k_proj v_proj o_proj"),
        **layer("encoder.layers.{l}", ffn="mlp.fc1 mlp.fc2", norms="input_layernorm post_attention_layernorm"),
        **both("final_norm", "encoder.layer_norm"),
    },
    prefixes=("model.", ""),
    dropped={r"(decoder|proj_out)\..*": "the decoder, which writes the text"},
    sounds=True,
)  # fmt: skip

FAMILIES = {
    "audio-spectrogram-transformer": AST,
    "data2vec-audio": DATA2VEC_AUDIO,
    "hubert": WAV2VEC2,
    "moonshine": MOONSHINE,
    "sew": SEW,
    "sew-d": SEW_D,
    "unispeech": WAV2VEC2,
    "unispeech-sat": WAV2VEC2,
    "wav2vec2": WAV2VEC2,
    "wavlm": WAVLM,
    "whisper": WHISPER,
}
