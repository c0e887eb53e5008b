"""Where the texts of a corpus come from: a file or table that `encoder.inputs.read` reads, or the bundled sentences."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from encoder.disk import open_regular
from encoder.errors import EncoderError
from encoder.inputs import read as reading
from encoder.inputs.read import BrokenRow, Given, Row
from encoder.probe import examples, examples_pos

#: The bundled example sentences of WordNet, in place of a file.
BUNDLED = "wordnet"
#: Their column of labels: of the word that a sentence illustrates.
POS = "part of speech"
#: A file may have any size. A tokenizer takes about a second for a text of so many characters.
LIMITS = reading.Limits(file_bytes=None, texts=None, characters=1_000_000, all_characters=None)


@dataclass(frozen=True)
class Source:
    """Where texts come from. path: a file, what else `reading.read` takes, or BUNDLED; text: the column of the texts,
    None: named as in reading.COLUMNS, else the first; labels: names of label columns; most: the first so many texts
    only; file_name: of a file whose bytes are given; pair: the column of a second text, for `over`.
    """

    path: Given
    text: str | None = None
    labels: tuple[str, ...] = ()
    most: int | None = None
    file_name: str = ""
    pair: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read besides the texts: the labels, then the second text."""
        return self.labels if self.pair is None else (*self.labels, self.pair)

    @property
    def is_bundled(self) -> bool:
        """Whether the texts are the bundled ones, and not those of a file of this name."""
        return isinstance(self.path, str) and self.path == BUNDLED and not Path(BUNDLED).exists()

    @property
    def name(self) -> str:
        """The file's name."""
        return BUNDLED if self.is_bundled else reading.name_of(self.path, self.file_name)

    def check(self) -> None:
        """Raise EncoderError for no file, another format, and labels where a row has none."""
        if not self.is_bundled:
            reading.check(self.path, self.file_name, text=self.text, labels=self.columns)
        elif self.text or set(self.columns) - {POS}:
            raise EncoderError(f"The bundled sentences have one column of labels: specify --label {POS!r}, or none.")

    def about(self) -> dict[str, object]:
        """The file's name, the columns that are read, and a hash of its bytes (of texts in memory: of these)."""
        digest = hashlib.sha256()
        if self.is_bundled:
            digest.update("\n".join(examples()).encode())
            digest.update("\n".join(examples_pos() if self.labels else ()).encode())
        elif isinstance(self.path, str | Path):
            with open_regular(self.path) as file:
                digest = hashlib.file_digest(file, "sha256")
        else:
            for row in self.rows():
                digest.update(f"{row!r}\n".encode("utf-8", "backslashreplace"))
        columns: dict[str, object] = {"text_column": self.text, "label_columns": list(self.labels)}
        columns |= {} if self.most is None else {"most_texts": self.most}
        columns |= {} if self.pair is None else {"pair_column": self.pair}
        return {"name": self.name, "sha256": digest.hexdigest(), **columns}

    def rows(self) -> Iterator[Row | BrokenRow]:
        """Every row, blank ones with the text "". Raises EncoderError as `reading.read`."""
        self.check()
        left = self.most
        for row in self._bundled() if self.is_bundled else self._read():
            if left == 0:
                return
            if left is not None and isinstance(row, Row) and row.text:
                left -= 1
            yield row

    def _read(self) -> Iterator[Row | BrokenRow]:
        return reading.read(self.path, self.file_name, text=self.text, labels=self.columns, limits=LIMITS)

    def _bundled(self) -> Iterator[Row]:
        for number, (text, pos) in enumerate(zip(examples(), examples_pos(), strict=True), 1):
            yield Row(number, text.strip(), (pos.strip() or None,) * len(self.labels))
