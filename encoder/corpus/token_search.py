"""The tokens of an atlas whose vectors are nearest to a vector, also among those that a head treats in some way.

    tokens = corpus.load_tokens(atlas, layer=6)
    tokens.nearest(trace.output[4], k=10)
    tokens.nearest(trace.output[4], k=10, where=corpus.Behaves(2, 5, "previous", 0.8))

Exact: one product with all vectors. `tokens.collection` is a `search.Collection`, of which `search.iter_index` makes an
index.

Shapes: N tokens, D d_model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from encoder.corpus.atlas import Atlas
from encoder.corpus.watcher import BEHAVIOUR
from encoder.errors import AtlasError
from encoder.measure.sized import Sized
from encoder.search.collection import Collection

#: Tokens that are loaded at most; a million of width 384 takes 1.5 GB.
MOST_TOKENS = 1_000_000


@dataclass(frozen=True)
class Behaves:
    """Tokens whose weight on a target is at least `least`, in one head. target: one of BEHAVIOUR."""

    layer: int
    head: int
    target: str
    least: float


@dataclass(frozen=True)
class TokenHit:
    """A token of the corpus. text: index of its text; position: in the text; place: among the loaded tokens."""

    token: str
    text: int
    position: int
    cosine: float
    place: int


@dataclass(frozen=True, eq=False)
class Tokens(Sized):
    """Loaded tokens. collection: tokens with vectors of norm 1; texts, positions [N]; behaviour uint8 [N, L, H, 5]."""

    collection: Collection
    texts: np.ndarray
    positions: np.ndarray
    behaviour: np.ndarray

    def nearest(self, vector: np.ndarray, k: int = 10, where: Behaves | None = None) -> list[TokenHit]:
        """The k nearest tokens by cosine, nearest first; `where` leaves out all others before that.

        vector [D], of any norm above 0. Raises EncoderError for another width, and for a head that is not there.
        """
        if where is None:
            return self._hits(self.collection.nearest(vector, k))
        places = np.flatnonzero(self.behaving(where))
        some = Collection(
            tuple(self.collection.texts[place] for place in places.tolist()),
            self.collection.vectors[places],
            self.collection.model,
        )
        return self._hits([(int(places[place]), cosine) for place, cosine in some.nearest(vector, k)])

    def behaving(self, where: Behaves) -> np.ndarray:
        """bool [N]: the tokens that behave so; weights are known to 1/255."""
        _, n_layers, n_heads, _ = self.behaviour.shape
        if where.target not in BEHAVIOUR:
            raise AtlasError(f"No weight on {where.target!r} is in an atlas: choose one of {', '.join(BEHAVIOUR)}.")
        if not (0 <= where.layer < n_layers and 0 <= where.head < n_heads):
            raise AtlasError(
                f"No head L{where.layer} H{where.head} in this atlas: choose layers 0 to {n_layers - 1} and heads 0 to "
                f"{n_heads - 1}."
            )
        weights = self.behaviour[:, where.layer, where.head, BEHAVIOUR.index(where.target)]
        found: np.ndarray = weights >= round(where.least * 255)
        return found

    def _hits(self, found: Sequence[tuple[int, float]]) -> list[TokenHit]:
        return [
            TokenHit(self.collection.texts[place], int(self.texts[place]), int(self.positions[place]), cosine, place)
            for place, cosine in found
        ]


def load_tokens(atlas: Atlas, layer: int, most: int = MOST_TOKENS) -> Tokens:
    """The tokens of an atlas with their vectors at a layer, special tokens left out; whole parts, up to `most` tokens.

    Raises AtlasError for an atlas without vectors of this layer.
    """
    names: list[str] = []
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    for part in atlas.parts():
        tokens = atlas.tokens(part, ["text", "position", "token", "special"])
        kept = np.flatnonzero(~tokens["special"].to_numpy(dtype=bool))
        if parts and len(names) + len(kept) > most:
            break
        vectors = atlas.vectors(part, layer)[kept].astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=np.finfo(np.float32).tiny)
        names += tokens["token"].iloc[kept].astype(str).tolist()
        texts, positions = (tokens[name].to_numpy()[kept] for name in ("text", "position"))
        parts.append((vectors, texts, positions, atlas.behaviour(part)[kept]))
    if not parts:
        raise AtlasError("This atlas has no vectors of tokens: build it with --vectors.")
    joined = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    return Tokens(Collection(tuple(names), joined[0], atlas.model_name), *joined[1:])
