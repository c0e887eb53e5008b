"""A token's output vector as the sum of what each part of the model wrote, each part with its share.

The share of a part is its projection on the direction of the output vector o, over the norm of o: c . o / |o|^2. So the
shares of all parts sum to 1. A part below 0 points against the output. Every norm is linear here, as in `direct`: its
mean and deviation are those of this run.

Shapes: L layers, H heads, D d_model.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

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
    trace.check_token(position, "position")
    output = trace.output[position].double()
    size = float(output @ output)
    if size == 0:
        raise EncoderError(f"The output vector of token {position} is 0, so it has no parts: choose another token.")
    return OutputParts(tuple(_parts(direct_effect(trace, output / size, position), trace)))


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
