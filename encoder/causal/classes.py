"""The outcome of a model with a classification head: one class, of the input or of one token.

Shapes: n runs, T tokens, D d_model, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from encoder.causal.outcomes import Measure, Outcome, WordScale
from encoder.classify import class_place, classifier_of
from encoder.encoders.named import NamedEncoder
from encoder.errors import EncoderError
from encoder.trace.trace import Trace


@dataclass(frozen=True)
class ClassProbability(Outcome):
    """One class of the classification head. position: the token, for a head that tags tokens.

    scale: "probability", or "log_odds", log(p / (1 - p)). A regression has no probability: its score is taken.
    """

    label: str
    position: int | None = None
    scale: WordScale = "probability"
    code: ClassVar[str] = "class"

    def on(self, model: NamedEncoder, plain: Trace) -> Measure:
        head = classifier_of(model, "sequence" if self.position is None else "token")
        place = class_place(head, self.label)
        if self.scale not in ("log_odds", "probability"):
            raise EncoderError(f"scale={self.scale!r} is unknown: choose log_odds or probability.")
        if self.position is not None:
            plain.check_token(self.position)
        if head.config.layer not in (None, model.config.n_layers) or not head.config.reads_output:
            what = "other vectors" if head.config.layer is None else f"the input of layer {head.config.layer}"
            raise EncoderError(
                f"This head uses {what}, and an outcome is measured at the output: choose a head that reads the output."
            )

        def measure(outputs: Tensor) -> Tensor:
            mask = torch.ones(outputs.shape[:2], dtype=torch.bool, device=outputs.device)
            logits = head(outputs, mask)  # [n, C], or [n, T, C] of tokens
            logits = logits if self.position is None else logits[:, self.position]
            if self.scale == "log_odds":
                return head.log_odds(logits, place)
            return head.probabilities(logits)[..., place]

        return measure
