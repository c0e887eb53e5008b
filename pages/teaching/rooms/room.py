"""What a room is: small frozen values that every store keeps in the same form."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from encoder import EncoderError
from pages.base.access import limits

#: Of a room's JSON, raised when an older version could not read it. Rooms of 0.1 do not name theirs, which is 1.
FORMAT = 1
#: Codes avoid characters that a projector makes look alike: 0 and O, 1, I and L, 2 and Z, 5 and S, 8 and B, U and V.
ALPHABET = "34679ACDEFGHJKMNPQRTUWXY"
CODE_LENGTH = 6
#: Among what is hidden in a new room: the bars on the wall, so that a vote is not drawn to what others chose.
BARS = "bars"
#: U+200C and U+200D: they join letters, or keep them apart, in Persian, in scripts of India and in emoji.
JOINERS = "\u200c\u200d"
#: Categories of characters that are not written themselves, and letters and symbols that look like nothing.
STEERING, BLANKS = ("Cc", "Cf", "Cs", "Co"), "\u115f\u1160\u2800\u3164\uffa0"
#: A member counts as present for this many seconds after the last sign.
PRESENT = 30.0


@dataclass(frozen=True)
class Asked:
    """A question that a room answers now.

    id: unique in the room; definition: kind, text and options, as a lesson file has them; view: what it is about;
    hides: whether the page is hidden until the result is shown, so that everybody predicts; revealed: whether members
    see the result; before: of a second vote, the id of the first.
    """

    id: str
    definition: Mapping[str, Any]
    view: Mapping[str, str] = field(default_factory=dict)
    hides: bool = False
    revealed: bool = False
    before: str = ""

    @property
    def withholds(self) -> bool:
        """Whether no page is drawn on a student's screen now: one of them would tell the answer."""
        return self.hides and not self.revealed


@dataclass(frozen=True)
class Room:
    """What everybody in a room shares. Each change by the teacher gives it the next version.

    key_hash: SHA-256 of the teacher's key; opened: seconds since 1970; view: page and values, as in a link; frozen:
    nobody may leave the teacher's view; hidden: controls that members do not see, `answer_mark`s and `wall_mark`s;
    spotlight: whether the selection pulses; recalled: how often the teacher called everybody back; named: whether
    members give a nickname; timer: when it ends, in seconds since 1970, 0 for none; past: the questions before, the
    newest last; asked: how many so far.
    """

    code: str
    key_hash: str
    opened: float
    version: int = 1
    view: Mapping[str, str] = field(default_factory=dict)
    frozen: bool = False
    hidden: tuple[str, ...] = ()
    spotlight: bool = False
    recalled: int = 0
    named: bool = False
    timer: float = 0.0
    question: Asked | None = None
    past: tuple[Asked, ...] = ()
    asked: int = 0

    @property
    def is_full(self) -> bool:
        """Whether it holds no more questions: all that it asked stay in its export."""
        if self.asked >= limits.QUESTIONS.value:
            return True
        asked = [asdict(one) for one in (*self.past, self.question) if one is not None]
        return len(json.dumps(asked)) > limits.ROOM_PAST.value

    @property
    def ends(self) -> float:
        """When the room closes by itself, in seconds since 1970."""
        return self.opened + limits.ROOM_HOURS.value * 3600.0

    def is_taught_with(self, key: str) -> bool:
        """Whether `key` is the teacher's; takes the same time for every wrong key."""
        return hmac.compare_digest(self.key_hash, hashed(key))

    def to_json(self) -> str:
        """The room as JSON."""
        return json.dumps({"format": FORMAT} | asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Room:
        """The room that `to_json` wrote. Raises EncoderError for one of a newer version."""
        values = json.loads(text)
        if values.pop("format", FORMAT) > FORMAT:
            raise EncoderError(
                "A newer version of Encoderscope opened this room: update this server, and start it again."
            )
        question, past = values.pop("question"), tuple(Asked(**one) for one in values.pop("past"))
        values.pop("points", None)  # a switch that earlier versions had
        values["hidden"] = tuple(values["hidden"])
        return cls(**values, question=Asked(**question) if question else None, past=past)


@dataclass(frozen=True)
class Member:
    """Somebody who joined. id: a secret of this member's browser; page: where they are.

    seen: when the browser last gave a sign, in seconds since 1970; the store sets it. It makes no other member.
    """

    id: str
    nickname: str = ""
    follows: bool = True
    page: str = ""
    seen: float = field(default=0.0, compare=False)

    def is_present(self, now: float) -> bool:
        """Whether the member's browser gave a sign lately."""
        return now - self.seen <= PRESENT

    def to_json(self) -> str:
        """The member as JSON, without `seen`."""
        values = asdict(self)
        del values["seen"]
        return json.dumps(values, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes, seen: float) -> Member:
        """The member that `to_json` wrote."""
        return cls(**json.loads(text), seen=seen)


def new_code() -> str:
    """A code that nobody can guess: one of 24^6, about 191 million."""
    return "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))


def new_secret() -> str:
    """A key for a teacher, or an id for a member: 128 bits."""
    return secrets.token_urlsafe(16)


def hashed(key: str) -> str:
    """SHA-256 of a key, in hexadecimal digits. A key is random, so it needs no salt."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def read_code(typed: str) -> str:
    """A code as somebody types it, in its own form: capitals, without spaces and hyphens; "" if it is not a code."""
    code = "".join(char for char in typed.upper() if char not in " -\t")
    return code if len(code) == CODE_LENGTH and set(code) <= set(ALPHABET) else ""


def read_nickname(typed: str) -> str:
    """A nickname as somebody types it, in one line; "" where nothing of it can be seen.

    Characters that only steer others are left out, such as those that turn a line's direction. The joiners inside
    letters and emoji stay, and so do characters that are newer than this Python ("Cn").
    """
    kind = unicodedata.category
    text = typed.encode("utf-8", "replace").decode()
    kept = "".join(char for char in text if char.isspace() or char in JOINERS or kind(char) not in STEERING)
    line = " ".join(kept.split())[: limits.NICKNAME.value].strip(JOINERS + " ")
    return line if any(kind(char)[0] in "LNPS" or kind(char) == "Cn" for char in line if char not in BLANKS) else ""


def spaced(code: str) -> str:
    """A code as people read it aloud: "ACD 347"."""
    return f"{code[:3]} {code[3:]}"


def ask(
    room: Room,
    definition: Mapping[str, Any],
    view: Mapping[str, str] | None = None,
    *,
    hides: bool = False,
    before: str = "",
) -> Room:
    """The room with a new question. view: what it is about, by default the room's; before: see `Asked`."""
    room, number = end_question(room), room.asked + 1
    asked = Asked(question_id(room, number), definition, room.view if view is None else view, hides, before=before)
    return replace(room, asked=number, question=asked)


def end_question(room: Room) -> Room:
    """The room without an open question; the export still knows it."""
    return room if room.question is None else replace(room, question=None, past=(*room.past, room.question))


def asked_before(room: Room, definition: Mapping[str, Any], view: Mapping[str, str]) -> Asked | None:
    """The newest of a room's earlier questions with these words about this view; None without one."""
    sought = _written(definition, view)
    return next((one for one in reversed(room.past) if _written(one.definition, one.view) == sought), None)


def numbered_votes(room: Room) -> dict[str, int]:
    """Question -> which vote it is, from 1: the same words about the same view may be asked several times."""
    known, found = Counter[str](), {}
    for asked in sorted((*room.past, *([room.question] if room.question else [])), key=_number):
        words = _written(asked.definition, asked.view)
        known[words] += 1
        found[asked.id] = known[words]
    return found


def _number(asked: Asked) -> int:
    """Questions of a room count in the order of asking."""
    return int(asked.id.rpartition("-")[2])


def _written(definition: Mapping[str, Any], view: Mapping[str, str]) -> str:
    return json.dumps([definition, view], sort_keys=True)  # a store makes lists of tuples


def bring_back(room: Room, asked: Asked) -> Room:
    """The room with an earlier question as it was left: its answers are those of its id."""
    room = end_question(room)
    return replace(room, question=asked, past=tuple(one for one in room.past if one.id != asked.id))


def answer_mark(question: str, member: str) -> str:
    """What stands among `Room.hidden` for an answer that the class does not see."""
    return f"answer {hashed(f'{question} {member}')[:16]}"


def wall_mark(question: str, member: str) -> str:
    """What stands among `Room.hidden` for a typed answer that is on the wall: otherwise the wall hides all of them."""
    return f"wall {hashed(f'{question} {member}')[:16]}"


def seen_by_class(room: Room, question: str, answers: Mapping[str, str]) -> dict[str, str]:
    """The answers to a question, by member, without those that the teacher hides."""
    return {one: text for one, text in answers.items() if answer_mark(question, one) not in room.hidden}


def question_id(room: Room, number: int) -> str:
    """The id of a room's question; they count from 1."""
    return f"{room.code}-{number}"


def new_room(key: str, *, view: Mapping[str, str], named: bool = False) -> Room:
    """A room of this moment with a new code."""
    return Room(code=new_code(), key_hash=hashed(key), opened=time.time(), view=dict(view), named=named)
