"""The registry of families: complete, within its limits, and the same in the documentation and on the command line."""

from __future__ import annotations

import pytest
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from docs import families
from encoder.checkpoints.families import FAMILIES, JOINTS, Fields, family_of
from encoder.checkpoints.measured_parity import INSTEAD, REFUSED, instead_of, measured
from encoder.cli.main import main
from encoder.errors import EncoderError, LoadError
from tests.load.every_family import ALL

#: model_types of the cases here.
KINDS = {case.model_type for case in ALL.values()}
#: Towers of CLIP, MetaCLIP 2 and SigLIP, and timm's files of ViTs: parity.md has them. Parakeet's encoder next to what
#: writes its text: test_conformers.py has it.
ELSEWHERE = {f"{pair}_{tower}_model" for pair in JOINTS for tower in ("text", "vision")} | {"timm_wrapper"}
ELSEWHERE |= {"granite_speech", "parakeet_ctc", "parakeet_rnnt", "parakeet_tdt"}


def test_every_family_is_measured_and_keeps_its_limits():
    rows = {row.model_type: row for row in measured().rows}
    assert set(rows) == KINDS
    assert set(FAMILIES) - ELSEWHERE <= KINDS
    assert {*FAMILIES} >= KINDS
    for name, row in rows.items():
        assert max(row.float64) <= 1e-10, name
        assert max(row.float32) <= 1e-5, name
        assert len(row.mechanisms) >= 2, name


def test_the_page_of_the_documentation_has_every_family():
    page = families.text()
    assert all(f"| {row.family} | {row.model_type} | {', '.join(row.mechanisms)} |" in page for row in measured().rows)
    assert all(f"| {kind} | {missing} |" in page for kind, missing in REFUSED.items())


@pytest.mark.parametrize("kind", REFUSED)
def test_a_refused_family_exists_and_says_what_is_missing(kind: str):
    assert kind in CONFIG_MAPPING
    assert kind not in {*FAMILIES, *JOINTS}
    with pytest.raises(LoadError) as found:
        family_of(Fields({"model_type": kind}))
    assert REFUSED[kind] in str(found.value)
    assert all(name in str(found.value) for name in instead_of(kind))


@pytest.mark.parametrize("takes", INSTEAD)
def test_what_a_refusal_names_in_place_of_a_family_opens(takes: str):
    assert INSTEAD[takes]
    for name in INSTEAD[takes]:
        family = family_of(Fields({"model_type": name}))
        assert name in {row.model_type for row in measured().rows}, "tests open it next to transformers"
        assert (family.images, family.sounds) == (takes == "image", takes == "sound")


def test_the_command_prints_every_family(capsys: pytest.CaptureFixture):
    assert main(["models"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in (*REFUSED, *(row.model_type for row in measured().rows)))
    assert transformers.__version__ in printed


@pytest.mark.sample(4, "another family, without each of its fields")
@pytest.mark.parametrize("name", ALL)
def test_a_missing_field_means_what_it_means_in_transformers(name: str):
    """config.json without one field: an error, or the architecture of the reference's default."""
    case = ALL[name]
    kind = case.named("Config")
    full = kind(**case.fields).to_dict()
    for key in full:
        short = {other: value for other, value in full.items() if other != key}
        try:
            ours = family_of(Fields(short)).config(Fields(short))
        except EncoderError:
            continue
        try:
            whole = kind.from_dict(dict(short)).to_dict()
        except Exception:
            continue
        try:
            theirs = family_of(Fields(whole)).config(Fields(whole))
        except EncoderError:
            continue
        in_training = {"dropout": 0.0, "attention_dropout": 0.0}
        assert ours.replace(**in_training) == theirs.replace(**in_training), key
