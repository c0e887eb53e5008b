"""Tiny random checkpoints of the families of sound, written by transformers, and sounds for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from encoder import Sound
from tests.load.reference import SIZES, randomised

CONVOLUTIONS = {
    **SIZES, "conv_dim": (20, 24, 28), "conv_kernel": (10, 3, 2), "conv_stride": (5, 2, 2),
    "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4, "classifier_proj_size": 40,
}  # fmt: skip
STABLE = {"do_stable_layer_norm": True, "feat_extract_norm": "layer", "conv_bias": True}
#: Name -> (transformers' name, fields of its config).
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "ast": ("AST", {**SIZES, "max_length": 64, "num_mel_bins": 48, "time_stride": 8, "frequency_stride": 6}),
    "whisper": (
        "Whisper",
        {
            "d_model": 40, "encoder_attention_heads": 5, "decoder_attention_heads": 5, "encoder_ffn_dim": 52,
            "decoder_ffn_dim": 52, "decoder_layers": 1, "max_source_positions": 50, "num_mel_bins": 24,
            "vocab_size": 99, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
        },
    ),
    "wav2vec2": ("Wav2Vec2", CONVOLUTIONS),
    "wav2vec2-stable": ("Wav2Vec2", {**CONVOLUTIONS, **STABLE, "num_conv_pos_embeddings": 15}),
    "hubert": ("Hubert", {**CONVOLUTIONS, "feat_proj_layer_norm": False}),
    "hubert-stable": ("Hubert", {**CONVOLUTIONS, **STABLE}),
    "wav2vec2-conformer": ("Wav2Vec2Conformer", {**CONVOLUTIONS, "conv_depthwise_kernel_size": 7}),
    "wav2vec2-bert": (
        "Wav2Vec2Bert",
        {**SIZES, "conv_depthwise_kernel_size": 7, "classifier_proj_size": 40, "vocab_size": 32},
    ),
    "parakeet": (
        "ParakeetEncoder",
        {**SIZES, "subsampling_factor": 2, "subsampling_conv_channels": 12, "conv_kernel_size": 5},
    ),
}  # fmt: skip


def model_of(family: str, head: str, n_layers: int, seed: int = 0, **more: Any) -> nn.Module:
    """A reference model, all of its weights random, eager attention, eval mode."""
    import transformers

    name, fields = FAMILIES[family]
    layers = "encoder_layers" if name == "Whisper" else "num_hidden_layers"
    config = getattr(transformers, f"{name}Config")(**{**fields, layers: n_layers, **more})
    kind = getattr(transformers, name if head == "Model" and name.endswith("Encoder") else f"{name}{head}")
    return randomised(kind._from_config(config, attn_implementation="eager"), seed)


def tone(seconds: float, rate: int = 16_000, seed: int = 0) -> Sound:
    """A chirp in noise, with a silence in the middle."""
    draw = np.random.default_rng(seed)
    time = np.arange(int(seconds * rate)) / rate
    samples = 0.4 * np.sin(2 * np.pi * (200.0 + 900.0 * time) * time) + 0.05 * draw.standard_normal(len(time))
    samples[len(samples) // 3 : len(samples) // 2] = 0.0
    return Sound(samples.astype(np.float32), rate)


@torch.no_grad()
def run(model: Any, inputs: torch.Tensor) -> Any:
    """The reference's encoder on prepared input [B, ...]."""
    found = model.get_encoder() if hasattr(model, "get_encoder") and "Whisper" in type(model).__name__ else model
    return found(inputs, output_attentions=True, output_hidden_states=True)
