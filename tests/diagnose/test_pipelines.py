"""Every generated pipeline of another program is named exactly, and none wrongly; in whatever batches it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from encoder import diagnose
from tests.diagnose.pipelines import TEXTS, Case, Program, cases, named
from tests.diagnose.table import outcome


@pytest.mark.filterwarnings("ignore")  # of transformers, about masks
@pytest.mark.sample(50, "another generated pipeline")
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_a_generated_pipeline_is_named(case: Case, tmp_path: Path):
    program = case.make(tmp_path)
    found = diagnose.find(program.folder, TEXTS, program.embed(), together=2)
    result = outcome(case, found)
    assert result != "wrong", (found.said, case.expects)
    assert result == "exact", (found.said, case.expects)


POOLED, ATTENDED = {"batched": True, "masks_pooling": False}, {"batched": True, "masks_attention": False}


@pytest.mark.filterwarnings("ignore")  # of transformers, about masks
@pytest.mark.parametrize(
    ("wrong", "expects"),
    [
        ({**POOLED, "size": 8}, ["pooled-padding"]),
        ({**POOLED, "size": 4, "sorts": True}, ["pooled-padding"]),
        ({**ATTENDED, "size": 4}, ["attended-padding"]),
        ({**ATTENDED, **POOLED, "size": 4}, ["attended-padding", "pooled-padding"]),
        ({**POOLED, "size": 4, "normalise": False}, ["pooled-padding", "normalise-missing"]),
    ],
)
def test_the_batches_need_not_be_known(wrong: dict[str, Any], expects: list[str], tmp_path: Path):
    program = Case("bert", "batches", wrong, named(*expects), seed=3).make(tmp_path)
    found = diagnose.find(tmp_path, TEXTS, program.embed(), together=2)
    assert [one.name for one in found.faults] == expects, found.said
    assert found.faults[0].parameters["batch"] == {"batch": wrong["size"], "sorted": wrong.get("sorts", False)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("stated", [None, 3, 4])
def test_a_fault_of_batches_is_excluded_only_where_they_are_known(stated: int | None, tmp_path: Path):
    """Batches of three are none of those that are tried."""
    program = Case("bert", "batches", {**POOLED, "size": 3}, (), seed=3).make(tmp_path)
    found = diagnose.find(tmp_path, TEXTS, program.embed(), together=1, batch=stated)
    assert [one.name for one in found.faults] == (["pooled-padding"] if stated == 3 else [])
    assert ("pooled-padding" in found.excluded) == (stated == 4)
    assert ("pooled-padding" in found.not_excluded) == (stated is None)
    assert ("--batch" in found.said) == (stated is None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wrong", [POOLED, {"fixed": 64, "masks_pooling": False}])
def test_the_text_that_separates_two_causes_does(wrong: dict[str, Any], tmp_path: Path):
    """Texts of one batch are all as long as the longest, which is cut where a fixed length would be, too."""
    program: Program = Case("bert", "causes", wrong, (), seed=3).make(tmp_path)
    found = diagnose.find(tmp_path, TEXTS, program.embed(), together=1)
    causes = {one.name for faults in (found.faults, *found.alternatives) for one in faults}
    assert causes == {"pooled-padding", "fixed-padding"}
    (text,) = found.next_texts
    assert "request of its own" in found.said
    alone = diagnose.find(tmp_path, [text], program.embed((text,)), together=1)
    assert [one.name for one in alone.faults] == (["fixed-padding"] if "fixed" in wrong else []), alone.said
    assert alone.verdict == ("fault" if "fixed" in wrong else "sound")


@pytest.mark.parametrize("moved", ["exchanged", "by a place", "by length"])
def test_vectors_of_other_texts_are_named(moved: str, tmp_path: Path):
    """Also where one comes twice, and no order of the texts gives them all."""
    program = Case("bert", "order", {}, (), seed=3).make(tmp_path)
    order = {
        "exchanged": [1, 0, *range(2, len(TEXTS))],
        "by a place": [*range(1, len(TEXTS)), len(TEXTS) - 1],
        "by length": sorted(range(len(TEXTS)), key=lambda place: -len(TEXTS[place])),
    }[moved]
    found = diagnose.find(tmp_path, TEXTS, program.embed()[order], together=1)
    assert [one.name for one in found.faults] == ["text-order"], found.said
    assert found.faults[0].parameters["order"] == ("length" if moved == "by length" else order)
    assert not found.alternatives
