"""The settings of every masked-word training run: the two twins, and six variants of them."""

import dataclasses
from dataclasses import dataclass

from encoder.errors import ConfigError
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.config import NORM_PLACEMENTS, EncoderConfig, NormPlacement


@dataclass(frozen=True)
class TrainingRecipe:
    """One training run: all that it depends on next to the text."""

    name: str
    norm_placement: NormPlacement
    #: Length of the learning-rate schedule.
    steps: int
    n_layers: int = 4
    n_heads: int = 4
    d_model: int = 128
    d_ffn: int = 512
    max_positions: int = 128
    #: B x T of a batch.
    batch_tokens: int = 1024
    learning_rate: float = 1e-3
    #: The rate rises linearly from 0 over these, then falls linearly to 0 at `steps`.
    warmup_steps: int = 0
    #: An earlier end on the same schedule; None: its end.
    stop_after: int | None = None
    weight_decay: float = 0.01
    #: Longer gradients are scaled to this norm.
    clip_norm: float = 1.0
    #: Share of the tokens in rows of several sentences, max_positions long; all other rows hold one sentence.
    packed_share: float = 0.1
    #: Share of the tokens that are selected for prediction: 80% become [MASK], 10% a random word, 10% stay.
    mask_share: float = 0.15
    seed: int = 0
    record_every: int = 25
    evaluate_every: int = 500
    checkpoint_every: int = 250

    def __post_init__(self) -> None:
        if self.checkpoint_every % self.record_every:
            raise ConfigError(f"checkpoint_every={self.checkpoint_every}: choose a multiple of {self.record_every}.")

    @property
    def last_step(self) -> int:
        """Number of steps that the run takes."""
        return self.steps if self.stop_after is None else min(self.steps, self.stop_after)

    def config(self, tokenizer: Tokenizer) -> EncoderConfig:
        """Learned positions, GELU, LayerNorm after the embeddings; pre-norm also has a final LayerNorm."""
        return EncoderConfig(
            vocab_size=tokenizer.vocab_size,
            d_model=self.d_model,
            n_layers=self.n_layers,
            n_heads=self.n_heads,
            d_ffn=self.d_ffn,
            max_positions=self.max_positions,
            norm_placement=self.norm_placement,
            pad_id=tokenizer.pad_id or 0,
        )

    def rate(self, step: int) -> float:
        """Learning rate of `step`, counted from 0."""
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / self.warmup_steps
        return self.learning_rate * (self.steps - step) / max(1, self.steps - self.warmup_steps)


#: Both twins: 15,000 steps of 1,024 tokens, 15 million tokens in all, about eight times through the text.
TWIN = TrainingRecipe(name="twin", norm_placement="pre", steps=15_000, warmup_steps=1_000, learning_rate=1e-3)
#: Twelve narrower layers, the first 2,500 steps of a schedule of 7,500.
DEEP = dataclasses.replace(
    TWIN,
    name="deep",
    n_layers=12,
    d_model=96,
    d_ffn=384,
    steps=7_500,
    stop_after=2_500,
    warmup_steps=750,
    evaluate_every=250,
)


def recipes() -> dict[str, TrainingRecipe]:
    """Every run by name, in pairs that differ in norm_placement only; "no-warmup" runs start at the full rate."""
    runs = []
    for placement in NORM_PLACEMENTS:
        twin = dataclasses.replace(TWIN, name=f"twin-{placement}", norm_placement=placement)
        deep = dataclasses.replace(DEEP, name=f"deep-{placement}", norm_placement=placement)
        runs += [
            twin,
            dataclasses.replace(twin, name=f"{twin.name}-no-warmup", warmup_steps=0, stop_after=3_000),
            deep,
            dataclasses.replace(deep, name=f"{deep.name}-no-warmup", warmup_steps=0),
        ]
    return {recipe.name: recipe for recipe in runs}


MAIN = ("twin-pre", "twin-post")
VARIANTS = tuple(name for name in recipes() if name not in MAIN)
