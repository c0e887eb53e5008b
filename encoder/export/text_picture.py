"""A text whose words are shaded by attention: by what the selected ones attend to, or by what attends to them.

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

#: Exponent of the shade: faint weights differ more than strong ones. The legend follows the same curve.
EASE = 0.6
#: Background, text, and the colours of queries and keys, as in picture.css: (light, dark).
GROUND, TEXT = ("#ffffff", "#14161c"), ("#1d2029", "#e8eaf0")
HUES = {"query": ("#1f63c4", "#6ba6ff"), "key": ("#c9303f", "#ff7a82")}
#: Least contrast of letters in the theme's own colour (WCAG 2.2, 1.4.3).
READABLE = 4.5
STOPS = 16


def shaded_text(
    paragraphs: Sequence[Sequence[tuple[str, int]]],
    values: Sequence[float],
    *,
    labels: Sequence[str],
    direction: Literal["to", "from"] = "to",
    selected: Sequence[int] = (),
    special: Collection[int] = (),
    scale_to_max: bool = False,
    log: bool = False,
) -> Picture:
    """A text of U units, each shaded by a weight, as in the app.

    Args:
        paragraphs: pieces of text with the unit of each, -1: none; each unit 0 to U - 1 occurs once.
        values: [U]; NaN: not shown.
        labels: U names for hover labels.
        direction: "to": selected units are queries, the shaded ones keys, in the colour of keys; "from": the reverse.
        selected: the selected units, which are framed; none: a value is a mean over all.
        special: units that are not part of the text ([CLS]), written smaller.
        scale_to_max: shades run to the largest value instead of to 1 (or to the number of selected units).
        log: shades follow the logarithm, over four decades.

    Raises:
        ValueError: values or labels that do not fit the units.
    """
    units = [unit for paragraph in paragraphs for _, unit in paragraph if unit >= 0]
    if not len(values) == len(labels) == len(units):
        raise ValueError(
            f"{len(values)} values and {len(labels)} labels for {len(units)} units: give one of both for each."
        )
    shade = Shade(largest(values, len(selected), scale_to_max), log)
    source, target = ("query", "key") if direction == "to" else ("key", "query")
    written = []
    for paragraph in paragraphs:
        pieces = []
        for text, unit in paragraph:
            if unit < 0:
                pieces.append(escape(text))
                continue
            title = _title(labels, unit, float(values[unit]), direction, selected)
            look = _look(shade.strength(float(values[unit])), target, unit in selected, unit in special)
            pieces.append(f'<span{look} title="{escape(title)}">{escape(text)}</span>')
        written.append(f'<p dir="auto">{"".join(pieces)}</p>')
    return Picture(
        f'<div class="seen seen-text" style="--to:var(--s-{target});--from:var(--s-{source})">'
        f"{_legend(shade, len(selected))}{''.join(written)}</div>"
    )


def live_text(
    paragraphs: Sequence[Sequence[tuple[str, int]]],
    weights: object,
    places: tuple[Sequence[int], Sequence[int]],
    *,
    labels: Sequence[str],
    direction: Literal["to", "from"],
    **options: bool,
) -> dict[str, object]:
    """The data of `document.Section.live` for `shaded_text` of the same arguments.

    weights: the map [R, C]; places: the row [U] and the column [U] of each unit in it, -1: none; options: scale_to_max
    and log.
    """
    target = "key" if direction == "to" else "query"
    steps = (inks(step / 100, target) for step in range(101))
    return packed(np.asarray(weights, dtype=np.float32)[None]) | {
        "kind": "text",
        "names": [isolated(label) for label in labels],
        "order": [unit for paragraph in paragraphs for _, unit in paragraph if unit >= 0],
        "rows": list(places[0]),
        "columns": list(places[1]),
        "direction": direction,
        **options,
        "inks": [" ".join(f"{theme}{ink}" for theme, ink in zip("ld", pair, strict=True) if ink) for pair in steps],
    }


class Shade:
    """The shade of a weight. top: the weight of the full shade."""

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


def largest(values: Sequence[float], n_selected: int, scale_to_max: bool) -> float:
    """The weight of the full shade."""
    if not scale_to_max:
        return float(max(1, n_selected))
    return float(np.nanmax([0.0, *values])) or 1.0


def _look(strength: float, target: str, selected: bool, special: bool) -> str:
    """Class and style of a unit; letters with too little contrast to their shade are black or white."""
    kinds = [name for name, applies in (("selected", selected), ("special", special)) if applies]
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
        if contrast(text, shade) >= READABLE:
            found.append("")
        elif contrast("#000000", shade) >= contrast("#ffffff", shade):
            found.append("b")
        else:
            found.append("w")
    return found[0], found[1]


def _title(labels: Sequence[str], unit: int, value: float, direction: str, selected: Sequence[int]) -> str:
    """The hover label of a unit."""
    name = isolated(labels[unit])
    if math.isnan(value):
        return f"{name}: not shown as a {'key' if direction == 'to' else 'query'}"
    if not selected:
        return f"{name}, mean weight: {exact(value)}"
    those = " + ".join(labels[one] for one in selected) if len(selected) <= 3 else f"{len(selected)} tokens"
    pair = arrow(those, labels[unit]) if direction == "to" else arrow(labels[unit], those)
    return f"{pair}: {exact(value)}"


def _legend(shade: Shade, n_selected: int) -> str:
    stops = (
        f"color-mix(in srgb,var(--to) {100 * shade.strength(shade.at(k / STOPS)):.1f}%,var(--s-ground)) "
        f"{100 * k / STOPS:.4g}%"
        for k in range(STOPS + 1)
    )
    low = f"≤ {three_digits(shade.at(0))}" if shade.log else "0"
    title = {0: "mean attention weight", 1: "attention weight"}.get(n_selected, "attention weights, summed")
    framed = "<em>framed: selected</em>" if n_selected else ""
    return (
        f'<div class="seen-top"><span>{title}</span><span>{low}'
        f'<i class="seen-scale" style="background:linear-gradient(90deg,{",".join(stops)})"></i>'
        f"{three_digits(shade.top)}</span>{framed}</div>"
    )
