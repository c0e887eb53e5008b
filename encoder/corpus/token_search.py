"""The tokens of an atlas whose vectors are nearest to a vector, also among those that a head treats in some way.

    tokens = corpus.load_tokens(atlas, layer=6)
    tokens.nearest(corpus.token_vector(trace, 6, 4), k=10)
    tokens.nearest(corpus.token_vector(trace, 6, 4), k=10, where=corpus.Behaves(2, 5, "previous", 0.8))

Exact: one product with all vectors. The product is that of 16-bit numbers, as they are stored; all tokens that may be
among the nearest, by the bound of its rounding, are compared again in 32 bits. Three million vectors of width 384 take
0.2 s, and the time grows with their number.

Shapes: N tokens, D d_model.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from encoder.corpus.atlas import Atlas
from encoder.corpus.watcher import BEHAVIOUR
from encoder.errors import AtlasError, quoted
from encoder.search.collection import direction
from encoder.trace.trace import Trace

#: Tokens that an exact search compares: their vectors of width 384 have 2.3 GB, their behaviour in 72 heads 1.1 GB.
MOST_TOKENS = 3_000_000
#: How far a cosine from 16-bit numbers may lie from the true one: half a step of the result, 2^-12, and the rounding of
#: the vectors and the query, 2^-11 of each product in sum; twice that for the order of the sum.
ROUNDING = 2 * (2**-12 + 2 * 2**-11)
#: Where fewer than one token in so many behaves as asked, only their vectors are multiplied.
FEW = 16


@dataclass(frozen=True)
class Behaves:
    """Tokens whose weight on a target is at least `least`, in one head. target: one of BEHAVIOUR."""

    layer: int
    head: int
    target: str
    least: float


@dataclass(frozen=True)
class TokenHit:
    """A token of the corpus."""

    token: str
    #: Index of its text.
    text: int
    #: Its position in the text.
    position: int
    #: With the vector of the search.
    cosine: float
    #: Its place among the loaded tokens.
    place: int
    #: Its first character in the text.
    start: int
    #: The character after its last.
    end: int
    #: The token after it; None at the end.
    following: str | None


@dataclass(frozen=True, eq=False)
class Tokens:
    """Loaded tokens, in the order of the corpus."""

    #: float16 [N, D], each of norm 1.
    vectors: np.ndarray
    #: int32 [N]: places in `vocabulary`.
    codes: np.ndarray
    #: int32 [N]: the text of each token.
    texts: np.ndarray
    #: int32 [N]: its position there.
    positions: np.ndarray
    #: int32 [N]: its first character in the text.
    starts: np.ndarray
    #: int32 [N]: the character after its last.
    ends: np.ndarray
    #: uint8 [L, H, 5, N], in units of 1/255.
    behaviour: np.ndarray
    vocabulary: tuple[str, ...]
    #: Name of the model that made the vectors.
    model: str

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays in memory; those of a mapped file are the system's to drop."""
        arrays = (value for value in vars(self).values() if isinstance(value, np.ndarray))
        return sum(array.nbytes for array in arrays if not isinstance(array, np.memmap))

    def __len__(self) -> int:
        return len(self.codes)

    def token(self, place: int) -> str:
        """The token of a place."""
        return self.vocabulary[int(self.codes[place])]

    def nearest(
        self, vector: np.ndarray, k: int = 10, where: Behaves | None = None, *, without: str | None = None
    ) -> list[TokenHit]:
        """The k nearest tokens by cosine, nearest first; `where` leaves out all others before that.

        vector [D], of any norm above 0; without: a token whose occurrences are left out, too. Raises EncoderError for
        another width, and for a head that is not there.
        """
        query = direction(vector, self.vectors.shape[1], self.model)
        among = None if where is None else self.behaving(where)
        if without in self.vocabulary:
            other = self.codes != self.vocabulary.index(without)
            among = other if among is None else among & other
        places = self._candidates(query, k, among)
        cosines = self.vectors[places].astype(np.float32) @ query
        order = np.argsort(-cosines, kind="stable")[: max(k, 0)]
        return [self._hit(int(places[at]), float(cosines[at])) for at in order]

    def mean_cosine(self, vector: np.ndarray) -> float:
        """The mean cosine of a vector with all tokens: what a cosine of `nearest` is compared with."""
        query = torch.from_numpy(direction(vector, self.vectors.shape[1], self.model))
        return float(torch.mv(torch.from_numpy(self.vectors), query.half()).float().mean())

    def count(self, token: str) -> int:
        """How often the corpus has a token."""
        return int((self.codes == self.vocabulary.index(token)).sum()) if token in self.vocabulary else 0

    def _candidates(self, query: np.ndarray, k: int, among: np.ndarray | None) -> np.ndarray:
        """Ascending places with the k nearest among them, and all that rounding could confuse with these."""
        if among is not None and int(among.sum()) < len(self) // FEW:
            return np.flatnonzero(among)
        product = torch.mv(torch.from_numpy(self.vectors), torch.from_numpy(query).half())
        if among is not None:
            product[torch.from_numpy(~among)] = -torch.inf
        most = min(max(k, 0), len(self) if among is None else int(among.sum()))
        if not most:
            return np.empty(0, dtype=np.int64)
        least = torch.topk(product, most).values[-1].float() - 2 * ROUNDING
        return torch.nonzero(product.float() >= least).squeeze(-1).numpy()

    def behaving(self, where: Behaves) -> np.ndarray:
        """bool [N]: the tokens that behave so; weights are known to 1/255."""
        n_layers, n_heads, _, _ = self.behaviour.shape
        if where.target not in BEHAVIOUR:
            raise AtlasError(
                f"No weight on {quoted(where.target)} is in an atlas: choose one of {', '.join(BEHAVIOUR)}."
            )
        if not (0 <= where.layer < n_layers and 0 <= where.head < n_heads):
            raise AtlasError(
                f"No head L{where.layer} H{where.head} in this atlas: choose layers 0 to {n_layers - 1} and heads 0 to "
                f"{n_heads - 1}."
            )
        weights = self.behaviour[where.layer, where.head, BEHAVIOUR.index(where.target)]
        return weights >= round(where.least * 255)

    def _hit(self, place: int, cosine: float) -> TokenHit:
        text, after = int(self.texts[place]), place + 1
        following = self.token(after) if after < len(self) and int(self.texts[after]) == text else None
        start, end = int(self.starts[place]), int(self.ends[place])
        return TokenHit(self.token(place), text, int(self.positions[place]), cosine, place, start, end, following)


#: Room for an array of a name, a shape and a type.
Room = Callable[[str, tuple[int, ...], type[np.generic]], np.ndarray]


def in_memory(name: str, shape: tuple[int, ...], kind: type[np.generic]) -> np.ndarray:
    """Room in this process's own memory."""
    return np.empty(shape, dtype=kind)


def read_tokens(atlas: Atlas, layer: int, most: int, room: Room = in_memory) -> Iterator[tuple[float, Tokens]]:
    """The tokens of an atlas with their vectors at a layer, special tokens left out; whole parts, up to `most` tokens.

    Yields the share that is read, and the same Tokens each time; they are whole with the last one. Raises AtlasError
    for an atlas without vectors of this layer.
    """
    tables, words = _tables(atlas, most)
    if not tables:
        raise AtlasError("This atlas has no vectors of tokens: build it with --vectors.")
    n_tokens = sum(len(table["kept"]) for table in tables.values())
    width, heads = atlas.d_model, (atlas.n_layers, atlas.n_heads, len(BEHAVIOUR))
    vectors, behaviour = room("vectors", (n_tokens, width), np.float16), room("behaviour", (*heads, n_tokens), np.uint8)
    numbers = {name: room(name, (n_tokens,), np.int32) for name in ("codes", "texts", "positions", "starts", "ends")}
    tokens = Tokens(vectors, **numbers, behaviour=behaviour, vocabulary=tuple(words), model=atlas.model_name)
    first = 0
    for part, table in tables.items():
        kept, last = table.pop("kept"), first + len(table["codes"])
        given, behaved = atlas.vectors(part, layer), atlas.behaviour(part)
        if (given.shape[1:], behaved.shape[1:]) != ((width,), heads) or not len(given) == len(behaved) > kept.max(
            initial=0
        ):
            raise AtlasError(f"The vectors of {atlas.folder.name} are damaged: copy or build the atlas again.")
        given = given[kept].astype(np.float32)
        given /= np.linalg.norm(given, axis=1, keepdims=True).clip(min=np.finfo(np.float32).tiny)
        vectors[first:last] = given
        behaviour[..., first:last] = np.moveaxis(behaved[kept], 0, -1)
        for name, array in numbers.items():
            array[first:last] = table.pop(name)
        first = last
        yield last / max(1, n_tokens), tokens


def _tables(atlas: Atlas, most: int) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, int]]:
    """Columns of the parts that are loaded, without special tokens (kept: the others' rows), and the vocabulary."""
    found: dict[str, dict[str, np.ndarray]] = {}
    words: dict[str, int] = {}
    n_tokens = 0
    for part, columns in _columns(atlas):
        n_tokens += len(columns["kept"])
        if found and n_tokens > most:
            break
        names = columns.pop("token")
        columns["codes"] = np.array([words.setdefault(str(name), len(words)) for name in names], dtype=np.int32)
        found[part] = columns
    return found, words


def _columns(atlas: Atlas) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    for part in atlas.parts():
        table = atlas.tokens(part)
        kept = np.flatnonzero(~table["special"].to_numpy(dtype=bool))
        columns = ("text", "position", "start", "end")
        numbers = {f"{name}s": table[name].to_numpy()[kept].astype(np.int32) for name in columns}
        yield part, numbers | {"token": table["token"].to_numpy()[kept], "kept": kept}


def token_vector(trace: Trace, layer: int, position: int) -> np.ndarray:
    """float32 [D]: a token's vector as an atlas has it. layer: 0 the embeddings, N after N layers, all of them: the
    output. Raises AtlasError for a layer that is not there."""
    n_layers = trace.config.n_layers
    if not 0 <= layer <= n_layers:
        raise AtlasError(f"No vectors of layer {layer} in this model: choose 0 (the embeddings) to {n_layers}.")
    return trace.before_layer(layer)[position].float().cpu().numpy()
