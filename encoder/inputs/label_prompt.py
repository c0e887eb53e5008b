"""What GLiNER reads: labels in words, each after a marker, a separator, then the words of a text.

    <<ENT>> person <<ENT>> place <<SEP>> Ada lived in London.

The labels are part of the text, so the encoder's tokens attend to them (Zaratiana et al. 2024).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from encoder.errors import ConfigError, TextError, quoted

#: A word of a text, or a sign: gliner's splitter "whitespace".
WORD = re.compile(r"\w+(?:[-_]\w+)*|\S")


def names(text: str) -> list[str]:
    """The labels of a typed list, such as "person, date of birth"; each once."""
    return list(dict.fromkeys(filter(None, (" ".join(part.split()) for part in text.split(",")))))


@dataclass(frozen=True)
class LabelPrompt:
    """How labels come before a text, and how both are split into words."""

    #: The token before each label.
    marker: str = "<<ENT>>"
    #: The token between the labels and the text.
    separator: str = "<<SEP>>"
    #: Words of a text that count.
    most_words: int = 384

    def __post_init__(self) -> None:
        for name in ("marker", "separator"):
            if not isinstance(value := getattr(self, name), str) or not value.strip():
                raise ConfigError(f"{name}={quoted(value)} is not a token: specify its text.")

    def before(self, labels: Sequence[str], text: str) -> str:
        """The text after its labels, cut after `most_words`. A text with labels of its own gets these in their place.

        Raises TextError for no label, for one that is empty or given twice, and for one that has a marker in it.
        """
        if isinstance(labels, str):
            raise TextError("The labels are one text: specify a list of names, such as ['person', 'place'].")
        if not labels:
            raise TextError("No labels: specify a name, such as person.")
        found = [" ".join(str(label).split()) for label in labels]
        for place, name in enumerate(found):
            if not name or self.marker in name or self.separator in name:
                raise TextError(f"The label {quoted(name)} is not a name: specify a word, such as 'person'.")
            if name in found[:place]:
                raise TextError(f"The label {quoted(name)} is there twice: remove one of them.")
        body = text[self.end(text) :].lstrip()
        words = list(WORD.finditer(body))
        if len(words) > self.most_words:
            body = body[: words[self.most_words - 1].end()]
        return " ".join([*(f"{self.marker} {name}" for name in found), self.separator, body])

    def end(self, text: str) -> int:
        """The first character after the separator; 0 for a text without labels."""
        at = text.find(self.separator)
        return at + len(self.separator) if at >= 0 and text.lstrip().startswith(self.marker) else 0

    def labels(self, text: str) -> tuple[str, ...]:
        """The labels of a text, in their order."""
        return tuple(text[start:end] for start, end in self._prompt(text) if text[start:end] not in self.tokens)

    @property
    def tokens(self) -> tuple[str, str]:
        """Both tokens."""
        return self.marker, self.separator

    def words(self, text: str) -> list[tuple[int, int]]:
        """(start, end) of every word: a marker, a label as a whole, the separator, then each word of the text."""
        end = self.end(text)
        return [*self._prompt(text), *(one.span() for one in WORD.finditer(text, end))]

    def _prompt(self, text: str) -> list[tuple[int, int]]:
        found, end = [], self.end(text)
        parts = "|".join(map(re.escape, self.tokens))
        for one in re.finditer(rf"{parts}|(?:(?!{parts})[\s\S])+", text[:end]):
            start = one.start() + len(one[0]) - len(one[0].lstrip())
            if one[0].strip():
                found.append((start, start + len(one[0].strip())))
        return found
