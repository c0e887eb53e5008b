"""Bars with their names and numbers as HTML: answers of a class, a row of weights, numbers that are compared."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from pages.core.words.symbols import in_html


@dataclass(frozen=True)
class Line:
    """One bar, or up to three: a number that is compared with the model's, an earlier vote's, or both."""

    label: str
    #: The number, as shown.
    said: str
    #: Length of the bar, 0 to 1.
    share: float
    #: Marked by a sign, a frame and bold type.
    right: bool = False
    #: Why it is wrong, or "".
    reason: str = ""
    #: The numbers that this one is compared with, and the lengths of their bars, which are above its own.
    before: tuple[tuple[str, float], ...] = ()
    #: By which a teacher calls the option, or "".
    letter: str = ""


#: Marks of what a number is compared with, by which stage.css tells the bars apart.
_MARKS = (" data-first", " data-second")


def table(lines: Sequence[Line], caption: str, heads: Sequence[str] = ()) -> str:
    """The lines as a table; every text is escaped. caption: what its numbers are; heads: of each, where several."""
    rows = "".join(map(_row, lines))
    head = ""
    if heads:
        marks = (*_MARKS[: len(heads) - 1], "")
        named = (f"<th scope='col'{mark}>{html.escape(one)}</th>" for one, mark in zip(heads, marks, strict=True))
        head = f"<thead><tr><td></td>{''.join(named)}<td></td></tr></thead>"
    return f"<table class='enc-bars'><caption>{html.escape(caption)}</caption>{head}<tbody>{rows}</tbody></table>"


def drawn(line: Line) -> str:
    """The bar of a line, below those that it is compared with."""
    shares = (*(share for _, share in line.before), line.share)
    marks = (*_MARKS[: len(line.before)], "")
    return "".join(f"<i{mark} style='width:{100 * one:.3g}%'></i>" for one, mark in zip(shares, marks, strict=True))


def lettered(line: Line) -> str:
    """The label of a line, after the letter by which it is called, as HTML."""
    return (f"<b>{line.letter}</b> " if line.letter else "") + in_html(line.label)


def _row(line: Line) -> str:
    width = 3 + len(line.before)
    reason = f"<tr class='enc-reason'><td colspan='{width}'>{in_html(line.reason)}</td></tr>" if line.reason else ""
    before = "".join(f"<td>{html.escape(said)}</td>" for said, _ in line.before)
    return (
        f"<tr{' data-right' if line.right else ''}><th scope='row'>{lettered(line)}"
        f"{' ✓' if line.right else ''}</th>{before}<td>{html.escape(line.said)}</td>"
        f"<td>{drawn(line)}</td></tr>{reason}"
    )
