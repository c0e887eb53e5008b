"""The registry: which families open, by which mechanisms, and how far each is from transformers, as the tests measured.

`docs/parity.py` writes measured.json from random checkpoints; nothing else does. refused.toml names the families that
do not open, and the mechanism that each lacks here.
"""

import json
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from encoder.load.json_fields import from_fields
from encoder.model.config import EncoderConfig
from encoder.model.layers import NORM_NAMES

MEASURED = Path(__file__).parent / "measured.json"
#: model_type -> the mechanism that is missing.
REFUSED: dict[str, str] = tomllib.loads(MEASURED.with_name("refused.toml").read_text(encoding="utf-8"))


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


def mechanisms(config: EncoderConfig) -> tuple[str, ...]:
    """The mechanisms of an architecture, in words, in the order of the forward pass."""
    windows = config.attention_window
    rotary, bases = config.position == "rotary", config.rotary_base
    words = {
        f"{config.position} positions": config.position in ("learned", "sinusoidal", "convolutional"),
        "ALiBi": config.position == "alibi",
        "rotary rows and columns": rotary and config.rotary_grid,
        "rotary positions": rotary and not config.rotary_grid,
        "partial rotary": rotary and config.rotary_width < config.d_head,
        "neighbours rotate": rotary and config.rotary_interleaved,
        "scaled frequencies": rotary and config.rotary_scaling is not None,
        "several rotary bases": rotary and isinstance(bases, tuple) and len(set(bases)) > 1,
        f"{config.norm_placement}-norm": True,
        NORM_NAMES[config.norm_kind]: True,
        "four norms a layer": config.output_norms,
        "parallel sublayers": config.parallel,
        "causal": config.causal,
        "grouped-query attention": config.n_kv_heads < config.n_heads,
        "norm of q and k by head": config.qk_norm == "head",
        "norm of q and k": config.qk_norm == "full",
        "windows": any(windows) if isinstance(windows, tuple) else windows is not None,
        "bias by rows and columns": config.relative_grid,
        "bias by distance": config.table_rows > 0 and not config.relative_grid,
        "disentangled attention": config.disentangled is not None,
        "learned sinks": config.attention_sinks,
        "gated output": config.output_gate,
        "capped scores": config.score_cap is not None,
        "gated FFN": config.gated,
        "shared layers": config.layer_groups is not None,
        "narrow tables": config.embedding_width != config.d_model,
        "scaled token vectors": config.embedding_scale != 1.0,
        "rescaled for masked tokens": config.mask_id is not None,
        "registers": config.patches is not None and config.patches.registers > 0,
    }
    return tuple(word for word, there in words.items() if there)
