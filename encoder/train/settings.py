"""The settings of one training run on a small task."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from encoder.errors import ConfigError, quoted
from encoder.model.config import POSITION_KINDS, Activation, EncoderConfig, NormKind, NormPlacement, PositionKind
from encoder.train.tasks import Task, make

#: Changes to the defaults for tasks that one head of width 32 does not learn.
SUGGESTED: dict[str, dict[str, Any]] = {
    "sort": {"d_model": 64, "steps": 600},
    "brackets": {"d_model": 64, "n_layers": 2, "n_heads": 2, "steps": 600},
}

#: What attention may have besides, any number of them: title -> its word in `TaskSettings.attention`.
ATTENTION = {
    "grouped-query": "grouped", "windows": "windows", "QK-norm": "qk-norm", "gated output": "gate",
    "registers": "registers", "learned sink": "sink", "causal": "causal",
}  # fmt: skip
#: Position encodings that are switches, and their names for people.
ENCODINGS = {**{one: one for one in POSITION_KINDS}, "alibi": "ALiBi", "bias": "bias by distance"}
#: Learned tokens before the sequence, with "registers" (Darcet et al. 2024).
REGISTERS = 2

#: The most bytes that the attention maps of one run take: larger maps are kept at fewer steps.
FRAME_BYTES = 16_000_000


def block(
    position: str, norm: NormKind, parts: Collection[str], *, n_layers: int, n_heads: int, reach: int
) -> dict[str, Any]:
    """Fields of EncoderConfig for these switches. parts: words of ATTENTION; registers are tokens, and not here.

    Heads share keys and values in pairs; windows reach `reach` tokens to each side, in all layers but each third one,
    as in ModernBERT.
    """
    biased = position == "bias"
    windows = tuple(reach if layer % 3 or n_layers == 1 else None for layer in range(n_layers))
    return {
        "position": "none" if biased else position,
        "norm_kind": norm,
        "norm_bias": norm == "layer",
        "relative_buckets": 8 if biased else 0,
        "relative_max_distance": max(4, 4 * reach),
        "n_kv_heads": max(1, n_heads // 2) if "grouped" in parts and n_heads % 2 == 0 else 0,
        "attention_window": windows if "windows" in parts else None,
        "causal": "causal" in parts,
        "qk_norm": "head" if "qk-norm" in parts else "none",
        "output_gate": "gate" in parts,
        "attention_sinks": "sink" in parts,
    }


@dataclass(frozen=True)
class TaskSettings:
    """All that a run depends on: on one machine, the same settings give the same curve.

    Raises ConfigError for values out of bounds.
    """

    task: str = "reverse"
    length: int = 16
    n_symbols: int = 10
    norm_placement: NormPlacement = "post"
    #: That of EncoderConfig, or "bias", T5's bias by distance.
    position: PositionKind | Literal["bias"] = "learned"
    n_layers: int = 1
    n_heads: int = 1
    d_model: int = 32
    #: 0: four times d_model.
    d_ffn: int = 0
    activation: Activation = "gelu"
    learning_rate: float = 3e-3
    #: The learning rate rises linearly over these and then stays.
    warmup_steps: int = 50
    steps: int = 400
    batch_size: int = 64
    seed: int = 0
    #: Steps between two points of the curve.
    record_every: int = 10
    #: About how many attention maps the run keeps.
    frames: int = 40
    norm_kind: NormKind = "layer"
    #: Norms before and after each sublayer.
    sandwich: bool = False
    gated: bool = False
    #: Words of ATTENTION with commas.
    attention: str = ""
    #: Draws the weights and batches again, for the same held-out sequences.
    trial: int = 0

    def __post_init__(self) -> None:
        bounds = {
            "steps": (1, 100_000),
            "batch_size": (1, 1024),
            "record_every": (1, 1000),
            "frames": (1, 200),
            "warmup_steps": (0, 100_000),
            "n_layers": (1, 24),
            "d_model": (2, 512),
            "trial": (0, 1000),
        }
        for name, (least, most) in bounds.items():
            if not least <= getattr(self, name) <= most:
                raise ConfigError(f"{name}={getattr(self, name)}: choose {least} to {most}.")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ConfigError(f"learning_rate={self.learning_rate}: choose a number above 0.")
        if unknown := set(self.parts) - set(ATTENTION.values()):
            raise ConfigError(f"attention={quoted(min(unknown))}: choose among {', '.join(ATTENTION.values())}.")
        self.config()  # raises for what the architecture does not allow

    @classmethod
    def suggested(cls, task: str, **changes: Any) -> TaskSettings:
        """Settings that learn `task` within seconds to a minute on two cores, with some fields changed."""
        return cls(**({"task": task} | SUGGESTED.get(task, {}) | changes))

    def make_task(self) -> Task:
        """The task, with its length and symbols."""
        return make(self.task, self.length, self.n_symbols)

    def config(self) -> EncoderConfig:
        """The architecture; windows reach a quarter of the sequence to each side."""
        n_tokens, reach = self.length + self.registers, max(1, self.length // 4)
        switches = block(
            self.position, self.norm_kind, self.parts, n_layers=self.n_layers, n_heads=self.n_heads, reach=reach
        )
        return EncoderConfig(
            vocab_size=self.make_task().vocab_size + self.registers,
            d_model=self.d_model,
            n_layers=self.n_layers,
            n_heads=self.n_heads,
            d_ffn=self.d_ffn or 4 * self.d_model,
            max_positions=n_tokens,
            norm_eps=1e-5,
            norm_placement=self.norm_placement,
            embedding_norm=False,
            activation=self.activation,
            output_norms=self.sandwich,
            gated=self.gated,
            **(switches | {"relative_max_distance": max(4, n_tokens)}),
        )

    @property
    def parts(self) -> tuple[str, ...]:
        """The words of `attention`."""
        return tuple(filter(None, self.attention.split(",")))

    @property
    def registers(self) -> int:
        """Learned tokens before the sequence."""
        return REGISTERS if "registers" in self.parts else 0

    def rate(self, step: int) -> float:
        """Learning rate of `step`, counted from 0."""
        if step < self.warmup_steps:
            return self.learning_rate * ((step + 1) / self.warmup_steps)
        return self.learning_rate

    @property
    def frame_every(self) -> int:
        """Steps between two attention maps that are kept."""
        room = max(1, FRAME_BYTES // self.bytes_of_frame - 2)  # the first and the last are kept in any case
        return max(1, self.steps // self.frames, -(-self.steps // room))

    @property
    def n_frames(self) -> int:
        """The number of attention maps that are kept, at most: the first and the last in any case."""
        return self.steps // self.frame_every + 2

    @property
    def bytes_of_frame(self) -> int:
        """Bytes of the attention maps of one step: the sample's and the mean, in float32."""
        return 2 * 4 * self.n_layers * self.n_heads * self.length**2

    @property
    def bytes_of_frames(self) -> int:
        """The most bytes of all attention maps of the run."""
        return self.bytes_of_frame * self.n_frames
