"""A text whose words are shaded by attention: what the selected ones attend to, or who attends to them.

Shapes: U units, tokens or words of the text.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np

from encoder.export.picture import Picture, escape, exact, packed
from encoder.figures.attention import LOG_DECADES
from encoder.figures.axes import arrow, isolated
from encoder.figures.colours import contrast, mixed
from encoder.figures.numbers import three_digits

#: Faint weights are told apart better than strong ones; the legend is drawn with the same curve.
EASE = 0.6
#: Grounds, texts and the colours of queries and keys, as picture.css has them: (light, dark).
GROUND, TEXT = ("#ffffff", "#14161c"), ("#1d2029", "#e8eaf0")
HUES = {"query": ("#1f63c4", "#6ba6ff"), "key": ("#c9303f", "#ff7a82")}
#: Letters that stay in the theme's own colour have this contrast at least (WCAG 2.2, 1.4.3).
READABLE = 4.5
STOPS = 16


def shaded_text(
    paragraphs: Sequence[Sequence[tuple[str, int]]],
    values: Sequence[float],
    *,
    labels: Sequence[str],
    direction: Literal["to", "from"] = "to",
    held: Sequence[int] = (),
    special: Collection[int] = (),
    scale_to_max: bool = False,
    log: bool = False,
) -> Picture:
    """A text of U units whose shade is a weight, as the app draws it.

    Args:
        paragraphs: pieces of text with the unit that each stands for, -1: none; each unit 0 to U - 1 occurs once.
        values: [U]; NaN: not a target.
        labels: U names for the labels under the pointer.
        direction: "to": held units are queries and the shaded ones keys, in the colour of keys; "from": the other way.
        held: the units that are selected; they are framed. None: a value is a mean over all.
        special: units that are no part of the text ([CLS]); written smaller.
        scale_to_max: shades run to the largest value instead of to 1 (or, several held, to their number).
        log: shades follow the logarithm, over four decades.

    Raises:
        ValueError: numbers of units that do not fit.
    """
    units = [unit for paragraph in paragraphs for _, unit in paragraph if unit >= 0]
    if not len(values) == len(labels) == len(units):
        raise ValueError(
            f"{len(values)} values and {len(labels)} labels for {len(units)} units of the text: each needs one of both."
        )
    shade = Shade(largest(values, len(held), scale_to_max), log)
    source, target = ("query", "key") if direction == "to" else ("key", "query")
    written = []
    for paragraph in paragraphs:
        pieces = []
        for text, unit in paragraph:
            if unit < 0:
                pieces.append(escape(text))
                continue
            title = _title(labels, unit, float(values[unit]), direction, held)
            look = _look(shade.strength(float(values[unit])), target, unit in held, unit in special)
            pieces.append(f'<span{look} title="{escape(title)}">{escape(text)}</span>')
        written.append(f'<p dir="auto">{"".join(pieces)}</p>')
    return Picture(
        f'<div class="seen seen-text" style="--to:var(--s-{target});--from:var(--s-{source})">'
        f"{_legend(shade, len(held))}{''.join(written)}</div>"
    )


def live_text(
    paragraphs: Sequence[Sequence[tuple[str, int]]],
    weights: object,
    *,
    labels: Sequence[str],
    rows: Sequence[int],
    columns: Sequence[int],
    direction: Literal["to", "from"] = "to",
    scale_to_max: bool = False,
    log: bool = False,
) -> dict[str, object]:
    """What `report.Section.live` needs for `shaded_text` of the same arguments.

    weights: the map [R, C]; rows, columns [U]: the place of each unit in it, -1 where it is none.
    """
    target = "key" if direction == "to" else "query"
    steps = (inks(step / 100, target) for step in range(101))
    return packed(np.asarray(weights, dtype=np.float32)[None]) | {
        "kind": "text",
        "names": [isolated(label) for label in labels],
        "order": [unit for paragraph in paragraphs for _, unit in paragraph if unit >= 0],
        "rows": list(rows),
        "columns": list(columns),
        "direction": direction,
        "scale_to_max": scale_to_max,
        "log": log,
        "inks": [" ".join(f"{theme}{ink}" for theme, ink in zip("ld", pair, strict=True) if ink) for pair in steps],
    }


class Shade:
    """How strong the shade of a weight is. top: the weight of the full shade."""

    def __init__(self, top: float, log: bool) -> None:
        self.top, self.log = top, log

    def strength(self, value: float) -> float:
        """0 to 1; 0 for NaN."""
        if not value > 0:
            return 0.0
        share = min(1.0, value / self.top)
        return max(0.0, 1 + math.log10(share) / LOG_DECADES) if self.log else share**EASE

    def at(self, place: float) -> float:
        """The weight at a place of the legend, 0 to 1."""
        return self.top * 10 ** (LOG_DECADES * (place - 1)) if self.log else self.top * place


def largest(values: Sequence[float], n_held: int, scale_to_max: bool) -> float:
    """The weight of the full shade."""
    if not scale_to_max:
        return float(max(1, n_held))
    return float(np.nanmax([0.0, *values])) or 1.0


def _look(strength: float, target: str, held: bool, special: bool) -> str:
    """Class and style of a unit: letters that cannot be read on their shade are black or white."""
    kinds = ["held"] * held + ["special"] * special
    style = ""
    if strength > 0.005:
        style = f' style="--a:{100 * strength:.1f}%"'
        kinds += [f"{theme}{ink}" for theme, ink in zip("ld", inks(strength, target), strict=True) if ink]
    return (f' class="{" ".join(kinds)}"' if kinds else "") + style


def inks(strength: float, target: str) -> tuple[str, str]:
    """Letters on a shade in light and dark: "b" black, "w" white, "" the theme's own."""
    found = []
    for ground, text, hue in zip(GROUND, TEXT, HUES[target], strict=True):
        shade = mixed(ground, hue, strength)
        black = contrast("#000000", shade) >= contrast("#ffffff", shade)
        found.append("" if contrast(text, shade) >= READABLE else "b" if black else "w")
    return found[0], found[1]


def _title(labels: Sequence[str], unit: int, value: float, direction: str, held: Sequence[int]) -> str:
    """The number of a unit, in words."""
    name = isolated(labels[unit])
    if math.isnan(value):
        return f"{name}: not shown as a {'key' if direction == 'to' else 'query'}"
    if not held:
        return f"{name}: {exact(value)} on average"
    those = " + ".join(labels[one] for one in held) if len(held) <= 3 else f"{len(held)} tokens"
    pair = arrow(those, labels[unit]) if direction == "to" else arrow(labels[unit], those)
    return f"{pair}: {exact(value)}"


def _legend(shade: Shade, n_held: int) -> str:
    stops = (
        f"color-mix(in srgb,var(--to) {100 * shade.strength(shade.at(k / STOPS)):.1f}%,var(--s-ground)) "
        f"{100 * k / STOPS:.4g}%"
        for k in range(STOPS + 1)
    )
    low = f"≤ {three_digits(shade.at(0))}" if shade.log else "0"
    title = "attention weights, summed" if n_held > 1 else "attention weight" if n_held else "mean attention weight"
    framed = "<em>framed: selected</em>" if n_held else ""
    return (
        f'<div class="seen-top"><span>{title}</span><span>{low}'
        f'<i class="seen-scale" style="background:linear-gradient(90deg,{",".join(stops)})"></i>'
        f"{three_digits(shade.top)}</span>{framed}</div>"
    )
