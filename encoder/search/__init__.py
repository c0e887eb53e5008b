"""Search by meaning: texts as sentence vectors, and the texts nearest to a query by cosine.

    >>> texts = search.read_texts(["It costs too much.", "A fine day."]).texts    # or read_texts("reviews.csv")
    >>> collection = search.embed(model, texts)
    >>> [(place, cosine)] = search.nearest(collection, model, "too expensive", k=1)    # the nearest first
    >>> texts[place]
    'It costs too much.'

`encoder.inputs.read` reads the texts of a file, and `collection` embeds, searches, saves and loads them. A search is
exact: 14 ms among 100,000 texts.
"""

from encoder.inputs.read import FORMATS, Limits, Reading, read_texts
from encoder.search.collection import (
    BATCH,
    Collection,
    embed,
    embed_gradually,
    embed_signals,
    from_files,
    is_cut,
    nearest,
    to_parquet,
    to_safetensors,
)

__all__ = [
    "BATCH", "FORMATS", "Collection", "Limits", "Reading", "embed", "embed_gradually", "embed_signals", "from_files",
    "is_cut", "nearest", "read_texts", "to_parquet", "to_safetensors",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
