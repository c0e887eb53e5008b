"""Bundled pages as images: one with a title, two paragraphs, a table and a chart, drawn by Pillow, and the invoice.

The lengths of rivers are those of the table: a query about one of them has a place on the page.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from encoder.inputs import box_files
from encoder.model.boxes import LARGEST_PLACE

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

#: Pixels of the page, of its margin, and of a line of text.
WIDTH, HEIGHT, MARGIN, LINE = 900, 1_200, 70, 34
RIVERS = {"Volga": 3_530, "Danube": 2_850, "Dnieper": 2_200, "Rhine": 1_230, "Elbe": 1_094}
TITLE = "Rivers of Europe"
BEFORE = (
    "The Volga is the longest river of Europe. It ends in the",
    "Caspian Sea. The Danube crosses ten countries, more than",
    "any other river, and ends in the Black Sea.",
)
AFTER = ("Ships carry more goods on the Rhine than on any other", "river of the continent.")
INK, SHADE, COLOUR = (25, 25, 30), (225, 228, 235), (40, 100, 170)


@cache
def page() -> Image:
    """The page, RGB."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    draw = ImageDraw.Draw(image)
    _lines(draw, (TITLE,), MARGIN, size=46)
    _lines(draw, BEFORE, 160)
    _table(draw, 310)
    _chart(draw, 620, 360)
    _lines(draw, AFTER, 1_060)
    return image


@cache
def invoice() -> Image:
    """The bundled page of words with boxes as an image, RGB: each word is as wide and as high as its box."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    draw, words = ImageDraw.Draw(image), box_files.example()
    for word, box in zip(words.words, words.boxes, strict=True):
        left, upper, right, lower = (at * side // LARGEST_PLACE for at, side in zip(box, 2 * image.size, strict=True))
        height = 1.2 * (lower - upper)
        height *= min(1.0, (right - left) / max(1.0, draw.textlength(word, ImageFont.load_default(height))))
        draw.text((left, (upper + lower) / 2), word, fill=INK, anchor="lm", font=ImageFont.load_default(height))
    return image


def _lines(draw: ImageDraw, lines: tuple[str, ...], top: int, size: int = 26) -> None:
    from PIL import ImageFont

    for number, line in enumerate(lines):
        draw.text((MARGIN, top + number * LINE), line, fill=INK, font=ImageFont.load_default(size))


def _table(draw: ImageDraw, top: int) -> None:
    from PIL import ImageFont

    rows = [("River", "Length in km"), *((name, f"{length:,}") for name, length in RIVERS.items())]
    for number, row in enumerate(rows):
        above = top + number * 42
        draw.rectangle((MARGIN, above, WIDTH - MARGIN, above + 42), outline=INK, fill=SHADE if not number else "white")
        for column, text in enumerate(row):
            draw.text((MARGIN + 16 + column * 380, above + 8), text, fill=INK, font=ImageFont.load_default(24))


def _chart(draw: ImageDraw, top: int, height: int) -> None:
    from PIL import ImageFont

    bottom, longest, step = top + height, max(RIVERS.values()), (WIDTH - 2 * MARGIN) // len(RIVERS)
    draw.line((MARGIN, bottom, WIDTH - MARGIN, bottom), fill=INK, width=3)
    for number, (name, length) in enumerate(RIVERS.items()):
        left = MARGIN + number * step + 25
        draw.rectangle((left, bottom - length * (height - 40) // longest, left + step - 50, bottom), fill=COLOUR)
        draw.text((left, bottom + 8), name, fill=INK, font=ImageFont.load_default(22))
