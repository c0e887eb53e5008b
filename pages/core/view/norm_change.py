"""What moving the norms changed in the open head, in one sentence."""

from __future__ import annotations

import dataclasses

from encoder.figures.placements import PLACEMENT_NAMES
from encoder.measure import stream
from pages.core.stores import cache, model_store
from pages.core.view.view import View
from pages.core.words import token_names


def before(view: View) -> cache.TracedText | None:
    """The text with the norms where they were: as trained, for an untrained model in post-norm. None: not moved."""
    key = view.model
    original = dataclasses.replace(key, norm="trained") if key.scratch is None else model_store.with_norms(key, "post")
    if model_store.model(original).config.norm_placement == view.loaded.config.norm_placement:
        return None
    return cache.TracedText(original, view.text, view.pair)


def sentence(view: View) -> str:
    """The share of the head's attention that moved, and the largest change; "" where the norms were not moved."""
    unmoved = before(view)
    if unmoved is None:
        return ""
    layer, head, labels = view.layer, view.head, view.trace.labels
    moved = view.derived(
        ("moved by norms", unmoved.model, layer),
        lambda trace: stream.head_differences(trace, unmoved.trace, layer),
    )[head]
    found: stream.MapDifference = view.derived(
        ("changed by norms", unmoved.model, layer, head),
        lambda trace: stream.map_difference(trace, unmoved.trace, layer, head),
    )
    now, then = (PLACEMENT_NAMES[one.loaded.config.norm_placement] for one in (view, unmoved))
    row, column = found.largest
    pair = " → ".join(token_names.quoted(labels, place * found.block) for place in (row, column))
    return (
        f"{now.capitalize()} instead of {then}: **{moved:.0%}** of this head's attention moved. Largest change: "
        f"{pair}, {found.post[row, column]:.3f} to {found.pre[row, column]:.3f}."
    )
