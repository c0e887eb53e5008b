"""Turns: who computes now. A short computation never waits for a long one; a long one can be ended between its parts.

Two computations run at a time, since each uses every core, and at most one of them is long. A long one waits between
two parts while other visitors' pages are drawn. If its own visitor has asked for something else, it ends there.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from encoder.model.pauses import pausing
from pages.base.work import page_slots

#: Floating-point operations of a long computation: about a second of two cores.
LONG_FLOPS = 100_000_000_000
AT_ONCE, LONG_AT_ONCE = 2, 1
#: Seconds that a long computation gives way between two parts, at most, and that anyone waits for a turn. After that
#: it runs next to the others: slow, but never stuck.
GIVE_WAY, PATIENCE = 0.25, 120.0
_STEP = 0.02
#: Seconds of a wait whose place is said.
SAID = 1.0


class Turns:
    """Two kinds of turns that share a number of places. A thread that has one already needs no second."""

    def __init__(self, at_once: int = AT_ONCE, long_at_once: int = LONG_AT_ONCE) -> None:
        self._at_once, self._long_at_once = at_once, long_at_once
        self._changed = threading.Condition()
        self._running = {True: 0, False: 0}  # is long -> computations
        self._queue: list[object] = []  # long ones, in the order in which they came
        self._mine = threading.local()

    @property
    def n_long(self) -> int:
        """Long computations that run or wait."""
        with self._changed:
            return self._running[True] + len(self._queue)

    @contextmanager
    def turn(
        self, *, long: bool = False, ends: bool = True, say: Callable[[str], None] | None = None
    ) -> Iterator[None]:
        """Inside, this thread computes. A long computation pauses between its parts.

        ends: whether the visitor's next click may end it there; otherwise it only waits. say: gets a sentence about the
        place of a long one in the queue, when it waits and whenever that changes; by default the page shows it.
        """
        if getattr(self._mine, "has", False):
            yield
            return
        if long:
            page_slots.SLOTS.leave()
        self._begin(long, say or _toast())
        self._mine.has = True
        try:
            if long:
                with pausing(partial(self._pause, ends)):
                    yield
            else:
                yield
        finally:
            self._mine.has = False
            with self._changed:
                self._running[long] -= 1
                self._changed.notify_all()

    def _begin(self, long: bool, say: Callable[[str], None]) -> None:
        place, said = object(), 0
        deadline, told_from = time.monotonic() + PATIENCE, time.monotonic() + SAID
        if long:
            with self._changed:
                self._queue.append(place)
        try:
            while True:
                with self._changed:
                    if self._has_room(long, place) or time.monotonic() > deadline:
                        self._running[long] += 1
                        return
                    self._changed.wait(timeout=0.25)
                    first = self._running[True] + self._queue.index(place) if long else 0
                if first and first != said and time.monotonic() > told_from:
                    say(f"Place {first} in the queue: longer computations take turns")
                    said = first
                page_slots.leave_if_asked()
        finally:
            if long:
                with self._changed:
                    self._queue.remove(place)
                    self._changed.notify_all()

    def _has_room(self, long: bool, place: object) -> bool:
        if sum(self._running.values()) >= self._at_once:
            return False
        return not long or (self._running[True] < self._long_at_once and self._queue[0] is place)

    def _pause(self, ends: bool) -> None:
        """Give way to the pages of others, and end if the visitor has asked for something else."""
        if ends:
            page_slots.leave_if_asked()
        deadline = time.monotonic() + GIVE_WAY
        while page_slots.n_drawn() > self.n_long and time.monotonic() < deadline:
            time.sleep(_STEP)


def _toast() -> Callable[[str], None]:
    """Shows sentences in a corner of the page, each in place of the one before; nowhere outside of a page."""
    shown: list[Any] = []

    def say(sentence: str) -> None:
        if get_script_run_ctx(suppress_warning=True) is not None:
            shown[:] = [(shown[0] if shown else st).toast(sentence, icon=":material/hourglass_top:")]

    return say


#: The turns of this process.
TURNS = Turns()
