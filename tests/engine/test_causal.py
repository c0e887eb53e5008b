"""Effects from one batched run are those of single edited runs, for every architecture, outcome and place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from encoder import EncoderError, MLMHead, TextEncoder, causal, measure
from encoder.causal import (
    MaskedWord,
    SentenceVector,
    Similarity,
    TokenVector,
    ablate_each_head,
    as_outcome,
    iter_each_head,
    iter_knock_out,
    iter_patch,
    knock_out,
    knock_out_edits,
    likeliest_word,
    patch,
    rank_correlation,
)
from encoder.causal.variants import run_variants
from encoder.edits import (
    AblateHead,
    Add,
    CausalMask,
    DropPositions,
    MaskKeys,
    Noise,
    Replace,
    Scale,
    SetValue,
    SetWeight,
    Temperature,
    Zero,
)
from encoder.model.hooks import current_visitor
from tests.engine.conftest import VARIANTS, tiny

pytestmark = pytest.mark.sample(3, "another architecture")

CLEAN, CORRUPTED = "the cat sat on the unhappy mat .", "a dog ran to the unhappy bus ."
L, H, T = 3, 5, 12


def with_head() -> TextEncoder:
    """A tiny model with a random masked-word head."""
    model = tiny()
    model.tokenizer.backend.add_special_tokens(["[MASK]"])
    head, generator = MLMHead(model.config), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return TextEncoder(name="tiny", encoder=model.encoder, tokenizer=model.tokenizer, mlm_head=head)


def sentence(model: TextEncoder, trace: Any) -> torch.Tensor:
    return model.pool(trace.output[None], torch.ones(1, T, dtype=torch.bool))[0]


@pytest.mark.sample(3, "another architecture")
@pytest.mark.parametrize("architecture", list(VARIANTS))
def test_rows_are_single_runs(architecture: str):
    model = tiny(**VARIANTS[architecture])
    plain = model.trace(CLEAN)
    variants = [
        (),
        (AblateHead(2, 1),),
        (AblateHead(0, 1), Scale("ffn_out", 0.5, layer=1, positions=(3,))),
        (Zero("attention_out", layer=1),),
        (MaskKeys((3,), layer=1, query=2), MaskKeys((3,), layer=2, query=2)),
        (MaskKeys((3, 4)),),
        (SetWeight(1, 2, 3, 4, 0.9), Temperature(2.0, layer=1)),
        (CausalMask(head=1), SetValue("q", 1.0, layer=1, heads=(1,))),
        (Replace("after_ffn", CORRUPTED, layer=1, positions=(1, 5)),),
        (Replace("embedding", CORRUPTED, positions=(2,)),),
        (Noise("embedding", 0.3, seed=5), Zero("z", layer=2)),
        (Add("output", (1.0,), components=(3,)),),
        (Scale("after_ffn", 1.5),),
        (Scale("v", -1.0),),
    ]
    expected = [model.trace(CLEAN, edits=variant).output for variant in variants]
    for tokens_at_once in (10_000, 5 * T, 1):
        seen = {}
        for indices, outputs in run_variants(model, plain, variants, tokens_at_once):
            assert len(indices) == len(outputs) <= max(1, tokens_at_once // T)
            seen |= dict(zip(indices, outputs, strict=True))
        assert sorted(seen) == list(range(len(variants)))
        for index, variant in enumerate(variants):
            torch.testing.assert_close(seen[index], expected[index], atol=2e-5, rtol=1e-5, msg=f"{variant}")
    assert current_visitor() is None


def test_each_head():
    model = tiny()
    found = ablate_each_head(model, CLEAN)
    assert found.shape == (L, H)
    before = sentence(model, model.trace(CLEAN))
    for layer in range(L):
        for head in range(H):
            edited = sentence(model, model.trace(CLEAN, edits=[AblateHead(layer, head)]))
            expected = float(torch.cosine_similarity(edited, before, dim=0)) - 1
            assert float(found[layer, head]) == pytest.approx(expected, abs=2e-6)
    assert float(found.max()) < 1e-6
    assert float(found.min()) < -1e-4


OUTCOMES = {
    "sentence": SentenceVector(),
    "similarity": Similarity("a big red bus"),
    "token": TokenVector(4),
    "word": MaskedWord("cat"),
    "two words": MaskedWord("cat", "dog"),
    "probability": MaskedWord("cat", scale="probability"),
    "two probabilities": MaskedWord("cat", "dog", "probability"),
}


@pytest.mark.parametrize("name", list(OUTCOMES))
def test_outcomes(name: str):
    model, text = with_head(), "the [MASK] sat on the unhappy mat ."
    found = ablate_each_head(model, text, OUTCOMES[name])
    place = model.trace(text).tokens.index("[MASK]")

    def number(trace: Any) -> float:
        if name in ("sentence", "similarity"):
            plain = sentence(model, model.trace(text))
            other = plain if name == "sentence" else model.embed("a big red bus")[0]
            return float(torch.cosine_similarity(sentence(model, trace), other, dim=0))
        if name == "token":
            return float(torch.cosine_similarity(trace.output[4], model.trace(text).output[4], dim=0))
        (prediction,) = model.predict_masked(trace, k=model.config.vocab_size)
        assert prediction.position == place
        p = dict(zip(prediction.tokens, prediction.probabilities, strict=True))
        return {
            "word": np.log(p["cat"] / (1 - p["cat"])),
            "two words": np.log(p["cat"] / p["dog"]),
            "probability": p["cat"],
            "two probabilities": p["cat"] - p["dog"],
        }[name]

    before = number(model.trace(text))
    for layer, head in ((0, 0), (1, 3), (2, 4)):
        expected = number(model.trace(text, edits=[AblateHead(layer, head)])) - before
        assert float(found[layer, head]) == pytest.approx(expected, abs=2e-5)
    assert float(found.abs().max()) > 1e-4
    last = list(iter_each_head(model, text, OUTCOMES[name]))[-1]
    assert last.plain == pytest.approx(before, abs=1e-5)


@pytest.mark.parametrize("where", ["residual", "attention_out", "ffn_out", "head"])
def test_patch(where: str):
    model = tiny()
    found = patch(model, CLEAN, CORRUPTED, TokenVector(3), where)
    assert found.shape == (L, H if where == "head" else T)
    base = model.trace(CORRUPTED)
    for layer, place in ((0, 3), (1, 0), (2, 4)):
        if where == "head":
            edit = Replace("z", CLEAN, layer=layer, heads=(place,))
        elif where == "residual":
            point = {"layer": layer - 1} if layer else {}
            edit = Replace("after_ffn" if layer else "embedding", CLEAN, positions=(place,), **point)
        else:
            edit = Replace(where, CLEAN, layer=layer, positions=(place,))
        output = model.trace(CORRUPTED, edits=[edit]).output[3]
        expected = float(torch.cosine_similarity(output, base.output[3], dim=0)) - 1
        assert float(found[layer, place]) == pytest.approx(expected, abs=2e-6)
    assert float(patch(model, CLEAN, CLEAN, TokenVector(3), where).abs().max()) < 1e-6


def test_knock_out():
    model = tiny()
    found = knock_out(model, CLEAN, 3, TokenVector(3), window=2)
    assert found.shape == (L, T)
    base = model.trace(CLEAN)
    for layer, layers in ((0, (0, 1)), (1, (1, 2)), (2, (2,))):
        edits = [MaskKeys((6,), layer=one, query=3) for one in layers]
        assert knock_out_edits(L, layer, 3, 6, window=2) == tuple(edits)
        output = model.trace(CLEAN, edits=edits).output[3]
        expected = float(torch.cosine_similarity(output, base.output[3], dim=0)) - 1
        assert float(found[layer, 6]) == pytest.approx(expected, abs=2e-6)


def test_progress_and_closing(monkeypatch: pytest.MonkeyPatch):
    from encoder.causal import effects

    run = run_variants
    monkeypatch.setattr(effects, "run_variants", lambda *given: run(*given, tokens_at_once=4 * T))
    model = tiny()
    steps = list(iter_each_head(model, CLEAN))
    assert [step.done for step in steps] == [4, 8, 12, 15]
    assert [int(step.values.isnan().sum()) for step in steps] == [11, 7, 3, 0]
    assert {step.total for step in steps} == {15}
    torch.testing.assert_close(steps[-1].values[0, :4], steps[0].values[0, :4])
    for make in (iter_each_head(model, CLEAN), iter_patch(model, CLEAN, CORRUPTED), iter_knock_out(model, CLEAN, 1)):
        next(make)
        assert current_visitor() is None
        make.close()


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (lambda m: ablate_each_head(m, CLEAN, "nothing"), "not an outcome"),
        (lambda m: ablate_each_head(m, CLEAN, TokenVector(12)), "token 12.*0 to 11"),
        (lambda m: ablate_each_head(tiny(), CLEAN, MaskedWord("cat")), "no masked-word head"),
        (lambda m: ablate_each_head(m, CLEAN, MaskedWord("cat")), r"no \[MASK\]"),
        (lambda m: ablate_each_head(m, "a [MASK]", MaskedWord("unhappy")), "3 tokens"),
        (lambda m: ablate_each_head(m, "a [MASK]", MaskedWord(" ")), "empty"),
        (lambda m: ablate_each_head(m, "a [MASK]", MaskedWord("zebra")), "not in the vocabulary"),
        (lambda m: ablate_each_head(m, "a [MASK]", MaskedWord("cat", scale="odds")), "odds"),
        (lambda m: patch(m, CLEAN, "a dog"), "12 and 4 tokens"),
        (lambda m: patch(m, CLEAN, CORRUPTED, where="z"), "residual, attention_out, ffn_out, head"),
        (lambda m: knock_out(m, CLEAN, 12), "query 12.*0 to 11"),
        (lambda m: knock_out(m, CLEAN, 1, window=0), "1 layer or more"),
        (lambda m: list(run_variants(m, m.trace(CLEAN), [(AblateHead(3, 0),)])), "0 to 2"),
        (lambda m: list(run_variants(m, m.trace(CLEAN), [(DropPositions(),)])), "run of its own"),
        (lambda m: list(run_variants(m, m.trace(CLEAN, edits=[AblateHead(0, 0)]), [()])), "without edits"),
    ],
)
def test_errors(call: Any, wrong: str):
    with pytest.raises(EncoderError, match=wrong):
        call(with_head())


def test_the_likeliest_word_is_one_that_can_be_typed():
    model = with_head()
    trace = model.trace("a [MASK] sat on the mat")
    (first,) = model.predict_masked(trace, k=20)
    words = [word for word in first.tokens if not word.startswith(("##", "["))]
    assert likeliest_word(model, trace) == words[0]
    assert likeliest_word(model, model.trace("a cat")) == ""
    assert likeliest_word(tiny(), trace) == ""


def test_an_outcome_by_name():
    assert as_outcome("sentence") == SentenceVector()
    assert as_outcome(TokenVector(1)) == TokenVector(1)


def test_rank_correlation():
    x = np.array([0.1, 0.5, 0.2, 0.9, 0.3, 0.4])
    assert rank_correlation(x, x**3).value == pytest.approx(1.0)
    assert rank_correlation(x, -x).value == pytest.approx(-1.0)
    some = rank_correlation(x, np.array([1.0, 3.0, 2.0, 2.0, 5.0, 4.0]))
    assert some.value == pytest.approx(0.31887407, abs=1e-6)  # scipy.stats.spearmanr
    assert some.low < some.value < some.high
    assert np.isnan(rank_correlation(x, np.ones(6)).value)


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (lambda model: causal.patch(model, "a cat", "a dog", where="mlp"), "residual, attention_out, ffn_out, head"),
        (lambda model: causal.ablate_each_head(model, ["a cat", "a dog"]), "encoder.corpus.over"),
        (lambda model: measure.heads("a cat"), "model.trace"),
        (lambda model: measure.norm_weighted(["a cat"], 0, 0), "model.trace"),
    ],
    ids=range(4),
)
def test_what_is_not_a_text_or_a_trace_has_a_remedy(call: Callable[[TextEncoder], object], remedy: str):
    with pytest.raises(EncoderError, match=remedy):
        call(tiny())
