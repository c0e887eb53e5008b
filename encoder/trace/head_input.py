"""What a classification head uses of a trace.

Shapes: T tokens, D d_model.
"""

import torch
from torch import Tensor

from encoder.errors import EncoderError
from encoder.model.classifier import Classifier
from encoder.trace.trace import Trace


def vectors_for(head: Classifier, trace: Trace) -> Tensor:
    """[T, D]: what this head uses: of one layer, before the final norm, or the weighted sum over all layers."""
    last = trace.values.get("final_norm.input", trace.output) if head.config.before_norm else trace.output
    if head.layer_weights is not None:
        weights = head.layer_weights.softmax(dim=0)
        if len(weights) != trace.config.n_layers + 1:
            raise EncoderError(f"This head sums {len(weights)} layers: choose a head of this model.")
        streams = [*trace.streams[:-1], last]
        return torch.stack([w * x for w, x in zip(weights, streams, strict=True)]).sum(dim=0)
    return last if head.config.layer is None else trace.before_layer(head.config.layer)
