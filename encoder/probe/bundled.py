"""The bundled sample of WordNet 3.0: tasks with real labels, and example sentences to search."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd

from encoder.errors import EncoderError
from encoder.probe.tasks import Task

FOLDER = Path(__file__).parent.parent / "data" / "wordnet"
SAMPLE = "sample.parquet"
#: Task -> its title.
TITLES = {
    "word_pos": "Part of speech of a word in its sentence",
    "pos": "Part of speech of a dictionary gloss",
    "lexname": "WordNet's 45 lexicographer files, from a gloss",
}


@cache
def _sample() -> pd.DataFrame:
    return pd.read_parquet(FOLDER / SAMPLE)


@cache
def bundled(name: str) -> Task:
    """A bundled task. Raises EncoderError for an unknown name."""
    if name not in TITLES:
        raise EncoderError(f"There is no task {name!r}: choose one of {', '.join(TITLES)}.")
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
