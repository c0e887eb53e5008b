"""Activation patching of two texts that align: the edit for a place, the share of the difference, and its spread.

Shapes: L layers, H heads, T tokens, D d_model.
"""

from typing import Literal, get_args

import numpy as np

from encoder.causal.outcomes import Outcome, outcomes_of
from encoder.edits import Edit, Replace, Run
from encoder.encoders.named import NamedEncoder
from encoder.errors import EncoderError, quoted
from encoder.trace.trace import Trace

Where = Literal["residual", "attention_out", "ffn_out", "head"]
#: Smaller differences of an outcome are rounding.
LEAST_DIFFERENCE = 1e-5


def patch_edit(where: Where, source: Run | str, layer: int, place: int, after: str = "after_ffn") -> Edit:
    """The edit that puts one vector of another run in place of this one's.

    where: "residual", the residual stream that enters the layer at token `place`; "attention_out", "ffn_out": what the
    sublayer adds there; "head": z of head `place` at all tokens. source: the other text, or its trace; after: the
    model's `config.after_layer`. Raises EncoderError for another `where`.
    """
    _check(where)
    if where == "head":
        return Replace("z", source, layer=layer, heads=(place,))
    if where != "residual":
        return Replace(where, source, layer=layer, positions=(place,))
    if layer == 0:
        return Replace("embedding", source, positions=(place,))
    return Replace(after, source, layer=layer - 1, positions=(place,))


def patch_request(where: Where) -> tuple[str, ...]:
    """What the trace of the other text must record on request. Raises EncoderError for an unknown `where`."""
    _check(where)
    return {"residual": (), "head": ("z",)}.get(where, (where,))


def _check(where: Where) -> None:
    if where not in get_args(Where):
        raise EncoderError(f"where={quoted(where)} is unknown: choose from {', '.join(get_args(Where))}.")


def check_aligned(source: Trace, plain: Trace) -> None:
    """Raise EncoderError for texts that do not have the same number of tokens."""
    if source.n_tokens != plain.n_tokens:
        raise EncoderError(
            f"The two runs have {source.n_tokens} and {plain.n_tokens} tokens: choose inputs that align token by token."
        )


def differing(plain: Trace, source: Trace) -> np.ndarray:
    """bool [T]: where the tokens of two aligned inputs differ: in their ids or, without ids, in their embeddings."""
    if plain.source is not None:
        return np.not_equal(plain.ids, source.ids)
    return (plain.values["embedding"] != source.values["embedding"]).any(dim=-1).cpu().numpy()


def both_outcomes(model: NamedEncoder, source: Trace, plain: Trace, outcome: Outcome | str) -> tuple[float, float]:
    """The outcome of `plain`, and its value where every vector is that of `source`. Raises EncoderError as `patch`."""
    check_aligned(source, plain)
    before, after = outcomes_of(model, plain, [source], outcome)
    return before, after


def carried_share(effects: np.ndarray, before: float, after: float) -> np.ndarray:
    """Effects of patching -> shares of the difference: 0 as without patching, 1 as in the other run.

    before, after: `both_outcomes`. A share can be below 0 or above 1, and shares do not sum to 1. Raises EncoderError
    where both outcomes are equal up to rounding.
    """
    difference = after - before
    if abs(difference) < LEAST_DIFFERENCE:
        raise EncoderError(
            f"Both runs have the same outcome, {before:.4g}, so no difference can be located: choose another "
            "outcome or other inputs."
        )
    return np.asarray(effects / difference)
