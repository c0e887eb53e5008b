"""The open lesson and its step in the address. They stay while the reader goes from page to page."""

from dataclasses import dataclass

from pages.state.params import Param, string, whole_number
from pages.state.url_state import state


@state.register
@dataclass(frozen=True)
class Params:
    """lesson: its name, "" for none; step: counted from 1."""

    lesson: Param[str] = string(public="the name of a lesson of this server")
    number: Param[int] = whole_number(1, 1, url="lesson_step")
