"""Numbers and formulas on a page; formulas in the colours of the theme: Q blue, K red, V green."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from encoder.explain.latex import for_theme

if TYPE_CHECKING:
    import pandas as pd
    from pandas.io.formats.style import Styler


def number(value: float, digits: int = 3) -> str:
    """A number in a sentence, with a minus sign instead of a hyphen; in powers of ten where it would read 0."""
    if value and abs(value) < 0.5 * 10**-digits:
        mantissa, exponent = f"{value:.1e}".split("e")
        power = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"{mantissa} × 10{power}".replace("-", "−")
    return f"{value:.{digits}f}".replace("-", "−")


def in_columns(frame: pd.DataFrame, columns: Sequence[str], digits: int, missing: str = "") -> Styler:
    """A table for `st.dataframe` whose columns show `number`; missing: in place of a number that is not there."""
    styled = frame.fillna(dict.fromkeys(columns, 0.0)).style  # of an empty cell Streamlit shows its own “None”
    styled.format({name: partial(number, digits=digits) for name in columns})
    for name in columns:
        styled.format(lambda _: missing, subset=(frame[name].isna(), [name]))
    return styled


def change(before: float, after: float) -> str:
    """A number before and after, with the difference: "**1.000** → **0.952** (difference −0.048)"."""
    return f"**{number(before)}** → **{number(after)}** (difference {number(after - before)})"


def show(*formulas: str) -> None:
    """Typeset each formula on its own lines."""
    for formula in formulas:
        st.latex(for_theme(formula, st.context.theme.type == "dark"))
