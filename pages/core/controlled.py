"""A widget of a value that others show as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st


def controlled(
    widget: Callable[..., Any],
    label: str,
    *args: Any,
    key: str,
    value: Any,
    take: Callable[[Any], None],
    **options: Any,
) -> Any:
    """Draw a widget that shows `value`; a new choice goes to `take` before the next run.

    For values that several widgets show, or that a widget shows in another unit.
    """
    st.session_state[key] = value
    return widget(label, *args, key=key, on_change=lambda: take(st.session_state[key]), **options)
