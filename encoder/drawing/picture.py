"""The views Lines and Text as pictures that a browser draws: in the app, in a report, and in a notebook.

Here is only what they draw. The drawing itself is the JavaScript next to this file: one script for all three.

Shapes: N heads, R queries (rows), C keys (columns), U units, tokens or words of a text.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from plotly.io.json import to_json_plotly

from encoder.drawing import wire
from encoder.drawing.headers import FigureHeader, LinesHeader, TextHeader
from encoder.drawing.javascript import SHARED, joined
from encoder.drawing.plotly_js import check_kinds, plotly_js
from encoder.figures.colours import ATTENTION, HEADS

#: Above this many bytes of 32-bit weights a picture has 16-bit weights instead.
EXACT_BYTES = 256_000
#: Tokens of a side that lines show.
MOST_TOKENS = 512
#: Pixels of legend and titles. Below them, lines_view.js has as many pixels a token as `attention_lines` reserves.
TOP = 46
#: Control characters, which HTML cannot hold -> their symbols in Unicode.
CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}

#: A page that a frame of a notebook shows.
PAGE = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><style>{style}</style></head><body>{element}'
    "<script>{script}</script></body></html>"
)


@dataclass(frozen=True, eq=False)
class Picture:
    """What a browser needs to draw a view; a notebook shows it.

    kind: the view; header: JSON values, by the types of `headers`; arrays: name -> array, in the dtypes of `wire`;
    height: pixels that the picture needs at least.
    """

    kind: Literal["figure", "head_grid", "lines", "model_picture", "text_shade"]
    header: Mapping[str, object]
    arrays: Mapping[str, np.ndarray]
    height: int = 0

    def block(self, **more: object) -> bytes:
        """Header and arrays as bytes (`wire.pack`). more: further values of the header, or others."""
        return wire.pack({**self.header, **more}, self.arrays)

    def element(self, others: Mapping[str, Picture] | None = None) -> str:
        """HTML for a page with `script()` and `style()`. It contains no text of the picture as it is.

        others: "layer head" -> what a click on this layer or head shows, in a page without a host.
        """
        more = "".join(
            f'<i hidden data-place="{place}" data-block="{one._data()}"></i>' for place, one in (others or {}).items()
        )
        return (
            f'<div class="drawing" data-kind="{self.kind}" style="min-height:{self.height}px" '
            f'data-block="{self._data()}">{more}'
            "<noscript>A script draws this picture. This browser does not run scripts.</noscript></div>"
        )

    def _data(self) -> str:
        return base64.b64encode(self.block()).decode()

    def _repr_html_(self) -> str:
        """A frame with the picture, for a notebook without a widget."""
        return (
            f'<iframe title="{escape(self.header["alt"])}" width="100%" height="{self.height + 60}" '
            f'style="border:0" srcdoc="{escape(page(self))}"></iframe>'
        )


def page(picture: Picture) -> str:
    """A page with nothing but the picture."""
    plotly = plotly_js() if picture.kind == "figure" else ""
    return PAGE.format(style=style(), element=picture.element(), script=plotly + script())


@cache
def script() -> str:
    """The JavaScript that draws every `Picture` of a page. Its names are its own."""
    return f"{{{joined(SHARED / 'alone.js')}}}"


@cache
def style() -> str:
    """The CSS of every `Picture`, in light and in dark."""
    files = ("page.css", "shared.css", "lines.css", "head_grid.css", "model_picture.css", "text_shade.css")
    return "".join((SHARED / file).read_text(encoding="utf-8") for file in files)


def attention_lines(
    weights: object,
    tokens: Sequence[str],
    *,
    alt: str,
    key_tokens: Sequence[str] | None = None,
    names: tuple[Sequence[str], Sequence[str]] | None = None,
    labels: Sequence[str] = ("",),
    name: str = "lines",
    threshold: float = 0.0,
    queries: Sequence[int] = (),
    keys: Sequence[int] = (),
    exact_bytes: int = EXACT_BYTES,
) -> Picture:
    """Tokens left and right and a line for every weight.

    Next to each token: the sum of its weights with the tokens in focus on the other side, as a square for each head and
    as a number, the mean over the heads. The numbers count all weights, also those below the threshold.

    Args:
        weights: [N, R, C] of N heads drawn over one another, or [R, C]; values 0 to 1, rows attend to columns.
        tokens: R labels; key_tokens: C labels, if keys are other tokens than queries. The screen cuts long ones.
        alt: a sentence for screen readers.
        names: names of queries and keys in hover text, if they differ from the labels: "the (4)".
        labels: N names of heads, for the legend; their colours are the first N of `HEADS`, of one
            head that of attention.
        name: of a downloaded picture.
        threshold: the smallest weight of a line.
        queries, keys: selected rows and columns; if there are any, the lines of others are faint.
        exact_bytes: more bytes of 32-bit weights travel as 16-bit numbers.

    Raises ValueError for shapes that do not fit, more heads than distinct colours, or more than 512 tokens.
    """
    array = np.stack([np.asarray(part, dtype=np.float32) for part in weights])  # type: ignore[attr-defined]
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or array.size == 0:
        raise ValueError(
            f"weights have shape {list(array.shape)}: [heads, queries, keys] or [queries, keys] is needed."
        )
    sides = [str(token) for token in tokens], [str(token) for token in (tokens if key_tokens is None else key_tokens)]
    fit = [len(labels), *map(len, sides)]
    if list(array.shape) != fit:
        raise ValueError(f"weights must be [labels, tokens, key_tokens] = {fit}, not {list(array.shape)}.")
    if len(labels) > len(HEADS):
        raise ValueError(f"{len(labels)} heads; lines show 1 to {len(HEADS)} heads.")
    most = max(fit[1:])
    if most > MOST_TOKENS:
        raise ValueError(f"{most} tokens; lines show at most {MOST_TOKENS}. Pass a window of them.")
    header: LinesHeader = {
        "tokens": sides[0],
        "keyTokens": None if key_tokens is None else sides[1],
        "names": [_others(*pair) for pair in zip(sides, names or sides, strict=True)],
        "labels": [str(label) for label in labels],
        "colours": [ATTENTION] if len(labels) == 1 else HEADS[: len(labels)],
        "queries": [int(row) for row in queries],
        "keys": [int(column) for column in keys],
        "threshold": float(threshold),
        "name": name,
        "alt": alt,
    }
    height = TOP + most * (15 if most > 256 else 18 if most > 48 else 21)
    return Picture("lines", header, {"weights": _sent(array, exact_bytes)}, height)


def shaded_text(
    paragraphs: Sequence[Sequence[tuple[str, int]]],
    values: Sequence[float],
    *,
    labels: Sequence[str],
    rows: Sequence[int],
    columns: Sequence[int],
    alt: str,
    name: str = "text",
    direction: Literal["to", "from"] = "to",
    weights: np.ndarray | None = None,
    means: Sequence[float] | None = None,
    selected: Sequence[int] = (),
    special: Collection[int] = (),
    scale_to_max: bool = False,
    log: bool = False,
    exact_bytes: int = EXACT_BYTES,
) -> Picture:
    """A text of U units, each shaded by a weight. Text keeps its direction, its spaces and its line breaks.

    Args:
        paragraphs: pieces of text with the unit of each, -1: none; each unit 0 to U - 1 occurs once.
        values: [U]; NaN: not shown.
        labels: U names for hover text.
        rows, columns: each unit's row and column of the map, -1 for none.
        alt: a sentence for screen readers.
        name: of a downloaded picture.
        direction: "to": selected units are queries, the shaded ones keys; "from": the reverse. Shades have the
            colour of attention.
        weights: the map [R, C], so that the browser knows the shades of another selection.
        means: [U], the values where nothing is selected; with `weights`.
        selected: the selected units, which are framed; none: a value is a mean over all.
        special: units that are not part of the text ([CLS]), written smaller.
        scale_to_max: shades run to the largest value instead of to 1 (or to the number of selected units).
        log: shades follow the logarithm, over four decades.
        exact_bytes: as for `attention_lines`.

    Raises ValueError where the numbers of units differ.
    """
    in_text = sum(unit >= 0 for paragraph in paragraphs for _, unit in paragraph)
    counts = {len(labels), len(values), len(rows), len(columns), in_text}
    if len(counts) != 1:
        raise ValueError(
            f"labels, values, rows, columns and the units of paragraphs differ in number: {sorted(counts)}."
        )
    header: TextHeader = {
        "paragraphs": [[(str(text), int(unit)) for text, unit in paragraph] for paragraph in paragraphs],
        "labels": [str(label) for label in labels],
        "selected": [int(unit) for unit in selected],
        "special": sorted(int(unit) for unit in special),
        "direction": direction,
        "scaleToMax": scale_to_max,
        "log": log,
        "name": name,
        "alt": alt,
    }
    arrays = {
        "values": np.asarray(values, dtype=np.float32),
        "rows": np.asarray(rows, dtype=np.int32),
        "columns": np.asarray(columns, dtype=np.int32),
    }
    if means is not None:
        arrays["means"] = np.asarray(means, dtype=np.float32)
    if weights is not None:
        arrays["weights"] = _sent(np.asarray(weights, dtype=np.float32), exact_bytes)
    return Picture("text_shade", header, arrays)


def figure_picture(figure: go.Figure, *, name: str, places: Sequence[Sequence[int]], height: int = 560) -> Picture:
    """A Plotly figure of one map. places: the token positions of its rows and columns, which a click selects."""
    header: FigureHeader = {
        "figure": json.loads(figure_json(figure)),
        "name": name,
        "alt": f"{name} as a map.",
        "places": places,
        "height": height,
    }
    return Picture("figure", header, {}, height)


def figure_json(figure: go.Figure) -> str:
    """A figure without Plotly's default template; "<", ">" and "/" are written as escapes by Plotly's encoder.

    Raises ValueError for a trace of a kind that the bundle cannot draw.
    """
    content = figure.to_plotly_json()
    check_kinds(content["data"])
    layout = {name: value for name, value in content["layout"].items() if name != "template"}
    return str(to_json_plotly({"data": content["data"], "layout": layout}))


def escape(text: object) -> str:
    """Text as HTML shows it, in content and in quoted attributes."""
    shown = str(text).translate(CONTROLS)
    return html.escape(shown.encode("utf-8", "replace").decode("utf-8"), quote=True)


def _sent(weights: np.ndarray, exact_bytes: int) -> np.ndarray:
    """Weights from 0 to 1 as 32-bit or, if there are many, 16-bit numbers for 0 to 65535."""
    if weights.nbytes <= exact_bytes:
        return weights
    return np.round(weights.clip(0, 1) * 65535).astype(np.uint16)


def _others(labels: Sequence[str], names: Sequence[str]) -> dict[int, str]:
    """Position -> name, where the name is not the label."""
    pairs = enumerate(zip(labels, names, strict=True))
    return {place: str(name) for place, (label, name) in pairs if label != name}
