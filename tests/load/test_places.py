"""A server's root: folders below it are found, nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from encoder import LoadError
from encoder.checkpoints import inside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "models"
    for name in ("bert", "org/roberta", "empty"):
        (root / name).mkdir(parents=True)
    for name in ("bert", "org/roberta"):
        (root / name / "config.json").write_text("{}")
    (root / "a file").write_text("")
    outside = tmp_path / "secret"
    outside.mkdir()
    (outside / "config.json").write_text("{}")
    (root / "out").symlink_to(outside)
    (root / "within").symlink_to(root / "bert")
    return root


@pytest.mark.parametrize("name", ["bert", "org/roberta", "./bert", "org/./roberta"])
def test_a_folder_below_is_found(name: str, root: Path):
    assert inside(root, name) == (root / name).resolve()


def test_a_link_that_stays_within_is_followed(root: Path):
    assert inside(root, "within") == (root / "bert").resolve()


def test_no_name_is_the_root_itself(root: Path):
    assert inside(root, "") == root.resolve()


@pytest.mark.parametrize(
    "name",
    ["..", "../secret", "bert/../../secret", "/etc", "C:\\", "\\\\server\\share", "..\\secret", "C:secret", "bert\0"],
)
def test_a_name_that_leads_out_is_refused(name: str, root: Path):
    with pytest.raises(LoadError, match=r"leads out\b.* models\b"):
        inside(root, name)


def test_a_link_that_leads_out_is_refused(root: Path):
    with pytest.raises(LoadError, match=r"'out'.* link\b"):
        inside(root, "out")


@pytest.mark.parametrize("name", ["nothing", "a file", "~"])
def test_what_is_no_folder_is_said(name: str, root: Path):
    with pytest.raises(LoadError, match="No folder"):
        inside(root, name)
