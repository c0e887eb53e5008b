"""Step 3, queries, keys, values: x W + b for one token and one head, and the rotation of rotary positions.

Shapes: T tokens, D d_model, H heads, K width of a head.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from torch import nn

from encoder.explain import arithmetic
from encoder.explain.arithmetic import Floats
from encoder.explain.latex import Formula, bracketed, calculation, coloured, column, long_sum, number, products, stack
from encoder.explain.place import Place
from encoder.explain.reference import Check, Recomputation
from encoder.explain.source import apply, array, bias, sublayer_input, weight
from encoder.trace.trace import Trace

Which = Literal["q", "k", "v"]


@dataclass(frozen=True, eq=False)
class Rotation:
    """The pair of components that rotary positions rotate together. angle: radians; before, after: (first, second)."""

    pair: tuple[int, int]
    angle: float
    before: tuple[float, float]
    after: tuple[float, float]
    formula: Formula


@dataclass(frozen=True, eq=False)
class Projection:
    """One number of q, k or v.

    x [D]: the token's vector (x_name: the hook point); weight [D, K]: the head's columns of W; bias [K] or
    None; terms [D]: x_d W_dc; total: their sum with the bias; projected [K]; rotation: None where positions are not
    rotary; vector [K]: as the scores use it. token: query i for q, key j for k and v.
    """

    which: Which
    place: Place
    token: int
    label: str
    x_name: str
    x: Floats
    weight: Floats
    bias: Floats | None
    terms: Floats
    total: float
    projected: Floats
    rotation: Rotation | None
    vector: Floats
    formula: Formula

    @property
    def column(self) -> Floats:
        """[D]: the selected column of W."""
        return self.weight[:, self.place.component]

    @property
    def value(self) -> float:
        """The selected number, as the scores use it."""
        return float(self.vector[self.place.component])

    def check(self, reference: Recomputation) -> tuple[Check, ...]:
        """The vector, and the products of the selected number, from ids and weights."""
        at = self.place
        vector = reference.qkv(at.layer, self.which)[at.head, self.token]
        column = reference.of_layer(at.layer, f"attention.w_{self.which}.weight")[
            at.head * len(self.vector) + at.component
        ]
        terms = reference.input(at.layer, "attention")[self.token] * column
        return (
            reference.check(self.which, self.vector, vector, (at.component,)),
            reference.check("products", self.terms, terms),
        )


def projection(trace: Trace, place: Place, which: Which) -> Projection:
    """q of the query token, or k or v of the key token: row of x, column of W, products, sum, rotation."""
    config = trace.config
    place = place.checked(config, trace.n_tokens, config.d_head)
    token = place.query if which == "q" else place.key
    module: nn.Linear = getattr(trace.encoder.block(place.layer).attention, f"w_{which}")
    own_columns = slice(place.head * config.d_head, (place.head + 1) * config.d_head)
    x_name, entering = sublayer_input(trace, place.layer, "attention", token)
    x, projected = array(entering), array(apply(module, entering)[own_columns])
    head_weight = weight(module)[:, own_columns]
    whole_bias = bias(module)
    head_bias = None if whole_bias is None else whole_bias[own_columns]
    terms = x * head_weight[:, place.component]
    rotation, vector = None, projected_matrix(trace, place, which, slice(token, token + 1))[0]
    if config.position == "rotary" and which != "v":
        base = config.rotary_base_of_layer(place.layer)
        angle = arithmetic.rotary_angles(np.array([token]), config.d_head, base)
        rotation = _rotation(which, token, place.component, base, angle[0], projected, vector)
    start = 0.0 if head_bias is None else float(head_bias[place.component])
    return Projection(
        which=which,
        place=place,
        token=token,
        label=trace.labels[token],
        x_name=x_name,
        x=x,
        weight=head_weight,
        bias=head_bias,
        terms=terms,
        total=float(terms.sum() + start),
        projected=projected,
        rotation=rotation,
        vector=vector,
        formula=_formula(which, token, place.component, x, head_weight, head_bias, terms, projected),
    )


def projected_matrix(trace: Trace, place: Place, which: Which, rows: slice = slice(None)) -> Floats:
    """[T, K] (or some rows): q, k or v of the head as recorded."""
    return array(trace.layer_qkv(place.layer)["qkv".index(which)][place.head, rows])


def _formula(
    which: Which, token: int, c: int, x: Floats, weight: Floats, bias: Floats | None, terms: Floats, projected: Floats
) -> Formula:
    index, name = ("i" if which == "q" else "j"), which.upper()
    shift = "" if bias is None else rf" + b^{{{name}}}_c"
    start = [] if bias is None else [bracketed(bias[c])]
    sums = [long_sum(products(x, weight[:, c]) + start), " + ".join([number(float(terms.sum())), *start])]
    sums += [number(projected[c])] if start else []
    left = coloured(which, rf"{which}_{{{index},c}}")
    return Formula(
        symbols=rf"{left} = \sum_{{d=0}}^{{D-1}} x_{{{index},d}}\, W^{{{name}}}_{{d,c}}{shift}",
        numbers=calculation((coloured(which, rf"{which}_{{{token},{c}}}"), sums)),
    )


def _rotation(which: Which, token: int, c: int, base: float, angle: Floats, before: Floats, after: Floats) -> Rotation:
    half = len(before) // 2
    first, second = c % half, c % half + half
    turn = float(angle[first])
    a, b = coloured(which, rf"{which}_{{{first}}}"), coloured(which, rf"{which}_{{{second}}}")
    pair = column(number(before[first]), number(before[second]))
    turned = column(number(after[first]), number(after[second]))
    matrix = r"\begin{pmatrix} \cos\theta & -\sin\theta \\ \sin\theta & \cos\theta \end{pmatrix}"
    angle_in_symbols = r"\theta = \frac{p}{\beta^{2m/K}}, \quad m = c \bmod \tfrac{K}{2}"
    angle_in_numbers = rf"\theta = \frac{{{token}}}{{{base:.0f}^{{2 \cdot {first} / {len(before)}}}}} = {number(turn)}"
    formula = Formula(
        symbols=stack(rf"{column(a, b)}' = {matrix} {column(a, b)}", angle_in_symbols),
        numbers=stack(angle_in_numbers, rf"{turned} = {matrix} {pair}"),
    )
    return Rotation(
        (first, second),
        turn,
        (float(before[first]), float(before[second])),
        (float(after[first]), float(after[second])),
        formula,
    )
