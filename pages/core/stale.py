"""Stale browser events must not undo a newer click.

With each event the browser sends the contents of all its widgets. If a second event arrives before the run after the
first has drawn them, it still sends the old contents, which would undo the first one's choice. So older contents of a
value that was set from code are remembered until a run has shown the browser the new value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Older contents that are remembered of one value.
MOST = 8


@dataclass
class _Unconfirmed:
    """Older contents of a widget that the browser may still send; whether a run since the change reached its end."""

    old: list[Any]
    drawn: bool = False


class Unconfirmed:
    """Values of a session set from code that the browser has not confirmed yet, by name."""

    def __init__(self) -> None:
        self._of: dict[str, _Unconfirmed] = {}

    def remember(self, name: str, content: Any) -> None:
        """A value is set from code. content: what its widget held before."""
        older = self._of[name].old[1 - MOST :] if name in self._of else []
        self._of[name] = _Unconfirmed([*older, content])

    def stale(self, contents: Mapping[str, Any], values: Mapping[str, Any], *, touched: bool) -> list[str]:
        """Names of the values whose widgets hold old contents. Both by name; touched: a callback caused this run."""
        found = []
        for name, entry in list(self._of.items()):
            content = contents.get(name, values[name])
            if content != values[name] and content in entry.old and (touched or not entry.drawn):
                found.append(name)
            elif entry.drawn or content != values[name]:
                del self._of[name]
        return found

    def drawn(self) -> None:
        """A run has reached its end."""
        for entry in self._of.values():
            entry.drawn = True
