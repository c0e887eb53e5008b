"""What the bundled translators `dates` accept: English dates -> "1998-03-21", and number words -> their digits.

The form of the input tells the tasks apart: number words only are a number from 0 to 9,999, anything else is a date.
One unknown word may come first.
`answer` works out the right output by rules, with the source tokens that give each of its characters. It shares nothing
with the model, so what the model attends to can be compared with it.

Rules: years are 1950 to 2049, so '49 is 2049 and '50 is 1950. A year with four digits may come first. In a date of
digits only, the number above 12 is the day; 3/4/98 has no answer, since writers differ about its month.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import tokenizers
from tokenizers import decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece

from encoder.inputs.text import Tokenized
from encoder.inputs.tokenizer import Tokenizer

#: The models whose right outputs these rules know.
MODELS = ("dates-pre", "dates-post")
START, END, PAD, UNKNOWN = "[CLS]", "[SEP]", "[PAD]", "[UNK]"
UNITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TEENS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
#: The first, second ... thirty-first day: units and teens, and the two tens.
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
            "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
            "nineteenth")  # fmt: skip
ORDINAL_TENS = {"twentieth": 20, "thirtieth": 30}
MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
          "december")  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SUFFIXES = ("st", "nd", "rd", "th")
#: Words that give nothing of the answer.
FRAME = ("the", "of", "on", "in", "and", "a", "day", "year", "dated", "born", "date")
FIRST_YEAR, LAST_YEAR = 1950, 2049
#: Tokens of the longest input and output, special tokens included.
MOST_SOURCE, MOST_TARGET = 32, 16

VALUES = {word: number for number, word in enumerate((*UNITS, *TEENS))}
VALUES |= {word: 10 * number for number, word in enumerate(TENS, 2)}
DAYS = {word: number for number, word in enumerate(ORDINALS, 1)} | ORDINAL_TENS
MONTH_OF = {name: number for number, month in enumerate(MONTHS, 1) for name in (month, month[:3])} | {"sept": 9}

#: Digits of an answer from its end, each with the tokens that give it.
Digits = dict[int, tuple[int, tuple[int, ...]]]


@dataclass(frozen=True)
class Answer:
    """The right output and its alignment. pairs: (character of the output, token of the source) where that token gives
    it; a character that only the form of the output gives, as a hyphen, has no pair.
    """

    output: str
    pairs: tuple[tuple[int, int], ...]


def vocabulary() -> list[str]:
    """The special tokens, signs, digits at the start and inside of a number, and all words."""
    signs = "/ - . , '".split()
    digits = [str(digit) for digit in range(10)]
    words = {*VALUES, *DAYS, *MONTH_OF, *WEEKDAYS, *FRAME, "hundred", "thousand", "oh"}
    inside = [f"##{part}" for part in (*digits, *SUFFIXES)]
    return [PAD, UNKNOWN, START, END, *signs, *digits, *inside, *sorted(words)]


def tokenizer() -> Tokenizer:
    """WordPiece over `vocabulary`, in lower case: "21st" -> 2 ##1 ##st. It serves input and output."""
    ids = {word: index for index, word in enumerate(vocabulary())}
    backend: tokenizers.Tokenizer = tokenizers.Tokenizer(WordPiece(ids, unk_token=UNKNOWN))
    backend.add_special_tokens([PAD, UNKNOWN, START, END])
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.Sequence([decoders.Replace("##", ""), decoders.Fuse()])
    backend.post_processor = processors.TemplateProcessing(
        single=f"{START} $A {END}",
        pair=f"{START} $A {END} $B:1 {END}:1",
        special_tokens=[(START, ids[START]), (END, ids[END])],
    )
    special = {"pad_token": PAD, "unk_token": UNKNOWN, "cls_token": START, "sep_token": END}
    return Tokenizer(backend, special)


# --- the right answer -------------------------------------------------------------------------------------------------


@dataclass
class _Part:
    """A number or month of the input. kind: "month", "day" (an ordinal), "words" or "digits"; short: after a '."""

    kind: str
    digits: Digits
    short: bool = False

    @property
    def value(self) -> int:
        return sum(digit * 10**place for place, (digit, _) in self.digits.items())


def answer(sentence: Tokenized) -> Answer | None:
    """The right output for a text, or None for one that has none by the rules above."""
    if UNKNOWN in sentence.tokens[2:] or sentence.pair is not None:
        return None
    parts = list(_parts(sentence.tokens))
    if [part.kind for part in parts] == ["words"]:
        number = parts[0]
        return _written([(number, len(str(number.value)))]) if number.value < 10_000 else None
    found = _roles(parts)
    if found is None:
        return None
    year, month, day = found
    if year.kind == "digits" and len(year.digits) == 2:  # the century is known from both digits
        both = tuple(sorted(token for _, tokens in year.digits.values() for token in tokens))
        century = 19 if year.value >= FIRST_YEAR % 100 else 20
        year = _Part("digits", year.digits | {3: (century // 10, both), 2: (century % 10, both)})
    try:
        datetime.date(year.value, month.value, day.value)
    except ValueError:
        return None
    known = FIRST_YEAR <= year.value <= LAST_YEAR
    return _written([(year, 4), (month, 2), (day, 2)]) if known else None


def _parts(tokens: Iterable[str]) -> Iterable[_Part]:
    """The numbers and months of a text, in its order."""
    words: list[tuple[str, int]] = []
    numeral: list[tuple[int, int]] = []
    short = False
    for place, token in itertools.chain(enumerate(tokens), [(-1, END)]):
        inside = token.removeprefix("##")
        if numeral and not (token != inside and inside.isdigit()):
            yield _Part("digits", {i: (digit, (one,)) for i, (digit, one) in enumerate(reversed(numeral))}, short)
            numeral, short = [], False
        goes_on = token in VALUES or token in DAYS or token in ("hundred", "thousand", "oh", "and", "-")
        if words and not goes_on and not (token == "," and words[-1][0] == "thousand"):
            yield _Part("words", _number(words))
            words = []
        if inside.isdigit():
            numeral.append((int(inside), place))
        elif token in DAYS:
            yield _Part("day", _number([*words, (token, place)]))
            words = []
        elif token in MONTH_OF:
            month = MONTH_OF[token]
            yield _Part("month", {1: (month // 10, (place,)), 0: (month % 10, (place,))})
        elif token in VALUES or token in ("hundred", "thousand", "oh") or (token == "a" and not words):
            words.append((token, place))
        elif token == "'":
            short = True
        if words == [("a", place - 1)] and token not in ("hundred", "thousand"):
            words = []


def _number(words: list[tuple[str, int]]) -> Digits:
    """The digits of number words: two hundred and five, nineteen ninety-eight, twenty-first."""
    digits: Digits = {}

    def shift(by: int, below: int) -> Digits:
        return {place + by if place < below else place: one for place, one in digits.items()}

    for word, token in words:
        value = 1 if word == "a" else VALUES.get(word, DAYS.get(word, 0))
        if word in ("hundred", "thousand"):
            digits = shift(2, 3) if word == "hundred" else shift(3, 9)
            continue
        if word == "oh" or (value >= 10 and 1 in digits):  # the second half of a year
            digits = shift(2, 3)
        if word == "oh" or value >= 10:
            digits[1] = (value // 10, (token,))
        digits[0] = (value % 10, (token,))
    return digits


def _roles(parts: list[_Part]) -> tuple[_Part, _Part, _Part] | None:
    """Which part is the year, the month and the day; None where that is not certain."""
    if len(parts) != 3:
        return None
    months = [part for part in parts if part.kind == "month"]
    if len(months) == 1:
        first, second = (part for part in parts if part is not months[0])
        is_year = [part.short or len(part.digits) == 4 or part.kind == "words" for part in (first, second)]
        year, day = (first, second) if is_year == [True, False] else (second, first)
        return None if all(is_year) or year.kind == "day" else (year, months[0], day)
    if any(part.kind != "digits" for part in parts):
        return None
    first, second, third = parts
    if len(first.digits) == 4:
        return first, second, third
    if first.value > 12 or first.value == second.value:
        return third, second, first
    return (third, first, second) if second.value > 12 else None


def _written(parts: list[tuple[_Part, int]]) -> Answer:
    """The output of parts with their widths, joined by hyphens. A zero in front is known from all digits after it."""
    output, pairs = "", []
    for part, width in parts:
        output += "-" if output else ""
        every = {token for _, tokens in part.digits.values() for token in tokens}
        for place in reversed(range(width)):
            digit, tokens = part.digits.get(place, (0, every if place > max(part.digits) else ()))
            pairs += [(len(output), token) for token in sorted(tokens)]
            output += str(digit)
    return Answer(output, tuple(pairs))
