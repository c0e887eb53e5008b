"""The view as values that live in the session and in the URL, so that any view can be sent as a link.

Streamlit's own `bind="query-params"` drops an invalid value without a word, forgets a page's parameters when the page
is left, and knows widgets only. Here every value is declared once as a Param; the URL is read before the first widget
and written after the last, a value that cannot be read falls back with a sentence, and nothing is lost between pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.core.params import Param, declared

P, T = TypeVar("P"), TypeVar("T")

#: Longer values (percent-encoded) stay out of the URL: servers and proxies refuse longer request lines.
LONGEST_IN_URL = 4_000

_VALUES, _WRITTEN, _NOTES = "_view", "_view_in_url", "_view_notes"
#: Whether a run is between its begin and its end; whether a callback changed the view since the last one.
_RUNNING, _TOUCHED = "_view_running", "_view_touched"
#: Values set from code that the browser has not been seen to know yet: name -> _Told.
_TOLD = "_view_told"
#: Name of a value -> the page whose widget showed it last.
_DRAWN_ON = "_view_drawn_on"


@dataclass
class _Told:
    """What the browser's widget may still hold of a value set from code; whether a run since then reached its end."""

    old: list[Any]
    drawn: bool = False


def touch() -> None:
    """Say that this run was brought about on the page, not by the address. For callbacks of components."""
    st.session_state[_TOUCHED] = True


class UrlState:
    """The registered Params, their values in this session, and their way into the URL."""

    def __init__(self) -> None:
        self.params: dict[str, Param[Any]] = {}
        self._owners: dict[str, str] = {}

    def register(self, owner: type[P]) -> type[P]:
        """Take the Params of a dataclass in: a decorator. Raises ValueError where another has a name already."""
        origin = f"{owner.__module__}.{owner.__qualname__}"  # a module that is loaded again registers the same again
        for param in declared(owner).values():
            if self._owners.setdefault(param.name, origin) != origin:
                raise ValueError(f"{origin}: {self._owners[param.name]} has a {param.name!r} already; choose another")
            self.params[param.name] = param
        return owner

    def read(self, owner: type[P]) -> P:
        """The values of this session as an object of a registered dataclass."""
        return owner(**{name: self.get(param) for name, param in declared(owner).items()})

    def begin(self) -> None:
        """Read the URL, before any widget is drawn: on the first run, and when the browser went back or forward."""
        values = st.session_state.setdefault(_VALUES, {})
        written = st.session_state.setdefault(_WRITTEN, {})
        st.session_state[_NOTES] = []
        first_run = not values
        self._hold_what_was_set(values)
        # After a click or a keystroke the browser's address may still be the one before the last change: it is old
        # news.
        heed = first_run or not self._interacted(values)
        st.session_state[_RUNNING] = True
        for name, param in self.params.items():
            raw = st.query_params.get(name)
            if name not in values:
                values[name] = param.default
            if not heed:
                continue
            if raw is not None and raw != written.get(name):
                self._adopt(param, raw)
            elif raw is None and name in written and st.query_params:
                self.put(name, param.default)  # the browser went back to a link that left this value out
        unknown = sorted(set(st.query_params) - set(self.params) - {"embed", "embed_options"}) if first_run else []
        for name in unknown:
            self.note(f"The link's {name!r} is nothing that this app knows; it is ignored.")

    def _hold_what_was_set(self, values: dict[str, Any]) -> None:
        """Keep values set from code against a browser that was not told of them yet.

        With each event the browser sends what all its widgets hold. A second event that comes before the run after the
        first has drawn the widgets still sends what they held before, and would undo what the first one chose.
        """
        touched = st.session_state.get(_TOUCHED, False)
        told = st.session_state.setdefault(_TOLD, {})
        for name, entry in list(told.items()):
            held = st.session_state.get(self.key(name), values[name])
            if held != values[name] and held in entry.old and (touched or not entry.drawn):
                st.session_state[self.key(name)] = values[name]
            elif entry.drawn or held != values[name]:
                del told[name]

    def _interacted(self, values: dict[str, Any]) -> bool:
        """Whether this run was brought about by a widget or a callback that changed the view, not by the address."""
        by_callback = st.session_state.pop(_TOUCHED, False)
        return by_callback or any(
            self.key(name) in st.session_state and st.session_state[self.key(name)] != value
            for name, value in values.items()
        )

    def _adopt(self, param: Param, raw: str) -> None:
        try:
            self.put(param.name, param.parse(raw))
        except ValueError as error:
            usual = "" if param.default is None else param.format(param.default)
            shown = param.shown or usual or "none"
            self.note(f"The link asks for {param.name}={raw[:60]!r}: {error}. Shown: {shown}.")

    def end(self) -> None:
        """Write what differs from the defaults into the URL, after the page has run."""
        values = st.session_state[_VALUES]
        wanted = {
            name: param.format(values[name])
            for name, param in self.params.items()
            if values[name] != param.default and values[name] is not None
        }
        wanted = {name: text for name, text in wanted.items() if len(quote(text)) <= LONGEST_IN_URL}
        if wanted != st.query_params.to_dict():
            st.query_params.from_dict(wanted)
        st.session_state[_WRITTEN] = wanted
        st.session_state[_RUNNING] = False
        for entry in st.session_state.get(_TOLD, {}).values():
            entry.drawn = True

    def get(self, param: Param[T] | str) -> T:
        """Value of a Param in this session."""
        return st.session_state[_VALUES][_name(param)]

    def newest(self, param: Param[Any] | str) -> Any:
        """Value of a Param whose widget is drawn later in this run: what the widget holds is newer than ours."""
        return st.session_state.get(self.key(param), self.get(param))

    def put(self, param: Param[Any] | str, value: Any) -> None:
        """Set a value from code: before its widget is drawn in this run, or in a callback."""
        name = _name(param)
        told = st.session_state.setdefault(_TOLD, {})
        held = st.session_state.get(self.key(name), value)
        told[name] = _Told([*(told[name].old[-7:] if name in told else ()), held])
        st.session_state[_VALUES][name] = value
        st.session_state[self.key(name)] = value
        if not st.session_state.get(_RUNNING):
            st.session_state[_TOUCHED] = True

    def key(self, param: Param[Any] | str) -> str:
        """Key of the widget that shows a Param."""
        return f"view:{_name(param)}"

    def bound(self, widget: Callable[..., Any], param: Param[Any] | str, *args: Any, **kwargs: Any) -> Any:
        """Draw `widget` for a Param and return its value; kept when the page is left, unlike a bare widget's."""
        name = _name(param)
        key = self.key(name)
        context = get_script_run_ctx()
        page = None if context is None else context.page_script_hash
        drawn_on = st.session_state.setdefault(_DRAWN_ON, {})
        if key not in st.session_state:
            st.session_state[key] = self.get(name)
        elif drawn_on.get(name) != page:
            # On another page it is another widget, though it has the same key: told its value, or it starts anew.
            st.session_state[key] = st.session_state[key]
        drawn_on[name] = page
        value = widget(*args, key=key, **kwargs)
        st.session_state[_VALUES][name] = value
        return value

    def limit(self, param: Param[Any] | str, low: int, high: int, what: str) -> int:
        """Bring a whole number into what the model has, with a note when it was outside. Before its widget is drawn."""
        name = _name(param)
        value = self.newest(name)
        if not low <= value <= high:
            nearest = min(max(value, low), high)
            if value != self.params[name].default:
                self.note(f"{name}={value}: {what} {low} to {high}. Shown: {nearest}.")
            self.put(name, nearest)
            return nearest
        return value

    def note(self, sentence: str) -> None:
        """A sentence about the link, shown at the top of the page in this run."""
        st.session_state.setdefault(_NOTES, []).append(sentence)

    def notes(self) -> tuple[str, ...]:
        """The sentences of this run."""
        return tuple(st.session_state.get(_NOTES, ()))

    def too_long_for_url(self, param: Param[Any] | str) -> bool:
        """Whether a value is left out of the link for its length."""
        return len(quote(self.params[_name(param)].format(self.get(param)))) > LONGEST_IN_URL


def _name(param: Param[Any] | str) -> str:
    return param if isinstance(param, str) else param.name


def controlled(
    widget: Callable[..., Any],
    label: str,
    *args: Any,
    key: str,
    value: Any,
    take: Callable[[Any], None],
    **options: Any,
) -> Any:
    """Draw a widget that shows `value`, which somebody else keeps; what a person chooses goes to `take` before the run.

    For values that several widgets show, or that are shown in other units than they are kept in.
    """
    st.session_state[key] = value
    return widget(label, *args, key=key, on_change=lambda: take(st.session_state[key]), **options)


#: The one state of the app: core and pages register what they keep in it.
state = UrlState()
