"""Integrated gradients of a class: the same numbers by finite differences, their sum, and what cannot be attributed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import torch

from encoder import EncoderError, TextEncoder, classify, similarity
from encoder.classify.class_heads import linear_head
from encoder.model.classifier import ClassifierConfig
from encoder.similarity import of_class
from encoder.similarity.paths import nodes

TEXT = "the cat sat on a mat ."
STEP = 1e-5


def with_head(model: TextEncoder, kind: str, layer: int | None = None, scale: str = "softmax") -> TextEncoder:
    torch.manual_seed(5)
    config = ClassifierConfig(kind, ("a", "b", "c"), pooling="mean", layer=layer, scale=scale)
    head = linear_head(torch.randn(3, model.config.d_model), torch.randn(3), config)
    exact = dataclasses.replace(model, encoder=model.encoder.double())
    return classify.with_head(exact, head)


def log_odds(model: TextEncoder, x: torch.Tensor, label: int, position: int | None) -> float:
    """The head's log-odds for embeddings [1, T, D], by the layers one after the other."""
    head, layers = model.classifier, model.config.n_layers
    upto = layers if head.config.layer is None else head.config.layer
    with torch.no_grad():
        for context in model.encoder.attention_contexts(x, None)[:upto]:
            x = model.encoder.block(context.layer)(x, context)
        if upto == layers and model.encoder.final_norm is not None:
            x = model.encoder.final_norm(x)
        vector = x[0].mean(0) if position is None else x[0, position]
        logits = vector @ head.out.weight.T + head.out.bias
    others = [float(value) for place, value in enumerate(logits) if place != label]
    return float(logits[label]) - float(np.log(np.exp(others).sum()))


@pytest.mark.parametrize(
    ("kind", "layer", "position"), [("sequence", None, None), ("sequence", 1, None), ("token", None, 2)]
)
def test_finite_differences_give_the_same_numbers(
    make_tiny: Callable[..., TextEncoder], kind: str, layer: int | None, position: int | None
):
    model = with_head(make_tiny(), kind, layer)
    source = model.tokenize(TEXT)
    found = similarity.attribute_class(model, source, "b", position)
    pad = [one if special else model.tokenizer.pad_id for one, special in zip(source.ids, source.special, strict=True)]
    with torch.no_grad():
        end, start = (model.encoder.embedding(torch.tensor([ids]), None, None) for ids in (list(source.ids), pad))
    expected = np.zeros(len(source))
    for point, weight in zip(*nodes(found.steps), strict=True):
        x = start + point * (end - start)
        for token in range(len(source)):
            shift = torch.zeros_like(x)
            shift[0, token] = STEP * (end - start)[0, token]
            rise = log_odds(model, x + shift, 1, position) - log_odds(model, x - shift, 1, position)
            expected[token] += weight * rise / (2 * STEP)
    np.testing.assert_allclose(found.values, expected, atol=1e-5)
    assert found.outcome == pytest.approx(log_odds(model, end, 1, position), abs=1e-5)
    assert found.of_reference == pytest.approx(log_odds(model, start, 1, position), abs=1e-5)
    assert abs(found.values.sum() - found.change) == pytest.approx(found.error)
    assert found.error <= max(of_class.TOLERANCE, of_class.TOLERANCE * abs(found.change))
    trace = model.trace(TEXT)
    share = classify.probability(model, trace, "b", position)
    assert share == pytest.approx(1 / (1 + np.exp(-found.outcome)), abs=1e-5)


def test_a_pair_and_the_reference_of_zeros(make_tiny: Callable[..., TextEncoder]):
    model = with_head(make_tiny(), "sequence")
    source = model.tokenize("the cat", "a dog ran")
    for reference in similarity.REFERENCES:
        found = similarity.attribute_class(model, source, "a", reference=reference)
        assert found.values.shape == (len(source),)
        assert found.values.sum() == pytest.approx(found.change, abs=0.05)
    assert similarity.attribute_class(model, source, "a").values[0] == 0, "special tokens are in the reference, too"


def test_what_cannot_be_attributed_is_a_sentence(make_tiny: Callable[..., TextEncoder]):
    plain, model = make_tiny(), with_head(make_tiny(), "token")
    source = model.tokenize(TEXT)
    for attempt, said in (
        (lambda: similarity.attribute_class(plain, source, "a"), "no classification head"),
        (lambda: similarity.attribute_class(model, source, "a"), "tags tokens"),
        (lambda: similarity.attribute_class(model, source, "z", 1), "no class"),
        (lambda: similarity.attribute_class(model, source, "a", 99), "No token 99"),
        (lambda: similarity.attribute_class(model, source, "a", 1, "mean"), "reference="),
    ):
        with pytest.raises(EncoderError, match=said):
            attempt()


def test_work_can_be_closed_and_more_steps_are_tried(
    make_tiny: Callable[..., TextEncoder], monkeypatch: pytest.MonkeyPatch
):
    model = with_head(make_tiny(), "sequence")
    source = model.tokenize(TEXT)
    parts = similarity.iter_attribute_class(model, source, "a")
    assert next(parts) == of_class.FIRST_STEPS
    parts.close()
    monkeypatch.setattr(of_class, "TOLERANCE", 1e-30)
    monkeypatch.setattr(of_class, "MOST_STEPS", 16)
    with pytest.raises(EncoderError, match="16 steps"):
        similarity.attribute_class(model, source, "a")
