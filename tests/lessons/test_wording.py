"""What `encoderscope lesson check` says of a lesson's words, and that the lessons that ship keep their form."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages.teaching.lessons import check, lesson, library, wording
from pages.teaching.questions import misconceptions

ABOUT = "---\ntitle: A title\nminutes: 5\nlevel: any\ngoals: [one]\nneeds: nothing\n---\n"
TEXT = "The animal didn't cross the street because it was too tired."


@pytest.fixture(autouse=True, scope="module")
def _registered() -> None:
    check.import_params()


def step(question: str, prose: str = "Prose.", view: str = "layer: 3\nhead: 1", title: str = "One") -> str:
    block = f"```view\npage: heads\ntext: {TEXT}\n{view}\n```\n"
    return f"## {title}\n\n{prose}\n\n{block}\n```question\n{question}\n```\n"


TOKEN = "kind: token\nask: To which word does “it” attend most in L3 H1?\nquery: it"
NUMBER = "kind: number\nask: How many?\nquantity: n_tokens\nwithin: 0"


def said(text: str) -> str:
    found = lesson.read(ABOUT + text, "mine")
    pairs = zip((None, *found.steps), found.steps, strict=False)
    reasons = [reason for before, one in pairs for _, reason in wording.check_step(one, before)]
    return "\n".join([*reasons, *(reason for _, reason in wording.check_terms(found, set()))])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (step(TOKEN, "It attends to “animal”."), "stands in its own text"),
        (step(NUMBER) + step(TOKEN + "\nhint: Not “animal”."), "stands in its own text"),
        (step(TOKEN + "\nwhy: The token “animal”.") + step(TOKEN), "stands in the step before"),
        (step(NUMBER, "These are 16 tokens."), "stands in its own text"),
        (step(NUMBER) + step(NUMBER), "same number"),
        (
            step("kind: conclusion\nask: What?\nlook: true")
            + step(NUMBER.replace("n_tokens", "{n_pieces: {text: street}}")),
            "picture of the step before",
        ),
        (step(NUMBER, view="step: ids").replace("page: heads", "page: model"), "add i"),
        (step("kind: head\nask: Which?\nquantity: {weight: {query: it, key: animal}}"), "opens the head"),
        (
            step("kind: sentence\nask: Write.\nquantity: n_tokens\nthan: 5\nexample: " + TEXT.replace("tired", "wide")),
            "text of the view is a right answer",
        ),
        (step(TOKEN, ""), "no text"),
        (step(TOKEN, "You see the map."), "hidden until the answer"),
        (step(NUMBER + "\nlook: true", "The open part shows the sum."), "hidden until the answer"),
        (step(NUMBER + "\nwhy: The page shows them."), "points at a picture"),
        (step(TOKEN, view="layer: 4\nhead: 1"), "opens L4 H1"),
        (step(TOKEN.replace("“it”", "“zebra”").replace("L3 H1", "it")), "zebra"),
        (step(NUMBER.replace("n_tokens", "{n_tokens: {text: Another text.}}")), "Another text."),
        (step(NUMBER, "RMSNorm is used."), "“RMSNorm” is used before"),
        (step(NUMBER, "A zork.") + step(TOKEN, "A *zork* is new."), "“zork” is used before"),
        (
            step(NUMBER.replace("n_tokens", "{weight: {query: it, key: animal, layer: 3, head: 1}}")),
            "as it is shown",
        ),
        (step(NUMBER.replace("within: 0", "within: 1\nwhy: There are 16.4 tokens.")), "why says 16.4"),
        (
            step("kind: true or false\nask: Which?\nleft: {softmax: {scores: [1, 1], at: 0}}\nright: 0.50001"
                 "\ncompare: below"),
            "both numbers are shown as 0.5",
        ),
        (
            step("kind: order\nask: Which?\nitems:\n  a: {softmax: {scores: [1, 1], at: 0}}"
                 "\n  b: {softmax: {scores: [1, 1.001], at: 0}}"),
            "too close",
        ),
        (
            step("kind: number\nask: Which?\nquantity: n_tokens\nwithin: 2\nmistakes: [{answer: 15, says: x}]"),
            "counts as right",
        ),
        (
            step("kind: number\nask: Which?\nquantity: n_tokens\nwithin: 2\nmistakes: [{answer: 1, says: x}]"),
            "has no truth",
        ),
        (
            step("kind: concept\nask: Which?\noptions: [{says: a, right: true}, {says: b}]"),
            "its truth is computed",
        ),
    ],
)  # fmt: skip
def test_a_fault_of_the_words_is_found(text: str, named: str) -> None:
    assert named in said(text)


@pytest.mark.parametrize("language", ["", "es"])
def test_no_question_points_at_a_picture_that_its_screen_lacks(language: str) -> None:
    for one in library.lessons(language)[0]:
        for step in (step for step in one.steps if step.question and step.view):
            assert not wording.DESCRIBES.search(step.prose), (one.name, step.title)
            assert not wording.POINTS.search(step.question.why), (one.name, step.title)


def test_a_good_step_has_no_fault() -> None:
    assert said(step(TOKEN) + step(NUMBER + "\nhint: Count them.", "A *zork* has RMSNorm, or *RMSNorm*.")) == ""


def test_a_part_that_the_text_names_is_open() -> None:
    question = NUMBER.replace("n_tokens", "{weight: {query: it, key: animal}}").replace("within: 0", "within: 0.1")
    text = step(question, "Leaving words out is a test.").replace("page: heads", "page: contribution")
    assert "beyond: deletion" in said(text)
    assert said(text.replace("layer: 3", "beyond: deletion\nlayer: 3")) == ""


SHIPPED = [lesson_file.stem for lesson_file in sorted(library.SHIPPED.glob("*.md"))]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_lesson_opens_with_the_whole_model_and_ends_in_the_readers_words(name: str) -> None:
    found = library.find(name)
    assert found is not None
    opening, asking = found.step(0), [step for step in found.steps if step.question]
    by_hand = [step.question.kind == "gesture" for step in asking if step.question]
    last = asking[-2 if by_hand[-1] else -1]  # what is done by hand follows, so that the numbers of steps stay
    assert found.first == 0
    assert opening.view["page"] == "model"
    assert "step" not in opening.view
    assert "picture" in opening.prose
    assert last.question is not None
    assert last.question.kind == "conclusion"
    assert all(one.prose for one in found.steps)


def test_old_numbers_and_addresses_of_lessons_and_steps_stay() -> None:
    good, broken = library.lessons()
    assert broken == []
    assert [one.label for one in good] == ["1", "2", "3", "3b", *map(str, range(4, 16))]
    titles = {(one.name, number): step.title for one in good for number, step in one.numbered()}
    assert titles["03-one-weight-by-hand", 4] == "A row of weights"
    assert titles["04-heads", 2] == "The next token"
    assert titles["10-does-attention-explain", 4] == "Switch a head off"


def test_few_questions_are_true_or_false_and_twenty_misconceptions_are_revealed() -> None:
    questions = [step.question for one in library.lessons()[0] for step in one.steps if step.question]
    assert sum(question.kind == "true or false" for question in questions) <= 8
    assert len(misconceptions.BY_ID) == len(misconceptions.ALL) == 20
    steps = {one.name: dict(one.numbered()) for one in library.lessons()[0]}
    assert all(steps[one.lesson][one.step].question for one in misconceptions.ALL)


def test_a_misconception_that_no_answer_reveals_is_found() -> None:
    text = Path(library.SHIPPED / "04-heads.md").read_text(encoding="utf-8")
    changed = lesson.read(text.replace("misconception: heads-share", "says: none"), "04-heads")
    ((_, reason),) = wording.check_misconceptions(changed)
    assert "own part" in reason
