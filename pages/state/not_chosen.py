"""Values that stay out of the address: what the app chose by itself."""

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from pages.state.params import Param

_CHOICES, _ASKED = "_view_not_chosen", "_view_asked"


def remember_asked(names: Iterable[str]) -> None:
    """Remember the names in an address that was read."""
    st.session_state[_ASKED] = asked()[0] + 1, frozenset(names)


def asked() -> tuple[int, frozenset[str]]:
    """How often the address was read, and the names that it had the last time: what a link asks for."""
    return st.session_state.get(_ASKED, (0, frozenset()))


def leave_out(
    values: Mapping[str, Any], otherwise: Iterable[Param[Any]], of: str = "place", unless: Iterable[str] = ()
) -> None:
    """Keep these values out of the address while all of them stay as they are.

    otherwise: without such values, the address has at least one of these Params, if need be the first at its default:
    so a link shows that somebody has chosen. of: what the values are; each has choices of its own. unless: names in the
    address that need these values next to them.
    """
    choices = st.session_state.setdefault(_CHOICES, {})
    choices[of] = dict(values), [param.name for param in otherwise], frozenset(unless)


def applied(wanted: dict[str, str], values: Mapping[str, Any], params: Mapping[str, Param[Any]]) -> dict[str, str]:
    """What the address would have -> what it has. values: of this session; params: all, by name."""
    for left_out, names, unless in st.session_state.get(_CHOICES, {}).values():
        is_same = bool(left_out) and all(values[name] == value for name, value in left_out.items())
        if is_same and unless.isdisjoint(wanted):
            wanted = {name: text for name, text in wanted.items() if name not in left_out}
        elif names and not set(names) & wanted.keys():
            wanted = wanted | {names[0]: params[names[0]].format(values[names[0]])}
    return wanted
