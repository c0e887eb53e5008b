"""What `dates` was trained on: a date or a number, a phrasing of it, and what the model should write.

A phrasing is a combination of forms: where the day stands, how day, month and year are written, what is around them.
One combination in five is never trained on, though each of its forms is; so are one date and one number in five.
"""

import calendar
import datetime
import itertools
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from encoder.measure.dates import FIRST_YEAR, LAST_YEAR, ORDINALS, TEENS, TENS, UNITS

#: How each part of a date is written. "padded": two digits; "short": Mar; "dot": Mar.; "apostrophe": '98.
DAY_FORMS = ("plain", "padded", "suffix", "words")
MONTH_FORMS = ("name", "short", "dot")
YEAR_FORMS = ("full", "apostrophe", "two", "words")
#: Orders with a month's name, and orders of numbers.
NAMED = (
    "{day} {month} {year}", "{day} of {month} {year}", "the {day} of {month} {year}", "the {day} of {month}, {year}",
    "{month} {day}, {year}", "{month} {day} {year}", "{month} the {day}, {year}", "{day}-{month}-{year}",
    "the {day} day of {month} in the year {year}", "{year}, {month} {day}", "{day} {month}, {year}",
)  # fmt: skip
NUMERIC = ("{day}/{month}/{year}", "{day}.{month}.{year}", "{day}-{month}-{year}", "{month}/{day}/{year}",
           "{month}-{day}-{year}", "{year}/{month}/{day}", "{year}-{month}-{day}", "{year}.{month}.{day}")  # fmt: skip
#: "since" and "until" are words that the vocabulary does not have.
FRAMES = ("{}", "{}", "{}", "on {}", "dated {}", "born on {}", "{weekday}, {}", "on {weekday} {}", "date {}",
          "since {}", "until {}")  # fmt: skip
NUMBER_FRAMES = ("", "", "", "", "", "about ")
#: How number words are written: style, what joins twenty and one, after hundred, after thousand, the first one.
STYLES = ("plain", "hundreds", "year")
NUMBER_FORMS = tuple(itertools.product(STYLES, ("-", " "), (" and ", " "), (", ", " "), ("one", "a")))


@dataclass(frozen=True)
class Example:
    """An input and its output."""

    text: str
    output: str


def held_out(what: object) -> bool:
    """Whether a combination, a date or a number is one of the fifth that is never trained on."""
    return zlib.crc32(repr(what).encode()) % 5 == 0


@cache
def date_phrasings(unseen: bool) -> tuple[tuple[str, str, str, str], ...]:
    """The combinations (order, day, month, year) that training uses, or those that it never saw."""

    def every() -> Iterator[tuple[str, str, str, str]]:
        for order, day, month, year in itertools.product(NAMED, DAY_FORMS, MONTH_FORMS, YEAR_FORMS):
            ordinal = "the {day}" in order or "{day} of" in order
            first = order.startswith("{year}") and year in ("apostrophe", "two")
            joined = order.startswith("{day}-") and "words" in (day, year)
            if (not ordinal or day in ("suffix", "words")) and not first and not joined:
                yield order, day, month, year
        for order, day, month, year in itertools.product(NUMERIC, DAY_FORMS[:2], DAY_FORMS[:2], ("full", "two")):
            if not (order.startswith("{year}") and year == "two"):
                yield order, day, month, year

    return tuple(one for one in every() if held_out(one) == unseen)


@cache
def number_phrasings(unseen: bool) -> tuple[tuple[str, ...], ...]:
    """The combinations of NUMBER_FORMS that training uses, or those that it never saw."""
    return tuple(one for one in NUMBER_FORMS if held_out(one) == unseen)


def draw(numbers: random.Random, unseen: bool = False) -> Example:
    """A random example of one of the two tasks. unseen: of a held-out phrasing and a held-out date or number."""
    return draw_date(numbers, unseen) if numbers.random() < 0.6 else draw_number(numbers, unseen)


def draw_date(numbers: random.Random, unseen: bool = False) -> Example:
    """A random date in a random phrasing."""
    order, day_form, month_form, year_form = numbers.choice(date_phrasings(unseen))
    first, last = datetime.date(FIRST_YEAR, 1, 1).toordinal(), datetime.date(LAST_YEAR, 12, 31).toordinal()
    while True:
        date = datetime.date.fromordinal(numbers.randint(first, last))
        day_or_month_first = order in NUMERIC and not order.startswith("{year}")
        if held_out(date) == unseen and not (day_or_month_first and date.day <= 12 and date.day != date.month):
            break
    text = order.format(
        day=_day(date.day, day_form), month=_month(date.month, month_form), year=_year(date.year, year_form, numbers)
    )
    return Example(numbers.choice(FRAMES).format(text, weekday=calendar.day_name[date.weekday()]), date.isoformat())


def draw_number(numbers: random.Random, unseen: bool = False) -> Example:
    """A random number in words; each count of digits is as likely."""
    while True:
        number = numbers.randrange(10 ** numbers.randint(1, 4))
        if held_out(number) == unseen:
            words = number_words(number, *numbers.choice(number_phrasings(unseen)))
            return Example(f"{numbers.choice(NUMBER_FRAMES)}{words}", str(number))


def _day(day: int, form: str) -> str:
    if form == "words":
        if day < 20:
            return ORDINALS[day - 1]
        return {20: "twentieth", 30: "thirtieth"}.get(day) or f"{TENS[day // 10 - 2]}-{ORDINALS[day % 10 - 1]}"
    suffix = "th" if 10 <= day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return {"plain": f"{day}", "padded": f"{day:02}", "suffix": f"{day}{suffix}"}[form]


def _month(month: int, form: str) -> str:
    name = calendar.month_name[month]
    return {"name": name, "short": name[:3], "dot": f"{name[:3]}.", "plain": f"{month}", "padded": f"{month:02}"}[form]


def _year(year: int, form: str, numbers: random.Random) -> str:
    if form == "words":
        style = "plain" if 2000 <= year < 2010 else numbers.choice(("year", "year", "plain", "hundreds"))
        if year >= 2000 and style == "hundreds":
            style = "plain"
        return number_words(year, style, numbers.choice("- "), numbers.choice((" and ", " ")), " ", "one")
    return {"full": f"{year}", "apostrophe": f"'{year % 100:02}", "two": f"{year % 100:02}"}[form]


def number_words(number: int, style: str, hyphen: str, after_hundred: str, after_thousand: str, one: str) -> str:
    """A number below 10,000 in words. style: "hundreds" (twelve hundred and five) and "year" (twelve oh five, nineteen
    ninety-eight) hold where the number allows, else "plain"; one: "a hundred" or "one hundred" at the start.
    """
    thousands, rest = divmod(number, 1000)
    hundreds, low = divmod(rest, 100)
    high = number // 100
    if style == "year" and number >= 1000 and high % 10 and low:
        second = f"oh {UNITS[low]}" if low < 10 else _below_100(low, hyphen)
        return f"{_below_100(high, hyphen)} {second}"
    if style == "year" and number >= 2000 and high % 10 == 0 and low >= 10:  # twenty fifteen
        return f"{_below_100(high, hyphen)} {_below_100(low, hyphen)}"
    if style == "hundreds" and number >= 1000 and high % 10:
        words = f"{_below_100(high, hyphen)} hundred"
        return f"{words}{after_hundred}{_below_100(low, hyphen)}" if low else words
    words = ""
    if thousands:
        words = f"{UNITS[thousands]} thousand"
    if hundreds:
        words += f"{after_thousand if words else ''}{UNITS[hundreds]} hundred"
    if low or not words:
        words += f"{after_hundred if words else ''}{_below_100(low, hyphen)}"
    return (
        f"a{words.removeprefix('one')}" if one == "a" and words.startswith(("one hundred", "one thousand")) else words
    )


def _below_100(number: int, hyphen: str) -> str:
    if number < 20:
        return (*UNITS, *TEENS)[number]
    tens = TENS[number // 10 - 2]
    return f"{tens}{hyphen}{UNITS[number % 10]}" if number % 10 else tens
