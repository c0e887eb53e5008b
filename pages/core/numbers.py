"""Numbers as people read them, the same in Python as in the browser."""

from __future__ import annotations

import math

import numpy as np


def three_digits(value: float) -> str:
    """Three digits that count: 0.184, 0.00245, 0.5, 1.2e-7; as `threeDigits` of the components' shared.js writes it."""
    if not math.isfinite(value):
        return "no value"
    rounded = float(f"{value:.2e}")
    if rounded == 0 or abs(rounded) >= 1e-6:
        return np.format_float_positional(rounded, trim="-")
    mantissa, _, exponent = f"{rounded:.2e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
