"""A hash of everything in a model that its numbers depend on."""

from __future__ import annotations

import dataclasses
import hashlib
import json

import torch

from encoder.text_encoder import TextEncoder

#: Fields that say what the names and shapes of the weights say, or that matter in training only. A field with its
#: default is left out, too: a later version with one more field gives the same hash.
IMPLIED = frozenset(
    "vocab_size d_head embedding_width n_segments final_norm attention_bias qkv_bias key_bias ffn_bias pooler dropout "
    "attention_dropout".split()
)


def model_about(model: TextEncoder) -> dict[str, object]:
    """The model's name, and a hash of its architecture, tokenizer and weights: equal for equal numbers."""
    chosen = {
        field.name: getattr(model.config, field.name)
        for field in dataclasses.fields(model.config)
        if field.name not in IMPLIED and getattr(model.config, field.name) != field.default
    }
    digest = hashlib.sha256(json.dumps(chosen, sort_keys=True, default=str).encode())
    digest.update(model.tokenizer.backend.to_str().encode())
    for name, tensor in sorted(model.encoder.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return {
        "name": model.name,
        "sha256": digest.hexdigest(),
        "n_layers": model.config.n_layers,
        "n_heads": model.config.n_heads,
        "d_model": model.config.d_model,
        "norm_placement": model.config.norm_placement,
        "max_tokens": model.config.max_tokens,
    }
