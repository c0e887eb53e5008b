"""Free memory under the limits of control groups, in folders made like Linux's."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
import torch

from encoder.model import device as device_module
from encoder.model.device import free_in_groups, free_memory

GB = 10**9


def group(folder: Path, limit: int | str, used: int, cached: int) -> None:
    """A control group of version 2."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon {used - cached}\ninactive_file {cached}\n")


@pytest.fixture
def groups(tmp_path: Path) -> tuple[Path, Path]:
    """(where the groups are, the file that names the process's own)"""
    (tmp_path / "groups").mkdir()
    return tmp_path / "groups", tmp_path / "own"


def test_the_limit_of_a_systemd_service_counts(groups: tuple[Path, Path]):
    root, own = groups
    own.write_text("0::/system.slice/app.service\n")
    group(root / "system.slice", "max", 9 * GB, 0)
    group(root / "system.slice" / "app.service", 6 * GB, 2 * GB, 0)
    assert free_in_groups(root, own) == [4 * GB]


def test_every_group_around_the_process_counts(groups: tuple[Path, Path]):
    root, own = groups
    own.write_text("0::/slice/service\n")
    group(root, 20 * GB, 15 * GB, 0)
    group(root / "slice", 8 * GB, 7 * GB, 0)
    group(root / "slice" / "service", 6 * GB, 2 * GB, 0)
    group(root / "other", GB, GB, 0)
    assert free_in_groups(root, own) == [4 * GB, 1 * GB, 5 * GB]


def test_cached_files_count_as_free(groups: tuple[Path, Path]):
    root, own = groups
    own.write_text("0::/\n")
    group(root, 6 * GB, 5 * GB, 3 * GB)
    assert free_in_groups(root, own) == [4 * GB]


def test_a_group_over_its_limit_has_nothing_free(groups: tuple[Path, Path]):
    root, own = groups
    own.write_text("0::/\n")
    group(root, GB, 2 * GB, 0)
    assert free_in_groups(root, own) == [0]


def test_version_1(groups: tuple[Path, Path]):
    root, own = groups
    own.write_text("5:cpu,cpuacct:/jobs\n4:memory:/jobs/mine\n0::/\n")
    mine = root / "memory" / "jobs" / "mine"
    mine.mkdir(parents=True)
    (mine / "memory.limit_in_bytes").write_text(f"{6 * GB}\n")
    (mine / "memory.usage_in_bytes").write_text(f"{3 * GB}\n")
    (mine / "memory.stat").write_text(f"inactive_file 7\ntotal_inactive_file {GB}\n")
    assert free_in_groups(root, own) == [4 * GB]


def test_a_container_that_does_not_show_the_groups_outside(groups: tuple[Path, Path]):
    root, own = groups
    own.write_text("0::/docker/abc\n")
    group(root, 6 * GB, GB, 0)
    assert free_in_groups(root, own) == [5 * GB]


def test_no_control_groups(groups: tuple[Path, Path]):
    assert free_in_groups(*groups) == []


def test_the_smallest_of_all_is_free(monkeypatch: pytest.MonkeyPatch):
    available = psutil.virtual_memory().available
    monkeypatch.setattr(device_module, "free_in_groups", lambda: [5_000, 4_000, 2 * available])
    assert free_memory(torch.device("cpu")) == 4_000
    try:
        device_module.limit_memory(1)
        assert free_memory(torch.device("cpu")) == 0, "a limit of its own counts, too"
    finally:
        device_module.limit_memory(None)
