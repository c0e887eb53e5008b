"""Formulas on a page, in the colours of the theme: Q blue, K red, V green."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder.explain.latex import Formula, for_theme

#: KaTeX lets its boxes stick out: a fraction in the first line by some pixels above, and every table by two at the
#: right (an empty column for Safari). Streamlit clips the one and draws a scroll bar for the other. On a phone,
#: matrices of four columns fit at the size of the text only.
STYLE = """
.stMain .katex-display > .katex > .katex-html { padding: 0.35em 2px; }
.stMain .katex-display { margin: 0.5em 0; }
@media (max-width: 640px) { .stMain .katex-display > .katex { font-size: 1em; } }
"""


def number(value: float, digits: int = 3) -> str:
    """A number in a sentence, with a minus sign and not a hyphen; in powers of ten where it would read 0."""
    if value and abs(value) < 0.5 * 10**-digits:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa} × 10{exponent_text(int(exponent))}".replace("-", "−")
    return f"{value:.{digits}f}".replace("-", "−")


def exponent_text(exponent: int) -> str:
    """-5 -> "⁻⁵"."""
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def show(*formulas: str, place: DeltaGenerator | None = None) -> None:
    """Typeset each formula on lines of its own."""
    dark = st.context.theme.type == "dark"
    for formula in formulas:
        (place or st).latex(for_theme(formula, dark))


def show_step(formula: Formula) -> None:
    """The rule, and below it the same with its numbers."""
    show(formula.symbols, formula.numbers)
