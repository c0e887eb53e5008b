"""Measures of heads: on attention written by hand, against a second computation in float64, and on known heads."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from encoder import TextEncoder
from encoder.edits import MaskKeys
from encoder.figures import measure_map
from encoder.measure import head_measures as heads
from encoder.measure import head_types
from encoder.measure.head_definitions import BY_NAME, HEAD_MEASURES
from encoder.measure.head_measures import HeadMeasures, head_measures, survey, uniform_share
from encoder.measure.head_types import HEAD_TYPES, Thresholds, find
from encoder.trace import trace as trace_module
from tests.engine import by_hand
from tests.engine.conftest import VARIANTS, tiny

pytestmark = pytest.mark.sample(3, "another architecture")

N = 50


def badges(measures: HeadMeasures) -> tuple[tuple[str, ...], ...]:
    """The badge of each head's first type, "" where it has none."""
    return tuple(tuple(some[0].head_type.badge if some else "" for some in layer) for layer in find(measures))


def by_hand_measures(*maps: np.ndarray, **options) -> HeadMeasures:
    return head_measures(by_hand.written(np.stack(maps)[None]), **options)


def test_attention_written_by_hand():
    maps = {
        "self": by_hand.identity(N),
        "previous": by_hand.to_previous(N),
        "next": by_hand.to_next(N),
        "uniform": by_hand.uniform(N),
        "cls": by_hand.one_hot(N, 0),
        "sep": by_hand.one_hot(N, N - 1),
        "some token": by_hand.one_hot(N, 20),
    }
    measures = by_hand_measures(*maps.values())
    of = {name: {measure: measures[measure][0, head] for measure in BY_NAME} for head, name in enumerate(maps)}
    for name in ("self", "previous", "next", "cls", "sep", "some token"):
        assert of[name]["entropy"] == pytest.approx(0, abs=1e-6)
        assert of[name]["maximum"] == pytest.approx(1)
        assert of[name]["strong"] == pytest.approx(1 / N)
    assert of["uniform"]["entropy"] == pytest.approx(math.log(N), rel=1e-6)
    assert of["uniform"]["relative_entropy"] == pytest.approx(1)
    assert of["uniform"]["maximum"] == pytest.approx(1 / N)
    assert of["uniform"]["strong"] == 0
    assert of["uniform"]["distance"] == pytest.approx((N * N - 1) / (3 * N), rel=1e-6)
    for name in ("self", "previous", "next"):
        assert of[name][name] == pytest.approx(1)
        assert of[name][f"top_{name}"] == pytest.approx(1)
        assert of["uniform"][name] == pytest.approx(1 / N)
        assert of["uniform"][f"top_{name}"] == 0  # all are largest, so none is
    assert of["previous"]["next"] == 0
    assert of["next"]["previous"] == 0
    assert of["self"]["distance"] == 0
    assert of["previous"]["distance"] == pytest.approx((N - 1) / N)
    assert of["previous"]["self"] == pytest.approx(1 / N)  # the first token
    assert of["cls"]["cls"] == pytest.approx(1)
    assert of["cls"]["sep"] == 0
    assert of["cls"]["distance"] == pytest.approx((N - 1) / 2)
    assert of["sep"]["sep"] == pytest.approx(1)
    assert of["some token"]["cls"] == of["some token"]["sep"] == 0


def test_types_of_attention_written_by_hand():
    measures = by_hand_measures(
        by_hand.identity(N),
        by_hand.to_previous(N),
        by_hand.to_next(N),
        by_hand.uniform(N),
        by_hand.one_hot(N, 0),
        by_hand.one_hot(N, N - 1),
        by_hand.one_hot(N, 20),
        by_hand.random(N, 3, 3.0),
    )
    assert badges(measures)[0] == ("self", "prev", "next", "broad", "first", "sep", "", "")


@pytest.mark.parametrize("n", [2, 16, 50])
def test_a_uniform_head_is_broad_at_any_length(n: int):
    """ln 16 = 2.8 nats: a threshold of 3.8 nats could find no broad head in a sentence. Normalised entropy can."""
    half = np.zeros((n, n))
    half[:, : n // 2] = 1 / (n // 2)
    measures = by_hand_measures(by_hand.uniform(n), half)
    assert badges(measures)[0][0] == "broad"
    assert measures["relative_entropy"][0] == pytest.approx([1, math.log(n // 2) / math.log(n)], abs=1e-6)


def test_a_map_upside_down_changes_previous_into_next():
    """The trap of a matrix called both: row i, column i - 1 is the previous token, numpy's eye(n, k=-1)."""
    previous = by_hand.to_previous(N)
    assert np.array_equal(previous[1:], np.eye(N, k=-1)[1:])
    measures = by_hand_measures(previous, by_hand.to_next(N))
    turned = by_hand_measures(previous.T / previous.T.sum(1, keepdims=True).clip(1), by_hand.to_next(N))
    assert badges(measures)[0] == ("prev", "next")
    assert badges(turned)[0][0] == "next"


TOKENS = ("[CLS]", "the", "un", "##happ", "##y", "cat", ",", "the", "dog", "...", "[SEP]", "the", "end", "!", "[SEP]")
WORDS = (-1, 0, 1, 1, 1, 2, 3, 4, 5, 6, -1, 7, 8, 9, -1)


@pytest.mark.parametrize("queries", ["all", "content"])
@pytest.mark.parametrize("n_padding", [0, 4])
@pytest.mark.parametrize("numbers", [1, 200, 2_000_000])
def test_against_float64(monkeypatch: pytest.MonkeyPatch, queries: str, n_padding: int, numbers: int):
    """Random maps of a pair with repeated words, pieces and punctuation; padded or not; in chunks of any size."""
    monkeypatch.setattr(trace_module, "CHUNK_NUMBERS", numbers)
    monkeypatch.setattr(trace_module, "MIN_ROWS", 1)
    n, n_real = len(TOKENS) + n_padding, len(TOKENS)
    attention = np.stack(
        [[by_hand.random(n, 10 * layer + head, 0.4 + head) for head in range(3)] for layer in range(2)]
    )
    attention[..., :n_real, n_real:] = 0
    attention /= attention.sum(-1, keepdims=True)
    trace = by_hand.written(attention, TOKENS, words=WORDS, n_padding=n_padding, pair_from=11)
    measures = head_measures(trace, queries=queries, strong=0.13)
    assert measures.n_tokens == n_real
    assert measures.n_queries == (n_real if queries == "all" else n_real - 3)
    for layer in range(2):
        for head in range(3):
            expected = by_hand.measured(trace, attention[layer, head], queries, 0.13)
            found = {name: measures[name][layer, head] for name in expected}
            assert found == pytest.approx(expected, rel=1e-4, abs=2e-6)
    assert set(expected) == set(BY_NAME)


@pytest.mark.parametrize("queries", ["all", "content"])
def test_against_float64_on_real_heads(minilm: TextEncoder, prose: str, queries: str):
    trace = minilm.trace_batch([prose, prose + " " + prose], request=("scores",))[0]
    measures = head_measures(trace, queries=queries)
    for layer, head in ((0, 2), (1, 8), (2, 9), (3, 4), (5, 11)):
        scores = trace.values[f"layers.{layer}.scores"][head].double()
        attention = torch.softmax(scores, -1).numpy()
        expected = by_hand.measured(trace, attention, queries, 0.1)
        found = {name: measures[name][layer, head] for name in expected}
        assert found == pytest.approx(expected, rel=2e-4, abs=2e-6, nan_ok=True)


@pytest.mark.parametrize("name", list(VARIANTS))
def test_padding_does_not_count(name: str):
    model = tiny(**VARIANTS[name])
    alone = head_measures(model.trace("the cat sat on the mat ."))
    padded = head_measures(
        model.trace_batch(["the cat sat on the mat .", "a big red bus ran to the river and the bank"])[0]
    )
    for measure in BY_NAME:
        np.testing.assert_allclose(padded[measure], alone[measure], atol=2e-5, rtol=1e-4)


def test_known_heads_of_minilm(minilm: TextEncoder, prose: str):
    measures = head_measures(minilm.trace(prose))
    assert measures["previous"][0, 2] > 0.95
    assert measures["next"][1, 8] > 0.6
    assert measures["next"][0, 2] < 0.02
    assert measures["previous"][1, 8] < 0.1
    assert measures["top_previous"][0, 2] == 1
    shown = badges(measures)
    assert shown[0][2] == "prev"
    assert shown[1][8] == "next"
    assert [badge for layer in shown for badge in layer].count("prev") == 1


def test_a_same_word_head_of_minilm(minilm: TextEncoder, prose: str):
    """Said twice, each word finds itself again: L2 H9 does that more than any other head."""
    measures = head_measures(minilm.trace(f"{prose} {prose}"))
    assert np.unravel_index(np.argmax(measures["same_token"]), (6, 12)) == (2, 9)


def test_thresholds_change_the_types(minilm: TextEncoder, prose: str):
    measures = head_measures(minilm.trace(prose))
    everything = find(measures, Thresholds(-1, -1, -1, -1, -1))
    assert all(len(findings) == len(HEAD_TYPES) for layer in everything for findings in layer)
    nothing = find(measures, Thresholds(2, 2, 2, 9, 2))
    assert not any(findings for layer in nothing for findings in layer)
    finding = find(measures)[0][2][0]
    assert finding.head_type.name == "previous"
    assert finding.measure == "previous"
    assert finding.value == measures["previous"][0, 2]
    assert finding.threshold == 0.5
    by_top = find(measures, Thresholds(position=1.5))[0][2][0]
    assert (by_top.head_type.name, by_top.measure, by_top.threshold) == ("previous", "top_previous", 0.9)


@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("queries", ["all", "content"])
def test_layer_by_layer_as_all_at_once(monkeypatch: pytest.MonkeyPatch, variant: TextEncoder, size, queries):
    trace = variant.trace("the cat sat on the unhappy mat .")
    small, at_once = survey(trace, size, queries=queries)
    monkeypatch.setattr(heads, "SHORT", 0)
    expected, by_layer = survey(trace, size, queries=queries)
    if size is not None:
        torch.testing.assert_close(small, expected, atol=1e-6, rtol=1e-5)
    for name in BY_NAME:
        np.testing.assert_allclose(at_once[name], by_layer[name], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("size", [None, 1, 7, 64])
def test_one_walk_gives_both(size: int | None):
    trace = tiny().trace("the cat sat on the unhappy mat .")
    thumbnails, measures = survey(trace, size)
    if size is None:
        assert thumbnails is None
    else:
        torch.testing.assert_close(thumbnails, trace.thumbnails(size), atol=1e-6, rtol=1e-5)
    alone = head_measures(trace)
    for name in BY_NAME:
        np.testing.assert_array_equal(measures[name], alone[name])


def test_short_texts():
    """[CLS] and [SEP] alone; and a single token, which has no neighbour and no entropy to compare with."""
    two = head_measures(by_hand.written(np.array([[[[0.25, 0.75], [0.5, 0.5]]]])))
    assert two["next"][0, 0] == pytest.approx(0.75)
    assert two["previous"][0, 0] == pytest.approx(0.5)
    assert math.isnan(two["same_token"][0, 0])
    content = head_measures(by_hand.written(np.array([[[[0.25, 0.75], [0.5, 0.5]]]])), queries="content")
    assert content.n_queries == 0
    assert all(math.isnan(content[name][0, 0]) for name in BY_NAME)
    assert badges(content) == (("",),)
    one = head_measures(by_hand.written(np.ones((1, 1, 1, 1)), ("a",)))
    assert one["self"][0, 0] == one["top_self"][0, 0] == one["maximum"][0, 0] == 1
    assert one["entropy"][0, 0] == 0
    assert all(math.isnan(one[name][0, 0]) for name in ("relative_entropy", "previous", "next", "same_token"))


def test_a_row_that_may_see_nothing_is_uniform():
    trace = tiny().trace("the cat sat", edits=[MaskKeys(tuple(range(5)), layer=1, head=2, query=3)])
    attention = trace.attention(1, 2)
    assert attention[3].tolist() == pytest.approx([0.2] * 5)
    expected = by_hand.measured(trace, attention.double().numpy(), "all", 0.1)
    assert head_measures(trace)["entropy"][1, 2] == pytest.approx(expected["entropy"], rel=1e-5)


def test_the_table():
    measures = head_measures(tiny().trace("the cat sat"))
    table = measures.table()
    assert list(table.columns) == ["layer", "head", *BY_NAME]
    assert len(table) == 15
    row = table[(table.layer == 2) & (table["head"] == 3)].iloc[0]
    assert all(row[name] == measures[name][2, 3] or math.isnan(row[name]) for name in BY_NAME)
    with pytest.raises(ValueError, match="read-only"):
        measures["entropy"][0, 0] = 1


def test_every_measure_is_defined():
    assert len(BY_NAME) == len(HEAD_MEASURES)
    for definition in HEAD_MEASURES:
        assert definition.unit in ("share", "nats", "tokens")
        assert all((definition.title, definition.formula, definition.source, definition.sentence.endswith(".")))
        assert definition.formula.count("{") == definition.formula.count("}")
        assert definition.formula.count(r"\Big(") == definition.formula.count(r"\Big)")
    for role in HEAD_TYPES:
        assert len(role.badge) <= 5
        for measure, field, _ in role.rules:
            assert measure in BY_NAME
            assert hasattr(Thresholds(), field)


def test_measuring_changes_nothing_in_the_trace():
    trace = tiny().trace("the cat sat on the mat")
    before = {name: value.clone() for name, value in trace.values.items()}
    survey(trace, 4)
    assert all(torch.equal(trace.values[name], value) for name, value in before.items())


def test_under_a_causal_mask_uniform_attention_is_that_over_the_words_before():
    """All queries alike: the scores of a model without weights are 0, and each row is uniform over what it sees."""
    model = tiny(causal=True)
    with torch.no_grad():
        for layer in model.encoder.layers:
            layer.attention.w_q.weight.zero_()
            layer.attention.w_q.bias.zero_()
    trace = model.trace("the cat sat")
    n = trace.n_real
    measures = head_measures(trace)
    assert measures["relative_entropy"] == pytest.approx(np.ones_like(measures["relative_entropy"]), abs=1e-6)
    assert measures["entropy"][0, 0] == pytest.approx(sum(math.log(i + 1) for i in range(n)) / n, abs=1e-6)
    assert head_types.sink(trace, 0, 0, threshold=0.0) is None, "as much as uniform attention gives is not a sink"
    assert uniform_share(n, True, (0,)) == pytest.approx(trace.attention(0, 0)[:, 0].mean().item())
    assert uniform_share(n, False, (0, 1)) == pytest.approx(2 / n)


@pytest.mark.parametrize(
    "text", ["a", "the cat sat on a mat and the dog ran to the big red bus , the bank of the river !"]
)
def test_the_range_of_a_measure_is_its_own_whatever_the_heads_say(text: str):
    measures = head_measures(tiny().trace(text))
    for one in HEAD_MEASURES:
        values = measures[one.name]
        low, high = one.limits(values, measures.n_tokens)
        assert low == 0.0 < high, f"{one.name} is never below 0"
        assert np.nanmax(values, initial=0.0) <= high + 1e-6
    limits = BY_NAME["relative_entropy"].limits(measures["relative_entropy"], measures.n_tokens)
    assert limits == BY_NAME["previous"].limits(measures["previous"], 3) == (0.0, 1.0)
    figure = measure_map(measures["relative_entropy"], limits, "normalised entropy")
    assert (figure.data[0].zmin, figure.data[0].zmax) == (0.0, 1.0)
