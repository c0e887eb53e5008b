"""Sums that do not depend on an order: fixed point, the strongest examples, the bootstrap."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoder.corpus.plan import is_sampled
from encoder.corpus.totals import (
    FRACTION_BITS,
    Top,
    bootstrap_weights,
    fits,
    fixed,
    interval,
    replicate_means,
    value,
    weighted_sums,
)

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.lists(NUMBERS, min_size=1, max_size=30), st.randoms())
def test_a_sum_is_the_same_bits_in_any_order_and_grouping(numbers, random):
    values = np.array(numbers)
    whole = fixed(values).sum(1)
    random.shuffle(numbers)
    cut = len(numbers) // 2
    parts = [fixed(np.array(some)).sum(1) for some in (numbers[:cut], numbers[cut:])]
    assert (parts[0] + parts[1] == whole).all()
    bound = len(numbers) * 2.0 ** -(FRACTION_BITS + 1)
    assert abs(Fraction(float(value(whole))) - sum(map(Fraction, numbers))) <= bound + 1e-15 * abs(math.fsum(numbers))


def test_what_does_not_fit_is_found():
    assert fits(np.array([0.0, -3.0, 40_000.0, 50_000.0, np.nan, np.inf])).tolist() == [True] * 3 + [False] * 3


def test_the_strongest_are_the_same_in_any_order_and_ties_are_decided():
    draw = np.random.default_rng(0)
    values = draw.integers(0, 4, (40, 2, 3, 2)) / 4
    values[:, 1, 2] = np.nan
    values[3:, 0, 0, 1] = np.nan
    lengths, texts = draw.integers(3, 6, 40), np.arange(100, 140)
    whole = Top.of_texts(values, lengths, texts, 4)
    order = draw.permutation(40)
    merged = Top.empty(4, 2, 3, 2)
    for some in np.array_split(order, 5):
        merged = merged.merged(Top.of_texts(values[some], lengths[some], texts[some], 4))
    for one, other in zip(vars(whole).values(), vars(merged).values(), strict=True):
        assert (one == other).all()
    ranked = sorted(range(40), key=lambda text: (-values[text, 0, 0, 0], -lengths[text], text))
    assert whole.text[:, 0, 0, 0].tolist() == [100 + text for text in ranked[:4]]
    assert whole.text[:, 0, 0, 1].tolist()[3] == -1
    assert (whole.text[:, 1, 2] == -1).all()


def test_bootstrap_weights_depend_on_the_seed_and_the_text_alone():
    one, other = bootstrap_weights([7, 3], 50, seed=1), bootstrap_weights([3], 50, seed=1)
    assert (one[:, 1] == other[:, 0]).all()
    assert not (one[:, 1] == bootstrap_weights([3], 50, seed=2)[:, 0]).all()
    assert bootstrap_weights(range(400), 50, seed=0).mean() == pytest.approx(1.0, abs=0.03)


def test_a_bootstrap_interval_is_about_two_standard_errors_on_each_side():
    values = np.random.default_rng(0).normal(0.5, 0.2, (1_000, 1))
    weights = bootstrap_weights(range(1_000), 400, seed=0)
    sums, counts = weighted_sums(weights, values), weights.sum(1, keepdims=True)
    low, high = interval(replicate_means(sums, counts))
    error = values.std(ddof=1) / math.sqrt(1_000)
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.15)
    assert low < values.mean() < high


@given(st.integers(1, 500), st.integers(1, 600))
def test_a_sample_has_the_wanted_size_and_is_spread_out(n_texts, wanted):
    chosen = [index for index in range(n_texts) if is_sampled(index, n_texts, wanted)]
    assert len(chosen) == min(n_texts, wanted)
    gaps = np.diff(chosen)
    assert not len(gaps) or gaps.max() - gaps.min() <= 1
