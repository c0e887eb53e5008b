"""A small corpus with labels, and an atlas of it by a tiny random encoder."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from encoder import TextEncoder, corpus
from encoder.measure.head_measures import head_measures
from tests.engine.conftest import WORDS, make_tiny, minilm, tiny, variant
from tests.load.conftest import one_thread

__all__ = ["make_tiny", "minilm", "one_thread", "variant"]

SETTINGS = corpus.Settings(
    block_texts=16, examples=3, replicates=40, similarity_texts=9, vector_layers=(0, 3), vector_texts=20
)


def sentences(n: int = 70) -> list[str]:
    """Texts of 1 to 12 words; some words occur again, some have several pieces."""
    draw = random.Random(0)
    words = [word for word in WORDS if not word.startswith("##")] + ["unhappy", "happy"]
    return [" ".join(draw.choices(words, k=draw.randint(1, 12))) for _ in range(n)]


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return sentences()


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> corpus.Source:
    path = tmp_path_factory.mktemp("texts") / "texts.jsonl"
    kinds = ("one", "two", None)
    lines = [json.dumps({"text": text, "kind": kinds[place % 3]}) for place, text in enumerate(texts)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return corpus.Source(str(path), labels=("kind",))


@pytest.fixture(scope="session")
def model() -> TextEncoder:
    return tiny()


def built(model: TextEncoder, source: corpus.Source, out: Path, **options) -> corpus.Atlas:
    """The atlas of a build from beginning to end."""
    for _ in corpus.iter_build(model, source, out, options.pop("settings", SETTINGS), **options):
        pass
    return corpus.open_atlas(out)


@pytest.fixture(scope="session")
def measured(model: TextEncoder, texts: list[str]) -> list[dict[str, np.ndarray]]:
    """The measures of the heads in each text by itself."""
    return [head_measures(model.trace(text)) for text in texts]


@pytest.fixture(scope="session")
def atlas(tmp_path_factory: pytest.TempPathFactory, model: TextEncoder, source: corpus.Source) -> corpus.Atlas:
    return built(model, source, tmp_path_factory.mktemp("built") / "atlas")


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of an atlas."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
