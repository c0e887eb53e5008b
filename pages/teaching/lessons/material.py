"""What a teacher prints and hands out, made from the lessons: `encoderscope lesson material FOLDER`.

Every file opens without a network. Answers are computed when the files are made.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from encoder import disk, export
from encoder.documents.document import Section, document
from encoder.drawing.javascript import joined
from encoder.drawing.picture import Picture, escape
from encoder.export.notebook import INSIDE, of_trace, picture_of
from encoder.export.report import footer
from pages.core.words import symbols
from pages.teaching.lessons import library, path, platforms, worksheet
from pages.teaching.lessons.lesson import Lesson, Step, in_html
from pages.teaching.lessons.library import look_of
from pages.teaching.questions import Look, Question, gestures
from pages.teaching.questions.kinds import HeadQuestion, NumberQuestion, OrderQuestion
from pages.teaching.questions.open_kinds import BETWEEN_WORDS, ConclusionQuestion, SentenceQuestion
from pages.teaching.questions.question import Choosing

#: Not of the app: style and script of the files.
HERE = Path(__file__).parent / "components"
#: What draws a gesture, in the app and in the files.
COMPONENTS = Path(__file__).parents[2] / "components"
#: Questions give numbers of their own, which no model computed.
FOOTER = "Layers and heads count from 0; rows attend to columns. The model computed every number about it."
#: What the list of the folder's files calls it.
KIND = "a teacher's material"


def write(folder: Path, server: str = "") -> list[Path]:
    """Write all files to a folder, which is empty or one of these; returns them. Raises EncoderError.

    server: the address at which a class opens the app: a learning platform embeds the views from there.
    """
    disk.check_folder(folder, KIND)
    lessons = {one.name: one for one in library.lessons()[0]}
    texts = {"syllabus": _document(f"A syllabus of {len(path.weeks())} weeks", list(_syllabus(lessons)))}
    for one in path.paths().values():
        texts |= _of_path(one, lessons)
    for name in dict.fromkeys(mark.lesson for one in path.paths().values() for mark in one.marks):
        texts[f"lesson-{name}"] = student(lessons[name])
    for lesson in lessons.values():
        texts |= _paper(lesson.name, lesson.title, [(lesson, number, step) for number, step in lesson.numbered()])
    texts |= {f"gesture-{name}": gesture(name) for name in gestures.table()}
    for_platform = [item for lesson in lessons.values() for item in platforms.items(lesson, server)]
    contents: dict[str, str | bytes] = {f"{name}.html": text for name, text in texts.items()}
    contents["questions-moodle.xml"] = platforms.moodle(for_platform, "Encoderscope")
    contents["questions-qti21.zip"] = platforms.qti(for_platform)
    with disk.whole_folder(folder, KIND) as place:
        for name, content in contents.items():
            disk.write_file(place / name, content)
    return [folder / name for name in contents]


def _of_path(one: path.Path, lessons: Mapping[str, Lesson]) -> dict[str, str]:
    """The path itself, its slides, worksheet and key."""
    steps = [(lessons[mark.lesson], mark.step, lessons[mark.lesson].step(mark.step)) for mark in one.marks]
    return {
        f"path-{one.name}": _document(f"{one.title}: the path", list(_path(one, steps))),
        f"slides-{one.name}": slides(one.title, [step for *_, step in steps]),
        **_paper(one.name, one.title, steps),
    }


def _paper(name: str, title: str, steps: Sequence[tuple[Lesson, int, Step]]) -> dict[str, str]:
    asking = worksheet.asking(steps)
    return {
        f"worksheet-{name}": _document(f"{title}: worksheet", list(worksheet.sheet(asking))),
        f"answer-key-{name}": _document(f"{title}: answer key", list(worksheet.key(asking))),
    }


def student(lesson: Lesson) -> str:
    """A lesson as a page that runs by itself."""
    return _document(lesson.title, list(_student(lesson)), joined(HERE / "student.js"))


def gesture(name: str) -> str:
    """A gesture as a page that runs by itself, for pointer, finger and keyboard."""
    row = gestures.table()[name]
    question = gestures.GestureQuestion(gesture=name)
    task = question.task(look_of({}))
    asked = escape(json.dumps({"header": task.header, "truth": task.truth, "why": f"{task.said} {question.why}"}))
    inner = f"<p class='ask'>{symbols.in_html(question.ask)}</p><div data-gesture='{asked}'></div>"
    css = (COMPONENTS / "gesture.css").read_text(encoding="utf-8")
    return _document(row["title"], [Section("", picture=inner)], joined(HERE / "gesture_alone.js"), css=css)


def slides(title: str, steps: Sequence[Step]) -> str:
    """One landscape page for each step, without controls and without answers."""
    css = (HERE / "slides.css").read_text(encoding="utf-8")
    return _document(title, [part for step in steps for part in _slide(step)], css=css)


def _document(heading: str, sections: list[Section], *scripts: str, css: str = "") -> str:
    css = (HERE / "material.css").read_text(encoding="utf-8") + css
    return document(heading, sections, footer=footer(FOOTER), scripts=scripts, css=css)


# --- for the teacher --------------------------------------------------------------------------------------------------


def _path(one: path.Path, steps: Sequence[tuple[Lesson, int, Step]]) -> Iterator[Section]:
    rows = [
        (mark.at, mark.minutes, lesson.place(number), step.title, mark.do)
        for mark, (lesson, number, step) in zip(one.marks, steps, strict=True)
    ]
    yield Section("", table=pd.DataFrame(rows, columns=["minute", "takes", "step", "title", "you"]))


def _is_read_off(question: Question) -> bool:
    """Whether the answer is a number or a head in the picture; a conclusion is the reader's own."""
    return question.look and not isinstance(question, ConclusionQuestion)


def _slide(step: Step) -> Iterator[Section]:
    """Prose or question with the step's picture. A question has none that shows its answer: it fills the page."""
    question = step.question
    if question is None or _is_read_off(question):
        yield Section(step.title, picture=in_html(step.text))
        yield Section("", picture=picture(step))
        return
    shows = question.look or worksheet.is_given(question)
    text = f" <br><small>“{escape(step.view['text'])}”</small>" if "text" in step.view and not shows else ""
    asked = (
        f"<p class='ask{'' if shows else ' only'}'>{symbols.in_html(question.ask)}{worksheet.choices(step)}{text}</p>"
    )
    yield Section(step.title, picture=asked)
    if shows:
        yield Section("", picture=picture(step))


def _syllabus(lessons: Mapping[str, Lesson]) -> Iterator[Section]:
    for number, week in enumerate(path.weeks(), 1):
        yield _taught(f"Week {number}: {week['title']}", [lessons[name] for name in week["lessons"]])
    if own := [one for one in lessons.values() if library.is_own(one)]:
        yield _taught("Your own lessons", own)


def _taught(title: str, chosen: Sequence[Lesson]) -> Section:
    """Some lessons of a syllabus, their minutes and what a student can do then."""
    goals = "".join(f"<li>{symbols.in_html(goal)}</li>" for one in chosen for goal in one.goals)
    titles = "".join(f"<li>{escape(one.heading)} ({one.minutes} minutes)</li>" for one in chosen)
    minutes = sum(one.minutes for one in chosen)
    return Section(title, picture=f"<p>{minutes} minutes</p><ul>{titles}</ul><p>You can then:</p><ul>{goals}</ul>")


# --- for a student without a server -----------------------------------------------------------------------------------


def _student(lesson: Lesson) -> Iterator[Section]:
    """A lesson that runs in a browser by itself: predict, then picture and answer; all answers become one code."""
    for number, step in lesson.numbered():
        drawn = Section("", picture=picture(step)) if step.view else None
        question = step.question
        if question is None or question.kind in ("draw", "gesture"):  # on paper; gestures have files of their own
            yield Section(
                step.title, picture=in_html(step.text) + (f"<p>{symbols.in_html(question.ask)}</p>" if question else "")
            )
        else:
            hides = "" if question.look else " data-hides"
            form = (
                f"<form data-lesson='{escape(lesson.name)}' data-step='{number}' data-question='{_asked(step)}'{hides}>"
            )
            form += f"<p><b>{symbols.in_html(question.ask)}</b></p></form>"
            yield Section(step.title, picture=in_html(step.prose) + form)
        if drawn is not None:
            yield drawn
    yield Section(
        "Your answers as a code",
        picture="<textarea id='code' readonly rows='4'></textarea>",
        sentences=["Copy this code. In the app, paste it on the page Lessons, or send it to your teacher."],
    )


def _asked(step: Step) -> str:
    """What the script needs of a question, as JSON in an attribute."""
    assert step.question is not None
    question, look = step.question, look_of(step.view)
    truth = question.truth(look)
    # Words are HTML: they have symbols as they are printed.
    words = {"hint": question.hint, "why": question.why, "said": worksheet.said(question, look)}
    known: dict[str, Any] = {"kind": question.kind, "options": []}
    known |= {name: symbols.in_html(text) for name, text in words.items()}
    if isinstance(question, Choosing):
        known["options"] = [*question.choices(look).items()]
    elif isinstance(question, OrderQuestion):
        known["options"] = [[label, label] for label in question.begins_with(look)]
    if isinstance(question, NumberQuestion):
        known["between"] = question.accepted(truth)
    elif isinstance(question, SentenceQuestion) and question.words is not None:
        known |= {"words": question.words, "between_words": BETWEEN_WORDS.pattern}
    elif isinstance(question, Choosing | HeadQuestion):
        known["right"] = truth.answers
    return escape(json.dumps(known))


# --- pictures ---------------------------------------------------------------------------------------------------------


def picture(step: Step) -> Picture:
    """The view of a step as a still: of Heads the map, of any other page the model with the part that it opens."""
    look, view = look_of(step.view), step.view
    query, key = (int(view[name]) if name in view else None for name in ("i", "j"))
    if view.get("page") == "heads" and view.get("view", "map") == "map":
        return picture_of(export.map(look.trace, look.layer, look.head, queries=[] if query is None else [query]))
    part = view.get("step", "")
    part = view.get("vector", "q") if part == "qkv" else part
    part = f"{part}-{view.get('part', 'attention')}" if part in ("norm", "add") else part
    return _drawn(look, part, query, key)


@cache
def _drawn(look: Look, part: str = "", query: int | None = None, key: int | None = None) -> Picture:
    """The model with an open part, or without one."""
    places = {"layer": look.layer, "head": look.head, "query": query, "key": key, "part": part}
    return of_trace(look.trace, {"model": look.loaded.name}, INSIDE | places)
