"""Texts with a label each, bundled or from a file of two columns, and their control task.

Shapes: N texts.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from encoder.csv_rows import csv_rows, delimiter_of, is_utf8
from encoder.errors import EncoderError

#: Names of the two columns, the first that a file has; without any, the first two columns are text and label.
TEXT_COLUMNS = ("text", "sentence", "gloss")
LABEL_COLUMNS = ("label", "class", "category", "tag")
WORD_COLUMNS = ("word", "token")
#: A class with fewer texts cannot be in every fold.
FEWEST = 5
#: After so many lines that are left out, no more are read.
MOST_PROBLEMS = 1_000
#: The span of a label that belongs to the whole text.
WHOLE = (-1, -1)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Task:
    """texts, labels: N each; spans: (start, end) characters of the word that a label belongs to, None: of the text."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    spans: tuple[tuple[int, int], ...] | None = None
    title: str = ""

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels, each once, in alphabetical order."""
        return tuple(sorted(set(self.labels)))

    @property
    def majority(self) -> float:
        """The accuracy of always naming the most frequent label."""
        return max(Counter(self.labels).values()) / len(self)

    def words(self) -> tuple[str, ...]:
        """The word of each text that its control label depends on: the marked one, or the first, in lower case."""
        if self.spans is not None:
            return tuple(text[a:b].lower() for text, (a, b) in zip(self.texts, self.spans, strict=True))
        found = (_WORD.search(text) for text in self.texts)
        return tuple("" if word is None else word.group().lower() for word in found)


def control_labels(task: Task, seed: int = 0) -> tuple[str, ...]:
    """Labels that depend on nothing but the word: every word draws one, as often as the task has it.

    The control task of Hewitt and Liang (2019). A probe that does well there learns words by heart. They use it for
    words; for texts without a marked word, the first word stands in.
    """
    classes, counts = zip(*sorted(Counter(task.labels).items()), strict=True)
    shares = np.array(counts) / len(task)
    draw = np.random.default_rng(seed)
    of_word = {word: classes[draw.choice(len(classes), p=shares)] for word in sorted(set(task.words()))}
    return tuple(of_word[word] for word in task.words())


@dataclass(frozen=True)
class ReadTask:
    """A task from a file; problems: a sentence for each line that was left out."""

    task: Task
    problems: tuple[str, ...]


def read_task(data: bytes, name: str, *, most: int = 10_000, characters: int = 2_000) -> ReadTask:
    """A CSV or TSV file with a text and a label a row, and on request a third column with a word of the text.

    most: rows that are read; characters: of one text. Raises EncoderError for another format, and for fewer than two
    classes with at least FEWEST texts.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix not in (".csv", ".tsv"):
        raise EncoderError(f"{name} has no known format: choose a file that ends in .csv or .tsv.")
    columns: tuple[int, int, int | None] = (0, 1, None)
    rows: dict[tuple[str, tuple[int, int]], str] = {}
    problems: list[str] = []
    is_first, width = True, 0
    for line, row in csv_rows(data, "\t" if suffix == ".tsv" else delimiter_of(data, lambda row: len(row) > 1)):
        if len(problems) == MOST_PROBLEMS:
            problems.append(f"{line}: this and all later ones are left out, after so many that were.")
            break
        if isinstance(row, csv.Error):
            problems.append(f"{line}: not CSV, {row}.")
            continue
        header = _header(row) if is_first else None
        is_first = False
        if header is not None:
            columns, width = header, len(row)
            continue
        if not any(cell.strip() for cell in row):
            continue
        if len(rows) == most:
            problems.append(f"{line}: this and all later ones are left out; the limit is {most:,}.")
            break
        try:
            width = width or len(row)
            text, label, span = _row(row, columns, characters, width)
            if (text, span) in rows:
                raise ValueError("this text came before" if span == WHOLE else "this word of this text came before")
            rows[text, span] = label
        except ValueError as error:
            problems.append(f"{line}: {error}.")
    counts = Counter(rows.values())
    rare = sorted(label for label, count in counts.items() if count < FEWEST)
    problems += [f"Class “{label}”: {counts[label]} texts, and a class needs {FEWEST}." for label in rare]
    kept = {row: label for row, label in rows.items() if counts[label] >= FEWEST}
    if len(counts) - len(rare) < 2:
        why = f" {problems[0]}" if problems else ""
        raise EncoderError(f"{name} needs two classes with at least {FEWEST} texts each.{why} Add more rows.")
    spans = None if columns[2] is None else tuple(span for _, span in kept)
    return ReadTask(Task(tuple(text for text, _ in kept), tuple(kept.values()), spans, name), tuple(problems))


def _header(row: list[str]) -> tuple[int, int, int | None] | None:
    """The places of text, label and word; None if this row names no columns."""
    names = [cell.strip().lower() for cell in row]

    def place(known: tuple[str, ...]) -> int | None:
        return next((names.index(name) for name in known if name in names), None)

    text, label = place(TEXT_COLUMNS), place(LABEL_COLUMNS)
    return None if text is None or label is None else (text, label, place(WORD_COLUMNS))


def _row(
    row: list[str], columns: tuple[int, int, int | None], characters: int, width: int
) -> tuple[str, str, tuple[int, int]]:
    """Text, label and span. width: columns of the file. ValueError says what is wrong."""
    wanted = [place for place in columns if place is not None]
    if len(row) <= max(wanted):
        raise ValueError(f"columns needed: {max(wanted) + 1}, and this row has {len(row)}")
    if len(row) > width:
        raise ValueError(f"{len(row)} columns, and the file has {width}: put a text with separators in quotes")
    cells = [row[place].strip() for place in wanted]
    if not all(map(is_utf8, cells)):
        raise ValueError("not UTF-8: save the file as UTF-8")
    text, label, *word = cells
    if not text or not label:
        raise ValueError("its text or its label is empty")
    if len(text) > characters:
        raise ValueError(f"{len(text):,} characters, and the limit is {characters:,}")
    if not word:
        return text, label, WHOLE
    found = re.search(rf"(?<!\w){re.escape(word[0])}(?!\w)", text) if word[0] else None
    if found is None:
        raise ValueError(f"its text has no word “{word[0][:40]}”")
    return text, label, found.span()
