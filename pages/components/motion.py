"""`attention_motion`: a calculation as a short animation that plays, pauses, steps and scrubs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from encoder.explain import AttentionRow
from encoder.export import wire
from encoder.figures.colours import SIGNED

from . import assets

_render = assets.component("motion")

#: role of a strip -> colours of negative and positive numbers.
COLOURS = {role: SIGNED[kind] for role, kind in {"query": "q", "key": "k", "value": "v", "signed": "signed"}.items()}
#: Phases of `attention_motion`, each of which it can begin with.
PHASES = ("start", "dots", "scores", "exponentials", "weights", "mix", "end")


def attention_motion(row: AttentionRow, names: Sequence[str], *, key: str, alt: str, start: str = "start") -> None:
    """Draws how one query becomes the output z of its head: dot product, scale, softmax, weighted sum.

    Where the system asks for reduced motion, it shows the last frame, and steps.

    Args:
        row: its numbers; every frame shows some of them.
        names: T names of the tokens.
        key: the widget's key.
        alt: a sentence for screen readers.
        start: the phase that it begins with, one of PHASES.

    Raises:
        ValueError: there is no such phase.

    """
    if start not in PHASES:
        raise ValueError(f"start={start!r}: choose one of {', '.join(PHASES)}.")
    place, width = row.place, len(row.q)
    left = len(names) - len(row.keys)
    header: dict[str, Any] = {
        "scene": "attention", "start": start, "query": names[place.query], "names": [names[at] for at in row.keys],
        "chosen": int(np.flatnonzero(row.keys == place.key)[0]), "component": place.component, "width": width,
        "scale": row.scale, "root": width if math.isclose(row.scale, width**-0.5, rel_tol=1e-6) else None,
        "top": row.top, "total": row.total, "left": left, "restWeight": row.rest_weight, "colours": COLOURS,
        "drawn": len(row.keys) if not left else f"{len(row.keys)} of {len(names)}",
    }  # fmt: skip
    fields = ("q", "k", "dots", "scores", "exponentials", "weights", "values", "weighted", "rest", "sums", "z", "bias")
    found = {name: getattr(row, name) for name in fields}
    arrays = {name: array.astype(np.float32) for name, array in found.items() if array is not None}
    arrays["allowed"] = row.allowed.astype(np.uint8)
    arrays["products"] = row.products.astype(np.float32)
    _draw(header, arrays, key, alt)


def _draw(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], key: str, alt: str) -> None:
    """The same numbers have the same id: the browser then stays at its frame."""
    block = wire.pack(header, arrays)
    identity = hashlib.blake2b(block, digest_size=8).hexdigest()
    _render(key=key, data=wire.pack({**header, "id": identity, "alt": alt}, arrays))
