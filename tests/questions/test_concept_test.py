"""The concept test: both forms, the normalised gain, the CSV; and the study's analysis on data with a known effect."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
import pytest

from docs import teaching_study
from pages.teaching.lessons.library import look_of
from pages.teaching.questions import Look, QuestionError, concept_test, misconceptions, read_question
from pages.teaching.questions.concept_test import normalised_gain


@pytest.fixture(scope="module")
def look() -> Look:
    return look_of({})


@pytest.mark.parametrize("form", concept_test.FORMS)
def test_each_item_has_one_true_option_and_reveals_its_misconception(form: str, look: Look) -> None:
    asked = concept_test.items(form)
    assert len(asked) == 10
    for name, item in asked:
        truth = item.truth(look).value
        assert item.options[truth].get("misconception") is None
        assert [one.get("misconception") for one in item.options].count(name) == 1
        assert len(set(item.texts(look))) == len(item.options)
        assert len({text[:1].isdigit() for text in item.texts(look)}) <= 2
    assert len({name for name, _ in asked}) == 10
    assert {name for name, _ in asked} <= set(misconceptions.BY_ID)


def test_true_options_are_not_all_at_one_place_and_forms_differ(look: Look) -> None:
    for form in concept_test.FORMS:
        assert len({item.truth(look).value for _, item in concept_test.items(form)}) >= 2
    one, two = (concept_test.items(form) for form in concept_test.FORMS)
    assert not {item.ask for _, item in one} & {item.ask for _, item in two}


def test_a_test_is_read_and_graded(look: Look) -> None:
    question = read_question({"kind": "test", "ask": "?", "form": "A"})
    truth = question.truth(look).value
    assert question.grade(question.read(truth, look), look).score == 1
    wrong = [(one + 1) % 3 for one in truth]
    assert question.grade(question.read(wrong, look), look).score == 0
    for answer in (truth[:9], [99] * 10, "x", None):
        with pytest.raises(QuestionError):
            question.read(answer, look)
    with pytest.raises(QuestionError):
        read_question({"kind": "test", "ask": "?", "form": "C"})


def test_the_normalised_gain_is_that_of_the_class_means() -> None:
    before, after = np.array([0.2, 0.4, 0.6]), np.array([0.6, 0.7, 0.8])
    found = normalised_gain(before, after)
    assert found is not None
    assert found.gain == pytest.approx((0.7 - 0.4) / (1 - 0.4))
    assert found.low <= found.gain <= found.high
    assert normalised_gain(before[:1], after[:1]) is None
    assert normalised_gain(np.ones(3), after) is None


def test_the_interval_of_the_gain_covers_the_true_one_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for trial in range(200):
        before = rng.binomial(10, 0.4, 40) / 10
        after = rng.binomial(10, 0.7, 40) / 10
        found = normalised_gain(before, after, seed=trial)
        assert found is not None
        covered += found.low <= 0.5 <= found.high
    assert 175 <= covered <= 200


def test_the_table_has_numbers_in_place_of_persons(look: Look) -> None:
    truth = {form: read_question({"kind": "test", "ask": "?", "form": form}).truth(look).value for form in "AB"}
    answers = {"A": {"secret-1": [0] * 10, "secret-2": truth["A"]}, "B": {"secret-2": truth["B"]}}
    table = concept_test.as_csv(answers, look, ["secret-2", "secret-1"])
    assert b"secret" not in table
    rows = list(csv.DictReader(io.StringIO(table.decode("utf-8-sig"))))
    assert [(row["student"], row["when"], row["score"]) for row in rows if row["student"] == "1"] == [
        ("1", "before", "10"),
        ("1", "after", "10"),
    ]
    before, after = concept_test.both(answers, look)
    assert before.shape == after.shape == (1, 10)
    assert before.all()
    held = {row["misconception"]: row for row in concept_test.by_misconception(answers)}
    assert 0 <= held["winner"]["before"] <= 0.5
    assert held["winner"]["after"] == 0
    book = list(csv.DictReader(io.StringIO(concept_test.codebook(look).decode("utf-8-sig"))))
    assert {row["column"] for row in book} == {f"item{n}" for n in range(1, 11)}
    assert sum(int(row["right"]) for row in book) == 20
    assert not any("{}" in row["text"] for row in book)


@pytest.mark.parametrize("effect", [0.0, 0.5])
def test_the_studys_analysis_recovers_a_known_effect(effect: float) -> None:
    n = teaching_study.group_size(0.5)
    found = [teaching_study.analyse(*teaching_study.synthetic(n, effect, seed)) for seed in range(200)]
    assert np.mean([one.d for one in found]) == pytest.approx(effect, abs=0.05)
    assert np.mean([one.difference for one in found]) == pytest.approx(0.15 * effect, abs=0.01)
    covered = np.mean([one.d_interval[0] <= effect <= one.d_interval[1] for one in found])
    assert covered >= 0.9
    significant = np.mean([one.p < 0.05 for one in found])
    assert significant >= 0.8 if effect else significant <= 0.1


def test_the_sample_size_is_that_of_the_t_test() -> None:
    assert teaching_study.group_size(0.5) == 64
    assert teaching_study.group_size(0.8) == 26
    assert teaching_study.group_size(0.5, power=0.9) > 64


def test_a_file_is_analysed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    group, before, after = teaching_study.synthetic(30, 1.0, seed=3)
    file = tmp_path / "data.csv"
    lines = [f"{one},{b},{a}" for one, b, a in zip(group, before, after, strict=True)]
    file.write_text("group,before,after\n" + "\n".join(lines), encoding="utf-8")
    teaching_study.main([str(file)])
    said = capsys.readouterr().out
    assert "lesson: 30" in said
    result = teaching_study.analyse(*teaching_study.read(file))
    assert math.isfinite(result.p)
    teaching_study.main([])
    assert "Synthetic" in capsys.readouterr().out
    file.write_text("group,before,after\nlesson,0.1,0.2", encoding="utf-8")
    with pytest.raises(ValueError, match="group"):
        teaching_study.read(file)


@pytest.mark.slow("thirty students answer")
def test_a_dry_run_with_thirty_students_recovers_what_they_know(look: Look) -> None:
    knows, holds = (0.4, 0.7), 0.8
    true_gain = (knows[1] - knows[0]) / (1 - knows[0])
    covered, gains, held = 0, [], {"before": [], "after": []}
    for seed in range(60):
        answers = teaching_study.simulated_class(30, knows, holds, seed)
        table = concept_test.as_csv(answers, look, list(answers["A"])).decode()
        read = concept_test.read_csv(table)
        before, after = concept_test.both(read, look)
        assert before.shape == (30, 10)
        found = normalised_gain(before.mean(axis=1), after.mean(axis=1), seed)
        assert found is not None
        covered += found.low <= true_gain <= found.high
        gains.append(found.gain)
        for row in concept_test.by_distractor(read, look):
            if row["misconception"] == concept_test.items(row["form"])[row["item"] - 1][0]:
                held[row["when"]].append(row["chosen"])
    assert covered >= 51  # of 60; 57 are expected
    assert np.mean(gains) == pytest.approx(true_gain, abs=0.02)
    assert np.mean(held["before"]) == pytest.approx((1 - knows[0]) * holds, abs=0.02)
    assert np.mean(held["after"]) == pytest.approx((1 - knows[1]) * holds, abs=0.02)


def test_the_export_of_a_room_is_analysed(look: Look, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = teaching_study.simulated_class(30, (0.0, 1.0), 1.0, 0)
    file = tmp_path / "room-ACD347-test.csv"
    file.write_bytes(concept_test.as_csv(answers, look, list(answers["A"])))
    teaching_study.main(["--class", str(file)])
    said = capsys.readouterr().out
    assert "30 students" in said
    assert "Normalised gain: 1.00 (1.00 to 1.00)" in said
    for name, _ in concept_test.items("A"):
        assert f"[{name}]" in said
    for table in ("", "student,form\n1,A", table_of("9"), table_of("x"), "student,form\n1,Z"):
        file.write_text(table, encoding="utf-8")
        if table:
            with pytest.raises(QuestionError):
                teaching_study.of_class(file)


def table_of(option: str) -> str:
    columns = [f"item{number}" for number in range(1, 11)]
    return f"student,form,{','.join(columns)}\n1,A,{','.join([option] * 10)}"
