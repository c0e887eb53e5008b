"""Texts with a label each, bundled or from a file of two columns, and their control task.

Shapes: N texts.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from encoder.errors import EncoderError, quoted
from encoder.inputs import read as reading

#: Names of the columns next to the text, the first that a table has; without any, the second column is the label.
LABEL_COLUMNS = ("label", "class", "category", "tag")
WORD_COLUMNS = ("word", "token")
#: A class with fewer texts cannot be in every fold.
FEWEST = 5
#: The span of a label that belongs to the whole text.
WHOLE = (-1, -1)
_WORD = re.compile(r"\w+")
#: The bundled sample of WordNet 3.0: tasks with real labels, and example sentences to search.
FOLDER = Path(__file__).parent.parent / "data" / "wordnet"
SAMPLE = "sample.parquet"
#: Task -> its title.
TITLES = {
    "word_pos": "Part of speech of a word in its sentence",
    "pos": "Part of speech of a dictionary gloss",
    "lexname": "WordNet's 45 lexicographer files, from a gloss",
}


@dataclass(frozen=True)
class Task:
    """texts, labels: N each; spans: (start, end) characters of the word that a label belongs to, None: of the text."""

    texts: tuple[str, ...] = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    spans: tuple[tuple[int, int], ...] | None = field(default=None, repr=False)
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
    """A task of a table; problems: a sentence for each of the first rows or classes that were left out; n_left_out: of
    all."""

    task: Task
    problems: tuple[str, ...]
    n_left_out: int = 0


def read_task(given: reading.Given, name: str = "", *, most: int | None = 10_000, characters: int = 2_000) -> ReadTask:
    """What `reading.read` takes, with a text and a label a row, and on request a third column with a word of the text.

    most: rows that are read; characters: of one text. Raises EncoderError as `reading.read`, and for fewer than two
    classes with at least FEWEST texts.
    """
    limits = reading.Limits(texts=most, characters=characters)
    labels: dict[tuple[str, tuple[int, int]], str] = {}
    problems = reading.Problems()
    for row in reading.read(given, name, labels=(LABEL_COLUMNS,), optional=(WORD_COLUMNS,), limits=limits):
        if isinstance(row, reading.BrokenRow):
            problems.add(str(row))
            continue
        label, *words = row.labels
        if not row.text and label is None:
            continue
        try:
            if not row.text or label is None:
                raise ValueError("its text or its label is empty")
            span = _span(row.text, words[0] or "") if words else WHOLE
            if (row.text, span) in labels:
                raise ValueError("this word of this text came before" if words else "this text came before")
            labels[row.text, span] = label
        except ValueError as error:
            problems.add(str(reading.BrokenRow(row.number, str(error), reading.unit_of(given, name))))
    counts = Counter(labels.values())
    rare = sorted(label for label, count in counts.items() if count < FEWEST)
    for label in rare:
        problems.add(f"Class “{label}”: {counts[label]} texts, and a class needs {FEWEST}.")
    kept = {place: label for place, label in labels.items() if counts[label] >= FEWEST}
    called = reading.name_of(given, name)
    if len(counts) - len(rare) < 2:
        why = f" {problems.named[0]}" if problems.named else ""
        raise EncoderError(f"{called} needs two classes with at least {FEWEST} texts each.{why} Add more rows.")
    spans = None if any(span == WHOLE for _, span in kept) else tuple(span for _, span in kept)
    task = Task(tuple(text for text, _ in kept), tuple(kept.values()), spans, called)
    return ReadTask(task, tuple(problems.named), problems.total)


def _span(text: str, word: str) -> tuple[int, int]:
    """Where a whole word begins and ends in a text. ValueError where it is not there."""
    found = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) if word else None
    if found is None:
        raise ValueError(f"its text has no word “{word[:40]}”")
    return found.span()


# --- the bundled sample -----------------------------------------------------------------------------------------------


@cache
def _sample() -> pd.DataFrame:
    return pd.read_parquet(FOLDER / SAMPLE)


@cache
def bundled(name: str) -> Task:
    """A bundled task: "word_pos", "pos" or "lexname". Raises EncoderError for an unknown name."""
    if name not in TITLES:
        raise EncoderError(f"No task {quoted(name)}: choose one of {', '.join(TITLES)}.")
    rows = _sample()
    rows = rows[rows["task"] == name]
    spans = tuple(zip(rows["start"].tolist(), rows["end"].tolist(), strict=True))
    return Task(tuple(rows["text"]), tuple(rows["label"]), None if spans[0][0] < 0 else spans, TITLES[name])


@cache
def examples() -> tuple[str, ...]:
    """WordNet's example sentences of the sample."""
    return _of_examples("text")


@cache
def examples_pos() -> tuple[str, ...]:
    """For each of `examples`: the part of speech of the word that it illustrates, "" where it has several."""
    return _of_examples("label")


def _of_examples(column: str) -> tuple[str, ...]:
    rows = _sample()
    return tuple(rows.loc[rows["task"] == "example", column])
