"""A hash of everything in a model that its numbers depend on."""

from __future__ import annotations

import dataclasses
import hashlib
import json

import torch

from encoder.text_encoder import TextEncoder


def model_about(model: TextEncoder) -> dict[str, object]:
    """The model's name, and a hash of its architecture, tokenizer and weights: equal for equal numbers."""
    # A field with its default is left out, so that a later version with one more field gives the same hash.
    chosen = {
        field.name: getattr(model.config, field.name)
        for field in dataclasses.fields(model.config)
        if getattr(model.config, field.name) != field.default
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
