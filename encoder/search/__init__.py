"""Search by meaning: texts as sentence vectors, and the texts nearest to a query by cosine.

    texts = search.read_texts(Path("reviews.csv").read_bytes(), "reviews.csv").texts
    collection = search.embed(model, texts)
    search.nearest(collection, model, "too expensive", k=5)    # [(place, cosine), ...], the nearest first

`reading` reads the texts of a file, `collection` embeds, searches, saves and loads them.
"""

from encoder.search.collection import (
    Collection,
    embed,
    embed_gradually,
    from_files,
    nearest,
    to_parquet,
    to_safetensors,
)
from encoder.search.reading import FORMATS, Limits, Reading, read_texts

__all__ = [
    "FORMATS",
    "Collection",
    "Limits",
    "Reading",
    "embed",
    "embed_gradually",
    "from_files",
    "nearest",
    "read_texts",
    "to_parquet",
    "to_safetensors",
]
