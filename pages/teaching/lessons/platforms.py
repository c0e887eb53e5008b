"""The questions of lessons for a learning platform: Moodle XML, and items of QTI 2.1 with their manifest in a file.

A question keeps its words, its computed answer, what it says to each known mistake, and its view, which the
platform shows from the address of a server. Without one, it has the numbers that the view shows, or says where to
open the view. A drawn row, a gesture and a sentence need the app: they are left out.
"""

import io
import math
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

from pages.core.words.symbols import in_html
from pages.teaching.lessons import worksheet
from pages.teaching.lessons.lesson import Lesson, Step, of_question
from pages.teaching.lessons.library import look_of
from pages.teaching.questions import controls
from pages.teaching.questions.kinds import HeadQuestion, NumberQuestion, OrderQuestion
from pages.teaching.questions.open_kinds import ConclusionQuestion
from pages.teaching.questions.quantities import Look
from pages.teaching.questions.question import Choosing, Question, Truth, shuffled

#: Pixels of an embedded view.
SIZE = (960, 640)
QTI, SCHEMA = "http://www.imsglobal.org/xsd/imsqti_v2p1", "http://www.w3.org/2001/XMLSchema-instance"
QTI_PLACE = f"{QTI} http://www.imsglobal.org/xsd/qti/qtiv2p1/imsqti_v2p1.xsd"
PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
#: Where the app opens on a student's own computer.
OWN_COMPUTER = "http://localhost:8501"


@dataclass(frozen=True)
class Item:
    """One question for a platform.

    name: unique, of letters, digits and hyphens; kind: choice, number, text, order or essay; options: text, whether it
    is right, and what is said to who chooses it; right: the number; low, high: numbers that count; answers: texts that
    count, or the right order; mistakes: wrong texts or numbers, the difference that still is one, and what is said;
    why: what is said to everybody afterwards.
    address: of the view that the platform shows, "" without a server; then given: the numbers that the view shows, as
    HTML that is XML, too, or None where a reader predicts, and opens the view on her own computer.
    """

    name: str
    title: str
    ask: str
    kind: str
    why: str
    address: str = ""
    options: Sequence[tuple[str, bool, str]] = ()
    right: float = 0
    low: float = 0
    high: float = 0
    answers: Sequence[str] = ()
    mistakes: Sequence[tuple[str, float, str]] = ()
    given: str | None = ""
    #: Address of the view on the reader's own computer.
    own: str = ""


def items(lesson: Lesson, server: str = "") -> Iterator[Item]:
    """The questions of a lesson. server: the address at which a class opens the app, "" for no embedded views."""
    for number, step in lesson.numbered():
        with of_question(lesson, step):
            found = _item(lesson, number, step, server)
            if found is not None and step.question is not None and not server:
                given = worksheet.numbers(step.question, step)
                found = replace(found, given=given, own=address_of(step, OWN_COMPUTER))
        if found is not None:
            yield found


def _item(lesson: Lesson, number: int, step: Step, server: str) -> Item | None:
    question = step.question
    if question is None:
        return None
    look = look_of(step.view)
    name, title = f"lesson-{lesson.name}-{number}", f"{lesson.place(number)} {step.title}"
    address = address_of(step, server)
    if isinstance(question, ConclusionQuestion):
        return Item(name, title, question.ask, "essay", worksheet.said(question, look), address)
    truth = question.truth(look)
    if isinstance(question, Choosing):
        options = [
            (text, answer in truth.answers, "" if answer in truth.answers else question.reason(answer, look).said)
            for answer, text in question.choices(look).items()
        ]
        return Item(name, title, question.ask, "choice", question.why, address, options)
    if isinstance(question, NumberQuestion):
        low, high = question.accepted(truth)
        limits = {"right": truth.value, "low": low, "high": high, "mistakes": list(_numbers(question, look))}
        why = f"{question.tolerance} {question.why}".strip()
        return Item(name, title, question.ask, "number", why, address, **limits)
    if isinstance(question, OrderQuestion):
        return Item(name, title, question.ask, "order", question.why, address, answers=truth.value)
    if isinstance(question, HeadQuestion):
        said = [controls.answer_text(question, look, one) for one in truth.answers]
        wrong = [
            (controls.answer_text(question, look, answer), 0.0, reason)
            for answer, reason in _mistakes(question, look)
            if answer not in truth.answers
        ]
        asked = f"{question.ask} (for example L0 H0)"
        return Item(name, title, asked, "text", question.why, address, answers=said, mistakes=wrong)
    return None


def _mistakes(question: Question, look: Look) -> Iterator[tuple[Any, str]]:
    """Each known wrong answer, and its reason."""
    for mistake in question.mistakes:
        answer = question.mistaken(mistake, look)
        yield answer, question.reason(answer, look).said


def _numbers(question: NumberQuestion, look: Look) -> Iterator[tuple[str, float, str]]:
    for answer, reason in _mistakes(question, look):
        if reason:  # else it counts as right
            low, high = question.accepted(Truth(answer))
            yield _digits(answer), min(high - answer, answer - low), reason


def address_of(step: Step, server: str) -> str:
    """The address of a step's view, without the lesson: a platform has its own questions."""
    if not server or not step.view:
        return ""
    values = {"start": "1", **step.view} if step.view["page"] == "model" else dict(step.view)
    page = values.pop("page")
    return f"{server.rstrip('/')}/{'' if page == 'model' else page}?{urlencode({**values, 'present': '1'})}"


# --- Moodle -----------------------------------------------------------------------------------------------------------

#: Kind -> Moodle's type of question.
OF_MOODLE = {
    "choice": "multichoice",
    "number": "numerical",
    "text": "shortanswer",
    "order": "ordering",
    "essay": "essay",
}


def moodle(found: Sequence[Item], category: str) -> str:
    """A question bank as Moodle XML."""
    quiz = ET.Element("quiz")
    of = ET.SubElement(quiz, "question", type="category")
    _moodle_text(ET.SubElement(of, "category"), f"$course$/{category}")
    for item in found:
        _moodle_question(ET.SubElement(quiz, "question", type=OF_MOODLE[item.kind]), item)
    return _written(quiz)


def _moodle_question(question: ET.Element, item: Item) -> None:
    _moodle_text(ET.SubElement(question, "name"), item.title)
    _moodle_text(ET.SubElement(question, "questiontext", format="html"), _html(item))
    _moodle_text(ET.SubElement(question, "generalfeedback", format="html"), f"<p>{in_html(item.why)}</p>")
    ET.SubElement(question, "defaultgrade").text = "1.0"
    if item.kind == "choice":
        ET.SubElement(question, "single").text = "true"
        ET.SubElement(question, "shuffleanswers").text = "true"
        ET.SubElement(question, "answernumbering").text = "none"
        for text, is_right, reason in item.options:  # each of several right answers counts in full
            _moodle_answer(question, in_html(text), 100 if is_right else 0, reason, html=True)
    elif item.kind == "number":
        for text, tolerance in _spans(item):
            answer = _moodle_answer(question, text, 100, "")
            ET.SubElement(answer, "tolerance").text = repr(tolerance)
        for text, tolerance, reason in item.mistakes:
            answer = _moodle_answer(question, text, 0, reason)
            ET.SubElement(answer, "tolerance").text = repr(tolerance)
    elif item.kind == "text":
        ET.SubElement(question, "usecase").text = "0"
        for text in item.answers:
            _moodle_answer(question, text, 100, "")
        for text, _, reason in item.mistakes:
            _moodle_answer(question, text, 0, reason)
    elif item.kind == "order":
        ET.SubElement(question, "layouttype").text = "VERTICAL"
        for text in item.answers:
            _moodle_answer(question, in_html(text), 100, "", html=True)
    else:
        ET.SubElement(question, "responseformat").text = "plain"
        _moodle_text(ET.SubElement(question, "graderinfo", format="html"), f"<p>{in_html(item.why)}</p>")


def _spans(item: Item) -> Iterator[tuple[str, float]]:
    """Numbers with their tolerance that cover those that count. Moodle shows the first one: the right number."""
    below, above = item.right - item.low, item.high - item.right
    yield _digits(item.right), min(below, above)
    if not math.isclose(below, above, rel_tol=1e-6):
        low, high = (item.right + below, item.high) if above > below else (item.low, item.right - above)
        yield repr((low + high) / 2), (high - low) / 2


def _digits(number: float) -> str:
    """As a person would write it."""
    return str(int(number)) if number == int(number) else f"{number:.6g}"


def _moodle_answer(question: ET.Element, text: str, share: int, reason: str, *, html: bool = False) -> ET.Element:
    answer = ET.SubElement(question, "answer", fraction=str(share), format="html" if html else "plain_text")
    ET.SubElement(answer, "text").text = text
    _moodle_text(ET.SubElement(answer, "feedback", format="html"), in_html(reason))
    return answer


def _moodle_text(parent: ET.Element, text: str) -> None:
    ET.SubElement(parent, "text").text = text


def _html(item: Item) -> str:
    said = f"<p>{in_html(item.ask)}</p>{_about(item)}"
    if not item.address:
        return said
    size = f'width="{SIZE[0]}" height="{SIZE[1]}"'
    return f'{said}<p><iframe src="{_escaped(item.address)}" {size} title="The picture"></iframe></p>'


def _about(item: Item) -> str:
    """What stands in for the view where no server shows it, as HTML that is XML, too."""
    if item.given:
        return f"<div>{item.given}</div>"
    if item.given is not None or not item.own:
        return ""
    link = f'<a href="{_escaped(item.own)}">{_escaped(item.own)}</a>'
    return f"<p>Predict first. To see it, start Encoderscope on your computer, then open {link}</p>"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


# --- QTI 2.1 ----------------------------------------------------------------------------------------------------------


def qti(found: Sequence[Item]) -> bytes:
    """An archive of items with the manifest of a content package."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for item in found:
            archive.writestr(_entry(f"{item.name}.xml"), qti_item(item))
        archive.writestr(_entry("imsmanifest.xml"), _manifest(found))
    return packed.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    """A file of the package, without the time: the same questions give the same bytes."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def qti_item(item: Item) -> str:
    """One assessmentItem."""
    root = ET.Element(
        "assessmentItem",
        {
            "xmlns": QTI,
            "xmlns:xsi": SCHEMA,
            "xsi:schemaLocation": QTI_PLACE,
            "identifier": item.name,
            "title": item.title,
            "adaptive": "false",
            "timeDependent": "false",
        },
    )
    _response(root, item)
    for name, of_type in (("SCORE", "float"), (FEEDBACK, "identifier")):
        ET.SubElement(root, "outcomeDeclaration", {"identifier": name, "cardinality": "single", "baseType": of_type})
    body = ET.SubElement(root, "itemBody")
    if item.address:
        ET.SubElement(
            ET.SubElement(body, "p"),
            "object",
            {"data": item.address, "type": "text/html", "width": str(SIZE[0]), "height": str(SIZE[1])},
        )
    if about := _about(item):
        body.append(ET.fromstring(about))
    _interaction(body, item)
    _processing(root, item)
    return _written(root)


#: Kind -> cardinality and type of its response.
RESPONSES = {
    "choice": ("single", "identifier"), "number": ("single", "float"), "text": ("single", "string"),
    "order": ("ordered", "identifier"), "essay": ("single", "string"),
}  # fmt: skip


def _response(root: ET.Element, item: Item) -> None:
    cardinality, of_type = RESPONSES[item.kind]
    names = {"identifier": "RESPONSE", "cardinality": cardinality, "baseType": of_type}
    declared = ET.SubElement(root, "responseDeclaration", names)
    right = _right(item)
    if right:
        correct = ET.SubElement(declared, "correctResponse")
        for one in right if item.kind == "order" else right[:1]:
            ET.SubElement(correct, "value").text = one
    if item.kind in ("choice", "text"):  # several answers may be right
        mapping = ET.SubElement(declared, "mapping", {"defaultValue": "0"})
        for one in right:
            ET.SubElement(mapping, "mapEntry", {"mapKey": one, "mappedValue": "1"})


def _right(item: Item) -> list[str]:
    if item.kind == "choice":
        return [f"option-{place}" for place, (_, is_right, _) in enumerate(item.options) if is_right]
    if item.kind == "number":
        return [_digits(item.right)]
    if item.kind == "order":
        shown = _begins_with(item)
        return [f"option-{shown.index(text)}" for text in item.answers]
    return list(item.answers)


def _begins_with(item: Item) -> list[str]:
    """The order of an item's texts in the file, for a platform that does not shuffle."""
    return shuffled(item.answers, item.name, lambda order: order == [*item.answers])


def _interaction(body: ET.Element, item: Item) -> None:
    named = {"responseIdentifier": "RESPONSE"}
    if item.kind == "choice":
        inner = ET.SubElement(body, "choiceInteraction", {**named, "shuffle": "true", "maxChoices": "1"})
        texts = [text for text, _, _ in item.options]
    elif item.kind == "order":
        inner, texts = ET.SubElement(body, "orderInteraction", {**named, "shuffle": "true"}), _begins_with(item)
    elif item.kind == "essay":
        inner, texts = ET.SubElement(body, "extendedTextInteraction", named), []
    else:
        line = _worded(body, "p", f"{item.ask} ")
        ET.SubElement(line, "textEntryInteraction", {**named, "expectedLength": "12"})
        return
    _worded(inner, "prompt", item.ask)
    for place, text in enumerate(texts):
        _worded(inner, "simpleChoice", text, identifier=f"option-{place}")


def _worded(parent: ET.Element, tag: str, text: str, **attributes: str) -> ET.Element:
    """An element with a text, whose symbols are printed."""
    made = ET.fromstring(f"<{tag}>{in_html(text)}</{tag}>")
    made.attrib.update(attributes)
    parent.append(made)
    return made


#: The outcome that names what a student is told after her answer.
FEEDBACK = "FEEDBACK"


def _processing(root: ET.Element, item: Item) -> None:
    """The score, then what is told: to who gave a known wrong answer why it is wrong, and to everybody why."""
    processing = ET.SubElement(root, "responseProcessing")
    _scoring(processing, item)
    told = [(f"reason-{place}", test, reason) for place, (test, reason) in enumerate(_told(item))]
    _set(processing, FEEDBACK, "identifier", "why")
    if told:
        condition = ET.SubElement(processing, "responseCondition")
        for place, (name, test, _) in enumerate(told):
            inner = ET.SubElement(condition, "responseElseIf" if place else "responseIf")
            inner.append(test)
            _set(inner, FEEDBACK, "identifier", name)
    for name, reason in (*((name, reason) for name, _, reason in told), ("why", "")):
        names = {"outcomeIdentifier": FEEDBACK, "identifier": name, "showHide": "show"}
        feedback = ET.SubElement(root, "modalFeedback", names)
        for text in filter(None, (reason, item.why)):
            _worded(feedback, "p", text)


def _told(item: Item) -> Iterator[tuple[ET.Element, str]]:
    """Each known wrong answer as a test of the response, and what is then told."""
    if item.kind == "choice":
        for place, (_, is_right, reason) in enumerate(item.options):
            if reason and not is_right:
                yield _compared("match", "identifier", f"option-{place}"), reason
    if item.kind == "number" and item.mistakes:  # the spans of a mistake and of the answer may overlap
        yield _between(item.low, item.high), ""
    for text, apart, reason in item.mistakes:
        if item.kind == "number":
            yield _between(float(text) - apart, float(text) + apart), reason
        else:
            yield _compared("stringMatch", "string", text, caseSensitive="false"), reason


def _scoring(processing: ET.Element, item: Item) -> None:
    if item.kind in ("choice", "text"):  # several answers may be right
        score = ET.SubElement(processing, "setOutcomeValue", {"identifier": "SCORE"})
        ET.SubElement(score, "mapResponse", {"identifier": "RESPONSE"})
        return
    if item.kind == "essay":
        return
    right = ET.SubElement(ET.SubElement(processing, "responseCondition"), "responseIf")
    if item.kind == "number":
        right.append(_between(item.low, item.high))
    else:
        match = ET.SubElement(right, "match")
        ET.SubElement(match, "variable", {"identifier": "RESPONSE"})
        ET.SubElement(match, "correct", {"identifier": "RESPONSE"})
    _set(right, "SCORE", "float", "1")


def _between(low: float, high: float) -> ET.Element:
    both = ET.Element("and")
    both.extend((_compared("gte", "float", repr(low)), _compared("lte", "float", repr(high))))
    return both


def _compared(how: str, of_type: str, value: str, **attributes: str) -> ET.Element:
    """A comparison of the response with a value."""
    test = ET.Element(how, attributes)
    ET.SubElement(test, "variable", {"identifier": "RESPONSE"})
    ET.SubElement(test, "baseValue", {"baseType": of_type}).text = value
    return test


def _set(parent: ET.Element, outcome: str, of_type: str, value: str) -> None:
    made = ET.SubElement(parent, "setOutcomeValue", {"identifier": outcome})
    ET.SubElement(made, "baseValue", {"baseType": of_type}).text = value


def _manifest(found: Sequence[Item]) -> str:
    root = ET.Element("manifest", {"xmlns": PACKAGE, "identifier": "encoderscope-lessons"})
    metadata = ET.SubElement(root, "metadata")
    ET.SubElement(metadata, "schema").text = "QTIv2.1 Package"
    ET.SubElement(metadata, "schemaversion").text = "1.0.0"
    ET.SubElement(root, "organizations")
    resources = ET.SubElement(root, "resources")
    for item in found:
        file = f"{item.name}.xml"
        names = {"identifier": f"resource-{item.name}", "type": "imsqti_item_xmlv2p1", "href": file}
        ET.SubElement(ET.SubElement(resources, "resource", names), "file", {"href": file})
    return _written(root)


def _written(root: ET.Element) -> str:
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
