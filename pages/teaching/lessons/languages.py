"""The choice of a language of the lessons, on the page Lessons and on the teacher's desk."""

from pages.state import state
from pages.teaching.lessons import library
from pages.teaching.params import LessonParams

#: Languages as their readers call them; any other by its code.
NAMES = {"": "English", "de": "Deutsch", "es": "Español", "fr": "Français", "pt": "Português"}


def choose(help: str | None = None) -> None:
    """Draw it where there are translations. What is not translated stays in English."""
    names = ["", *library.languages()]
    if len(names) > 1:
        state.segmented(
            LessonParams.language,
            "Language of the lessons",
            {name: NAMES.get(name, name) for name in names},
            label_visibility="collapsed",
            help=help,
        )
