"""Wav2Vec2 (Baevski et al. 2020), HuBERT (Hsu et al. 2021), UniSpeech and UniSpeech-SAT (Wang et al. 2021, Chen et al.
2022): convolutions of the samples, then the encoder.

Positions are a convolution of the tokens. The base models are post-norm; do_stable_layer_norm means pre-norm.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from encoder.inputs.sound import MOST_SECONDS
from encoder.load.families.family import SOUND_CLASSIFIER, Family, Fields, both, unsupported
from encoder.model.config import EncoderConfig
from encoder.model.sound_shapes import Convolutions

#: All these checkpoints take 16,000 samples per second; `load/sounds.py` checks it.
RATE = 16_000


def wav2vec2_config(fields: Fields) -> EncoderConfig:
    """Wav2Vec2's or HuBERT's config.json."""
    fields.check_is_encoder()
    fields.only("add_adapter", False, "it has an adapter after the encoder; choose a model without one")
    fields.only("adapter_attn_dim", None, "it has an adapter in each layer; choose a model without one")
    fields.only("conv_pos_batch_norm", False, "its positions have a batch norm; choose a model without one")
    stable = fields.flag("do_stable_layer_norm", False)
    convolutions = sample_convolutions(fields)
    return EncoderConfig(
        vocab_size=0,
        d_model=fields.integer("hidden_size", 768),
        n_layers=fields.layers(),
        n_heads=fields.integer("num_attention_heads", 12),
        d_ffn=fields.integer("intermediate_size", 3072),
        max_positions=max(1, convolutions.n_tokens(int(MOST_SECONDS * RATE))),
        norm_placement="pre" if stable else "post",
        embedding_norm=not stable,
        final_norm=stable,
        norm_eps=fields.number("layer_norm_eps", 1e-5),
        position="convolutional",
        position_kernel=fields.integer("num_conv_pos_embeddings", 128),
        position_groups=fields.integer("num_conv_pos_embedding_groups", 16),
        activation=fields.activation("hidden_act"),
        dropout=fields.number("hidden_dropout", 0.0),
        attention_dropout=fields.number("attention_dropout", 0.0),
        convolutions=convolutions,
    )


def sample_convolutions(fields: Fields) -> Convolutions:
    """The convolutions of the samples."""
    activation = fields.activation("feat_extract_activation")
    if activation != fields.activation("hidden_act"):
        raise unsupported("feat_extract_activation", activation, "choose a model with one activation")
    return Convolutions(
        channels=1,
        widths=whole_numbers(fields, "conv_dim", (512,) * 7),
        kernels=whole_numbers(fields, "conv_kernel", (10, 3, 3, 3, 3, 2, 2)),
        strides=whole_numbers(fields, "conv_stride", (5, 2, 2, 2, 2, 2, 2)),
        bias=fields.flag("conv_bias", False),
        activation=activation,
        norm=norm_of(fields),
        projected=True,
        projection_norm=fields.flag("feat_proj_layer_norm", True),
    )


def norm_of(fields: Fields) -> Any:
    """Either "group" or "layer"."""
    norm = fields.get("feat_extract_norm", "group")
    if norm not in ("group", "layer"):
        raise unsupported("feat_extract_norm", norm, "choose group or layer")
    return norm


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


WAV2VEC2 = Family(
    config=wav2vec2_config,
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
        **both("layers.{l}.attention_norm", "encoder.layers.{l}.layer_norm"),
        **both("layers.{l}.attention.w_q", "encoder.layers.{l}.attention.q_proj"),
        **both("layers.{l}.attention.w_k", "encoder.layers.{l}.attention.k_proj"),
        **both("layers.{l}.attention.w_v", "encoder.layers.{l}.attention.v_proj"),
        **both("layers.{l}.attention.w_o", "encoder.layers.{l}.attention.out_proj"),
        **both("layers.{l}.ffn_norm", "encoder.layers.{l}.final_layer_norm"),
        **both("layers.{l}.ffn.w_in", "encoder.layers.{l}.feed_forward.intermediate_dense"),
        **both("layers.{l}.ffn.w_out", "encoder.layers.{l}.feed_forward.output_dense"),
    },
    prefixes=("wav2vec2.", "hubert.", "unispeech.", "unispeech_sat.", ""),
    classifiers={"sequence": dataclasses.replace(SOUND_CLASSIFIER, options=classifier_options)},
    dropped={
        r"masked_spec_embed": "",
        r"lm_head\.(weight|bias)": "a head that writes letters (CTC)",
        r"(projector|classifier)\.(weight|bias)": "a classification head",
        r"layer_weights": "a classification head",
        r"(quantizer|project_hid|project_q)\..*": "the heads of pretraining",
        r"(tdnn|feature_extractor|objective)\..*": "a head that recognises speakers",
    },
    renamed=(
        (r"(.*pos_conv_embed\.conv)\.parametrizations\.weight\.original0", r"\1.weight_g"),
        (r"(.*pos_conv_embed\.conv)\.parametrizations\.weight\.original1", r"\1.weight_v"),
    ),
    sounds=True,
)
