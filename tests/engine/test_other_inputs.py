"""Effects and occlusion of images and sounds are those of single runs, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import encoder
from encoder import EncoderError, Sound, classify
from encoder.causal import (
    ClassProbability,
    MaskedWord,
    SentenceVector,
    Similarity,
    TokenVector,
    ablate_each_head,
    knock_out,
    leave_out_each_sublayer,
    occlusion,
    patch,
)
from encoder.causal.variants import run_variants
from encoder.edits import AblateHead, MaskKeys, Noise, Replace, Scale, UniformAttention, Zero
from encoder.inputs import spoken_digits
from encoder.inputs.digits import decode, examples

MODELS = ["digits-pre", "digits-post", "spoken-digits"]


def model_and_inputs(name: str) -> tuple[Any, Any, Any]:
    model = encoder.load(name, device="cpu")
    if name == "spoken-digits":
        heard = spoken_digits.examples()
        return model, heard["seven"].sound, heard["three"].sound
    return model, decode(examples()["3"]), decode(examples()["8"])


@pytest.mark.parametrize("name", MODELS)
def test_rows_of_a_batch_are_single_runs(name: str):
    model, given, other = model_and_inputs(name)
    plain, source = model.trace(given), model.trace(other, request=("pattern",))
    variants = [
        (AblateHead(2, 1),),
        (MaskKeys((3, 7)),),
        (Zero("ffn_out", layer=1), UniformAttention(0, 2)),
        (Replace("after_ffn", source, layer=1, positions=(1, 5)),),
        (Replace("pattern", source),),
        (Noise("embedding", 0.3, seed=5), Scale("v", -1.0)),
    ]
    for indices, outputs in run_variants(model, plain, variants):
        for index, output in zip(indices, outputs, strict=True):
            expected = model.trace(given, edits=variants[index]).output
            torch.testing.assert_close(output, expected, atol=3e-5, rtol=1e-5, msg=f"{variants[index]}")


@pytest.mark.parametrize("name", MODELS)
def test_outcomes_of_a_class_and_of_the_vector(name: str):
    model, given, other = model_and_inputs(name)
    plain = model.trace(given)
    edited = model.trace(given, edits=[AblateHead(3, 0)])
    best = classify.predict(model, plain).best
    change = classify.probability(model, edited, best) - classify.probability(model, plain, best)
    found = ablate_each_head(model, plain, ClassProbability(best))
    assert float(found[3, 0]) == pytest.approx(change, abs=1e-5)
    assert found.shape == (4, 4)
    mixed = [one.output[: 2 if name == "spoken-digits" else 1].mean(dim=0) for one in (plain, edited)]
    cosine = float(torch.cosine_similarity(*mixed, dim=0))
    assert float(ablate_each_head(model, plain, SentenceVector())[3, 0]) == pytest.approx(cosine - 1, abs=1e-5)
    assert leave_out_each_sublayer(model, plain).shape == (2, 4)
    assert knock_out(model, plain, 0, TokenVector(0)).shape == (4, plain.n_tokens)
    source = model.trace(other)
    shares = patch(model, source, plain, Similarity(source))
    assert shares.shape == (4, plain.n_tokens)
    with pytest.raises(EncoderError, match="text"):
        ablate_each_head(model, plain, MaskedWord("cat"))
    with pytest.raises(EncoderError, match="trace"):
        ablate_each_head(model, "a text")


@pytest.mark.parametrize("cover", occlusion.COVERS)
def test_covering_a_patch_is_a_run_of_the_changed_image(cover: occlusion.Cover):
    model, given, _ = model_and_inputs("digits-post")
    plain, outcome = model.trace(given), ClassProbability("3", scale="log_odds")
    *_, found = occlusion.iter_occlude_each(model, given, plain, outcome, cover)
    ink = {"black": 0.0, "grey": 0.5, "mean": float(given.mean())}[cover]
    for part, (row, column) in {0: (0, 0), 6: (1, 2), 15: (3, 3)}.items():
        changed = given.copy()
        changed[2 * row : 2 * row + 2, 2 * column : 2 * column + 2] = ink
        *_, alone = occlusion.iter_covered(model, changed, model.trace(changed), np.zeros((1, 16), bool), outcome)
        assert float(found.values[part]) == pytest.approx(alone.plain - found.plain, abs=2e-4)


def test_covering_a_window_is_silence():
    model, given, _ = model_and_inputs("spoken-digits")
    plain, outcome = model.trace(given), ClassProbability("seven")
    edges = occlusion.windows(given)
    *_, found = occlusion.iter_occlude_each(model, given, plain, outcome)
    assert len(found.values) == len(edges) - 1 > 5
    samples = given.samples.copy()
    samples[round(edges[3] * given.rate) : round(edges[4] * given.rate)] = 0
    changed = classify.probability(model, model.trace(Sound(samples, given.rate)), "seven")
    assert float(found.values[3]) == pytest.approx(changed - found.plain, abs=1e-5)


@pytest.mark.parametrize("name", ["digits-pre", "spoken-digits"])
def test_deletion_curves(name: str):
    model, given, _ = model_and_inputs(name)
    plain = model.trace(given)
    outcome = ClassProbability(classify.predict(model, plain).best)
    n = occlusion.n_parts(model, given)
    *_, alone = occlusion.iter_occlude_each(model, given, plain, outcome, "black")
    orders = {"occlusion": occlusion.largest_first(-alone.values.numpy()), "backwards": tuple(reversed(range(n)))}
    *_, found = occlusion.iter_deletion_curves(model, given, plain, orders, outcome, "black")
    steps = occlusion.counts(n)
    assert found.values.shape == (2 + len(occlusion.SEEDS), len(steps))
    curves = found.values.numpy()
    assert np.allclose(curves[:, 0], 0, atol=1e-5)  # nothing is covered
    assert np.ptp(curves[:, -1]) < 1e-6  # everything is
    assert curves[0, 1] == pytest.approx(float(alone.values.min()), abs=1e-5)
    areas = occlusion.area(curves, steps)
    assert areas[0] < areas[2:].mean()  # covering what matters most first beats chance
    assert occlusion.area(np.ones(3), (0, 1, 4)) == pytest.approx(1)
    with pytest.raises(EncoderError, match="once"):
        list(occlusion.iter_deletion_curves(model, given, plain, {"short": (0, 1)}, outcome))


def test_attention_by_part():
    for name in MODELS[1:]:
        model, given, _ = model_and_inputs(name)
        trace = model.trace(given)
        row = trace.attention(2, 1)[0]
        found = occlusion.by_part(trace, row, given)
        assert len(found) == occlusion.n_parts(model, given)
        inside = row[len(trace.layout.before) :]
        if name == "spoken-digits":  # time steps after the end of the sound belong to no window
            assert 0 < found.sum() <= float(inside.sum()) + 1e-6
        else:
            assert np.allclose(found, inside)


def test_what_needs_a_text_says_so():
    model, given, _ = model_and_inputs("digits-pre")
    plain = model.trace(given)
    with pytest.raises(EncoderError, match=f"{model.name} accepts no text: specify its trace"):
        ablate_each_head(model, "a text")
    for outcome in (Similarity("a text"), MaskedWord("word")):
        with pytest.raises(EncoderError, match="accepts no text: choose another outcome"):
            outcome.on(model, plain)


def test_a_text_has_no_parts():
    minilm = encoder.load("minilm", device="cpu")
    with pytest.raises(EncoderError, match="deletion"):
        occlusion.n_parts(minilm, "a text")
