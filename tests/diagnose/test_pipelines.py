"""Every generated pipeline of another program is named exactly, and none wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from encoder import diagnose
from tests.diagnose.pipelines import TEXTS, Case, cases
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
