"""Files of words with boxes -> Words: tables (CSV, TSV), JSON, lines of text, and hOCR, which recognition writes.

A box is in thousandths of the page. A JSON file with the width and height of the page, and hOCR, may be in pixels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from encoder.errors import TextError, quoted
from encoder.inputs import media_file
from encoder.inputs.boxes import Box, Words, of_parts, read_lines
from encoder.inputs.read import csv_rows
from encoder.model.boxes import LARGEST_PLACE

#: The largest file; the most words. No model accepts more than a few thousand tokens.
MOST_BYTES, MOST_WORDS = 2_000_000, 5_000
#: The bundled page.
INVOICE = Path(__file__).parents[1] / "data" / "invoice.csv"
#: Names of columns and of fields.
TEXTS, BOXES = ("word", "text", "token"), ("box", "bbox")
EDGES = (("left", "x0", "x_min"), ("upper", "y0", "y_min", "top"), ("right", "x1", "x_max"),
         ("lower", "y1", "y_max", "bottom"))  # fmt: skip
HELP = "write a table with the columns word, left, upper, right, lower, or JSON with words and boxes"


@dataclass(frozen=True)
class _Found:
    """A text, which may be several words, and its box. width, height: of the page; 0: the box is in thousandths."""

    text: str
    box: Sequence[Any]
    width: float = 0.0
    height: float = 0.0


def example() -> Words:
    """The bundled page, an invoice."""
    return open_words(INVOICE)


def open_words(file: bytes | str | Path, name: str = "This file") -> Words:
    """The words of a file and their boxes. name: of a file whose bytes are given. Words of one text get its box.

    Raises TextError for a file that is missing, broken, empty, too large, or of another kind.
    """
    content, name = media_file.content(file, name, most=MOST_BYTES, kind="page", refused=TextError)
    text = content.decode("utf-8-sig", "replace")
    suffix = Path(name).suffix.lower()
    if suffix == ".txt":
        return bounded(read_lines(text, LARGEST_PLACE), name)
    if suffix not in READERS:
        raise TextError(f"{name} is not a file of words with boxes ({', '.join(ENDINGS)}): {HELP}.")
    parts: list[tuple[str, Box]] = []
    n_words = 0
    for found in READERS[suffix](text, name):
        parts.append((found.text, _scaled(found, name)))
        n_words += len(found.text.split())
        if n_words > MOST_WORDS:
            break
    return bounded(of_parts(parts), name)


def bounded(words: Words, name: str) -> Words:
    """The words themselves. Raises TextError for none, and for too many."""
    if not words.words:
        raise TextError(f"{name} has no words with boxes: {HELP}.")
    if len(words.words) > MOST_WORDS:
        raise TextError(f"{name} has more than {MOST_WORDS:,} words, which is the limit: keep one page.")
    return words


def _scaled(found: _Found, name: str) -> Box:
    """The box in thousandths."""
    about = f"{name}: the box of {quoted(found.text)}"
    try:
        numbers = [float(one) for one in found.box]
        left, upper, right, lower = numbers
    except (TypeError, ValueError):
        raise TextError(f"{about} is {quoted(found.box)}: specify left, upper, right, lower.") from None
    if found.width and found.height:
        across, down = LARGEST_PLACE / found.width, LARGEST_PLACE / found.height
        left, upper, right, lower = left * across, upper * down, right * across, lower * down
        left, upper, right, lower = (min(max(one, 0.0), float(LARGEST_PLACE)) for one in (left, upper, right, lower))
    if not (0 <= left <= right <= LARGEST_PLACE and 0 <= upper <= lower <= LARGEST_PLACE):  # NaN fails, too
        raise TextError(
            f"{about} is {', '.join(f'{one:g}' for one in numbers)}: scale boxes to 0 to {LARGEST_PLACE:,}, left "
            "before right and upper before lower, or write JSON with the width and height of the page."
        )
    return int(left), int(upper), int(right), int(lower)


# --- formats ---------------------------------------------------------------------------------------------------------


def _of_table(text: str, name: str, delimiter: str) -> Iterator[_Found]:
    """Rows of five cells; the first may name the columns."""
    places: list[int] | None = None
    for number, row in csv_rows(text.splitlines(keepends=True), delimiter):
        if isinstance(row, str):
            raise TextError(f"{name}, line {number:,}: {row}.")
        if not any(cell.strip() for cell in row):
            continue
        if places is None:
            names = [cell.strip().lower() for cell in row]
            wanted = (TEXTS, *EDGES)
            columns = [next((names.index(one) for one in known if one in names), None) for known in wanted]
            is_header = None not in columns
            places = [column for column in columns if column is not None] if is_header else list(range(5))
            if is_header:
                continue
        if max(places) >= len(row):
            raise TextError(f"{name}, line {number:,} has {len(row)} cells: {HELP}.")
        word, *box = (row[place] for place in places)
        yield _Found(word, box)


def _of_json(text: str, name: str) -> Iterator[_Found]:
    """{"words": [...], "boxes": [...]}, or objects with a text and a box at any depth (FUNSD)."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise TextError(f"{name} is not JSON: {HELP}.") from None
    width, height = 0.0, 0.0
    if isinstance(value, Mapping):
        width, height = (_size(value.get(side), name) for side in ("width", "height"))
        words, boxes = value.get("words"), next((value[one] for one in ("boxes", "bboxes") if one in value), None)
        if isinstance(words, list) and isinstance(boxes, list):
            if len(words) != len(boxes):
                raise TextError(f"{name} has {len(words):,} words and {len(boxes):,} boxes: specify one for each.")
            for word, box in zip(words, boxes, strict=True):
                yield _Found(str(word), box, width, height)
            return
    yield from (_Found(one.text, one.box, width, height) for one in _within(value))


def _size(value: Any, name: str) -> float:
    if value is None:
        return 0.0
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1e9:
        raise TextError(f"{name} has the page size {quoted(value)}: specify width and height in pixels.")
    return float(value)


def _within(value: Any, depth: int = 0) -> Iterator[_Found]:
    """The innermost objects with a text and a box."""
    if depth > 8:
        return
    if isinstance(value, list):
        for one in value:
            yield from _within(one, depth + 1)
    elif isinstance(value, Mapping):
        inner = [found for one in value.values() if isinstance(one, list) for found in _within(one, depth + 1)]
        text = next((value[one] for one in TEXTS if isinstance(value.get(one), str)), None)
        box = next((value[one] for one in BOXES if isinstance(value.get(one), list)), None)
        if inner:
            yield from inner
        elif text is not None and box is not None:
            yield _Found(text, box)


class _HOCR(HTMLParser):
    """The words of hOCR, with the size of their page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[_Found] = []
        self._page, self._text, self._tag, self._depth = (0.0, 0.0), "", "", 0
        self._box: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        kinds, box = (
            (values.get("class") or "").split(),
            re.search(r"bbox((?:\s+\d{1,8}){4})", values.get("title") or ""),
        )
        if self._box is not None:
            self._depth += tag == self._tag
        elif box and "ocr_page" in kinds:
            _, _, width, height = map(float, box.group(1).split())
            self._page = width, height
        elif box and ("ocrx_word" in kinds or "ocr_word" in kinds):
            self._box, self._tag, self._text, self._depth = box.group(1).split(), tag, "", 1

    def handle_data(self, data: str) -> None:
        self._text += data if self._box is not None else ""

    def handle_endtag(self, tag: str) -> None:
        if self._box is None or tag != self._tag:
            return
        self._depth -= 1
        if not self._depth:
            self.found.append(_Found(self._text, self._box, *self._page))
            self._box = None


def _of_hocr(text: str, name: str) -> Iterator[_Found]:
    parser = _HOCR()
    parser.feed(text)
    yield from parser.found


READERS = {
    ".csv": lambda text, name: _of_table(text, name, ","),
    ".tsv": lambda text, name: _of_table(text, name, "\t"),
    ".json": _of_json,
    **dict.fromkeys((".hocr", ".html", ".htm", ".xml"), _of_hocr),
}
#: Endings of such files.
ENDINGS = tuple(one.removeprefix(".") for one in (*READERS, ".txt"))
