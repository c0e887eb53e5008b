"""Texts with their sentence vectors: embed them, search them exactly, map them to the plane, save and load them.

Shapes: N texts, E width of a sentence vector.
"""

import hashlib
import io
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from encoder.encoders.signal import SignalEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted
from encoder.inputs.json_file import safetensors_texts
from encoder.inputs.read import parquet_values
from encoder.inputs.text import readable
from encoder.model.shown import Shown
from encoder.trace import gradual

FORMAT = "encoderscope collection 1"
#: Texts that are embedded at a time. Texts of similar length share a batch, so little of it is padding.
BATCH = 32
#: At most so many special tokens are added to a text.
SPECIAL = 8


@dataclass(frozen=True, eq=False, repr=False)
class Collection(Shown):
    """Texts and their vectors. vectors float32 [N, E], each of norm 1; model: the name of the model that made them.

    n_cut: texts that were longer than the model accepts; their vectors are those of their beginnings.
    """

    texts: tuple[str, ...]
    vectors: np.ndarray
    model: str
    n_cut: int = 0

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"<Collection of {len(self):,} texts: vectors of {self.vectors.shape[1]} numbers by {self.model}>"

    def table(self) -> pd.DataFrame:
        """A row for each text, its place as index."""
        return pd.DataFrame({"text": self.texts})

    def nearest(self, vector: np.ndarray, k: int = 10) -> list[tuple[int, float]]:
        """The k texts of the largest cosine with a vector [E] of any norm above 0: (place, cosine), nearest first.

        Exact: one product with all vectors. Equal cosines keep the order of the texts. Raises EncoderError for a vector
        of another width, and for one without a direction.
        """
        query = self.direction(vector)
        cosines = self.vectors @ query
        most = min(max(k, 0), len(self))
        if not most:
            return []
        # All that reach the k-th largest cosine, so equal ones keep their order.
        found = np.flatnonzero(cosines >= np.partition(cosines, len(self) - most)[len(self) - most])
        order = found[np.argsort(-cosines[found], kind="stable")][:most]
        return [(int(place), float(cosines[place])) for place in order]

    def direction(self, vector: np.ndarray) -> np.ndarray:
        """The vector [E] with norm 1, float32. Raises EncoderError for another width, and for no direction."""
        return direction(vector, self.vectors.shape[1], self.model)

    def plane(self) -> tuple[np.ndarray, np.ndarray]:
        """The vectors in the plane of their two largest principal components: float64 [N, 2], and the share of the
        variance that each component has, [2].

        Raises EncoderError for fewer than 3 texts.
        """
        if len(self) < 3:
            raise EncoderError(f"A map needs at least 3 texts, and there are {len(self)}: add some.")
        from sklearn.decomposition import PCA

        # For many texts the covariance [E, E] is much smaller than the vectors.
        solver = "full" if len(self) <= 2_000 else "covariance_eigh"
        vectors = self.vectors.astype(np.float64)
        found = PCA(n_components=2, svd_solver=solver).fit(vectors)
        shares = np.nan_to_num(found.explained_variance_ratio_)  # equal texts have no variance at all
        return found.transform(vectors), shares

    def on_plane(self, vector: np.ndarray) -> np.ndarray:
        """A vector [E] of any norm above 0 in the plane of `plane`: float64 [2]. Raises EncoderError as `direction`."""
        mean = self.vectors.mean(axis=0, dtype=np.float64)
        points, _ = self.plane()
        # The components from the points themselves: points = (vectors - mean) @ axes.
        axes = np.linalg.lstsq(self.vectors - mean, points, rcond=None)[0]  # [E, 2]
        found: np.ndarray = (self.direction(vector) - mean) @ axes
        return found


def direction(vector: np.ndarray, width: int, model: str) -> np.ndarray:
    """A query's vector [width] with norm 1, float32. model: the name of the model that made the other vectors. Raises
    EncoderError for another width, and for no direction."""
    query = np.asarray(vector, dtype=np.float32)
    if query.shape != (width,):
        raise EncoderError(
            f"The query has {query.size} numbers, and these vectors have {width}: embed both with {model}."
        )
    norm = float(np.linalg.norm(query))
    if not 0 < norm < float("inf"):
        raise EncoderError("The query's vector is zero or not finite, so the cosine is undefined: type another query.")
    return query / norm


def embed_gradually(model: TextEncoder, texts: Iterable[str]) -> Generator[int, None, Collection]:
    """Embed texts, the longest first: yields the number that are done after each batch, returns the collection.

    Raises EncoderError without texts, and for a text whose vector has no direction.
    """
    texts = tuple(readable(text) for text in texts)
    if not texts:
        raise EncoderError("No texts to search: specify at least one.")
    model = model.searching("document")
    vectors = np.empty((len(texts), model.width_of_vectors), dtype=np.float32)
    done = n_cut = 0
    for places, some in model.iter_embed(texts, BATCH):
        vectors[places] = _directions(some.cpu().float().numpy(), places)
        n_cut += sum(is_cut(model, texts[place]) for place in places)
        done += len(places)
        yield done
    return Collection(texts, vectors, model.name, n_cut)


embed = gradual.at_once(embed_gradually, "embed")


def embed_signals(model: SignalEncoder, inputs: Sequence[Any], names: Sequence[str]) -> Collection:
    """Images or sounds with their vectors. names: for each, what the collection has in place of a text."""
    vectors = model.embed(inputs).cpu().float().numpy()
    return Collection(tuple(names), _directions(vectors, range(len(names))), model.name)


def is_cut(model: TextEncoder, text: str) -> bool:
    """Whether `embed` reads a part of this text only. A token has a byte or more: most texts are not counted."""
    most = model.max_embed_tokens or model.config.max_tokens
    return len(text.encode("utf-8", "replace")) + SPECIAL > most and model.tokenize(text, max_tokens=most).cut


def _directions(vectors: np.ndarray, places: Sequence[int]) -> np.ndarray:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    wrong = np.flatnonzero(~((norms > 0) & np.isfinite(norms)))
    if len(wrong):
        raise EncoderError(f"The vector of text {places[wrong[0]] + 1} has no direction: leave this text out.")
    return vectors / norms


def nearest(collection: Collection, model: TextEncoder, query: str, k: int = 10) -> list[tuple[int, float]]:
    """The k texts that are nearest to a query: (place, cosine), nearest first.

    A model with sides (`TextEncoder.has_sides`) embeds it as a query, and `embed` its texts as documents.
    """
    return collection.nearest(model.searching("query").embed(query)[0].cpu().float().numpy(), k)


# --- files ------------------------------------------------------------------------------------------------------------


def to_parquet(collection: Collection) -> bytes:
    """The texts as Parquet, a column "text". `to_safetensors` has their vectors."""
    file = io.BytesIO()
    collection.table().to_parquet(file, index=False)
    return file.getvalue()


def to_safetensors(collection: Collection) -> bytes:
    """The vectors as safetensors, with the model's name and a digest of the texts in the header."""
    about = {
        "format": FORMAT,
        "model": collection.model,
        "texts": _digest(collection.texts),
        "cut": str(collection.n_cut),
    }
    return save({"vectors": np.ascontiguousarray(collection.vectors)}, about)


def from_files(parquet: bytes, safetensors: bytes) -> Collection:
    """Read what `to_parquet` and `to_safetensors` wrote.

    Raises EncoderError for a damaged file, for one of another kind, and for two files that do not belong together.
    """
    texts = _texts(parquet)
    try:
        header = safetensors_texts(safetensors)
        tensors = dict(deserialize(safetensors))  # type: ignore[no-untyped-call]
    except (SafetensorError, ValueError) as error:
        what = quoted(str(error))
        raise EncoderError(f"The file of vectors is damaged: {what}. Save the collection again.") from None
    if header.get("format") != FORMAT or set(tensors) != {"vectors"} or tensors["vectors"]["dtype"] != "F32":
        raise EncoderError("The file of vectors is not a collection of Encoderscope: choose the file that you saved.")
    vectors = np.frombuffer(tensors["vectors"]["data"], dtype="<f4").reshape(tensors["vectors"]["shape"])
    if len(texts) != len(vectors) or header.get("texts") != _digest(texts):
        raise EncoderError("The two files do not belong together: choose the texts and the vectors of one collection.")
    if vectors.ndim != 2 or not np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3):
        raise EncoderError("The vectors do not have norm 1: save the collection again.")
    cut = str(header.get("cut", ""))
    return Collection(texts, vectors, header.get("model", ""), int(cut) if cut.isdecimal() else 0)


def _texts(parquet: bytes) -> tuple[str, ...]:
    """Every text, an empty one too: each has a vector."""
    texts = tuple(parquet_values(parquet))
    if None in texts:
        raise EncoderError("The file of texts is not a collection of Encoderscope: choose the file that you saved.")
    return tuple(text or "" for text in texts)


def _digest(texts: Sequence[str]) -> str:
    """One text ends where the next begins: each is hashed with its length."""
    digest = hashlib.sha256()
    for text in texts:
        encoded = text.encode("utf-8", "replace")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()
