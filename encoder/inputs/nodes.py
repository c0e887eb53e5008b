"""Texts with nodes: where in the tree of an HTML page the words of a text are, as lines, as a short text, on tokens.

A node is a piece of text between two tags. It has a path: the tags around it from the root, each with its number among
the siblings of its name, as in /html/body/div[2]. A text has its nodes one after the other, with a blank between them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from encoder.errors import TextError, quoted
from encoder.inputs.text import Tokenized, readable

#: Words between blanks, and the path.
Node = tuple[int, str]
#: (first character, one past the last).
Span = tuple[int, int]
#: The path of a word of which none is known, as in transformers' MarkupLMTokenizer.
UNKNOWN = "/document/node"
#: One line of nodes, for people.
LINE = "/path/of/the/node its words"
WORD = re.compile(r"\S+")
#: A step of a path: a tag, and perhaps its number.
STEP = re.compile(r"([^/\[\]\s]+)(?:\[([0-9]{1,8})\])?")
#: Characters of a path.
LONGEST_PATH = 10_000


@dataclass(frozen=True)
class NodeTexts:
    """The nodes of a page: their texts, none of them empty, and their paths."""

    texts: tuple[str, ...]
    paths: tuple[str, ...]

    @property
    def text(self) -> str:
        """The nodes with blanks between them."""
        return " ".join(self.texts)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """What `trace(text, nodes=...)` accepts next to `text`."""
        return tuple((len(text.split()), path) for text, path in zip(self.texts, self.paths, strict=True))

    @property
    def lines(self) -> str:
        """A line for each node, its inner white space as blanks: `read_lines` reads it."""
        return "\n".join(f"{path} {' '.join(text.split())}" for text, path in zip(self.texts, self.paths, strict=True))


def texts_of(text: str, nodes: Sequence[Node]) -> NodeTexts:
    """The nodes of a text. Raises TextError for nodes that do not fit it."""
    spans = spans_of(text, nodes)
    return NodeTexts(tuple(text[start:end] for start, end in spans), tuple(path for _, path in nodes))


def checked(nodes: Iterable[Any]) -> tuple[Node, ...]:
    """The nodes themselves. Raises TextError for what is none."""
    found = []
    for one in nodes:
        try:
            n_words, path = one
        except (TypeError, ValueError):
            raise TextError(f"{quoted(one)} is not a node: specify its number of words and its path.") from None
        if type(n_words) is not int or n_words < 1:
            raise TextError(f"The node {quoted(one)} has {quoted(n_words)} words: specify a whole number from 1.")
        steps_of(path)
        found.append((n_words, path))
    return tuple(found)


def steps_of(path: Any) -> list[tuple[str, int]]:
    """The tags of a path with their numbers, 0 for none. Raises TextError for any other text."""
    parts = path.split("/")[1:] if isinstance(path, str) and path[:1] == "/" and len(path) < LONGEST_PATH else [""]
    steps = [STEP.fullmatch(part) for part in parts]
    if None in steps:
        raise TextError(
            f"{quoted(path)} is not a path: write the tags from the root with their numbers, such as /html/body/div[2]."
        )
    return [(step[1], int(step[2] or 0)) for step in steps if step is not None]


def spans_of(text: str, nodes: Sequence[Node]) -> list[Span]:
    """Where each node is in its text. Raises TextError for another number of words."""
    words = [one.span() for one in WORD.finditer(text)]
    n_words = sum(count for count, _ in nodes)
    if n_words != len(words):
        raise TextError(
            f"This text has {len(words):,} words between blanks and its nodes have {n_words:,}: specify as many."
        )
    spans, first = [], 0
    for count, _ in nodes:
        spans.append((words[first][0], words[first + count - 1][1]))
        first += count
    return spans


@dataclass(frozen=True)
class TagTable:
    """How a tokenizer makes numbers of a path: so many tags, then so many numbers among siblings."""

    #: Tag -> its row.
    tags: dict[str, int]
    #: Steps of a path; longer ones are cut.
    steps: int = 50
    #: The largest number among siblings; larger ones count as this one.
    largest: int = 1_000
    #: The number of a step after the end of a path.
    no_number: int = 1_001

    @property
    def nowhere(self) -> tuple[int, ...]:
        """The place of a special token."""
        return (len(self.tags) + 1,) * self.steps + (self.no_number,) * self.steps

    def place(self, path: str) -> tuple[int, ...]:
        """The numbers of a path. A tag that is not known has a row of its own."""
        steps = steps_of(path)[: self.steps]
        rest = self.steps - len(steps)
        tags = [self.tags.get(tag, len(self.tags)) for tag, _ in steps] + [len(self.tags) + 1] * rest
        numbers = [min(number, self.largest) for _, number in steps] + [self.no_number] * rest
        return (*tags, *numbers)


def words_as_nodes(text: str) -> tuple[Node, ...]:
    """Each word as a node of an unknown path."""
    return tuple((1, UNKNOWN) for _ in WORD.finditer(text))


def nodes_of_tokens(sentence: Tokenized) -> list[int | None]:
    """[T]: the node of each token; None for special tokens and for the first text of two."""
    if sentence.nodes is None:
        return [None] * len(sentence)
    text, in_second = (sentence.text, False) if sentence.pair is None else (sentence.pair, True)
    ends = [end for _, end in spans_of(text, sentence.nodes)]
    first = _tokens_of_first(sentence) if in_second else 0
    return [
        None if special or at < first else min(bisect_right(ends, max(start, stop - 1)), len(ends) - 1)
        for at, (special, (start, stop)) in enumerate(zip(sentence.special, sentence.offsets, strict=True))
    ]


def _tokens_of_first(sentence: Tokenized) -> int:
    """Tokens up to the end of the first text of two."""
    inside, found = False, 0
    for at, special in enumerate(sentence.special):
        inside = inside or not special
        if inside and special:
            return at
        found = at + 1
    return found


def given_nodes(sentence: Tokenized) -> tuple[Node, ...] | None:
    """The nodes of a text; None where none were given, so each word is one of an unknown path."""
    nodes = sentence.nodes
    return None if nodes is None or all(one == (1, UNKNOWN) for one in nodes) else nodes


def assumed(sentence: Tokenized | None) -> str:
    """What a model of trees assumes of a text without nodes, in a sentence; "" where it assumes nothing."""
    if sentence is None or sentence.nodes is None or given_nodes(sentence) is not None:
        return ""
    return f"No word has a path, so each is a node at {UNKNOWN}, as transformers makes it."


# --- as text ---------------------------------------------------------------------------------------------------------


def read_lines(text: str) -> NodeTexts:
    """Nodes from lines such as "/html/body/h1 Quarterly report". Raises TextError that names the line."""
    texts, paths = [], []
    for number, line in enumerate(readable(text).splitlines(), 1):
        if not line.strip():
            continue
        path, _, words = line.strip().partition(" ")
        if not words.strip():
            raise TextError(f"Line {number:,} is {quoted(line)}: write each line as “{LINE}”.")
        try:
            steps_of(path)
        except TextError as error:
            raise TextError(f"Line {number:,}: {error}") from None
        texts.append(words.strip())
        paths.append(path)
    return NodeTexts(tuple(texts), tuple(paths))


def write_short(nodes: Sequence[Node]) -> str:
    """Nodes as a text for addresses: "2/html/body/h1 5/html/body/p". No path has a blank."""
    return " ".join(f"{count}{path}" for count, path in nodes)


def read_short(text: str) -> tuple[Node, ...]:
    """What `write_short` wrote. Raises TextError for anything else."""
    found = []
    for part in text.split(" "):
        count, slash, path = part.partition("/")
        if not count.isascii() or not count.isdigit() or len(count) > 8:
            raise TextError(f"{quoted(part)} is not a node: write its number of words, then its path.")
        found.append((int(count), slash + path))
    return checked(found)
