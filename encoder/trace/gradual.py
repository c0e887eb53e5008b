"""Computations in parts: generators that yield their progress and return their result. Imports no torch."""

import inspect
from collections.abc import Callable, Generator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

A = ParamSpec("A")
P = TypeVar("P")
Q = TypeVar("Q")
V = TypeVar("V")


def result(work: Generator[Any, None, V]) -> V:
    """Do all of the work, and return its result without its progress."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            value: V = end.value
            return value


def at_once(work: Callable[A, Generator[Any, None, V]], name: str) -> Callable[A, V]:
    """The function `name` that does all of the work of a generator function, without its progress."""

    @wraps(work)
    def done(*arguments: A.args, **options: A.kwargs) -> V:
        return result(work(*arguments, **options))

    found = inspect.signature(work)
    returned = getattr(found.return_annotation, "__args__", (found.return_annotation,))[-1]  # of Generator[P, None, V]
    done.__signature__ = found.replace(return_annotation=returned)  # type: ignore[attr-defined]
    done.__name__ = done.__qualname__ = name  # as pickle and `help` look for it
    return done


def reported(work: Generator[P, None, V], say: Callable[[P], Q]) -> Generator[Q, None, V]:
    """The same work; it yields what `say` makes of each progress."""
    try:
        while True:
            try:
                progress = next(work)
            except StopIteration as end:
                value: V = end.value
                return value
            yield say(progress)
    finally:
        work.close()  # a cancelled generator ends its inner work at once
