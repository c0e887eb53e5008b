"""What of a room only the browser does: `room_strip`, the line at the lower edge of the window; the teacher's key."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from encoder.drawing import wire

from . import assets, events
from .headers import DoorHeader, RefreshHeader, StripButton

#: Letters of a draft that are kept; a field of a question accepts fewer.
LONGEST_DRAFT = 1000

_strip, _refresh, _door = map(assets.component, ("room_strip", "room_refresh", "room_door"))


class StripEvent(TypedDict):
    """What the browser said: "news" of the room, or "press" with the `name` of a button.

    News, and "draft" for letters typed just after them, say what stands unsent in the field of a `question`.
    """

    event: Literal["news", "press", "draft"]
    name: NotRequired[str]
    question: NotRequired[str]
    draft: NotRequired[str]


def room_strip(
    room: Mapping[str, Any], buttons: Sequence[StripButton], *, key: str, on_event: Callable[[StripEvent], None]
) -> None:
    """Draws how this visitor is in a room, and listens to its stream; an event comes only when the room has changed.

    Args:
        room: a `headers.RoomHeader`.
        buttons: at the end of the line.
        key: the widget's key.
        on_event: gets each event before the page runs.
    """
    _strip(
        key=key,
        data=wire.pack({**room, "buttons": list(buttons)}, {}),
        on_said_change=lambda: events.tell(key, "said", _event, on_event),
    )


def _event(value: object) -> StripEvent | None:
    """An event as the browser sent it; None for anything else."""
    if not isinstance(value, dict) or value.get("event") not in ("news", "press", "draft"):
        return None
    event: StripEvent = {"event": value["event"]}
    if value["event"] == "press":
        event["name"] = str(value.get("name"))[:40]
    elif "question" in value:
        event["question"], event["draft"] = str(value["question"])[:40], str(value.get("draft"))[:LONGEST_DRAFT]
    return event


def room_refresh(activity: int, *, key: str) -> None:
    """Draws nothing; hears what the room's strip hears.

    activity: the counter that this run has read (`Pulse.activity`), before it read members or answers. key: the
    widget's key.
    """
    header: RefreshHeader = {"activity": activity}
    _refresh(key=key, data=wire.pack(header, {}), on_changed_change=lambda: None)


def room_door(
    *,
    key: str,
    code: str = "",
    secret: str = "",
    left: bool = False,
    on_teach: Callable[[str, str], None] | None = None,
) -> None:
    """Draws buttons for the teacher's link; without a room, one for each open room that this browser has the key of.

    key: the widget's key. code, secret: the open room and its key, "" without one. left: the student left a room, so
    the browser forgets her seat. on_teach: gets (code, key) of a room that the teacher opens again, before the page
    runs.
    """

    def teach(found: tuple[str, str]) -> None:
        if on_teach is not None:
            on_teach(*found)

    header: DoorHeader = {"code": code, "secret": secret, "left": left}
    _door(
        key=key,
        data=wire.pack(header, {}),
        on_teach_change=lambda: events.tell(key, "teach", _room_kept, teach),
    )


def _room_kept(value: object) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return None
    return str(value.get("code"))[:40], str(value.get("key"))[:80]
