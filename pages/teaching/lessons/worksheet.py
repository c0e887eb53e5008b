"""A worksheet and its answer key, with one numbering: only questions that paper can answer, each with its numbers.

A question about a row of weights has the row below it; one about sizes has the sizes of the model. A question that
needs a picture, an own sentence or another forward pass stays on the screen.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from encoder.documents.document import Section
from encoder.drawing.picture import escape
from encoder.explain import cost
from encoder.measure import norm_weighting
from pages.core.words.symbols import in_html
from pages.teaching.lessons.lesson import Lesson, Step, of_question
from pages.teaching.lessons.library import look_of
from pages.teaching.questions import Look, Question, controls
from pages.teaching.questions.kinds import HeadQuestion, NumberQuestion, OrderQuestion, TokenQuestion, TrueOrFalse
from pages.teaching.questions.open_kinds import ChoiceQuestion, ConceptQuestion, ConclusionQuestion
from pages.teaching.questions.quantities import Asked, read_quantity
from pages.teaching.questions.question import Choosing
from pages.teaching.stage import exhibit

#: A line to write on; a conclusion has three.
LINE = '<p class="write">&nbsp;</p>'
#: A sheet with more questions has smaller print, so that it stays one page.
FEW = 6
#: Quantities whose numbers are all in the question.
GIVEN = ("softmax", "weighted_sum")
#: Fields of a model that follow from the two others.
SIZES = {
    "n_heads": "heads in each layer: {}",
    "d_model": "numbers in a token's vector: {}",
    "d_head": "numbers in a query, a key or a value of one head: {}",
}
#: A matrix of the FFN that has the width of its hidden layer.
OF_FFN = "the first matrix of the FFN has {:,} weights, {} for each number of the hidden layer"

#: Symbols in the formula of a part's FLOPs.
SYMBOLS = {
    "n": "tokens",
    "D": "numbers in a token's vector",
    "F": "numbers of the FFN's hidden layer",
    "H": "heads",
    "HK": "numbers in the queries of all heads",
}

#: A step of a lesson that asks something.
Asking = tuple[Lesson, int, Step, Question]


def asking(steps: Sequence[tuple[Lesson, int, Step]]) -> list[Asking]:
    """The steps with a question."""
    return [(lesson, number, step, step.question) for lesson, number, step in steps if step.question is not None]


def sheet(steps: Sequence[Asking]) -> Iterator[Section]:
    """The questions that paper can answer. Raises LessonError, as `key`."""
    items = []
    for lesson, _, step, question in steps:
        with of_question(lesson, step):
            if (given := on_paper(question, step)) is not None:
                items.append(f"<li>{in_html(question.ask)}{choices(step)}{given}{_lines(question)}</li>")
    if not items:
        yield Section("", sentences=["Every question of this lesson needs the screen."])
        return
    size = "sheet" if len(items) > FEW else "sheet few"
    yield Section("", picture=f"<p>Name or number: ____________</p><ol class='{size}'>{''.join(items)}</ol>")


def _lines(question: Question) -> str:
    return LINE * (3 if isinstance(question, ConclusionQuestion) else 1)


def key(steps: Sequence[Asking]) -> Iterator[Section]:
    """All questions with their answers: those of the sheet under its numbers, then those of the screen."""
    printed = [one for one in steps if on_paper(one[3], one[2]) is not None]
    named = {f"{place}. ": one for place, one in enumerate(printed, 1)}
    for before, one in (*named.items(), *(("On the screen only: ", one) for one in steps if one not in printed)):
        with of_question(one[0], one[2]):
            section = _answered(before, *one)
        yield section


def _answered(before: str, lesson: Lesson, number: int, step: Step, question: Question) -> Section:
    look = look_of(step.view)
    truth, answer = question.truth(look), said(question, look)
    parts = [f"<p><b>{in_html(question.ask)}</b></p>", f"<p class='answer'>{in_html(answer)}</p>" if answer else ""]
    parts.append(_numbers(controls.further_numbers(truth)))
    parts.append(f"<p>{in_html(question.why)}</p>" if question.why else "")
    wrong = [f"<li>{in_html(one.rstrip('.'))}: {in_html(reason)}</li>" for one, reason in _wrong(question, look)]
    parts.append(f"<ul>{''.join(wrong)}</ul>" if wrong else "")
    return Section(f"{before}{step.title} (step {lesson.place(number)})", picture="".join(parts))


def said(question: Question, look: Look) -> str:
    """The right answer in a sentence, or a model answer."""
    if isinstance(question, ConclusionQuestion):
        return f"A model answer: {question.model}" if question.model else ""
    truth = question.truth(look)
    return "" if truth.value is None else controls.true_value(question, look, truth)


def _numbers(numbers: Any) -> str:
    text = ", ".join(f"{name}: {exhibit.rounded(value)}" for name, value in numbers.items())
    return f"<p class='caption'>{in_html(text)}</p>" if text else ""


def _wrong(question: Question, look: Look) -> Iterator[tuple[str, str]]:
    """Known wrong answers, and what their students read."""
    known = [question.mistaken(one, look) for one in question.mistakes]
    for answer in question.choices(look) if isinstance(question, ConceptQuestion) else known:
        if (reason := question.reason(answer, look).said) != "":
            yield controls.answer_text(question, look, answer), reason


def choices(step: Step) -> str:
    """What there is to choose from, for paper; a word is chosen from the sentence."""
    question, found = step.question, list[str]()
    if isinstance(question, OrderQuestion):
        found = question.begins_with(look_of(step.view))
    elif isinstance(question, Choosing) and question.kind != "token":
        found = [text.rstrip(".") for text in question.choices(look_of(step.view)).values()]
    return f"<br><small>{in_html(' · '.join(found))}</small>" if found else ""


def is_given(question: Question) -> bool:
    """Whether all numbers of the answer are in the question: no picture of the model shows it."""
    return isinstance(question, NumberQuestion) and question.asked.quantity.name in GIVEN


# --- what a question needs on paper -----------------------------------------------------------------------------------


def on_paper(question: Question, step: Step) -> str | None:
    """The numbers that the question is about, as HTML, "" if it has them all; None if paper cannot answer it."""
    is_read = question.look and isinstance(question, NumberQuestion | HeadQuestion)
    return None if is_read else numbers(question, step)


def numbers(question: Question, step: Step) -> str | None:
    """As `on_paper`, also of a number or a head that the screen shows. It is XML, too, and readable without a style."""
    look = look_of(step.view)
    if isinstance(question, ConclusionQuestion):
        is_map = step.view.get("page") == "heads" and step.view.get("view", "map") == "map" and "i" in step.view
        return _row(look, int(step.view["i"])) if is_map else ""
    if isinstance(question, TokenQuestion):
        return _row(look.at(question.layer, question.head), question.query)
    if isinstance(question, NumberQuestion):
        return _of_number(question, look)
    if isinstance(question, HeadQuestion):
        return _of_heads(question, look)
    if isinstance(question, OrderQuestion):
        return _of_costs([*question.items.values()], look)
    if isinstance(question, TrueOrFalse):
        sides = [question.left, question.right]
        return _of_costs(sides, look) or _of_sides(sides, look)
    if isinstance(question, ConceptQuestion):
        sides = [one["holds"][side] for one in question.options if "holds" in one for side in ("left", "right")]
        return "" if all(_is_given(one) for one in sides) else None
    return "" if isinstance(question, ChoiceQuestion) else None


def _of_number(question: NumberQuestion, look: Look) -> str | None:
    asked = question.asked
    if question.trial:
        tried = question.tried(look, 0).items()
        said = ", ".join(f"{label}: {value:.{controls.SIMULATED}f}" for label, value in tried)
        return _small(f"{question.simulated}. {said}")
    if is_given(question) or asked.quantity.name == "query_components":
        return ""
    if asked.quantity.name == "config" and (field := asked.arguments.get("field")) in SIZES:
        sizes = {name: getattr(look.loaded.config, name) for name in SIZES if name != field}
        known = [SIZES[name].format(size) for name, size in sizes.items() if str(size) not in question.ask]
        return _small("In this model, " + "; ".join(known) + ".") if known else ""
    if asked.quantity.name == "config" and asked.arguments.get("field") == "d_ffn":
        config = look.loaded.config
        return _small(f"In this model, {OF_FFN.format(config.d_model * config.d_ffn, config.d_model)}.")
    if asked.quantity.name == "score":
        d_head = look.loaded.config.d_head
        dot = f"The dot product of the two vectors is {asked.value(look) * d_head**0.5:.2f}."
        return _small(f"{dot} Numbers in a query: {d_head}.")
    if asked.quantity.name == "layer_flops":
        return _of_costs([question.quantity], look, with_formula=False)
    if asked.quantity.name in ("on_special_tokens", "norm_weighted"):
        return _row(*_place(asked, look), norms=asked.quantity.name == "norm_weighted")
    return None


def _of_heads(question: HeadQuestion, look: Look) -> str:
    """The number of each head, layers below each other."""
    found = question.values(look)
    layers, heads = (sorted({place[axis] for place in found}) for axis in (0, 1))
    rows = ["<td></td>" + "".join(f"<th>H{head}</th>" for head in heads)]
    for layer in layers:
        cells = (f"<td>{found[layer, head]:.3f}</td>" if (layer, head) in found else "<td></td>" for head in heads)
        rows.append(f"<th>L{layer}</th>{''.join(cells)}")
    inner = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"{_small(f'Of each head: {question.title}.')}<table><tbody>{inner}</tbody></table>"


def _of_costs(sides: Sequence[Any], look: Look, *, with_formula: bool = True) -> str | None:
    """The formula of the FLOPs of each part, and the numbers of its symbols; None where other numbers are compared."""
    asked = [read_quantity(one) for one in sides if not isinstance(one, int | float)]
    if not asked or any(one.quantity.name != "layer_flops" or "part" not in one.arguments for one in asked):
        return None
    formulas, symbols = list[str](), dict[str, int]()
    for one in asked:
        parts = cost.layer_parts(look.loaded.config, one.arguments["n"])
        part = next(part for part in parts if part.key == one.arguments["part"])
        named = " × ".join([str(part.work.coefficient), *(name for name, _ in part.work.factors)])
        formulas.append(f"{part.title}: {named}")
        symbols |= part.work.factors
    sizes = "; ".join(f"{SYMBOLS.get(name, name)}: {name} = {size:,}" for name, size in symbols.items())
    return _small((f"FLOPs. {'; '.join(formulas)}. " if with_formula else "") + f"In this model, {sizes}.")


def _of_sides(sides: Sequence[Any], look: Look) -> str | None:
    """The rows of the weights that are compared."""
    if all(_is_given(one) for one in sides):
        return ""
    weights = [read_quantity(one) for one in sides if not isinstance(one, int | float)]
    if any(one.quantity.name != "weight" for one in weights):
        return None
    return "".join(dict.fromkeys(_row(*_place(one, look)) for one in weights))


def _is_given(side: Any) -> bool:
    return isinstance(side, int | float) or read_quantity(side).quantity.name in GIVEN


def _place(asked: Asked, look: Look) -> tuple[Look, str | int]:
    """Where the row of a quantity is: its text, layer and head, and its query."""
    arguments = asked.arguments
    there = look.about(arguments.get("text")).at(arguments.get("layer"), arguments.get("head"))
    return there, arguments["query"]


def _row(look: Look, query: str | int, *, norms: bool = False) -> str:
    """The row of a query: each token with its weight. norms: also times the norm of its transformed value."""
    i, labels = look.token(query), look.names
    columns, names = [look.row(query)], "weight"
    if norms:
        weighted = norm_weighting.norm_weighted(look.trace, look.layer, look.head, slice(i, i + 1))[0].tolist()
        columns.append(np.array(weighted))
        names += f", then weight × norm of the transformed value (before rounding, their sum is {sum(weighted):.3f})"
    cells = (
        f"<span><b>{escape(label)}</b> "
        + " ".join(f"<i>{escape(exhibit.weight(float(one[at])))}</i>" for one in columns)
        + "</span> "
        for at, label in enumerate(labels)
    )
    title = f"L{look.layer} H{look.head}, row of “{labels[i]}” in “{look.text}” Each token with its {names}."
    return f"{_small(title)}<p class='row'>{''.join(cells)}</p>"


def _small(text: str) -> str:
    return f"<br/><small>{in_html(text)}</small>"
