"""What cannot be attributed, each with a sentence."""

import dataclasses
from collections.abc import Callable

import pytest
import torch

from encoder import EncoderError, TextEncoder, similarity
from encoder.model.pooling import Dense, DenseConfig
from encoder.similarity import attribution

TINY_A, TINY_B = "the cat sat on a mat .", "big dog ran to the bank"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"layer": 4}, "choose 0 to 3"),
        ({"layer": -1}, "choose 0 to 3"),
        ({"layer": True}, "choose 0 to 3"),
        ({"steps": 0}, "from 1 on"),
        ({"steps": "many"}, "from 1 on"),
        ({"reference": "mask"}, "pad, zero"),
    ],
)
def test_wrong_arguments(make_tiny: Callable[..., TextEncoder], options: dict, said: str):
    with pytest.raises(EncoderError, match=said):
        similarity.attribute(make_tiny(), TINY_A, TINY_B, **options)


def test_models_that_cannot_be_attributed(make_tiny: Callable[..., TextEncoder], monkeypatch: pytest.MonkeyPatch):
    model = make_tiny()
    with monkeypatch.context() as patch:
        patch.setattr(model.tokenizer, "pad_id", None)
        with pytest.raises(EncoderError, match="'zero'"):
            similarity.attribute(model, TINY_A, TINY_B)
        assert similarity.attribute(model, TINY_A, TINY_B, 3).is_exact
    with monkeypatch.context() as patch:
        patch.setattr(attribution, "LONGEST", 8)
        with pytest.raises(EncoderError, match="9 tokens"):
            similarity.attribute(model, TINY_A, TINY_B)
    with monkeypatch.context() as patch:
        patch.setattr(attribution, "FIRST_STEPS", 1)
        patch.setattr(attribution, "MOST_STEPS", 2)
        with pytest.raises(EncoderError, match="after 2 steps"):
            similarity.attribute(model, TINY_A, TINY_B)
    model.encoder.train()
    with pytest.raises(EncoderError, match="training"):
        similarity.attribute(model, TINY_A, TINY_B)
    half = make_tiny()
    half.encoder.bfloat16()
    with pytest.raises(EncoderError, match="float32"):
        similarity.attribute(half, TINY_A, TINY_B)


def test_a_reference_without_direction(make_tiny: Callable[..., TextEncoder]):
    """At the output a reference of zeros pools to zero, which has no cosine."""
    dense = Dense(DenseConfig(16, 9, activation="tanh", bias=False))
    model = dataclasses.replace(make_tiny(), dense=(dense,))
    with pytest.raises(EncoderError, match="reference"):
        similarity.attribute(model, TINY_A, TINY_B, 3, reference="zero")


def test_broken_weights(make_tiny: Callable[..., TextEncoder]):
    model = make_tiny()
    with torch.no_grad():
        model.encoder.block(1).ffn.w_out.weight.fill_(float("nan"))
    for layer in (0, 3):
        with pytest.raises(EncoderError):
            similarity.attribute(model, TINY_A, TINY_B, layer)
