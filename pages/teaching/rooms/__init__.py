"""Rooms: what a class shares. Values (room.py), stores (store.py, redis_store.py) and the news channel (events.py)."""

import os
from functools import cache

from pages.teaching.rooms.room import Asked, Member, Room, ask, new_room, new_secret, read_code
from pages.teaching.rooms.store import MemoryStore, Pulse, RoomError, RoomGone, RoomStore, StoreUnavailable

#: "memory" (one process), "off", or redis://HOST:PORT/DB (unix://PATH for a socket): where this server keeps rooms.
ROOMS = "ENCODERSCOPE_ROOMS"


@cache
def current_store() -> RoomStore | None:
    """The store of this process; None: the operator switched rooms off.

    Raises RoomError if the setting is none of the above, or redis-py is not installed.
    """
    place = os.environ.get(ROOMS, "memory")
    if place == "off":
        return None
    if place == "memory":
        return MemoryStore()
    if not place.startswith(("redis://", "rediss://", "unix://")):
        raise RoomError(f"--rooms accepts memory, off, or an address like redis://localhost:6379/0, not {place!r}.")
    try:
        from pages.teaching.rooms.redis_store import RedisStore
    except ModuleNotFoundError as error:
        raise RoomError("Rooms in Redis need redis-py: pip install 'encoderscope[classroom]'.") from error
    return RedisStore(place)


__all__ = [
    "ROOMS", "Asked", "Member", "MemoryStore", "Pulse", "Room", "RoomError", "RoomGone", "RoomStore",
    "StoreUnavailable", "ask", "current_store", "new_room", "new_secret", "read_code",
]  # fmt: skip
