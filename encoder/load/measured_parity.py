"""The registry: which families open, by which mechanisms, and how far each is from transformers, as the tests measured.

`docs/parity.py` writes measured.json from random checkpoints; nothing else does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from encoder.model.config import EncoderConfig
from encoder.model.layers import NORM_NAMES

MEASURED = Path(__file__).parent / "measured.json"


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
class Registry:
    """rows: every measured family; versions: of the libraries that were used."""

    rows: tuple[Row, ...]
    versions: dict[str, str]


@cache
def measured() -> Registry:
    """What was measured last."""
    found: dict[str, Any] = json.loads(MEASURED.read_text(encoding="utf-8"))
    rows = (
        Row(one["family"], one["model_type"], tuple(one["mechanisms"]), tuple(one["float64"]), tuple(one["float32"]))
        for one in found["rows"]
    )
    return Registry(tuple(rows), found["versions"])


def mechanisms(config: EncoderConfig) -> tuple[str, ...]:
    """The mechanisms of an architecture, in words, in the order of the forward pass."""
    positions = {"learned": "learned positions", "sinusoidal": "sinusoidal positions", "alibi": "ALiBi",
                 "convolutional": "convolutional positions"}  # fmt: skip
    found = [positions.get(config.position, "")]
    if config.position == "rotary":
        found.append("rotary rows and columns" if config.rotary_grid else "rotary positions")
        found.append("partial rotary" if config.rotary_width < config.d_head else "")
        found.append("neighbours rotate" if config.rotary_interleaved else "")
        found.append("scaled frequencies" if config.rotary_scaling is not None else "")
        found.append(
            "several rotary bases" if isinstance(config.rotary_base, tuple) and len(set(config.rotary_base)) > 1 else ""
        )
    found.append(f"{config.norm_placement}-norm")
    found.append(NORM_NAMES[config.norm_kind])
    found.append("four norms a layer" if config.output_norms else "")
    found.append("parallel sublayers" if config.parallel else "")
    found.append("causal" if config.causal else "")
    found.append("grouped-query attention" if config.n_kv_heads < config.n_heads else "")
    found.append({"none": "", "head": "norm of q and k by head", "full": "norm of q and k"}[config.qk_norm])
    windows = config.attention_window
    found.append("" if windows is None or (isinstance(windows, tuple) and not any(windows)) else "windows")
    found.append(
        "bias by rows and columns" if config.relative_grid else "bias by distance" if config.table_rows else ""
    )
    found.append("disentangled attention" if config.disentangled is not None else "")
    found.append("learned sinks" if config.attention_sinks else "")
    found.append("gated output" if config.output_gate else "")
    found.append("capped scores" if config.score_cap is not None else "")
    found.append("gated FFN" if config.gated else "")
    found.append("shared layers" if config.layer_groups is not None else "")
    found.append("narrow tables" if config.embedding_width != config.d_model else "")
    found.append("scaled token vectors" if config.embedding_scale != 1.0 else "")
    found.append("rescaled for masked tokens" if config.mask_id is not None else "")
    found.append("registers" if config.patches is not None and config.patches.registers else "")
    return tuple(one for one in found if one)
