"""The registry of families: complete, within its limits, and the same in docs/models.md and on the command line."""

from __future__ import annotations

import pytest
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from docs import parity
from encoder.cli.main import main
from encoder.errors import LoadError
from encoder.load.families import FAMILIES, JOINTS, Fields, family_of
from encoder.load.refused import REFUSED
from encoder.load.registry import measured
from tests.load.every_family import ALL
from tests.load.test_every_family import LOOSER

#: Towers of CLIP and SigLIP, and DINOv2 with registers' sibling: parity.md has them.
ELSEWHERE = {"clip_text_model", "clip_vision_model", "siglip_text_model", "siglip_vision_model"}


def test_every_family_is_measured_and_keeps_its_limits():
    rows = {row.model_type: row for row in measured().rows}
    assert set(rows) == set(FAMILIES) - ELSEWHERE
    assert set(rows) == {getattr(transformers, f"{case.kind}Config").model_type for case in ALL.values()}
    for name, row in rows.items():
        assert max(row.float64) <= LOOSER.get(name, 1e-10), name
        assert max(row.float32) <= 1e-5, name
        assert len(row.mechanisms) >= 2, name


def test_the_table_in_the_docs_is_the_measured_one():
    assert parity.models_table() in parity.MODELS.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", REFUSED)
def test_a_refused_family_exists_and_says_what_is_missing(kind: str):
    assert kind in CONFIG_MAPPING
    assert kind not in {*FAMILIES, *JOINTS}
    with pytest.raises(LoadError) as found:
        family_of(Fields({"model_type": kind}))
    assert REFUSED[kind] in str(found.value)


def test_the_command_prints_every_family(capsys: pytest.CaptureFixture):
    assert main(["models"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in (*REFUSED, *(row.model_type for row in measured().rows)))
    assert transformers.__version__ in printed
