"""Sentence vectors of texts that are known before the program runs, as one file of int8: no forward pass is needed.

A vector has norm 1, so its direction is all that is stored: whole numbers from -127 to 127. A text is found by its
digest. So a text that has changed since the file was written is not found, and `embed` runs the model on it.

Shapes: N texts, E width of a sentence vector.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from safetensors.numpy import load, save

from encoder.encoders.text import TextEncoder
from encoder.inputs.json_file import safetensors_texts
from encoder.search import collection
from encoder.search.collection import Collection

LARGEST = 127


@dataclass(frozen=True, eq=False)
class Known:
    """vectors int8 [N, E]; rows: digest of a text -> its row; model: the name of the model that made them."""

    vectors: np.ndarray
    rows: Mapping[int, int]
    model: str

    def row(self, text: str) -> int | None:
        """The row of a text; None for an unknown one."""
        return self.rows.get(_digest(text))


def to_bytes(texts: Collection) -> bytes:
    """The file of these texts: digests and vectors, in the order of the digests, so equal sets give equal files."""
    digests = np.array([_digest(text) for text in texts.texts], dtype=np.int64)
    digests, first = np.unique(digests, return_index=True)
    vectors = texts.vectors[first]
    whole = np.rint(vectors / np.abs(vectors).max(axis=1, keepdims=True) * LARGEST).astype(np.int8)
    return save({"digests": digests, "vectors": whole}, {"model": texts.model})


def from_bytes(data: bytes) -> Known:
    """Read what `to_bytes` wrote."""
    arrays = load(data)
    rows = {int(digest): row for row, digest in enumerate(arrays["digests"])}
    return Known(arrays["vectors"], rows, safetensors_texts(data)["model"])


def embed(model: TextEncoder, texts: Sequence[str], known: Known) -> Collection:
    """As `search.embed`; the model runs on unknown texts only, or on all where another model made the known ones.

    Raises EncoderError as `search.embed`.
    """
    rows = [known.row(text) if model.name == known.model else None for text in texts]
    unknown = [place for place, row in enumerate(rows) if row is None]
    found = [place for place, row in enumerate(rows) if row is not None]
    vectors = np.empty((len(texts), model.width_of_vectors), dtype=np.float32)
    if found:
        stored = known.vectors[[row for row in rows if row is not None]].astype(np.float32)
        vectors[found] = stored / np.linalg.norm(stored, axis=1, keepdims=True)
    n_cut = 0
    if unknown:
        new = collection.embed(model, [texts[place] for place in unknown])
        vectors[unknown], n_cut = new.vectors, new.n_cut
    return Collection(tuple(texts), vectors, model.name, n_cut)


def _digest(text: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little", signed=True
    )
