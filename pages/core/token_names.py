"""Tokens in sentences: by their text, and by their position too where that text stands more than once."""

from __future__ import annotations

from collections.abc import Sequence

from pages.core import sidebar


def repeated(labels: Sequence[str], place: int) -> bool:
    """Whether the text of this token stands at another place, too."""
    return labels.count(labels[place]) > 1


def which(labels: Sequence[str], place: int, position: int | None = None) -> str:
    """ " (4)" behind a token whose text stands more than once, otherwise "". position: where it is not the place."""
    return f" ({place if position is None else position})" if repeated(labels, place) else ""


def plain(labels: Sequence[str], place: int) -> str:
    """A token inside Markdown: "mat", "the (4)", "“,” (4)"."""
    return word(labels[place]) + which(labels, place)


def bold(labels: Sequence[str], place: int, position: int | None = None) -> str:
    """The same with the text in bold: "**mat**", "**the** (4)". position: where it is not the place."""
    return f"**{word(labels[place])}**" + which(labels, place, position)


def quoted(labels: Sequence[str], place: int) -> str:
    """The same in quotation marks, where several stand in a row: a token may be a comma."""
    return f"“{sidebar.plain(labels[place])}”" + which(labels, place)


def word(label: str) -> str:
    """A token inside Markdown, in quotation marks where it could be taken for a mark of the sentence."""
    shown = sidebar.plain(label)
    return shown if any(character.isalnum() for character in label) else f"“{shown}”"
