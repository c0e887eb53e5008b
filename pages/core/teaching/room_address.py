"""The room in the address, so that a reload comes back to it. A copied link has no room."""

from dataclasses import dataclass

from pages.state import Param, state, string


@state.register
@dataclass(frozen=True)
class RoomParams:
    """code: of the room that this session is in, or that a link invites to; "" for none."""

    code: Param[str] = string(url="room", public="no link has it")
