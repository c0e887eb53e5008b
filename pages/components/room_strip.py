"""`room_strip`: one line at the lower edge of the window that says how this visitor is in a room, and listens to it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from encoder.export import wire

from . import assets, events

_render = assets.component("room_strip")


class StripButton(TypedDict):
    """A button of the strip. name: what `on_event` gets; title: its help; pressed: for a button that is on or off."""

    name: str
    label: str
    title: NotRequired[str]
    pressed: NotRequired[bool]
    primary: NotRequired[bool]


class StripEvent(TypedDict):
    """What the browser said: "news" of the room, or "press" with the `name` of a button."""

    event: Literal["news", "press"]
    name: NotRequired[str]


def room_strip(
    room: Mapping[str, Any], buttons: Sequence[StripButton], *, key: str, on_event: Callable[[StripEvent], None]
) -> None:
    """Draws the strip and listens to the room's stream; an event comes only when the room has changed.

    Args:
        room: `code`, `version` (what this run has read), `member`, `key` and `waiting` (answers as JSON; the browser
            keeps all three), `desk` (listen to the counts), `words` (of the line), `note` (what is wrong, or ""),
            `timer` (seconds that are left, or None), `spotlight`, `asks` (the room store does not
            answer: the browser asks again), `hidden` (no line).
        buttons: at the end of the line.
        key: the widget's key.
        on_event: gets each event before the page runs.
    """
    _render(
        key=key,
        data=wire.pack({**room, "buttons": list(buttons)}, {}),
        on_said_change=lambda: events.tell(key, "said", _event, on_event),
    )


def _event(value: object) -> StripEvent | None:
    """An event as the browser sent it; None for anything else."""
    if not isinstance(value, dict) or value.get("event") not in ("news", "press"):
        return None
    event: StripEvent = {"event": value["event"]}
    if value["event"] == "press":
        event["name"] = str(value.get("name"))[:40]
    return event


_refresh = assets.component("room_refresh")


def room_refresh(activity: int, *, key: str) -> None:
    """Draws nothing; hears what the room's strip hears.

    activity: the counter that this run has read (`Pulse.activity`), before it read members or answers. key: the
    widget's key.
    """
    _refresh(key=key, data=wire.pack({"activity": activity}, {}), on_changed_change=lambda: None)
