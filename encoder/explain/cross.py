"""Cross-attention of a decoder, in the same steps as self-attention: its keys and values are of the input's tokens.

Shapes: T tokens of the target (queries i), S tokens of the input (keys j), K width of a head.
"""

from dataclasses import replace

import torch

from encoder.errors import EncoderError
from encoder.explain.arithmetic import Floats
from encoder.explain.place import Place
from encoder.explain.score import AS_MODEL, Score
from encoder.explain.softmax import Softmax, softmax_of
from encoder.explain.source import array
from encoder.explain.weighted_sum import WeightedSum
from encoder.trace.decoder import DecoderTrace


def cross_score(trace: DecoderTrace, place: Place) -> Score:
    """The score of token i of the target and token j of the input, and the whole row of token i, [S]."""
    place = _checked(trace, place)
    q, k = _vector(trace, place, "q")[place.query], _vector(trace, place, "k")
    found = cross_softmax(trace, place)
    context = trace.cross_contexts[place.layer]
    terms = q * k[place.key]
    return Score(
        place=place,
        variant=AS_MODEL,
        q=q,
        k=k[place.key],
        terms=terms,
        dot=float(terms.sum()),
        of_positions={},
        scale=context.scale,
        cap=None,
        bias=0.0,
        value=float(terms.sum()) * context.scale,
        visible=bool(found.allowed[place.key]),
        dots=k @ q,
        row=found.scores,
        allowed=found.allowed,
        weights=found.weights,
    )


def cross_softmax(trace: DecoderTrace, place: Place) -> Softmax:
    """The row of token i: its scores and weights over the S tokens of the input."""
    place = _checked(trace, place)
    i = place.query
    recorded = trace.cross_scores(place.layer, place.head)[i]
    allowed = (recorded > torch.finfo(recorded.dtype).min).cpu().numpy()
    weights = array(trace.cross_attention(place.layer, place.head)[i])
    return softmax_of(place, AS_MODEL, array(recorded), allowed, weights)


def cross_weighted_sum(trace: DecoderTrace, place: Place) -> WeightedSum:
    """The weighted sum of the input's values for token i."""
    place = _checked(trace, place)
    weights, values = cross_softmax(trace, place).weights, _vector(trace, place, "v")
    return WeightedSum(place, weights, values, weights[:, None] * values, weights @ values)


def _vector(trace: DecoderTrace, place: Place, which: str) -> Floats:
    """[T, K] or [S, K]: the recorded q, k or v of the head."""
    return array(trace.values[f"layers.{place.layer}.cross.{which}"][place.head])


def _checked(trace: DecoderTrace, place: Place) -> Place:
    """The same place, whose key is a token of the input. Raises EncoderError for a value that is too large."""
    replace(place, key=0).checked(trace.config, trace.n_tokens, trace.config.d_head)
    n_source = len(trace.memory_labels)
    if not 0 <= place.key < n_source:
        raise EncoderError(f"No key {place.key} in this input: choose 0 to {n_source - 1}.")
    return place
