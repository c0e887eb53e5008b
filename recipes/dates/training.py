"""The twins `dates-pre` and `dates-post`: their recipe and their training. Both have the same seed, data and settings.

Shapes: B batch, S tokens of the input, T tokens of the output, V vocabulary.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from encoder.encoders.seq2seq import GenerationSettings, with_decoder
from encoder.encoders.text import TextEncoder
from encoder.inputs.tokenizer import Tokenizer
from encoder.measure import dates
from encoder.model.attend import Memory
from encoder.model.config import EncoderConfig, NormPlacement
from encoder.model.encoder import Encoder
from encoder.model.lm_head import LMHeadConfig
from recipes.classifier_run import descend
from recipes.dates.phrasings import Example, draw


@dataclass(frozen=True)
class DatesRecipe:
    """The settings of one run. Both placements share every default."""

    norm_placement: NormPlacement
    d_model: int = 64
    n_layers: int = 2
    n_heads: int = 4
    d_ffn: int = 128
    epochs: int = 12
    #: In an epoch, all of them new.
    examples: int = 40_000
    batch: int = 96
    learning_rate: float = 2e-3
    warmup_steps: int = 300
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    seed: int = 0

    @property
    def name(self) -> str:
        """Of the bundled model."""
        return f"dates-{self.norm_placement}"

    @property
    def config(self) -> EncoderConfig:
        """The architecture of the encoder."""
        return EncoderConfig(
            vocab_size=len(dates.vocabulary()),
            d_model=self.d_model,
            n_layers=self.n_layers,
            n_heads=self.n_heads,
            d_ffn=self.d_ffn,
            max_positions=dates.MOST_SOURCE,
            norm_placement=self.norm_placement,
            embedding_norm=False,
            norm_eps=1e-5,
        )

    @property
    def decoder_config(self) -> EncoderConfig:
        """The architecture of the decoder: as the encoder, with a causal mask and cross-attention."""
        return self.config.replace(causal=True, memory_width=self.d_model, max_positions=dates.MOST_TARGET)


def untrained(recipe: DatesRecipe) -> TextEncoder:
    """The model before its first step."""
    tokenizer = dates.tokenizer()
    start, end = (dates.vocabulary().index(token) for token in (dates.START, dates.END))
    model = TextEncoder(recipe.name, Encoder(recipe.config, seed=recipe.seed), tokenizer)
    head = LMHeadConfig(scale=recipe.d_model**-0.5)
    settings = GenerationSettings(start=(start,), end=(end,))
    return with_decoder(model, recipe.decoder_config, tokenizer, settings, head, seed=recipe.seed + 1)  # type: ignore[return-value]


def train(recipe: DatesRecipe, say: Callable[[str], None] = lambda line: None) -> TextEncoder:
    """Train on random examples; say: takes a line about the progress."""
    model = untrained(recipe)
    tokenizer = model.tokenizer

    def loss_of(batch: Tensor, generator: torch.Generator) -> Tensor:
        numbers = random.Random(int(torch.randint(2**31, (1,), generator=generator)))
        return loss(model, *batch_of([draw(numbers) for _ in batch], tokenizer))

    parts = (model.encoder, model.decoder.encoder, model.decoder.lm_head)
    descend(parts, loss_of, recipe.examples, recipe, lambda line: say(f"{recipe.name}: {line}"))
    return model


def batch_of(examples: Sequence[Example], tokenizer: Tokenizer) -> tuple[Tensor, Tensor]:
    """Examples -> padded ids of their inputs [B, S] and of their outputs [B, T], with the special tokens of both."""
    inputs, outputs = (
        tokenizer.batch([tokenizer.encode(text) for text in texts]).ids
        for texts in ([one.text for one in examples], [one.output for one in examples])
    )
    return inputs, outputs


def loss(model: TextEncoder, inputs: Tensor, outputs: Tensor) -> Tensor:
    """Inputs [B, S], outputs [B, T] -> the mean cross-entropy of each next token of the outputs."""
    logits = logits_of(model, inputs, outputs[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), outputs[:, 1:].flatten(), ignore_index=model.config.pad_id)


def logits_of(model: TextEncoder, inputs: Tensor, outputs: Tensor) -> Tensor:
    """Inputs [B, S], outputs [B, T] -> logits of the token after each output token [B, T, V]."""
    mask = inputs != model.config.pad_id
    memory = Memory(model.encoder(inputs, mask), mask)
    logits: Tensor = model.decoder.logits(model.decoder.encoder(outputs, memory=memory))
    return logits


@torch.no_grad()
def written(model: TextEncoder, examples: Sequence[Example]) -> list[str]:
    """What the model writes for each example, greedily, all of them together."""
    tokenizer, settings = model.tokenizer, model.decoder.settings
    inputs, _ = batch_of(examples, tokenizer)
    ids = torch.tensor([settings.start] * len(examples))  # [B, T]
    for _ in range(dates.MOST_TARGET - 1):
        ids = torch.cat([ids, logits_of(model, inputs, ids)[:, -1:].argmax(-1)], dim=-1)
    rows = [row[1:] for row in ids.tolist()]
    ends = [row.index(settings.end[0]) if settings.end[0] in row else len(row) for row in rows]
    return [tokenizer.backend.decode(row[:end]) for row, end in zip(rows, ends, strict=True)]
