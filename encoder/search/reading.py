"""The texts of a file: TXT with a text a line, CSV or Parquet with a text a row. What cannot be read is named."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from encoder.errors import EncoderError

FORMATS = (".txt", ".csv", ".parquet")
#: Names of a column that holds the texts, the first that a file has; without one, the first column does.
COLUMNS = ("text", "sentence", "content", "body", "title")


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
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        yield f"Line {number:,}", _decoded(line)


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return Problem("not UTF-8")


def _csv_rows(data: bytes) -> Iterator[tuple[str, str]]:
    """Rows of a CSV file. The first row is a header if it names one of COLUMNS."""
    # "surrogateescape" keeps a byte that is not UTF-8, so only its own row is left out.
    content = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    reader = csv.reader(io.StringIO(content, newline=""), strict=True)
    column, first = 0, True
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield f"Line {reader.line_num:,}", Problem(f"not CSV, {error}")
            continue
        if first and (named := _named_column(row)) is not None:
            column, first = named, False
            continue
        first = False
        if row:
            yield f"Line {reader.line_num:,}", _cell(row, column)


def _named_column(header: Sequence[str]) -> int | None:
    names = [name.strip().lower() for name in header]
    return next((names.index(name) for name in COLUMNS if name in names), None)


def _cell(row: Sequence[str], column: int) -> str:
    if column >= len(row):
        return Problem(f"it has {len(row)} columns, and the text is in column {column + 1}")
    text = row[column]
    return Problem("not UTF-8") if any("\udc80" <= character <= "\udcff" for character in text) else text


def _parquet_rows(data: bytes) -> Iterator[tuple[str, str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(data))
        named = _named_column(file.schema_arrow.names)
        strings = [
            name for name, kind in zip(file.schema_arrow.names, file.schema_arrow.types, strict=True)
            if pa.types.is_string(kind) or pa.types.is_large_string(kind)
        ]  # fmt: skip
        column = file.schema_arrow.names[named] if named is not None else next(iter(strings), None)
        if column not in strings:
            raise EncoderError(f"No column of this Parquet file holds texts: name one {', '.join(COLUMNS[:2])} or so.")
        number = 0
        for batch in file.iter_batches(columns=[column]):
            for value in batch.column(0).to_pylist():
                number += 1
                yield f"Row {number:,}", Problem("no value") if value is None else value
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise EncoderError(f"This Parquet file is damaged: {str(error)[:100]}. Save it again.") from None
