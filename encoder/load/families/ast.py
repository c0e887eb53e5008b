"""AST (Gong et al. 2021): the pre-norm encoder on patches of a log-mel spectrogram, as DeiT with two special tokens."""

from __future__ import annotations

from encoder.load.families.family import ClassifierNames, Family, Fields, Part, both
from encoder.load.families.vit import VIT
from encoder.model.config import EncoderConfig
from encoder.model.sound_shapes import SpectrogramPatches


def ast_config(fields: Fields) -> EncoderConfig:
    """AST's config.json."""
    fields.check_is_encoder()
    patches = SpectrogramPatches(
        n_frames=fields.integer("max_length", 1024),
        n_mels=fields.integer("num_mel_bins", 128),
        patch_size=fields.integer("patch_size", 16),
        time_stride=fields.integer("time_stride", 10),
        mel_stride=fields.integer("frequency_stride", 10),
    )
    return EncoderConfig(
        vocab_size=0,
        d_model=fields.integer("hidden_size"),
        n_layers=fields.layers(),
        n_heads=fields.integer("num_attention_heads"),
        d_ffn=fields.integer("intermediate_size"),
        max_positions=patches.n_tokens(),
        norm_placement="pre",
        embedding_norm=False,
        final_norm=True,
        norm_eps=fields.number("layer_norm_eps", 1e-12),
        qkv_bias=fields.flag("qkv_bias", True),
        activation=fields.activation("hidden_act"),
        dropout=fields.number("hidden_dropout_prob", 0.0),
        attention_dropout=fields.number("attention_probs_dropout_prob", 0.0),
        spectrogram=patches,
    )


AST = Family(
    config=ast_config,
    names={
        "embedding.tokens.cls": "embeddings.cls_token",
        "embedding.tokens.distillation": "embeddings.distillation_token",
        **both("embedding.tokens.projection", "embeddings.patch_embeddings.projection"),
        "embedding.positions.table.weight": Part("embeddings.position_embeddings", unwrap=True),
        **{ours: theirs for ours, theirs in VIT.names.items() if ours.startswith("layers.")},
        **both("final_norm", "layernorm"),
    },
    prefixes=("audio_spectrogram_transformer.", ""),
    classifiers={
        "sequence": ClassifierNames(
            out="classifier.dense",
            norm="classifier.layernorm",
            options=lambda fields: {"pooling": "first_two", "norm_eps": fields.number("layer_norm_eps", 1e-12)},
        )
    },
    dropped={r"classifier\.(dense|layernorm)\.(weight|bias)": "a classification head"},
    renamed=tuple(
        (pattern.replace("vit", "audio_spectrogram_transformer"), written) for pattern, written in VIT.renamed
    ),
    sounds=True,
)
