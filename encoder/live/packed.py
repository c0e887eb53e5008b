"""A model as files for the engine in the browser: gzipped safetensors, and the word vectors in blocks of rows.

A sentence needs a few rows of the table of word vectors, so the table is not in the model's file: a page fetches the
blocks that its sentence needs. The engine is `browser/engine`.
"""

import copy
import dataclasses
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from safetensors.numpy import save
from torch import nn

from encoder.encoders.image import ImageEncoder
from encoder.encoders.text import SIDES, TextEncoder
from encoder.errors import EncoderError
from encoder.live import bounds
from encoder.live.tokenizer import described
from encoder.model.biases import relative_bucket
from encoder.model.config import EncoderConfig
from encoder.model.rotary import rotary_frequencies
from encoder.model.steps import settings_of
from encoder.trace.trace import Trace

#: Bits of a number of a matrix.
Bits = Literal[16, 8]
TABLE, BLOCK = "embedding.tokens.weight", 128
#: What a page loads of a model at most, compressed, in bytes.
MOST_BYTES = 120_000_000
M = TypeVar("M", bound=nn.Module)


@dataclasses.dataclass(frozen=True)
class BrowserModel:
    """The files of a model, and its size. main: everything but the word vectors; blocks: BLOCK rows of them each, none
    for images."""

    main: bytes
    blocks: tuple[bytes, ...]
    n_layers: int
    n_heads: int

    @property
    def n_bytes(self) -> int:
        """Bytes of all files."""
        return len(self.main) + sum(map(len, self.blocks))


def browser_model(model: TextEncoder | ImageEncoder, bits: Bits = 16) -> BrowserModel:
    """The files of a model.

    bits: of each number of a matrix (`rounded`). Raises EncoderError for a model that the engine in the browser does
    not compute, and for one whose files are larger than MOST_BYTES.
    """
    bounds.check(model)
    tensors = _arrays(model.encoder)
    _check_size(model.name, sum(one.size for one in tensors.values()) * bits // 8, bits, packs_to=2)
    about: dict[str, Any] = {"name": model.name, "config": dataclasses.asdict(model.encoder.config)}
    for name, head in _heads(model).items():
        tensors |= {f"{name}.{key}": value for key, value in _arrays(head).items()}
        if name in ("mlm_head", "classifier"):
            about[name] = dataclasses.asdict(head.config)  # type: ignore[call-overload]
    blocks: list[bytes] = []
    if isinstance(model, TextEncoder):
        about |= _text(model)
        table = tensors.pop(TABLE)
        about["table"] = {"name": TABLE, "shape": table.shape, "block": BLOCK}
        blocks = [_packed({"rows": table[at : at + BLOCK]}, bits) for at in range(0, len(table), BLOCK)]
    else:
        about["preparation"] = {"mean": list(model.preparation.mean), "std": list(model.preparation.std)}
    main, config = _packed(tensors, bits, {"about": json.dumps(about)}), model.encoder.config
    found = BrowserModel(main, tuple(blocks), config.n_layers, config.n_heads)
    _check_size(model.name, found.n_bytes, bits)
    return found


def _check_size(name: str, size: int, bits: Bits, packs_to: int = 1) -> None:
    """Raise EncoderError for more bytes than a page loads. packs_to: how many times smaller they may become."""
    if size <= MOST_BYTES * packs_to:
        return
    less = "use 8 bits (--bits 8), or " if bits == 16 and size <= 2 * MOST_BYTES * packs_to else ""
    raise EncoderError(
        f"{name} has {size / 1e6:,.0f} MB with {bits} bits a number, and a page loads at most {MOST_BYTES / 1e6:.0f} "
        f"MB: {less}publish a smaller model, or views of this one, whose pages hold their numbers."
    )


def _text(model: TextEncoder) -> dict[str, Any]:
    """What the engine needs to know of a text encoder besides its weights."""
    config = model.config
    about: dict[str, Any] = {
        "tokenizer": described(model.tokenizer, model.name),
        "pooling": model.pooling,
        "steps": [{"kind": "dense", **settings_of(step)} for step in model.dense],
        "normalise": model.normalise,
        "truncate": model.truncate_dim,
        "longest": config.max_tokens,
        "prompts": prompts(model),
        "pools_prompt": model.pools_prompt,
    }
    if config.relative_buckets:  # the row of each distance from the farthest key before to the farthest key after
        distances = torch.arange(1 - config.max_tokens, config.max_tokens)
        about["rows"] = relative_bucket(distances, config.relative_buckets, config.relative_max_distance).tolist()
    if config.position == "rotary":
        about["rotary"] = [_rotation(config, layer) for layer in range(config.n_layers)]
    return about


def prompts(model: TextEncoder) -> list[str]:
    """What comes before the first text of a comparison and before the second, as in `explain_score`."""
    return [model.searching(side).prompt() for side in SIDES]


def _rotation(config: EncoderConfig, layer: int) -> dict[str, Any]:
    """How a layer rotates queries and keys: the angle of each pair at position 1, and what cos and sin are multiplied
    by."""
    base, scaling = config.rotary_of_layer(layer)
    angles = config.rotary_sign * rotary_frequencies(config.rotary_width, base, scaling)
    return {"angles": angles.tolist(), "length": 1.0 if scaling is None else scaling.length}


def _heads(model: TextEncoder | ImageEncoder) -> dict[str, nn.Module]:
    """What is packed besides the encoder: the head of hidden words where it is of the usual form, the linear maps after
    pooling, and an image's classes."""
    found = model.heads
    if not isinstance(model, TextEncoder):
        return {name: head for name, head in found.items() if name == "classifier"}
    kept = {name: head for name, head in found.items() if name.startswith("dense.")}
    if model.mlm_head is not None and bounds.predicts(model):
        kept["mlm_head"] = model.mlm_head
    return kept


def _arrays(module: nn.Module) -> dict[str, np.ndarray]:
    return {name: value.detach().float().cpu().numpy() for name, value in module.state_dict().items()}


def rounded(value: np.ndarray, bits: Bits) -> tuple[np.ndarray, np.ndarray | None]:
    """A matrix as stored: its numbers, and a scale for each row or None.

    16 bits: float16 where that loses nothing, else int16 with a scale for each row, which rounds less than float16
    does. 8 bits: int8 with a scale for each row.
    """
    half = value.astype(np.float16)
    if bits == 16 and np.array_equal(half, value):
        return half, None
    kind = np.int16 if bits == 16 else np.int8
    rows = value.reshape(len(value), -1)
    scale = (np.maximum(np.abs(rows).max(axis=1), 1e-12) / np.iinfo(kind).max).astype(np.float32)
    return np.round(rows / scale[:, None]).reshape(value.shape).astype(kind), scale


def as_read(model: TextEncoder, bits: Bits) -> TextEncoder:
    """The model with the weights that the browser reads."""
    return dataclasses.replace(
        model, encoder=_as_read(model.encoder, bits), dense=tuple(_as_read(step, bits) for step in model.dense)
    )


def _as_read(module: M, bits: Bits) -> M:
    found = copy.deepcopy(module)
    with torch.no_grad():
        for name, value in found.state_dict().items():
            if value.dim() < 2:
                continue
            numbers, scale = rounded(_arrays(module)[name], bits)
            read = numbers.astype(np.float32)
            if scale is not None:
                read = read * scale.reshape(-1, *[1] * (read.ndim - 1))
            value.copy_(torch.from_numpy(read))
    return found


@dataclasses.dataclass(frozen=True)
class Rounding:
    """What rounding the weights changes. share: the largest difference, as a share of the largest number of its kind:
    of the outputs of the tokens, and of the attention of the last layer. cosine: the least, of the vectors of a text.
    """

    share: float
    cosine: float


def rounding(model: TextEncoder, texts: Sequence[str], bits: Bits) -> Rounding:
    """What rounding the weights to `bits` changes in these texts."""
    read, share, cosine = as_read(model, bits), 0.0, 1.0
    for text in texts:
        ours, theirs = model.trace(text), read.trace(text)
        pairs = zip(_numbers(ours), _numbers(theirs), strict=True)
        share = max(share, *(float((one - other).abs().max() / one.abs().max()) for one, other in pairs))
        vector, rounded_one = model.vector_of(ours).double(), read.vector_of(theirs).double()
        cosine = min(cosine, float(torch.cosine_similarity(vector, rounded_one, dim=0)))
    return Rounding(share, cosine)


def _numbers(trace: Trace) -> list[torch.Tensor]:
    return [trace.output.float(), trace.layer_attention(trace.config.n_layers - 1).float()]


def _packed(tensors: Mapping[str, np.ndarray], bits: Bits, about: dict[str, str] | None = None) -> bytes:
    """A gzipped file. A vector is float32, a matrix `rounded`. Of 16 bits the low bytes come before the high bytes,
    of which gzip makes less.
    """
    stored: dict[str, np.ndarray] = {}
    for name, value in tensors.items():
        if value.ndim < 2:
            stored[name] = value
            continue
        numbers, scale = rounded(value, bits)
        if scale is not None:
            stored[f"{name}.scale"] = scale
        halves = numbers.view(np.uint16) if numbers.itemsize == 2 else None
        stored[name] = numbers if halves is None else np.stack([halves & 255, halves >> 8]).astype(np.uint8)
    return gzip.compress(save(stored, about), mtime=0)
