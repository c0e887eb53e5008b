"""Results that take long, each computed once: for all sessions, or for the one whose files and heads they are of."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import streamlit as st

from pages.base.work import long_work
from pages.core.stores import cache

V = TypeVar("V")
_OWN = "_own_results"
#: Small results of a kind that a session keeps.
MOST = 24


def known(kind: str, what: Hashable) -> Any:
    """What this session or all sessions keep of this kind under this name, or None."""
    found = st.session_state.get(_OWN, {}).get(kind, {}).get(what)
    return cache.known_computed((kind, what)) if found is None else found


def keep(kind: str, what: Hashable, value: V, most: int = MOST, *, own: bool = True) -> V:
    """Keep a result and return it: for all sessions, or in this one, where the oldest of its kind beyond `most` go."""
    if not own:
        return cache.computed((kind, what), lambda: value)  # type: ignore[no-any-return]
    kept = st.session_state.setdefault(_OWN, {}).setdefault(kind, {})
    kept[what] = value
    for old in list(kept)[:-most]:
        del kept[old]
    return value


def of_work(
    kind: str,
    what: Hashable,
    make: Callable[[], long_work.Work[V]],
    *,
    label: str = "",
    ask: str = "",
    own: bool = False,
    most: int = MOST,
) -> V | None:
    """The result of long work, or None while it waits for a click; the other arguments are those of `long_work.result`.

    kind: the key of the widgets; own: whether only this session keeps it, `most` of them.
    """
    found: V | None = known(kind, what)
    if found is None and (found := long_work.result(kind, what, make, label=label, ask=ask)) is not None:
        return keep(kind, what, found, most, own=own)
    return found
