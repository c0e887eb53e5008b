"""What the next step of a class's lesson needs is computed while the class is at this one, once in each process."""

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

from encoder.errors import EncoderError
from encoder.model.pauses import NOBODY_WAITS
from pages.state import state
from pages.teaching.lessons import library, path, progress
from pages.teaching.lessons.lesson import Lesson
from pages.teaching.params import LessonParams

#: Seconds in which the screens of the class draw this step first, and for which one that is still drawn is waited for.
AFTER, QUIET = 1.0, 5.0
_begun: set[tuple[str, int]] = set()
_thread = ThreadPoolExecutor(1, thread_name_prefix="next-step")


def prepare() -> None:
    """Load the model of the next step, and compute its trace and the answer to its question, in the background."""
    found = _following()
    if found is None or (key := (found[0].name, found[1])) in _begun:
        return
    _begun.add(key)
    _thread.submit(_compute, *found)


def _following() -> tuple[Lesson, int] | None:
    """The next step along the path of the class, or of its lesson; None without a lesson, and after its end."""
    opened = progress.current()
    if opened is None:
        return None
    along = path.paths().get(state.get(LessonParams.path))
    at = along.place(*opened.key) if along else None
    if along is None or at is None:
        return progress.following(opened)
    mark = along.marks[at + 1] if at + 1 < len(along.marks) else None
    lesson = library.find(mark.lesson) if mark else None
    return (lesson, mark.step) if lesson and mark else None


def _compute(lesson: Lesson, number: int) -> None:
    time.sleep(AFTER)
    NOBODY_WAITS.wait(QUIET)
    step = lesson.step(number)
    with contextlib.suppress(EncoderError):  # the step itself says why
        look = library.look_of(step.view)
        if look.trace.finite and step.question is not None:
            step.question.truth(look)
