"""What Streamlit 1.67 computes again and again in a run, computed once or when it is asked for.

A selectbox, a text field and a number field each ask for *all* values of the session to find their own (0.35 ms, eight
times in a run of Attention heads), the navigation hashes the address of each page three times, a link to a page asks
for the current folder, the icon of the page is looked for on the disk, and the theme is read from the options. Two
hundred times a run asks whether it has to end.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from streamlit.commands import page_config
from streamlit.elements.widgets import button
from streamlit.navigation import page
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session
from streamlit.runtime.scriptrunner import ScriptRunner, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.state import session_state
from streamlit.runtime.state.common import is_element_id, is_keyed_element_id
from streamlit.runtime.state.safe_session_state import SafeSessionState


class UserState(Mapping[str, Any]):
    """The values of a session under the keys that a page gave them. A value is looked up when it is asked for."""

    def __init__(self, of: SafeSessionState) -> None:
        self._lock, self._state = of._lock, of._state

    def __getitem__(self, key: str) -> Any:
        if is_element_id(key) or session_state._is_internal_key(key):
            raise KeyError(key)
        with self._lock:
            return self._state[key]

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            by_id, keys = self._state._key_id_mapper.id_key_mapping, self._state._keys()
        for key in keys:
            if session_state._is_internal_key(key):
                continue
            if not is_element_id(key):
                yield key
            elif is_keyed_element_id(key) and key in by_id and by_id[key] in self:
                yield by_id[key]

    def beginning_with(self, prefix: str) -> dict[str, Any]:
        """The values whose keys begin like this; the others are not looked up."""
        with self._lock:
            by_id = self._state._key_id_mapper.id_key_mapping
            keys = {by_id.get(key, key) for key in self._state._keys()}
        found = {key: self.get(key, self) for key in keys if key.startswith(prefix)}
        return {key: value for key, value in found.items() if value is not self}

    def __len__(self) -> int:
        return sum(1 for _ in self)


def beginning_with(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The values whose keys begin like this. values: `st.session_state.to_dict()`."""
    if not isinstance(values, UserState):
        return {key: value for key, value in values.items() if key.startswith(prefix)}
    return values.beginning_with(prefix)


def browser_has(key: str) -> bool:
    """Whether the browser sent the content of this key's widget with its request: it has drawn the widget."""
    context = get_script_run_ctx()
    if context is None:
        return True
    session = context.session_state._state
    return session._get_widget_id(key) in session._new_widget_state.states


def _kept_theme(populate: Callable[[CustomThemeConfig, str], None]) -> Callable[..., None]:
    """Fill a section of the theme as `populate` did before: the options never change while the server runs."""
    kept: dict[str, CustomThemeConfig] = {}

    def fill(message: CustomThemeConfig, section: str = "theme") -> None:
        if section not in kept:
            made = CustomThemeConfig()
            populate(made, section)
            kept[section] = made
        message.MergeFrom(kept[section])

    return fill


def _asked_seldom(ask: Callable[[ScriptRunner], None]) -> Callable[[ScriptRunner], None]:
    """What a run does between two messages: it ends if it is asked to. Usually nothing asks.

    Streamlit also looks each time for an error of a parallel fragment; the app has no such fragments.
    """

    def check(self: ScriptRunner) -> None:
        if self._requests._state is not ScriptRequestType.CONTINUE:
            ask(self)

    return check


@functools.cache
def begin() -> None:
    """Change Streamlit. Raises AttributeError for a Streamlit that is built in another way."""
    SafeSessionState.filtered_state.fget  # noqa: B018
    asks = ScriptRunner._maybe_handle_execution_control_request
    ScriptRunner._maybe_handle_execution_control_request = _asked_seldom(asks)  # type: ignore[method-assign]
    SafeSessionState.filtered_state = property(UserState)  # type: ignore[method-assign, assignment]
    button.get_main_script_directory = functools.lru_cache(10)(button.get_main_script_directory)
    page.calc_hash = functools.lru_cache(1_000)(page.calc_hash)
    app_session._populate_theme_msg = _kept_theme(app_session._populate_theme_msg)
    page_config._get_favicon_string = functools.lru_cache(10)(page_config._get_favicon_string)  # type: ignore[assignment]
