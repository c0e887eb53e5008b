"""Codes of rooms and nicknames as anybody may type them: who gets in, and what a teacher's desk then shows."""

from __future__ import annotations

import functools
import random
import unicodedata
from typing import Any

from pages.core.words.markdown import plain
from pages.teaching.rooms import Member, MemoryStore, new_room, new_secret, read_code
from pages.teaching.rooms.room import ALPHABET, CODE_LENGTH, Room, read_nickname, spaced
from tests.fuzz.checkpoints import Found
from tests.fuzz.texts import text_of
from tests.pages.test_foreign_text import HOSTILE, foreign

#: Nicknames that a text of any characters seldom is.
NAMES = ("", " ", "\u200b", "\u202e\u202e", "\ufeff \u2060", "\u200d", "Anna", "آرش\u200cزاده", "👩\u200d🚀", HOSTILE,
         "=1+1", "@SUM(A1)", "\u3164\u2800", "Anna\u200d", "\U0001fae8", "a \u200b b",
         "\u0301" * 24, "a\nb\rc\td", "x" * 500)  # fmt: skip


@functools.cache
def open_room() -> tuple[MemoryStore, Room]:
    store, room = MemoryStore(), new_room("key", view={}, named=True)
    assert store.open(room)
    return store, room


def case(seed: int) -> str:
    """One visitor. Returns what became of her. Raises Found."""
    chance, (store, room) = random.Random(seed), open_room()
    typed, is_right = _typed(chance, room.code)
    nickname = text_of(chance) if chance.random() < 0.4 else chance.choice(NAMES)
    what = f"case {seed} ({typed[:60]!r}, {nickname[:60]!r})"
    try:
        code = read_code(typed)
        found = store.find(code) if code else None
        shown = read_nickname(nickname)
        _look(shown, what)
    except Found:
        raise
    except BaseException as error:
        raise Found(f"{what}: {type(error).__name__}: {error}") from error
    if (found is not None) != is_right:
        raise Found(f"{what}: the code {'opens nothing' if is_right else 'opens a room'}")
    if found is None:
        return "another code" if code else "no code"
    return "joined" if shown else "no nickname"


def _typed(chance: random.Random, code: str) -> tuple[str, bool]:
    """What is typed for a code, and whether it is the code."""
    kind = chance.randrange(4)
    if kind == 0:
        return text_of(chance), False
    if kind == 1:  # an alphabet of the code's size, but for a chance of one in 191 million
        return "".join(chance.choice(ALPHABET) for _ in range(CODE_LENGTH)), False
    if kind == 2:
        place = chance.randrange(CODE_LENGTH)
        return code[:place] + chance.choice("0O1IlZ2S5B8\u0391\u0410\uff21") + code[place + 1 :], False
    loose = spaced(code) if chance.random() < 0.5 else "-".join(code)
    return chance.choice((str.upper, str.lower))(chance.choice(("", " ", "\t")) + loose), True


def _look(nickname: str, what: str) -> None:
    """Raise Found for a nickname that changes what is around it, or is lost on the way through the store."""
    if any(unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") or one in "\u202e\u2066\u200b" for one in nickname):
        raise Found(f"{what}: {nickname!r} steers what is around it")
    if nickname != " ".join(nickname.split()).strip("\u200c\u200d") or nickname in ("\u3164", "\u2800"):
        raise Found(f"{what}: {nickname!r} looks like another one")
    if foreign(plain(nickname)):
        raise Found(f"{what}: {nickname!r} is a link or a picture")
    member: Any = Member(new_secret(), nickname)
    if Member.from_json(member.to_json(), 0.0) != member:
        raise Found(f"{what}: {nickname!r} is lost in the store")
