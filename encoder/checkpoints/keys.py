"""The table of the keys of a folder's files, and what the reader does with each (keys.toml)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

DECISIONS = ("followed", "noted", "refused", "without effect")


@dataclass(frozen=True)
class Key:
    """A key of a file. decision: one of DECISIONS; remark: for people."""

    file: str
    name: str
    decision: str
    remark: str


def keys() -> tuple[Key, ...]:
    """Every row of the table."""
    found = tomllib.loads(Path(__file__).with_name("keys.toml").read_text(encoding="utf-8"))
    return tuple(Key(file, name, *row) for file, rows in found.items() for name, row in rows.items())
