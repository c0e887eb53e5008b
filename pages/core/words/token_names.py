"""Names of tokens in sentences: their text, with their position where the text occurs more than once."""

from collections.abc import Sequence

from pages.core.words.markdown import plain as markdown_plain


def repeated(labels: Sequence[str], place: int) -> bool:
    """Whether the text of this token occurs again."""
    return labels.count(labels[place]) > 1


def which(labels: Sequence[str], place: int, position: int | None = None) -> str:
    """ " (4)" after a token whose text occurs more than once, otherwise "". position: by default the place."""
    return f" ({place if position is None else position})" if repeated(labels, place) else ""


def plain(labels: Sequence[str], place: int) -> str:
    """A token inside Markdown: "mat", "the (4)", "“,” (4)"."""
    return word(labels[place]) + which(labels, place)


def bold(labels: Sequence[str], place: int, position: int | None = None) -> str:
    """The same with the text in bold: "**mat**", "**the** (4)". position: by default the place."""
    return f"**{word(labels[place])}**" + which(labels, place, position)


def some(labels: Sequence[str]) -> str:
    """The names in a row; of more than four the first two and the last: "[CLS], [DET0], …, [DET99]"."""
    return ", ".join(map(markdown_plain, labels if len(labels) <= 4 else (*labels[:2], "…", labels[-1])))


def quoted(labels: Sequence[str], place: int) -> str:
    """The same in quotation marks, for lists: a token may be a comma."""
    return f"“{markdown_plain(labels[place])}”" + which(labels, place)


def word(label: str) -> str:
    """A token inside Markdown, in quotation marks where it looks like a punctuation mark of the sentence."""
    shown = markdown_plain(label)
    return shown if any(character.isalnum() for character in label) else f"“{shown}”"
