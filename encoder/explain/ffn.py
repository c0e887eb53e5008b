"""The feed-forward layer: D -> F -> D, neuron by neuron.

Shapes: T tokens, D d_model, F width of the FFN.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from encoder.errors import EncoderError
from encoder.explain.arithmetic import Floats
from encoder.explain.latex import Formula, bracketed, calculation, long_sum, number, products, stack
from encoder.explain.place import Place
from encoder.explain.reference import Check, Recomputation
from encoder.explain.source import apply, array, bias, hidden_of, neurons_of, sublayer_input, weight
from encoder.model.config import EncoderConfig, Sublayer
from encoder.trace.trace import Trace

#: A neuron is active where its activation is above this; with ReLU, above 0. GELU and SiLU are never exactly 0, and
#: their small negative values, down to -0.17 and -0.28, are not activity.
ACTIVE_ABOVE = 0.1

_NAMES = {
    "relu": r"\mathrm{ReLU}", "relu2": r"\mathrm{ReLU}^2", "gelu": r"\mathrm{GELU}",
    "gelu_tanh": r"\mathrm{GELU}", "gelu_rounded": r"\mathrm{GELU}", "quick_gelu": r"\mathrm{GELU}",
    "silu": r"\mathrm{SiLU}",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class FeedForwardStep:
    """The feed-forward layer of one token."""

    place: Place
    #: [D]: its input.
    x: Floats
    #: [F]: x W_in + b.
    linear: Floats
    #: [F] or None.
    gate: Floats | None
    #: [E]: the weight of each expert, 0 where the router does not choose it; None without experts.
    routes: Floats | None
    #: [F]: act(linear), times the gate, times the weight of the neuron's expert.
    hidden: Floats
    #: [D]: the selected neuron's weights.
    column: Floats
    #: [D]: x_d W_dn.
    terms: Floats
    #: [D]: what the neuron adds to the residual stream per unit of activation.
    outgoing: Floats
    #: [D]: hidden W_out + b.
    output: Floats
    #: Of the selected component of the output.
    output_bias: float
    #: [F]: the products that the selected component sums.
    output_terms: Floats
    formula: Formula
    output_formula: Formula
    part: Sublayer = "ffn"

    def strongest(self, count: int = 10) -> NDArray[np.integer]:
        """The neurons with the largest absolute activation, the strongest first."""
        return np.argsort(-np.abs(self.hidden), kind="stable")[:count]

    def expert(self, neuron: int) -> tuple[int, float] | None:
        """The expert that a neuron belongs to, and its weight at this token; None without experts."""
        if self.routes is None:
            return None
        expert = int(neuron) * len(self.routes) // len(self.hidden)
        return expert, float(self.routes[expert])

    def check(self, reference: Recomputation) -> tuple[Check, ...]:
        """The hidden activations, the selected neuron's products and the output, from ids and weights."""
        at = self.place
        column = reference.of_layer(at.layer, f"{self.part}.w_in.weight")[at.neuron]
        x = reference.input(at.layer, self.part)[at.query]
        routes = None if self.routes is None else reference.routes(at.layer)
        chosen: tuple[Check, ...] = ()
        if routes is not None and self.routes is not None:
            chosen = (reference.check("experts", self.routes, routes[at.query]),)
        return (
            *chosen,
            reference.check("hidden", self.hidden, reference.hidden(at.layer, self.part)[at.query], (at.neuron,)),
            reference.check("products", self.terms, x * column),
            reference.check(
                "FFN output", self.output, reference.result(at.layer, self.part)[at.query], (at.component,)
            ),
        )


@dataclass(frozen=True, eq=False)
class HiddenActivations:
    """The hidden activations of all tokens, and which neurons are active: those whose strength is above `threshold`."""

    #: [T, F].
    hidden: Floats
    #: [T, F]: what is compared with the threshold, see `strength`.
    strength: Floats
    #: 0 for ReLU without a gate.
    threshold: float
    #: [T, F].
    active: NDArray[np.bool_]

    @property
    def active_share(self) -> float:
        """Share of all activations that are active."""
        return float(self.active.mean())

    @property
    def active_by_token(self) -> Floats:
        """[T]: share of each token's neurons that are active."""
        return self.active.mean(axis=1)

    @property
    def never(self) -> NDArray[np.bool_]:
        """[F]: neurons that are active at no token."""
        return np.asarray(~self.active.any(axis=0), dtype=np.bool_)


def strength(hidden: Floats, config: EncoderConfig) -> Floats:
    """The activations themselves; their sizes where a gate, which may be negative, gives them their sign."""
    return np.abs(hidden) if config.gated else hidden


def active_above(config: EncoderConfig, threshold: float = ACTIVE_ABOVE) -> float:
    """The strength above which a neuron is active: the threshold, or 0 where ReLU makes others exactly 0."""
    return 0.0 if config.activation in ("relu", "relu2") and not config.gated else threshold


def feed_forward(trace: Trace, place: Place, part: Sublayer = "ffn") -> FeedForwardStep:
    """The feed-forward layer of token i, or the layer's adapter, which has the same form."""
    config = trace.config
    place = place.checked(config, trace.n_tokens, config.d_model)
    module = neurons_of(trace, place.layer, part)
    i, n, d = place.query, place.neuron, place.component
    if n >= module.w_in.out_features:
        raise EncoderError(f"No neuron {n} here: choose 0 to {module.w_in.out_features - 1}.")
    entering = sublayer_input(trace, place.layer, part, i)
    x = array(entering)
    w_in, w_out, shift = weight(module.w_in), weight(module.w_out), bias(module.w_out)
    up, gated_by, activated = hidden_of(trace, place.layer, entering, part)
    routed = expert_weights(trace, place.layer) if part == "ffn" else None
    linear, gate, hidden = array(up), None if gated_by is None else array(gated_by), array(activated)
    output = array(apply(module.w_out, activated))
    output_terms = hidden * w_out[:, d]
    routes = None if routed is None else routed[i]
    return FeedForwardStep(
        place=place,
        x=x,
        linear=linear,
        gate=gate,
        routes=routes,
        hidden=hidden,
        column=w_in[:, n],
        terms=x * w_in[:, n],
        outgoing=w_out[n],
        output=output,
        output_bias=0.0 if shift is None else float(shift[d]),
        output_terms=output_terms,
        formula=_formula(
            place,
            config.activation,
            x,
            (module.w_in, linear),
            None if module.w_gate is None or gate is None else (module.w_gate, gate),
            routes,
            hidden,
        ),
        output_formula=_output_formula(place, hidden, w_out[:, d], shift, output),
        part=part,
    )


@torch.no_grad()
def expert_weights(trace: Trace, layer: int) -> Floats | None:
    """[T, E]: the weight that the router gives each expert, 0 where it does not choose it; None without experts."""
    module = trace.encoder.block(layer).ffn
    found = module.routes(sublayer_input(trace, layer, "ffn").to(module.w_in.weight.dtype))
    return None if found is None else array(found)


def hidden_activations(trace: Trace, layer: int, threshold: float = ACTIVE_ABOVE) -> HiddenActivations:
    """The hidden activations of all tokens; active: above `threshold`, for ReLU above 0."""
    Place(layer=layer).checked(trace.config, trace.n_tokens)
    x = sublayer_input(trace, layer, "ffn")
    hidden = array(hidden_of(trace, layer, x)[2])
    sizes, limit = strength(hidden, trace.config), active_above(trace.config, threshold)
    return HiddenActivations(hidden, sizes, limit, np.greater(sizes, limit))


def _formula(
    place: Place,
    activation: str,
    x: Floats,
    up: tuple[nn.Linear, Floats],
    gate: tuple[nn.Linear, Floats] | None,
    routes: Floats | None,
    hidden: Floats,
) -> Formula:
    """up, gate: a matrix and its result for x, [F]; routes [E]: weights of the experts."""
    i, n, name = place.query, place.neuron, _NAMES[activation]
    summed, product, times = [("a", "in", *up)], "", ""
    if gate is not None:
        summed.append(("g", "gate", *gate))
        product, times = r"\, g_{i,n}", rf" \cdot {bracketed(gate[1][n])}"
    if routes is not None:  # neuron n belongs to expert e
        product, times = product + r"\, r_{i,e}", times + rf" \cdot {number(routes[n * len(routes) // len(hidden)])}"
    rules, numbers = [], []
    for letter, which, module, values in summed:
        shift = bias(module)
        added = "" if shift is None else rf" + b^{{\mathrm{{{which}}}}}_n"
        start = [] if shift is None else [bracketed(shift[n])]
        rules.append(rf"{letter}_{{i,n}} = \sum_{{d=0}}^{{D-1}} x_{{i,d}}\, W^{{\mathrm{{{which}}}}}_{{d,n}}{added}")
        terms = long_sum(products(x, weight(module)[:, n]) + start)
        numbers.append((rf"{letter}_{{{i},{n}}}", [terms, number(values[n])]))
    rules.append(rf"h_{{i,n}} = {name}(a_{{i,n}}){product}")  # last, as its number is
    numbers.append((rf"h_{{{i},{n}}}", [f"{name}({number(up[1][n])}){times}", number(hidden[n])]))
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
