"""The steps that trained the bundled encoders of digits and sounds, for any loss; the loss of a classification head.

Shapes: N inputs, B batch, C classes.
"""

import time
from collections.abc import Callable
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Settings(Protocol):
    """What a recipe says about its steps. The learning rate rises for warmup_steps, then falls to 0."""

    @property
    def epochs(self) -> int: ...
    @property
    def batch(self) -> int: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def warmup_steps(self) -> int: ...
    @property
    def weight_decay(self) -> float: ...
    @property
    def clip_norm(self) -> float: ...
    @property
    def seed(self) -> int: ...


class ClassifierSettings(Settings, Protocol):
    """The settings of a classifier. smoothing: of the labels."""

    @property
    def smoothing(self) -> float: ...


def fit(
    parts: tuple[nn.Module, ...],
    logits_of: Callable[[Tensor, torch.Generator], Tensor],
    labels: Tensor,
    settings: ClassifierSettings,
    say: Callable[[str], None],
) -> None:
    """Train the parts together on a cross-entropy with smoothed labels [N]; they end in eval mode.

    logits_of: places of a batch [B] and a generator for what varies them -> [B, C]; say: takes a line for each epoch.
    """

    def loss_of(batch: Tensor, generator: torch.Generator) -> Tensor:
        return F.cross_entropy(logits_of(batch, generator), labels[batch], label_smoothing=settings.smoothing)

    descend(parts, loss_of, len(labels), settings, say)


def descend(
    parts: tuple[nn.Module, ...],
    loss_of: Callable[[Tensor, torch.Generator], Tensor],
    n_inputs: int,
    settings: Settings,
    say: Callable[[str], None],
) -> None:
    """Train the parts together by AdamW on any loss of N inputs; they end in eval mode.

    loss_of: places of a batch [B] and a generator for what varies them -> a number; say: takes a line for each epoch.
    """
    for part in parts:
        part.train()
    weights = [weight for part in parts for weight in part.parameters()]
    optimiser = torch.optim.AdamW(
        weights, lr=settings.learning_rate, weight_decay=settings.weight_decay, betas=(0.9, 0.98)
    )
    n_batches = max(1, n_inputs // settings.batch)
    n_steps = settings.epochs * n_batches
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / settings.warmup_steps) * (1.0 - step / n_steps)
    )
    generator, began = torch.Generator().manual_seed(settings.seed), time.monotonic()
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)  # dropout
        for epoch in range(settings.epochs):
            total = 0.0
            for batch in torch.randperm(n_inputs, generator=generator).chunk(n_batches):
                loss = loss_of(batch, generator)
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(weights, settings.clip_norm)
                optimiser.step()
                schedule.step()
                total += float(loss.detach())
            say(f"epoch {epoch + 1}, loss {total / n_batches:.3f}, {time.monotonic() - began:.0f} s")
    for part in parts:
        part.eval()
