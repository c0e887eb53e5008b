"""What a class and a lesson add to every page; pages/core/frame/companions.py says when each method is called."""

import contextlib
from collections.abc import Hashable, Iterable, Iterator, Mapping

from starlette.types import ASGIApp
from streamlit.delta_generator import DeltaGenerator

from pages.core.frame.companions import Companion, Entry, Visit
from pages.teaching.params import LessonParams
from pages.teaching.rooms import current_store, follow
from pages.teaching.rooms.events import RoomEvents


class _Teaching(Companion):
    def middleware(self, app: ASGIApp, base_url: str) -> ASGIApp:
        """The news of rooms."""
        return RoomEvents(app, current_store, base_url)

    def warm(self) -> None:
        """Import lessons, questions and the desk, and read the lessons."""
        from pages.teaching.desk import desk, in_room  # noqa: F401
        from pages.teaching.lessons import ahead, beside, library  # noqa: F401

        library.lessons()

    def before(self, page: str) -> None:
        """A follower takes the teacher's view."""
        follow.before(page)

    def visit(self, page: str, area: DeltaGenerator) -> Visit:
        """The room's question and line, and the open lesson."""
        return _Visit(page, area)

    def version(self) -> tuple[Hashable, ...]:
        """The lessons, which may change while the server runs."""
        from pages.teaching.lessons import library

        return tuple(map(id, library.lessons()[0]))

    def entries(self) -> Iterable[Entry]:
        """Every step of every lesson, and the weeks of a course."""
        from pages.teaching.lessons import library, path

        lessons = library.lessons()[0]
        yield Entry("Course", "Lessons by week", path.weeks_asked(), "lessons", steps=path.weeks_said(lessons))
        for lesson in lessons:
            for number, step in lesson.numbered():
                title = lesson.title if number == lesson.first else step.title
                values = {LessonParams.lesson.name: lesson.name, LessonParams.number.name: str(number)}
                yield Entry("Lesson", title, f"{lesson.title}, step {number}", values=values)

    def open(self, values: Mapping[str, str]) -> bool:
        """Open the step that the values name."""
        from pages.state import state
        from pages.teaching.lessons import library, progress

        lesson = library.find(values.get(LessonParams.lesson.name, ""), state.get(LessonParams.language))
        number = values.get(LessonParams.number.name, "1")
        if lesson is None or not (number.isascii() and number.isdigit() and lesson.nearest(int(number)) == int(number)):
            return False
        progress.open_step(lesson, int(number))
        return True


class _Visit(Visit):
    def __init__(self, page: str, area: DeltaGenerator) -> None:
        from pages.teaching.desk.in_room import InRoom

        self._page, self._room = page, InRoom(page, area)

    def first_view(self) -> None:
        """A link that names a step only shows the view of that step."""
        from pages.teaching.lessons import progress

        progress.show_linked_view(self._page)

    def is_shared(self) -> bool:
        """Whether this is the teacher, or follows the teacher."""
        from pages.teaching.rooms import session

        own = session.seat()
        return own is not None and (own.teaches or own.follows)

    @contextlib.contextmanager
    def beside(self) -> Iterator[bool | None]:
        """The room's question, then the lesson next to the page."""
        from pages.teaching.lessons.beside import beside

        with self._room.beside(beside) as is_shown:
            yield is_shown

    def after(self) -> None:
        """Publish what the teacher changed, and draw the room's line; then compute what the class sees next."""
        from pages.teaching.lessons import ahead
        from pages.teaching.rooms import session

        self._room.after()
        if session.seat() is not None:
            ahead.prepare()


COMPANION = _Teaching()
