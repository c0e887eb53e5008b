"""Numbers as people read them, the same on pages, in reports and in the browser."""

import math
from decimal import ROUND_HALF_UP, Context

import numpy as np

_THREE_DIGITS = Context(prec=3, rounding=ROUND_HALF_UP)


def three_digits(value: float) -> str:
    """Three significant digits without trailing zeros: 0.184, −1230, 1.2e-7. A tie is rounded away from 0.

    `threeDigits` in encoder/drawing/drawing.js gives the same text for every number.
    """
    rounded = float(_THREE_DIGITS.create_decimal_from_float(float(value)))
    if not math.isfinite(rounded):
        return "no value"
    if rounded == 0:
        return "0"  # no minus before a zero
    if 1e-6 <= abs(rounded) < 1e21:
        return _minus(np.format_float_positional(rounded, trim="-"))
    digits, _, exponent = repr(rounded).partition("e")
    return f"{_minus(digits)}e{int(exponent):+d}"


def in_words(value: float) -> str:
    """A number inside a sentence: three significant digits, without an exponent for a small one.

    A weight or a probability below 1 is never written as 1: another weight has the rest.
    `inWords` in encoder/drawing/drawing.js gives the same text.
    """
    if 0 < abs(value) < 1e-6:
        return "less than 0.000001"
    return ">0.999" if value < 1 and three_digits(value) == "1" else three_digits(value)


def exact_or_in_words(value: float) -> str:
    """A whole number in full, such as an id or a count: 1,996; any other number as `in_words` writes it."""
    return _minus(f"{int(value):,}") if float(value).is_integer() and abs(value) < 1e15 else in_words(value)


def signed(value: float, digits: int = 3) -> str:
    """A difference with so many decimals and its sign: +0.028, −0.028."""
    return _minus(f"{value:+.{digits}f}")


def _minus(text: str) -> str:
    """A minus sign in place of a hyphen at the beginning."""
    return text.replace("-", "−", 1) if text.startswith("-") else text


def percentage(share: float) -> str:
    """A share of 1 as "12.3%", rounded by itself: the same share has one text wherever it is shown."""
    return f"{_minus(f'{round(1000 * float(share)) / 10:.1f}')}%"
