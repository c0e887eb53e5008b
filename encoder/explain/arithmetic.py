"""The formulas of an encoder in numpy, one function for each mechanism, in the precision of their arrays.

`reference` makes a whole forward pass of them. They share no code with the model; the tests compare the two.

Shapes: H heads, T tokens (queries i, keys j), D d_model, K width of a head, F width of the FFN.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]


def linear(x: Floats, weight: Floats, bias: Floats | None) -> Floats:
    """x [..., A], weight [A, C], bias [C] -> [..., C]: x W + b."""
    out = x @ weight
    return out if bias is None else out + bias


def split_heads(x: Floats, n_heads: int) -> Floats:
    """[T, H x K] -> [H, T, K]: head h owns columns hK to (h + 1)K."""
    return x.reshape(len(x), n_heads, -1).transpose(1, 0, 2)


def join_heads(x: Floats) -> Floats:
    """[H, T, K] -> [T, H x K]: the heads side by side."""
    return x.transpose(1, 0, 2).reshape(x.shape[1], -1)


def sinusoidal(positions: NDArray[np.integer], width: int) -> NDArray[np.float64]:
    """positions [T] -> [T, width]: sin(p / 10000^(c/width)) at even c, the cosine of the same angle at c + 1 (Vaswani
    et al. 2017, section 3.5)."""
    columns = np.arange(width)
    angle = positions[:, None] / 10_000.0 ** ((columns - columns % 2) / width)  # [T, width]
    return np.where(columns % 2 == 0, np.sin(angle), np.cos(angle))


def sine_halves(positions: NDArray[np.integer], width: int) -> NDArray[np.float64]:
    """positions [T] -> [T, width]: sin(p w_c) in the first half, cos(p w_c) in the second, w_c = 10000^(-c / (width/2 -
    1))."""
    half = width // 2
    angle = positions[:, None] * 10_000.0 ** (-np.arange(half) / (half - 1))
    return np.concatenate((np.sin(angle), np.cos(angle)), axis=1)


def rotary_angles(positions: NDArray[np.integer], width: int, base: float, scaling: Any = None) -> Floats:
    """positions [T] -> [T, R/2]: the rotation angle of pair c, position / base^(2c/R), in radians; R is `width`.

    scaling: the config's RotaryScaling, whose docstring names the formulas; None: frequencies as above.
    """
    pairs = np.arange(width // 2)
    frequency = 1.0 / base ** (2.0 * pairs / width)
    angle: Floats = positions[:, None] * frequency
    if scaling is None:
        return angle
    if scaling.kind == "linear":
        angle /= scaling.factor
        return angle
    turns = scaling.original * frequency / (2.0 * np.pi)  # within the inputs of the training
    if scaling.kind == "llama3":
        ramp = (turns - scaling.slow) / (scaling.fast - scaling.slow)
    else:  # the pair that turns so many times, by solving `turns` for c
        ends = [
            width * np.log(scaling.original / (2.0 * np.pi * count)) / (2.0 * np.log(base))
            for count in (scaling.fast, scaling.slow)
        ]
        low, high = (np.floor(ends[0]), np.ceil(ends[1])) if scaling.whole else ends
        low, high = max(low, 0), min(high, width - 1)
        ramp = 1.0 - (pairs - low) / (high - low or 0.001)
    kept = np.clip(ramp, 0.0, 1.0)
    angle *= kept + (1.0 - kept) / scaling.factor
    return angle


def rotate(x: Floats, angle: Floats, interleaved: bool = False) -> Floats:
    """x [..., T, K], angle [T, R/2] -> [..., T, K]: components c and c + R/2 of the first R rotate as a pair (Su et al.
    2021), or neighbours where they are interleaved. The others stay."""
    return turn(x, np.tile(np.cos(angle), 2), np.tile(np.sin(angle), 2), interleaved)


def turn(x: Floats, cos: Floats, sin: Floats, interleaved: bool = False) -> Floats:
    """The same by cosines and sines [T, R], first those of the pairs' first components, then of their second ones."""
    half = cos.shape[-1] // 2
    places = np.arange(2 * half).reshape((half, 2) if interleaved else (2, half))
    a, b = (places[:, 0], places[:, 1]) if interleaved else (places[0], places[1])
    (cos, cos2), (sin, sin2) = (np.split(one.astype(x.dtype), 2, axis=-1) for one in (cos, sin))
    out = x.copy()
    out[..., a], out[..., b] = x[..., a] * cos - x[..., b] * sin, x[..., a] * sin2 + x[..., b] * cos2
    return out


def relative_bucket(distance: NDArray[np.integer], buckets: int, max_distance: int) -> NDArray[np.integer]:
    """j - i -> row of the table of relative biases (Raffel et al. 2020, section 2.1): half of the rows for each
    direction; one row per distance up to a quarter of them, then rows that cover ever more distances."""
    half = buckets // 2
    exact = half // 2
    far = np.abs(distance)
    # In float32 as in training: at the border of two rows the rounding decides.
    ratio = np.log(np.maximum(far, 1).astype(np.float32) / np.float32(exact)) / np.float32(
        math.log(max_distance / exact)
    )
    wide = np.minimum(exact + (ratio * np.float32(half - exact)).astype(np.int64), half - 1)
    return np.where(distance > 0, half, 0) + np.where(far < exact, far, wide)


def relative_bias(table: Floats, max_distance: int, queries: NDArray[np.integer], keys: NDArray[np.integer]) -> Floats:
    """table [buckets, H], queries [Ti], keys [T] -> [H, Ti, T]: the bias of the scores for the distance j - i."""
    distance = keys[None, :] - queries[:, None]  # [Ti, T]
    return table[relative_bucket(distance, len(table), max_distance)].transpose(2, 0, 1)


def alibi(n_heads: int, queries: NDArray[np.integer], keys: NDArray[np.integer]) -> Floats:
    """[H, Ti, T]: -slope x |i - j| (Press et al. 2022, section 3). The slopes of a power of 2 heads are a geometric
    sequence from 2^(-8/H); for other numbers every second one of twice as many heads follows."""
    power = 2 ** int(np.log2(n_heads))
    more = [2.0 ** (-4.0 * step / power) for step in range(1, 2 * power, 2)]
    slopes = np.array([2.0 ** (-8.0 * (head + 1) / power) for head in range(power)] + more)[:n_heads]
    return -slopes[:, None, None] * np.abs(keys[None, :] - queries[:, None])


def distance_rows(shape: Any, queries: NDArray[np.integer], keys: NDArray[np.integer]) -> NDArray[np.integer]:
    """[Ti, T]: row of DeBERTa's vectors for i - j: exact up to half of the span, then logarithmic, or clipped."""
    distance = queries[:, None] - keys[None, :]
    if shape.farthest:
        half = shape.span // 2
        # In float32 as in training: at the border of two rows the rounding decides.
        far = np.log(np.maximum(np.abs(distance), half).astype(np.float32) / np.float32(half))
        far = np.ceil(far / np.log(np.float32((shape.farthest - 1) / half)) * np.float32(half - 1)) + half
        distance = np.where(np.abs(distance) <= half, distance, far.astype(np.int64) * np.sign(distance))
    return np.clip(distance + shape.span, 0, 2 * shape.span - 1)


def allowed(mask: Bools, queries: NDArray[np.integer], causal: bool, window: int | None, block: int = 0) -> Bools:
    """mask [T] (True: a real token), queries [Ti] -> [Ti, T]: which keys each query can attend to."""
    distance = queries[:, None] - np.arange(len(mask))[None, :]  # [Ti, T], i - j
    seen = np.broadcast_to(mask, distance.shape)
    if causal:
        seen = seen & (distance >= 0)
    if window is not None:
        seen = seen & (np.abs(distance) <= window)
    if block:
        seen = seen & (queries[:, None] // block == np.arange(len(mask))[None, :] // block)
    return seen


def scores(q: Floats, k: Floats, scale: float, bias: Floats | None = None) -> Floats:
    """q [..., Ti, K], k [..., T, K] -> [..., Ti, T]: q_i . k_j x scale (+ bias), no mask yet."""
    out = (q @ np.swapaxes(k, -1, -2)) * scale
    return out if bias is None else out + bias


def exponentials(scores: Floats, allowed: Bools) -> Floats:
    """scores [..., T] -> exp(s - max), 0 where not allowed. The largest number of each row is 1.

    A row in which nothing is allowed (a padding token) becomes uniform, as in the fused kernel.
    """
    nothing = ~allowed.any(axis=-1, keepdims=True)
    scores, allowed = np.where(nothing, 0.0, scores), allowed | nothing
    top = np.max(np.where(allowed, scores, -np.inf), axis=-1, keepdims=True)
    shifted = np.where(allowed, scores - top, 0.0)
    return np.where(allowed, np.exp(shifted), 0.0)


def softmax(scores: Floats, allowed: Bools) -> Floats:
    """scores [..., T] -> weights [..., T] that sum to 1, 0 where not allowed."""
    numerators = exponentials(scores, allowed)
    return numerators / numerators.sum(axis=-1, keepdims=True)


def entropy(weights: Floats) -> Floats:
    """weights [..., T] -> [...]: -sum w ln w in nats; 0 ln 0 is 0."""
    safe = np.where(weights > 0, weights, 1.0)
    return -(weights * np.log(safe)).sum(axis=-1)


def normalise(x: Floats, eps: float) -> tuple[Floats, Floats, Floats]:
    """x [..., D] -> mean [...], variance [...] (population), (x - mean) / sqrt(variance + eps) [..., D] (Ba et al.
    2016)."""
    mean = x.mean(axis=-1, keepdims=True)
    centred = x - mean
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return mean[..., 0], variance[..., 0], centred / np.sqrt(variance + eps)


def layer_norm(x: Floats, gain: Floats, bias: Floats | None, eps: float) -> Floats:
    """x [..., D] -> [..., D]: normalised, times gain, plus bias."""
    out = normalise(x, eps)[2] * gain
    return out if bias is None else out + bias


def rms_norm(x: Floats, gain: Floats, bias: Floats | None, eps: float) -> Floats:
    """x [..., D] -> [..., D]: x over its root mean square, times gain, plus bias (Zhang and Sennrich 2019)."""
    out: Floats = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * gain
    return out if bias is None else out + bias


def sigmoid(x: Floats) -> Floats:
    """The logistic function 1 / (1 + e^-x), without an overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def glu(x: Floats) -> Floats:
    """[T, 2D] -> [T, D]: the first half times the logistic function of the second (Dauphin et al. 2017)."""
    first, second = np.split(x, 2, axis=-1)
    return first * sigmoid(second)


def convolved(x: Floats, kernel: Floats, bias: Floats | None, before: int) -> Floats:
    """x [T, D], kernel [D, W], whose number `before` is for the token itself -> [T, D], each channel by itself."""
    width = kernel.shape[1]
    padded = np.pad(x, ((before, width - 1 - before), (0, 0)))
    out: Floats = np.sum([padded[step : step + len(x)] * kernel[:, step] for step in range(width)], axis=0)
    return out if bias is None else out + bias


def gelu(x: Floats) -> Floats:
    """x times the standard normal distribution function at x (Hendrycks and Gimpel 2016)."""
    from scipy.special import erf

    return 0.5 * x * (1.0 + erf(x / math.sqrt(2.0)))


def gelu_tanh(x: Floats) -> Floats:
    """GELU's approximation by a tanh (the same paper, section 2)."""
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


#: Name in EncoderConfig -> the activation function, element by element.
ACTIVATIONS: Mapping[str, Callable[[Floats], Floats]] = MappingProxyType(
    {
        "relu": lambda x: np.maximum(x, 0.0),
        "relu2": lambda x: np.maximum(x, 0.0) ** 2,
        "silu": lambda x: x * sigmoid(x),
        "quick_gelu": lambda x: x * sigmoid(1.702 * x),
        "gelu_tanh": gelu_tanh,
        "gelu_rounded": lambda x: 0.5 * x * (1.0 + np.tanh(0.79788456 * (x + 0.044715 * x**3))),
        "gelu": gelu,
    }
)


def routes(logits: Floats, chosen: int, renormalised: bool) -> Floats:
    """A router's logits [T, E] -> weights [T, E]: the softmax, 0 beyond the `chosen` largest (Shazeer et al. 2017)."""
    weights = softmax(logits, np.ones_like(logits, dtype=bool))
    kept = np.where(np.argsort(np.argsort(-weights, axis=-1), axis=-1) < chosen, weights, 0.0)
    return kept / kept.sum(axis=-1, keepdims=True) if renormalised else kept


def cosine(a: Floats, b: Floats) -> Floats:
    """a, b [..., D] -> [...]: the cosine of the angle between them; 0 where one of them is the zero vector."""
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return (a * b).sum(axis=-1) / np.where(lengths > 0, lengths, 1.0)
