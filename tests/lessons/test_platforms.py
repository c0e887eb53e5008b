"""Questions for a learning platform: Moodle XML and QTI 2.1 have each question that it can ask, and the answer."""

from __future__ import annotations

import io
import itertools
import math
import re
import zipfile
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import pytest

from pages.core.frame.frame import import_params
from pages.core.words.symbols import in_html
from pages.teaching.lessons import lesson, library, platforms
from pages.teaching.lessons.platforms import Item
from pages.teaching.questions import misconceptions
from pages.teaching.questions.kinds import HeadQuestion
from pages.teaching.questions.open_kinds import ConceptQuestion
from tests.lessons.test_lesson import ABOUT

SERVER = "https://school.example/encoderscope/"
#: Kinds that need the app.
LEFT_OUT = {"draw", "gesture", "sentence"}
#: The children of an item in their order.
ORDER = ["responseDeclaration", "outcomeDeclaration", "itemBody", "responseProcessing", "modalFeedback"]
NS = f"{{{platforms.QTI}}}"


#: What a condition tests.
TESTS = ["match", "stringMatch", "and"]
#: Of each element that an item has, as we know QTI 2.1, whose schema is not read here: required attributes, and
#: children in their order; None: text and inline elements in any order.
SCHEMA: dict[str, tuple[set[str], list[str] | None]] = {
    "assessmentItem": ({"identifier", "title", "adaptive", "timeDependent"}, ORDER),
    "responseDeclaration": ({"identifier", "cardinality", "baseType"}, ["correctResponse", "mapping"]),
    "correctResponse": (set(), ["value"]),
    "value": (set(), []),
    "mapping": ({"defaultValue"}, ["mapEntry"]),
    "mapEntry": ({"mapKey", "mappedValue"}, []),
    "outcomeDeclaration": ({"identifier", "cardinality", "baseType"}, []),
    "itemBody": (set(), ["p", "choiceInteraction", "orderInteraction", "extendedTextInteraction", "p"]),
    "p": (set(), None),
    "object": ({"data", "type"}, []),
    "textEntryInteraction": ({"responseIdentifier"}, []),
    "extendedTextInteraction": ({"responseIdentifier"}, ["prompt"]),
    "choiceInteraction": ({"responseIdentifier", "shuffle", "maxChoices"}, ["prompt", "simpleChoice"]),
    "orderInteraction": ({"responseIdentifier", "shuffle"}, ["prompt", "simpleChoice"]),
    "prompt": (set(), None),
    "simpleChoice": ({"identifier"}, None),
    "responseProcessing": (set(), ["setOutcomeValue", "responseCondition", "setOutcomeValue", "responseCondition"]),
    "responseCondition": (set(), ["responseIf", "responseElseIf", "responseElse"]),
    "responseIf": (set(), [*TESTS, "setOutcomeValue"]),
    "responseElseIf": (set(), [*TESTS, "setOutcomeValue"]),
    "responseElse": (set(), ["setOutcomeValue"]),
    "match": (set(), ["variable", "baseValue", "correct"]),
    "stringMatch": ({"caseSensitive"}, ["variable", "baseValue"]),
    "correct": ({"identifier"}, []),
    "and": (set(), ["gte", "lte"]),
    "gte": (set(), ["variable", "baseValue"]),
    "lte": (set(), ["variable", "baseValue"]),
    "variable": ({"identifier"}, []),
    "baseValue": ({"baseType"}, []),
    "setOutcomeValue": ({"identifier"}, ["baseValue", "mapResponse"]),
    "mapResponse": ({"identifier"}, []),
    "modalFeedback": ({"outcomeIdentifier", "identifier", "showHide"}, ["p"]),
}
#: Elements of HTML that an item's body may have, too.
OF_TEXT = {"a", "b", "br", "div", "i", "small", "span", "sub", "sup", "table", "tbody", "td", "th", "tr"}
#: What is allowed as an identifier, and Moodle as the share of an answer that this project writes.
IDENTIFIER, SHARES = re.compile(r"[A-Za-z_][\w.-]*"), {"0", "100"}


@pytest.fixture(scope="module")
def found() -> list[Item]:
    import_params()
    return [item for name in ("01-tokens", "04-heads", "09-cost") for item in items(name)]


@pytest.fixture(scope="module")
def every() -> list[Item]:
    """The questions of all lessons."""
    import_params()
    return [item for path in sorted(library.SHIPPED.glob("*.md")) for item in items(path.stem)]


def items(name: str) -> list[Item]:
    one = library.find(name)
    assert one
    return list(platforms.items(one, SERVER))


def test_every_question_that_a_platform_can_ask_is_there(found: list[Item]) -> None:
    steps = [step for name in ("01-tokens", "04-heads", "09-cost") for step in library.find(name).steps]  # type: ignore[union-attr]
    asked = [step.question for step in steps if step.question]
    assert len(found) == sum(one.kind not in LEFT_OUT for one in asked)
    assert len({item.name for item in found}) == len(found)
    assert {item.kind for item in found} == set(platforms.RESPONSES) == set(platforms.OF_MOODLE)
    for item in found:
        parts = urlsplit(item.address)
        assert parts.netloc == "school.example"
        assert parts.path.startswith("/encoderscope/")
        assert "lesson" not in parse_qs(parts.query)
    one = library.find("04-heads")
    assert one
    assert {item.address for item in platforms.items(one)} == {""}


def test_moodle_has_words_answers_reasons_and_views(found: list[Item]) -> None:
    quiz = ET.fromstring(platforms.moodle(found, "Encoderscope"))
    questions = quiz.findall("question")
    assert questions[0].get("type") == "category"
    assert len(questions) == len(found) + 1
    for item, question in zip(found, questions[1:], strict=True):
        assert question.get("type") == platforms.OF_MOODLE[item.kind]
        text = question.findtext("questiontext/text") or ""
        assert "<iframe" in text
        answers = question.findall("answer")
        if item.kind == "choice":
            right = {one.findtext("text") for one in answers if one.get("fraction") == "100"}
            assert len(right) >= 1
            assert len(answers) == len(item.options)
        if item.kind == "number":
            given = [[float(one.findtext(name) or "") for name in ("text", "tolerance")] for one in answers]
            right = [span for span, one in zip(given, answers, strict=True) if one.get("fraction") == "100"]
            assert right[0][0] == pytest.approx(item.right), "what Moodle shows"
            assert min(middle - tolerance for middle, tolerance in right) == pytest.approx(item.low)
            assert max(middle + tolerance for middle, tolerance in right) == pytest.approx(item.high)
            wrong = [middle for middle, _ in given[len(right) :]]
            assert wrong == [pytest.approx(float(text)) for text, _, _ in item.mistakes]
        if item.mistakes:
            said = [one.findtext("feedback/text") for one in answers if one.get("fraction") == "0"]
            assert said == [in_html(reason) for _, _, reason in item.mistakes]
            assert all(said)
    assert any(item.mistakes for item in found if item.kind == "number")
    assert any(item.right - item.low < 0.99 * (item.high - item.right) for item in found), "of a ratio"
    concept = next(item for item in found if item.title == "1.3 A token becomes a number")
    assert [is_right for _, is_right, _ in concept.options] == [False, True, False]


def test_an_item_of_qti_has_the_parts_of_the_schema_in_their_order(found: list[Item]) -> None:
    for item in found:
        root = ET.fromstring(platforms.qti_item(item))
        assert root.tag == f"{NS}assessmentItem"
        names = [child.tag.removeprefix(NS) for child in root]
        assert [name for name, _ in itertools.groupby(names)] == ORDER
        declared = root.find(f"{NS}responseDeclaration")
        assert declared is not None
        assert (declared.get("cardinality"), declared.get("baseType")) == platforms.RESPONSES[item.kind]
        choices = {one.get("identifier") for one in root.iter(f"{NS}simpleChoice")}
        values = [one.text for one in declared.findall(f"{NS}correctResponse/{NS}value")]
        if item.kind in ("choice", "order"):
            assert set(values) <= choices
            assert len(values) == (1 if item.kind == "choice" else len(choices))
        assert bool(values) == (item.kind != "essay")
        if item.kind == "number":
            assert float(values[0] or "") == pytest.approx(item.right)
        interactions = [one for one in root.iter() if one.get("responseIdentifier") == "RESPONSE"]
        assert len(interactions) == 1
        assert next(root.iter(f"{NS}object")).get("data") == item.address
    archive = zipfile.ZipFile(io.BytesIO(platforms.qti(found)))
    manifest = ET.fromstring(archive.read("imsmanifest.xml"))
    files = {one.get("href") for one in manifest.iter(f"{{{platforms.PACKAGE}}}file")}
    assert files == set(archive.namelist()) - {"imsmanifest.xml"}


@pytest.mark.slow("computes the answers of all lessons")
def test_every_item_keeps_the_rules_of_the_schema(every: list[Item]) -> None:
    names = [item.name for item in every]
    assert len(set(names)) == len(names)
    for item in every:
        root = ET.fromstring(platforms.qti_item(item))
        for element in root.iter():
            tag = element.tag.removeprefix(NS)
            if tag in OF_TEXT:
                continue
            required, children = SCHEMA[tag]
            assert required <= set(element.keys()), (item.name, tag)
            inside = [child.tag.removeprefix(NS) for child in element]
            if children is not None:
                places = iter(children)
                assert all(name in places for name, _ in itertools.groupby(inside)), (item.name, tag, inside)
            for name in set(element.keys()) & {"identifier", "responseIdentifier"}:
                assert IDENTIFIER.fullmatch(element.attrib[name]), (item.name, element.attrib)
        declared = {one.get("identifier") for one in root if one.tag.endswith("Declaration")}
        assert declared == {"RESPONSE", "SCORE", "FEEDBACK"}
        used = {one.get("identifier") for name in ("variable", "setOutcomeValue") for one in root.iter(f"{NS}{name}")}
        assert used <= declared
        choices = [one.get("identifier") for one in root.iter(f"{NS}simpleChoice")]
        assert len(set(choices)) == len(choices)
        assert len(root.findall(f"{NS}responseProcessing")) == 1
        told = {one.get("identifier") for one in root.iter(f"{NS}modalFeedback")}
        set_to = root.findall(f".//{NS}setOutcomeValue[@identifier='FEEDBACK']/{NS}baseValue")
        assert told == {one.text for one in set_to}


@pytest.mark.slow("computes the answers of all lessons")
def test_every_question_has_what_moodles_import_reads(every: list[Item]) -> None:
    for question in ET.fromstring(platforms.moodle(every, "Encoderscope")).findall("question")[1:]:
        kind, name = question.get("type"), question.findtext("name/text")
        assert name
        assert question.find("questiontext[@format='html']/text") is not None
        shares = [one.get("fraction") or "" for one in question.findall("answer")]
        assert set(shares) <= SHARES, name
        assert ("100" in shares) == (kind != "essay"), name
        assert all(one.findtext("text") for one in question.findall("answer")), name
        if kind == "multichoice":
            assert len(shares) > 1
            assert question.findtext("single") == "true"
        if kind == "ordering":
            assert len(shares) > 1
        if kind == "numerical":
            assert float(question.findtext("answer/tolerance") or "") >= 0


@pytest.mark.parametrize("name", ["03-one-weight-by-hand", "04-heads", "06-feed-forward-and-residual-stream"])
def test_without_a_server_a_question_has_its_numbers_or_says_where_they_are(name: str) -> None:
    import_params()
    one = library.find(name)
    assert one
    steps = {f"lesson-{name}-{number}": step for number, step in one.numbered()}
    for item in platforms.items(one):
        question = steps[item.name].question
        assert question
        said = ET.fromstring(f"<p>{platforms._about(item)}</p>")
        text = "".join(said.itertext())
        numbers = [float(found.replace(",", "")) for found in re.findall(r"-?\d[\d,]*\.?\d*(?!\w)", text)]
        if question.look and question.kind != "conclusion":
            assert item.given, "what is read off the screen"
        if isinstance(question, HeadQuestion):
            rows = [[cell.text or "" for cell in row] for row in said.iter("tr")]
            found = {
                f"{row[0]} {head}": float(cell)
                for row in rows[1:]
                for head, cell in zip(rows[0][1:], row[1:], strict=True)
            }
            assert max(found, key=lambda head: found[head]) in item.answers
        elif question.kind == "number" and question.look:
            root = question.asked.quantity.name == "score"  # type: ignore[attr-defined]
            by_hand = numbers[0] / numbers[1] ** (0.5 if root else 1)
            assert item.low <= by_hand <= item.high
        for element in ET.fromstring(platforms.qti_item(item)).iter():
            assert element.tag.removeprefix(NS) in SCHEMA.keys() | OF_TEXT
        assert (item.own in text) == (item.given is None), "it says where the picture is"


def test_no_platform_is_given_a_mistake_as_a_fact(every: list[Item]) -> None:
    questions = [step.question for one in library.lessons()[0] for step in one.steps if step.question]
    beliefs = {one.belief for one in misconceptions.ALL}
    beliefs |= {str(mistake["says"]) for question in questions for mistake in question.mistakes if "says" in mistake}
    moodle = ET.fromstring(platforms.moodle(every, "a")).findall("question/answer[@fraction='0']/feedback/text")
    qti = [ET.fromstring(platforms.qti_item(item)).findall(f"{NS}modalFeedback/{NS}p") for item in every]
    for told in (moodle, list(itertools.chain(*qti))):
        texts = ["".join(one.itertext()) for one in told]
        for text in texts:
            for belief in beliefs:
                quoted = f"“{belief}”"
                assert belief not in text.replace(quoted, ""), text
                assert not text.endswith(quoted), "what is right follows"
        assert sum("“" in text for text in texts) > 30
    for question, step in ((step.question, step) for one in library.lessons()[0] for step in one.steps):
        if isinstance(question, ConceptQuestion):
            look = library.look_of(step.view)
            wrong = set(question.choices(look)) - {question.truth(look).value}
            assert all(question.reason(one, look).truth for one in wrong), question.ask


def test_foreign_text_is_text() -> None:
    import_params()
    hostile = "</text><script>alert(1)</script> & ]]>"
    step = f"## One\n\n```question\nkind: concept\nask: {hostile!r}\noptions:\n" + "".join(
        f"  - {{says: {hostile!r}, holds: {{left: n_tokens, compare: {how}, right: 1}}}}\n"
        for how in ("above", "below")
    )
    made = list(platforms.items(lesson.read(f"{ABOUT}{step}```\n", "a"), "https://a.example/?x=1&y=<b>"))
    question = ET.fromstring(platforms.moodle(made, "a")).findall("question")[1]
    assert "<script" not in (question.findtext("questiontext/text") or "")
    assert all("<script" not in (one.findtext("text") or "") for one in question.findall("answer"))
    assert ET.fromstring(platforms.qti_item(made[0])).find(f".//{NS}prompt").text == hostile  # type: ignore[union-attr]


def test_a_question_about_cost_brings_the_numbers_that_it_is_computed_from() -> None:
    found = {item.title.split()[0]: item for item in platforms.items(library.find("09-cost"))}  # type: ignore[arg-type]
    for place in ("9.1", "9.2", "9.3", "9.4"):
        assert found[place].given, place
    config = library.look_of({}).loaded.config
    sizes = {"n": 1024, "D": config.d_model, "F": config.d_ffn, "HK": config.n_heads * config.d_head}

    def computed(title: str) -> float:
        formula = re.search(rf"{re.escape(title)}: ([\d nDFHK×]+)", found["9.3"].given or "")
        assert formula
        return math.prod(sizes.get(one) or int(one) for one in formula[1].split(" × "))

    assert (computed("Scores q·k") > computed("Feed-forward matrices")) == next(
        text == "True" for text, right, _ in found["9.3"].options if right
    )
    assert found["9.1"].right == 2 * 1024 * 1024 * config.d_model
    assert f"HK = {config.d_model:,}" in (found["9.1"].given or "")
