"""Every family on random checkpoints: as transformers in float64 and float32, as the numpy reference, with padding."""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import encoder
from docs import parity
from encoder import explain
from encoder.checkpoints.families import FAMILIES, JOINTS
from encoder.checkpoints.measured_parity import measured
from encoder.errors import LoadError
from encoder.similarity import derivative
from tests.load import every_family
from tests.load.every_family import ALL, IMAGES, SOUNDS, TEXTS, VIDEOS, differences, ids_of, numbers_of

#: Their tables were added together when they were loaded, so that only our own layout holds them.
SUMMED = {"ernie, tasks"}
#: Whose decoders are not read; Marian begins with a token that the vocabulary of 99 has not.
ENCODER_DECODERS = {"t5gemma", "marian"}


def kind(name: str) -> str:
    """The model_type of a case, as the registry has it."""
    return ALL[name].model_type


def representatives() -> set[str]:
    """The model_types of a few families that have every mechanism of the registry between them."""
    rows, chosen = measured().rows, set()
    missing = {mechanism for row in rows for mechanism in row.mechanisms}
    while missing:
        best = max(rows, key=lambda row: len(missing & {*row.mechanisms}))
        missing -= {*best.mechanisms}
        chosen.add(best.model_type)
    return chosen


def each(names: Iterable[str]) -> pytest.MarkDecorator:
    """A test of each case; the fast tier has those of the representatives."""
    chosen, slow = representatives(), pytest.mark.slow("its mechanisms are those of families in the fast tier")
    cases = [name if kind(name) in chosen else pytest.param(name, marks=slow) for name in names]
    return pytest.mark.parametrize("name", cases)


each_case, each_text = each(ALL), each(TEXTS)


@functools.cache
def opened(name: str) -> tuple[Any, Any]:
    """The reference and our model of its files, made once for all tests, which leave them as they are."""
    return every_family.opened(ALL[name])


@each_case
def test_float64(name: str):
    assert differences(ALL[name], torch.float64, opened(name)).largest <= 1e-10


@each_case
def test_float32(name: str):
    assert differences(ALL[name], torch.float32, opened(name)).largest <= 1e-5


@each_case
def test_the_registry_names_every_mechanism(name: str):
    (row,) = (one for one in measured().rows if one.model_type == kind(name))
    assert set(parity.mechanisms(opened(name)[1].config)) <= set(row.mechanisms)


def text_of(length: int) -> str:
    return " ".join(f"w{one}" for one in ids_of(length, length))


def trace_of(model: Any, length: int) -> encoder.Trace:
    """A text of so many words; an image or a video as it is."""
    if model.takes == "text":
        return model.trace(text_of(length))
    if model.takes == "image":
        return model.trace_image(every_family.PIXELS[0])
    return model.trace_pixels(every_family.FRAMES[0, : model.patches.frames])


each_checked = each({**TEXTS, **IMAGES, **VIDEOS})


@each_checked
def test_the_numpy_reference_agrees(name: str):
    trace = trace_of(opened(name)[1], 20)
    steps = explain.chain(trace, np.float64)
    scale = max(float(np.abs(value).max()) for value in steps.values.values())
    assert steps.largest <= 1e-5 * max(1.0, scale)


@each_text
def test_a_text_padded_by_another_is_itself(name: str):
    model = opened(name)[1]
    short, long = text_of(6), text_of(30)
    batched, alone = model.trace_batch([short, long])[0], model.trace(short)
    torch.testing.assert_close(batched.output[: alone.n_tokens], alone.output, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(
        batched.layer_attention(1)[:, : alone.n_tokens, : alone.n_tokens], alone.layer_attention(1), atol=1e-5, rtol=0
    )


@each({**IMAGES, **VIDEOS, **SOUNDS})
def test_a_model_of_other_inputs_leaves_in_its_own_layout(name: str, tmp_path: Path):
    case = ALL[name]
    made, model = opened(name)
    folder = encoder.save(model, tmp_path / "saved", layout="huggingface")
    theirs = case.encode(type(made).from_pretrained(folder, attn_implementation="eager").eval())
    output, maps, _ = every_family._of_signal(case, model, theirs, torch.float32)
    assert max(output, maps) <= 1e-5


@each_text
def test_a_model_that_is_saved_is_the_same(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    model = opened(name)[1]
    with caplog.at_level(logging.WARNING, "encoder"):
        folder = encoder.save(model, tmp_path / "saved", layout="encoderscope" if name in SUMMED else "huggingface")
    assert ("decoder" in caplog.text) == (name in ENCODER_DECODERS)
    again = encoder.load(folder, device="cpu")
    assert again.config == model.config
    text = text_of(9)
    torch.testing.assert_close(again.trace(text).output, model.trace(text).output, atol=0, rtol=0)


@each_checked
def test_every_step_is_explained(name: str):
    """The steps of the forward pass, next to the reference."""
    trace = trace_of(opened(name)[1], 8)
    reference = explain.Recomputation(trace)
    place = explain.Place(layer=1, head=min(4, trace.config.n_heads - 1), query=6, key=3, component=5, neuron=7)
    steps = [explain.projection(trace, place, which) for which in "qkv"]
    steps += [explain.score(trace, place), explain.softmax(trace, place), explain.weighted_sum(trace, place)]
    score = explain.score(trace, place)
    assert score.value == pytest.approx(float(trace.scores(1, place.head)[6, 3]), abs=1e-4)
    steps += [explain.output_projection(trace, place)]
    steps += [explain.feed_forward(trace, place, part) for part in trace.config.sublayers if part != "attention"]
    steps += [explain.add_norm(trace, place, part) for part in trace.config.sublayers]
    for step in steps:
        for check in step.check(reference):
            assert check.agrees, f"{type(step).__name__}: {check.name} differs by {check.relative:.1e}"


def test_every_family_of_text_is_here_or_in_the_older_tests():

    from tests.load import reference

    kinds = {kind(name) for name in ALL}
    older = {getattr(transformers, f"{one.name}Config").model_type for one in reference.FAMILIES.values()}
    texts = {name for name, family in FAMILIES.items() if not family.images and not family.sounds}
    assert texts - kinds - older == {f"{pair}_text_model" for pair in JOINTS}  # in test_joint_families


def test_a_difference_would_show():
    """A test of the tests: a wrong window, base or scale is far above the limits."""
    case = TEXTS["qwen2"]
    wrong = every_family.Case(case.title, case.kind, {**case.fields, "sliding_window": 8})
    with numbers_of(torch.float64):
        assert case.build().config.sliding_window != wrong.build().config.sliding_window
    narrow, wide = (one.make() for one in (case, wrong))
    ids = torch.tensor([ids_of(30, 1)])
    with torch.no_grad():
        assert float((narrow(ids).last_hidden_state - wide(ids).last_hidden_state).abs().max()) > 1e-3


@pytest.mark.parametrize("name", ["qwen3", "llama, linear"])
def test_a_decoder_that_attends_in_both_directions(name: str, monkeypatch: pytest.MonkeyPatch):
    """`is_causal`, which config.json of embedding models has and transformers' masks follow."""
    case = dataclasses.replace(ALL[name], fields={**ALL[name].fields, "is_causal": False})
    monkeypatch.setitem(TEXTS, name, case)
    both = every_family.opened(case)
    assert not both[1].config.causal
    assert differences(case, torch.float64, both).largest <= 1e-10


@pytest.mark.parametrize(("name", "is_causal"), [("mistral", False), ("bloom", False), ("bert", True)])
def test_another_mask_than_the_models_own_is_refused(name: str, is_causal: bool):
    case = ALL[name] if name in ALL else every_family.Case("BERT", "Bert", {**every_family.SIZES})
    with pytest.raises(LoadError, match="is_causal"):
        every_family.opened(dataclasses.replace(case, fields={**case.fields, "is_causal": is_causal}))


@each_text
def test_the_derivative_of_the_sentence_vector(name: str):
    """Similarity's derivative, next to autograd's along one direction."""
    model = opened(name)[1]
    net = model.encoder
    x = model.trace(text_of(6)).whole_streams[0][None].clone()
    direction = torch.randn(x.shape, generator=torch.Generator().manual_seed(0))

    def sentence(y: torch.Tensor) -> torch.Tensor:
        for context in net.attention_contexts(y, None):
            y = net.block(context.layer)(y, context)
        output = net.finish(y)
        pooled = model.pool(output, torch.ones(output.shape[:2], dtype=torch.bool))
        return pooled / pooled.norm(dim=-1, keepdim=True)

    with torch.no_grad():
        ours = derivative.linearise(model, x, 0)[1](direction)
    point = x.requires_grad_()
    vector = sentence(point)[0]
    for index in range(0, len(vector), 12):
        (gradient,) = torch.autograd.grad(vector[index], point, retain_graph=True)
        expected = float((gradient * direction).sum())
        size = float((gradient * direction).abs().sum())
        assert abs(float(ours[0, index]) - expected) <= 2e-5 * max(1.0, size)
