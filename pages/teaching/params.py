"""The values of a class in the address. They stay while the reader goes from page to page."""

from pages.state import Param, flag, state, string, whole_number


@state.register
class LessonParams:
    """lesson: its name, "" for none; number: of the step, from 1; 0 is the opening; language: of lessons, as the folder
    of translations has it, "" for English; path: which one a class follows, by its minutes, "" for none."""

    lesson: Param[str] = string(public="the name of a lesson of this server")
    number: Param[int] = whole_number(1, 0, url="lesson_step")
    path: Param[str] = string(url="lesson_path", public="the minutes of a path of lessons")
    language: Param[str] = string(url="lesson_language", public="a language of this server's lessons")


@state.register
class RoomParams:
    """code: of the room that this session is in, so that a reload comes back to it, or that a link invites to; "" for
    none. A copied link has no room. wall: whether this screen is the room's wall, for a projector."""

    code: Param[str] = string(url="room", public="no link has it", in_links=False, any_page=True)
    wall: Param[bool] = flag(any_page=True)
