"""The files of the page “Image and text”: the captions with their numbers, and the Python lines that give them."""

from __future__ import annotations

import dataclasses

from encoder import figures
from encoder.export import python_code, tables
from pages.core.export import export_panel, origin, title
from pages.image_text.pair import Pair


def draw(pair: Pair) -> None:
    """The panel "Export and share"."""
    found = pair.scores
    export_panel(
        pair.view,
        title(pair.view, "Captions"),
        lambda: tables.captions_frame(pair.texts, found),
        figures=lambda: {"Captions": figures.caption_bars(pair.texts, found.probabilities[0].numpy())},
        lines=lines(pair),
        settings={"Scale": f"{found.scale:.4g}", "Bias": f"{found.bias:.4g}", "Probabilities": pair.model.compares},
    )


def lines(pair: Pair) -> str:
    """Python that gives the numbers of the bars from `trace`, the run of the image."""
    whole = dataclasses.replace(origin(pair.view.model)[0], tower="", norm="trained")
    return (
        "from encoder import pair_scores\n"
        f"{python_code.model_lines(whole, 'pair')}\n"
        f"texts = {list(pair.texts)!r}\n"
        "vectors = pair.image_vector(trace)[None], pair.embed_texts(texts)\n"
        f"found = pair_scores.scores(pair, *vectors, times={pair.times:g})\n"
        "found.cosines, found.logits, found.probabilities"
    )
