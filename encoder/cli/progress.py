"""Progress of long work: one line on standard error that changes, and nothing where that is not a terminal."""

import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

from encoder.trace import gradual

V = TypeVar("V")
#: Seconds between two changes of the line.
BETWEEN = 0.2
#: Who else hears of the work in this context, by what is done and the total; it may raise, which ends the work.
LISTENER: ContextVar[Callable[[float, float], None] | None] = ContextVar("listener", default=None)


class Shown:
    """Call it with what is done; `total` 1: `done` is a share."""

    def __init__(self, unit: str = "texts") -> None:
        self._unit, self._terminal = unit, sys.stderr.isatty()
        self._start, self._last = time.monotonic(), 0.0

    def __call__(self, done: float, total: float = 1, before: float = 0) -> None:
        """before: what an earlier run has done."""
        if (listener := LISTENER.get()) is not None:
            listener(done, total)
        now = time.monotonic()
        if not self._terminal or (done < total and now - self._last < BETWEEN):
            return
        self._last = now
        text = line(done, total, now - self._start, before, self._unit)
        print(f"\r{text:<70}", end="\n" if done >= total else "", file=sys.stderr, flush=True)


def line(done: float, total: float, seconds: float, before: float = 0, unit: str = "texts") -> str:
    """What is done, its rate and the time left: "1,200 of 4,000 texts, 210 texts/s, 0:13 left"."""
    said = f"{done:4.0%}" if total == 1 else f"{done:,} of {total:,} {unit}"
    if done <= before or seconds <= 0:
        return said
    rate = (done - before) / seconds
    minutes, rest = divmod(round((total - done) / rate), 60)
    clock = f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
    return f"{said}, {clock} left" if total == 1 else f"{said}, {rate:,.3g} {unit}/s, {clock} left"


def track(items: Iterable[V], total: int, unit: str = "texts") -> Iterator[V]:
    """The items; says how many are done, where there are several."""
    shown = Shown(unit)
    for done, item in enumerate(items, 1):
        yield item
        if total > 1:
            shown(done, total)


def shares(work: Generator[float, None, V], total: int = 1) -> V:
    """Do work that yields what is done, by default as a share; returns its result."""
    shown = Shown()
    return gradual.result(gradual.reported(work, lambda done: shown(done, total)))


def last(steps: Iterable[Any], unit: str) -> Any:
    """The last of steps that have `done` and `total`."""
    shown = Shown(unit)
    for step in steps:
        shown(step.done, step.total)
    return step
