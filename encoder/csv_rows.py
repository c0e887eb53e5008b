"""Rows of a CSV or TSV file, each with the line where it begins; a broken row does not end the reading."""

from __future__ import annotations

import codecs
import csv
import io
from collections import deque
from collections.abc import Callable, Iterable, Iterator

#: Spreadsheets write semicolons where the comma is the decimal sign.
DELIMITERS = (",", ";", "\t")
TOO_LONG = f"a cell has more than {csv.field_size_limit():,} characters: is a quote opened and not closed?"
#: Lines after a broken row are read again: of one row at most so many characters, in all so many times the file.
ROW_AGAIN, READ_AGAIN = 1_000_000, 2


def csv_rows(data: bytes | Iterable[str], delimiter: str = ",") -> Iterator[tuple[str, list[str] | csv.Error]]:
    """Yield "Line 7" with the cells of its row, or with the error.

    data: the bytes, or the lines of a file opened with `newline=""` and `errors="surrogateescape"`: a byte that is not
    UTF-8 becomes a lone surrogate, so that only its own row is left out. A quote that is never closed takes its own
    line alone: the lines after it are read again.
    """
    if isinstance(data, bytes):
        data = io.StringIO(utf8(data).decode("utf-8", "surrogateescape"), newline="")
    lines = _Lines(data)
    before, reader = 0, csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        number = before + reader.line_num + 1  # where the row begins
        lines.begin_row()
        try:
            row: list[str] | csv.Error = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            row = csv.Error(TOO_LONG) if "field limit" in str(error) else error
            if lines.read_again():
                before, reader = number, csv.reader(lines, delimiter=delimiter, strict=True)
        yield f"Line {number:,}", row


class _Lines:
    """The lines of a file; all but the first of a broken row can be read again."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._row: list[str] = []
        self._again: deque[str] = deque()
        self._size = 0  # of the row
        self._allowed = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._again:
            line = self._again.popleft()
        else:
            line = next(self._lines)
            self._allowed += READ_AGAIN * len(line)
        self._size += len(line)
        if self._size <= ROW_AGAIN:
            self._row.append(line)
        return line

    def begin_row(self) -> None:
        self._row.clear()
        self._size = 0

    def read_again(self) -> bool:
        """Whether the lines after the first of this row come again."""
        if len(self._row) < 2 or self._size > min(ROW_AGAIN, self._allowed):
            return False
        self._allowed -= self._size
        self._again.extendleft(reversed(self._row[1:]))
        return True


def delimiter_of(data: bytes, fits: Callable[[list[str]], bool]) -> str:
    """The first of DELIMITERS that splits the first row so that it `fits`; the comma if none does."""
    for delimiter in DELIMITERS:
        _, row = next(csv_rows(data, delimiter), ("", []))
        if isinstance(row, list) and fits(row):
            return delimiter
    return DELIMITERS[0]


def utf8(data: bytes) -> bytes:
    """The bytes without a byte order mark. UTF-16 with its mark, as spreadsheets save "Unicode text", becomes UTF-8.

    So does UTF-32, whose mark begins like that of UTF-16.
    """
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return data.decode("utf-32", "replace").encode("utf-8")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").encode("utf-8")
    return data.removeprefix(codecs.BOM_UTF8)


def is_utf8(text: str) -> bool:
    """Whether all bytes of a cell were UTF-8."""
    return not any("\udc80" <= character <= "\udcff" for character in text)
