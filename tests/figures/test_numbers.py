"""Numbers as pages, reports and the browser show them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from encoder.drawing.javascript import SHARED
from encoder.figures.numbers import exact_or_in_words, in_words, percentage, three_digits
from tests.run_javascript import evaluated


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
        (0.3125, "0.313"),
        (-1.125, "−1.13"),
        (1e22, "1e+22"),
        (1.5e9, "1500000000"),
        (-0.25, "−0.25"),
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
    for digits in (1.0, 1.006, 2.5, 3.14159, 9.994, 9.996):
        value = digits * 10.0**exponent
        assert float(three_digits(value)) == pytest.approx(value, rel=5.1e-3)
        assert float(three_digits(value)) == float(f"{value:.2e}")
        assert ("e" in three_digits(value)) == (float(f"{value:.2e}") < 1e-6), "plain digits, as a reader expects"


def test_a_whole_number_is_written_in_full():
    values = (1996, 2000.0, 1536.0, 0.0, -1996, 412_345_678.0, 0.18449, 1996.4, 3e20, 2.12e-8, float("nan"))
    texts = (
        "1,996",
        "2,000",
        "1,536",
        "0",
        "−1,996",
        "412,345,678",
        "0.184",
        "2000",
        "300000000000000000000",
        "less than 0.000001",
        "no value",
    )
    assert tuple(map(exact_or_in_words, values)) == texts


def test_the_browser_writes_the_same_numbers(tmp_path: Path) -> None:
    ties = [0.3125, 1.125, 1.375, 0.15625, 2.625, 100.5, 101.5, 1234.5, 1235.0, 1245.0, 999.5]
    near = [1.005, 0.0625, 0.1844, 0.9994, 0.9996, 0.00245, 999_600.0, 9.995e-7, 9.994e-7, 1.234e-7]
    sizes = [10.0**exponent for exponent in (-9, -7, -6, -1, 0, 3, 9, 15, 16, 20, 21, 22)]
    ends = [0.0, 9.996e20, 2.5e-12, 5e-324, 1.7976931348623157e308, float("inf")]
    values = [sign * value for value in (*ties, *near, *sizes, *ends) for sign in (1, -1)] + [float("nan")]
    written = evaluated(SHARED / "drawing.js", "threeDigits", f"{json.dumps(values)}.map(threeDigits)", tmp_path)
    assert written == [three_digits(value) for value in values]
    small = [0.0, 9.9e-7, -9.9e-7, 1e-6, 5.93e-24, 0.677, 0.9994, 0.99986, 1.0, 1.0001]
    written = evaluated(SHARED / "drawing.js", "inWords", f"{json.dumps(small)}.map(inWords)", tmp_path)
    assert written == [in_words(value) for value in small]
    assert "e-" not in "".join(written)
    assert written[-4:] == ["0.999", ">0.999", "1", "1"], "a weight below 1 is not 1"


def test_a_percentage_is_rounded_by_itself():
    assert [percentage(share) for share in (0.16043, 0.19049, 1 / 3, -0.10002, -0.0001)] == [
        "16.0%", "19.0%", "33.3%", "−10.0%", "0.0%",
    ]  # fmt: skip
