"""A model as files for the engine in the browser: gzipped safetensors, and the word vectors in blocks of rows.

A sentence needs a few rows of the table of word vectors, so the table is not in the model's file: a page fetches the
blocks that its sentence needs. The engine is `browser/engine`.
"""

import dataclasses
import gzip
import json
from typing import Any

import numpy as np
from safetensors.numpy import save

from encoder.encoders.image import ImageEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError

#: Heads that the engine computes, by their name in `NamedEncoder.heads`.
HEADS = {"mlm_head": "mlm_head.", "classifier": "classifier."}
TABLE, BLOCK = "embedding.tokens.weight", 128


@dataclasses.dataclass(frozen=True)
class BrowserModel:
    """The files of a model. main: everything but the word vectors; blocks: BLOCK rows of them each, none for images."""

    main: bytes
    blocks: tuple[bytes, ...]


def browser_model(model: TextEncoder | ImageEncoder) -> BrowserModel:
    """The files of a model. Raises EncoderError for one whose tokenizer is not BERT's WordPiece."""
    tensors = {name: value.detach().float().cpu().numpy() for name, value in model.encoder.state_dict().items()}
    about: dict[str, Any] = {"name": model.name, "config": dataclasses.asdict(model.encoder.config)}
    for name, prefix in HEADS.items():
        head: Any = model.heads.get(name)
        if head is not None:
            about[name] = dataclasses.asdict(head.config)
            tensors |= {prefix + key: value.detach().float().cpu().numpy() for key, value in head.state_dict().items()}
    blocks: list[bytes] = []
    if isinstance(model, TextEncoder):
        about |= {"tokenizer": _vocabulary(model), "pooling": model.pooling}
        table = tensors.pop(TABLE)
        about["table"] = {"name": TABLE, "shape": table.shape, "block": BLOCK}
        blocks = [_packed({"rows": table[at : at + BLOCK]}) for at in range(0, len(table), BLOCK)]
    else:
        about["preparation"] = {"mean": list(model.preparation.mean), "std": list(model.preparation.std)}
    return BrowserModel(_packed(tensors, {"about": json.dumps(about)}), tuple(blocks))


def _packed(tensors: dict[str, np.ndarray], about: dict[str, str] | None = None) -> bytes:
    """A gzipped file. A vector is float32. A matrix is float16 where that loses nothing, else int16 with a scale for
    each row, which rounds less than float16 does. Its low bytes come before its high bytes: gzip makes less of them.
    """
    stored: dict[str, np.ndarray] = {}
    for name, value in tensors.items():
        if value.ndim < 2:
            stored[name] = value
            continue
        numbers = value.astype(np.float16)
        if not np.array_equal(numbers, value):
            rows = value.reshape(len(value), -1)
            scale = (np.maximum(np.abs(rows).max(axis=1), 1e-12) / np.iinfo(np.int16).max).astype(np.float32)
            numbers = np.round(rows / scale[:, None]).reshape(value.shape).astype(np.int16)
            stored[f"{name}.scale"] = scale
        stored[name] = np.stack([numbers.view(np.uint16) & 255, numbers.view(np.uint16) >> 8]).astype(np.uint8)
    return gzip.compress(save(stored, about), mtime=0)


def _vocabulary(model: TextEncoder) -> dict[str, Any]:
    """What `wordpiece.js` needs of the tokenizer."""
    described = json.loads(model.tokenizer.backend.to_str())
    normalizer, words = described.get("normalizer") or {}, described["model"]
    kinds = normalizer.get("type"), (described.get("pre_tokenizer") or {}).get("type"), words["type"]
    if kinds != ("BertNormalizer", "BertPreTokenizer", "WordPiece"):
        raise EncoderError(f"{model.name}: the browser splits words as BERT does, and this tokenizer is another.")
    return {
        "vocabulary": words["vocab"],
        "lowercase": bool(normalizer["lowercase"]),
        "special": {"cls": "[CLS]", "sep": "[SEP]", "unk": words["unk_token"]},
    }
