"""Recipe: one masked-language-model training run, all that it depends on beside the text."""

from __future__ import annotations

from dataclasses import dataclass

from encoder.config import EncoderConfig, NormPlacement
from encoder.errors import ConfigError
from encoder.text import Tokenizer


@dataclass(frozen=True)
class Recipe:
    """One training run. Two recipes that differ in norm_placement alone make a pair of twins.

    steps: length of the learning-rate schedule; stop_after: where to end earlier on that same schedule (None: at
    its end); batch_tokens: B x T of a batch; warmup_steps: linear from 0, after it the rate falls linearly to 0 at
    `steps`; clip_norm: gradients are scaled down to this norm; packed_share: share of the tokens that come in rows
    of several sentences, max_positions long, the rest being one sentence a row; mask_share: tokens to predict, of
    which 80 % become [MASK], 10 % a random word and 10 % stay.
    """

    name: str
    norm_placement: NormPlacement
    steps: int
    n_layers: int = 4
    n_heads: int = 4
    d_model: int = 128
    d_ffn: int = 512
    max_positions: int = 128
    batch_tokens: int = 1024
    learning_rate: float = 1e-3
    warmup_steps: int = 0
    stop_after: int | None = None
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    packed_share: float = 0.1
    mask_share: float = 0.15
    seed: int = 0
    record_every: int = 25
    evaluate_every: int = 500
    checkpoint_every: int = 250

    def __post_init__(self) -> None:
        if self.checkpoint_every % self.record_every:
            raise ConfigError(f"checkpoint_every={self.checkpoint_every} must be a multiple of {self.record_every}.")

    @property
    def last_step(self) -> int:
        """Steps that are really taken."""
        return self.steps if self.stop_after is None else min(self.steps, self.stop_after)

    def config(self, tokenizer: Tokenizer) -> EncoderConfig:
        """The architecture: learned positions, GELU, a norm after the embeddings, and a final one for pre-norm."""
        return EncoderConfig(
            vocab_size=tokenizer.vocab_size, d_model=self.d_model, n_layers=self.n_layers, n_heads=self.n_heads,
            d_ffn=self.d_ffn, max_positions=self.max_positions, norm_placement=self.norm_placement,
            pad_id=tokenizer.pad_id or 0,
        )  # fmt: skip

    def rate(self, step: int) -> float:
        """Learning rate of `step`, counted from 0."""
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / self.warmup_steps
        return self.learning_rate * (self.steps - step) / max(1, self.steps - self.warmup_steps)
