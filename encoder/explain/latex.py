"""Numbers and names as LaTeX for KaTeX: Q blue, K red, V green.

The colours are those of the light theme; `for_theme` replaces them in a finished formula.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = Sequence[float] | NDArray[np.floating]

#: role -> (colour of the light theme, colour of the dark theme), the text colours of .streamlit/config.toml.
COLOURS = {"q": ("#1a57ae", "#8bb9ff"), "k": ("#b32836", "#ff979c"), "v": ("#146c3a", "#74d6a0")}

#: Terms of a long sum before the dots.
SHOWN_TERMS = 3

_ESCAPES = {
    "\\": r"\textbackslash ",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "&": r"\&",
    "^": r"\textasciicircum ",
    "~": r"\textasciitilde ",
    "`": r"\textasciigrave ",
    "<": r"{<}",
    ">": r"{>}",
}


@dataclass(frozen=True)
class Formula:
    """The formula of a step as LaTeX. symbols: the rule; numbers: the rule with the selected numbers."""

    symbols: str
    numbers: str


def coloured(role: str, body: str) -> str:
    """`body` in the colour of "q", "k" or "v"; unchanged for any other role."""
    return rf"\textcolor{{{COLOURS[role][0]}}}{{{body}}}" if role in COLOURS else body


def for_theme(formula: str, dark: bool) -> str:
    """A formula in the colours of one theme."""
    for light_colour, dark_colour in COLOURS.values():
        formula = formula.replace(light_colour, dark_colour) if dark else formula.replace(dark_colour, light_colour)
    return formula


def number(value: float | np.floating, digits: int = 4) -> str:
    """A number with `digits` decimals, in powers of ten if it is very small or large; a masked score as -infinity."""
    value = float(value)
    if value <= -1e30:
        return r"-\infty"
    if value != 0.0 and (abs(value) < 0.5 * 10.0**-digits or abs(value) >= 1e6):
        mantissa, exponent = f"{value:.2e}".split("e")
        return rf"{mantissa}\cdot 10^{{{int(exponent)}}}"
    text = f"{value:.{digits}f}"
    return text[1:] if float(text) == 0.0 and text.startswith("-") else text


def divisor(value: float, figures: int = 4) -> str:
    """A divisor with enough decimals to show `figures` significant digits.

    With fewer, such as 0.0049 for 0.00487, a reader's own division would not give the printed result.
    """
    first = 0 if value == 0.0 else -math.floor(math.log10(abs(value)))
    return number(value, min(max(4, first + figures - 1), 8))


def bracketed(value: float, digits: int = 4) -> str:
    """A number as a factor or a summand, in brackets if it is negative."""
    text = number(value, digits)
    return f"({text})" if text.startswith("-") else text


def text(words: str, fallback: str = "token") -> str:
    r"""Escaped words inside \text{}. KaTeX has no metrics for most scripts, so a text beyond ASCII becomes `fallback`;
    the page names such a token next to the formula."""
    if not words.isascii() or not words.isprintable():
        words = fallback
    return r"\text{" + "".join(_ESCAPES.get(letter, letter) for letter in words) + "}"


def written_out(count: int, term: Callable[[int], str], chosen: int = 0) -> list[str]:
    """Some of the `count` terms of a sum, for `long_sum`: the first ones and the number of the others. The chosen term
    follows the dots unless it is one of the first."""
    if chosen < SHOWN_TERMS:
        return [term(index) for index in range(min(SHOWN_TERMS, count))] + left_out(count)
    return [term(index) for index in range(SHOWN_TERMS - 1)] + left_out(count) + [term(chosen)]


def products(left: Numbers, right: Numbers, roles: tuple[str, str] = ("", ""), chosen: int = 0) -> list[str]:
    """Some terms of a dot product, with the chosen one, for `long_sum`."""
    return written_out(
        len(left),
        lambda k: coloured(roles[0], bracketed(left[k])) + r" \cdot " + coloured(roles[1], bracketed(right[k])),
        chosen,
    )


def summands(values: Numbers, role: str = "", chosen: int = 0) -> list[str]:
    """Some terms of a sum, with the chosen one, for `long_sum`."""
    return written_out(len(values), lambda k: coloured(role, bracketed(values[k])), chosen)


def left_out(count: int) -> list[str]:
    """The dots for the other terms of a sum; empty if there are none."""
    rest = count - SHOWN_TERMS
    return [rf"\cdots \;\text{{({rest:,} more)}}".replace(",", "{,}")] if rest > 0 else []


def long_sum(terms: Sequence[str]) -> str:
    """A long sum with one term per line, inside `calculation`."""
    return r" \\ &\quad + ".join(terms)


def fraction(over: str, under: str) -> str:
    """A fraction."""
    return rf"\frac{{{over}}}{{{under}}}"


def column(first: str, second: str) -> str:
    """A column vector of two entries."""
    return rf"\begin{{pmatrix}} {first} \\ {second} \end{{pmatrix}}"


def stack(*rows: str) -> str:
    """Statements below each other, to fit a narrow screen."""
    if len(rows) == 1:
        return rows[0]
    body = r" \\[6pt] ".join(rows)
    return rf"\begin{{gathered}} {body} \end{{gathered}}"


def calculation(*parts: tuple[str, Sequence[str]]) -> str:
    """Calculations below each other, each (left side, its values), aligned at the equals signs.

    One line per value fits a narrow screen.
    """
    # Without extra space, fractions in neighbouring lines touch.
    rows = [rf"{left} " + r" \\[6pt] ".join(f"&= {value}" for value in values) for left, values in parts]
    return r"\begin{aligned} " + r" \\[10pt] ".join(rows) + r" \end{aligned}"
