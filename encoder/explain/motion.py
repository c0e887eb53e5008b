"""The numbers of two animations: one query on its way through a head, one token on its way through the residual stream.

Shapes: T tokens (query i, keys j), N drawn keys, H heads, K width of a head, D d_model.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from encoder.explain import arithmetic
from encoder.explain.arithmetic import Bools, Floats
from encoder.explain.norm import PARTS, Part
from encoder.explain.place import Place
from encoder.explain.score import score
from encoder.explain.softmax import softmax
from encoder.explain.source import array, sublayer, value
from encoder.explain.weighted_sum import weighted_sum
from encoder.trace.trace import Trace

#: Tokens that are named for each attention sublayer.
NAMED = 3


@dataclass(frozen=True, eq=False)
class AttentionRow:
    """One query with the keys that are drawn, all numbers as the model computes them.

    keys [N]: positions, ascending; q [K]; k, values, weighted [N, K]: weighted is weight x value; dots, scores,
    exponentials, weights [N]; allowed [N]; scale: the factor of the dot products; bias [N]: added for the distance, or
    None; top: the largest score of the whole row; total: the sum of all T exponentials; rest_weight, rest [K]: weight
    and weighted sum of the keys that are not drawn; z [K]: the output of the head for this token.
    """

    place: Place
    keys: NDArray[np.integer]
    q: Floats
    k: Floats
    dots: Floats
    scale: float
    bias: Floats | None
    scores: Floats
    allowed: Bools
    top: float
    exponentials: Floats
    total: float
    weights: Floats
    values: Floats
    weighted: Floats
    rest_weight: float
    rest: Floats
    z: Floats

    @property
    def products(self) -> Floats:
        """[N, K]: the terms of each dot product."""
        return self.q * self.k

    @property
    def sums(self) -> Floats:
        """[N, K]: the weighted sum up to each drawn key."""
        sums: Floats = np.cumsum(self.weighted, axis=0)
        return sums


def attention_row(trace: Trace, place: Place, most: int = 12) -> AttentionRow:
    """The row of token i, with at most `most` keys: key j and those with the largest weights."""
    place = place.checked(trace.config, trace.n_tokens, trace.config.d_head)
    scored, weighed, mixed = score(trace, place), softmax(trace, place), weighted_sum(trace, place)
    keys = drawn_keys(weighed.weights, place.key, most)
    left_out = np.setdiff1d(np.arange(trace.n_tokens), keys)
    added = scored.row - scored.dots * np.float32(scored.scale)
    return AttentionRow(
        place=place,
        keys=keys,
        q=scored.q,
        k=array(trace.layer_qkv(place.layer)[1][place.head])[keys],
        dots=scored.dots[keys],
        scale=scored.scale,
        bias=added[keys] if trace.contexts[place.layer].biased or trace.contexts[place.layer].explicit else None,
        scores=weighed.scores[keys],
        allowed=weighed.allowed[keys],
        top=weighed.top,
        exponentials=weighed.exponentials[keys],
        total=weighed.total,
        weights=weighed.weights[keys],
        values=mixed.values[keys],
        weighted=mixed.weighted[keys],
        rest_weight=float(weighed.weights[left_out].sum()),
        rest=mixed.weighted[left_out].sum(axis=0),
        z=mixed.z,
    )


def drawn_keys(weights: Floats, selected: int, most: int) -> NDArray[np.integer]:
    """weights [T] -> positions [N], ascending: all keys, or the selected one and those with the largest weights."""
    order = np.argsort(-weights, kind="stable")
    first = [selected, *order[order != selected][: most - 1].tolist()]
    return np.sort(np.array(first))


@dataclass(frozen=True)
class FlowStage:
    """A sublayer, or the final norm, and its effect on one token's vector x. All numbers are norms of vectors, |x|.

    layer, part: None for the final norm; before: of the residual stream; update: of the sublayer's output f(x), None
    for the final norm; total: of the sum x + f(x); after: of the residual stream after it, in post-norm after its
    LayerNorm; normed: whether a LayerNorm follows the sum; cosine: between x before and x after; attended: the tokens
    with the largest mean weight over the heads, as (position, weight), empty for the FFN.
    """

    layer: int | None
    part: Part | None
    before: float
    update: float | None
    total: float
    after: float
    normed: bool
    cosine: float
    attended: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class TokenFlow:
    """token: its position; start: the norm of its embedding; stages in the order of the model."""

    token: int
    start: float
    stages: tuple[FlowStage, ...]

    @property
    def largest(self) -> float:
        """The largest norm that occurs."""
        norms = [norm for stage in self.stages for norm in (stage.update or 0.0, stage.total, stage.after)]
        return max(self.start, *norms)


def token_flow(trace: Trace, token: int) -> TokenFlow:
    """The residual stream of one token, from the trace alone."""
    token = Place(query=token).checked(trace.config, trace.n_tokens).query
    stages = [_stage(trace, layer, part, token) for layer in range(trace.config.n_layers) for part in PARTS]
    if trace.config.final_norm:
        before, after = value(trace, "final_norm.input", token), value(trace, "output", token)
        stages.append(
            FlowStage(None, None, _norm(before), None, _norm(before), _norm(after), True, _cosine(before, after))
        )
    return TokenFlow(token, _norm(value(trace, "embedding", token)), tuple(stages))


def _stage(trace: Trace, layer: int, part: Part, token: int) -> FlowStage:
    name, next_name, norm = sublayer(trace, layer, part)
    before, after = value(trace, name, token), value(trace, next_name, token)
    # In post-norm the norm's input is the sum; without a norm the next residual stream is the sum.
    normed = trace.config.norm_placement == "post" and norm is not None
    total = value(trace, f"{norm}.input", token) if normed else after
    return FlowStage(
        layer=layer,
        part=part,
        before=_norm(before),
        update=_norm(total - before),
        total=_norm(total),
        after=_norm(after),
        normed=normed,
        cosine=_cosine(before, after),
        attended=_attended(trace, layer, token) if part == "attention" else (),
    )


@torch.no_grad()
def _attended(trace: Trace, layer: int, token: int) -> tuple[tuple[int, float], ...]:
    """The tokens that the heads of a layer attend to most, on average."""
    weights = trace.layer_attention(layer, slice(token, token + 1))[:, 0].float().mean(0)  # [T]
    values, places = weights.sort(descending=True, stable=True)
    return tuple((int(at), float(one)) for at, one in zip(places[:NAMED], values[:NAMED], strict=True))


def _norm(x: Floats) -> float:
    return float(np.linalg.norm(x))


def _cosine(a: Floats, b: Floats) -> float:
    return float(arithmetic.cosine(a, b))
