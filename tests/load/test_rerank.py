"""A cross-encoder's order of hits against transformers' scores of the same pairs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from encoder import EncoderError, search
from tests.load.reference import inputs_of, sentence


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_hits_are_ordered_by_the_score_of_each_pair(family: str, checkpoint: Callable):
    pair = checkpoint(family, "ForSequenceClassification", n_layers=1, num_labels=1)
    query, texts = sentence(4, seed=1), [sentence(3 + n, seed=n) for n in range(12)]
    places = [3, 1, 11, 0, 5, 7, 8, 2, 9, 10]
    found = search.rerank(pair.ours, query, texts, places)
    with torch.no_grad():
        inputs = inputs_of(pair.ours, [(query, texts[place]) for place in places], family)
        theirs = pair.theirs(**inputs).logits[:, 0]
    for hit in found:
        assert places[hit.before - 1] == hit.place
        assert hit.score == pytest.approx(theirs[hit.before - 1].item(), abs=1e-5)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def test_a_model_that_is_no_cross_encoder_is_a_sentence(checkpoint: Callable):
    for kind, match in (
        ("ForSequenceClassification", "2 classes"),
        ("ForTokenClassification", "tags"),
        ("Model", "no c"),
    ):
        with pytest.raises(EncoderError, match=match):
            search.check_cross_encoder(checkpoint("bert", kind, n_layers=1).ours)
