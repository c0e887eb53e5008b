"""Rows of a CSV or TSV file, each with the line where it begins; a broken row does not end the reading."""

import csv
from collections import deque
from collections.abc import Iterable, Iterator

TOO_LONG = f"a cell has more than {csv.field_size_limit():,} characters: is a quote opened and not closed?"
#: Lines after a broken row are read again: of one row at most so many characters, in all so many times the file.
ROW_AGAIN, READ_AGAIN = 1_000_000, 2


def csv_rows(lines: Iterable[str], delimiter: str = ",") -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Yield the number of the line where a row begins, from 1, with the cells of the row, or with the error.

    lines: each with its own ending, as a file opened with `newline=""` has them. A quote that is never closed takes its
    own line only: the lines after it are read again.
    """
    again = _Lines(lines)
    before, reader = 0, csv.reader(again, delimiter=delimiter, strict=True)
    while True:
        number = before + reader.line_num + 1  # where the row begins
        again.begin_row()
        try:
            row: list[str] | csv.Error = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            row = csv.Error(TOO_LONG) if "field limit" in str(error) else error
            if again.read_again():
                before, reader = number, csv.reader(again, delimiter=delimiter, strict=True)
        yield number, row


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
