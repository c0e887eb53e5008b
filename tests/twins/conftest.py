"""A tiny WordNet, and the training input from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from recipes.twins import corpus

WORDS = ["cat", "dog", "boat", "river", "stone", "house", "garden", "letter", "teacher", "song"]
DEEDS = ["sees", "likes", "finds", "follows", "paints"]


@pytest.fixture(scope="session")
def wordnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files in WordNet's format: 500 synsets, each with a definition and an example."""
    folder = tmp_path_factory.mktemp("wordnet")
    lines = ["  1 This is a licence, not a synset | nor is this a gloss"]
    for a in WORDS:
        for deed in DEEDS:
            for b in WORDS:
                lines.append(
                    f"0000{len(lines):04} 03 n 01 x 0 000 | a {a} that {deed} the old {b} every day; "
                    f'"the {a} {deed} a {b} near the water"  '
                )
    (folder / "data.noun").write_text("\n".join(lines) + "\n")
    for name in corpus.FILES[1:]:
        (folder / name).write_text("")
    return folder


@pytest.fixture(scope="session")
def prepared(wordnet: Path, tmp_path_factory: pytest.TempPathFactory) -> corpus.Prepared:
    return corpus.prepare(tmp_path_factory.mktemp("prepared"), wordnet, vocab_size=120)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Such small sums are slower with several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
