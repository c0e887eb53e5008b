"""The bundled atlases: of the models that are shipped, of WordNet's sentences, and small."""

from __future__ import annotations

import numpy as np
import pytest

import encoder
from encoder import corpus, probe
from encoder.corpus.atlas import FOLDER
from encoder.measure.head_measures import head_measures

MODELS = ["minilm", "twin-pre", "twin-post"]


def test_every_bundled_text_model_has_one_and_they_are_small():
    assert list(corpus.bundled_atlases()) == MODELS
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 5_000_000


@pytest.mark.parametrize("name", MODELS)
def test_a_bundled_atlas_belongs_to_the_model_that_is_shipped(name):
    atlas = corpus.open_atlas(corpus.bundled_atlases()[name])
    atlas.verify()
    model = encoder.load(name, device="cpu")
    assert isinstance(model, encoder.TextEncoder)
    assert atlas.model_sha256 == corpus.model_about(model)["sha256"]
    assert atlas.n_texts == 2_000
    assert atlas.texts([7, 1_999]) == {7: probe.examples()[7], 1_999: probe.examples()[1_999]}
    assert len(corpus.load_tokens(atlas, model.config.n_layers)) > 1_500
    example = atlas.examples(1, 2, "previous")[0]
    measured = head_measures(model.trace(example.sentence))["previous"][1, 2]
    assert example.value == pytest.approx(measured, abs=1e-4)
    assert np.all(atlas.array("previous", "low") <= atlas.array("previous", "high"))


def test_bundled_texts_have_the_part_of_speech_of_the_word_that_they_illustrate():
    atlas = corpus.open_atlas(corpus.bundled_atlases()["twin-post"])
    assert atlas.labels == {corpus.POS: ("adjective", "adverb", "noun", "verb")}
    rows = atlas.by_label(corpus.POS, "previous")
    labelled = probe.examples_pos()[: atlas.n_texts]
    for (layer, head), some in rows.groupby(["layer", "head"]):
        assert dict(zip(some["value"], some["n"], strict=True)) == {pos: labelled.count(pos) for pos in set(labelled)}
        whole = np.average(some["mean"], weights=some["n"])
        assert whole == pytest.approx(atlas.array("previous")[layer, head], abs=1e-9)
