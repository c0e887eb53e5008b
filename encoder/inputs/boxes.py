"""Words with boxes: where each word of a text is on its page, as lines, as a short text for links, and on tokens.

A box is left, upper, right, lower, in thousandths of the page's width and height, from its upper left corner.

Shapes: T tokens, W words: the parts of a text between blanks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from encoder.errors import TextError, quoted
from encoder.inputs import nodes
from encoder.inputs.text import Tokenized, readable
from encoder.model.boxes import LARGEST_PLACE, Boxes
from encoder.model.config import Patches
from encoder.model.paths import Paths

Box = tuple[int, int, int, int]
#: One line of words with boxes, for people.
LINE = "word left upper right lower"
#: A special token, and a word without a place, have this box.
NOWHERE: Box = (0, 0, 0, 0)


@dataclass(frozen=True)
class Words:
    """The words of a page, W of them, and their boxes."""

    words: tuple[str, ...]
    boxes: tuple[Box, ...]

    @property
    def text(self) -> str:
        """The words with blanks between them."""
        return " ".join(self.words)

    @property
    def lines(self) -> str:
        """A line for each word: `read_lines` reads it."""
        return "\n".join(f"{word} {' '.join(map(str, box))}" for word, box in zip(self.words, self.boxes, strict=True))


def words_of(text: str, boxes: Iterable[Any], largest: int) -> Words:
    """The words of a text with their boxes. Raises TextError for another number of boxes, and for one that is none."""
    words, found = tuple(readable(text).split()), tuple(checked(one, largest) for one in boxes)
    if len(words) != len(found):
        raise TextError(
            f"This text has {len(words):,} words between blanks and {len(found):,} boxes: specify one box for each."
        )
    if not words:
        raise TextError("This text has no words, so it has no boxes: type a word, or leave the boxes out.")
    return Words(words, found)


def of_parts(parts: Iterable[tuple[str, Box]]) -> Words:
    """Texts with a box each -> their words; the words of one text have the same box."""
    pairs = [(word, box) for text, box in parts for word in readable(text).split()]
    return Words(tuple(word for word, _ in pairs), tuple(box for _, box in pairs))


def parts_of(words: Words) -> list[tuple[str, Box]]:
    """The other way round: words next to each other with the same box are one text."""
    groups = groupby(zip(words.words, words.boxes, strict=True), key=itemgetter(1))
    return [(" ".join(word for word, _ in group), box) for box, group in groups]


def checked(given: Any, largest: int) -> Box:
    """The box itself. Raises TextError for what is none, or reaches beyond the largest coordinate."""
    try:
        numbers = tuple(given)
        box = tuple(map(int, numbers))
    except (TypeError, ValueError):
        numbers, box = (), ()
    if len(box) != 4 or box != numbers or min(box) < 0 or max(box) > largest or box[0] > box[2] or box[1] > box[3]:
        raise TextError(
            f"{quoted(given)} is not a box: specify left, upper, right and lower as whole numbers from 0 to "
            f"{largest:,}, left before right and upper before lower."
        )
    return box


def placed(sentence: Tokenized, words: Words, shape: Boxes) -> Tokenized:
    """The tokens of `words.text` with the boxes of their words. Special tokens are nowhere; the last one has the box
    that the model knows for it."""
    places = [NOWHERE if word is None else words.boxes[word] for word in words_of_tokens(sentence)]
    if sentence.special and sentence.special[-1]:
        places[-1] = (shape.end,) * 4
    return replace(sentence, places=tuple(places))


def with_page(sentence: Tokenized, patches: Patches) -> Tokenized:
    """The tokens of a text, then those of the image of its page: [PAGE], which has the whole page, and the patches."""
    side, n = patches.side, patches.n_tokens
    edges = [LARGEST_PLACE * at // side for at in range(side + 1)]
    boxes = [(1, 1, LARGEST_PLACE - 1, LARGEST_PLACE - 1)]
    boxes += [(edges[c], edges[r], edges[c + 1], edges[r + 1]) for r in range(side) for c in range(side)]
    names = ("[PAGE]", *(f"r{row} c{column}" for row in range(side) for column in range(side)))
    return replace(
        sentence,
        ids=sentence.ids + (-1,) * n,
        tokens=sentence.tokens + names,
        labels=sentence.labels + names,
        words=sentence.words + (-1,) * n,
        segments=sentence.segments + (0,) * n,
        special=sentence.special + (True,) * n,
        offsets=sentence.offsets + ((0, 0),) * n,
        n_full=sentence.n_full + n,
        places=(sentence.places or (NOWHERE,) * len(sentence)) + tuple(boxes),
        n_page_tokens=n,
    )


def words_of_tokens(sentence: Tokenized) -> list[int | None]:
    """[T]: the word between blanks that each token is a part of; None for special tokens and the image of a page."""
    ends, end = [], -1
    for word in sentence.text.split(" "):
        end += 1 + len(word)
        ends.append(end)
    pairs = zip(sentence.special, sentence.offsets, strict=True)
    return [None if special else min(bisect_left(ends, stop), len(ends) - 1) for special, (_, stop) in pairs]


def boxes_of(sentence: Tokenized) -> tuple[Box, ...] | None:
    """The boxes of the words of a text, which give the same tokens with places again; None without places.

    Words that were cut are nowhere.
    """
    if sentence.places is None or sentence.nodes is not None:
        return None
    if sentence.n_page_tokens and not any(map(any, sentence.places[: -sentence.n_page_tokens])):
        return None  # the image of a page only
    found = [NOWHERE] * len(sentence.text.split(" "))
    for word, place in zip(words_of_tokens(sentence), sentence.places, strict=True):
        if word is not None:
            left, upper, right, lower = place
            found[word] = (left, upper, right, lower)
    return tuple(found)


def assumed(shape: Boxes | Paths | None, sentence: Tokenized | None) -> str:
    """What a model of pages assumes of a text without boxes or nodes, in a sentence; "" where it assumes nothing."""
    if not isinstance(shape, Boxes):
        return nodes.assumed(sentence)
    if sentence is None or (sentence.places is not None and boxes_of(sentence) is not None):
        return ""
    return "No word has a box, so the model takes all boxes as 0, 0, 0, 0, the upper left corner of the page."


# --- as text ---------------------------------------------------------------------------------------------------------


def read_lines(text: str, largest: int) -> Words:
    """Words with boxes from lines such as "Total 80 640 150 665". Raises TextError that names the line."""
    words, boxes = [], []
    for number, line in enumerate(readable(text).splitlines(), 1):
        parts = line.split()
        if not parts:
            continue
        if len(parts) != 5 or not all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts[1:]):
            raise TextError(
                f"Line {number:,} is {quoted(line)}: write each line as “{LINE}”, such as “Total 80 640 150 665”."
            )
        try:
            boxes.append(checked(list(map(int, parts[1:])), largest))
        except TextError as error:
            raise TextError(f"Line {number:,}: {error}") from None
        words.append(parts[0])
    return Words(tuple(words), tuple(boxes))


def write_short(boxes: Sequence[Box]) -> str:
    """Boxes as a text that needs no escapes in an address: "80.640.150.665_..."."""
    return "_".join(".".join(map(str, box)) for box in boxes)


def read_short(text: str) -> tuple[Box, ...]:
    """What `write_short` wrote. Raises TextError for anything else; whether a box fits a model is checked later."""
    found = []
    for part in text.split("_"):
        numbers = part.split(".")
        if len(numbers) != 4 or not all(one.isascii() and one.isdigit() and len(one) < 9 for one in numbers):
            raise TextError(f"{quoted(part)} is not a box: write left.upper.right.lower, with “_” between boxes.")
        left, upper, right, lower = map(int, numbers)
        found.append((left, upper, right, lower))
    return tuple(found)
