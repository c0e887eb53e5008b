"""Bars with their names and numbers as HTML: answers of a class, a row of weights, numbers that are compared."""

import html
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One bar. said: its number, as shown; share: its length, 0 to 1; right: marked by a sign, a frame and bold type.

    reason: why somebody thinks so, or "".
    """

    label: str
    said: str
    share: float
    right: bool = False
    reason: str = ""


def table(lines: Sequence[Line], caption: str) -> str:
    """The lines as a table; every text is escaped. caption: what its numbers are."""
    rows = "".join(map(_row, lines))
    return f"<table class='enc-bars'><caption>{html.escape(caption)}</caption><tbody>{rows}</tbody></table>"


def _row(line: Line) -> str:
    reason = f"<br><small>“{html.escape(line.reason)}”</small>" if line.reason else ""
    return (
        f"<tr{' data-right' if line.right else ''}><th scope='row'>{html.escape(line.label)}"
        f"{' ✓' if line.right else ''}{reason}</th><td>{html.escape(line.said)}</td>"
        f"<td><i style='width:{100 * line.share:.0f}%'></i></td></tr>"
    )
