"""A share of `make fuzz` in every test run: some hundred cases with the same seeds."""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import time
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from tests.fuzz import (
    addresses,
    checkpoints,
    files,
    folders,
    generation,
    inputs,
    lessons,
    maps,
    own_functions,
    rooms,
    texts,
    traces,
    writing,
)


@pytest.mark.sample(4, "a hundred more cases")
@pytest.mark.parametrize("part", range(4))
def test_mutated_checkpoints(part: int, originals: dict[str, Path]):
    outcomes = [checkpoints.case(originals, seed, compare=part == 0) for seed in range(100 * part, 100 * part + 100)]
    assert {"refused", "loaded"} == set(outcomes)


@pytest.mark.slow("writes a checkpoint of every family")
def test_mutated_configs_of_every_family(tmp_path: Path):
    os.environ["HF_HUB_OFFLINE"] = "1"
    families = checkpoints.write_families(tmp_path)
    # A scale of 0 under a causal mask, and one below 0; a token that is the padding of M2M100; DeBERTa without terms.
    found = (3_000_318, 3_700_113, 3_300_150, 3_800_464)
    assert {"refused", "loaded"} == {
        checkpoints.case(families, seed, config_only=True) for seed in (*range(80), *found)
    }


@pytest.mark.slow("sixty broken tokenizers")
def test_tokenizers(originals: dict[str, Path]):
    outcomes = {checkpoints.tokenizer_case(originals[checkpoints.WORD_PIECES], seed) for seed in range(60)}
    assert "the same ids" in outcomes


def test_folders_with_changed_keys(tmp_path: Path):
    """`python -m tests.fuzz --only folders --cases 5000` runs more."""
    made = folders.write_originals(tmp_path)
    assert {"equal", "refused"} <= {folders.case(made, seed) for seed in range(30)}


def test_settings_of_generation():
    pairs = generation.Pairs()
    outcomes = Counter(generation.case(pairs, seed) for seed in range(60))
    pairs.close()
    assert outcomes["equal"] > 40


@pytest.mark.sample(2, "another kind of file")
@pytest.mark.parametrize(
    ("kind", "n_cases", "usual"),
    [
        (maps, 150, "table refused"),
        (traces, 100, "refused"),
        (own_functions, 60, "measure: refused"),
        (lessons, 60, "broken"),
        (inputs, 120, "computed"),
        (rooms, 300, "joined"),
        (writing, 40, "link: written"),
    ],
    ids=["maps", "traces", "own functions", "lessons", "inputs", "rooms", "writing"],
)
def test_cases_of_a_kind(kind: ModuleType, n_cases: int, usual: str):
    assert usual in {kind.case(seed) for seed in range(n_cases)}


def test_files():
    found = 3_700_313  # a Parquet file whose rows name a value that it does not hold
    outcomes = {files.case(seed) for seed in (*range(400), found)}
    assert {"head", "run", "table", "export", "head refused", "run refused", "table refused"} == outcomes


def test_a_hang_is_found_whatever_handles_errors(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checkpoints, "PATIENCE", 1)
    with (
        pytest.raises(checkpoints.Found, match="more than 1 s"),
        checkpoints.bounded("a wait"),
        contextlib.suppress(Exception),
    ):
        time.sleep(30)


def test_memory_beyond_the_bound_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checkpoints, "MEMORY", 20_000_000)
    with checkpoints.bounded("nothing"):
        pass
    if sys.platform == "linux":
        # Pages of its own: malloc may give memory that earlier tests have freed and the process still has.
        with (
            pytest.raises(checkpoints.Found, match="GB"),
            checkpoints.bounded("a hundred million bytes"),
            mmap.mmap(-1, 100_000_000) as block,
        ):
            block.write(bytes(len(block)))


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
