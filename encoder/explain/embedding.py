"""The embedding: a row of the table, plus segment and position, then a norm and a projection.

Shapes: T tokens, V vocabulary, E width of the tables (D unless they are factorised), D d_model.
"""

from dataclasses import dataclass

import numpy as np
import torch

from encoder.errors import EncoderError
from encoder.explain.arithmetic import Floats
from encoder.explain.latex import Formula, bracketed, calculation, number, stack
from encoder.explain.place import Place
from encoder.explain.reference import Check, Recomputation
from encoder.explain.source import array, norm_of, value
from encoder.model.config import EncoderConfig
from encoder.trace.trace import Trace


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
        i, c = self.place.query, self.place.component
        out = min(c, len(self.output) - 1)
        return (
            reference.check("sum", self.total, reference.embedding_sum()[i], (min(c, len(self.total) - 1),)),
            reference.check("embedding", self.output, reference.embedding()[i], (out,)),
        )


def embedding(trace: Trace, place: Place) -> EmbeddingStep:
    """Token i: its row of the table, segment, position, their sum, the norm, the projection. Raises EncoderError for
    another input than text."""
    config = trace.config
    if not config.takes_text:
        raise EncoderError("This model accepts no text and has no token table: choose a text model.")
    place = place.checked(config, trace.n_tokens, max(config.embedding_width, config.d_model))
    i = place.query
    token = value(trace, "embedding.tokens", i)
    segment = value(trace, "embedding.segments", i) if "embedding.segments" in trace.values else None
    position = None if trace.position is None else array(trace.position[i])
    total: Floats = np.sum([part for part in (token, segment, position) if part is not None], axis=0)
    return EmbeddingStep(
        place=place,
        label=trace.labels[i],
        id=trace.ids[i],
        segment_id=_segment(trace, i),
        position_row=_position_row(trace, i),
        token=token,
        segment=segment,
        position=position,
        total=total,
        normalised=array(norm_of(trace, "embedding_norm", i).output) if config.embedding_norm else None,
        output=value(trace, "embedding", i),
        formula=_formula(place, token, segment, position, total, trace.ids[i]),
        position_formula=_position_formula(config, place, position),
    )


def _segment(trace: Trace, token: int) -> int:
    """A token's row of the segment table; 0 for padding, and where the table has only one row."""
    known = trace.source.segments if trace.source is not None and trace.config.n_segments > 1 else ()
    return known[token] if token < len(known) else 0


def _position_row(trace: Trace, token: int) -> int:
    """A token's row of the position table; its position in the text without a table."""
    if trace.config.position != "learned":
        return token
    ids, mask = torch.tensor([trace.ids]), trace.mask.cpu()[None]
    rows = trace.encoder.embedding.positions.indices(ids, mask, trace.n_tokens)  # [T] or [1, T]
    return int(rows.flatten()[token])


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
