"""The digit twins: their recipe and their training. Both norm placements have the same seed, data and settings.

Shapes: B batch, N images, 8 rows and columns of pixels, T tokens.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from encoder.classifier import Classifier, ClassifierConfig
from encoder.config import EncoderConfig, NormPlacement, Patches
from encoder.digits.data import SIDE
from encoder.image_encoder import ImageEncoder, Preparation
from encoder.model import Encoder

LABELS = tuple("0123456789")


@dataclass(frozen=True)
class DigitRecipe:
    """The settings of one run. Every default is shared by both placements."""

    norm_placement: NormPlacement
    d_model: int = 64
    n_layers: int = 4
    n_heads: int = 4
    d_ffn: int = 128
    patch_size: int = 2
    epochs: int = 100
    batch: int = 64
    learning_rate: float = 2e-3
    warmup_steps: int = 100
    weight_decay: float = 0.05
    clip_norm: float = 1.0
    smoothing: float = 0.05
    seed: int = 0

    @property
    def name(self) -> str:
        """Of the bundled model."""
        return f"digits-{self.norm_placement}"

    @property
    def config(self) -> EncoderConfig:
        """The architecture."""
        patches = Patches(SIDE, self.patch_size, 1)
        return EncoderConfig(
            vocab_size=0,
            d_model=self.d_model,
            n_layers=self.n_layers,
            n_heads=self.n_heads,
            d_ffn=self.d_ffn,
            max_positions=patches.count + 1,
            norm_placement=self.norm_placement,
            embedding_norm=False,
            norm_eps=1e-5,
            patches=patches,
        )


def untrained(recipe: DigitRecipe) -> ImageEncoder:
    """The model before its first step."""
    with torch.random.fork_rng():  # the head draws its weights from torch's own numbers
        torch.manual_seed(recipe.seed)
        head = Classifier(recipe.d_model, ClassifierConfig("sequence", LABELS))
    preparation = Preparation(mean=(0.5,), std=(0.5,), interpolation="box")
    encoder = Encoder(recipe.config, seed=recipe.seed)
    return ImageEncoder(name=recipe.name, encoder=encoder, preparation=preparation, classifier=head)


def train(
    recipe: DigitRecipe, images: Tensor, labels: Tensor, say: Callable[[str], None] = lambda line: None
) -> ImageEncoder:
    """Train on images [N, 8, 8] from 0 to 1 and labels [N]; say: takes a line about the progress."""
    model = untrained(recipe)
    assert model.classifier is not None
    encoder, head = model.encoder, model.classifier
    encoder.train()
    head.train()
    weights = [*encoder.parameters(), *head.parameters()]
    optimiser = torch.optim.AdamW(weights, lr=recipe.learning_rate, weight_decay=recipe.weight_decay, betas=(0.9, 0.98))
    n_batches = max(1, len(labels) // recipe.batch)
    n_steps = recipe.epochs * n_batches
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / recipe.warmup_steps) * (1.0 - step / n_steps)
    )
    generator, began = torch.Generator().manual_seed(recipe.seed), time.monotonic()
    for epoch in range(recipe.epochs):
        total = 0.0
        for batch in torch.randperm(len(labels), generator=generator).chunk(n_batches):
            pixels = (moved(images[batch], generator).unsqueeze(1) - 0.5) / 0.5
            logits = head(encoder(pixels), torch.ones(len(batch), recipe.config.max_tokens, dtype=torch.bool))
            loss = F.cross_entropy(logits, labels[batch], label_smoothing=recipe.smoothing)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(weights, recipe.clip_norm)
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
        if epoch % 10 == 9:
            say(f"{recipe.name}: epoch {epoch + 1}, loss {total / n_batches:.3f}, {time.monotonic() - began:.0f} s")
    encoder.eval()
    head.eval()
    return model


def moved(images: Tensor, generator: torch.Generator) -> Tensor:
    """Images [B, 8, 8], each turned, sheared, scaled and shifted a little at random: a person draws no digit twice."""
    n = len(images)
    angle, shear, scale, x, y = (torch.rand(5, n, generator=generator) - 0.5) * torch.tensor(
        [[0.4], [0.3], [0.3], [0.5], [0.5]]
    )
    rows = torch.stack(
        [
            torch.stack([angle.cos() / (1 + scale), shear - angle.sin(), x], dim=-1),
            torch.stack([angle.sin(), angle.cos() / (1 + scale), y], dim=-1),
        ],
        dim=1,
    )  # [B, 2, 3]
    grid = F.affine_grid(rows, [n, 1, *images.shape[1:]], align_corners=False)
    return F.grid_sample(images.unsqueeze(1), grid, align_corners=False)[:, 0]


@torch.no_grad()
def predictions(model: ImageEncoder, images: Tensor) -> Tensor:
    """Images [N, 8, 8] from 0 to 1 -> probabilities [N, 10]."""
    assert model.classifier is not None
    pixels = torch.stack([model.prepare(image) for image in images]).to(model.device, model.encoder.dtype)
    mask = torch.ones(len(images), model.config.max_tokens, dtype=torch.bool, device=model.device)
    return model.classifier.probabilities(model.classifier(model.encoder(pixels), mask)).cpu()
