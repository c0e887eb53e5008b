"""A small task and what MiniLM makes of it."""

from __future__ import annotations

import dataclasses

import pytest

import encoder
from encoder import TextEncoder, probe
from encoder.probe import Features, Task


@pytest.fixture(scope="session")
def minilm() -> TextEncoder:
    return encoder.load("minilm", device="cpu")


@pytest.fixture(scope="session")
def task() -> Task:
    """Forty nouns and forty verbs in sentences."""
    whole = probe.bundled("word_pos")
    places = [
        place
        for label in ("noun", "verb")
        for place in [n for n, found in enumerate(whole.labels) if found == label][:40]
    ]
    assert whole.spans is not None
    return dataclasses.replace(
        whole,
        texts=tuple(whole.texts[place] for place in places),
        labels=tuple(whole.labels[place] for place in places),
        spans=tuple(whole.spans[place] for place in places),
    )


@pytest.fixture(scope="session")
def features(minilm: TextEncoder, task: Task) -> Features:
    return probe.extract(minilm, task)
