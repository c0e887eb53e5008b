"""One token on its way through the residual stream.

Shapes: D d_model.
"""

from dataclasses import dataclass

import numpy as np

from encoder.explain import arithmetic
from encoder.explain.arithmetic import Floats
from encoder.explain.place import Place
from encoder.explain.source import sublayer, value
from encoder.model.config import Sublayer
from encoder.trace.trace import Trace


@dataclass(frozen=True)
class FlowStage:
    """A sublayer, or the final norm, and its effect on one token's vector x. All numbers are norms of vectors, |x|.

    layer, part: None for the final norm; before: of the residual stream; update: of the sublayer's output f(x), None
    for the final norm; total: of the sum x + f(x); after: of the residual stream after it, in post-norm after its
    LayerNorm; cosine: between x before and x after.
    """

    layer: int | None
    part: Sublayer | None
    before: float
    update: float | None
    total: float
    after: float
    cosine: float


@dataclass(frozen=True)
class TokenFlow:
    """token: its position; start: the norm of its embedding; stages in the order of the model."""

    token: int
    start: float
    stages: tuple[FlowStage, ...]


def token_flow(trace: Trace, token: int) -> TokenFlow:
    """The residual stream of one token, from the trace only."""
    token = Place(query=token).checked(trace.config, trace.n_tokens).query
    stages = [
        _stage(trace, layer, part, token) for layer in range(trace.config.n_layers) for part in trace.config.sublayers
    ]
    if trace.config.final_norm:
        before, after = value(trace, "final_norm.input", token), value(trace, "output", token)
        stages.append(FlowStage(None, None, _norm(before), None, _norm(before), _norm(after), _cosine(before, after)))
    return TokenFlow(token, _norm(value(trace, "embedding", token)), tuple(stages))


def _stage(trace: Trace, layer: int, part: Sublayer, token: int) -> FlowStage:
    name, next_name, _ = sublayer(trace, layer, part)
    before, after = value(trace, name, token), value(trace, next_name, token)
    norm = trace.norm_of_sum(layer, part)
    total = after if norm is None else value(trace, f"{norm}.input", token)
    return FlowStage(
        layer=layer,
        part=part,
        before=_norm(before),
        update=_norm(total - before),
        total=_norm(total),
        after=_norm(after),
        cosine=_cosine(before, after),
    )


def _norm(x: Floats) -> float:
    return float(np.linalg.norm(x))


def _cosine(a: Floats, b: Floats) -> float:
    return float(arithmetic.cosine(a, b))
