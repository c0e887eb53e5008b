"""Attention as lines: queries on the left, keys on the right, a line a weight, a colour a head.

Shapes: N heads, R queries (rows), C keys (columns).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from encoder.export.picture import Picture, escape, exact, packed
from encoder.figures.attention import Places, names_of_cells
from encoder.figures.axes import arrow, check_labels, isolated
from encoder.figures.colours import HEADS
from encoder.figures.numbers import three_digits

#: A fainter line changes no pixel.
FAINTEST = 1 / 255
#: Lines drawn at once, the strongest first; more would blur.
MOST_LINES = 4_000
#: Levels of opacity; they are finer for faint lines, which are the most frequent.
LEVELS = 32
#: Above this many heads the squares beside the tokens are narrow.
WIDE_SQUARES = 4


@dataclass(frozen=True)
class LineCells:
    """The lines of a picture, strongest first. heads, rows, columns: int [n]; weights: float32 [n].

    among: their number without the limit.
    """

    heads: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    weights: np.ndarray
    among: int


def line_cells(
    weights: object,
    *,
    threshold: float = 0.0,
    queries: Sequence[int] = (),
    keys: Sequence[int] = (),
    most: int | None = MOST_LINES,
) -> LineCells:
    """The lines that are drawn: weights from `threshold` on, between the tokens in focus.

    Args:
        weights: [N, R, C], values 0 to 1.
        threshold: the smallest weight of a line.
        queries, keys: rows and columns in focus; if there are any, only their lines are drawn.
        most: the number of lines, the strongest first; None: all.
    """
    array = _heads(weights)
    kept = array >= threshold
    for axis, places in ((1, queries), (2, keys)):
        if len(places):
            inside = np.zeros(array.shape[axis], bool)
            inside[list(places)] = True
            kept &= inside[None, :, None] if axis == 1 else inside
    flat = np.flatnonzero(kept)
    flat = flat[np.argsort(-array.ravel()[flat], kind="stable")]
    drawn = flat if most is None else flat[:most]
    heads, rows, columns = np.unravel_index(drawn, array.shape)
    return LineCells(heads, rows, columns, array.ravel()[drawn], len(flat))


def attention_lines(
    weights: object,
    tokens: Sequence[str],
    *,
    key_tokens: Sequence[str] | None = None,
    labels: Sequence[str] = ("",),
    threshold: float = 0.0,
    queries: Sequence[int] = (),
    keys: Sequence[int] = (),
    places: Places | None = None,
) -> Picture:
    """Tokens left and right and a line for every weight, as in the app.

    Beside each token: the sum of its weights with the tokens in focus on the other side, as a square for each head and
    as a number, the mean over the heads. The numbers count all weights, also those below the threshold.

    Args:
        weights: [N, R, C] of N heads drawn over one another, or [R, C]; values 0 to 1, rows attend to columns.
        tokens: R labels; key_tokens: C labels, if keys are other tokens than queries.
        labels: N names of heads, for the legend.
        threshold, queries, keys: as in `line_cells`.
        places: positions of the tokens in the text, as in `attention_heatmap`.

    Raises:
        ValueError: shapes that do not fit, or more heads than distinct colours.
    """
    array = _heads(weights)
    n_heads, n_rows, n_columns = array.shape
    sides = check_labels(tokens, n_rows, "tokens"), check_labels(key_tokens or tokens, n_columns, "key_tokens")
    if len(labels) != n_heads or n_heads > len(HEADS):
        raise ValueError(
            f"{n_heads} heads and {len(labels)} labels: give one label a head, and at most {len(HEADS)} heads."
        )
    cells = line_cells(array, threshold=max(threshold, FAINTEST), queries=queries, keys=keys)
    row = 15 if max(n_rows, n_columns) > 256 else 18 if max(n_rows, n_columns) > 48 else 21
    height = row * max(n_rows, n_columns)
    squares = 0 if n_heads == 1 else n_heads * (5 if n_heads > WIDE_SQUARES else 9) + 9  # pixels beside each token
    names = names_of_cells(*sides, places)
    where = (range(n_rows), range(n_columns)) if places is None else places
    left = array[:, :, list(keys)].sum(2).T if len(keys) else None
    right = array[:, list(queries)].sum(1).T if len(queries) else None
    said = f"{n_rows} query tokens on the left, {n_columns} key tokens on the right, {len(cells.weights)} lines"
    focus = bool(len(queries) or len(keys))
    return Picture(
        f'<div class="seen" style="--r:{row}px;--h:{height}px;--q:{squares}px">'
        f"{_legend(labels, cells, len(queries), len(keys))}"
        '<div class="seen-body"><div class="seen-title">attends from</div><div></div>'
        '<div class="seen-title">attends to</div>'
        f"{_side('from', sides[0], where[0], queries, left, labels)}"
        f'<svg viewBox="0 0 100 {height}" preserveAspectRatio="none" role="img" aria-label="{escape(said)}" '
        f'xmlns="http://www.w3.org/2000/svg">{_paths(cells, names, labels, row, focus)}</svg>'
        f"{_side('to', sides[1], where[1], keys, right, labels)}</div></div>"
    )


def live_lines(
    weights: np.ndarray,
    tokens: Sequence[str],
    key_tokens: Sequence[str],
    places: Places,
    labels: Sequence[str],
    threshold: float,
) -> dict[str, object]:
    """The data of `document.Section.live` for `attention_lines` of the same arguments."""
    names = [[isolated(name) for name in side] for side in names_of_cells(list(tokens), list(key_tokens), places)]
    heads = {"heads": list(labels), "colours": list(HEADS[: len(labels)])}
    return packed(weights) | {"kind": "lines", **heads, "names": names, "least": float(threshold)}


def _heads(weights: object) -> np.ndarray:
    parts = [np.asarray(part, dtype=np.float32) for part in weights]  # type: ignore[attr-defined]
    array = np.stack(parts)
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or array.size == 0:
        raise ValueError(
            f"weights have shape {list(array.shape)}: [heads, queries, keys] or [queries, keys] is needed."
        )
    return array


def _legend(labels: Sequence[str], cells: LineCells, n_queries: int, n_keys: int) -> str:
    """The legend: colours of the heads, strength of the lines, meaning of the numbers, and lines left out."""
    heads = [
        f'<span><i class="seen-swatch" style="background:{colour}"></i>{escape(label)}</span>'
        for colour, label in zip(HEADS, labels, strict=False)
        if label
    ]
    strokes = []
    for at, weight in enumerate((0.1, 0.4, 0.7, 1.0)):
        opacity, width = strength(weight, bool(n_queries or n_keys))
        strokes.append(
            f'<path d="M{24 * at} 7H{24 * at + 20}" stroke="currentColor" stroke-opacity="{opacity:.3g}" '
            f'stroke-width="{width:.3g}"/>'
        )
    scale = f'<span>0.1 <svg class="seen-strokes" viewBox="0 0 96 14">{"".join(strokes)}</svg> 1</span>'
    counts = [
        f"{count} {many} summed" if count > 1 else f"1 {one}"
        for count, one, many in ((n_queries, "query", "queries"), (n_keys, "key", "keys"))
        if count
    ]
    mean = f", mean of {len(labels)} heads" if len(labels) > 1 else ""
    said = [f"Numbers: {', '.join(counts)}{mean}."] if counts else []
    if cells.among > len(cells.weights):
        said.append(f"Drawn: the strongest {len(cells.weights):,} of {cells.among:,} lines.")
    return f'<div class="seen-top">{"".join(heads)}{scale}<em>{escape(" ".join(said))}</em></div>'


def strength(weight: float, focus: bool) -> tuple[float, float]:
    """(opacity, width in pixels) of a line; lines of tokens in focus are stronger than those of all tokens."""
    return (max(0.06, weight**0.5) if focus else weight), max(1.0, 0.6 + 2.6 * weight)


def _paths(cells: LineCells, names: Sequence[list[str]], labels: Sequence[str], row: int, focus: bool) -> str:
    """A group for each level and head, the strongest last and on top."""
    levels = np.minimum(LEVELS - 1, np.floor(np.sqrt(cells.weights) * LEVELS)).astype(int)
    order = np.lexsort((cells.heads, levels))
    parts, before = [], None
    for at in order:
        head, level = int(cells.heads[at]), int(levels[at])
        if (head, level) != before:
            opacity, width = strength(((level + 0.5) / LEVELS) ** 2, focus)
            parts.append("</g>" if before else "")
            parts.append(f'<g stroke="{HEADS[head]}" stroke-opacity="{opacity:.3g}" stroke-width="{width:.3g}">')
            before = (head, level)
        i, j = int(cells.rows[at]), int(cells.columns[at])
        of = f"{labels[head]}: " if labels[head] else ""
        said = f"{of}{arrow(names[0][i], names[1][j])}: {exact(float(cells.weights[at]))}"
        parts.append(
            f'<path d="M0 {i * row + row / 2:g}L100 {j * row + row / 2:g}"><title>{escape(said)}</title></path>'
        )
    return "".join([*parts, "</g>" if before else ""])


def _side(
    side: str,
    tokens: list[str],
    where: Sequence[int | None],
    selected: Sequence[int],
    sums: np.ndarray | None,
    labels: Sequence[str],
) -> str:
    """The tokens of one side.

    where: their positions in the text; sums: [tokens, N], the weights with the tokens in focus on the other side.
    """
    chosen, rows = set(selected), []
    largest = 1.0 if sums is None else max(float(sums.mean(axis=1).max()), 1e-9)
    for place, token in enumerate(tokens):
        title, squares, number, look = f"{isolated(token)} ({where[place]})", "", "", ""
        if sums is not None:
            total = float(sums[place].mean())
            title = "\n".join([title, *_numbers(sums[place], labels)])
            squares, number = _squares(sums[place]), f"<u>{three_digits(total)}</u>"
            look = f' style="--s:{total / largest:.3f}"'
        look = ' class="selected"' if place in chosen else look
        rows.append(f'<div{look} title="{escape(title)}">{squares}<b dir="auto">{escape(token)}</b>{number}</div>')
    return f'<div class="seen-side seen-{side}">{"".join(rows)}</div>'


def _numbers(values: np.ndarray, labels: Sequence[str]) -> list[str]:
    """A token's weights as text: of each head, and their mean."""
    each = [f"{label}: {exact(float(value))}".removeprefix(": ") for label, value in zip(labels, values, strict=True)]
    return each if len(each) == 1 else [*each, f"mean: {exact(float(values.mean()))}"]


def _squares(values: np.ndarray) -> str:
    """A square a head, as strong as its weight; none for a single head, whose lines show it."""
    if len(values) < 2:
        return ""
    many = " many" if len(values) > WIDE_SQUARES else ""
    squares = (
        f'<i style="background:color-mix(in srgb,{colour} {100 * min(1.0, float(value)):.3g}%,var(--s-faint))"></i>'
        for colour, value in zip(HEADS, values, strict=False)
    )
    return f'<span class="seen-squares{many}">{"".join(squares)}</span>'
