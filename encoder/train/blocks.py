"""The encoder's block from 2017 to today: its switches, and the block of each model of history, at the size of a task.

A preset has the mechanisms of a model's block and nothing else of it: not its sizes, data, tokenizer or training.
`recipes/tasks` trains each preset with five seeds and writes the file that the page shows first.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from encoder.errors import EncoderError
from encoder.train.curves import DATA
from encoder.train.run_view import RunView
from encoder.train.settings import ATTENTION, TaskSettings

FILE = DATA / "blocks.json"
#: Mechanism -> choice -> the fields of TaskSettings that it sets.
SWITCHES: dict[str, dict[str, dict[str, Any]]] = {
    "Positions": {
        "learned": {"position": "learned"}, "sinusoidal": {"position": "sinusoidal"}, "rotary": {"position": "rotary"},
        "none": {"position": "none"}, "ALiBi": {"position": "alibi"}, "bias by distance": {"position": "bias"},
    },
    "Norm placement": {
        "pre": {"norm_placement": "pre", "sandwich": False}, "post": {"norm_placement": "post", "sandwich": False},
        "sandwich": {"norm_placement": "pre", "sandwich": True},
    },
    "Norm": {"LayerNorm": {"norm_kind": "layer"}, "RMSNorm": {"norm_kind": "rms"}},
    "FFN": {
        "ReLU": {"activation": "relu", "gated": False}, "GELU": {"activation": "gelu", "gated": False},
        "GeGLU": {"activation": "gelu", "gated": True}, "SwiGLU": {"activation": "silu", "gated": True},
    },
}  # fmt: skip


@dataclass(frozen=True)
class Preset:
    """A model's block. choices: of each switch; attention: titles of `ATTENTION`; source: the work about it."""

    choices: tuple[str, str, str, str]
    attention: tuple[str, ...]
    source: str

    def settings(self, base: TaskSettings) -> TaskSettings:
        """These mechanisms at the sizes of `base`."""
        changes: dict[str, Any] = {"attention": ",".join(ATTENTION[one] for one in self.attention)}
        for (_, choices), chosen in zip(SWITCHES.items(), self.choices, strict=True):
            changes |= choices[chosen]
        return dataclasses.replace(base, **changes)

    @property
    def row(self) -> dict[str, str]:
        """Mechanism -> what this block has: a row of the table of differences."""
        return dict(zip(SWITCHES, self.choices, strict=True)) | {"Attention": ", ".join(self.attention) or "full"}


PRESETS = {
    "Transformer 2017": Preset(("sinusoidal", "post", "LayerNorm", "ReLU"), (), "Vaswani et al. 2017"),
    "BERT 2018": Preset(("learned", "post", "LayerNorm", "GELU"), (), "Devlin et al. 2019"),
    "RoBERTa 2019": Preset(("learned", "post", "LayerNorm", "GELU"), (), "Liu et al. 2019"),
    "T5 2019": Preset(("bias by distance", "pre", "RMSNorm", "ReLU"), (), "Raffel et al. 2020"),
    "Llama-style 2023": Preset(
        ("rotary", "pre", "RMSNorm", "SwiGLU"), ("grouped-query", "causal"), "Touvron et al. 2023"
    ),
    "ModernBERT 2024": Preset(("rotary", "pre", "LayerNorm", "GeGLU"), ("windows",), "Warner et al. 2024"),
    "EuroBERT 2025": Preset(("rotary", "pre", "RMSNorm", "SwiGLU"), ("grouped-query",), "Boizard et al. 2025"),
    "Gemma-style 2025": Preset(
        ("rotary", "sandwich", "RMSNorm", "GeGLU"), ("grouped-query", "windows", "QK-norm"), "Gemma Team 2025"
    ),
}  # fmt: skip
#: The sizes of the recorded comparison, and its seeds.
BASE = TaskSettings(n_layers=3, n_heads=4, steps=300, record_every=10, frames=1)
SEEDS = 5
#: The first needs the place of each token in the sequence, the second its distance to another token.
TASKS = ("reverse", "previous")
#: Student's t for 95% and 1 to 4 degrees of freedom.
_STUDENT = (12.706, 4.303, 3.182, 2.776)


@dataclass(frozen=True)
class Interval:
    """The mean of several runs and half of its 95% interval (Student's t); 0 for one run."""

    mean: float
    half: float
    n: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Interval:
        """At least one value, at most five."""
        found = torch.tensor(list(values), dtype=torch.float64)
        if len(found) < 2:
            return cls(float(found.mean()), 0.0, len(found))
        return cls(float(found.mean()), float(_STUDENT[len(found) - 2] * found.std() / len(found) ** 0.5), len(found))


def accuracies(views: Mapping[str, RunView]) -> dict[str, Interval]:
    """Runs that differ in their seed only, put together: name of the first -> its last held-out accuracies."""
    alike: dict[TaskSettings, list[tuple[str, float]]] = {}
    for name, view in views.items():
        alike.setdefault(dataclasses.replace(view.settings, trial=0), []).append((name, view.accuracy))
    return {found[0][0]: Interval.of(value for _, value in found) for found in alike.values()}


@dataclass(frozen=True)
class Recorded:
    """accuracy: task -> name of a preset -> held-out accuracies of its seeds; made: the date, and torch's version."""

    accuracy: dict[str, dict[str, list[float]]]
    made: str


@cache
def recorded(path: Path = FILE) -> Recorded:
    """The recorded comparison. Raises EncoderError without the file."""
    if not path.is_file():
        raise EncoderError(f"{path.name} is missing: record it with python -m recipes.tasks.")
    return Recorded(**json.loads(path.read_text(encoding="utf-8")))
