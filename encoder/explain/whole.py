"""The numbers of one picture of the whole forward pass: every residual stream, and one head of one layer in full.

Shapes: L layers, H heads, T tokens of the trace, W tokens of the window (queries i, keys j), D d_model, K width of a
head, F width of the FFN, S stages of the residual stream, N neurons.
"""

from dataclasses import dataclass

import numpy as np
import torch

from encoder.errors import EncoderError
from encoder.explain.arithmetic import Floats
from encoder.explain.output import PoolingKind, pooling_weights
from encoder.explain.place import Place
from encoder.explain.source import array, hidden_of, sublayer_input
from encoder.measure.residual_stream import sublayer_updates
from encoder.trace.trace import Trace

#: Neurons that are named for each token.
NEURONS = 3


@dataclass(frozen=True, eq=False)
class Whole:
    """All numbers are the model's own, of the tokens `first` to `first + W - 1`.

    What has no layer is of `place.layer`, what has no head of the head `place.head`.
    """

    place: Place
    first: int
    #: [W]: norm of the token's row of the table; None where the model adds none.
    tokens: Floats | None
    #: [W]: norm of its position's row; None where the model adds none.
    positions: Floats | None
    #: S names of the residual stream's hook points, in order.
    stages: tuple[str, ...]
    #: [S, W]: norm of the residual stream.
    stream: Floats
    #: [L, 2, W]: norm of f(x) of attention and FFN; [L, 3, W] with a decoder's cross-attention or an adapter, [L, 4, W]
    #: in a Conformer, in order.
    updates: Floats
    #: [H, W, W]: attention.
    maps: Floats
    #: [W, K].
    q: Floats
    #: [W, K].
    k: Floats
    #: [W, K].
    v: Floats
    scale: float
    #: [W, W]: before the softmax.
    scores: Floats
    #: [W, W]: after the softmax over all T keys.
    weights: Floats
    #: [W]: weight of keys outside the window.
    rest: Floats
    #: [W]: the largest score of a row.
    largest: Floats
    #: [W]: the sum of exp(score - largest) over its keys.
    total: Floats
    #: [W, N]: the neurons of the FFN with the largest |activation|.
    neurons: np.ndarray
    #: [W, N]: their activations.
    hidden: Floats
    #: How a text model makes one vector; None for others.
    pooling: PoolingKind | None
    #: [W]: weight of each token in it.
    shares: Floats | None
    #: [D].
    vector: Floats | None


@torch.no_grad()
def whole(trace: Trace, place: Place, window: slice = slice(None), pooling: PoolingKind | None = None) -> Whole:
    """The forward pass as one picture shows it; window: the tokens that it draws, by default all.

    Costs one layer's attention for the rows of the window. Raises EncoderError for a place that does not exist, an
    empty window, or a pooling that is unknown.
    """
    place = place.checked(trace.config, trace.n_tokens)
    rows = slice(*window.indices(trace.n_tokens))
    if rows.stop <= rows.start or rows.step != 1:
        raise EncoderError("The window holds no token: choose a first and a later last token.")
    layer, head = place.layer, place.head
    stages = (*trace.residual, *(("output",) if trace.config.final_norm else ()))
    scores = array(trace.scores(layer, head, rows))
    maps = array(trace.layer_attention(layer, rows))
    weights = maps[head]
    largest, sinks = scores.max(axis=-1), trace.contexts[layer].sinks
    sink = 0.0 if sinks is None else np.exp(float(sinks[head]) - largest)
    q, k, v = (array(one[head, rows]) for one in trace.layer_qkv(layer))
    neurons, hidden = _neurons(trace, layer, rows)
    shares = None if pooling is None else pooling_weights(trace, pooling)
    return Whole(
        place=place,
        first=rows.start,
        tokens=_norms(trace, "embedding.tokens", rows),
        positions=_norms(trace, "embedding.position", rows),
        stages=stages,
        stream=np.stack([_lengths(trace.values[name][rows]) for name in stages]),
        updates=_updates(trace, rows),
        maps=maps[:, :, rows],
        q=q,
        k=k,
        v=v,
        scale=trace.config.score_scale,
        scores=scores[:, rows],
        weights=weights[:, rows],
        rest=1.0 - weights[:, rows].sum(axis=-1),
        largest=largest,
        total=np.exp(scores - largest[:, None]).sum(axis=-1) + sink,
        neurons=neurons,
        hidden=hidden,
        pooling=pooling,
        shares=None if shares is None else np.pad(shares, (0, trace.n_tokens - len(shares)))[rows],
        vector=None if shares is None else shares @ array(trace.output[: trace.n_real]),
    )


def _updates(trace: Trace, rows: slice) -> Floats:
    """[L, S, W]: norm of what each of S sublayers adds."""
    layers = range(trace.config.n_layers)
    return np.stack([np.stack([_lengths(f[rows]) for _, _, f in sublayer_updates(trace, layer)]) for layer in layers])


def _neurons(trace: Trace, layer: int, rows: slice) -> tuple[np.ndarray, Floats]:
    """[W, N] each: the neurons with the largest |activation| for each token, and their activations."""
    hidden = hidden_of(trace, layer, sublayer_input(trace, layer, "ffn", rows))[2].float()
    top = hidden.abs().topk(min(NEURONS, hidden.shape[-1])).indices
    return top.cpu().numpy().astype(np.int32), array(hidden.gather(-1, top))


def _norms(trace: Trace, name: str, rows: slice) -> Floats | None:
    """[W]: norms of a recorded value of each token, None where the model has none."""
    recorded = trace.values.get(name)
    return None if recorded is None or len(recorded) != trace.n_tokens else _lengths(recorded[rows])


def _lengths(x: torch.Tensor) -> Floats:
    """[W, D] -> [W]"""
    return array(x.float().norm(dim=-1))
