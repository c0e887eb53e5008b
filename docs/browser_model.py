"""A model as one file for the engine in the browser: gzipped safetensors with its config and vocabulary as metadata.

Files: float16, or int8 with a scale for each row of a matrix; vectors stay float16. The engine is `browser/engine`.
"""

import dataclasses
import gzip
import json
from typing import Any, Literal

import numpy as np
from safetensors.numpy import save

from encoder.encoders.image import ImageEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError

Precision = Literal["float16", "int8"]
#: Heads that the engine computes, by their name in `NamedEncoder.heads`.
HEADS = {"mlm_head": "mlm_head.", "classifier": "classifier."}


def browser_model(model: TextEncoder | ImageEncoder, precision: Precision = "float16") -> bytes:
    """The file of a model. Raises EncoderError for one whose tokenizer is not BERT's WordPiece."""
    return gzip.compress(unpacked(model, precision), mtime=0)


def unpacked(model: TextEncoder | ImageEncoder, precision: Precision = "float16") -> bytes:
    """The same file before it is compressed, as the engine reads it."""
    tensors = {name: value.detach().float().cpu().numpy() for name, value in model.encoder.state_dict().items()}
    about: dict[str, Any] = {"name": model.name, "precision": precision,
                             "config": dataclasses.asdict(model.encoder.config)}  # fmt: skip
    for name, prefix in HEADS.items():
        head: Any = model.heads.get(name)
        if head is not None:
            about[name] = dataclasses.asdict(head.config)
            tensors |= {prefix + key: value.detach().float().cpu().numpy() for key, value in head.state_dict().items()}
    if isinstance(model, TextEncoder):
        about |= {"tokenizer": _vocabulary(model), "pooling": model.pooling}
    else:
        about["preparation"] = {"mean": list(model.preparation.mean), "std": list(model.preparation.std)}
    stored: dict[str, np.ndarray] = {}
    for name, value in tensors.items():
        if precision == "int8" and value.ndim == 2:
            scale = np.maximum(np.abs(value).max(axis=1), 1e-12) / 127
            stored[name] = np.round(value / scale[:, None]).astype(np.int8)
            stored[f"{name}.scale"] = scale.astype(np.float32)
        else:
            stored[name] = value.astype(np.float16)
    return save(stored, {"about": json.dumps(about)})


def _vocabulary(model: TextEncoder) -> dict[str, Any]:
    """What `wordpiece.js` needs of the tokenizer."""
    described = json.loads(model.tokenizer.backend.to_str())
    normalizer, words = described.get("normalizer") or {}, described["model"]
    kinds = normalizer.get("type"), (described.get("pre_tokenizer") or {}).get("type"), words["type"]
    if kinds != ("BertNormalizer", "BertPreTokenizer", "WordPiece"):
        raise EncoderError(f"{model.name}: the browser splits words as BERT does, and this tokenizer is another.")
    return {"vocabulary": words["vocab"], "lowercase": bool(normalizer["lowercase"]),
            "special": {"cls": "[CLS]", "sep": "[SEP]", "unk": words["unk_token"]}}  # fmt: skip
