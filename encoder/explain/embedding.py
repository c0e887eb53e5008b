"""The embedding: a row of the table, plus segment, position and place, then a norm and a projection.

Shapes: T tokens, V vocabulary, E width of the tables (D unless they are factorised), D d_model.
"""

from dataclasses import dataclass

import numpy as np

from encoder.errors import EncoderError
from encoder.explain.arithmetic import Floats
from encoder.explain.latex import Formula, bracketed, calculation, number, stack
from encoder.explain.place import Place
from encoder.explain.reference import Check, Recomputation
from encoder.explain.source import array, norm_of, value
from encoder.model.config import EncoderConfig
from encoder.model.paths import Paths
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False)
class EmbeddingStep:
    """The embedding of token i."""

    place: Place
    id: int
    #: [E]: its row of the table; on a page with its image the vector of the word, or of the patch, after its norm.
    token: Floats
    #: [E]; None where the model adds none.
    segment: Floats | None
    #: [E]; None where the model adds none.
    position: Floats | None
    #: [E]: of its box on the page, or of its path in the page's tree; None where the model knows none.
    place_vector: Floats | None
    #: "box" or "path".
    place_name: str
    #: [E]: their sum.
    total: Floats
    #: [E]: after the embedding norm; None without one.
    normalised: Floats | None
    #: [D]: the input of layer 0.
    output: Floats
    #: Of the selected component of the position's vector.
    position_formula: Formula | None

    @property
    def formula(self) -> Formula:
        """The selected component of the sum."""
        i, c = self.place.query, min(self.place.component, len(self.total) - 1)
        parts = {"E_{t_i}": self.token, "S_{s_i}": self.segment, "P_i": self.position}
        parts["B_i" if self.place_name == "box" else "T_i"] = self.place_vector
        added = {name: bracketed(vector[c]) for name, vector in parts.items() if vector is not None}
        return Formula(
            symbols=stack(r"x_i = " + " + ".join(added), rf"t_{{{i}}} = {self.id}"),
            numbers=calculation((rf"x_{{{i},{c}}}", [" + ".join(added.values()), number(self.total[c])])),
        )

    def check(self, reference: Recomputation) -> tuple[Check, ...]:
        """The sum and the input of layer 0, from the id and the tables."""
        i, c = self.place.query, self.place.component
        out = min(c, len(self.output) - 1)
        return (
            reference.check("sum", self.total, reference.embedding_sum()[i], (min(c, len(self.total) - 1),)),
            reference.check("embedding", self.output, reference.embedding()[i], (out,)),
        )


def embedding(trace: Trace, place: Place) -> EmbeddingStep:
    """Token i: its row of the table, segment, position, place, their sum, the norm, the projection.

    Raises EncoderError for another input than text.
    """
    config = trace.config
    if not config.takes_text:
        raise EncoderError("This model accepts no text and has no token table: choose a text model.")
    place = place.checked(config, trace.n_tokens, max(config.embedding_width, config.d_model))
    i = place.query
    token = value(trace, "embedding.tokens", i)
    segment = value(trace, "embedding.segments", i) if "embedding.segments" in trace.values else None
    position = None if trace.position is None else array(trace.position[i])
    of_place = value(trace, "embedding.places", i) if "embedding.places" in trace.values else None
    total: Floats = np.sum([part for part in (token, segment, position, of_place) if part is not None], axis=0)
    return EmbeddingStep(
        place=place,
        id=trace.ids[i],
        token=token,
        segment=segment,
        position=position,
        place_vector=of_place,
        place_name="path" if isinstance(config.places, Paths) else "box",
        total=total,
        normalised=array(norm_of(trace, "embedding_norm", i).output) if config.embedding_norm else None,
        output=value(trace, "embedding", i),
        position_formula=_position_formula(config, place, position),
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
