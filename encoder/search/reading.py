"""The texts of a file: TXT with a text a line, CSV or Parquet with a text a row. What cannot be read is named."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from encoder.csv_rows import csv_rows, delimiter_of, is_utf8, utf8
from encoder.errors import EncoderError

FORMATS = (".txt", ".csv", ".parquet")
#: Names of a column that holds the texts, the first that a file has; without one, the first column does.
COLUMNS = ("text", "sentence", "content", "body", "title")
NOT_UTF8 = "not UTF-8: save the file as UTF-8"
#: Bytes of the texts of a Parquet file, unpacked.
MOST_UNPACKED = 200_000_000


@dataclass(frozen=True)
class Limits:
    """What is read at most: bytes of a file, texts, characters of one text."""

    file_bytes: int = 50_000_000
    texts: int = 100_000
    characters: int = 20_000


@dataclass(frozen=True)
class Reading:
    """The texts of a file in its order; problems: a sentence for each line or row that was left out."""

    texts: tuple[str, ...]
    problems: tuple[str, ...] = field(default=())


def read_texts(data: bytes, name: str, limits: Limits | None = None) -> Reading:
    """Read a file. name: its name, whose ending says the format. Empty lines are no texts and no problem.

    Raises EncoderError for another format, a file that is too large or damaged, and a file without any text.
    """
    limits = limits or Limits()
    suffix = PurePath(name).suffix.lower()
    if suffix not in FORMATS:
        raise EncoderError(f"{name} has no known format: choose a file that ends in {', '.join(FORMATS)}.")
    if len(data) > limits.file_bytes:
        raise EncoderError(
            f"{name} has {len(data) / 1e6:,.1f} MB, and the limit is {limits.file_bytes / 1e6:,.0f} MB: split it."
        )
    rows = {".txt": _lines, ".csv": _csv_rows, ".parquet": _parquet_rows}[suffix](data)
    texts: list[str] = []
    problems: list[str] = []
    for place, text in rows:
        if isinstance(text, Problem):
            problems.append(f"{place}: {text}.")
        elif len(text) > limits.characters:
            problems.append(f"{place}: {len(text):,} characters, and the limit is {limits.characters:,}.")
        elif text.strip():
            if len(texts) == limits.texts:
                problems.append(f"{place}: this and all later ones are left out; the limit is {limits.texts:,} texts.")
                break
            texts.append(text.strip())
    if not texts:
        why = f" {problems[0]}" if problems else ""
        raise EncoderError(f"{name} holds no text.{why} Choose another file.")
    return Reading(tuple(texts), tuple(problems))


class Problem(str):
    """Why a line is left out, in place of its text."""

    __slots__ = ()


def _lines(data: bytes) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(utf8(data).splitlines(), 1):
        yield f"Line {number:,}", _decoded(line)


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return Problem(NOT_UTF8)


def _csv_rows(data: bytes) -> Iterator[tuple[str, str]]:
    """Rows of a CSV file. The first row is a header if it names one of COLUMNS."""
    column, width, first = 0, 0, True
    for line, row in csv_rows(data, delimiter_of(data, lambda row: named_column(row) is not None)):
        if isinstance(row, csv.Error):
            yield line, Problem(f"not CSV, {row}")
            continue
        if first and (named := named_column(row)) is not None:
            column, width, first = named, len(row), False
            continue
        first = False
        if row:
            yield line, _cell(row, column, width)


def named_column(header: Sequence[str]) -> int | None:
    """The place of the first of COLUMNS in a header, or None."""
    names = [name.strip().lower() for name in header]
    return next((names.index(name) for name in COLUMNS if name in names), None)


def _cell(row: Sequence[str], column: int, width: int) -> str:
    """The text of a row. width: columns of the header, 0 without one: a comma cuts a text that has no quotes."""
    if column >= len(row):
        return Problem(f"the text is in column {column + 1}, and this row has {len(row)}")
    if 0 < width < len(row):
        return Problem("the row has more columns than the header: put its text in quotes")
    text = row[column]
    return text if is_utf8(text) else Problem(NOT_UTF8)


def _parquet_rows(data: bytes) -> Iterator[tuple[str, str]]:
    for number, value in enumerate(parquet_values(data), 1):
        yield f"Row {number:,}", Problem("no value") if value is None else value


def parquet_values(data: bytes) -> Iterator[str | None]:
    """The texts of a Parquet file, None for a row without one.

    A small file may name one long text in many rows: values stay in their dictionary and are read one at a time. Raises
    EncoderError for a damaged file, without a column of texts, and for one that unpacks to more than MOST_UNPACKED.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(data))
        names = file.schema_arrow.names
        named = named_column(names)
        place = named if named is not None else next((n for n in range(len(names)) if is_text(file, n)), None)
        if place is None or not is_text(file, place) or len(names) != file.metadata.num_columns:
            raise EncoderError(f"No column of this Parquet file holds texts: name one “{COLUMNS[0]}”.")
        groups = (file.metadata.row_group(group).column(place) for group in range(file.num_row_groups))
        if sum(group.total_uncompressed_size for group in groups) > MOST_UNPACKED:
            raise EncoderError(f"The texts of this file unpack to over {MOST_UNPACKED // 10**6} MB: split it.")
        unpacked = 0
        for batch in pq.ParquetFile(io.BytesIO(data), read_dictionary=[names[place]]).iter_batches(
            columns=[names[place]]
        ):
            for value in batch.column(0):
                text = value.as_py()
                unpacked += len(text or "")
                if unpacked > MOST_UNPACKED:
                    raise EncoderError(f"The texts of this file unpack to over {MOST_UNPACKED // 10**6} MB: split it.")
                yield text
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise EncoderError(f"This Parquet file is damaged: {str(error)[:100].rstrip('.')}. Save it again.") from None


def is_text(file: Any, place: int) -> bool:
    """Whether a column of an open Parquet file holds texts."""
    import pyarrow as pa

    kind = file.schema_arrow.types[place]
    if pa.types.is_dictionary(kind):  # a category of pandas
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
