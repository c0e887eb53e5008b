"""What a teacher prints and hands out, made from the lessons: `encoderscope lesson material FOLDER`.

Every file opens without a network. Answers are computed when the files are made.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from markdown_it import MarkdownIt

from encoder import disk, export
from encoder.documents.document import Section, document
from encoder.drawing.javascript import joined
from encoder.drawing.picture import Picture, escape
from encoder.export.notebook import INSIDE, of_trace, picture_of
from encoder.export.report import footer
from pages.teaching.lessons import library, path, platforms
from pages.teaching.lessons.lesson import Lesson, Step
from pages.teaching.lessons.library import look_of
from pages.teaching.questions import Look, Question, controls, gestures
from pages.teaching.questions.kinds import HeadQuestion, NumberQuestion, OrderQuestion
from pages.teaching.questions.open_kinds import BETWEEN_WORDS, ConceptQuestion, ConclusionQuestion, SentenceQuestion
from pages.teaching.questions.question import Choosing

#: Not of the app: style and script of the files.
HERE = Path(__file__).parent / "components"
#: What draws a gesture, in the app and in the files.
COMPONENTS = Path(__file__).parents[2] / "components"
#: What the list of the folder's files calls it.
KIND = "a teacher's material"
#: Lines to write on, for each question of the worksheet.
LINE = '<p class="write">&nbsp;</p>'


def write(folder: Path, server: str = "") -> list[Path]:
    """Write all files to a folder, which is empty or one of these; returns them. Raises EncoderError.

    server: the address at which a class opens the app: a learning platform embeds the views from there.
    """
    disk.check_folder(folder, KIND)
    lessons = {one.name: one for one in library.lessons()[0]}
    steps = [(one, lessons[one.lesson], lessons[one.lesson].step(one.step)) for one in path.marks()]
    title = path.written()["title"]
    files = {
        "path": (f"{title}: the path", list(_path(steps))),
        "answer-key": (f"{title}: answer key", list(_keys(steps))),
        "worksheet": (f"{title}: worksheet", list(_worksheet(steps))),
        "syllabus": (f"A syllabus of {len(path.written()['weeks'])} weeks", list(_syllabus(lessons))),
    }
    texts = {name: _document(heading, sections) for name, (heading, sections) in files.items()}
    texts["slides"] = slides(title, [step for _, _, step in steps])
    for name in dict.fromkeys(one.lesson for one in path.marks()):
        texts[f"lesson-{name}"] = student(lessons[name])
    texts |= {f"gesture-{name}": gesture(name) for name in gestures.table()}
    for_platform = [item for lesson in lessons.values() for item in platforms.items(lesson, server)]
    contents: dict[str, str | bytes] = {f"{name}.html": text for name, text in texts.items()}
    contents["questions-moodle.xml"] = platforms.moodle(for_platform, "Encoderscope")
    contents["questions-qti21.zip"] = platforms.qti(for_platform)
    with disk.whole_folder(folder, KIND) as place:
        for name, content in contents.items():
            disk.write_file(place / name, content)
    return [folder / name for name in contents]


def student(lesson: Lesson) -> str:
    """A lesson as a page that runs by itself."""
    return _document(lesson.title, list(_student(lesson)), joined(HERE / "student.js"))


def gesture(name: str) -> str:
    """A gesture as a page that runs by itself, for pointer, finger and keyboard."""
    row = gestures.table()[name]
    question = gestures.GestureQuestion(gesture=name)
    task = question.task(look_of({}))
    asked = escape(json.dumps({"header": task.header, "truth": task.truth, "why": f"{task.said} {question.why}"}))
    inner = f"<p class='ask'>{escape(question.ask)}</p><div data-gesture='{asked}'></div>"
    css = (COMPONENTS / "gesture.css").read_text(encoding="utf-8")
    return _document(row["title"], [Section("", picture=inner)], joined(HERE / "gesture_alone.js"), css=css)


def slides(title: str, steps: Sequence[Step]) -> str:
    """One landscape page for each step, without controls and without answers."""
    css = (HERE / "slides.css").read_text(encoding="utf-8")
    return _document(title, [part for step in steps for part in _slide(step)], css=css)


def _document(heading: str, sections: list[Section], *scripts: str, css: str = "") -> str:
    css = (HERE / "material.css").read_text(encoding="utf-8") + css
    return document(heading, sections, footer=footer(), scripts=scripts, css=css)


def _html(prose: str) -> str:
    """Markdown as HTML; a lesson has no HTML of its own."""
    return str(MarkdownIt("commonmark", {"html": False}).render(prose))


# --- for the teacher --------------------------------------------------------------------------------------------------


def _path(steps: list[tuple[path.Mark, Lesson, Step]]) -> Iterator[Section]:
    rows = [(mark.at, mark.minutes, f"{lesson.label}.{mark.step}", step.title, mark.do) for mark, lesson, step in steps]
    table = pd.DataFrame(rows, columns=["minute", "takes", "step", "title", "you"])
    said = "The concept test before and after takes ten minutes each, next to these 90."
    yield Section("", table=table, sentences=[said])


def _keys(steps: list[tuple[path.Mark, Lesson, Step]]) -> Iterator[Section]:
    for mark, lesson, step in steps:
        if (question := step.question) is None:
            continue
        look = look_of(step.view)
        truth, said = question.truth(look), _said(question, look)
        parts = [f"<p><b>{escape(question.ask)}</b></p>", f"<p class='answer'>{escape(said)}</p>" if said else ""]
        parts.append(_numbers(controls.further_numbers(truth)))
        parts.append(f"<p>{escape(question.why)}</p>" if question.why else "")
        wrong = [f"<li>{escape(one.rstrip('.'))}: “{escape(reason)}”</li>" for one, reason in _wrong(question, look)]
        parts.append(f"<ul>{''.join(wrong)}</ul>" if wrong else "")
        yield Section(f"{lesson.label}.{mark.step} {step.title}", picture="".join(parts))


def _said(question: Question, look: Look) -> str:
    """The right answer in a sentence, or a model answer."""
    if isinstance(question, ConclusionQuestion):
        return f"A model answer: {question.model}" if question.model else ""
    truth = question.truth(look)
    return "" if truth.value is None else controls.true_value(question, look, truth)


def _numbers(numbers: Any) -> str:
    said = ", ".join(f"{name}: {controls.exact_or_in_words(value)}" for name, value in numbers.items())
    return f"<p class='caption'>{escape(said)}</p>" if said else ""


def _wrong(question: Question, look: Look) -> Iterator[tuple[str, str]]:
    """Known wrong answers with their reasons."""
    known = [question.mistaken(one, look) for one in question.mistakes]
    for answer in question.choices(look) if isinstance(question, ConceptQuestion) else known:
        if (reason := question.reason(answer, look)[0]) != "":
            yield controls.answer_text(question, look, answer), reason


def _worksheet(steps: list[tuple[path.Mark, Lesson, Step]]) -> Iterator[Section]:
    """Each sentence is before its first question, and what there is to choose from below the question.

    Questions that are read off a picture of the app are left out.
    """
    items, last = "", ""
    for step in (one for _, _, one in steps if one.question and not _is_read_off(one.question)):
        texts = " / ".join(f"“{step.view[name]}”" for name in ("text", "text_b") if name in step.view)
        about = "" if texts == last else f"<small>{escape(texts)}</small><br>"
        items += f"<li>{about}{escape(step.question.ask)}{_choices(step)}{LINE}</li>" if step.question else ""
        last = texts
    yield Section("", picture=f"<p>Name or number: ____________</p><ol class='sheet'>{items}</ol>")


def _choices(step: Step) -> str:
    """What there is to choose from, for paper; a word is chosen from the sentence."""
    question, found = step.question, list[str]()
    if isinstance(question, OrderQuestion):
        found = question.begins_with(look_of(step.view))
    elif isinstance(question, Choosing) and question.kind != "token":
        found = [text.rstrip(".") for text in question.choices(look_of(step.view)).values()]
    return f"<br><small>{escape(' · '.join(found))}</small>" if found else ""


def _is_read_off(question: Question) -> bool:
    """Whether the answer is a number or a head in the picture; a conclusion is the reader's own."""
    return question.look and not isinstance(question, ConclusionQuestion)


def _is_given(question: Question) -> bool:
    """Whether all numbers of the answer are in the question: no picture of the model shows it."""
    return isinstance(question, NumberQuestion) and question.asked.quantity.name in ("softmax", "weighted_sum")


def _slide(step: Step) -> Iterator[Section]:
    """Prose or question with the step's picture. A question has none that shows its answer: it fills the page."""
    question = step.question
    if question is None or _is_read_off(question):
        yield Section(step.title, picture=_html(step.prose))
        yield Section("", picture=picture(step))
        return
    shows = question.look or _is_given(question)
    text = f" <br><small>“{escape(step.view['text'])}”</small>" if "text" in step.view and not shows else ""
    asked = f"<p class='ask{'' if shows else ' only'}'>{escape(question.ask)}{_choices(step)}{text}</p>"
    yield Section(step.title, picture=asked)
    if shows:
        yield Section("", picture=picture(step))


def _syllabus(lessons: dict[str, Lesson]) -> Iterator[Section]:
    for number, week in enumerate(path.written()["weeks"], 1):
        chosen = [lessons[name] for name in week["lessons"]]
        goals = "".join(f"<li>{escape(goal)}</li>" for one in chosen for goal in one.goals)
        titles = "".join(f"<li>{escape(one.label)} {escape(one.title)} ({one.minutes} minutes)</li>" for one in chosen)
        minutes = sum(one.minutes for one in chosen)
        text = f"<p>{minutes} minutes</p><ul>{titles}</ul><p>You can then:</p><ul>{goals}</ul>"
        yield Section(f"Week {number}: {week['title']}", picture=text)


# --- for a student without a server -----------------------------------------------------------------------------------


def _student(lesson: Lesson) -> Iterator[Section]:
    """A lesson that runs in a browser by itself: predict, then picture and answer; all answers become one code."""
    for number, step in lesson.numbered():
        drawn = Section("", picture=picture(step)) if step.view else None
        question = step.question
        if question is None or question.kind in ("draw", "gesture"):  # on paper; gestures have files of their own
            yield Section(
                step.title, picture=_html(step.prose) + (f"<p>{escape(question.ask)}</p>" if question else "")
            )
        else:
            hides = "" if question.look else " data-hides"
            form = (
                f"<form data-lesson='{escape(lesson.name)}' data-step='{number}' data-question='{_asked(step)}'{hides}>"
            )
            yield Section(step.title, picture=f"{_html(step.prose)}{form}<p><b>{escape(question.ask)}</b></p></form>")
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
    known: dict[str, Any] = {"kind": question.kind, "hint": question.hint, "why": question.why, "options": []}
    known["said"] = _said(question, look)
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
