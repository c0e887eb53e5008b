"""The residual stream through the layers: the norms of its vectors, the sublayers' updates and the LayerNorms' inputs.

Every number is defined for both norm placements, to compare them. Means are over the real tokens.

Shapes: L layers, H heads, T tokens (queries i, keys j), D d_model, N norms.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from encoder.errors import EncoderError
from encoder.measure.map_comparison import total_variation
from encoder.measure.one_trace import check_trace
from encoder.model.config import Sublayer
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False)
class StreamMeasures:
    """The residual stream of one sentence, layer by layer, in float64."""

    #: [L + 1]: mean norm of a token's vector, after the embeddings and then after each layer.
    length: np.ndarray
    #: [L]: mean over tokens of |f(x)| / |x|, the norm of attention's update over that of its residual stream.
    attention_update: np.ndarray
    #: [L]: the same for the FFN.
    ffn_update: np.ndarray
    #: [L]: mean cosine between a token's vector after a layer and before it.
    cosine: np.ndarray
    #: N names.
    norms: tuple[str, ...]
    #: [N]: mean over tokens of a vector's mean before the norm.
    norm_mean: np.ndarray
    #: [N]: mean over tokens of a vector's standard deviation before the norm.
    norm_std: np.ndarray
    #: [N]: mean of the gain over its D components.
    gain: np.ndarray
    #: [N]: standard deviation of the gain over its D components.
    gain_spread: np.ndarray

    @property
    def growth(self) -> float:
        """Norm of the residual stream after the last layer over that after the embeddings."""
        return float(self.length[-1] / self.length[0])


@dataclass(frozen=True)
class LengthStep:
    """What one sublayer, with its norm, makes of the length of a token's vector. name: of the value after it."""

    token: int
    name: str
    before: float
    after: float


@torch.no_grad()
def largest_step(trace: Trace) -> LengthStep:
    """The sublayer and the real token whose vector changes most in length from before that sublayer to after it."""
    names = list(trace.residual)
    lengths = torch.stack([_lengths(trace.values[name])[: trace.n_real] for name in names])  # [S, T]
    step, token = divmod(int(lengths.diff(dim=0).abs().argmax()), lengths.shape[1])
    return LengthStep(token, names[step + 1], float(lengths[step, token]), float(lengths[step + 1, token]))


@torch.no_grad()
def measure(trace: Trace) -> StreamMeasures:
    """All measures, from the trace only. Raises EncoderError for what is not a Trace."""
    check_trace(trace)
    n_layers, real, streams = trace.config.n_layers, trace.mask, trace.streams
    updates: dict[str, list[float]] = defaultdict(list)
    for layer in range(n_layers):
        for sublayer, before, update in sublayer_updates(trace, layer):
            updates[sublayer].append(_mean(_lengths(update) / _lengths(before), real))
    norms = trace.norms
    inputs = [norm.input.double() for norm in norms.values()]
    gains = [norm.gain.double() for norm in norms.values()]
    return StreamMeasures(
        length=np.array([_mean(_lengths(x), real) for x in streams]),
        attention_update=np.array(updates["attention"]),
        ffn_update=np.array(updates["ffn"]),
        cosine=np.array([_mean(_cosine(*pair), real) for pair in pairwise(streams)]),
        norms=tuple(norms),
        norm_mean=np.array([_mean(x.mean(-1), real) for x in inputs]),
        norm_std=np.array([_mean(x.std(-1, correction=0), real) for x in inputs]),
        gain=np.array([float(gain.mean()) for gain in gains]),
        gain_spread=np.array([float(gain.std(correction=0)) for gain in gains]),
    )


def sublayer_updates(trace: Trace, layer: int) -> Iterator[tuple[Sublayer, Tensor, Tensor]]:
    """(one of the config's sublayers, the residual stream x before it, its update f(x)), [T, D], in order.

    Post-norm hands on norm(x + f(x)), so f(x) is taken from the norm's input; pre-norm hands on x + f(norm(x)) itself,
    but for a Conformer's last sublayer, which the norm at the end of the layer follows.
    """
    before = trace.values[trace.entering(layer)]
    for sublayer in trace.config.sublayers:
        after = trace.values[f"layers.{layer}.after_{sublayer}"]
        norm = trace.norm_of_sum(layer, sublayer)
        total = after if norm is None else trace.values[f"{norm}.input"]
        yield sublayer, before, total - before
        before = after


def layer_entropy(trace: Trace, layer: int) -> np.ndarray:
    """[H]: mean over real queries of the entropy of a head's attention, nats; in bounded memory."""
    total = torch.zeros(trace.config.n_heads, dtype=torch.float64)
    for rows, _, attention in trace.attention_chunks(layer):
        entropy = torch.special.entr(attention).sum(-1)  # [H, rows]
        total += (entropy * trace.mask[rows]).sum(-1).double().cpu()
    return (total / trace.n_real).numpy()


def head_differences(one: Trace, other: Trace, layer: int) -> np.ndarray:
    """[H]: `total_variation` of each head's rows in the two traces, mean over real queries: 0 same, 1 disjoint.

    Raises EncoderError where the two traces have different tokens or heads.
    """
    _check_alike(one, other)
    total = torch.zeros(one.config.n_heads, dtype=torch.float64)
    for (rows, _, a), (_, _, b) in zip(one.attention_chunks(layer), other.attention_chunks(layer), strict=True):
        apart = total_variation(a, b)  # [H, rows]
        total += (apart * one.mask[rows]).sum(-1).double().cpu()
    return (total / one.n_real).numpy()


@torch.no_grad()
def output_cosines(one: Trace, other: Trace) -> np.ndarray:
    """[T] float64: cosine between each token's output in one trace and in the other: 1 where nothing has changed."""
    _check_alike(one, other)
    return _cosine(one.output, other.output).cpu().numpy()


def output_agreement(one: Trace, other: Trace) -> float:
    """The mean of `output_cosines`, over real tokens."""
    return float(output_cosines(one, other)[one.mask.cpu().numpy()].mean())


def _check_alike(one: Trace, other: Trace) -> None:
    for what, a, b in (
        ("tokens", one.tokens, other.tokens),
        ("heads", one.config.n_heads, other.config.n_heads),
        ("layers", one.config.n_layers, other.config.n_layers),
        ("width", one.config.d_model, other.config.d_model),
    ):
        if a != b:
            raise EncoderError(f"The two encoders differ in {what}, so their maps cannot be compared.")


def _lengths(x: Tensor) -> Tensor:
    """[T, D] -> [T]"""
    return x.double().norm(dim=-1).clamp(min=torch.finfo(torch.float32).tiny)


def _cosine(a: Tensor, b: Tensor) -> Tensor:
    """[T, D] twice -> [T]: 1 for the same direction, 0 for orthogonal vectors, -1 for opposite ones."""
    return (a.double() * b.double()).sum(-1) / (_lengths(a) * _lengths(b))


def _mean(values: Tensor, real: Tensor) -> float:
    """Mean over the real tokens."""
    return float(values[real].double().mean())
