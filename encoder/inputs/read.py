"""Rows of text from anywhere: a file, its bytes, an open file, a DataFrame or a list; with columns of labels.

    for row in read("reviews.csv", labels=("stars",)): ...
    read_texts(data, "reviews.parquet").texts

TXT has a text a line; CSV, TSV, JSONL and Parquet have a text a row. A file is read as a stream, so its size does not
matter. An unreadable row is reported by its line (in Parquet, a DataFrame or a list: by its row); all other rows are
read. `search`, `probe` and `corpus` use only this reader.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, Any, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from encoder.disk import open_regular
from encoder.errors import EncoderError, quoted

#: What can be read. A string is a path.
Given: TypeAlias = "str | Path | bytes | IO[bytes] | IO[str] | pd.DataFrame | Sequence[Any]"

FORMATS = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")
#: Names of a column that holds the texts, the first that a table has; without one, the first column does.
COLUMNS = ("text", "sentence", "content", "body", "title", "gloss")
#: Spreadsheets write semicolons where the comma is the decimal sign.
DELIMITERS = (",", ";", "\t")
#: Problems that are named; the others are counted.
MOST_NAMED = 1_000
#: Characters of a line that are read. A larger file without the end of a line is not text.
MOST_LINE = 10_000_000
#: Rows of a Parquet file that are decoded at a time, and their bytes.
BATCH_ROWS, BATCH_BYTES = 1_000, 64_000_000
#: A Parquet column is refused where this many bytes were packed to a hundredth: no text is so regular.
MOST_UNPACKED, MOST_PACKED = 200_000_000, 100
NOT_UTF8 = "not UTF-8: save the file as UTF-8"
#: The cells of an empty line.
BLANK = [""]
#: Stands for bytes that are not text in the file's encoding.
_BAD = "\udc80"
#: Half of a pair of UTF-16: JSON may have one, and no file can.
_HALF = re.compile("[\ud800-\udfff]")

codecs.register_error("encoderscope.mark", lambda error: (_BAD, getattr(error, "end", 0)))


@dataclass(frozen=True)
class Limits:
    """What is read at most, None: all. file_bytes: of a file; texts: the first so many; characters: of one text or
    label; all_characters: of all texts together, which a small Parquet file may unpack to."""

    file_bytes: int | None = 50_000_000
    texts: int | None = 100_000
    characters: int = 20_000
    all_characters: int | None = 200_000_000


@dataclass(frozen=True, slots=True)
class Row:
    """A text without the blanks around it, "" where there is none. number: its line in a text file, else its row, from
    1 (the header of a CSV file is line 1); labels: one value for each label column, None where it is empty."""

    number: int
    text: str
    labels: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class BrokenRow:
    """A row that is left out, and why. unit: what `number` counts, "Line" or "Row"."""

    number: int
    why: str
    unit: str = "Row"

    def __str__(self) -> str:
        return f"{self.unit} {self.number:,}: {self.why}."


class Problems:
    """Sentences about what was left out: the first MOST_NAMED, and the number of all."""

    def __init__(self) -> None:
        self.named: list[str] = []
        self.total = 0

    def add(self, sentence: str) -> None:
        """Count what was left out."""
        self.total += 1
        if len(self.named) < MOST_NAMED:
            self.named.append(sentence)


@dataclass(frozen=True)
class Reading:
    """The texts in their order; problems: a sentence for each of the first rows that were left out; n_left_out: of all.

    n_blank: rows without a text, which are neither texts nor problems; labels: one for each text, "" where it is empty,
    where a column of them was wanted and is there.
    """

    texts: tuple[str, ...]
    problems: tuple[str, ...] = ()
    n_left_out: int = 0
    n_blank: int = 0
    labels: tuple[str, ...] = ()


def read_texts(
    given: Given,
    name: str = "",
    limits: Limits | None = None,
    *,
    text: str | None = None,
    labels: Sequence[str] = (),
) -> Reading:
    """The texts. labels: names of a column, of which the table may have one; the other arguments and errors are those
    of `read`; EncoderError, too, where there is no text at all."""
    texts: list[str] = []
    found: list[str] = []
    problems, n_blank = Problems(), 0
    for row in read(given, name, text=text, optional=(labels,) if labels else (), limits=limits or Limits()):
        if isinstance(row, BrokenRow):
            problems.add(str(row))
        elif row.text:
            texts.append(row.text)
            if labels:  # one for each text, also where a line has none
                found.append(next(iter(row.labels), None) or "")
        else:
            n_blank += 1
    if not texts:
        why = f" {problems.named[0]}" if problems.named else ""
        raise EncoderError(f"{name_of(given, name)} holds no text.{why} Choose another file.")
    return Reading(tuple(texts), tuple(problems.named), problems.total, n_blank, tuple(found) if any(found) else ())


def read(
    given: Given,
    name: str = "",
    *,
    text: str | None = None,
    labels: Sequence[str | Sequence[str]] = (),
    optional: Sequence[Sequence[str]] = (),
    limits: Limits | None = None,
) -> Iterator[Row | BrokenRow]:
    """Every row in its order, blank ones, too (their text is ""). Beyond limits.texts, one BrokenRow says so.

    given: a path (a string is one), bytes, an open file, a DataFrame, or a list of texts, of mappings or of tuples (the
    text, then the labels). name: of a file given as bytes; its ending says the format. text: the column of the texts,
    None: the first of COLUMNS, else the first column (of texts). labels: a column each: its exact name, or several
    names of which the table has one (a CSV file without a header: the columns after the text); optional: columns whose
    values come last among a row's labels, where the table has them.

    A file is UTF-8, or has the mark of UTF-16 or UTF-32. Raises EncoderError as `check`; for a column that is not there
    and a damaged file.
    """
    limits = limits or Limits()
    if hasattr(given, "read"):
        given, name = _content(given), name_of(given, name)
    check(given, name, text=text, labels=labels, limits=limits)
    unit = unit_of(given, name)
    n_texts = n_characters = 0
    wanted = _Wanted(text, tuple(labels), tuple(optional))
    for number, cells in _cells(given, suffix_of(given, name), wanted, limits):
        if cells == BLANK:  # the end of a file may be millions of them
            yield Row(number, "")
            continue
        why = cells if isinstance(cells, str) else _problem(cells, limits)
        if why:
            yield BrokenRow(number, why, unit)
            continue
        found = str(cells[0]).strip()
        if found and n_texts == limits.texts:
            yield BrokenRow(number, f"this and all later ones are left out; the limit is {limits.texts:,} texts", unit)
            return
        n_texts += bool(found)
        n_characters += len(found)
        if limits.all_characters is not None and n_characters > limits.all_characters:
            raise EncoderError(_unpacked(limits.all_characters))
        yield Row(number, found, tuple(map(_label, cells[1:])))


def check(
    given: Given,
    name: str = "",
    *,
    text: str | None = None,
    labels: Sequence[str | Sequence[str]] = (),
    limits: Limits | None = None,
) -> None:
    """Raise EncoderError for no file, another format, too many bytes, and wanted columns where a row has none."""
    called, suffix = name_of(given, name), suffix_of(given, name)
    if not suffix:
        return
    if isinstance(given, str | Path) and not Path(given).is_file():
        raise EncoderError(f"No file {str(given)[:200]}: specify one that ends in {', '.join(FORMATS)}.")
    if suffix not in FORMATS:
        raise EncoderError(f"{called} has no known format: choose a file that ends in {', '.join(FORMATS)}.")
    if suffix == ".txt" and (text is not None or labels):
        raise EncoderError("A row of this file is a text and has no columns: choose CSV, TSV, JSONL or Parquet.")
    most = None if limits is None else limits.file_bytes
    size = Path(given).stat().st_size if isinstance(given, str | Path) else 0
    size = len(given) if isinstance(given, bytes) else size
    if most is not None and size > most:
        raise EncoderError(f"{called} has {size / 1e6:,.1f} MB, and the limit is {most / 1e6:,.0f} MB: split it.")


def name_of(given: Given, name: str = "") -> str:
    """What a sentence calls it."""
    if name or not isinstance(given, str | Path):
        return name or PurePath(str(getattr(given, "name", ""))).name or "This table"
    return Path(given).name


def suffix_of(given: Given, name: str = "") -> str:
    """The ending of a file's name in lower case; "" for a table in memory."""
    in_file = isinstance(given, str | Path | bytes) or hasattr(given, "read")
    return PurePath(name_of(given, name)).suffix.lower() or "." if in_file else ""


def unit_of(given: Given, name: str = "") -> str:
    """What the number of a row counts: "Line" in a file of lines, else "Row"."""
    return "Row" if suffix_of(given, name) in ("", ".parquet") else "Line"


def _problem(cells: Sequence[Any], limits: Limits) -> str:
    """Why a row cannot be used, or ""."""
    if not isinstance(cells[0], str):
        return "no text"
    for cell in cells:
        if isinstance(cell, str):
            if len(cell) > limits.characters:
                return f"{len(cell):,} characters, and the limit is {limits.characters:,}: split it"
            if _HALF.search(cell):
                return NOT_UTF8 if _BAD in cell else "half of a UTF-16 pair, which is not a character"
    return ""


def _label(value: Any) -> str | None:
    """A label as text; None for an empty one, and for a number that is missing (NaN)."""
    missing = value is None or (isinstance(value, float) and value != value) or not str(value).strip()
    return None if missing else str(value).strip()


# --- columns ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Wanted:
    """The columns that `read` is asked for; a row has their cells in this order."""

    text: str | None
    labels: tuple[str | Sequence[str], ...]
    optional: tuple[Sequence[str], ...]

    @property
    def n_needed(self) -> int:
        """Columns of every table."""
        return 1 + len(self.labels)

    @property
    def by_name(self) -> bool:
        """Whether the reader names columns, so that a table must have a header."""
        return self.text is not None or any(isinstance(label, str) for label in self.labels)

    def places(self, names: Sequence[object]) -> list[int | None]:
        """The place of each column among names, None where it is not there; an optional one is left out then."""
        exact = [str(name).strip() for name in names]
        lower = [name.lower() for name in exact]
        found: list[int | None] = []
        for column in (self.text or COLUMNS, *self.labels, *self.optional):
            known, among = ([column], exact) if isinstance(column, str) else (column, lower)
            place = next((among.index(name) for name in known if name in among), None)
            if place is not None or len(found) < self.n_needed:
                found.append(place)
        return found

    def fits(self, names: Sequence[object]) -> bool:
        """Whether names are those of the columns. The text's may have any, where labels have a name."""
        any_text = self.by_name and self.text is None
        return None not in self.places(names)[any_text : self.n_needed]

    def in_table(self, names: Sequence[object], first_text: int | None) -> list[int]:
        """The places in a table with these names. first_text: the first column that can be the text's. Raises
        EncoderError for a column that is not there."""
        found = self.places(names)
        for column, place in zip((self.text, *self.labels), found, strict=False):
            if column is not None and place is None:
                known = column if isinstance(column, str) else " or ".join(column)
                raise EncoderError(
                    f"No column {quoted(known)} in this file: choose one of {quoted(', '.join(map(str, names)))}."
                )
        places = [first_text if place is None else place for place in found]
        if None in places:
            raise EncoderError(f"No column of this table holds texts: name one “{COLUMNS[0]}”, or choose another.")
        return [place for place in places if place is not None]


# --- files of lines ---------------------------------------------------------------------------------------------------

#: The cells of a row, or why it is left out.
Cells: TypeAlias = "list[Any] | str"


def _cells(given: Given, suffix: str, wanted: _Wanted, limits: Limits) -> Iterator[tuple[int, Cells]]:
    if not suffix:
        yield from _table(given, wanted)
        return
    with open_regular(given) if isinstance(given, str | Path) else io.BytesIO(given) as file:  # type: ignore[arg-type]
        if suffix == ".parquet":
            yield from _parquet(file, wanted, limits.all_characters)
        elif suffix == ".jsonl":
            yield from _json_lines(file, wanted)
        elif suffix == ".txt":
            yield from (
                (number, BLANK if line == "\n" else [line]) for number, line in enumerate(_decoded(file, None), 1)
            )
        else:
            yield from _csv(file, wanted, "\t" if suffix == ".tsv" else _delimiter(file, wanted))


def _content(given: Any) -> bytes:
    """The bytes of an open file."""
    data = given.read()
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)


def _decoded(file: IO[bytes], newline: str | None) -> Iterator[str]:
    """The lines of a file from its beginning, without a byte order mark; bytes that are not text become _BAD.

    newline: as that of `open`. A line of more than MOST_LINE characters is cut, and ends with _BAD.
    """
    file.seek(0)
    mark = file.read(4)
    encoding = "utf-8-sig"
    # The mark of UTF-32 begins like that of UTF-16. Spreadsheets save "Unicode text" as UTF-16.
    if mark.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        encoding = "utf-32"
    elif mark.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    file.seek(0)
    text = io.TextIOWrapper(file, encoding, "encoderscope.mark", newline)
    try:
        while line := text.readline(MOST_LINE):
            if len(line) == MOST_LINE and not line.endswith(("\n", "\r")):
                line += _BAD
                while (rest := text.readline(MOST_LINE)) and not rest.endswith(("\n", "\r")):
                    pass
            yield line
    finally:
        text.detach()  # the file belongs to the caller


def _json_lines(file: IO[bytes], wanted: _Wanted) -> Iterator[tuple[int, Cells]]:
    """A line is an object, or the text itself in quotes."""
    for number, line in enumerate(_decoded(file, None), 1):
        if not line.strip():
            yield number, BLANK
        elif _BAD in line:
            yield number, NOT_UTF8
        else:
            try:
                yield number, _value_cells(json.loads(line), wanted)
            except (ValueError, RecursionError):
                yield number, "not JSON"


def _value_cells(value: Any, wanted: _Wanted) -> Cells:
    """The cells of an element of a list, or of a JSON value."""
    if isinstance(value, str) and not wanted.labels:
        return [value]
    if isinstance(value, tuple) and len(value) >= wanted.n_needed:
        return list(value[: wanted.n_needed + len(wanted.optional)])
    if not isinstance(value, Mapping):
        return "neither a text nor an object with one"
    names = list(value)
    cells = [None if place is None else value[names[place]] for place in wanted.places(names)]
    return cells if isinstance(cells[0], str) else f"no text in {wanted.text or 'any known column'}"


def csv_rows(lines: Iterable[str], delimiter: str = ",") -> Iterator[tuple[int, list[str] | str]]:
    """The number of the line where a row begins, from 1, and its cells, or why there are none.

    A quote that is never closed takes the lines up to the next quote or to csv.field_size_limit() characters.
    """
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            yield number, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            several = reader.line_num > number
            lost = f"; is a quote open? Lines {number:,} to {reader.line_num:,} are left out" if several else ""
            yield number, f"not CSV, {error}{lost}"


def _csv(file: IO[bytes], wanted: _Wanted, delimiter: str) -> Iterator[tuple[int, Cells]]:
    """The first row is a header if it names the columns."""
    columns: list[int] = []
    width = 0
    for number, row in csv_rows(_decoded(file, ""), delimiter):
        if isinstance(row, str):
            yield number, row
            continue
        if not columns and not any(cell.strip() for cell in row):  # before the header
            yield number, BLANK
            continue
        if not columns:
            header = wanted.by_name or wanted.fits(row)
            columns, width = wanted.in_table(row, 0) if header else list(range(wanted.n_needed)), len(row)
            if header:
                continue
        last = max(columns)
        if not any(cell.strip() for cell in row):
            yield number, ["", *[None] * (len(columns) - 1)]
        elif last >= len(row):
            yield number, f"column {last + 1} is needed, and this row has {len(row)}"
        elif len(row) > width:  # a separator cuts a text that has no quotes
            yield number, f"{len(row)} columns, and the first row has {width}: put a text with separators in quotes"
        else:
            yield number, [row[place] for place in columns]


def _delimiter(file: IO[bytes], wanted: _Wanted) -> str:
    """The first that makes the first row a header; without a header, the first that gives enough columns."""
    first = {one: next(csv_rows(_decoded(file, ""), one), (0, [""]))[1] for one in DELIMITERS}
    rows = {one: row for one, row in first.items() if isinstance(row, list)}
    enough = (one for one, row in rows.items() if len(row) >= wanted.n_needed)
    return next((one for one, row in rows.items() if wanted.fits(row)), next(enough, DELIMITERS[0]))


# --- tables -----------------------------------------------------------------------------------------------------------


def _table(given: Any, wanted: _Wanted) -> Iterator[tuple[int, Cells]]:
    """A DataFrame, or a list."""
    if hasattr(given, "iloc"):
        names = list(given.columns)
        texts = (place for place in range(len(names)) if any(isinstance(one, str) for one in given.iloc[:100, place]))
        places = wanted.in_table(names, next(texts, None))
        columns = [given.iloc[:, place].tolist() for place in places]
        for number, cells in enumerate(zip(*columns, strict=True), 1):
            yield number, list(cells)
        return
    if not isinstance(given, Iterable):
        raise EncoderError(
            f"{type(given).__name__} cannot be read: specify a path, bytes, a file, a DataFrame or a list."
        )
    for number, value in enumerate(given, 1):
        yield number, _value_cells(value, wanted)


def parquet_values(data: bytes, most: int = MOST_UNPACKED) -> Iterator[str | None]:
    """The texts of a Parquet file as they are, None for a row without one. Raises EncoderError for a damaged file,
    without a column of texts, and for more than `most` characters."""
    n_characters = 0
    for _, cells in _parquet(io.BytesIO(data), _Wanted(None, (), ()), most):
        value = cells[0]
        n_characters += len(value or "")
        if n_characters > most:
            raise EncoderError(_unpacked(most))
        yield value


def _unpacked(most: int) -> str:
    return f"The texts of this file unpack to over {most // 10**6} MB: split it."


def _parquet(file: IO[bytes], wanted: _Wanted, most: int | None) -> Iterator[tuple[int, list[Any]]]:
    """most: bytes of the texts, by what the file itself says; a file may name one long text in many rows."""
    number = 0
    try:
        parquet = pq.ParquetFile(file)
        names = parquet.schema_arrow.names
        texts = [place for place, kind in enumerate(parquet.schema_arrow.types) if _is_text(kind)]
        places = wanted.in_table(names, next(iter(texts), None))
        if places[0] not in texts:
            raise EncoderError(f"The column {quoted(names[places[0]])} of this file holds no texts: choose another.")
        columns = list(dict.fromkeys(names[place] for place in places))
        # A value that many rows name stays one value, however long it is.
        named = [names[place] for place in places if place in texts]
        parquet = pq.ParquetFile(file, read_dictionary=named)
        for batch in _batches(parquet, columns, most):
            batch.validate(full=True)  # or a damaged file names values that it does not hold
            cells = [_values(batch.column(batch.schema.names.index(names[place]))) for place in places]
            for row in zip(*cells, strict=True):
                number += 1
                yield number, list(row)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise EncoderError(f"This Parquet file is damaged: {str(error)[:100].rstrip('. ')}. Save it again.") from None


def _batches(parquet: Any, columns: list[str], most: int | None) -> Iterator[Any]:
    """Batches of about BATCH_BYTES.

    Raises EncoderError for columns that unpack to more than `most` bytes, or to MOST_PACKED times the file.
    """
    about = parquet.metadata
    leaves = {about.schema.column(leaf).path: leaf for leaf in reversed(range(about.num_columns))}
    unpacked = 0
    for group in range(about.num_row_groups):
        row_group = about.row_group(group)
        # A list or a structure has other leaves than its name.
        chunks = {name: row_group.column(leaves[name]) for name in columns if name in leaves}
        size = sum(chunk.total_uncompressed_size for chunk in chunks.values())
        packed = sum(chunk.total_compressed_size for chunk in chunks.values())
        if size > MOST_UNPACKED and size > MOST_PACKED * packed:
            raise EncoderError(_unpacked(MOST_UNPACKED))
        unpacked += size
        if most is not None and unpacked > most:
            raise EncoderError(_unpacked(most))
        n_rows = max(1, min(BATCH_ROWS, BATCH_BYTES * row_group.num_rows // max(1, size)))
        yield from parquet.iter_batches(n_rows, row_groups=[group], columns=columns)


def _values(column: Any) -> list[Any]:
    """The values of a column of a batch; each value of a dictionary is one object, however many rows name it."""
    if not isinstance(column, pa.DictionaryArray):
        return list(column.to_pylist())
    known: dict[int | None, Any] = {None: None}
    for index in column.indices.to_pylist():
        if index not in known:
            known[index] = column.dictionary[index].as_py()
    return [known[index] for index in column.indices.to_pylist()]


def _is_text(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):  # a category of pandas
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
