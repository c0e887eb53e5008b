"""Numbers as pages, reports and the browser show them."""

from __future__ import annotations

import pytest

from encoder.figures.numbers import three_digits


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (0.1844, "0.184"),
        (0.9996, "1"),
        (0.00245, "0.00245"),
        (1e-6, "0.000001"),
        (1.234e-7, "1.23e-7"),
        (1.2e-12, "1.2e-12"),
        (1234.5, "1230"),
        (999_600, "1000000"),
        (1.5e9, "1500000000"),
        (-0.25, "-0.25"),
        (0.0, "0"),
        (-0.0, "0"),
        (float("nan"), "no value"),
        (float("inf"), "no value"),
    ],
)
def test_three_significant_digits(value: float, text: str):
    assert three_digits(value) == text


@pytest.mark.parametrize("exponent", range(-9, 10))
def test_every_magnitude_keeps_three_digits(exponent: int):
    for digits in (1.0, 1.005, 2.5, 3.14159, 9.994, 9.996):
        value = digits * 10.0**exponent
        assert float(three_digits(value)) == pytest.approx(value, rel=5.1e-3)
        assert float(three_digits(value)) == float(f"{value:.2e}")
        assert ("e" in three_digits(value)) == (float(f"{value:.2e}") < 1e-6), "plain digits, as a reader expects"
