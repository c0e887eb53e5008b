"""Rows of a CSV or TSV file, each with the line where it begins; a broken row does not end the reading."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator


def csv_rows(data: bytes | Iterable[str], delimiter: str = ",") -> Iterator[tuple[str, list[str] | csv.Error]]:
    """Yield "Line 7" with the cells of its row, or with the error.

    data: the bytes, or the lines of a file opened with `newline=""` and `errors="surrogateescape"`: a byte that is not
    UTF-8 becomes a lone surrogate, so that only its own row is left out.
    """
    if isinstance(data, bytes):
        data = io.StringIO(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape"), newline="")
    reader = csv.reader(data, delimiter=delimiter, strict=True)
    while True:
        line = f"Line {reader.line_num + 1:,}"  # where the row begins: a quote that is never closed ends with the file
        try:
            yield line, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, error


def is_utf8(text: str) -> bool:
    """Whether all bytes of a cell were UTF-8."""
    return not any("\udc80" <= character <= "\udcff" for character in text)
