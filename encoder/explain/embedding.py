"""Step 2, the embedding: a row of the table, plus segment and position, then a norm and a projection.

Shapes: T tokens, V vocabulary, E width of the tables (D unless they are factorised), D d_model.
"""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from encoder.config import EncoderConfig
from encoder.errors import EncoderError
from encoder.explain import arithmetic
from encoder.explain.arithmetic import Floats
from encoder.explain.comparison import Check, compare
from encoder.explain.float64_reference import Recomputation
from encoder.explain.latex import Formula, bracketed, calculation, number, stack
from encoder.explain.place import Place
from encoder.explain.source import apply, array, label, mask, normalise, segment_ids, value
from encoder.trace import Trace

#: Rows of the token table on each side of the selected one.
NEIGHBOURS = 3


@dataclass(frozen=True, eq=False)
class Lookup:
    """The product one-hot [V] x table [V, E]. table: rows from first_row on; product [E]; row [E]: read directly."""

    id: int
    first_row: int
    table: Floats
    product: Floats
    row: Floats

    @property
    def difference(self) -> float:
        """Largest difference between the product and the row."""
        return float(np.abs(self.product - self.row).max())


@dataclass(frozen=True, eq=False)
class EmbeddingStep:
    """The embedding of token i.

    token, segment, position: [E], None where the model adds none; total [E]: their sum; normalised [E]: after the
    embedding norm, None without one; output [D]: the input of layer 0. position_formula: of this component's position.
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
        """The sum and the input of layer 0, from the id and the tables."""
        i, c, dtype = self.place.query, self.place.component, reference.dtype
        out = min(c, len(self.output) - 1)
        return (
            compare("sum", self.total, reference.embedding_sum()[i], (min(c, len(self.total) - 1),), dtype),
            compare("embedding", self.output, reference.embedding()[i], (out,), dtype),
        )


def lookup(trace: Trace, query: int) -> Lookup:
    """Multiply the one-hot vector of token `query` by the whole table, and read the row directly."""
    table = array(_token_table(trace))
    row = trace.ids[query]
    one_hot = np.zeros(len(table), dtype=np.float32)
    one_hot[row] = 1.0
    first = min(max(row - NEIGHBOURS, 0), max(0, len(table) - 2 * NEIGHBOURS - 1))
    return Lookup(row, first, table[first : first + 2 * NEIGHBOURS + 1], one_hot @ table, table[row])


def embedding(trace: Trace, place: Place) -> EmbeddingStep:
    """Token i: its row of the table, segment, position, their sum, the norm, the projection. Raises EncoderError for
    another input than text."""
    config = trace.config
    if not config.takes_text:
        raise EncoderError("This model takes no text and has no token table: choose a text model.")
    place = place.checked(config, trace.n_tokens, max(config.embedding_width, config.d_model))
    i, module = place.query, trace.encoder.embedding
    token = value(trace, "embedding.tokens", i)
    segment = value(trace, "embedding.segments", i) if "embedding.segments" in trace.values else None
    position = None if trace.position is None else array(trace.position[i])
    total: Floats = np.sum([part for part in (token, segment, position) if part is not None], axis=0)
    normalised = None if module.norm is None else normalise(module.norm, total)
    out = total if normalised is None else normalised
    if module.projection is not None:
        out = apply(module.projection, out)
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


def embedded(trace: Trace) -> Floats:
    """[T, D]: the embedding of every token, from the ids and the weights alone."""
    module, config = trace.encoder.embedding, trace.config
    x: Floats = array(_token_table(trace))[list(trace.ids)]  # [T, E]
    if module.segments is not None:
        x = x + array(module.segments.weight)[segment_ids(trace)]
    if config.position == "sinusoidal":
        x = x + arithmetic.sinusoidal(np.arange(trace.n_tokens), config.embedding_width)
    elif module.positions.table is not None:
        x = x + array(module.positions.table.weight)[[position_row(trace, i) for i in range(trace.n_tokens)]]
    x = normalise(module.norm, x)
    return x if module.projection is None else apply(module.projection, x)  # [T, D]


def _token_table(trace: Trace) -> Tensor:
    """[V, E]"""
    table = trace.encoder.embedding.tokens.weight
    assert isinstance(table, Tensor)  # an image model has a convolution here, refused before
    return table


def position_row(trace: Trace, token: int) -> int:
    """A token's row of the position table; its position in the text where there is no table."""
    config = trace.config
    if config.position != "learned":
        return token
    if config.pad_position is None:
        return token + config.position_offset
    real = (np.array(trace.ids) != config.pad_id) & mask(trace)  # a typed padding token is padding, too
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
    """The sine or cosine of one component; None where positions are learned or not added."""
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
