"""Step 2, the embedding: one-hot x table is a row of the table; segment and position are added; a norm, a projection.

Shapes: T tokens, V vocabulary, E width of the tables (D unless they are factorised), D d_model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from encoder.config import EncoderConfig
from encoder.errors import EncoderError
from encoder.explain import arithmetic
from encoder.explain.arithmetic import Floats
from encoder.explain.float64_reference import Check, Recomputation, compare
from encoder.explain.latex import Formula, bracketed, calculation, number, stack
from encoder.explain.place import Place
from encoder.explain.source import array, bias, label, mask, segment_ids, value, weight
from encoder.trace import Trace

#: Rows of the token table that are shown above and below the one that is looked up.
NEIGHBOURS = 3


@dataclass(frozen=True, eq=False)
class Lookup:
    """one-hot [V] x table [V, E], really multiplied. table: the rows first_row ... of it; product [E]; row [E] read
    directly."""

    id: int
    first_row: int
    table: Floats
    product: Floats
    row: Floats

    @property
    def difference(self) -> float:
        """Largest difference between the product and the row that is read directly."""
        return float(np.abs(self.product - self.row).max())


@dataclass(frozen=True, eq=False)
class EmbeddingStep:
    """Token i on its way from id to vector.

    token, segment, position: [E], None where the model adds none; total [E]: their sum; normalised [E]: after the
    embedding norm, None without one; output [D]: what enters layer 0. position_formula: where this component's position
    number comes from.
    """

    place: Place
    label: str
    id: int
    segment_id: int
    position_row: int
    token: Floats
    segment: Floats | None
    position: Floats | None
    total: Floats
    normalised: Floats | None
    output: Floats
    formula: Formula
    position_formula: Formula | None

    def check(self, reference: Recomputation) -> tuple[Check, ...]:
        """The sum and the vector that enters layer 0, from the id and the tables."""
        i, c, dtype = self.place.query, self.place.component, reference.dtype
        out = min(c, len(self.output) - 1)
        return (
            compare("sum", self.total, reference.embedding_sum()[i], (min(c, len(self.total) - 1),), dtype),
            compare("embedding", self.output, reference.embedding()[i], (out,), dtype),
        )


def lookup(trace: Trace, query: int) -> Lookup:
    """Multiply the one-hot vector of token `query` with the whole table, and read the row directly."""
    table = array(trace.encoder.embedding.tokens.weight)
    row = trace.ids[query]
    one_hot = np.zeros(len(table), dtype=np.float32)
    one_hot[row] = 1.0
    first = min(max(row - NEIGHBOURS, 0), max(0, len(table) - 2 * NEIGHBOURS - 1))
    return Lookup(row, first, table[first : first + 2 * NEIGHBOURS + 1], one_hot @ table, table[row])


def embedding(trace: Trace, place: Place) -> EmbeddingStep:
    """Token i: its row of the table, segment, position, their sum, the norm, the projection. Raises EncoderError for
    images."""
    config = trace.config
    if config.patches is not None:
        raise EncoderError("This model reads patches of an image: there is no table of words to look into.")
    place = place.checked(config, trace.n_tokens, max(config.embedding_width, config.d_model))
    i, module = place.query, trace.encoder.embedding
    token = value(trace, "embedding.tokens", i)
    segment = value(trace, "embedding.segments", i) if "embedding.segments" in trace.values else None
    position = None if trace.position is None else array(trace.position[i])
    total = np.sum([part for part in (token, segment, position) if part is not None], axis=0)
    out, normalised = total, None
    if module.norm is not None:
        out = normalised = arithmetic.layer_norm(total, array(module.norm.weight), bias(module.norm), module.norm.eps)
    if module.projection is not None:
        out = arithmetic.linear(out, weight(module.projection), bias(module.projection))
    return EmbeddingStep(
        place=place,
        label=label(trace, i),
        id=trace.ids[i],
        segment_id=int(segment_ids(trace)[i]),
        position_row=position_row(trace, i),
        token=token,
        segment=segment,
        position=position,
        total=total,
        normalised=normalised,
        output=out,
        formula=_formula(place, token, segment, position, total, trace.ids[i]),
        position_formula=_position_formula(config, place, position),
    )


def position_row(trace: Trace, token: int) -> int:
    """Row of the position table that a token takes; its place in the text where there is no table."""
    config = trace.config
    if config.position != "learned":
        return token
    if config.pad_position is None:
        return token + config.position_offset
    real = (np.array(trace.ids) != config.pad_id) & mask(trace)  # a padding token that was typed is padding, too
    return config.position_offset + int(real[:token].sum()) if real[token] else config.pad_position


def _formula(
    place: Place, token: Floats, segment: Floats | None, position: Floats | None, total: Floats, row: int
) -> Formula:
    i, c = place.query, min(place.component, len(total) - 1)
    names, values = ["E_{t_i}"], [token[c]]
    for name, vector in (("S_{s_i}", segment), ("P_i", position)):
        if vector is not None:
            names.append(name)
            values.append(vector[c])
    return Formula(
        symbols=stack(r"x_i = " + " + ".join(names), rf"t_{{{i}}} = {row}"),
        numbers=calculation((rf"x_{{{i},{c}}}", [" + ".join(bracketed(entry) for entry in values), number(total[c])])),
    )


def _position_formula(config: EncoderConfig, place: Place, position: Floats | None) -> Formula | None:
    """The sine or cosine behind one component; None where the encoding has no formula (learned) or adds nothing."""
    if config.position != "sinusoidal" or position is None:
        return None
    width, p = config.embedding_width, place.query
    c = min(place.component, width - 1)
    wave = r"\sin" if c % 2 == 0 else r"\cos"
    angle = p / 10_000.0 ** ((c - c % 2) / width)
    turn = rf"{wave}\frac{{{p}}}{{10000^{{{c - c % 2}/{width}}}}}"
    return Formula(
        symbols=stack(r"P_{p,2i} = \sin\frac{p}{10000^{2i/D}}", r"P_{p,2i+1} = \cos\frac{p}{10000^{2i/D}}"),
        numbers=calculation((rf"P_{{{p},{c}}}", [turn, rf"{wave}({number(angle)})", number(position[c])])),
    )
