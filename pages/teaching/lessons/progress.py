"""Which lesson is open, the answers given in this session, and the way from step to step."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.core.view import ViewParams
from pages.state import links, not_chosen, state
from pages.teaching.lessons import library
from pages.teaching.lessons.lesson import Lesson, Step
from pages.teaching.params import LessonParams, RoomParams

_ANSWERS, _LOOKS, _EXPLORES = "_lesson_answers", "_lesson_looks", "_lesson_explores"
#: The step whose buttons a teacher sees, and since when; seconds in which a click was meant for the step before.
_DRAWN, TURNED = "_lesson_drawn", 1.0
#: The buttons of a step that was just drawn wait, too; another step's animation begins again.
_WAIT = """<style>
.stMain :is({buttons}) button {{ animation: enc-turned-{name} {seconds}s; }}
@keyframes enc-turned-{name} {{ from, to {{ pointer-events: none; }} }}
</style>"""
#: Values that a step leaves as the reader set them.
KEPT = (
    LessonParams.lesson, LessonParams.number, LessonParams.path, LessonParams.language, RoomParams.code,
    RoomParams.wall, ViewParams.colours, ViewParams.device, ViewParams.dtype, ViewParams.present,
)  # fmt: skip


#: A link with no other values than these shows the view of its step.
OF_STEP = frozenset(param.name for param in KEPT if param is not RoomParams.code)


@dataclass(frozen=True)
class Open:
    """The open lesson and the number of its step."""

    lesson: Lesson
    number: int

    @property
    def step(self) -> Step:
        """The open step."""
        return self.lesson.step(self.number)

    @property
    def key(self) -> tuple[str, int]:
        """The name of this step among the answers of the session."""
        return self.lesson.name, self.number


def current() -> Open | None:
    """The open lesson, or None. A step beyond the end is the last one."""
    name = state.get(LessonParams.lesson)
    lesson = library.find(name, state.get(LessonParams.language)) if name else None
    if lesson is None:
        return None
    return Open(lesson, lesson.nearest(state.get(LessonParams.number)))


def following(opened: Open) -> tuple[Lesson, int] | None:
    """The lesson and number of the next step; after the last one, the beginning of the next lesson."""
    if opened.number < opened.lesson.last:
        return opened.lesson, opened.number + 1
    lessons = library.lessons(state.get(LessonParams.language))[0]
    after = lessons[lessons.index(opened.lesson) + 1 :]
    return (after[0], after[0].first) if after else None


def open_step(lesson: Lesson, number: int) -> None:
    """Open a step with its view. For callbacks."""
    state.put(LessonParams.lesson, lesson.name)
    state.put(LessonParams.number, number)
    show_view(lesson.step(number))


def note_drawn(lesson: Lesson, number: int, *keys: str) -> None:
    """Note that the buttons of a step are drawn for a teacher: `turn` hears them from a second later on.

    keys: what the keys of those begin with that Streamlit draws.
    """
    if st.session_state.get(_DRAWN, ("",))[0] != (key := (lesson.name, number)):
        st.session_state[_DRAWN] = key, time.monotonic()
    if keys:
        buttons = ", ".join(f'[class*="st-key-{one.replace(":", "-")}"]' for one in keys)
        name = int(1000 * st.session_state[_DRAWN][1])
        st.html(_WAIT.format(buttons=buttons, name=name, seconds=TURNED))


def turn(go: Callable[[Lesson, int], None], lesson: Lesson, number: int) -> None:
    """Go to a step, but for the second of two clicks, which was not meant for the step just drawn. For callbacks."""
    _, since = st.session_state.get(_DRAWN, ("", -TURNED))
    if time.monotonic() - since >= TURNED:
        go(lesson, number)


def show_view(step: Step) -> None:
    """Open the view of a step: its page with its values, and defaults for all others. For callbacks."""
    if not step.view:
        return
    links.open_later(step.view["page"])
    for param in state.params.values():
        if param not in KEPT:
            state.put(param, param.parse(step.view[param.name]) if param.name in step.view else param.default)
    # The lesson chooses head and token, or none: as if the link had these values, now and when it is read again.
    not_chosen.remember_asked({*step.view, ViewParams.layer.name})
    not_chosen.leave_out({}, [ViewParams.layer])


def show_linked_view(page: str) -> None:
    """Show the view of a step whose link has no other values. After the first address is read; page: the open one."""
    _, asked = not_chosen.asked()
    opened = current() if asked <= OF_STEP else None
    if opened is None or not opened.step.view:
        return
    show_view(opened.step)
    if opened.step.view["page"] == page:
        links.opened_later()
    else:
        st.rerun()


def leave() -> None:
    """Close the lesson; the view stays. For callbacks."""
    state.put(LessonParams.lesson, "")
    state.put(LessonParams.number, 1)
    state.put(LessonParams.path, "")


def answer(opened: Open) -> Any | None:
    """The answer that this session gave at a step, or None."""
    text = st.session_state.get(_ANSWERS, {}).get(opened.key)
    return None if text is None else json.loads(text)


def give_answer(lesson: Lesson, number: int, value: Any) -> None:
    """Keep the answer at a step, as JSON. For callbacks."""
    st.session_state.setdefault(_ANSWERS, {})[lesson.name, number] = json.dumps(value)


def take_back(opened: Open) -> None:
    """Forget an answer. For callbacks."""
    st.session_state.get(_ANSWERS, {}).pop(opened.key, None)


def look(opened: Open) -> None:
    """Show the picture before the answer. For callbacks."""
    st.session_state.setdefault(_LOOKS, set()).add(opened.key)


def looks(opened: Open) -> bool:
    """Whether the reader asked for the picture before the answer."""
    return opened.key in st.session_state.get(_LOOKS, set())


def explore(opened: Open, explores: bool) -> None:
    """Show or hide the page's controls at a step. For callbacks."""
    st.session_state[_EXPLORES] = opened.key if explores else None


def explores(opened: Open) -> bool:
    """Whether the reader sees the page's controls at this step."""
    return st.session_state.get(_EXPLORES) == opened.key


def answered(lesson: Lesson) -> int:
    """How many of a lesson's questions this session answered."""
    answers = st.session_state.get(_ANSWERS, {})
    return sum((lesson.name, number) in answers for number, _ in lesson.numbered())
