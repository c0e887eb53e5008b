"""The lessons as a reader meets them: the list, a step next to its page, an answer, the way on."""

from __future__ import annotations

import base64
import json

import pytest

from pages.teaching.lessons import library
from pages.teaching.lessons.check import check, import_params
from tests.pages.apps import sentences, visit


def test_the_list_starts_a_lesson_with_its_first_view() -> None:
    app = visit("lessons")
    assert not app.exception
    good, broken = library.lessons()
    assert len(good) == 16
    assert broken == []
    app.button(key="lessons:start:04-heads").click().run()
    assert app.query_params["lesson"] == "04-heads"
    assert not app.exception
    assert not app.error


def test_a_reader_predicts_and_then_sees_the_picture_and_the_truth() -> None:
    app = visit(
        "heads",
        lesson="03-one-weight-by-hand",
        lesson_step="4",
        layer="3",
        head="1",
        i="10",
        text="The animal didn't cross the street because it was too tired.",
    )
    assert not [one for one in app.get("component") if "map" in str(one)]
    key = "lesson:03-one-weight-by-hand:4"
    assert app.button(key=f"{key}:give").disabled
    options = app.button_group(key=f"{key}:chosen").options
    assert len(options) == 11  # without the two special tokens, the two marks and the query itself
    app.button_group(key=f"{key}:chosen").set_value(2).run()
    app.button(key=f"{key}:give").click().run()
    assert app.success
    assert "animal" in app.success[0].value
    app.button(key=f"{key}:again").click().run()
    app.button_group(key=f"{key}:chosen").set_value(8).run()
    app.button(key=f"{key}:give").click().run()
    assert not app.success
    assert "street" in app.warning[0].value
    assert "animal" in app.warning[0].value


def test_next_opens_the_next_view_and_leaving_keeps_it() -> None:
    app = visit("model", lesson="01-tokens", lesson_step="3", text="mine", step="ids", start="1")
    app.button(key="lesson:next").click().run()
    assert app.query_params["lesson_step"] == "4"
    assert app.query_params["text"] == "Hello!"
    app.button(key="lesson:back").click().run()
    assert app.query_params["text"] == "The cat sat on the mat."
    app.button(key="lesson:leave").click().run()
    assert "lesson" not in app.query_params
    assert app.query_params["text"] == "The cat sat on the mat."


def test_answers_of_a_lessons_file_are_added() -> None:
    app = visit("lessons")
    given = json.dumps({"lesson": "03b-from-weight-to-output", "answers": {"1": 4, "7": "It is a sum."}})
    app.text_area(key="lessons:code").set_value("ES1." + base64.b64encode(given.encode()).decode())
    app.button(key="lessons:take").click().run()
    assert any("2 answers of “From weight to output”" in one.value for one in app.markdown)
    assert any("2 of 8 answered" in one.value for one in app.caption)
    app.text_area(key="lessons:code").set_value("ES1.nonsense")
    app.button(key="lessons:take").click().run()
    assert not app.exception
    assert any("incomplete" in one.value for one in app.markdown)


def test_a_reader_simulates_before_she_answers_and_reads_the_reason_of_a_mistake() -> None:
    app = visit("model", lesson="03-one-weight-by-hand", lesson_step="5")
    key = "lesson:03-one-weight-by-hand:5"
    for _ in range(2):
        app.button(key=f"{key}:simulate").click().run()
    assert not app.exception
    tried = app.dataframe[0].value
    assert list(tried) == ["d_k = 2", "d_k = 4", "d_k = 16"]
    assert len(tried) == 2
    app.text_input(key=f"{key}:number").set_value("1")
    app.button(key=f"{key}:give").click().run()
    assert "The width of a head does not change" in app.warning[0].value


def test_a_lesson_opens_with_the_model_and_ends_with_a_conclusion() -> None:
    app = visit("lessons")
    app.button(key="lessons:start:04-heads").click().run()
    assert app.query_params["lesson_step"] == "0"
    app = visit("heads", lesson="04-heads", lesson_step="8")
    key = "lesson:04-heads:8"
    app.text_area(key=f"{key}:text").set_value("Heads add what each of them finds.")
    app.button(key=f"{key}:give").click().run()
    assert "Heads add what each of them finds" in app.info[0].value
    question = library.find("04-heads").step(8).question
    assert question.model in "".join(one.value for one in app.markdown).replace("\\", ""), "after her own answer"
    hint = next(one.value for one in app.caption if "hint" in one.value)
    assert f"{question.similarity('Heads add what each of them finds.'):.2f}" in hint


def test_the_model_answer_waits_for_the_readers_own() -> None:
    app = visit("heads", lesson="04-heads", lesson_step="8")
    question = library.find("04-heads").step(8).question
    assert question.model not in "".join(one.value for one in app.markdown).replace("\\", "")
    assert question.similarity(question.model) == pytest.approx(1, abs=1e-5)
    near, far = "Several heads relate tokens in several ways.", "I had soup for lunch."
    assert question.similarity(far) < question.similarity(near) < 1


def test_a_lesson_that_does_not_exist_leaves_the_page_alone() -> None:
    app = visit("heads", lesson="../../etc/passwd", lesson_step="99")
    assert not app.exception
    assert not app.error
    app = visit("heads", lesson="01-tokens", lesson_step="99")
    assert not app.exception
    assert "Traceback" not in sentences(app)


@pytest.mark.parametrize(
    ("page", "lesson", "title"),
    [
        ("model", "06-feed-forward-and-residual-stream", "Model"),
        ("heads", "06-feed-forward-and-residual-stream", "Model"),  # of another page
        ("model", "01-tokens", None),  # the page waits for an answer
    ],
)
def test_the_link_of_a_step_opens_its_view(page: str, lesson: str, title: str | None) -> None:
    app = visit(page, lesson=lesson, lesson_step="1")
    assert not app.exception
    view = library.find(lesson).step(1).view
    assert app.query_params["text"] == view["text"]
    assert app.query_params["lesson"] == lesson
    assert [one.value for one in app.title] == ([] if title is None else [title])


def test_a_link_of_a_step_with_a_view_of_its_own_keeps_it() -> None:
    app = visit("heads", lesson="10-does-attention-explain", lesson_step="3", layer="2")
    assert app.query_params["layer"] == "2"
    assert "text" not in app.query_params


@pytest.mark.sample(4, "computes every answer of another lesson")
@pytest.mark.parametrize("name", [path.stem for path in sorted(library.SHIPPED.glob("*.md"))])
def test_every_lesson_holds(name: str) -> None:
    """Every view opens without a complaint, and every question computes an answer that it grades as right."""
    import_params()
    assert list(check(library.SHIPPED / f"{name}.md")) == []


def test_the_answer_and_the_truth_are_whole_numbers_in_full() -> None:
    app = visit("model", lesson="06-feed-forward-and-residual-stream", lesson_step="1")
    key = "lesson:06-feed-forward-and-residual-stream:1"
    app.text_input(key=f"{key}:number").set_value("1537")
    app.button(key=f"{key}:give").click().run()
    assert "1,536" in app.success[0].value
    app.button(key=f"{key}:again").click().run()
    app.text_input(key=f"{key}:number").set_value("4321")
    app.button(key=f"{key}:give").click().run()
    assert "You said: 4,321. The answer is: 1,536." in app.warning[0].value.replace("\\", "")
