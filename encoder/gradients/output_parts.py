"""A token's output vector as the sum of what each part of the model wrote, each part with its share.

The share of a part is its projection on the direction of the output vector o, over the norm of o: c . o / |o|^2. So the
shares of all parts sum to 1. A part below 0 points against the output. A head's share is
the sum of what each key adds. Every norm is linear here, as in `direct`: its mean and deviation are those of this run.

Shapes: L layers, H heads, D d_model.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import torch
from torch import Tensor

from encoder.errors import EncoderError
from encoder.gradients.direct import DirectEffect, direct_effect
from encoder.trace.trace import Trace

Kind = Literal["embedding", "head", "ffn", "bias"]


@dataclass(frozen=True)
class OutputPart:
    """One part: "L3 H7", "L3 FFN", "Embedding"."""

    #: On the screen and in tables.
    name: str
    #: "ffn": also a layer's other sublayers after attention; "bias": of W_O and of norms.
    kind: Kind
    #: Its projection on the output's direction, over the output's norm.
    share: float
    #: None for the embedding and the final norm.
    layer: int | None = None
    #: Of a head.
    head: int | None = None

    @property
    def row(self) -> str:
        """Where it is in the model: "Embedding", "L3", "Final norm"."""
        return self.name if self.layer is None else f"L{self.layer}"


@dataclass(frozen=True)
class OutputParts:
    """All parts in the model's order; their shares sum to 1 up to rounding."""

    parts: tuple[OutputPart, ...]

    @property
    def sum(self) -> float:
        """The sum of all shares."""
        return sum(one.share for one in self.parts)

    def largest(self, count: int) -> list[OutputPart]:
        """The parts with the largest shares, the largest first."""
        return sorted(self.parts, key=lambda one: -one.share)[:count]

    def of_kind(self, kind: Kind) -> float:
        """The shares of all parts of a kind together."""
        return sum(one.share for one in self.parts if one.kind == kind)


def output_parts(trace: Trace, position: int) -> OutputParts:
    """The parts of the output vector of the token at `position`, with their shares.

    Raises EncoderError for a token that the input does not have, an output vector of zeros, and a trace whose parts do
    not add up (`direct_effect`).
    """
    return OutputParts(tuple(_parts(_of_output(trace, position), trace)))


@torch.no_grad()
def share_by_token(trace: Trace, position: int, layer: int, head: int) -> Tensor:
    """[T] float64: what each key adds to the share of a head in the output vector of the token at `position`.

    The weight of the key, times the projection of its value vector, carried to the output. The sum is the head's share.
    Raises EncoderError as `output_parts`, and for a head that the model does not have.
    """
    layer, head = trace.place(layer, head)
    at_z = _of_output(trace, position).at_z
    assert at_z is not None, "the direction is that of one token"
    query = slice(position, position + 1)
    value = trace.layer_qkv(layer)[2][head].double() @ at_z[layer, head]  # [T]
    row = trace.attention(layer, head, query).double() * value
    return trace.gated(row, layer, head, query)[0].cpu()


def _of_output(trace: Trace, position: int) -> DirectEffect:
    """The direct effects in the direction of a token's own output vector."""
    trace.check_token(position, "position")
    output = trace.output[position].double()
    size = float(output @ output)
    if size == 0:
        raise EncoderError(f"The output vector of token {position} is 0, so it has no parts: choose another token.")
    return direct_effect(trace, output / size, position)


def _parts(effect: DirectEffect, trace: Trace) -> Iterator[OutputPart]:
    """The parts in the model's order."""
    ffn = "FFN" if trace.config.conformer is None else "FFNs and convolution"
    biases = {layer: float(share) for layer, share in enumerate(effect.attention_bias)}
    final = 0.0
    for name, share in effect.norms.items():
        if name == "final_norm":
            final = share
        else:  # "L3 ffn_norm"
            biases[int(name.split()[0][1:])] += share
    layers = (
        (
            *(OutputPart(f"L{at} H{head}", "head", float(one), at, head) for head, one in enumerate(effect.heads[at])),
            OutputPart(f"L{at} {ffn}", "ffn", float(effect.ffn[at]), at),
            OutputPart(f"L{at} biases", "bias", biases[at], at),
        )
        for at in range(len(effect.ffn))
    )
    yield OutputPart("Embedding", "embedding", effect.embedding)
    yield from chain.from_iterable(layers)
    if final:
        yield OutputPart("Final norm", "bias", final)
