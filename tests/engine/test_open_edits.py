"""Edits of any hook point: links, errors, other runs, and what a trace derives under them."""

from __future__ import annotations

import functools
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from encoder import EncoderError, TextEncoder
from encoder.edits import (
    HEAD_POINTS,
    AblateHead,
    Add,
    Call,
    CausalMask,
    DropPositions,
    Edit,
    MaskKeys,
    Mean,
    Noise,
    PermutePositions,
    Replace,
    Scale,
    SetScore,
    SetValue,
    SetWeight,
    Temperature,
    UniformAttention,
    Zero,
    format,
    parse,
)
from encoder.model.hooks import LAYER_POINTS, OTHER_POINTS
from encoder.trace.capture import ON_REQUEST
from tests.engine.conftest import VARIANTS, tiny

SENTENCE, OTHER = "the cat sat on the unhappy mat .", "a dog ran to the unhappy bus ."


def test_no_edit_is_bit_for_bit_the_plain_run():
    model = tiny()
    ids = torch.tensor([model.tokenize(SENTENCE).ids])
    with torch.no_grad():
        plain = model.encoder(ids)[0]
    assert torch.equal(model.trace(SENTENCE).output, plain)
    assert torch.equal(model.trace(SENTENCE, edits=[]).output, plain)


def test_only_an_edited_layer_leaves_the_fused_kernel(monkeypatch: pytest.MonkeyPatch):
    model, explicit = tiny(), []
    for layer in range(3):
        attention = model.encoder.block(layer).attention
        whole = attention.explicit
        monkeypatch.setattr(
            attention, "explicit", lambda *given, whole=whole: explicit.append(given[3].layer) or whole(*given)
        )
    for edits in ([], [Zero("z", layer=1)], [Scale("ffn_out", 2.0), AblateHead(0, 1)], [DropPositions()]):
        model.trace(SENTENCE, edits=edits)
    assert explicit == []
    model.trace(SENTENCE, edits=[SetWeight(1, 0, 0, 0, 0.5), Temperature(2.0, layer=2)])
    assert explicit == [1, 2]


# --- what a trace derives ---------------------------------------------------------------------------------------------

PATTERNS: dict[str, tuple[Edit, ...]] = {
    "weight": (SetWeight(1, 3, query=2, key=6, value=0.6), SetWeight(1, 3, query=3, key=6, value=1.0)),
    "temperature": (Temperature(0.5), Temperature(3.0, layer=1, head=2, query=4)),
    "uniform": (UniformAttention(layer=1, query=3),),
    "causal": (CausalMask(layer=0), CausalMask(layer=2, head=1)),
    "other attention": (Replace("pattern", OTHER, layer=1, heads=(1, 2)),),
    "scaled weights": (Scale("pattern", 0.5, layer=1, heads=(2,), positions=(3,), components=(0, 1)),),
    "z": (Scale("z", 2.0, layer=1, heads=(0, 3)), Add("z", (1.0, -1.0), layer=1, positions=(2,), components=(0, 5))),
    "noise in z": (Noise("z", 0.5, seed=3, layer=1, heads=(2,)),),
    "permuted": (PermutePositions(seed=4),),
    "no positions": (DropPositions(),),
    "values": (Replace("v", OTHER, layer=0), SetValue("q", 0.5, layer=2, heads=(1,))),
}


@functools.cache
def model_of(architecture: str) -> TextEncoder:
    """One for all tests, which leave it as it is."""
    return tiny(**VARIANTS[architecture])


@pytest.mark.parametrize("architecture", ["pre", "rotary, windows", "causal window", "relative bias"])
@pytest.mark.parametrize("name", list(PATTERNS))
def test_derived_is_captured(architecture: str, name: str):
    model = model_of(architecture)
    trace = model.trace(SENTENCE, edits=PATTERNS[name], request=("pattern", "z"))
    assert trace.edits == PATTERNS[name]
    unchanged = name == "causal" and model.config.causal
    assert torch.allclose(trace.output, model.trace(SENTENCE).output, atol=1e-4) == unchanged
    for layer in range(3):
        pattern = trace.values[f"layers.{layer}.pattern"]
        torch.testing.assert_close(trace.layer_attention(layer), pattern, atol=1e-6, rtol=1e-5)
        for head in (1, 2, 3):
            torch.testing.assert_close(trace.attention(layer, head), pattern[head], atol=1e-6, rtol=1e-5)
            z = trace.values[f"layers.{layer}.z"][head]
            torch.testing.assert_close(trace.z(layer, head), z, atol=5e-6, rtol=1e-5)
            window = trace.attention(layer, head, queries=slice(2, 5), keys=slice(1, 7))
            torch.testing.assert_close(window, pattern[head, 2:5, 1:7], atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(trace.pooled_attention(layer, 2, size=12), pattern[2], atol=1e-6, rtol=1e-5)


def test_a_set_weight_keeps_the_row_at_one():
    model = tiny()
    plain, edited = (model.trace(SENTENCE, edits=edits).attention(1, 2) for edits in ([], [SetWeight(1, 2, 4, 7, 0.3)]))
    assert float(edited[4, 7]) == pytest.approx(0.3)
    others = [key for key in range(12) if key != 7]
    torch.testing.assert_close(edited[4, others], plain[4, others] / plain[4, others].sum() * 0.7)
    torch.testing.assert_close(edited.sum(-1), torch.ones(12))
    alone = model.trace(SENTENCE, edits=[MaskKeys((*others,), 1, 2, 4), SetWeight(1, 2, 4, 7, 0.3)]).attention(1, 2)
    assert float(alone[4, 7]) == 1.0


# --- other runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", list(VARIANTS))
def test_replacing_the_whole_stream_of_a_layer_is_the_other_run(architecture: str):
    model = tiny(**VARIANTS[architecture])
    here, other = model.trace(SENTENCE), model.trace(OTHER)
    assert here.n_tokens == other.n_tokens
    for layer in range(3):
        found = model.trace(SENTENCE, edits=[Replace("after_ffn", OTHER, layer=layer)])
        torch.testing.assert_close(found.output, other.output)
        assert torch.equal(
            model.trace(SENTENCE, edits=[Replace("after_ffn", OTHER, layer=layer, positions=())]).output, here.output
        )


def test_a_run_is_a_source_like_its_text():
    model = tiny()
    run = model.trace(OTHER, request=("z", "ffn_out"))
    for point in ("z", "after_ffn", "ffn_out", "pattern", "embedding"):
        by_text, by_run = (model.trace(SENTENCE, edits=[Replace(point, source)]).output for source in (OTHER, run))
        assert torch.equal(by_text, by_run)
    by_text, by_run = (model.trace(SENTENCE, edits=[Mean("z", (source, SENTENCE))]).output for source in (OTHER, run))
    assert torch.equal(by_text, by_run)


def test_an_edited_trace_keeps_of_its_sources_what_the_edits_need():
    edits = [Mean("z", (OTHER,), layer=1), Replace("pattern", OTHER, layer=2), Replace("embedding", OTHER)]
    mean, pattern, embedding = tiny().trace(SENTENCE, edits=edits).applied
    assert set(mean.sources[0].values) == {"layers.1.z"}
    assert set(pattern.source.values) == {f"layers.2.{name}" for name in "qkv"}
    assert set(embedding.source.values) == {"embedding"}


def test_a_shorter_run_gives_the_positions_that_it_has():
    model = tiny()
    found = model.trace(SENTENCE, edits=[Replace("after_ffn", "the dog", layer=1, positions=(0, 2))])
    theirs = model.trace("the dog").values["layers.1.after_ffn"]
    assert torch.equal(found.values["layers.1.after_ffn"][[0, 2]], theirs[[0, 2]])
    for edit in (Replace("after_ffn", "the dog", layer=1), Replace("pattern", "the dog", positions=(1,))):
        with pytest.raises(EncoderError, match=r"4 tokens, and this one 12"):
            model.trace(SENTENCE, edits=[edit])
    with pytest.raises(EncoderError, match=r"no position 6.*0 to 3"):
        model.trace(SENTENCE, edits=[Replace("after_ffn", "the dog", layer=1, positions=(6,))])


def test_a_run_must_fit():
    model = tiny()
    with pytest.raises(EncoderError, match="other sizes"):
        model.trace(SENTENCE, edits=[Replace("z", tiny(n_layers=2).trace(SENTENCE, request=("z",)))])
    with pytest.raises(EncoderError, match="did not record z"):
        model.trace(SENTENCE, edits=[Replace("z", model.trace(SENTENCE))])


def test_eight_threads_with_different_edits():
    model = tiny()
    cases = [(), *PATTERNS.values(), (Zero("ffn_out", layer=1),), (Mean("embedding", (OTHER,)),)]
    alone = [model.trace(SENTENCE, edits=edits).output for edits in cases]
    order = list(range(len(cases))) * 5
    random.Random(0).shuffle(order)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda index: model.trace(SENTENCE, edits=cases[index]).output, order))
    assert not [index for index, output in zip(order, together, strict=True) if not torch.equal(output, alone[index])]


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda: Zero("scores"), "MaskKeys"),
        (lambda: Noise("pattern", 0.1), "SetWeight or Replace"),
        (lambda: Zero("ffn_out", heads=(1,)), "no heads"),
        (lambda: Zero("embedding", layer=1), "outside the layers"),
        (lambda: Zero("z", heads=3), "tuple"),
        (lambda: Zero("z", layer=True), "whole number"),
        (lambda: Zero("z", positions=(1.5,)), "position=1.5"),
        (lambda: Scale("z", "2"), "number from"),
        (lambda: SetValue("z", float("nan")), "number from"),
        (lambda: Noise("z", -1.0), "0 to"),
        (lambda: Noise("z", 1.0, seed=2**31), "seed"),
        (lambda: PermutePositions(seed=2**64), "seed"),
        (lambda: Temperature(0.0), "0.001 to"),
        (lambda: SetWeight(0, 0, 0, 0, 1.5), "0 to 1"),
        (lambda: Mean("z", ()), "1 to 64"),
        (lambda: Mean("z", "text"), "tuple of texts"),
        (lambda: Add("z", 1.0), "tuple of numbers"),
    ],
)
def test_a_wrong_edit_is_refused(make: Any, wrong: str):
    with pytest.raises(EncoderError, match=wrong):
        make()


@pytest.mark.parametrize(
    ("edit", "wrong"),
    [
        (Zero("z", layer=3), "layer 3.*0 to 2"),
        (Zero("z", heads=(0, 5)), "head 5.*0 to 4"),
        (Zero("z", positions=(12,)), "position 12.*0 to 11"),
        (Zero("ffn.hidden", components=(22,)), "component 22.*0 to 21"),
        (Zero("pattern", components=(12,)), "component 12.*0 to 11"),
        (Zero("embedding.segments"), "embedding.segments"),
        (Zero("final_norm.input"), "final_norm.input"),
        (Add("z", (1.0, 2.0)), "2 numbers.*6"),
        (Add("z", (1.0, 2.0), components=(1,)), "2 numbers.*1"),
        (PermutePositions((0, 0, 1)), "once"),
        (Call("z", lambda z: z[..., :1]), r"return a tensor \(1, 5, 12, 6\)"),
        (Replace("z", 7), "7.*a text or a Trace"),
    ],
)
def test_an_edit_of_what_is_not_there_is_refused(edit: Edit, wrong: str):
    with pytest.raises(EncoderError, match=wrong):
        tiny().trace(SENTENCE, edits=[edit])


def test_a_model_without_positions_has_none_to_leave_out():
    with pytest.raises(EncoderError, match="no positional encodings"):
        tiny(position="none").trace(SENTENCE, edits=[DropPositions()])


def test_padding_can_be_left_out_of_an_edited_trace_unless_it_is_random():
    model = tiny()
    edits = [Zero("z", layer=1, heads=(2,)), SetWeight(0, 1, 2, 3, 0.5)]
    padded, alone = (
        model.trace(SENTENCE, pad_to=17, edits=edits, request=ON_REQUEST),
        model.trace(SENTENCE, edits=edits),
    )
    assert padded.unpadded.values["layers.0.pattern"].shape == (5, 12, 12)
    torch.testing.assert_close(padded.unpadded.attention(0, 1), alone.attention(0, 1))
    with pytest.raises(EncoderError, match="without padding"):
        _ = model.trace(SENTENCE, pad_to=17, edits=[PermutePositions(seed=1)]).unpadded


# --- links ------------------------------------------------------------------------------------------------------------

indices = st.integers(0, 10_000)
several = st.none() | st.lists(indices, max_size=4).map(tuple)
numbers = st.floats(-1e30, 1e30)
texts = st.text(max_size=20)
any_layer = st.none() | indices


@st.composite
def value_edits(draw: st.DrawFn) -> Edit:
    kind = draw(st.sampled_from([Zero, Scale, SetValue, Add, Replace, Mean, Noise]))
    whole = kind in (Add, Mean, Noise)
    points = [
        point
        for point in LAYER_POINTS + OTHER_POINTS
        if not point.endswith("scores") and not (whole and point.endswith("pattern"))
    ]
    point = draw(st.sampled_from(points))
    place = {
        "layer": draw(any_layer) if point in LAYER_POINTS else None,
        "heads": draw(several) if point in HEAD_POINTS else None,
        "positions": draw(several),
        "components": draw(several),
    }
    given = {
        Zero: (),
        Scale: (draw(numbers),),
        SetValue: (draw(numbers),),
        Add: (tuple(draw(st.lists(numbers, max_size=3))),),
        Replace: (draw(texts),),
        Mean: (tuple(draw(st.lists(texts, min_size=1, max_size=3))),),
        Noise: (abs(draw(numbers)), draw(indices)),
    }[kind]
    return kind(point, *given, **place)


all_edits = st.one_of(
    value_edits(),
    st.builds(AblateHead, indices, indices, st.booleans()),
    st.builds(MaskKeys, st.lists(indices, max_size=4).map(tuple), any_layer, any_layer, any_layer, cross=st.booleans()),
    st.builds(SetScore, indices, indices, indices, indices, numbers),
    st.builds(SetWeight, indices, indices, indices, indices, st.floats(0, 1), cross=st.booleans()),
    st.builds(Temperature, st.floats(1e-3, 1e6), any_layer, any_layer, any_layer),
    st.builds(UniformAttention, any_layer, any_layer, any_layer),
    st.builds(CausalMask, any_layer, any_layer),
    st.builds(DropPositions),
    st.builds(PermutePositions, st.lists(indices, max_size=4).map(tuple), indices),
)


@given(st.lists(all_edits, max_size=5).map(tuple))
def test_a_link_brings_back_what_was_written(edits: tuple[Edit, ...]):
    text = format(edits)
    assert parse(text) == edits
    assert hash(parse(text)) == hash(edits)
    assert format(parse(text)) == text


def test_a_link_is_short():
    assert format([AblateHead(1, 3)]) == "ablate_l1_h3"
    assert format([Scale("attention_out", 0.5, layer=2, positions=(0, 4))]) == "scale_l2_p0-4_oattention-out_x0.5"


@pytest.mark.parametrize(
    "text",
    ["nothing", "ablate", "ablate_l1", "ablate_l1_hx", "ablate_l1_h2_l1", "ablate_l1_h2_z9", "ablate_l-1_h2",
     "scale_oz_xnan", "zero_onowhere", "~", "mask_k1.5", "score_l1_h1_q1_k1_x9e99", "~".join(["causal"] * 99),
     "mean_oz_h1_s" + ",".join("a" * 70), "zero_oz_l" + "9" * 5000],
)  # fmt: skip
def test_a_broken_link_says_so(text: str):
    with pytest.raises(EncoderError):
        parse(text)


def test_what_only_python_has_is_not_in_a_link():
    with pytest.raises(EncoderError, match="function"):
        format([Call("z", torch.tanh)])
    with pytest.raises(EncoderError, match="text as the source"):
        format([Replace("v", tiny().trace(SENTENCE))])


@given(st.text(max_size=40) | st.sampled_from(["ablate", "scale", "mean"]).map(lambda code: code + "_l1_oz_x1_h0_s%"))
def test_any_text_is_edits_or_an_error(text: str):
    try:
        edits = parse(text)
    except EncoderError:
        return
    assert parse(format(edits)) == edits
