"""SignalEncoder: what encoders of images and of sound share: tokens that a layout names, classes, vectors of inputs.

Shapes: B batch, n inputs, T tokens, D d_model, E width of the vector of an input.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from encoder.edits import Edit
from encoder.encoders.named import NamedEncoder
from encoder.errors import EncoderError
from encoder.inputs.layout import Layout
from encoder.model.device import explain_out_of_memory
from encoder.model.pooling import Pooling, pool
from encoder.model.vector_head import VectorHead
from encoder.trace.head_input import vectors_for
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False, repr=False)
class SignalEncoder(NamedEncoder):
    """An encoder of images or of sound.

    vector_head: makes one vector of an input, which JointEncoder compares with those of texts. Without one, the vector
    is [CLS], or the mean without a [CLS].
    """

    vector_head: VectorHead | None = field(default=None, kw_only=True)

    @property
    def heads(self) -> dict[str, nn.Module]:
        """As of every encoder, with `vector_head`."""
        return super().heads | ({} if self.vector_head is None else {"vector_head": self.vector_head})

    def open(self, file: bytes | str | Path) -> Any:
        """A file, or its content -> what `trace` accepts. Raises an EncoderError for a file of another kind."""
        raise NotImplementedError

    def prepare(self, given: Any) -> Tensor:
        """What `trace` accepts -> the input of the encoder, without a batch."""
        raise NotImplementedError

    def picture(self, given: Any) -> Any:
        """What `trace` accepts -> what the model's picture shows of it: uint8 [H, W, 3], or the sound itself."""
        return given

    @property
    def pooling(self) -> Pooling:
        """How the vector of an input is made: as the classification head does it; without a head, of [CLS], or the
        mean of all tokens where there is none.
        """
        if self.classifier is not None and self.classifier.config.kind == "sequence":
            return self.classifier.config.pooling
        return "cls" if self.layout is not None and self.layout.before else "mean"

    # --- one vector of an input ---------------------------------------------------------------------------------------

    @property
    def width_of_vectors(self) -> int:
        """E: numbers in the vector of an input."""
        return (self.vector_head is not None and self.vector_head.config.d_out) or self.config.d_model

    def pool(self, output: Tensor) -> Tensor:
        """output [n, T, D] -> [n, E]: pooled and projected, as the checkpoint says."""
        if self.vector_head is not None:
            found: Tensor = self.vector_head(output)
            return found
        has_cls = self.layout is not None and "[CLS]" in self.layout.before
        return output[:, 0] if has_cls else output.mean(dim=1)

    def vectors(self, outputs: Tensor) -> Tensor:
        """Outputs [n, T, D] -> [n, E] in float32: by the classification head's pooling, else by `pool`."""
        if self.classifier is None:
            return self.pool(outputs).float()
        mask = torch.ones(outputs.shape[:2], dtype=torch.bool, device=outputs.device)
        return pool(outputs, mask, self.pooling).float()

    def vector_of(self, trace: Trace) -> Tensor:
        """A trace -> [E]."""
        return self.pool(trace.output.unsqueeze(0))[0]

    def embed(self, inputs: Sequence[Any], batch_size: int = 8) -> Tensor:
        """What `prepare` takes -> [n, E], as the checkpoint says. Raises the errors of `prepare`, and OutOfMemory."""
        vectors = [torch.zeros(0, self.width_of_vectors, device=self.device)]
        is_several = isinstance(inputs, Sequence) or getattr(inputs, "ndim", 0) > 0
        inputs = inputs if is_several else [inputs]  # `prepare` says what fits
        for start in range(0, len(inputs), batch_size):
            prepared = [self.prepare(one) for one in inputs[start : start + batch_size]]
            alike = len({one.shape for one in prepared}) == 1  # sounds of any length are not: each runs by itself
            for batch in [torch.stack(prepared)] if alike else [one.unsqueeze(0) for one in prepared]:
                with explain_out_of_memory(self.device, len(batch) * self.config.max_tokens), torch.no_grad():
                    vectors.append(self.pool(self.encoder(batch.to(device=self.device, dtype=self.encoder.dtype))))
        return torch.cat(vectors)

    # --- classes and traces -------------------------------------------------------------------------------------------

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
                pixels=given if self.config.patches is not None else None,
                edits=tuple(edits),
                applied=applied,
                model=self,
            )
            for values, given in zip(recorded, inputs, strict=True)
        ]
