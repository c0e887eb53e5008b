"""The convolution module of a Conformer's layer for one token: near tokens, a weight for each, and the channels.

Shapes: T tokens, D d_model, W tokens that the convolution sees.
"""

from dataclasses import dataclass

import numpy as np
import torch

from encoder.errors import EncoderError
from encoder.explain.arithmetic import Floats
from encoder.explain.latex import Formula, bracketed, calculation, long_sum, number, products
from encoder.explain.place import Place
from encoder.explain.reference import Check, Recomputation
from encoder.explain.source import apply, array, bias, sublayer_input, weight
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False)
class ConvolutionStep:
    """The convolution of token i; the place's neuron is the channel that is computed number by number."""

    place: Place
    #: [W]: the tokens that it sees, in order.
    near: tuple[int, ...]
    #: [W, D]: what it reads of them.
    gated: Floats
    #: [W]: the weights of the channel.
    kernel: Floats
    #: The channel's bias; None without one.
    shift: float | None
    #: The sum before the norm, of the channel.
    mixed: float
    #: [D]: the channels, normalised and activated.
    hidden: Floats
    #: [D].
    output: Floats
    #: [D]: the products of the channels that make the component.
    output_terms: Floats
    output_bias: float

    @property
    def terms(self) -> Floats:
        """[W]: weight x number of the channel, for each token."""
        return self.kernel * self.gated[:, self.place.neuron]

    @property
    def formula(self) -> Formula:
        """The sum of the channel over the tokens."""
        i, c = self.place.query, self.place.neuron
        start = [] if self.shift is None else [bracketed(self.shift)]
        added = "" if self.shift is None else " + b_c"
        sums = long_sum(products(self.kernel, self.gated[:, c]) + start)
        return Formula(
            symbols=rf"m_{{i,c}} = \sum_j w_{{c,j-i}}\, g_{{j,c}}{added}",
            numbers=calculation((rf"m_{{{i},{c}}}", [sums, number(self.mixed)])),
        )

    @property
    def output_formula(self) -> Formula:
        """The selected component of what the module adds."""
        i, d = self.place.query, self.place.component
        terms = [number(float(one)) for one in sorted(self.output_terms, key=abs, reverse=True)[:1]]
        rest = float(self.output[d]) - float(max(self.output_terms, key=abs))
        return Formula(
            symbols=r"o_{i,d} = \sum_{c=0}^{D-1} \mathrm{act}(\mathrm{norm}(m_{i}))_c\, W^{\mathrm{out}}_{c,d}",
            numbers=calculation((rf"o_{{{i},{d}}}", [f"{terms[0]} + {bracketed(rest)}", number(self.output[d])])),
        )

    def strongest(self, n: int) -> list[int]:
        """The places in `near` with the largest |weight x number|."""
        return [int(at) for at in np.argsort(-np.abs(self.terms), kind="stable")[:n]]

    def check(self, reference: Recomputation) -> tuple[Check, ...]:
        """What is read, the channels and the output, from ids and weights."""
        at = self.place
        read = reference.gated(at.layer)[list(self.near), at.neuron]
        return (
            reference.check("read", self.gated[:, at.neuron], read),
            reference.check("channels", self.hidden, reference.channels(at.layer)[at.query], (at.neuron,)),
            reference.check(
                "output", self.output, reference.result(at.layer, "convolution")[at.query], (at.component,)
            ),
        )


@torch.no_grad()
def convolution(trace: Trace, place: Place) -> ConvolutionStep:
    """The convolution of token i in its layer. Raises EncoderError for a model whose layers have none."""
    config = trace.config
    module, shape = trace.encoder.block(place.layer % max(1, config.n_layers)).convolution, config.conformer
    if module is None or shape is None:
        raise EncoderError("The layers of this model have no convolution: choose a Conformer.")
    place, channels = place.checked(config, trace.n_tokens, config.d_model), shape.expansion * config.d_model
    i, c, d = place.query, place.neuron, place.component
    if c >= channels:
        raise EncoderError(f"No channel {c} here: choose 0 to {channels - 1}.")
    tokens = range(max(0, i - shape.before), min(trace.n_tokens, i + shape.after + 1))
    rows = slice(tokens.start, tokens.stop)
    x = sublayer_input(trace, place.layer, "convolution", rows).to(module.w_in.weight.dtype)
    mask = None if trace.n_real == trace.n_tokens else trace.mask[rows]
    gated = module.gated(x, mask)
    mixed = module.mixed(gated[None])[..., i - tokens.start : i - tokens.start + 1]  # [1, D, 1]
    hidden = module.hidden(mixed.clone())[0, 0]
    kernel = array(module.convolution.weight)[c, 0][tokens.start - i + shape.before :][: len(tokens)]
    shift, ends = module.convolution.bias, bias(module.w_out)
    return ConvolutionStep(
        place=place,
        near=tuple(tokens),
        gated=array(gated),
        kernel=kernel,
        shift=None if shift is None else float(shift[c]),
        mixed=float(mixed[0, c, 0]),
        hidden=array(hidden),
        output=array(apply(module.w_out, hidden)),
        output_terms=array(hidden) * weight(module.w_out)[:, d],
        output_bias=0.0 if ends is None else float(ends[d]),
    )
