"""An index for large collections: nearest neighbours without a product with every vector.

usearch (Apache 2.0) is an extra: `pip install "encoderscope[index]"`. Its wheel takes 2 MB, that of FAISS 19, and
hnswlib has none. All three build HNSW graphs (Malkov and Yashunin 2018). On one core, a graph of 100,000 texts
takes minutes once. Then a query takes 1 ms, where the exact product takes 14. So an index pays from about there on.
"""

from collections.abc import Generator
from typing import Any

import numpy as np

from encoder.errors import EncoderError
from encoder.search.collection import Collection

#: Texts from which an index is worth its time.
WORTH_IT = 100_000
#: Vectors that are added at a time.
PART = 1_000
#: Neighbours that the graph gives for each one that is asked for; the exact cosines order them.
CANDIDATES = 4


class Index:
    """A collection with a graph of its vectors. `nearest` is that of the collection, and may miss a neighbour."""

    def __init__(self, collection: Collection, graph: Any) -> None:
        self.collection = collection
        self._graph = graph

    def nearest(self, vector: np.ndarray, k: int = 10) -> list[tuple[int, float]]:
        """(place, cosine) of about the k nearest, with exact cosines, nearest first. Errors as `Collection.nearest`."""
        query = self.collection.direction(vector)
        keys = np.asarray(self._graph.search(query, min(CANDIDATES * k, len(self.collection))).keys, dtype=np.int64)
        cosines = self.collection.vectors[keys] @ query
        order = np.lexsort((keys, -cosines))[: max(k, 0)]
        return [(int(keys[one]), float(cosines[one])) for one in order]


def is_installed() -> bool:
    """Whether usearch is there."""
    from importlib.util import find_spec

    return find_spec("usearch") is not None


def iter_index(collection: Collection) -> Generator[float, None, Index]:
    """Build the graph; yields the share that is done. Raises EncoderError without usearch."""
    if not is_installed():
        raise EncoderError('An index needs usearch: pip install "encoderscope[index]". Search works without it.')
    return Index(collection, (yield from iter_graph(collection.vectors, "f32", threads=1)))


def iter_graph(vectors: np.ndarray, dtype: str, **options: int) -> Generator[float, None, Any]:
    """usearch's graph of vectors [N, E], by numbers of this type; yields the share that is done."""
    from usearch.index import Index as Graph

    graph = Graph(ndim=vectors.shape[1], metric="cos", dtype=dtype)
    for first in range(0, len(vectors), PART):
        some = np.asarray(vectors[first : first + PART], dtype=np.float32)
        graph.add(np.arange(first, first + len(some), dtype=np.uint64), some, **options)
        yield (first + len(some)) / len(vectors)
    return graph
