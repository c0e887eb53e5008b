"""Numbers as people read them, the same on pages, in reports and in the browser."""

from __future__ import annotations

import math

import numpy as np


def three_digits(value: float) -> str:
    """Three significant digits without trailing zeros: 0.184, 1230, 1.2e-7; `threeDigits` in shared.js agrees."""
    if not math.isfinite(value):
        return "no value"
    rounded = float(f"{value:.2e}") + 0.0  # no minus before a zero
    if rounded == 0 or abs(rounded) >= 1e-6:
        return np.format_float_positional(rounded, trim="-")
    mantissa, _, exponent = f"{rounded:.2e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
