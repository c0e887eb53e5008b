"""Foreign text inside Markdown: what somebody typed, an address asked for, or a file of a checkpoint contains."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import streamlit as st

from encoder import EncoderError, OutOfMemory, figures

#: Every character that begins a mark, an entity or a directive of Streamlit's (":red[...]").
MARKS = frozenset(r"\`*_{}[]()#+-.!|<>$:~^&=")
#: GitHub's Markdown makes links of these even where a mark is escaped. A word joiner (U+2060) has no width.
_LINKED = re.compile(r"(?i)(https?|ftp|mailto|xmpp)(?=:)|www(?=\.)|(?<=\S)@(?=\S)")
#: Characters of a model's name.
LONGEST_NAME = 80
#: Characters of an error that a box shows.
LONGEST_ERROR = 1_200


def plain(text: str) -> str:
    """A text inside Markdown, shown as it was typed: marks are escaped, right-to-left text is isolated."""
    text = _LINKED.sub(lambda found: found[0] + "\N{WORD JOINER}", figures.isolated(text))
    return "".join("\\" + character if character in MARKS else character for character in text)


def table(names: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """A table in Markdown: columns of words, as many as `words`, then columns of numbers."""
    lines = [names, [":--"] * words + ["--:"] * (len(names) - words), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def screen_name(name: str) -> str:
    """The name of a model for titles and sentences, from a folder or a file: without marks and links, and not long."""
    kept = re.sub(r"[^\w .,+/()-]+", " ", re.sub(r"(?i)www\.", "www ", name))
    return " ".join(kept.split())[:LONGEST_NAME] or "a model without a name"


def say_error(
    error: Exception,
    show: Callable[..., Any] | None = None,
    *,
    icon: str | None = ":material/error:",
    before: str = "",
    after: str = "",
) -> None:
    """Show the sentence of an error in a box. It may quote foreign text, so nothing in it is Markdown.

    show: `st.error`, or another box; before, after: sentences of our own around it.
    """
    sentence = str(error)
    if len(sentence) > LONGEST_ERROR:
        sentence = f"{sentence[: LONGEST_ERROR // 2]} … {sentence[-LONGEST_ERROR // 2 :]}"
    (show or st.error)(before + plain(sentence) + after, icon=icon)


@contextmanager
def errors_said(show: Callable[..., Any] | None = None, **options: Any) -> Iterator[None]:
    """Say an EncoderError of the block as `say_error` does, and go on after the block.

    Too little memory ends the page instead: its frame frees some and says so.
    """
    try:
        yield
    except OutOfMemory:
        raise
    except EncoderError as error:
        say_error(error, show, **options)
