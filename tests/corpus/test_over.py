"""Numbers of each text over many texts: the means of a plain loop, groups, and a run that goes on."""

from __future__ import annotations

import dataclasses
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

import encoder
from encoder import EncoderError, TextEncoder, causal, corpus, measure
from encoder.corpus.plan import Settings

SETTINGS = Settings(block_texts=4, replicates=50)
TEXTS = [f"the {noun} {verb}" for noun in ("cat", "dog", "mat") for verb in ("sat", "ran", "the cat")]


def entropy(model: TextEncoder, text: str) -> np.ndarray:
    return measure.heads(model.trace(text))["entropy"]


def test_means_are_those_of_a_loop(model):
    given = [(text, "cat" if "cat" in text else None) for text in TEXTS]
    source = corpus.Source([{"text": text, "noun": noun} for text, noun in given], labels=("noun",))
    found = corpus.over(model, source, entropy, settings=SETTINGS)
    single = np.stack([entropy(model, text) for text in TEXTS])
    np.testing.assert_allclose(found.mean, single.mean(0))
    assert (found.low <= found.mean).all()
    assert (found.mean <= found.high).all()
    assert (found.low < found.high).any()
    cats = found.by("noun")["cat"]
    np.testing.assert_allclose(cats.mean, single[["cat" in text for text in TEXTS]].mean(0))
    table = found.to_pandas()
    assert table["mean"].to_numpy() == pytest.approx(single.mean(0).ravel())
    with pytest.raises(EncoderError, match="No labels"):
        found.by("verb")


def test_effects_and_gradients_are_such_numbers(model):
    effects = corpus.over(model, TEXTS[:3], causal.ablate_each_head, settings=SETTINGS)
    assert effects.mean.shape == (model.config.n_layers, model.config.n_heads)
    outcome = causal.Similarity("a dog")
    flow = corpus.over(model, TEXTS[:2], lambda model, text: model.trace(text).gradients(outcome).q.norm(dim=(-1, -2)))
    assert flow.mean.shape == effects.mean.shape


def test_a_run_goes_on_and_is_opened_again(model, tmp_path: Path):
    calls: list[str] = []

    def once(model: TextEncoder, text: str) -> np.ndarray:
        calls.append(text)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return entropy(model, text)

    out = tmp_path / "entropies"
    with pytest.raises(KeyboardInterrupt):
        corpus.over(model, TEXTS, once, out, settings=SETTINGS, seconds=0)
    found = corpus.over(model, TEXTS, once, out, settings=SETTINGS, seconds=0)
    assert len(calls) == 6 + len(TEXTS) - 4, "the first block of 4 is not computed again"
    again = corpus.over(model, TEXTS, once, str(out), settings=SETTINGS)
    assert len(calls) == 6 + len(TEXTS) - 4
    assert np.array_equal(found.mean, again.mean)
    with pytest.raises(EncoderError, match="other"):
        corpus.over(model, TEXTS, entropy, out, settings=SETTINGS)


def test_pairs_of_texts_are_patched(model, tmp_path: Path):
    pairs = [("the cat sat", "the dog sat"), ("the dog ran", "the cat ran"), ("the mat", "")]
    source = corpus.Source(pairs, pair="corrupted")
    found = corpus.over(model, source, causal.patch, tmp_path / "patched", settings=SETTINGS)
    single = np.stack([causal.patch(model, *pair).numpy() for pair in pairs[:2]])
    np.testing.assert_allclose(found.mean, single.mean(0), atol=1e-6)
    again = corpus.over(model, source, causal.patch, tmp_path / "patched", settings=SETTINGS)
    assert np.array_equal(found.values, again.values)
    file = tmp_path / "pairs.csv"
    file.write_text(
        "clean,corrupted,noun\nthe cat sat,the dog sat,cat\nthe dog sat,the cat sat,dog\n", encoding="utf-8"
    )
    of_file = corpus.Source(file, "clean", ("noun",), pair="corrupted")
    heads = corpus.over(model, of_file, partial(causal.patch, where="head"), settings=SETTINGS)
    assert heads.mean.shape == (model.config.n_layers, model.config.n_heads)
    np.testing.assert_allclose(heads.by("noun")["cat"].mean, causal.patch(model, *pairs[0], where="head"), atol=1e-6)


@pytest.mark.slow("starts Ray")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray's own
@pytest.mark.skipif(find_spec("ray") is None, reason="the extra “corpus” is not installed")
def test_workers_give_the_same_numbers(tmp_path: Path):
    model = encoder.load("twin-pre", device="cpu")
    threads, before = 1, torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        source = corpus.Source([("a cat sat", "a dog sat"), ("the dog ran", "the cat ran")] * 5, pair="corrupted")
        cluster = corpus.Cluster("twin-pre", 2, threads)
        settings = dataclasses.replace(SETTINGS, block_texts=3)
        there = corpus.over(model, source, causal.patch, tmp_path / "there", cluster=cluster, settings=settings)
        here = corpus.over(model, source, causal.patch, settings=settings)
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(there.values, here.values)
    assert np.array_equal(there.low, here.low)


def test_a_text_that_fails_is_named(model):
    def fails(model: TextEncoder, text: str) -> float:
        if "dog" in text:
            raise EncoderError("No dogs here: choose a cat.")
        return len(text)

    found = corpus.over(model, [*TEXTS, " "], fails, settings=dataclasses.replace(SETTINGS, block_texts=3))
    assert len(found.values) == sum("dog" not in text for text in TEXTS)
    assert set(found.failed) == {place for place, text in enumerate(TEXTS) if "dog" in text}
    with pytest.raises(EncoderError, match="No text has numbers"):
        corpus.over(model, ["a dog"], fails)
    with pytest.raises(EncoderError, match="another shape"):
        corpus.over(model, TEXTS[:3], lambda model, text: np.zeros(len(text)))


def test_a_folder_of_somebody_else_is_refused(model, tmp_path):
    (tmp_path / "texts.parquet").write_text("mine")
    with pytest.raises(EncoderError, match="they stay"):
        corpus.over(model, ["a cat"], lambda model, text: [1.0], out=tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
    empty = tmp_path / "empty"
    with pytest.raises(EncoderError):
        corpus.over(model, ["", " "], lambda model, text: [1.0], out=empty)
    assert not empty.exists()
