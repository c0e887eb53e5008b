"""Queries, keys, values: x W + b for one token and one head, and the rotation of rotary positions.

Shapes: T tokens, D d_model, H heads, K width of a head.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from encoder.explain import arithmetic
from encoder.explain.arithmetic import Floats
from encoder.explain.latex import Formula, bracketed, calculation, coloured, column, long_sum, number, products, stack
from encoder.explain.place import Place
from encoder.explain.reference import Check, Recomputation
from encoder.explain.source import apply, array, bias, sublayer_input, weight
from encoder.model.config import EncoderConfig
from encoder.model.rotary import rotate
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

    Where heads share keys and values, weight and bias are those of the shared head.
    """

    which: Which
    place: Place
    #: Query i for q, key j for k and v.
    token: int
    #: [D]: the token's vector.
    x: Floats
    #: [D, K]: the head's columns of W.
    weight: Floats
    #: [K] or None.
    bias: Floats | None
    #: [D]: x_d W_dc.
    terms: Floats
    #: Their sum with the bias.
    total: float
    #: [K].
    projected: Floats
    #: [K]: after the norm of q and k; None without one.
    normed: Floats | None
    #: None where this component does not rotate.
    rotation: Rotation | None
    #: [K]: as the scores use it.
    vector: Floats
    #: The heads of queries that use this vector.
    heads: tuple[int, ...]

    @property
    def shared_by(self) -> tuple[int, ...]:
        """The heads of queries that use this key or value, where several do; empty for a query."""
        return () if self.which == "q" or len(self.heads) < 2 else self.heads

    @property
    def column(self) -> Floats:
        """[D]: the selected column of W."""
        return self.weight[:, self.place.component]

    @property
    def value(self) -> float:
        """The selected number, as the scores use it."""
        return float(self.vector[self.place.component])

    @property
    def formula(self) -> Formula:
        """The selected number, before a norm and the rotation."""
        c, index, name = self.place.component, ("i" if self.which == "q" else "j"), self.which.upper()
        shift = "" if self.bias is None else rf" + b^{{{name}}}_c"
        start = [] if self.bias is None else [bracketed(self.bias[c])]
        sums = [long_sum(products(self.x, self.column) + start)]
        sums += [" + ".join([number(float(self.terms.sum())), *start])]
        sums += [number(self.projected[c])] if start else []
        left = coloured(self.which, rf"{self.which}_{{{index},c}}")
        return Formula(
            symbols=rf"{left} = \sum_{{d=0}}^{{D-1}} x_{{{index},d}}\, W^{{{name}}}_{{d,c}}{shift}",
            numbers=calculation((coloured(self.which, rf"{self.which}_{{{self.token},{c}}}"), sums)),
        )

    def check(self, reference: Recomputation) -> tuple[Check, ...]:
        """The vector, and the products of the selected number, from ids and weights."""
        at = self.place
        vector = reference.qkv(at.layer, self.which)[at.head, self.token]
        head = at.head if self.which == "q" else reference.config.kv_head(at.head)
        column = reference.of_layer(at.layer, f"attention.w_{self.which}.weight")[
            head * len(self.vector) + at.component
        ]
        terms = reference.entering(at.layer, self.which)[self.token] * column
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
    head = place.head if which == "q" else config.kv_head(place.head)
    own_columns = slice(head * config.d_head, (head + 1) * config.d_head)
    entering = sublayer_input(trace, place.layer, "attention", token)
    if config.rotary_input and which != "v":
        entering = turned(trace, place.layer, entering, token)
    whole = apply(module, entering)
    x, projected = array(entering), array(whole[own_columns])
    normed = normed_head(trace, place.layer, which, whole, own_columns)
    head_weight = weight(module)[:, own_columns]
    whole_bias = bias(module)
    head_bias = None if whole_bias is None else whole_bias[own_columns]
    terms = x * head_weight[:, place.component]
    rotation, vector = None, projected_matrix(trace, place, which, slice(token, token + 1))[0]
    if config.position == "rotary" and not config.rotary_input and which != "v":
        base, scaling = config.rotary_of_layer(place.layer)
        before = projected if normed is None else normed
        if config.rotary_table and place.component < config.rotary_width:
            rotation = _rotation_by_table(trace, place, which, token, before, vector)
        elif config.rotary_grid and place.component < config.rotary_width:
            rotation = _rotation_by_place(trace, place, which, token, before, vector)
        elif place.component < config.rotary_width:
            places, plain = config.rotary_sign * np.array([token]), scaling is None
            angle = arithmetic.rotary_angles(places, config.rotary_width, base, scaling)[0]
            rotation = _rotation(which, token, place.component, base if plain else None, angle, before, vector, config)
    start = 0.0 if head_bias is None else float(head_bias[place.component])
    return Projection(
        heads=tuple(other for other in range(config.n_heads) if config.kv_head(other) == config.kv_head(place.head)),
        which=which,
        place=place,
        token=token,
        x=x,
        weight=head_weight,
        bias=head_bias,
        terms=terms,
        total=float(terms.sum() + start),
        projected=projected,
        normed=normed,
        rotation=rotation,
        vector=vector,
    )


@torch.no_grad()
def normed_head(trace: Trace, layer: int, which: Which, whole: Tensor, own: slice) -> Floats | None:
    """[K]: q or k of one token and head after its norm; None without one. whole: q or k of all heads."""
    attention = trace.encoder.block(layer).attention
    norm = {"q": attention.q_norm, "k": attention.k_norm, "v": None}[which]
    if norm is None:
        return None
    return array(norm(whole[own]) if trace.config.qk_norm == "head" else norm(whole)[own])


@torch.no_grad()
def turned(trace: Trace, layer: int, x: Tensor, token: int) -> Tensor:
    """x [D] of a token in H parts, turned by its position (`EncoderConfig.rotary_input`)."""
    config, position = trace.config, trace.contexts[layer].encoded[token : token + 1]
    parts = x.view(config.n_heads, 1, config.d_head)
    return rotate(parts, *trace.encoder.rotation(layer, position), config.rotary_interleaved).flatten()


def projected_matrix(trace: Trace, place: Place, which: Which, rows: slice = slice(None)) -> Floats:
    """[T, K] (or some rows): q, k or v of the head as recorded."""
    return array(trace.layer_qkv(place.layer)["qkv".index(which)][place.head, rows])


def _pair(c: int, config: EncoderConfig) -> tuple[int, int, int]:
    """The number of the pair that component c belongs to, and its first and second component."""
    half = config.rotary_width // 2
    index = c // 2 if config.rotary_interleaved else c % half
    return (index, 2 * index, 2 * index + 1) if config.rotary_interleaved else (index, index, index + half)


def _rotation_by_place(trace: Trace, place: Place, which: Which, token: int, before: Floats, after: Floats) -> Rotation:
    """The rotation by a patch's place. In V-JEPA 2 both components of a pair have an angle of their own."""
    config, half = trace.config, trace.config.rotary_width // 2
    index, first, second = _pair(place.component, config)
    encoded = trace.contexts[place.layer].encoded[token : token + 1]
    cos, sin = (array(one[0]) for one in trace.encoder.rotation(place.layer, encoded))
    angles = [math.atan2(float(sin[at]), float(cos[at])) for at in (index, index + half)]
    names = [r"\theta"] * 2 if angles[0] == angles[1] else [rf"\theta_{{{first}}}", rf"\theta_{{{second}}}"]
    a, b = (coloured(which, rf"{which}_{{{one}}}") for one in (first, second))
    matrix = rf"\begin{{pmatrix}} \cos{names[0]} & -\sin{names[0]} \\ \sin{names[1]} & \cos{names[1]} \end{{pmatrix}}"
    said = dict(zip(names, map(number, angles), strict=True))
    old, new = ((float(one[first]), float(one[second])) for one in (before, after))
    columns = [column(*map(number, one)) for one in (old, new)]
    formula = Formula(
        symbols=stack(rf"{column(a, b)}' = {matrix} {column(a, b)}"),
        numbers=stack(*(f"{name} = {angle}" for name, angle in said.items()), f"{columns[1]} = {matrix} {columns[0]}"),
    )
    return Rotation((first, second), angles[0], old, new, formula)


@torch.no_grad()
def _rotation_by_table(trace: Trace, place: Place, which: Which, token: int, before: Floats, after: Floats) -> Rotation:
    """The rotation by a row of the table in the weights, whose sines and cosines need not be those of an angle."""
    index, first, second = _pair(place.component, trace.config)
    encoded = trace.contexts[place.layer].encoded[token : token + 1]
    cos, sin = (float(one[0, index]) for one in trace.encoder.rotation(place.layer, encoded))
    a, b = (coloured(which, rf"{which}_{{{one}}}") for one in (first, second))
    old, new = ((float(one[first]), float(one[second])) for one in (before, after))
    columns = [column(*map(number, one)) for one in (old, new)]

    def matrix(c: str, s: str, minus: str) -> str:
        return rf"\begin{{pmatrix}} {c} & {minus} \\ {s} & {c} \end{{pmatrix}}"

    c, s = (rf"{name}_{{p,{index}}}" for name in ("C", "S"))
    formula = Formula(
        symbols=stack(rf"{column(a, b)}' = {matrix(c, s, '-' + s)} {column(a, b)}", rf"p = {int(encoded)}"),
        numbers=stack(rf"{columns[1]} = {matrix(number(cos), number(sin), number(-sin))} {columns[0]}"),
    )
    return Rotation((first, second), math.atan2(sin, cos), old, new, formula)


def _rotation(
    which: Which,
    token: int,
    c: int,
    base: float | None,
    angle: Floats,
    before: Floats,
    after: Floats,
    config: EncoderConfig,
) -> Rotation:
    """base: None where the frequencies are scaled."""
    width = config.rotary_width
    pair_index, first, second = _pair(c, config)
    turn, minus = float(angle[pair_index]), "-" if config.rotary_reversed else ""
    a, b = coloured(which, rf"{which}_{{{first}}}"), coloured(which, rf"{which}_{{{second}}}")
    pair = column(number(before[first]), number(before[second]))
    turned = column(number(after[first]), number(after[second]))
    matrix = r"\begin{pmatrix} \cos\theta & -\sin\theta \\ \sin\theta & \cos\theta \end{pmatrix}"
    size = "K" if width == config.d_head else "R"
    index = r"\lfloor c / 2 \rfloor" if config.rotary_interleaved else rf"c \bmod \tfrac{{{size}}}{{2}}"
    if base is None:
        angle_in_symbols = rf"\theta = {minus}p\,\omega_m, \quad m = {index}"
        angle_in_numbers = rf"\theta = {minus}{token} \cdot {number(abs(turn) / max(token, 1))} = {number(turn)}"
    else:
        angle_in_symbols = rf"\theta = {minus}\frac{{p}}{{\beta^{{2m/{size}}}}}, \quad m = {index}"
        divisor = rf"{base:.0f}^{{2 \cdot {pair_index} / {width}}}"
        angle_in_numbers = rf"\theta = {minus}\frac{{{token}}}{{{divisor}}} = {number(turn)}"
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
