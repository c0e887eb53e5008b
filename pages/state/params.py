"""The declaration of one value of a page: its default, its limits, and its text in the address.

A page declares its values once, as the fields of a class that `state.register` makes a frozen dataclass:

    @state.register
    class Params:
        part: Param[str] = choice("table", PARTS, url="find")
        threshold: Param[float] = number(0.4, 0.0, 1.0)

`Params.part` is the declaration, which `state.bound` and `state.put` take; `state.read(Params)` is an object with the
values of this session, whose `.part` is a str.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypedDict, TypeVar, overload

from encoder.errors import TextError

T = TypeVar("T")
Head = tuple[int, int]  # (layer, head), counted from 0


class ZoomWindow(TypedDict):
    """The window of a zoomed plot in axis units, low before high, also on an axis that runs downwards."""

    x: list[float]
    y: list[float]


@dataclass(frozen=True)
class Param(Generic[T]):
    """The declaration of one value."""

    #: Its value if the address has none.
    default: T
    #: Text of the address -> value; a ValueError gives the reason in words for the screen.
    parse: Callable[[str], T] = field(default=str, compare=False)  # type: ignore[assignment]
    #: Value -> text.
    format: Callable[[T], str] = field(default=str, compare=False)
    #: Its name in the address; by default the field's.
    url: str = ""
    #: The default's name on the screen, if it differs from its text.
    shown: str = ""
    #: Whether it holds the user's own words, files or folders, which “Copy without the text” leaves out.
    typed: bool = False
    #: Why a value that accepts any text is not typed.
    public: str = ""
    #: The words that it can be, if it is one of several.
    options: tuple[str, ...] = ()
    #: Whether a copied link has it.
    in_links: bool = True
    #: Whether an address with it may be of any page, and so does not say which page it belongs to.
    any_page: bool = False

    @property
    def name(self) -> str:
        """Its name in the address."""
        return self.url

    def __hash__(self) -> int:
        return hash(self.url)

    def __set_name__(self, owner: type, name: str) -> None:
        if not self.url:
            object.__setattr__(self, "url", name)
        object.__setattr__(self, "_slot", f"_{name}")

    @overload
    def __get__(self, instance: None, owner: type) -> Param[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Param[T] | T:
        return self if instance is None else instance.__dict__[self._slot]  # type: ignore[attr-defined]

    def __set__(self, instance: object, value: T | Param[T]) -> None:
        # For a field that is not given, a dataclass passes the class attribute: this declaration.
        instance.__dict__[self._slot] = self.default if value is self else value  # type: ignore[attr-defined]


@cache
def declared(owner: type) -> dict[str, Param[Any]]:
    """The Params of a dataclass: field -> declaration."""
    return {name: value for name, value in vars(owner).items() if isinstance(value, Param)}


def string(
    default: str = "", *, url: str = "", public: str = "", in_links: bool = True, any_page: bool = False
) -> Param[str]:
    """Any text. It is typed, unless `public` says why it may stay in a link without the user's text."""
    return Param(default, url=url, typed=not public, public=public, in_links=in_links, any_page=any_page)


def choice(default: str, options: Iterable[str], *, url: str = "", shown: str = "") -> Param[str]:
    """One of several words."""
    known = tuple(options)

    def parse(text: str) -> str:
        if text not in known:
            raise ValueError(f"choose one of {', '.join(filter(None, known))}")
        return text

    return Param(default, parse, url=url, shown=shown, options=known)


def several(default: list[T], options: Iterable[T], *, none: bool = False, url: str = "") -> Param[list[T]]:
    """Some of several words or numbers with commas between them, in the order of `options`.

    none: whether it may be none of them, as where that is the default.
    """
    known = {str(option): option for option in options}

    def parse(text: str) -> list[T]:
        asked = text.split(",") if text or (default and not none) else []
        if not set(asked) <= set(known):
            raise ValueError(f"choose among {', '.join(known)}")
        return [option for name, option in known.items() if name in asked]

    return Param(default, parse, lambda value: ",".join(map(str, value)), url)


def flag(default: bool = False, *, url: str = "", any_page: bool = False) -> Param[bool]:
    """On ("1") or off ("0")."""

    def parse(text: str) -> bool:
        if text not in ("0", "1"):
            raise ValueError("1 means on, 0 means off")
        return text == "1"

    return Param(default, parse, lambda value: "1" if value else "0", url, any_page=any_page)


def places_of_words(
    read: Callable[[str], tuple[T, ...]], write: Callable[[tuple[T, ...]], str]
) -> Param[tuple[T, ...]]:
    """The places of the words of a text, typed as the text is. read, write: their form in an address."""

    def parse(text: str) -> tuple[T, ...]:
        try:
            return read(text) if text else ()
        except TextError as error:
            raise ValueError(str(error)) from None

    return Param((), parse, write, typed=True)


def whole_number(default: Any, low: int = 0, high: int | None = None, *, url: str = "") -> Param[Any]:
    """A whole number from `low` to `high`, or None by default; a limit of the model is checked later."""

    def parse(text: str) -> int:
        if not text.isascii() or not text.removeprefix("-").isdigit() or len(text) > 9:
            raise ValueError("a whole number is needed")
        value = int(text)
        if value < low or (high is not None and value > high):
            raise ValueError(f"it must be {low} or more" if high is None else f"it must lie between {low} and {high}")
        return value

    return Param(default, parse, url=url)


def number(default: float, low: float, high: float, *, url: str = "") -> Param[float]:
    """A number from `low` to `high`."""
    return Param(default, lambda text: _between(text, low, high), lambda value: f"{value:g}", url)


def span(*, url: str = "") -> Param[tuple[float, float] | None]:
    """Two numbers, the lower first: "0.2..0.8" -> (0.2, 0.8). None: no limits."""

    def parse(text: str) -> tuple[float, float] | None:
        if not text:
            return None
        low, dots, high = text.partition("..")
        if not dots:
            raise ValueError("two numbers are needed, like 0.2..0.8")
        ends = _between(low, -math.inf, math.inf), _between(high, -math.inf, math.inf)
        if ends[0] > ends[1]:
            raise ValueError("the lower number comes first")
        return ends

    return Param(None, parse, lambda value: "" if value is None else f"{value[0]:g}..{value[1]:g}", url)


def zoom_window(*, url: str = "") -> Param[ZoomWindow | None]:
    """The part of a map that is shown: "2.5,7.5,0.5,4.5" is x from 2.5 to 7.5, y from 0.5 to 4.5. None: all of it."""

    def parse(text: str) -> ZoomWindow | None:
        if not text:
            return None
        edges = [_between(part, -math.inf, math.inf) for part in text.split(",")]
        if len(edges) != 4 or not all(map(math.isfinite, edges)) or edges[0] >= edges[1] or edges[2] >= edges[3]:
            raise ValueError("four numbers are needed, the ends of x and of y, like 2.5,7.5,0.5,4.5")
        return {"x": edges[:2], "y": edges[2:]}

    def shown(window: ZoomWindow | None) -> str:
        return "" if window is None else ",".join(f"{round(edge, 2):g}" for edge in [*window["x"], *window["y"]])

    return Param(None, parse, shown, url)


def token_positions(most: int, *, url: str = "") -> Param[list[int]]:
    """Token positions, `most` at most: "3,5" -> [3, 5], ascending, each once."""

    def parse(text: str) -> list[int]:
        why = "token positions are whole numbers with commas between them, like 3,5"
        found = {_count(part, why) for part in text.split(",") if text}
        if len(found) > most:
            raise ValueError(f"at most {most} tokens can be selected at once")
        return sorted(found)

    return Param([], parse, lambda value: ",".join(map(str, value)), url)


def heads(most: int, *, url: str = "") -> Param[list[Head]]:
    """Heads, `most` at most: "0.2,1.8" -> [(0, 2), (1, 8)], layer and head counted from 0, in the order given."""
    why = "heads are layer.head with commas between them, like 0.2,1.8"

    def parse(text: str) -> list[Head]:
        found: dict[Head, None] = {}
        for part in text.split(",") if text else ():
            layer, point, head = part.partition(".")
            if not point:
                raise ValueError(why)
            found[_count(layer, why), _count(head, why)] = None
        if len(found) > most:
            raise ValueError(f"at most {most} heads can be chosen")
        return list(found)

    return Param([], parse, lambda value: ",".join(f"{layer}.{head}" for layer, head in value), url)


def _between(text: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("a number is needed") from None
    if not low <= value <= high:  # NaN fails, too
        raise ValueError(f"it must lie between {low:g} and {high:g}")
    return value


def _count(text: str, why: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise ValueError(why)
    return int(text)
