"""Whether a page is drawn bare: its picture without title, controls and further parts, which a class does not see.

They cost a phone up to a third of its work for a page, and a style of the step would hide them.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_of_this_run = threading.local()


@contextmanager
def draw_bare(is_so: bool = True) -> Iterator[None]:
    """What this run draws inside is bare, if `is_so`."""
    _of_this_run.is_bare = is_so
    try:
        yield
    finally:
        _of_this_run.is_bare = False


def is_bare() -> bool:
    """Whether this run draws a bare page here."""
    return getattr(_of_this_run, "is_bare", False)
