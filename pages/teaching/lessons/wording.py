"""Faults of a lesson's words: answers given away, terms used too early, another view, numbers rounded wrongly."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from encoder.figures.numbers import exact_or_in_words, three_digits
from encoder.words.glossary import TERMS
from pages.teaching.lessons.lesson import Lesson, Step
from pages.teaching.lessons.library import look_of
from pages.teaching.questions import Look, Question, misconceptions, read_answer
from pages.teaching.questions.controls import answer_text
from pages.teaching.questions.kinds import OfQuantity, OrderQuestion, TrueOrFalse
from pages.teaching.questions.open_kinds import ConceptQuestion, SentenceQuestion
from pages.teaching.questions.quantities import read_quantity

#: Terms of the field that a lesson or the glossary introduces before a lesson uses them, next to those of the lessons.
JARGON = (
    "BatchNorm", "RMSNorm", "activation function", "Adam", "backpropagation", "batch", "causal mask", "concatenation",
    "contribution", "cross-entropy", "dropout", "FLOP", "learning rate", "loss", "perplexity",
    "residual connection", "transformed value", "W_O", "weight decay",
)  # fmt: skip
#: The glossary's words; a lesson links them, so they need no introduction.
DEFINED = {word.lower() for term in TERMS for word in (term.name, *term.words)}
#: What introduces a term: *the term*.
INTRODUCED = re.compile(r"(?<!\*)\*(?!\*)([^*\n]+)\*(?!\*)")
#: What points at a picture: a wall and a phone that show the question or its result have none.
_OF_PICTURE = r"(?:[Tt]he (?:picture|page shows|open part|grid)|(?:numbers?|weights?|line) above(?! \d)|[Ll]a imagen)"
POINTS = re.compile(rf"\b{_OF_PICTURE}\b")
#: The same, and words that describe one.
DESCRIBES = re.compile(
    rf"\b(?:You see|Look at|Look for|Compare both|Select a|Explore with all controls|{_OF_PICTURE})\b"
)
HEAD = re.compile(r"\bL(\d+) H(\d+)\b")
QUOTED = re.compile(r"“([^”]+)”")
NUMBER = re.compile(r"(?<![\w.,-])-?\d[\d,]*(?:\.\d+)?(?![\w]|[.,]\d)")
#: Words of a step -> the value that its view needs, on the page that has it.
NAMES_PART = (
    (re.compile(r"Occlusion|[Ll]eav\w+ (a )?words? out|[Rr]emove a word"), "contribution", "beyond", "deletion"),
    (re.compile(r"[Rr]ollout"), "contribution", "beyond", "rollout"),
    (re.compile(r"[Gg]radients at initialisation"), "training", "train_part", "gradients"),
)
#: What says where an order begins, in the languages of the lessons.
SAYS_END = re.compile(r"\b(first|begin|primer\w*|erst\w*|premi\w*|primeir\w*)\b", re.IGNORECASE)
#: Items of an order that differ by less, relative to the larger, are a guess.
TOO_CLOSE = 0.01


class Finding(NamedTuple):
    """What is wrong in a lesson. line: counted from 1."""

    line: int
    reason: str


def introduced(lesson: Lesson) -> set[str]:
    """The terms that a lesson introduces, in small letters."""
    return {found.lower() for step in lesson.steps for found in INTRODUCED.findall(step.text)}


def check_terms(lesson: Lesson, known: set[str]) -> Iterator[Finding]:
    """Terms that a step uses before they are introduced. known: those of earlier lessons."""
    known = known | DEFINED
    for step in lesson.steps:
        known |= {found.lower() for found in INTRODUCED.findall(step.text)}
        text = " ".join((step.title, step.text, *_said(step.question)))
        for term in sorted({*JARGON, *introduced(lesson)}):
            if term.lower() not in known and re.search(rf"(?<![\w-]){re.escape(term)}s?(?![\w-])", text, re.IGNORECASE):
                reason = f"“{term}” is used before it is introduced: explain it as *{term}*, or in the glossary."
                yield Finding(step.line, reason)


def _said(question: Question | None) -> tuple[str, ...]:
    """What a reader sees of a question before she answers."""
    if question is None:
        return ()
    options = [str(one["says"]) for one in question.options] if isinstance(question, ConceptQuestion) else []
    return (question.ask, question.hint, *options)


def check_step(step: Step, before: Step | None) -> Iterator[Finding]:
    """The faults of one step. before: the one that a reader has just left. Raises EncoderError for a bad question."""
    if not step.prose:
        yield Finding(step.line, "this step has no text: say in one sentence what it is about.")
    if step.view.get("page") == "model" and "step" in step.view and "i" not in step.view:
        yield Finding(step.view_line, "the open part shows the numbers of a token: add i, its position.")
    if (question := step.question) is None:
        return
    if step.view and (found := DESCRIBES.search(step.prose)):
        reason = f"“{found[0]} …” describes a picture that is hidden until the answer: move this below the view."
        yield Finding(step.line, reason)
    for said in (question.why, *(_said(question) if not question.look else ())):
        if found := POINTS.search(said):
            reason = f"“{found[0]}” points at a picture that a wall or a phone does not show: say it in words."
            yield Finding(step.question_line, reason)
    faults = [*_other_view(step, question)]
    if question.kind not in ("choice", "conclusion"):
        look = look_of(step.view)
        faults += [*_given_away(step, question, look, before), *_rounded(question, look), *_mistakes(question, look)]
    yield from (Finding(step.question_line, fault) for fault in faults)


# --- the answer stands in the text ------------------------------------------------------------------------------------


def _shown_before(question: Question, before: Step) -> bool:
    """Whether the picture of the step before shows the pieces that the question counts."""
    asked = question.asked if isinstance(question, OfQuantity) else None
    word = str(asked.arguments.get("text", "")) if asked and asked.quantity.name in ("n_pieces", "n_tokens") else ""
    is_shown = before.question is None or before.question.look
    return bool(word) and is_shown and word.casefold() in before.view.get("text", "").casefold()


def _given_away(step: Step, question: Question, look: Look, before: Step | None) -> Iterator[str]:
    here, earlier = f"{step.text}\n{question.hint}", ""
    if before is not None:
        earlier = before.text + (f"\n{before.question.ask}\n{before.question.why}" if before.question else "")
    truth = question.truth(look).value
    for text, where in ((here, "its own text"), (earlier, "the step before")):
        if _stands_in(question, truth, look, text):
            yield f"the answer stands in {where}."
    earlier_question = before.question if before is not None else None
    same = _numbers(question, look) if earlier_question else set()
    if before is not None and earlier_question and same and same & _numbers(earlier_question, look_of(before.view)):
        yield "the step before asks for the same number."
    if before is not None and _shown_before(question, before):
        yield "the picture of the step before shows the answer."
    if question.kind == "head" and [look.layer, look.head] in truth and {"layer", "head"} <= set(step.view):
        yield "the view opens the head that is the answer."
    if isinstance(question, SentenceQuestion) and question.grade(look.text, look).right:
        yield "the text of the view is a right answer."


def _stands_in(question: Question, truth: Any, look: Look, text: str) -> bool:
    match question.kind:
        case "number":
            shown = {exact_or_in_words(truth), three_digits(truth)}
            return bool(shown & {exact_or_in_words(_value(found)) for found in NUMBER.findall(text)})
        case "token":
            names = {look.trace.labels[place].casefold() for place in truth}
            return bool(names & {found.casefold() for found in QUOTED.findall(text)})
        case "head":
            return any([int(layer), int(head)] in truth for layer, head in HEAD.findall(text))
        case "sentence" | "concept":
            return answer_text(question, look, truth).rstrip(".").casefold() in text.casefold()
    return False


def _value(written: str) -> float:
    return float(written.replace(",", ""))


def _numbers(question: Question, look: Look) -> set[tuple[str, float]]:
    """The quantities that a question shows, with their values. Arithmetic with given numbers does not count."""
    named: list[Any] = []
    if isinstance(question, OfQuantity) and question.kind == "number":
        named = [question.quantity]
    elif isinstance(question, TrueOrFalse):
        named = [one for one in (question.left, question.right) if not isinstance(one, int | float)]
    asked = [read_quantity(one) for one in named]
    return {(one.quantity.name, round(one.value(look), 6)) for one in asked if one.quantity.name != "weighted_sum"}


# --- another view than the text ---------------------------------------------------------------------------------------


def _other_view(step: Step, question: Question) -> Iterator[str]:
    view, text = step.view, f"{step.text}\n{question.ask}"
    heads = set(HEAD.findall(text))
    if len(heads) == 1 and {"layer", "head"} <= set(view) and heads != {(view["layer"], view["head"])}:
        ((layer, head),) = heads
        yield f"the text is about L{layer} H{head}, and the view opens L{view['layer']} H{view['head']}."
    for layer in set(re.findall(r"\blayer (\d+)\b", question.ask)):
        if view.get("layer", layer) != layer and question.kind != "order":
            yield f"the question is about layer {layer}, and the view opens layer {view['layer']}."
    for words, page, name, value in NAMES_PART:
        if view.get("page") == page and words.search(text) and view.get(name) != value:
            yield f"the text names “{words.search(text)[0]}”: the view needs {name}: {value}."  # type: ignore[index]
    known = "\n".join(view.get(name, "") for name in ("text", "pair", "text_b")).casefold()
    if not known.strip():
        return
    inside = json.dumps(question.definition(), ensure_ascii=False).casefold()
    for quoted in set(QUOTED.findall(text)):
        if quoted.casefold() not in known and inside.count(quoted.casefold()) <= question.ask.casefold().count(
            quoted.casefold()
        ):
            yield f"“{quoted}” is not in the text of the view."
    for other in set(_texts(question.definition())):
        if other.casefold() not in f"{known}\n{text.casefold()}":
            yield f"the question is about “{other}”, which is not in the text of the view."


def _texts(definition: Any) -> Iterator[str]:
    """The texts that the quantities of a question run."""
    if isinstance(definition, Mapping):
        for name, value in definition.items():
            if name == "text" and isinstance(value, str):
                yield value
            else:
                yield from _texts(value)
    elif isinstance(definition, list | tuple):
        for one in definition:
            yield from _texts(one)


# --- numbers that mislead ---------------------------------------------------------------------------------------------


def _rounded(question: Question, look: Look) -> Iterator[str]:
    truth = question.truth(look)
    compared = [question] if isinstance(question, TrueOrFalse) else []
    if isinstance(question, ConceptQuestion):
        compared = [TrueOrFalse(ask="", **one["holds"]) for one in question.options if "holds" in one]
        if not question.is_computed:
            yield "each option of a lesson's question needs “holds”: its truth is computed."
    for one in compared:
        found = one.truth(look)
        left, right = (three_digits(value) for value in found.numbers.values())
        if left == right and found.value is not (one.compare == "equal"):
            yield f"both numbers are shown as {left}, and the answer says that they differ."
    if question.kind == "number":
        is_tiny = 0 < abs(truth.value) < 1e-6  # it is shown in words
        shown = 0.0 if is_tiny else _value(exact_or_in_words(truth.value).replace("−", "-").removeprefix(">"))
        if not question.grade(read_answer(question, json.dumps(shown), look), look).right:
            yield f"the answer as it is shown, {shown:g}, counts as wrong: allow more."
        for written in NUMBER.findall(question.why):
            places, value = len(written.partition(".")[2]), _value(written)
            near = 0 < abs(value - truth.value) <= 0.05 * abs(truth.value)
            if near and round(truth.value, places) != value:
                yield f"why says {written}, and the model computes {exact_or_in_words(truth.value)}."
    if isinstance(question, OrderQuestion):
        if not SAYS_END.search(question.ask):
            yield "the question does not say which end is first: for example “Put the largest first.”"
        values = list(truth.numbers.items())
        for (first, larger), (second, smaller) in itertools.pairwise(values):
            if larger - smaller < TOO_CLOSE * abs(larger):
                yield f"“{first}” and “{second}” are too close to predict: {larger:.3g} and {smaller:.3g}."


def _mistakes(question: Question, look: Look) -> Iterator[str]:
    for one in question.mistakes:
        value = question.mistaken(one, look)
        if question.grade(value, look).right:
            yield f"the mistake “{value}” counts as right."
        if not question.reason(value, look).truth:
            yield f"the mistake “{value}” has no truth: say what is right instead."


def check_misconceptions(lesson: Lesson) -> Iterator[Finding]:
    """Misconceptions of the list whose question in this lesson has no answer that reveals them."""
    steps = dict(lesson.numbered())
    for one in misconceptions.ALL:
        if one.lesson != lesson.name:
            continue
        step = steps.get(one.step)
        question = step.question if step else None
        options = question.options if isinstance(question, ConceptQuestion) else question.mistakes if question else ()
        if one.id not in [option.get("misconception") for option in options]:
            yield Finding(step.question_line if step else 1, f"no answer of step {one.step} reveals “{one.belief}”")
