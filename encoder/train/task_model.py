"""The model of a small task: an encoder with a linear classifier on every token.

Shapes: B sequences of a batch, T tokens, C classes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from encoder.encoders.text import TextEncoder
from encoder.model.config import EncoderConfig
from encoder.model.encoder import Encoder, initialise
from encoder.train.settings import TaskSettings


class TaskModel(nn.Module):
    """An encoder, and a linear map from each output to the classes. registers: tokens that come before a sequence, the
    last ids of the vocabulary."""

    def __init__(self, config: EncoderConfig, n_classes: int, seed: int | None = None, registers: int = 0) -> None:
        super().__init__()
        self.registers = registers
        self.encoder = Encoder(config)
        self.head = nn.Linear(config.d_model, n_classes)
        if seed is not None:
            initialise(self.encoder, seed)
            initialise(self.head, seed + 1)

    def forward(self, ids: Tensor) -> Tensor:
        """ids [B, T] -> logits [B, T, C]."""
        if self.registers:
            before = torch.arange(-self.registers, 0, device=ids.device) + self.encoder.config.vocab_size
            ids = torch.cat((before.expand(len(ids), -1), ids), dim=1)
        return self.head(self.encoder(ids)[:, self.registers :])


@dataclass(frozen=True, eq=False)
class TrainedTask:
    """A copy of a run after a whole step. model: with the classifier; text_encoder: opens like any other model."""

    settings: TaskSettings
    step: int
    model: TaskModel

    @property
    def text_encoder(self) -> TextEncoder:
        """The encoder with the task's tokenizer."""
        task = self.settings.make_task()
        name = f"{task.name}, {self.settings.norm_placement}-norm, {self.step:,} steps"
        return TextEncoder(name=name, encoder=self.model.encoder, tokenizer=task.tokenizer(self.settings.registers))

    @torch.no_grad()
    def predict(self, ids: Tensor) -> Tensor:
        """ids [B, T] -> classes [B, T]."""
        logits: Tensor = self.model(ids)
        return logits.argmax(-1)
