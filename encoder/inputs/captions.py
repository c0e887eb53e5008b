"""Captions of handwritten digits: the words of digits, and templates with a place for one."""

import re
import tomllib
from pathlib import Path

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_WRITTEN = tomllib.loads((Path(__file__).parent / "templates.toml").read_text(encoding="utf-8"))["written"]
#: Templates of captions, and those for a digit only, without adjectives.
TEMPLATES, PLAIN_TEMPLATES = tuple(_WRITTEN["trained"]), tuple(_WRITTEN["plain"])
#: Never trained on.
UNSEEN_TEMPLATES = tuple(_WRITTEN["unseen"])


def filled(template: str, number: str) -> str:
    """A template with its number: "a {number}", "eight" -> "an eight"."""
    text = template.format(number=number)
    return re.sub(r"\ba (?=[aeiou8]|11\b|18\b)(?!one\b)", "an ", text)
