"""What one visitor may ask for, in one table: texts, files, rooms, lessons.

A shared server bounds what a visitor takes so that nobody starves; on one's own machine a limit is often higher. Files
of images and sounds have theirs in `encoder/inputs`, since notebooks read them, too.
"""

import os
from dataclasses import dataclass

from pages.base.access import visitors


@dataclass(frozen=True)
class Limit:
    """what: a line for the operator; usual: on a shared server; own: on one's own machine, None: the same; own_said:
    there, where no number is the limit; variable: of the environment, which replaces `usual`."""

    what: str
    usual: int
    unit: str = ""
    own: int | None = None
    own_said: str = ""
    variable: str = ""

    @property
    def value(self) -> int:
        """The limit for this visitor."""
        if self.own is not None and visitors.for_one_person():
            return self.own
        chosen = os.environ.get(self.variable, "") if self.variable else ""
        return int(chosen) if chosen.isdecimal() else self.usual


# One's own machine has no fixed limit for these three: `estimates` asks for its free memory.
MODEL = Limit(
    "weights of an untrained encoder", 600, "MB", own_said="the free memory", variable="ENCODERSCOPE_MODEL_MB"
)
TRACE = Limit("memory of one text in a model", 600, "MB", own_said="the free memory", variable="ENCODERSCOPE_TRACE_MB")
WORK = Limit("work of one text in a model", 3_000, "GFLOP", own_said="no limit", variable="ENCODERSCOPE_TEXT_GFLOP")

# MiniLM's tokenizer takes 0.7 s for 400,000 characters, and cutting them into windows takes 2 s.
TEXT = Limit("characters of a text", 400_000, own=4_000_000)
# Each is a forward pass, whose values are kept.
SOURCES = Limit("texts that edits take values from", 64)
SOURCE_TEXT = Limit("characters of these texts together", 20_000)
# Servers and proxies refuse longer request lines.
LINK_TEXT = Limit("characters of a text in a link", 4_000)

SESSION_FILES = Limit("uploaded files of a session", 128_000_000, "bytes")
ALL_FILES = Limit("uploaded files of all sessions, with those on their way", 1_000_000_000, "bytes")

SEARCH_FILE = Limit("a file of texts on the page Texts", 10_000_000, "bytes", own=50_000_000)
SEARCH_TEXTS = Limit("texts that are searched", 10_000, own=200_000)
SEARCH_CHARACTERS = Limit("characters of a text that is searched", 2_000)
DIAGNOSE_FILE = Limit("a file of vectors on the page Diagnose", 10_000_000, "bytes", own=200_000_000)
DIAGNOSE_TEXTS = Limit("texts that are diagnosed", 100, own=2_000)
DIAGNOSE_FILES = Limit("images or sounds that are diagnosed", 20, own=200)
# Decoded, a pixel takes 3 bytes and a sample 4.
DIAGNOSE_NUMBERS = Limit(
    "pixels or samples of images or sounds that are diagnosed together", 60_000_000, own=200_000_000
)
PROBE_FILE = Limit("a file of texts on the page Probes", 10_000_000, "bytes")
PROBE_ROWS = Limit("texts of a task on the page Probes", 2_000, own=10_000)
TRAINING_RUNS = Limit("runs of training at the same time", 4)

ROOM_HOURS = Limit("hours after which a room closes by itself", 12)
ROOMS = Limit("rooms of a class, in memory", 200)
OPENINGS = Limit("rooms that one address opens at once, and more in an hour", 40)
MISSES = Limit("unknown codes of rooms from one address, and more in a minute", 60)
MEMBERS = Limit("members of a room", 300)
# All lessons ask 100, and a room may serve several classes of a day.
QUESTIONS = Limit("questions of a room", 300)
ANSWER = Limit("an answer to a question", 2_000, "bytes")
NICKNAME = Limit("characters of a nickname", 24)
ROOM_VIEW = Limit("a view that a room shows", 200_000, "bytes")
# A room keeps all its questions for its export: 300 of the lessons have 214,000 bytes.
ROOM_PAST = Limit("questions of a room with their texts, after which it asks no more", 300_000, "bytes")

LESSONS = Limit("lessons of a folder", 200)
LESSON_FILE = Limit("a file with a lesson", 200_000, "bytes")
LESSON_STEPS = Limit("steps of a lesson", 50)
QUESTION_TEXT = Limit("characters of a question, and of each of its options", 1_500)

TABLE = tuple(limit for limit in list(globals().values()) if isinstance(limit, Limit))
