"""Whisper's encoder (Radford et al. 2022): two convolutions of a log-mel spectrogram, then the pre-norm encoder.

Its positions are sines that the checkpoint stores as a table. The decoder is left out.
"""

from __future__ import annotations

from encoder.load.families.family import SOUND_CLASSIFIER, Family, Fields, both
from encoder.model.config import EncoderConfig
from encoder.model.sound_shapes import Convolutions


def whisper_config(fields: Fields) -> EncoderConfig:
    """The encoder in Whisper's config.json."""
    fields.only("quantization_config", None, "its weights are quantised; choose the checkpoint in float32 or float16")
    width, n_tokens = fields.integer("d_model"), fields.integer("max_source_positions", 1500)
    return EncoderConfig(
        vocab_size=0,
        d_model=width,
        n_layers=fields.layers("encoder_layers"),
        n_heads=fields.integer("encoder_attention_heads"),
        d_ffn=fields.integer("encoder_ffn_dim"),
        max_positions=n_tokens,
        norm_placement="pre",
        embedding_norm=False,
        final_norm=True,
        norm_eps=1e-5,
        key_bias=False,
        activation=fields.activation("activation_function"),
        dropout=fields.number("dropout", 0.0),
        attention_dropout=fields.number("attention_dropout", 0.0),
        convolutions=Convolutions(
            channels=fields.integer("num_mel_bins", 80),
            widths=(width, width),
            kernels=(3, 3),
            strides=(1, 2),
            padded=True,
            length=2 * n_tokens,
        ),
    )


WHISPER = Family(
    config=whisper_config,
    names={
        **both("embedding.tokens.convolutions.0", "encoder.conv1"),
        **both("embedding.tokens.convolutions.1", "encoder.conv2"),
        "embedding.positions.table.weight": "encoder.embed_positions.weight",
        **both("layers.{l}.attention_norm", "encoder.layers.{l}.self_attn_layer_norm"),
        **both("layers.{l}.attention.w_q", "encoder.layers.{l}.self_attn.q_proj"),
        "layers.{l}.attention.w_k.weight": "encoder.layers.{l}.self_attn.k_proj.weight",
        **both("layers.{l}.attention.w_v", "encoder.layers.{l}.self_attn.v_proj"),
        **both("layers.{l}.attention.w_o", "encoder.layers.{l}.self_attn.out_proj"),
        **both("layers.{l}.ffn_norm", "encoder.layers.{l}.final_layer_norm"),
        **both("layers.{l}.ffn.w_in", "encoder.layers.{l}.fc1"),
        **both("layers.{l}.ffn.w_out", "encoder.layers.{l}.fc2"),
        **both("final_norm", "encoder.layer_norm"),
    },
    prefixes=("model.", ""),
    classifiers={"sequence": SOUND_CLASSIFIER},
    dropped={
        r"decoder\..*": "the decoder, which writes the text",
        r"proj_out\.weight": "the decoder, which writes the text",
        r"(projector|classifier)\.(weight|bias)": "a classification head",
        r"layer_weights": "a classification head",
        r"masked_spec_embed": "",
    },
    sounds=True,
)
