"""The lessons that this server offers: those that ship, and those of the operator's folder."""

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from encoder import EncoderError
from encoder.checkpoints import BUNDLED
from encoder.run import ModelSpec, Run, Text, address
from pages.base.access import limits
from pages.core.view import ViewParams
from pages.teaching.lessons import lesson
from pages.teaching.lessons.lesson import Lesson
from pages.teaching.questions import Look, QuestionError

SHIPPED = Path(__file__).parent / "texts"
#: Names of folders of translations next to the lessons: es, pt-BR.
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z]{2,4})?")
#: A folder of more lessons, which `encoderscope --lessons-root DIR` sets. It is read again when a file changes.
ROOT = "ENCODERSCOPE_LESSONS_ROOT"


@dataclass(frozen=True)
class Broken:
    """A lesson file with a fault, and what it is."""

    name: str
    reason: str


def lessons(language: str = "") -> tuple[list[Lesson], list[Broken]]:
    """All lessons in the order of their file names, the shipped ones first; and the files with faults.

    language: the name of a folder of translations; what it lacks, or has with a fault, is in English.
    """
    good: list[Lesson] = []
    broken: list[Broken] = []
    for path in _files():
        for file in _in_language(path, language):
            found = _read(file)
            if isinstance(found, Lesson):
                good.append(found)
                break
            broken.append(found)
    return good, broken


def find(name: str, language: str = "") -> Lesson | None:
    """The lesson of this name, or None. Only names of listed files are found, so a link reads no other file."""
    return next((one for one in lessons(language)[0] if one.name == name), None)


def is_own(lesson: Lesson) -> bool:
    """Whether a lesson is of the operator's folder."""
    return not (SHIPPED / f"{lesson.name}.md").is_file()


def step_of(definition: Mapping[str, Any], view: Mapping[str, str]) -> tuple[str, int] | None:
    """The lesson, in any language, and the number of the step that asks a question about a view; None if none does."""
    for language in ("", *languages()):
        for one in lessons(language)[0]:
            for number, step in one.numbered():
                asks = step.question.definition() if step.question is not None else {}
                if asks.get("ask") == definition.get("ask") and dict(step.view) == dict(view):
                    return one.name, number
    return None


def languages() -> list[str]:
    """The languages that some lesson is translated to, by the names of their folders."""
    found = {path.parent.name for folder in _folders() for path in folder.glob("*/*.md")}
    return sorted(name for name in found if LANGUAGE.fullmatch(name))


def translated(language: str) -> set[str]:
    """The names of the lessons that have a translation."""
    if not LANGUAGE.fullmatch(language):
        return set()
    return {path.stem for folder in _folders() for path in folder.glob(f"{language}/*.md")}


def _in_language(path: Path, language: str) -> list[Path]:
    """The files to try: translations, the operator's first, then the lesson itself."""
    if not LANGUAGE.fullmatch(language):
        return [path]
    translated = [folder / language / path.name for folder in (*_own_folders(), path.parent)]
    return [*dict.fromkeys(one for one in translated if one.is_file()), path]


def original(translation: Path) -> Path | None:
    """The lesson that a file of a folder of translations translates: next to the folder, or a shipped one."""
    if not LANGUAGE.fullmatch(translation.resolve().parent.name):
        return None
    places = (translation.resolve().parents[1], SHIPPED)
    return next((one for place in places if (one := place / translation.name).is_file()), None)


def _folders() -> list[Path]:
    return [SHIPPED, *_own_folders()]


def _own_folders() -> list[Path]:
    root = os.environ.get(ROOT)
    return [Path(root)] if root else []


def _files() -> list[Path]:
    return [
        path
        for folder in _folders()
        for path in sorted(folder.glob("*.md"))[: limits.LESSONS.value]
        if path.is_file() and not path.name.startswith(".")
    ]


def _read(path: Path) -> Lesson | Broken:
    try:
        return _kept(path, path.stat().st_mtime_ns)
    except OSError as error:  # not kept: permissions change and the file does not
        return Broken(path.name, str(error))


@lru_cache(maxsize=4 * limits.LESSONS.value)
def _kept(path: Path, changed: int) -> Lesson | Broken:
    """A lesson, or what is wrong with its file: each run of each page asks, so a file is read once."""
    try:
        return lesson.load(path)
    except EncoderError as error:
        return Broken(path.name, str(error))
    except OSError:
        raise
    except Exception as error:  # one file must not take the lessons from everybody
        logging.getLogger("encoderscope").exception("The lesson %s cannot be read.", path.name)
        reason = f"it cannot be read ({type(error).__name__}): remove what you added last."
        return Broken(path.name, reason)


def look_of(view: Mapping[str, str]) -> Look:
    """What a question about a view is about: its run as the model was trained to read it. Raises QuestionError."""
    usual = {param.name: str(param.default) for param in (ViewParams.text, ViewParams.layer, ViewParams.head)}
    try:
        run = address.read({**usual, **view})
    except EncoderError as error:
        raise QuestionError(str(error)) from error
    if run.model.source not in BUNDLED:
        raise QuestionError(f"A question needs a model that ships: {', '.join(BUNDLED)}.")
    look = Look(Run(ModelSpec(run.model.source, norm=run.model.norm), Text(run.text, run.pair), place=run.place))
    return look.at(look.layer, look.head)
