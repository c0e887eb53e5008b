"""`room_door`: what only the browser can do for a teacher: copy or save the link with the key, and find it again."""

from collections.abc import Callable

from encoder.export import wire

from . import assets, events

_render = assets.component("room_door")


def room_door(
    *,
    key: str,
    code: str = "",
    secret: str = "",
    left: bool = False,
    on_teach: Callable[[str, str], None] | None = None,
) -> None:
    """Draws buttons for the teacher's link; without a room, one for each room that this browser has the key of.

    key: the widget's key. code, secret: the open room and its key, "" without one. left: the student left a room, so
    the browser forgets her seat. on_teach: gets (code, key) of a room that the teacher opens again, before the page
    runs.
    """

    def teach(found: tuple[str, str]) -> None:
        if on_teach is not None:
            on_teach(*found)

    _render(
        key=key,
        data=wire.pack({"code": code, "secret": secret, "left": left}, {}),
        on_teach_change=lambda: events.tell(key, "teach", _kept, teach),
    )


def _kept(value: object) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return None
    return str(value.get("code"))[:40], str(value.get("key"))[:80]
