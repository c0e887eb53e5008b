"""The registry: which families open, by which mechanisms, and how far each is from transformers, as the tests measured.

`docs/parity.py` writes measured.json from random checkpoints; nothing else does. refused.toml names the families that
do not open, and the mechanism that each lacks here.
"""

import json
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from encoder.checkpoints.json_fields import from_fields

MEASURED = Path(__file__).parent / "measured.json"
_BY_INPUT = tomllib.loads(MEASURED.with_name("refused.toml").read_text(encoding="utf-8"))
#: The input that families take -> those of them that are named in place of one that is refused.
INSTEAD: dict[str, list[str]] = {takes: families.pop("instead") for takes, families in _BY_INPUT.items()}
#: model_type -> the mechanism that is missing.
REFUSED: dict[str, str] = {kind: missing for families in _BY_INPUT.values() for kind, missing in families.items()}


def instead_of(kind: str) -> list[str]:
    """The model_types that are named in place of a refused one: they take the same input."""
    return next(INSTEAD[takes] for takes, families in _BY_INPUT.items() if kind in families)


@dataclass(frozen=True)
class Row:
    """One family. model_type: in config.json; mechanisms: in words; float64, float32: the largest differences of
    output, attention maps and gradients from transformers."""

    family: str
    model_type: str
    mechanisms: tuple[str, ...]
    float64: tuple[float, float, float]
    float32: tuple[float, float, float]


@dataclass(frozen=True)
class DecoderRow:
    """One family that writes. float64, float32: the largest differences from transformers of logits, of the decoder's
    own attention maps and, where there is one, of its cross-attention; equal, outputs: how many outputs are equal token
    by token, greedy and of four beams, and of how many."""

    family: str
    model_type: str
    float64: tuple[float, ...]
    float32: tuple[float, ...]
    equal: int
    outputs: int


@dataclass(frozen=True)
class Registry:
    """rows: every measured family; versions: of the libraries that were used; decoders: those that write."""

    rows: tuple[Row, ...]
    versions: dict[str, str]
    decoders: tuple[DecoderRow, ...] = ()


@cache
def measured() -> Registry:
    """What was measured last."""
    found: Registry = from_fields(Registry, json.loads(MEASURED.read_text(encoding="utf-8")), "measured.json")
    return found
