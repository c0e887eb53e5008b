"""The run of a file that was exported: a report names it in its head, a Parquet file among its facts."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qsl

from encoder.disk import open_regular
from encoder.errors import EncoderError
from encoder.run.address import read
from encoder.run.values import Run

#: Name of the address in the `<meta>` of a report, and in the facts of a Parquet file.
META, FACT = "encoderscope-run", "run"
#: A report names its run in this many characters from its beginning.
HEAD = 100_000


class _Head(HTMLParser):
    """Finds the content of the `<meta>` that names a run."""

    found: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "meta" and values.get("name") == META and self.found is None:
            self.found = values.get("content")


def open_run(file: str | Path) -> Run:
    """The run of a report (.html) or of a table (.parquet) that the app or the command line wrote.

    Raises EncoderError for a file without a run, and for a broken or missing one.
    """
    path = Path(file)
    try:
        found = _of_table(path) if path.suffix.lower() == ".parquet" else _of_report(path)
    except (OSError, ValueError) as error:
        raise EncoderError(f"{path.name} cannot be read: choose a report (.html) or a table (.parquet).") from error
    if not found:
        raise EncoderError(f"{path.name} names no run: choose a file that Encoderscope 0.3 or newer exported.")
    return read(dict(parse_qsl(found)))


def _of_report(path: Path) -> str | None:
    parser = _Head()
    with open_regular(path) as file:
        parser.feed(file.read(4 * HEAD).decode("utf-8", "ignore")[:HEAD])
    return parser.found


def _of_table(path: Path) -> str | None:
    import json

    import pyarrow.parquet as parquet

    with open_regular(path) as file:
        metadata = parquet.read_schema(file).metadata or {}
    facts = json.loads(metadata.get(b"PANDAS_ATTRS", b"{}"))
    return facts.get(FACT) if isinstance(facts, dict) else None
