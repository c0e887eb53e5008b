"""The fingerprint of a model: what must be equal for two indexes to be comparable, field by field."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from encoder.encoders.signal import SignalEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted

FORMAT = "encoderscope fingerprint 1"
#: Characters of a digest.
DIGITS = 16
#: The fields whose change makes an index useless; of the others, compare a few vectors.
DECIDES = (
    "weights",
    "architecture",
    "tokenizer",
    "preparation",
    "pooling",
    "dense",
    "normalise",
    "prompt",
    "dimensions",
)


@dataclass(frozen=True)
class Fingerprint:
    """Digests and settings of a model, by name."""

    fields: Mapping[str, str]

    @property
    def id(self) -> str:
        """One short name of all fields."""
        return _digest(json.dumps(dict(self.fields), sort_keys=True).encode())

    def differences(self, other: Fingerprint) -> dict[str, tuple[str, str]]:
        """The fields that differ: here, there."""
        names = dict.fromkeys((*self.fields, *other.fields))
        pairs = {name: (self.fields.get(name, "-"), other.fields.get(name, "-")) for name in names}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    def as_json(self) -> str:
        """The fingerprint as a file holds it."""
        return json.dumps({"format": FORMAT, "id": self.id, "fields": dict(self.fields)}, indent=2)

    @classmethod
    def parse(cls, text: str) -> Fingerprint:
        """Read what `as_json` wrote. Raises EncoderError for anything else."""
        try:
            found = json.loads(text)
            fields = {str(name): str(value) for name, value in found["fields"].items()}
            fits = found["format"] == FORMAT
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise EncoderError("This is not a fingerprint: write one with encoderscope fingerprint.") from error
        if not fits:
            raise EncoderError(
                f"This fingerprint has the format {quoted(found['format'])}, not {FORMAT}: write it again."
            )
        return cls(fields)


def fingerprint(model: TextEncoder | SignalEncoder, prompt: str | None = None) -> Fingerprint:
    """The fingerprint of a model; of texts with a prompt (None: its own), of images and sounds with their
    preparation."""
    if isinstance(model, SignalEncoder):
        return _of_signals(model)
    before = model.prompt() if prompt is None else prompt
    dense, parts = hashlib.sha256(), list(_parts(model))
    for one in parts:
        dense.update(repr(one.config).encode())
        for name, value in sorted(one.state_dict().items()):
            _add(dense, name, value)
    limit = model.config.max_tokens if model.max_embed_tokens is None else model.max_embed_tokens
    return Fingerprint(
        {
            **_of_encoder(model),
            "tokenizer": _digest(model.tokenizer.backend.to_str().encode()),
            "pooling": _pooling(model) + ("" if model.pools_prompt else ", without the prompt"),
            "dense": dense.hexdigest()[:DIGITS] if parts else "none",
            "normalise": str(model.normalise),
            "dimensions": str(model.width_of_vectors),
            "prompt": repr(before),
            "longest text": str(min(limit, model.config.max_tokens)),
            "precision": str(model.encoder.dtype).removeprefix("torch."),
        }
    )


def _of_encoder(model: TextEncoder | SignalEncoder) -> dict[str, str]:
    """Digests of its weights and of its architecture."""
    config = {name: str(value) for name, value in sorted(dataclasses.asdict(model.config).items())}
    return {"weights": _of_module(model.encoder), "architecture": _digest(json.dumps(config).encode())}


def _of_signals(model: SignalEncoder) -> Fingerprint:
    """Of an encoder of images or sounds."""
    head = model.vector_head
    return Fingerprint(
        {
            **_of_encoder(model),
            "preparation": str(getattr(model, "preparation", "")),
            "pooling": model.pooling if head is None else head.config.pooling,
            "dense": "none" if head is None else _of_module(head),
            "dimensions": str(model.width_of_vectors),
            "precision": str(model.encoder.dtype).removeprefix("torch."),
        }
    )


def _of_module(module: nn.Module) -> str:
    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        _add(digest, name, value)
    return digest.hexdigest()[:DIGITS]


def _parts(model: TextEncoder) -> Iterator[Any]:
    """The modules between the outputs and the vector of a text, in order."""
    if model.mix is not None:
        yield model.mix
    if (model.pools_words or model.sparse is not None) and model.mlm_head is not None:
        yield model.mlm_head
    if model.late is None:
        yield from model.token_dense
    yield from model.dense


def _pooling(model: TextEncoder) -> str:
    """How one vector is made of those of the tokens."""
    if model.sparse is not None:
        return f"{model.sparse}"
    return f"{model.pooling}, of words" if model.pools_words else model.pooling


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGITS]


def _add(digest: hashlib._Hash, name: str, value: torch.Tensor) -> None:
    digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
    digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
