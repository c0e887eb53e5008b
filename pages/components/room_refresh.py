"""`room_refresh`: runs the fragment that it stands in again when members or answers of the room have changed."""

from __future__ import annotations

from encoder.export import wire

from . import assets

_render = assets.component("room_refresh")


def room_refresh(activity: int, *, key: str) -> None:
    """Draws nothing; hears what the room's strip hears.

    Args:
        activity: the counter that this run has read (`Pulse.activity`), before it read members or answers.
        key: the widget's key.
    """
    _render(key=key, data=wire.pack({"activity": activity}, {}), on_changed_change=lambda: None)
