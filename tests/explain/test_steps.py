"""Every number that a step shows is the trace's own and the float64 recomputation's, in every kind of encoder."""

from __future__ import annotations

import ast
import dataclasses
from types import MappingProxyType

import numpy as np
import pytest
import torch

from encoder import EncoderError, TextEncoder, Trace, explain
from encoder.edits import AblateHead
from encoder.explain import Place, Recomputation, Variant, arithmetic
from encoder.explain.output import POOLINGS
from encoder.model.config import ACTIVATIONS
from encoder.model.pooling import pool
from tests.conftest import ROOT
from tests.explain.conftest import NAMES, SCRATCH, TEXT, model_of, traces_of

pytestmark = pytest.mark.sample(3, "another architecture")

RELATIVE = 1e-4


def same(shown: np.ndarray, captured: torch.Tensor | np.ndarray, atol: float = 0.0) -> None:
    """Equal within 1e-4 of the largest number of the vector."""
    captured = np.asarray(captured.float() if isinstance(captured, torch.Tensor) else captured)
    assert shown.shape == captured.shape
    assert np.abs(shown - captured).max() <= RELATIVE * np.abs(captured).max() + atol


def places(trace: Trace) -> list[Place]:
    """A few places: first and last layer and head, a repeated word, the diagonal, the borders."""
    config, last = trace.config, trace.n_real - 1
    layers, heads = {0, config.n_layers - 1}, {0, config.n_heads - 1}
    tokens = [(0, last), (last, 0), (1, min(5, last)), (2, 2)]
    return [
        Place(layer, head, query, key, component=(query + key) % config.d_head, neuron=query)
        for layer in sorted(layers)
        for head in sorted(heads)
        for query, key in tokens
        if query <= last and key <= last
    ]


def agree(step, reference: Recomputation) -> None:
    checks = step.check(reference)
    assert checks
    for check in checks:
        assert check.agrees, (
            f"{type(step).__name__} {check.name}: {check.shown_number} {check.recomputed_number} {check.relative}"
        )
        assert check.relative <= RELATIVE
        assert np.isfinite([check.shown_number, check.recomputed_number]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_chain_from_ids_to_output(traced: tuple[Trace, Recomputation], dtype: type[np.floating]):
    trace, _ = traced
    chain = explain.chain(trace, dtype)
    assert list(chain.values) == [*trace.residual, "output"]
    assert {values.dtype for values in chain.values.values()} == {np.dtype(dtype)}
    # A model whose norms were moved without training has a stream of several hundred, where float32 itself is coarser.
    rewired = trace.encoder is model_of("minilm, rewired to pre").encoder
    for name, difference in chain.difference.items():
        assert difference <= 1e-4 * (float(trace.values[name].abs().max()) if rewired else 1.0), name
        same(chain.values[name][: trace.n_real], trace.values[name][: trace.n_real])


def test_embedding(traced: tuple[Trace, Recomputation]):
    trace, reference = traced
    for query in (0, 2, trace.n_tokens - 1):
        step = explain.embedding(trace, Place(query=query, component=3))
        same(step.output, trace.values["embedding"][query])
        parts = [part for part in (step.token, step.segment, step.position) if part is not None]
        same(step.total, np.sum(parts, axis=0))
        assert (step.position is None) == (trace.config.position in ("rotary", "none"))
        assert (step.segment is None) == (trace.config.n_segments == 0)
        agree(step, reference)


@pytest.mark.parametrize("which", ["q", "k", "v"])
def test_projection(traced: tuple[Trace, Recomputation], which: str):
    trace, reference = traced
    for place in places(trace):
        step = explain.projection(trace, place, which)
        captured = getattr(trace, which)[place.layer, place.head, place.query if which == "q" else place.key]
        same(step.vector, captured)
        assert step.total == pytest.approx(float(step.projected[place.component]), rel=1e-4, abs=1e-5)
        assert step.terms.shape == (trace.config.d_model,)
        assert (step.rotation is not None) == (trace.config.position == "rotary" and which != "v")
        if step.rotation is not None:
            first, second = step.rotation.pair
            base, half = trace.config.rotary_base_of_layer(place.layer), trace.config.d_head // 2
            turn = trace.config.rotary_sign * step.token / base ** (2 * (place.component % half) / trace.config.d_head)
            assert step.rotation.angle == pytest.approx(turn)
            assert step.rotation.after == (step.vector[first], step.vector[second])
            assert np.hypot(*step.rotation.after) == pytest.approx(np.hypot(*step.rotation.before), rel=1e-4)
        agree(step, reference)


def test_score(traced: tuple[Trace, Recomputation]):
    trace, reference = traced
    for place in places(trace):
        step = explain.score(trace, place)
        captured = trace.scores(place.layer, place.head)[place.query]
        same(np.where(step.allowed, step.row, 0.0), np.where(step.allowed, captured, 0.0), atol=1e-6)
        assert (captured.numpy()[~step.allowed] < -1e30).all()
        assert step.value == pytest.approx(float(step.row[place.key]), rel=1e-4, abs=1e-5)
        assert step.dot == pytest.approx(float(step.terms.sum()), rel=1e-6)
        same(step.weights, trace.attention(place.layer, place.head)[place.query])
        agree(step, reference)


@pytest.mark.parametrize("variant", [Variant(scaled=False), Variant(causal=True), Variant(scaled=False, causal=False)])
def test_score_variants(traced: tuple[Trace, Recomputation], variant: Variant):
    trace, reference = traced
    place = places(trace)[-1]
    agree(explain.score(trace, place, variant), reference)
    agree(explain.softmax(trace, place, variant=variant), reference)
    matrix = explain.score_matrix(trace, place, variant)
    if not trace.config.attention_sinks:
        assert matrix.weights.sum(axis=-1) == pytest.approx(1.0, abs=1e-5)
    if variant.causal:
        real = slice(0, trace.n_real)
        assert (matrix.weights[real, real][np.triu_indices(trace.n_real, 1)] == 0).all()


def test_softmax(traced: tuple[Trace, Recomputation]):
    trace, reference = traced
    for place in places(trace):
        step = explain.softmax(trace, place)
        assert step.exponentials.max() == 1.0
        powers = np.where(step.allowed, np.exp(step.scores.astype(np.float64) - step.top), 0.0)
        assert step.exponentials == pytest.approx(powers, rel=1e-4, abs=1e-7)
        assert step.total == pytest.approx(float(step.exponentials.sum()) + step.sink, rel=1e-6)
        assert step.weights.sum() + step.sink / step.total == pytest.approx(1.0, abs=1e-5)
        assert (step.sink > 0.0) == trace.config.attention_sinks
        assert step.value == pytest.approx(step.exponentials[place.key] / step.total, rel=1e-5)
        assert 0.0 <= step.entropy <= step.uniform + 1e-5
        same(step.weights, trace.attention(place.layer, place.head)[place.query])
        agree(step, reference)


def test_weighted_sum(traced: tuple[Trace, Recomputation]):
    trace, reference = traced
    for place in places(trace):
        step = explain.weighted_sum(trace, place)
        same(step.z, trace.z(place.layer, place.head)[place.query])
        same(step.weighted.sum(axis=0), step.z)
        agree(step, reference)
        together = explain.output_projection(trace, place)
        same(together.z[place.head], step.z)
        same(together.contributions.sum(axis=0) + together.bias, together.result)
        assert together.shares.shape == (trace.config.n_heads + 1,)
        assert together.shares.sum() == pytest.approx(1.0, abs=1e-4)
        agree(together, reference)


@pytest.mark.parametrize("part", ["attention", "ffn"])
def test_add_norm(traced: tuple[Trace, Recomputation], part: str):
    trace, reference = traced
    for place in places(trace):
        step = explain.add_norm(trace, place, part)
        before = "embedding" if place.layer == 0 else f"layers.{place.layer - 1}.after_ffn"
        before = before if part == "attention" else f"layers.{place.layer}.after_attention"
        same(step.before, trace.values[before][place.query])
        same(step.after, trace.values[f"layers.{place.layer}.after_{part}"][place.query])
        if step.pre_norm or step.norm is None:
            same(step.total, step.after)
        else:
            same(step.total, step.norm.input)
            same(step.norm.output, step.after)
        if step.norm is not None:
            captured = trace.norms[f"layers.{place.layer}.{part}_norm"]
            same(step.norm.output, captured.output[place.query])
            assert step.norm.mean == pytest.approx(float(captured.mean[place.query]), rel=1e-4, abs=1e-5)
            assert step.norm.std == pytest.approx(float(captured.std[place.query]), rel=1e-4, abs=1e-5)
        agree(step, reference)


def test_feed_forward(traced: tuple[Trace, Recomputation]):
    trace, reference = traced
    for place in places(trace):
        step = explain.feed_forward(trace, place)
        layer = explain.hidden_activations(trace, place.layer)
        same(step.hidden, layer.hidden[place.query])
        same(np.array([step.output_terms.sum() + step.output_bias]), step.output[[place.component]], atol=1e-5)
        assert (step.gate is not None) == trace.config.gated
        gate = rf"g_{{{place.query},{place.neuron}}}"
        assert (gate in step.formula.numbers) == trace.config.gated  # its sum is written out like the other one
        if f"layers.{place.layer}.ffn.hidden" in trace.values:
            same(layer.hidden, trace.values[f"layers.{place.layer}.ffn.hidden"])
        agree(step, reference)
    strongest = step.strongest(5)
    assert np.abs(step.hidden[strongest]).min() >= np.sort(np.abs(step.hidden))[-5]


def test_every_norm_of_the_model(traced: tuple[Trace, Recomputation]):
    trace, _ = traced
    for name, norm in trace.norms.items():
        step = explain.normalised(trace, name, 1)
        same(step.output, norm.output[1])
        same(step.normalised, norm.normalised[1])
        same((step.input - step.mean) / step.std, step.normalised)


def test_output(traced: tuple[Trace, Recomputation]):
    trace, reference = traced
    place = Place(query=1, component=5)
    real = torch.ones(1, trace.n_real, dtype=torch.bool)
    for kind in POOLINGS:
        pooled = explain.pooled(trace, kind, place)
        same(pooled.vector, pool(trace.output[None, : trace.n_real], real, kind)[0].numpy(), atol=1e-6)
        same(np.array([pooled.terms.sum()]), pooled.vector[[5]], atol=1e-6)
        agree(pooled, reference)


def test_similarity_is_the_published_one(minilm: TextEncoder):
    """sentence-transformers' README gives 0.6660 for these two sentences."""
    texts = "The weather is lovely today.", "It's so sunny outside!"
    first, second = (explain.pooled(minilm.trace(text), "mean").vector for text in texts)
    cosine = first @ second / (np.linalg.norm(first) * np.linalg.norm(second))
    assert cosine == pytest.approx(0.6660, abs=5e-5)


def test_pooling_is_the_models_own(minilm: TextEncoder):
    vector = explain.pooled(minilm.trace(TEXT), "mean").vector
    embedded = minilm.embed(TEXT)[0].numpy()
    same(vector / np.linalg.norm(vector), embedded)


# --- the check can fail, and is independent --------------------------------------------------------------------------


def test_a_wrong_number_is_found():
    trace, reference = traces_of("minilm")["alone"]
    step = explain.softmax(trace, Place(2, 3, 4, 1))
    assert step.check(reference)[0].agrees
    wrong = step.weights.copy()
    wrong[1] += 0.001
    check = dataclasses.replace(step, weights=wrong).check(reference)[0]
    assert not check.agrees
    assert check.difference == pytest.approx(0.001, rel=1e-3)


def test_a_nan_is_found():
    trace, reference = traces_of("minilm")["alone"]
    step = explain.weighted_sum(trace, Place(2, 3, 4, 1))
    broken = np.where(np.arange(len(step.z)) == 3, np.nan, step.z)
    assert not dataclasses.replace(step, z=broken).check(reference)[0].agrees


def test_second_opinion_takes_nothing_that_was_captured():
    trace, reference = traces_of("post, learned, GELU")["alone"]
    spoiled = dataclasses.replace(
        trace, values=MappingProxyType({name: torch.full_like(value, 7.0) for name, value in trace.values.items()})
    )
    assert (Recomputation(spoiled).output() == reference.output()).all()


def test_the_reference_shares_no_code_with_the_model():
    allowed = {
        "reference": {
            "encoder.errors",
            "encoder.trace.trace",
        },  # the trace: ids, mask, weights
        "arithmetic": set(),
    }
    for name, modules in allowed.items():
        source = ast.parse((ROOT / "encoder" / "explain" / f"{name}.py").read_text(encoding="utf-8"))
        imported = {str(node.module) for node in ast.walk(source) if isinstance(node, ast.ImportFrom)}
        imported |= {alias.name for node in ast.walk(source) if isinstance(node, ast.Import) for alias in node.names}
        assert not any(module.split(".")[0] == "torch" for module in imported)
        own = {"encoder.explain", "encoder.explain.arithmetic"}
        assert {module for module in imported if module.startswith("encoder")} - own == modules


def double(function):
    return lambda *arguments: 2.0 * function(*arguments)


@pytest.mark.parametrize(
    ("mechanism", "model"),
    [
        ("linear", "minilm"),
        ("split_heads", "minilm"),
        ("join_heads", "minilm"),
        ("sinusoidal", "pre, sinusoidal, ReLU"),
        ("rotary_angles", "post, rotary, gated SiLU"),
        ("rotate", "post, rotary, gated SiLU"),
        ("relative_bucket", "post, relative bias"),
        ("relative_bias", "post, relative bias"),
        ("allowed", "pre, rotary, windows"),
        ("scores", "minilm"),
        ("softmax", "minilm"),
        ("normalise", "minilm"),
        ("layer_norm", "minilm"),
        *((f"ACTIVATIONS.{config['activation']}", name) for name, config in SCRATCH.items() if "activation" in config),
        ("gelu", "minilm"),
    ],
)
def test_a_wrong_formula_is_found(monkeypatch: pytest.MonkeyPatch, mechanism: str, model: str):
    """What the page shows does not come from the functions that check it."""
    wrong = {
        "split_heads": lambda x, n_heads: x.reshape(len(x), -1, n_heads).transpose(2, 0, 1),
        "join_heads": lambda x: x.transpose(1, 2, 0).reshape(x.shape[1], -1),
        "relative_bucket": lambda distance, buckets, far: np.abs(distance) % buckets,
        "allowed": lambda mask, queries, causal, window, block: np.ones((len(queries), len(mask)), dtype=bool),
        "normalise": lambda x, eps: (x.mean(-1), x.var(-1), x),
    }
    trace, _ = traces_of(model)["alone"]
    name, _, activation = mechanism.partition(".")
    activation = "gelu" if mechanism == "gelu" else activation
    if activation:
        functions = dict(arithmetic.ACTIVATIONS)
        monkeypatch.setattr(arithmetic, "ACTIVATIONS", functions | {activation: double(functions[activation])})
    else:
        monkeypatch.setattr(arithmetic, name, wrong.get(name, double(getattr(arithmetic, name))))
    reference, place = Recomputation(trace), Place(1, 1, 5, 1, 2, 3)
    steps = [
        explain.embedding(trace, place),
        *(explain.projection(trace, place, which) for which in ("q", "k", "v")),
        explain.score(trace, place),
        explain.softmax(trace, place),
        explain.weighted_sum(trace, place),
        explain.output_projection(trace, place),
        *(explain.add_norm(trace, place, part) for part in ("attention", "ffn")),
        explain.feed_forward(trace, place),
    ]
    assert not all(check.agrees for step in steps for check in step.check(reference))
    assert explain.chain(trace).largest > 1e-3


def test_a_result_is_kept_for_its_arguments_by_position_or_name():
    _, reference = traces_of("minilm")["alone"]
    first = reference.after(layer=0, part="ffn")
    assert reference.after(layer=0, part="ffn") is first
    assert np.array_equal(reference.after(0, "ffn"), first)
    assert not np.array_equal(reference.after(layer=1, part="ffn"), first)
    assert not np.array_equal(reference.after(0, part="attention"), first)


def test_edited_passes_are_refused(minilm: TextEncoder):
    trace = minilm.trace("Hello", edits=[AblateHead(0, 0)])
    for function in (Recomputation, explain.chain):
        with pytest.raises(EncoderError, match="edit"):
            function(trace)


# --- what a person may select ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (Place(layer=6), "layer 6 .*0 to 5"),
        (Place(head=-1), "head -1 .*0 to 11"),
        (Place(query=99), "query 99"),
        (Place(key=99), "key 99"),
        (Place(component=32), "component 32 .*0 to 31"),
        (Place(neuron=1536), "neuron 1536"),
    ],
)
def test_what_is_not_there_is_named(place: Place, message: str):
    trace, _ = traces_of("minilm")["alone"]
    with pytest.raises(EncoderError, match=message):
        explain.projection(trace, place, "q")


def test_clamped():
    trace, _ = traces_of("minilm")["alone"]
    place = Place(999, 999, 999, -4, 999, 9999).clamped(trace.config, trace.n_tokens, trace.config.d_head)
    assert place == Place(5, 11, trace.n_tokens - 1, 0, 31, 1535)


@pytest.mark.parametrize("text", ["", "a", "🙂", "猫 坐 在", "cat cat cat"])
def test_short_and_strange_texts(minilm: TextEncoder, text: str):
    trace = minilm.trace(text)
    place = Place(1, 1, 1, 0, 2, 3)
    reference = Recomputation(trace)
    for step in (
        explain.embedding(trace, place),
        explain.projection(trace, place, "k"),
        explain.score(trace, place),
        explain.softmax(trace, place),
        explain.weighted_sum(trace, place),
        explain.output_projection(trace, place),
        explain.add_norm(trace, place, "ffn"),
        explain.feed_forward(trace, place),
        explain.pooled(trace, "mean", place),
    ):
        agree(step, reference)
    assert explain.chain(trace).largest <= 1e-4


def test_frozen_and_read_only():
    trace, _ = traces_of("minilm")["alone"]
    step = explain.projection(trace, Place(), "q")
    with pytest.raises(dataclasses.FrozenInstanceError):
        step.total = 0.0
    with pytest.raises(ValueError, match="read-only"):
        step.weight[0, 0] = 1.0  # this is the model's own weight


def test_bfloat16_is_checked_with_its_own_tolerance(build):
    model = build(norm_placement="pre", position="rotary")
    model.encoder.to(torch.bfloat16)
    trace = model.trace(TEXT)
    reference = Recomputation(trace)
    check = explain.projection(trace, Place(1, 1, 2, 3), "q").check(reference)[0]
    assert check.agrees
    assert check.relative > 1e-5


def test_a_padding_token_that_was_typed_counts_as_padding():
    """RoBERTa's positions know padding by its id."""
    trace = model_of("post, relative bias").trace("The [PAD] cat [PAD] sat")
    assert trace.ids.count(0) == 2
    assert explain.chain(trace).largest <= 1e-5
    agree(explain.embedding(trace, Place(query=5)), Recomputation(trace))


def test_one_segment_for_both_sentences(build):
    """A segment table of one row knows no second sentence."""
    trace = build(n_segments=1).trace("A river", "The bank")
    assert explain.chain(trace).largest <= 1e-5
    agree(explain.embedding(trace, Place(query=5)), Recomputation(trace))


def test_all_kinds_are_covered():
    configs = [model_of(name).config for name in NAMES]
    assert {config.norm_placement for config in configs} == {"pre", "post"}
    assert {config.position for config in configs} == {"learned", "sinusoidal", "rotary", "none"}
    assert {config.activation for config in configs} == set(ACTIVATIONS)
    assert {config.gated for config in configs} == {config.causal for config in configs} == {True, False}
