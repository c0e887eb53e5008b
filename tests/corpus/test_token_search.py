"""Tokens of an atlas that are near to a vector, and those that a head treats in some way."""

from __future__ import annotations

import numpy as np
import pytest

from encoder import EncoderError, corpus
from encoder.errors import AtlasError


@pytest.fixture(scope="module")
def tokens(atlas) -> corpus.Tokens:
    return corpus.load_tokens(atlas, 3)


def test_a_token_of_the_corpus_is_nearest_to_itself(atlas, tokens, model, texts):
    text = int(tokens.texts[7])
    trace = model.trace(texts[text])
    position = int(tokens.positions[7])
    found = tokens.nearest(trace.output[position].numpy(), 5)
    assert found[0].token == trace.tokens[position]
    assert found[0].cosine == pytest.approx(1.0, abs=1e-4)
    assert [hit.cosine for hit in found] == sorted((hit.cosine for hit in found), reverse=True)
    assert "[CLS]" not in tokens.collection.texts


def test_a_head_chooses_among_the_tokens(tokens, model, texts):
    where = corpus.Behaves(1, 2, "previous", 0.3)
    chosen = np.flatnonzero(tokens.behaving(where))
    assert 0 < len(chosen) < len(tokens.texts)
    for place in range(len(tokens.texts)):
        position = int(tokens.positions[place])
        weight = float(model.trace(texts[tokens.texts[place]]).attention(1, 2)[position, position - 1])
        if abs(weight - 0.3) > 0.5 / 255:
            assert (weight > 0.3) == (place in chosen)
    found = tokens.nearest(tokens.collection.vectors[0], 4, where)
    assert {hit.place for hit in found} <= set(chosen.tolist())


def test_fewer_tokens_are_loaded_on_request(atlas):
    few = corpus.load_tokens(atlas, 3, most=10)
    assert 0 < len(few.texts) < len(corpus.load_tokens(atlas, 3).texts)


def test_what_is_not_there_is_said(atlas, tokens):
    with pytest.raises(AtlasError, match="layer 2"):
        corpus.load_tokens(atlas, 2)
    for where in (corpus.Behaves(9, 0, "previous", 0.5), corpus.Behaves(0, 0, "dog", 0.5)):
        with pytest.raises(AtlasError, match="choose"):
            tokens.nearest(tokens.collection.vectors[0], 3, where)
    with pytest.raises(EncoderError):
        tokens.nearest(np.ones(3), 3)
