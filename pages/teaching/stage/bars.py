"""Bars with their names and numbers as HTML: answers of a class, a row of weights, numbers that are compared."""

import html
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One bar, or two: a number that is compared with an earlier one, or with the model's."""

    label: str
    #: The number, as shown.
    said: str
    #: Length of the bar, 0 to 1.
    share: float
    #: Marked by a sign, a frame and bold type.
    right: bool = False
    #: Why somebody thinks so, or "".
    reason: str = ""
    #: The number that this one is compared with, and the length of its bar, which is above the other; None: one bar.
    first: tuple[str, float] | None = None


def table(lines: Sequence[Line], caption: str, heads: tuple[str, str] | None = None) -> str:
    """The lines as a table; every text is escaped. caption: what its numbers are; heads: of both numbers of a pair."""
    rows = "".join(map(_row, lines))
    head = ""
    if heads is not None:
        first, second = map(html.escape, heads)
        both = f"<th scope='col' data-first>{first}</th><th scope='col'>{second}</th>"
        head = f"<thead><tr><td></td>{both}<td></td></tr></thead>"
    return f"<table class='enc-bars'><caption>{html.escape(caption)}</caption>{head}<tbody>{rows}</tbody></table>"


def drawn(line: Line) -> str:
    """The bar of a line, below the one that it is compared with."""
    first = "" if line.first is None else f"<i data-first style='width:{100 * line.first[1]:.0f}%'></i>"
    return f"{first}<i style='width:{100 * line.share:.0f}%'></i>"


def _row(line: Line) -> str:
    reason = f"<br><small>“{html.escape(line.reason)}”</small>" if line.reason else ""
    first = "" if line.first is None else f"<td>{html.escape(line.first[0])}</td>"
    return (
        f"<tr{' data-right' if line.right else ''}><th scope='row'>{html.escape(line.label)}"
        f"{' ✓' if line.right else ''}{reason}</th>{first}<td>{html.escape(line.said)}</td>"
        f"<td>{drawn(line)}</td></tr>"
    )
