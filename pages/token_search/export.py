"""The export of the page Token search: the hits, and Python lines."""

from __future__ import annotations

import dataclasses

import pandas as pd

from encoder.corpus import TokenHit
from pages.core import atlases
from pages.core.export import export_panel, title
from pages.token_search.query import FOUND, Query


def export_hits(query: Query, hits: list[TokenHit], texts: list[str]) -> None:
    """texts: the sentence of each hit."""

    def frame() -> pd.DataFrame:
        rows = pd.DataFrame([dataclasses.asdict(hit) for hit in hits]).drop(columns="place")
        return rows.assign(sentence=texts)

    where = f", corpus.{query.where!r}" if query.where is not None else ""
    without = f", without={query.token!r}" if query.others else ""
    lines = (
        "from pathlib import Path\n\nfrom encoder import corpus\n"
        f"atlas = corpus.open_atlas({atlases.python(query.atlas)})\n"
        f"tokens = corpus.load_tokens(atlas, layer={query.at})\n"
        f"vector = corpus.token_vector(trace, {query.at}, {query.place})\n"
        f"hits = tokens.nearest(vector, {FOUND}{where}{without})"
    )
    export_panel(
        query.view, title(query.view, f"Nearest tokens to “{query.token}”"), frame, lines=lines,
        settings={"Texts": atlases.texts_of(query.atlas), "Vectors after layer": query.at, "Token": query.token},
    )  # fmt: skip
