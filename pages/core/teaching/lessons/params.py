"""The open lesson and its step in the address. They stay while the reader goes from page to page."""

from dataclasses import dataclass

from pages.state import Param, state, string, whole_number


@state.register
@dataclass(frozen=True)
class Params:
    """lesson: its name, "" for none; number: of the step, from 1; 0 is the opening."""

    lesson: Param[str] = string(public="the name of a lesson of this server")
    number: Param[int] = whole_number(1, 0, url="lesson_step")
