"""Typed text inside Markdown."""

from __future__ import annotations

from encoder import figures


def plain(text: str) -> str:
    """A text inside Markdown, shown as it was typed: marks are escaped, right-to-left text is isolated."""
    marks = r"\`*_{}[]()#+-.!|<>$:~^"
    return "".join("\\" + character if character in marks else character for character in figures.isolated(text))
