"""SignalEncoder: what encoders of images and of sound share: tokens that a layout names, and classes of an input.

Shapes: B batch, n inputs, T tokens, D d_model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from encoder.edits import Edit
from encoder.encoders.named import NamedEncoder
from encoder.errors import EncoderError
from encoder.inputs.layout import Layout
from encoder.model.pooling import Pooling, pool
from encoder.trace.head_input import vectors_for
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False, repr=False)
class SignalEncoder(NamedEncoder):
    """An encoder of images or of sound."""

    def open(self, file: bytes | str | Path) -> Any:
        """A file, or its content -> what `trace` takes. Raises an EncoderError for a file of another kind."""
        raise NotImplementedError

    @property
    def pooling(self) -> Pooling:
        """How the vector of an input is made: as the classification head does it; without a head, of [CLS], or the
        mean of all tokens where there is none.
        """
        if self.classifier is not None and self.classifier.config.kind == "sequence":
            return self.classifier.config.pooling
        return "cls" if self.layout is not None and self.layout.before else "mean"

    def vectors(self, outputs: Tensor) -> Tensor:
        """Outputs [n, T, D] -> [n, D] in float32, by `pooling`."""
        mask = torch.ones(outputs.shape[:2], dtype=torch.bool, device=outputs.device)
        return pool(outputs, mask, self.pooling).float()

    @torch.no_grad()
    def probabilities(self, trace: Trace) -> dict[str, float]:
        """Label -> probability, in the head's order. Raises EncoderError for a checkpoint without such a head."""
        head = self.classifier
        if head is None:
            raise EncoderError(f"{self.name} has no classification head: choose a checkpoint that was saved with one.")
        logits = head(vectors_for(head, trace)[None], trace.mask[None])
        return dict(zip(head.config.labels, head.probabilities(logits)[0].tolist(), strict=True))

    def _traces(self, inputs: Tensor, layout: Layout, edits: Sequence[Edit], request: Sequence[str]) -> list[Trace]:
        """Run a batch of inputs [B, ...]: one Trace each. layout: of their tokens."""
        tokens, applied = layout.tokens, self._resolved(edits)
        recorded = self._recorded(inputs, n_tokens=len(tokens), edits=applied, request=request)
        return [
            Trace(
                encoder=self.encoder,
                tokens=tokens,
                labels=tokens,
                ids=(-1,) * len(tokens),
                mask=torch.ones(len(tokens), dtype=torch.bool, device=self.device),
                values=values,
                layout=layout,
                edits=tuple(edits),
                applied=applied,
            )
            for values in recorded
        ]
