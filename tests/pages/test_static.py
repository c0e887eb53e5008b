"""Pages with a model that has no layers: what shows its vectors works, and any other page says why it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

import encoder
from encoder import similarity
from encoder.checkpoints.sentence_steps import static_config
from encoder.encoders.text import build
from tests.pages.apps import assert_well, sentences, visit, words

TEXT, OTHER = "A cat sat.", "A kitten rested."
LAYERED = ("model", "heads", "head_types", "contribution", "positions", "norms", "feed_forward", "interventions",
           "pre_post", "probes", "diagnose")  # fmt: skip


@pytest.fixture
def static(minilm: encoder.TextEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> encoder.TextEncoder:
    """A random table for the words of a bundled model, in a folder that a visitor may open."""
    tokenizer = minilm.tokenizer.without_ends()
    made = build(static_config(tokenizer.vocab_size, 16), tokenizer)
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(tmp_path))
    return encoder.load(encoder.save(made, tmp_path / "static"), device="cpu")


@pytest.mark.parametrize("page", LAYERED)
def test_a_page_of_layers_says_that_there_are_none(page: str, static: encoder.TextEncoder):
    app = visit(page, model="other", source="static", text=TEXT)
    assert not app.exception
    assert "has no layers" in sentences(app)


def test_a_score_is_split_exactly(static: encoder.TextEncoder):
    app = visit("texts", model="other", source="static", text=TEXT, similar_to=OTHER, explain="pairs")
    assert_well(app)
    found = similarity.attribute(static, TEXT, OTHER, layer=0)
    assert found.is_exact
    why = encoder.explain_score(static, TEXT, OTHER)
    assert (why.score, why.pairs.sum()) == pytest.approx((found.cosine, found.cosine), abs=1e-6)
    assert f"{abs(found.cosine):.4f}" in words(app)


@pytest.mark.parametrize("page", ["texts", "predict"])
def test_pages_of_vectors_open(page: str, static: encoder.TextEncoder):
    app = visit(page, model="other", source="static", text=TEXT)
    assert_well(app)
    assert "has no layers" not in sentences(app)
