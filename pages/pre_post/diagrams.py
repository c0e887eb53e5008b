"""Two block diagrams: where the norms are in one layer of each placement."""

from __future__ import annotations

import streamlit as st

from encoder.figures.colours import EMPHASIS
from encoder.figures.placements import PLACEMENT_COLOURS, PLACEMENT_NAMES

#: Pixels of the drawing before it is scaled to its column.
WIDTH, HEIGHT = 500, 150
#: The residual stream, and the middle of the sublayers above it.
STREAM, ABOVE = 108, 34
BOX = 32
#: Stands for the page's colour, under the tint of a box.
GROUND = "$ground"
FORMULAS = {"pre": "x ← x + f(LayerNorm(x))", "post": "x ← LayerNorm(x + f(x))"}
ORDER = {
    "pre": "The residual stream runs through without a norm. Each sublayer reads it through a LayerNorm and adds its "
    "output. One final LayerNorm follows the last layer.",
    "post": "Each sublayer reads the residual stream directly. Its output is added, and a LayerNorm rescales the sum.",
}


def diagrams(n_layers: int) -> None:
    """Both placements side by side. n_layers: of the two encoders."""
    theme = "dark" if st.context.theme.type == "dark" else "light"
    ink, ground = (st.get_option(f"theme.{theme}.{name}") for name in ("textColor", "backgroundColor"))
    with st.container(key="norm-diagrams"):
        columns = st.columns(2, gap="medium")
    for column, (placement, draw) in zip(columns, DRAW.items(), strict=True):
        with column:
            said = f"{PLACEMENT_NAMES[placement]}: {FORMULAS[placement]}. {ORDER[placement]}"
            st.image(svg(draw(n_layers), ink).replace(GROUND, ground), width="stretch", alt=said)
            st.caption(said)


def svg(parts: str, ink: str) -> str:
    """The drawing. ink: the colour of text and lines."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" fill="none" stroke="{ink}" '
        f'color="{ink}" stroke-width="1.5" font-size="14" font-family="Source Sans Pro, sans-serif">{parts}</svg>'
    )


def _pre(n_layers: int) -> str:
    """LayerNorm and sublayer are on the branch; the final LayerNorm is on the stream."""
    return "".join(
        [
            _stream((6, 396), (474, WIDTH - 10)),
            _branch(14, 196),
            _norm("pre", 26, ABOVE, 78),
            _box(114, ABOVE, 72, "Attention"),
            _add(196),
            _branch(214, 366),
            _norm("pre", 226, ABOVE, 78),
            _box(314, ABOVE, 42, "FFN"),
            _add(366),
            _norm("pre", 396, STREAM, 78),
            _text(435, STREAM + 36, "final"),
            _text(190, STREAM + 36, f"one of {n_layers} layers"),
            f'<path d="M386 {STREAM - 92}V{STREAM + 38}" stroke-dasharray="4 4" stroke-opacity="0.6"/>',
        ]
    )


def _post(n_layers: int) -> str:
    """Only the sublayer is on the branch; each LayerNorm is on the stream."""
    return "".join(
        [
            _stream((6, 166), (244, 398), (476, WIDTH - 10)),
            _branch(24, 146),
            _box(50, ABOVE, 72, "Attention"),
            _add(146),
            _norm("post", 166, STREAM, 78),
            _branch(266, 378),
            _box(300, ABOVE, 44, "FFN"),
            _add(378),
            _norm("post", 398, STREAM, 78),
            _text(198, STREAM + 36, f"one of {n_layers} layers"),
        ]
    )


def _stream(*parts: tuple[int, int]) -> str:
    """The residual stream from left to right, its last part an arrow."""
    lines = "".join(f'<path d="M{start} {STREAM}H{end}" stroke="{EMPHASIS}" stroke-width="5"/>' for start, end in parts)
    tip = parts[-1][1]
    arrow = f"M{tip - 8} {STREAM - 7}L{tip + 4} {STREAM}L{tip - 8} {STREAM + 7}Z"
    return f'{lines}<path d="{arrow}" fill="{EMPHASIS}" stroke="none"/>'


def _branch(start: int, end: int) -> str:
    """From the stream up, through the sublayer, and down to the sum."""
    tip = f"M{end - 5} {STREAM - 20}L{end} {STREAM - 10}L{end + 5} {STREAM - 20}Z"
    return (
        f'<path d="M{start} {STREAM}V{ABOVE}H{end}V{STREAM - 12}"/><path d="{tip}" fill="currentColor" stroke="none"/>'
    )


def _add(x: int) -> str:
    """The sum of the stream and the sublayer's output."""
    return (
        f'<circle cx="{x}" cy="{STREAM}" r="10" fill="{EMPHASIS}" stroke="none"/>'
        f'<path d="M{x - 6} {STREAM}H{x + 6}M{x} {STREAM - 6}V{STREAM + 6}" stroke="#fff" stroke-width="2"/>'
    )


def _norm(placement: str, x: int, middle: int, width: int) -> str:
    shade = PLACEMENT_COLOURS[placement]
    return _box(
        x, middle, width, "LayerNorm", f'fill="{shade}" fill-opacity="0.25" stroke="{shade}" stroke-width="2.5"'
    )


def _box(x: int, middle: int, width: int, text: str, look: str = 'fill="#7d7b8a" fill-opacity="0.2"') -> str:
    place = f'x="{x}" y="{middle - BOX // 2}" width="{width}" height="{BOX}" rx="6"'
    return (
        f'<rect {place} fill="{GROUND}" stroke="none"/><rect {place} {look}/>{_text(x + width // 2, middle + 5, text)}'
    )


def _text(x: int, y: int, text: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle" fill="currentColor" stroke="none">{text}</text>'


DRAW = {"pre": _pre, "post": _post}
