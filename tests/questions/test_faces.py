"""What wall, phone and desk make of a question: its letters, what it rests on, a gesture's result."""

from __future__ import annotations

import html
import io
import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from encoder.export.report import as_csv
from encoder.figures.numbers import exact_or_in_words
from pages.core.frame.frame import import_params
from pages.core.words import symbols
from pages.teaching.desk import desk
from pages.teaching.lessons import library, worksheet
from pages.teaching.lessons.lesson import Step
from pages.teaching.questions import Look, Question, controls, gestures, misconceptions, quantities, read_question
from pages.teaching.questions.kinds import NumberQuestion
from pages.teaching.questions.open_kinds import ConclusionQuestion, DrawQuestion
from pages.teaching.rooms import Asked
from pages.teaching.stage import bars, exhibit, outcome, results, wall


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    import_params()
    library._kept.cache_clear()  # a test before may have read the lessons without the pages' values


def face(question: Question, look: Look, answers: dict[str, str], *, revealed: bool = False, **more: Any) -> str:
    asked = Asked("R-1", question.definition(), more.pop("view", {}), revealed=revealed)
    return wall.face(asked, question, look, answers, len(answers), **more)


def of_lesson(name: str, number: int) -> tuple[Question, Look, Step]:
    lesson = library.find(name)
    assert lesson
    step = lesson.step(number)
    assert step.question
    return step.question, library.look_of(step.view), step


def test_a_bar_is_as_long_as_its_number() -> None:
    shares = [0.00284, 0.00369, 0.00922, 0.0443, 0.0502, 1]
    written = bars.table([bars.Line(str(one), str(one), one) for one in shares], "weights")
    assert [float(one) for one in re.findall(r"width:([\d.e-]+)%", written)] == pytest.approx([100 * x for x in shares])


def test_symbols_are_printed_as_in_formulas() -> None:
    assert symbols.in_html("<b> d_k, W_Q and e^-1") == "&lt;b&gt; d<sub>k</sub>, W<sub>Q</sub> and e<sup>−1</sup>"
    assert symbols.in_markdown("*d_k* of d_model, e^-1") == r"\*$d_k$\* of $d_\mathrm{model}$, $e^{-1}$"
    lesson = "The *W_O* of `d_k`, $d_k$, [d_k](https://a.b/d_k) is __bold__; https://a.b/d_k"
    shown = "The *$W_O$* of `d_k`, $d_k$, [$d_k$](https://a.b/d_k) is __bold__; https://a.b/d_k"
    assert symbols.of_markdown(lesson) == shown
    assert symbols.in_html("text_b, no_such_thing, [SEP]") == "text_b, no_such_thing, [SEP]"


def test_a_teacher_can_call_an_option_and_the_class_has_read_what_the_step_says() -> None:
    question, look, step = of_lesson("01-tokens", 3)
    shown = face(question, look, {"one": "1"}, prose=step.prose)
    assert re.findall(r"<li><span><b>(\w)</b>", shown) == ["A", "B", "C"]
    assert "its row in the embedding table" in shown
    revealed = face(question, look, {"one": "1"}, revealed=True, prose=step.prose)
    assert "<span><b>B</b> Both ids are equal. ✓</span><b>1</b>" in revealed
    assert "its row in the embedding table" not in revealed


def test_ids_are_names_and_have_no_bars() -> None:
    question, look, step = of_lesson("01-tokens", 3)
    revealed = face(question, look, {}, revealed=True, view=step.view)
    shown = re.findall(r"<li( data-asked)?>([^<]*)<small>(\d+)</small>", revealed)
    assert look.trace.source
    assert [(label, int(one)) for _, label, one in shown] == [
        *zip(look.trace.labels, look.trace.source.ids, strict=True)
    ]
    assert [label for asked, label, _ in shown if asked] == ["the", "the"]
    assert "<tr" not in revealed


@pytest.mark.parametrize(
    ("lesson", "number", "part"),
    [
        ("01-tokens", 5, "enc-counted"),
        ("01-tokens", 6, "enc-counted"),
        ("01-tokens", 7, "enc-counted"),
        ("03-one-weight-by-hand", 5, "<tr"),
        ("04-heads", 1, "enc-map-of-head"),
        ("04-heads", 6, "enc-map-of-head"),
        ("04-heads", 8, "enc-map-of-head"),
        ("11-how-weights-are-learned", 2, "<tr"),
    ],
)
def test_a_result_shows_what_it_rests_on(lesson: str, number: int, part: str) -> None:
    question, look, step = of_lesson(lesson, number)
    assert part in face(question, look, {}, revealed=True, view=step.view).partition("enc-wall-exhibit")[2]


def test_a_number_on_the_wall_says_what_it_is_and_why_answers_are_wrong() -> None:
    for lesson, number, wrong in (
        ("03b-from-weight-to-output", 1, 4),
        ("01-tokens", 4, 2),
        ("05-padding-and-masks", 5, 0),
    ):
        question, look, _ = of_lesson(lesson, number)
        assert isinstance(question, NumberQuestion)
        answers = {"one": json.dumps(wrong), "two": json.dumps(question.truth(look).value), "three": "7.25"}
        reason = question.reason(wrong, look).said
        assert reason
        shown = face(question, look, answers, revealed=True)
        assert reason in html.unescape(shown)
        assert "Answers of the class" in shown
        if "enc-wall-answer" in shown:  # a long row has the number next to the question, and a caption
            assert f"<small>{question.title}</small>" in shown
    assert {of_lesson("03-one-weight-by-hand", 5)[0].title, of_lesson("03-one-weight-by-hand", 1)[0].title} == {  # type: ignore[attr-defined]
        "variance of q · k",
        "numbers in a query of one head (d_k)",
    }, "the same number of the model, and another meaning"


def test_a_word_before_a_full_stop_is_the_same_word() -> None:
    question, look, step = of_lesson("02-embedding-and-position", 4)
    shown = face(question, look, {}, revealed=False, view=step.view)
    assert "<b>put</b>" in shown
    assert "<b>bank.</b>" not in shown


def test_the_wall_says_why_an_option_is_wrong_that_somebody_chose() -> None:
    question, look, _ = of_lesson("02-embedding-and-position", 6)
    reasons = [question.reason(place, look).said for place in (0, 1)]
    shown = html.unescape(face(question, look, {"one": "1", "two": "2"}, revealed=True))
    assert reasons[1] in shown
    assert reasons[0] not in shown, "nobody chose it"
    assert all(exact_or_in_words(value) in reason for value, reason in zip(of_poolings(look), reasons, strict=True))


def of_poolings(look: Look) -> list[float]:
    """The cosines of the sentence vector with the vector of [CLS] and with the mean over the words."""
    return [quantities.read_quantity({"pooled_cosine": {"rule": rule}}).value(look) for rule in ("cls", "words")]


@pytest.mark.parametrize("number", [1, 4])
def test_a_map_has_the_weights_of_every_right_head_and_the_names_of_its_tokens(number: int) -> None:
    question, look, _ = of_lesson("04-heads", number)
    heads = question.truth(look).answers
    shown = face(question, look, {}, revealed=True).partition("enc-map-of-head")[2]
    queries = range(look.trace.n_tokens) if len(heads) == 1 else ["it"]
    weights = np.stack([look.at(*head).row(i) for head in heads for i in queries])
    drawn = [float(one) for one in re.findall(r"opacity:([\d.]+)", shown)]
    assert drawn == pytest.approx([round(float(one), 2) for one in weights.ravel() if one >= 0.005])
    assert [html.unescape(one) for one in re.findall(r"scope='col'><span>(.*?)<", shown)] == look.names
    named = [f"L{layer} H{head}" for layer, head in heads]
    rows = [html.unescape(one) for one in re.findall(r"scope='row'>(.*?)<", shown)]
    assert rows == (look.names if len(heads) == 1 else named)
    assert named[0] in shown
    assert shown.count("data-asked") == (0 if len(heads) == 1 else len(heads)), "“it” × “animal”"


@pytest.mark.parametrize(
    ("name", "given", "label"),
    [
        ("cut-a-word", [4], "book|shelf"),
        ("sort-by-weight", ["street", "cross", "[CLS]", "tired", "animal"], "street > cross > [CLS] > tired > animal"),
        ("draw-a-mask", np.tril(np.ones((4, 4)), -1).tolist(), "20 to 30 points"),
    ],
)
def test_a_gesture_shows_and_exports_what_the_class_did(name: str, given: Any, label: str) -> None:
    question, look = read_question({"kind": "gesture", "gesture": name}), library.look_of({})
    assert isinstance(question, gestures.GestureQuestion)
    truth = question.truth(look).value
    answers = {"one": json.dumps(given), "two": json.dumps(truth)}
    vote = results.vote(name, answers, question, look)
    assert {bar.label: bar.right for bar in vote.bars} == {label: False, question.text(truth, look): True}
    is_drawn = name == "draw-a-mask"
    assert (vote.mean is not None) == is_drawn
    shown = face(question, look, answers, revealed=True)
    assert question.task(look).said in shown.replace("&gt;", ">")
    assert ("enc-bars" in shown) == (not is_drawn)
    first, second = results.rows(question, look, answers, {}, 1, {})
    assert first["answer"] == (json.dumps(given) if is_drawn else label)
    assert second["answer"] == (json.dumps(truth) if is_drawn else first["right_answer"])
    assert first["right_answer"]
    assert "[" not in first["right_answer"].replace("[CLS]", ""), "words, not the numbers of a map"


def test_a_number_stays_one_in_the_table_and_what_is_right_has_the_digits_of_the_screen() -> None:
    question, look, _ = of_lesson("07-normalisation", 4)
    answers = {"one": json.dumps(-0.02), "two": json.dumps(question.truth(look).value)}
    table = as_csv(pd.DataFrame(results.rows(question, look, answers, {}, 1, {}))).decode("utf-8-sig")
    found = pd.read_csv(io.StringIO(table))
    assert found["answer"].tolist() == pytest.approx([-0.02, question.truth(look).value])
    shown = {f"{one:g}".replace("-", "−") for one in found["right_answer"]}
    assert shown == {exhibit.answer(question, look, question.truth(look))}


def test_a_simulation_is_called_one_and_has_one_precision_on_screen_and_paper() -> None:
    question, look, step = of_lesson("03-one-weight-by-hand", 5)
    assert isinstance(question, NumberQuestion)
    shown = face(question, look, {}, revealed=True)
    paper = worksheet.numbers(question, step)
    assert paper is not None
    for written in (shown, paper):
        assert f"{quantities.PAIRS:,} random pairs" in written
        for value in question.tried(look, 0).values():
            assert re.search(rf"[> ]{value:.2f}\b(?!\.)", written)


def test_screen_and_paper_write_a_row_alike_and_number_equal_tokens() -> None:
    question, look, step = of_lesson("03-one-weight-by-hand", 4)
    paper = worksheet.numbers(question, step)
    assert paper is not None
    on_screen = exhibit.row(question, look, question.truth(look))
    assert any(line.said.startswith("<") for line in on_screen), "a tiny weight"
    assert len({line.label for line in on_screen}) == len(on_screen), "the same word twice"
    for line in on_screen:
        assert f"<b>{html.escape(line.label)}</b> <i>{html.escape(line.said)}</i>" in paper


def test_a_question_about_sizes_names_the_models_own() -> None:
    question, look, _ = of_lesson("03-one-weight-by-hand", 1)
    config = look.loaded.config
    assert {str(config.d_model), str(config.n_heads)} <= set(re.findall(r"\d+", question.ask))
    assert question.truth(look).value == config.d_model / config.n_heads


def test_every_number_says_how_near_counts_as_right() -> None:
    for lesson in library.lessons()[0]:
        for _, step in lesson.numbered():
            question = step.question
            if not isinstance(question, NumberQuestion) or question.within == 0:
                continue
            look = library.look_of(step.view)
            truth = question.truth(look)
            said = f"{question.within if question.within is not None else question.factor:g}"
            found = re.search(r"Within (?:a factor of )?([\d.]+) counts", controls.true_value(question, look, truth))
            assert found
            assert found[1] == said
            low, high = question.accepted(truth)
            assert question.is_right(low, look)
            assert not question.is_right(high + abs(high) + 1e-3, look)
            assert found[0] in face(question, look, {}, revealed=True)


@pytest.mark.parametrize("language", ["", "es"])
def test_a_known_mistake_is_about_the_lengths_of_its_question(language: str) -> None:
    found = library.find("09-cost", language)
    assert found
    step = found.step(2)
    assert isinstance(step.question, NumberQuestion)
    look = library.look_of(step.view)
    reason = step.question.reason(4 * 201_326_592, look)
    assert reason.misconception == "length-linear"
    general = misconceptions.BY_ID[reason.misconception].belief
    assert reason.belief != general, "the question has four times the text, the belief twice"
    assert step.question.truth(look).formula == ""


def test_options_have_one_order_on_every_screen_and_their_bars_a_heading() -> None:
    question, look, _ = of_lesson("09-cost", 3)
    answers = {"one": "false", "two": "false", "three": "true"}
    vote = results.vote("order", answers, question, look)
    shown = face(question, look, answers, revealed=True)
    on_wall = re.findall(r"<li[^>]*><span>(\w+)", shown)
    assert [bar.label for bar in vote.bars] == on_wall == ["True", "False"]
    assert results.HEADING in shown
    assert results.HEADING not in face(question, look, answers, hides_bars=True)


def test_a_drawn_row_is_graded_by_its_overlap() -> None:
    question, look, _ = of_lesson("03-one-weight-by-hand", 6)
    assert isinstance(question, DrawQuestion)
    row = np.array(question.truth(look).value)
    uniform = np.full(len(row), 1 / len(row))
    for drawn, overlap in ((row, 100), (uniform, int(100 * np.minimum(row, uniform).sum()))):
        said = outcome.overlap(question, question.grade(drawn.tolist(), look))
        assert [int(one) for one in re.findall(r"(\d+)%", said)] == [overlap, 70]


@pytest.mark.parametrize("number", [6, 7])
def test_the_teacher_reads_first_what_is_right(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    question, look, _ = of_lesson("03-one-weight-by-hand", number)
    said: list[str] = []
    monkeypatch.setattr(desk.st, "markdown", said.append)
    monkeypatch.setattr(desk.st, "caption", said.append)
    desk._ahead(question, look)
    if isinstance(question, ConclusionQuestion):
        assert question.model.split()[0] in said[0]
    else:
        assert look.names[int(np.argmax(question.truth(look).value))] in said[0]
