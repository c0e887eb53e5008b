"""UMAP in a process of its own: with a stand-in for the library, its failures, and the real one if installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from encoder import EncoderError, search
from encoder.search import neighbour_map
from encoder.trace import gradual

STAND_IN = """
import time
class UMAP:
    def __init__(self, n_neighbors, metric, random_state):
        assert (n_neighbors, metric, random_state) == ({neighbours}, "cosine", 0)
    def fit_transform(self, vectors):
        {work}
        return vectors[:, :2].astype("float64")
"""


def collection(n_texts: int) -> search.Collection:
    vectors = np.random.default_rng(0).normal(size=(n_texts, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return search.Collection(tuple(map(str, range(n_texts))), vectors, "any")


def points_of(found: search.Collection) -> np.ndarray:
    return gradual.result(search.iter_umap(found))


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def write(work: str, neighbours: int = 15) -> None:
        (tmp_path / "umap.py").write_text(STAND_IN.format(work=work, neighbours=neighbours))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    return write


def test_vectors_go_to_the_process_and_points_come_back(stand_in, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(neighbour_map, "PAUSE", 0.01)
    stand_in("time.sleep(0.2)")
    found = collection(9_000)  # more bytes than a pipe holds, both ways
    np.testing.assert_array_equal(points_of(found), found.vectors[:, :2])
    stand_in("pass", neighbours=4)
    assert points_of(collection(5)).shape == (5, 2)


def test_a_closed_map_ends_its_process(stand_in, monkeypatch: pytest.MonkeyPatch):
    stand_in("time.sleep(600)")
    monkeypatch.setattr(neighbour_map, "PAUSE", 0.05)
    work = search.iter_umap(collection(20))
    assert next(work) < next(work)
    work.close()  # waits for the process


def test_failures_are_sentences(stand_in, monkeypatch: pytest.MonkeyPatch):
    stand_in("raise ValueError('no neighbours')")
    with pytest.raises(EncoderError, match="no neighbours"):
        points_of(collection(20))
    with pytest.raises(EncoderError, match="there are 3"):
        points_of(collection(3))
    monkeypatch.setattr(neighbour_map, "umap_is_installed", lambda: False)
    with pytest.raises(EncoderError, match="pip install"):
        points_of(collection(20))


@pytest.mark.slow
def test_the_real_umap_keeps_groups_apart():
    pytest.importorskip("umap", reason="the extra “umap” is not installed")
    draw = np.random.default_rng(0)
    centres = draw.normal(size=(3, 16))
    vectors = (centres[np.arange(90) % 3] + 0.1 * draw.normal(size=(90, 16))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    points = points_of(search.Collection(tuple(map(str, range(90))), vectors, "any"))
    means = np.stack([points[group::3].mean(axis=0) for group in range(3)])
    spread = max(np.linalg.norm(points[group::3] - means[group], axis=1).max() for group in range(3))
    assert spread < min(np.linalg.norm(means[a] - means[b]) for a, b in ((0, 1), (0, 2), (1, 2)))
