"""A share of `make fuzz` in every test run: a thousand cases with the same seeds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fuzz import addresses, checkpoints, texts


@pytest.mark.parametrize("part", range(4))
def test_mutated_checkpoints(part: int, originals: dict[str, Path]):
    outcomes = [checkpoints.case(originals, seed, compare=part == 0) for seed in range(200 * part, 200 * part + 200)]
    assert {"refused", "loaded"} == set(outcomes)


def test_mutated_configs_of_every_family(tmp_path: Path):
    os.environ["HF_HUB_OFFLINE"] = "1"
    families = checkpoints.write_families(tmp_path)
    assert {"refused", "loaded"} == {checkpoints.case(families, seed, config_only=True) for seed in range(150)}


def test_texts():
    assert "traced" in {texts.case(seed) for seed in range(200)}


def test_addresses():
    assert "a page" in {addresses.case(seed) for seed in range(3)}


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    os.environ["HF_HUB_OFFLINE"] = "1"
    import transformers

    transformers.logging.set_verbosity(50)
    transformers.logging.disable_progress_bar()
    return checkpoints.write_originals(tmp_path_factory.mktemp("originals"))
