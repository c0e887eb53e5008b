"""A still picture without a browser: colours or small maps in rows and columns, as SVG or PNG.

Both have the same pixels and the same names around them. A PNG has Pillow's own font, which has Latin letters only; an
SVG has the fonts of its reader.
"""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from encoder.drawing.picture import escape
from encoder.figures import colours as colour

#: Pixels: side of a coloured cell (of many: the least), of a small map, gap between these, height and width of letters.
CELL, LEAST, SMALL_MAP, GAP, LETTER, WIDTH = 34, 4, 64, 6, 12, 7
#: Pixels of the longest side that cells are made smaller for; letters of a name.
LARGEST, LONGEST = 1_600, 24


@dataclass(frozen=True, eq=False)
class Still:
    """title: above; rows [R], columns [C]: their names; pixels: uint8 [R, C, S, S, 3], a small picture each;
    gap: pixels between two; selected: the framed cell; alt: for who cannot see it, by default the title."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    pixels: np.ndarray
    gap: int = 0
    selected: tuple[int, int] | None = None
    alt: str = ""

    @property
    def _pitch(self) -> int:
        return int(self.pixels.shape[2]) + self.gap

    @property
    def _corner(self) -> tuple[int, int]:
        """Left and upper margin: the room of the names."""
        left, top = (min(LONGEST, max(map(len, names), default=0)) * WIDTH + 10 for names in (self.rows, self.columns))
        return left, (top if self._turned else LETTER + 8) + (LETTER + 14 if self.title else 0)

    @property
    def _turned(self) -> bool:
        """Whether the names of the columns run upwards."""
        return max(map(len, self.columns), default=0) * WIDTH > self._pitch

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        left, top = self._corner
        width, height = left + len(self.columns) * self._pitch, top + len(self.rows) * self._pitch
        return max(width, len(self.title) * WIDTH) + 8, height + 8

    def _names(self) -> list[tuple[int, int, str, bool]]:
        """(x, y, name, turned) of the end of each row's name, and of the middle or the lower end of each column's."""
        (left, top), half, step = self._corner, self.pixels.shape[2] // 2, self._pitch
        every = max(1, -(-(LETTER + 1) // step))  # of many small cells, some have a name
        down = [(left - 6, top + at * step + half, name, False) for at, name in enumerate(self.rows) if at % every == 0]
        across = [(left + at * step + half, top - 6, name, self._turned) for at, name in enumerate(self.columns)]
        return [(x, y, _short(name), turned) for x, y, name, turned in down + across[::every]]

    def _mosaic(self) -> Image.Image:
        """The cells only, on white."""
        n_rows, n_columns, side = self.pixels.shape[:3]
        canvas = np.full((n_rows, self._pitch, n_columns, self._pitch, 3), 255, np.uint8)
        canvas[:, :side, :, :side] = self.pixels.transpose(0, 2, 1, 3, 4)
        return Image.fromarray(canvas.reshape(n_rows * self._pitch, n_columns * self._pitch, 3))

    def _frame(self) -> tuple[int, int, int, int] | None:
        """Left, top, right and bottom of the frame."""
        if self.selected is None:
            return None
        (row, column), (left, top), side = self.selected, self._corner, self.pixels.shape[2]
        x, y = left + column * self._pitch - 2, top + row * self._pitch - 2
        return x, y, x + side + 4, y + side + 4

    def png(self) -> bytes:
        """A PNG file."""
        image = Image.new("RGB", self.size, "white")
        image.paste(self._mosaic(), self._corner)
        draw, font = ImageDraw.Draw(image), ImageFont.load_default(LETTER)
        draw.text((8, 6), self.title, "black", font)
        if frame := self._frame():
            draw.rectangle(frame, outline=colour.EMPHASIS, width=3)
        for x, y, name, turned in self._names():
            if turned:
                own = Image.new("RGB", (int(font.getlength(name)) + 1, LETTER + 4), "white")
                ImageDraw.Draw(own).text((0, 0), name, "black", font)
                image.paste(own.transpose(Image.Transpose.ROTATE_90), (x - own.height // 2, y - own.width))
            else:
                draw.text((x, y), name, "black", font, "rm" if x < self._corner[0] else "mb")
        file = io.BytesIO()
        image.save(file, "PNG")
        return file.getvalue()

    def svg(self) -> str:
        """An SVG file, which a page of HTML may hold, too."""
        file, (left, top), mosaic = io.BytesIO(), self._corner, self._mosaic()
        mosaic.save(file, "PNG")
        source = base64.b64encode(file.getvalue()).decode()
        parts = [f'<text x="8" y="{LETTER + 6}" text-anchor="start">{escape(self.title)}</text>'] if self.title else []
        parts.append(
            f'<image x="{left}" y="{top}" width="{mosaic.width}" height="{mosaic.height}" '
            f'style="image-rendering: pixelated" href="data:image/png;base64,{source}"/>'
        )
        for x, y, name, turned in self._names():
            anchor = "start" if turned else "end" if x < left else "middle"
            turn = f' transform="rotate(-90 {x} {y})"' if turned else ""
            y += LETTER // 3 if anchor != "middle" else 0
            parts.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}"{turn}>{escape(name)}</text>')
        if frame := self._frame():
            x, y, right, bottom = frame
            parts.append(
                f'<rect x="{x}" y="{y}" width="{right - x}" height="{bottom - y}" fill="none" '
                f'stroke="{colour.EMPHASIS}" stroke-width="3"/>'
            )
        (width, height), alt = self.size, escape(self.alt or self.title)
        return (
            f'<svg class="grid" viewBox="0 0 {width} {height}" role="img" aria-label="{alt}" '
            f'font-family="sans-serif" font-size="{LETTER}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
        )


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def matrix(title: str, values: object, rows: Sequence[str], columns: Sequence[str], *, signed: bool = False) -> Still:
    """Numbers [R, C] as colours: from 0 to the largest one, or signed, from the largest size below 0 to that above.

    NaN is grey. The title says where the colours end.
    """
    array = np.asarray(values, dtype=np.float64)
    known = array[np.isfinite(array)]
    most = float(np.abs(known).max()) if known.size else 0.0
    share = np.nan_to_num(array / (most or 1.0))
    if signed:
        ends = np.array(colour.signed_lut()[[0, -1]], dtype=np.float64)
        strength = np.abs(share)[..., None]
        drawn = 255 - strength * (255 - np.where(share[..., None] < 0, ends[0], ends[1]))
    else:
        places = (share.clip(0, 1) * 255).round().astype(int)
        drawn = colour.on_white(colour.thumbnails_lut())[places].astype(np.float64)
    drawn[~np.isfinite(array)] = 200
    side = int(np.clip(LARGEST // max(1, *array.shape), LEAST, CELL))
    cells = np.broadcast_to(drawn.round().astype(np.uint8)[:, :, None, None], (*array.shape, side, side, 3))
    limits = f"{-most:.3g} to {most:.3g}" if signed else f"0 to {most:.3g}"
    return Still(f"{title}, {limits}", rows, columns, cells)


def of_heads(title: str, values: np.ndarray, *, signed: bool = False) -> Still:
    """`matrix` of a number for each head [L, H]."""
    return matrix(title, values, *_heads(values.shape), signed=signed)


def _heads(shape: tuple[int, ...]) -> tuple[list[str], list[str]]:
    """The names of layers and heads."""
    return [f"L{layer}" for layer in range(shape[0])], [f"H{head}" for head in range(shape[1])]


def grid(
    title: str,
    thumbnails: object,
    *,
    colours: str = "blue",
    selected: tuple[int, int] | None = None,
    alt: str = "",
) -> Still:
    """All heads as small maps: a row a layer, a column a head, both counted from 0.

    thumbnails: uint8 [L, H, S, S], 255 for the weight 1; selected: the framed (layer, head).
    """
    maps = np.asarray(thumbnails)
    if maps.dtype != np.uint8 or maps.ndim != 4:
        raise ValueError(f"thumbnails are {maps.dtype} {list(maps.shape)}: uint8 [L, H, S, S] is needed.")
    places = np.arange(SMALL_MAP) * maps.shape[2] // SMALL_MAP
    cells = colour.on_white(colour.thumbnails_lut(colours))[maps[:, :, places][:, :, :, places]]
    return Still(title, *_heads(maps.shape), cells, GAP, selected, alt)
