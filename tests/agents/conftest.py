"""Files that questions of agents name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import encoder
from tests.agents.asking import TEXTS


@pytest.fixture(scope="session")
def vectors_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The texts in two formats, and the vectors that four programs give them with twin-pre."""
    root = tmp_path_factory.mktemp("vectors")
    model = encoder.load("twin-pre", device="cpu")
    (root / "texts.json").write_text(json.dumps(TEXTS), encoding="utf-8")
    (root / "texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    right = model.embed(TEXTS).numpy()
    np.save(root / "right.npy", right)
    np.save(root / "vectors.npy", np.stack([model.trace(text).output[0].numpy() for text in TEXTS]))
    np.save(root / "norm1.npy", right / np.linalg.norm(right, axis=1, keepdims=True))
    np.save(root / "random.npy", np.random.default_rng(0).normal(size=right.shape))
    return root
