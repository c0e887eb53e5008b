"""The weighted sum: each weight x v_j, summed to z_i; the heads side by side; x W_O + b, and
each head's share in the result.

Shapes: T tokens (query i, keys j), H heads, K width of a head, D d_model.
"""

from dataclasses import dataclass

import numpy as np
import torch

from encoder.explain.arithmetic import Floats
from encoder.explain.latex import Formula, bracketed, calculation, coloured, long_sum, number, products, summands
from encoder.explain.place import Place
from encoder.explain.reference import Check, Recomputation
from encoder.explain.source import apply, array, bias, weight
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """z of one token and head. weights [T]; values [T, K]; weighted [T, K]: alpha_ij v_j; z [K]: its sum over j."""

    place: Place
    weights: Floats
    values: Floats
    weighted: Floats
    z: Floats

    @property
    def terms(self) -> Floats:
        """[T]: the contribution of every token to the selected component."""
        return self.weighted[:, self.place.component]

    @property
    def formula(self) -> Formula:
        """The selected component of z."""
        i, c = self.place.query, self.place.component
        terms = products(self.weights, self.values[:, c], ("", "v"), chosen=self.place.key)
        v = coloured("v", r"v_{j,c}")
        return Formula(
            symbols=rf"z_{{i,c}} = \sum_{{j=0}}^{{T-1}} \alpha_{{i,j}}\, {v}",
            numbers=calculation((rf"z_{{{i},{c}}}", [long_sum(terms), number(self.z[c])])),
        )

    def check(self, reference: Recomputation) -> tuple[Check, ...]:
        """z and the terms behind the selected component, from ids and weights."""
        at = self.place
        v = reference.qkv(at.layer, "v")[at.head]
        row = reference.attention(at.layer, at.head, [at.query])[0]
        return (
            reference.check("z", self.z, reference.z(at.layer)[at.head, at.query], (at.component,)),
            reference.check(
                "weighted values",
                self.terms,
                row * v[:, at.component] * reference.gate(at.layer)[at.head, at.query],
                (at.key,),
            ),
        )


@dataclass(frozen=True, eq=False)
class OutputProjection:
    """The output of attention for one token, head by head.

    z [H, K]; contributions [H, D]: z_h W_O; bias [D]; result [D]: their sum; shares [H + 1]: each head's, and last the
    bias's, share of the result, (contribution . result) / |result|^2. The shares sum to 1; a negative one points
    against the result. norms [H]: norms of the contributions.
    """

    place: Place
    z: Floats
    contributions: Floats
    bias: Floats
    result: Floats
    shares: Floats
    norms: Floats

    @property
    def formula(self) -> Formula:
        """The selected component of the result."""
        i, d = self.place.query, self.place.component
        parts = [*summands(self.contributions[:, d], chosen=self.place.head), bracketed(self.bias[d])]
        together = r"[z_i^0 \,\Vert\, \dots \,\Vert\, z_i^{H-1}]\, W^O + b^O"
        return Formula(
            symbols=calculation(("o_i", [together, r"\sum_{h=0}^{H-1} z_i^h\, W^O_h + b^O"])),
            numbers=calculation((rf"o_{{{i},{d}}}", [long_sum(parts), number(self.result[d])])),
        )

    def check(self, reference: Recomputation) -> tuple[Check, ...]:
        """The result and the selected head's contribution, from ids and weights."""
        at = self.place
        width = self.z.shape[1]
        columns = reference.of_layer(at.layer, "attention.w_o.weight")[:, at.head * width : (at.head + 1) * width]
        contribution = columns @ reference.z(at.layer)[at.head, at.query]
        return (
            reference.check(
                "attention output",
                self.result,
                reference.result(at.layer, "attention")[at.query],
                (at.component,),
            ),
            reference.check("head's contribution", self.contributions[at.head], contribution, (at.component,)),
        )


def weighted_sum(trace: Trace, place: Place) -> WeightedSum:
    """The weighted sum of values of one token and head."""
    place = place.checked(trace.config, trace.n_tokens, trace.config.d_head)
    i = place.query
    row, v = trace.attention(place.layer, place.head, slice(i, i + 1)), trace.layer_qkv(place.layer)[2][place.head]
    weights, values = array(row[0]), array(v)
    z = array(trace.gated(row[0] @ v.float(), place.layer, place.head, i))
    weighted = weights[:, None] * values * array(trace.gated(torch.ones(1), place.layer, place.head, i))
    return WeightedSum(place, weights, values, weighted, z)


def output_projection(trace: Trace, place: Place) -> OutputProjection:
    """z of all heads, the product of each with W_O, and their sum: the output of attention for token i."""
    config = trace.config
    place = place.checked(config, trace.n_tokens, config.d_model)
    i = place.query
    rows = trace.layer_attention(place.layer, slice(i, i + 1))  # [H, 1, T]
    rows = rows @ trace.layer_qkv(place.layer)[2].float()
    heads = trace.gated(rows, place.layer, queries=slice(i, i + 1))[:, 0]  # [H, K]
    if any(edit.at("z", place.layer) for edit in trace.edits):
        heads = torch.stack([trace.z(place.layer, head)[i].float() for head in range(config.n_heads)])
    z = array(heads)
    module = trace.encoder.block(place.layer).attention.w_o
    by_head = weight(module).reshape(config.n_heads, config.d_head, config.d_model)
    contributions = np.einsum("hk,hkd->hd", z, by_head)
    shift = bias(module)
    shift = np.zeros(config.d_model, dtype=np.float32) if shift is None else shift
    parts = np.concatenate((contributions, shift[None]))
    total = parts.sum(axis=0)
    result = array(apply(module, heads.flatten()))
    return OutputProjection(
        place=place,
        z=z,
        contributions=contributions,
        bias=shift,
        result=result,
        shares=parts @ total / (float(total @ total) or 1.0),
        norms=np.linalg.norm(contributions, axis=1),
    )
