"""The texts of a corpus, one by one: TXT (a text a line), CSV, JSONL or Parquet (a text a row), with label columns.

A file is read as a stream, so its size does not matter. A row that cannot be read is named by its number.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from encoder.csv_rows import csv_rows, is_utf8
from encoder.errors import EncoderError, quoted
from encoder.probe import examples, examples_pos
from encoder.search.reading import named_column

FORMATS = (".txt", ".csv", ".jsonl", ".parquet")
#: The bundled example sentences of WordNet, in place of a file.
BUNDLED = "wordnet"
#: Their column of labels: of the word that a sentence illustrates.
POS = "part of speech"
#: Half of a pair of UTF-16: JSON may have one, and no file can.
HALF = re.compile("[\ud800-\udfff]")
#: Characters of a text; a tokenizer takes about a second for so many.
MOST_CHARACTERS = 1_000_000


@dataclass(frozen=True)
class Row:
    """A text. number: its row in the file, from 1; labels: one value for each label column, None where it is empty."""

    number: int
    text: str
    labels: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class BrokenRow:
    """A row that is left out, and why."""

    number: int
    why: str


@dataclass(frozen=True)
class Source:
    """Where texts come from. path: a file, or BUNDLED; text: the column of the texts, None: named as in
    search.COLUMNS, else the first; labels: names of label columns; most: the first so many texts alone."""

    path: str
    text: str | None = None
    labels: tuple[str, ...] = ()
    most: int | None = None

    @property
    def is_bundled(self) -> bool:
        """Whether the texts are the bundled ones, and not those of a file of this name."""
        return self.path == BUNDLED and not Path(self.path).exists()

    def check(self) -> None:
        """Raise EncoderError for no file, another format, and labels where a row has none."""
        if not self.is_bundled:
            path = Path(self.path)
            if not path.is_file():
                raise EncoderError(f"There is no file {self.path}: give one that ends in {', '.join(FORMATS)}.")
            if path.suffix.lower() not in FORMATS:
                raise EncoderError(f"{path.name} has no known format: choose a file that ends in {', '.join(FORMATS)}.")
        if self.is_bundled and (self.text or set(self.labels) - {POS}):
            raise EncoderError(f"The bundled sentences have one column of labels: give --label {POS!r}, or none.")
        if not self.is_bundled and Path(self.path).suffix.lower() != ".parquet":
            with open(self.path, "rb") as file:
                if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                    raise EncoderError(f"{Path(self.path).name} is UTF-16: save it as UTF-8.")
        if not self.is_bundled and Path(self.path).suffix.lower() == ".txt" and (self.labels or self.text):
            raise EncoderError("A row of this file is a text and has no columns: choose CSV, JSONL or Parquet.")

    def about(self) -> dict[str, object]:
        """The file's name, the columns that are read, and a hash of its bytes (of the bundled texts: of these)."""
        digest = hashlib.sha256()
        if self.is_bundled:
            digest.update("\n".join(examples()).encode())
            digest.update("\n".join(examples_pos() if self.labels else ()).encode())
        else:
            with open(self.path, "rb") as file:
                while part := file.read(1 << 20):
                    digest.update(part)
        columns: dict[str, object] = {"text_column": self.text, "label_columns": list(self.labels)}
        if self.most is not None:
            columns["most_texts"] = self.most
        return {"name": Path(self.path).name, "sha256": digest.hexdigest(), **columns}

    def rows(self) -> Iterator[Row | BrokenRow]:
        """Every row but empty ones. Raises EncoderError as `check`, for a column that is not there, and for a damaged
        file."""
        self.check()
        if self.is_bundled:
            found: Iterator[Row | BrokenRow] = _bundled(self)
        else:
            read = {".txt": _lines, ".csv": _csv, ".jsonl": _json_lines, ".parquet": _parquet}
            found = read[Path(self.path).suffix.lower()](self)
        left = self.most
        for row in found:
            if left == 0:
                return
            if isinstance(row, BrokenRow):
                yield row
            elif any(HALF.search(one) for one in (row.text, *filter(None, row.labels))):
                yield BrokenRow(row.number, "half of a UTF-16 pair, which is no character")
            elif len(row.text) > MOST_CHARACTERS:
                yield BrokenRow(row.number, f"{len(row.text):,} characters, and the limit is {MOST_CHARACTERS:,}")
            elif text := row.text.strip():
                left = left and left - 1
                yield Row(row.number, text, row.labels)


def _bundled(source: Source) -> Iterator[Row]:
    for number, (text, pos) in enumerate(zip(examples(), examples_pos(), strict=True), 1):
        yield Row(number, text, (_label(pos),) * len(source.labels))


def _lines(source: Source) -> Iterator[Row | BrokenRow]:
    with open(source.path, "rb") as file:
        for number, line in enumerate(file, 1):
            text = _utf8(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
            yield BrokenRow(number, "not UTF-8") if text is None else Row(number, text)


def _utf8(line: bytes) -> str | None:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _csv(source: Source) -> Iterator[Row | BrokenRow]:
    """The first row is a header if it names the wanted columns; without wanted columns, if it names one of COLUMNS."""
    with open(source.path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        columns: list[int] | None = None
        for number, (_, row) in enumerate(csv_rows(file), 1):
            if isinstance(row, csv.Error):
                yield BrokenRow(number, f"not CSV, {row}")
                continue
            if columns is None:
                names = [name.strip() for name in row]
                wanted = source.text is not None or bool(source.labels)
                header = wanted or named_column(names) is not None
                columns = _columns(source, names) if header else [0]
                if header:
                    continue
            if not row:
                continue
            if max(columns) >= len(row):
                yield BrokenRow(number, f"it has {len(row)} columns, and column {max(columns) + 1} is needed")
                continue
            cells = [row[column] for column in columns]
            if all(is_utf8(cell) for cell in cells):
                yield Row(number, cells[0], tuple(_label(cell) for cell in cells[1:]))
            else:
                yield BrokenRow(number, "not UTF-8")


def _columns(source: Source, names: Sequence[str]) -> list[int]:
    """Places of the text and of the labels."""
    for name in (*([source.text] if source.text else []), *source.labels):
        if name not in names:
            raise EncoderError(f"There is no column {name!r} in this file: choose one of {quoted(', '.join(names))}.")
    text = names.index(source.text) if source.text else named_column(names)
    return [0 if text is None else text, *(names.index(label) for label in source.labels)]


def _label(value: object) -> str | None:
    return None if value is None or not str(value).strip() else str(value).strip()


def _json_lines(source: Source) -> Iterator[Row | BrokenRow]:
    """A line is an object, or the text itself in quotes."""
    with open(source.path, "rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield _json_row(number, line, source)


def _json_row(number: int, line: bytes, source: Source) -> Row | BrokenRow:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return BrokenRow(number, "not JSON")
    if isinstance(value, str) and not source.labels:
        value = {"text": value}
    if not isinstance(value, dict):
        return BrokenRow(number, "no JSON object")
    names = list(value)
    column = source.text
    if column is None and (place := named_column(names)) is not None:
        column = names[place]
    text = value.get(column) if column is not None else None
    if not isinstance(text, str):
        return BrokenRow(number, f"no text in {column or 'any known column'}")
    return Row(number, text, tuple(_label(value.get(label)) for label in source.labels))


def _parquet(source: Source) -> Iterator[Row | BrokenRow]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        file = pq.ParquetFile(source.path)
        names = file.schema_arrow.names
        columns = [names[place] for place in _columns(source, names)]
        if source.text is None and named_column(names) is None:
            columns[0] = _first_text(file)
        for batch in file.iter_batches(batch_size=1_000, columns=list(dict.fromkeys(columns))):
            cells: list[list[Any]] = [batch.column(name).to_pylist() for name in columns]
            for text, *labels in zip(*cells, strict=True):
                number += 1
                if isinstance(text, str):
                    yield Row(number, text, tuple(_label(label) for label in labels))
                else:
                    yield BrokenRow(number, "no text")
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise EncoderError(f"This Parquet file is damaged: {str(error)[:100].rstrip('. ')}. Save it again.") from None


def _first_text(file: Any) -> str:
    from encoder.search.reading import is_text

    for place, name in enumerate(file.schema_arrow.names):
        if is_text(file, place):
            return str(name)
    raise EncoderError("No column of this Parquet file holds texts: choose one with --text.")
