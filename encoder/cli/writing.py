"""What a command found as a file or on standard output: one writer for every command and format."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from encoder import disk
from encoder.cli.command import Command, CommandError, Result
from encoder.cli.values import FORMATS
from encoder.documents.csv_file import as_csv

if TYPE_CHECKING:
    import pandas as pd

#: Rows that are printed without --out.
PRINTED = 20


def settle(options: argparse.Namespace, command: Command) -> None:
    """Make `options.format` and `options.out` (None: standard output) of the options, before a model is loaded.

    If no format is given, it prints a short table. Raises CommandError for a format that does not fit, SaveError for a
    file that cannot be written or is an input.
    """
    if options.json and options.format not in (None, "json"):
        raise CommandError(f"--json and --format {options.format}: choose one of them.")
    path = None if options.out in (None, "-") else Path(options.out)
    chosen = "json" if options.json else options.format
    if chosen is None and path is not None:
        chosen = path.suffix.lower().removeprefix(".")
    if chosen is None and options.out == "-":
        chosen = "csv"
    if path is not None:
        disk.check_output(path, options.inputs)
    if chosen not in (None, *command.formats):
        known = ", ".join(f".{one}" for one in command.formats)
        raise CommandError(f"--out {options.out}: end its name in one of {known}, or choose --format.")
    if options.excel and chosen != "csv":
        raise CommandError("--excel belongs to CSV: choose a file that ends in .csv, or leave --excel out.")
    options.format, options.out = chosen, path


def write(results: Iterable[Result], options: argparse.Namespace) -> int:
    """Write all results in `options.format`, or print their short tables; returns the exit code."""
    codes, names = [], []

    def noted() -> Iterator[Result]:
        for result in results:
            codes.append(result.code)
            names.append(result.name)
            yield result

    if options.format is None:
        for result in noted():
            _print(result)
    elif options.out is None:
        sys.stdout.flush()
        _WRITERS[options.format](noted(), sys.stdout.buffer, options)
        sys.stdout.flush()
    else:
        with disk.whole_file(options.out, inputs=options.inputs) as file:
            _WRITERS[options.format](noted(), file, options)
        name = names[0] if len(names) == 1 else f"{len(names):,} inputs"
        size = [f"{options.out.stat().st_size:,} bytes"] if options.out.is_file() else []  # a pipe has none
        print(f"{options.out}: {', '.join([*filter(None, [name]), *size])}")
    return max(codes, default=0)


def _print(result: Result) -> None:
    if result.said:
        print(result.said)
    table = result.shown() if result.shown is not None else next(iter(result.tables())).head(PRINTED)
    if not len(table.columns):
        return
    aligned = table.copy(deep=False)
    for name in aligned.select_dtypes(exclude=["number", "bool"]):
        aligned[name] = aligned[name].str.ljust(aligned[name].str.len().max())
    print(aligned.to_string(index=False, float_format="{:.3f}".format), flush=True)


def as_json(result: Result) -> dict[str, Any]:
    """What `--json` writes of a result: its facts and rows, to the digit."""
    content = io.BytesIO()
    _json(iter([result]), content, argparse.Namespace())
    found: dict[str, Any] = json.loads(content.getvalue())
    return found


def say(options: argparse.Namespace, sentence: str, facts: Mapping[str, Any]) -> None:
    """Print what a command did that writes no table: in a sentence, or with --json as one object."""
    print(json.dumps(facts) if options.json else sentence)


# --- formats ----------------------------------------------------------------------------------------------------------


def _csv(results: Iterator[Result], file: IO[bytes], options: argparse.Namespace) -> None:
    for number, table in enumerate(_tables(results)):
        file.write(as_csv(table, for_spreadsheets=options.excel, header=not number))


def _json_lines(results: Iterator[Result], file: IO[bytes], _: argparse.Namespace) -> None:
    for table in _tables(results):
        file.writelines(f"{line}\n".encode() for line in _records(table))


def _json(results: Iterator[Result], file: IO[bytes], _: argparse.Namespace) -> None:
    """One object: the facts by name, and the rows."""
    first = next(results)
    facts = "".join(
        f"{json.dumps(name.lower().replace(' ', '_'))}: {json.dumps(_plain(value), ensure_ascii=False)},\n"
        for name, value in first.facts.items()
    )
    file.write(f"{{{facts}{json.dumps(first.rows)}: [".encode())
    between = ""
    for table in _tables(chain([first], results)):
        for line in _records(table):
            file.write(f"{between}\n{line}".encode())
            between = ","
    file.write(b"\n]}\n")


def _records(table: pd.DataFrame) -> list[str]:
    """A row as JSON each, whole float precision; NaN is null."""
    text: str = table.to_json(orient="records", lines=True, force_ascii=False, double_precision=15)
    return text.splitlines()


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | str | None) else str(value)


def _parquet(results: Iterator[Result], file: IO[bytes], _: argparse.Namespace) -> None:
    import pandas as pd

    from encoder.export.report import as_parquet

    first = next(results)
    tables = list(_tables(chain([first], results)))
    file.write(
        as_parquet(pd.concat(tables, ignore_index=True), {name: str(said) for name, said in first.facts.items()})
    )


def _npz(results: Iterator[Result], file: IO[bytes], options: argparse.Namespace) -> None:
    """Arrays by their names; of several inputs "0/attention", "1/attention", ..."""
    import numpy as np

    found = [result.arrays() for result in results if result.arrays is not None]
    if len(found) == 1:
        arrays: Mapping[str, Any] = found[0]
    else:
        arrays = {f"{number}/{name}": array for number, one in enumerate(found) for name, array in one.items()}
    content = io.BytesIO()  # a pipe cannot be written at two places, as a ZIP file is
    np.savez_compressed(content, **arrays)
    file.write(content.getvalue())


def _html(results: Iterator[Result], file: IO[bytes], options: argparse.Namespace) -> None:
    from encoder.documents.document import Section, document
    from encoder.export.report import footer

    result = _only(results, options)
    if result.page is not None:
        file.write(result.page().encode())
        return
    picture = "" if result.still is None else result.still().svg()
    section = Section("", picture=picture, table=next(iter(result.tables())))
    title = f"{options.command.name.capitalize()}: {getattr(options, 'model', '')}".rstrip(": ")
    file.write(document(title, [section], facts=result.facts, footer=footer("")).encode())


def _picture(results: Iterator[Result], file: IO[bytes], options: argparse.Namespace) -> None:
    result = _only(results, options)
    assert result.still is not None, "a command without a picture does not offer png and svg"
    still = result.still()
    file.write(still.png() if options.format == "png" else still.svg().encode())


def _only(results: Iterator[Result], options: argparse.Namespace) -> Result:
    """The only result. Raises CommandError for several: a page and a picture show one input."""
    first = next(results)
    if next(results, None) is not None:
        raise CommandError(f"--format {options.format} shows one input: specify one text, or choose a table.")
    return first


def _tables(results: Iterable[Result]) -> Iterator[pd.DataFrame]:
    """The tables, in which the column `text` is the number of the input."""
    for result in results:
        for table in result.tables():
            if result.number is not None:
                table = table.copy(deep=False)
                table.insert(0, "text", result.number)
            yield table


_WRITERS: dict[str, Callable[[Iterator[Result], IO[bytes], argparse.Namespace], None]] = {
    "csv": _csv, "parquet": _parquet, "json": _json, "jsonl": _json_lines, "npz": _npz, "html": _html, "png": _picture,
    "svg": _picture,
}  # fmt: skip
assert tuple(_WRITERS) == FORMATS
