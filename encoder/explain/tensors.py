"""The tensor of a block of the architecture, by name: the recorded one, or computed by its step.

Shapes: T tokens, D d_model, K width of a head, F width of the FFN.
"""

from dataclasses import dataclass
from typing import Literal

from encoder.errors import EncoderError
from encoder.explain.arithmetic import Bools, Floats
from encoder.explain.ffn import hidden_activations
from encoder.explain.output import PoolingKind, pooled
from encoder.explain.place import Place
from encoder.explain.score import score_matrix
from encoder.explain.source import array, value
from encoder.measure.stream import sublayer_updates
from encoder.trace.trace import Trace

#: Tensors of a layer that belong to one head.
PER_HEAD = ("q", "k", "v", "scores", "attention", "z")


@dataclass(frozen=True, eq=False)
class Opened:
    """A tensor. values [Ti, X], one row per token (one row for the pooled vector); first: the token of row 0; columns:
    "components" or "keys"; allowed: of scores, False where masked; head: None for a tensor of all heads."""

    name: str
    values: Floats
    first: int
    columns: Literal["components", "keys"]
    head: int | None
    allowed: Bools | None = None


def tensor(trace: Trace, name: str, head: int = 0, rows: slice | None = None, pooling: PoolingKind = "mean") -> Opened:
    """The tensor `name` of an architecture block (`ArchitectureBlock.opens`) for the tokens `rows`.

    Raises EncoderError for an unknown name.
    """
    rows = slice(*(rows or slice(None)).indices(trace.n_tokens))
    if name == "pooled":
        return Opened(name, pooled(trace, pooling).vector[None], 0, "components", None)
    if name.endswith("_norm") and name in trace.norms:
        return Opened(name, array(trace.norms[name].output[rows]), rows.start, "components", None)
    parts = name.split(".", 2)
    if parts[0] == "layers" and len(parts) == 3 and parts[1].isdigit():
        place = Place(layer=int(parts[1]), head=head).checked(trace.config, trace.n_tokens)
        if parts[2] in PER_HEAD:
            return _of_head(trace, place, parts[2], name, rows)
        derived = None if name in trace.values else _of_layer(trace, place.layer, parts[2], rows)
        if derived is not None:
            return Opened(name, derived, rows.start, "components", None)
    if name not in trace.values:
        raise EncoderError(f"No tensor {name!r} in this trace: choose one that a block of the architecture opens.")
    return Opened(name, value(trace, name, rows), rows.start, "components", None)


def _of_head(trace: Trace, place: Place, part: str, name: str, rows: slice) -> Opened:
    """q, k, v, z: [Ti, K]; scores, attention: [Ti, T]."""
    if part in ("scores", "attention"):
        matrix = score_matrix(trace, place, rows=rows)
        values = matrix.scores if part == "scores" else matrix.weights
        allowed = matrix.allowed if part == "scores" else None
        return Opened(name, values, rows.start, "keys", place.head, allowed)
    if part == "z":
        values = array(trace.z(place.layer, place.head)[rows])
    else:
        values = array(trace.layer_qkv(place.layer)["qkv".index(part)][place.head, rows])
    return Opened(name, values, rows.start, "components", place.head)


def _of_layer(trace: Trace, layer: int, part: str, rows: slice) -> Floats | None:
    """A tensor that is only recorded on request, from others that are; None for any other."""
    if part == "ffn.hidden":
        return hidden_activations(trace, layer).hidden[rows]
    updates = {f"{sublayer}_out": update for sublayer, _, update in sublayer_updates(trace, layer)}
    return array(updates[part][rows]) if part in updates else None
