"""Step 8, the feed-forward layer: D -> F -> D. Which hidden neurons a token switches on, and which tokens excite a
neuron.

Shapes: T tokens, D d_model, F width of the FFN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import nn

from encoder.explain import arithmetic
from encoder.explain.arithmetic import Floats
from encoder.explain.float64_reference import Check, Recomputation, compare
from encoder.explain.latex import Formula, bracketed, calculation, long_sum, number, products, stack
from encoder.explain.place import Place
from encoder.explain.source import array, bias, label, sublayer_input, weight
from encoder.trace import Trace

#: A smooth activation (GELU, SiLU) is never exactly 0; below this it counts as off. GELU lies below it for x < -1.5.
NEAR_ZERO = 0.1

_NAMES = {"relu": r"\mathrm{ReLU}", "gelu": r"\mathrm{GELU}", "gelu_tanh": r"\mathrm{GELU}", "silu": r"\mathrm{SiLU}"}


@dataclass(frozen=True, eq=False)
class FeedForwardStep:
    """The feed-forward layer of one token.

    x [D]: what it reads (x_name says from where); linear [F]: x W_in + b; gate [F] or None; hidden [F]: act(linear) (x
    gate); column [D]: the selected neuron's weights; terms [D]: x_d W_dn; outgoing [D]: what the neuron adds to the
    stream when its activation is 1; output [D]: hidden W_out + b.
    """

    place: Place
    label: str
    activation: str
    x_name: str
    x: Floats
    linear: Floats
    gate: Floats | None
    hidden: Floats
    column: Floats
    terms: Floats
    outgoing: Floats
    output: Floats
    output_bias: float
    output_terms: Floats
    formula: Formula
    output_formula: Formula

    def strongest(self, count: int = 10) -> NDArray[np.integer]:
        """The neurons with the largest activation by size, the strongest first."""
        return np.argsort(-np.abs(self.hidden), kind="stable")[:count]

    def check(self, reference: Recomputation) -> tuple[Check, ...]:
        """The hidden activations, the selected neuron's products and the output, from ids and weights."""
        at, dtype = self.place, reference.dtype
        column = reference.of_layer(at.layer, "ffn.w_in.weight")[at.neuron]
        x = reference.input(at.layer, "ffn")[at.query]
        return (
            compare("hidden", self.hidden, reference.hidden(at.layer)[at.query], (at.neuron,), dtype),
            compare("products", self.terms, x * column, dtype=dtype),
            compare("FFN output", self.output, reference.update(at.layer, "ffn")[at.query], (at.component,), dtype),
        )


@dataclass(frozen=True, eq=False)
class HiddenActivations:
    """The hidden activations of all tokens, [T, F].

    exactly_zero: True for ReLU, where off means 0; off [T, F]: which are off; off_share: of all numbers; off_by_token
    [T]; never [F]: neurons that are off at every token of this sentence.
    """

    hidden: Floats
    exactly_zero: bool
    threshold: float
    off: NDArray[np.bool_]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.hidden.nbytes + self.off.nbytes

    @property
    def off_share(self) -> float:
        """Share of all activations that are off."""
        return float(self.off.mean())

    @property
    def off_by_token(self) -> Floats:
        """[T]: share of each token's neurons that are off."""
        return self.off.mean(axis=1)

    @property
    def never(self) -> NDArray[np.bool_]:
        """[F]: neurons that no token of this sentence switches on."""
        return self.off.all(axis=0)

    def excited_by(self, neuron: int) -> NDArray[np.integer]:
        """Tokens by how strongly they excite a neuron, the strongest first."""
        return np.argsort(-self.hidden[:, neuron], kind="stable")


def feed_forward(trace: Trace, place: Place) -> FeedForwardStep:
    """The feed-forward layer of token i."""
    config = trace.config
    place = place.checked(config, trace.n_tokens, config.d_model)
    module = trace.encoder.block(place.layer).ffn
    i, n, d = place.query, place.neuron, place.component
    x_name, x = sublayer_input(trace, place.layer, "ffn", i)
    w_in, w_out, shift = weight(module.w_in), weight(module.w_out), bias(module.w_out)
    linear, gate, hidden = _hidden(trace, place.layer, x)
    output = arithmetic.linear(hidden, w_out, shift)
    output_terms = hidden * w_out[:, d]
    return FeedForwardStep(
        place=place,
        label=label(trace, i),
        activation=config.activation,
        x_name=x_name,
        x=x,
        linear=linear,
        gate=gate,
        hidden=hidden,
        column=w_in[:, n],
        terms=x * w_in[:, n],
        outgoing=w_out[n],
        output=output,
        output_bias=0.0 if shift is None else float(shift[d]),
        output_terms=output_terms,
        formula=_formula(place, config.activation, x, (module.w_in, linear), (module.w_gate, gate), hidden),
        output_formula=_output_formula(place, hidden, w_out[:, d], shift, output),
    )


def hidden_activations(trace: Trace, layer: int, threshold: float = NEAR_ZERO) -> HiddenActivations:
    """The hidden activations of all tokens, and which of them are off: 0 for ReLU, closer to 0 than `threshold`
    otherwise."""
    Place(layer=layer).checked(trace.config, trace.n_tokens)
    _, x = sublayer_input(trace, layer, "ffn")
    hidden = _hidden(trace, layer, x)[2]
    exact = trace.config.activation == "relu" and not trace.config.gated
    off = hidden == 0 if exact else np.abs(hidden) < threshold
    return HiddenActivations(hidden, exact, 0.0 if exact else threshold, off)


def _hidden(trace: Trace, layer: int, x: Floats) -> tuple[Floats, Floats | None, Floats]:
    """x [..., D] -> before the activation, gate or None, hidden; [..., F] each."""
    module = trace.encoder.block(layer).ffn
    linear = arithmetic.linear(x, weight(module.w_in), bias(module.w_in))
    hidden = arithmetic.activate(linear, trace.config.activation)
    if module.w_gate is None:
        return linear, None, hidden
    gate = arithmetic.linear(x, array(module.w_gate.weight).T, bias(module.w_gate))
    return linear, gate, hidden * gate


def _formula(
    place: Place,
    activation: str,
    x: Floats,
    inner: tuple[nn.Module, Floats],
    gate: tuple[nn.Module | None, Floats | None],
    hidden: Floats,
) -> Formula:
    """inner, gate: a matrix with all that it makes of x, [F]; the second is (None, None) without a gate."""
    i, n, name = place.query, place.neuron, _NAMES[activation]
    summed = [("a", "in", *inner)] + ([] if gate[0] is None else [("g", "gate", *gate)])
    product, times = ("", "") if gate[1] is None else (r"\, g_{i,n}", rf" \cdot {bracketed(gate[1][n])}")
    rules, numbers = [rf"h_{{i,n}} = {name}(a_{{i,n}}){product}"], []
    for letter, which, module, values in summed:
        shift = bias(module)
        added = "" if shift is None else rf" + b^{{\mathrm{{{which}}}}}_n"
        start = [] if shift is None else [bracketed(shift[n])]
        rules.append(rf"{letter}_{{i,n}} = \sum_{{d=0}}^{{D-1}} x_{{i,d}}\, W^{{\mathrm{{{which}}}}}_{{d,n}}{added}")
        terms = long_sum(products(x, weight(module)[:, n]) + start)
        numbers.append((rf"{letter}_{{{i},{n}}}", [terms, number(values[n])]))
    numbers.append((rf"h_{{{i},{n}}}", [f"{name}({number(inner[1][n])}){times}", number(hidden[n])]))
    return Formula(symbols=stack(*rules), numbers=calculation(*numbers))


def _output_formula(place: Place, hidden: Floats, column: Floats, shift: Floats | None, output: Floats) -> Formula:
    i, d = place.query, place.component
    added = "" if shift is None else r" + b^{\mathrm{out}}_d"
    start = [] if shift is None else [bracketed(shift[d])]
    terms = products(hidden, column, chosen=place.neuron)
    return Formula(
        symbols=rf"f_{{i,d}} = \sum_{{n=0}}^{{F-1}} h_{{i,n}} W^{{\mathrm{{out}}}}_{{n,d}}{added}",
        numbers=calculation((rf"f_{{{i},{d}}}", [long_sum(terms + start), number(output[d])])),
    )
