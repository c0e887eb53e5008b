"""The formulas of an encoder in float64, for `float64_reference`.

Each is written differently from `arithmetic`: rotations as complex numbers, the logistic function as a tanh.

Shapes: H heads, T tokens, K width of a head.
"""

import math

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


def affine(x: Doubles, weight: Doubles, bias: Doubles | None) -> Doubles:
    """x [T, A], weight [C, A] as torch stores it -> [T, C]."""
    out: Doubles = np.einsum("ta,ca->tc", x, weight, optimize=True)
    return out if bias is None else out + bias


def sinusoidal(positions: NDArray[np.integer], width: int) -> Doubles:
    """[T, width]: the imaginary part (sine) and the real part (cosine) of e^(i angle), alternating."""
    turning = np.exp(1j * np.outer(positions, 10_000.0 ** (-2.0 * np.arange(width // 2) / width)))
    return np.stack((turning.imag, turning.real), axis=-1).reshape(len(positions), width)


def turned(x: Doubles, base: float) -> Doubles:
    """x [H, T, K]: components c and c + K/2 as one complex number, times e^(i angle)."""
    half = x.shape[-1] // 2
    speed = base ** (-np.arange(half) / half)
    rotated = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * np.outer(np.arange(x.shape[1]), speed))
    return np.concatenate((rotated.real, rotated.imag), axis=-1)


def relative_bucket(distance: int, buckets: int, max_distance: int) -> int:
    """Row of the relative bias for j - i. The logarithm is taken in single precision, as in training."""
    half, exact, far = buckets // 2, buckets // 4, abs(distance)
    if far >= exact:
        share = np.log(np.float32(far) / np.float32(exact)) / np.float32(math.log(max_distance / exact))
        far = min(half - 1, exact + int(share * np.float32(half - exact)))
    return far + (half if distance > 0 else 0)


def activation(x: Doubles, name: str) -> Doubles:
    """The activation function `name` in float64."""
    if name == "relu":
        return x * (x > 0)
    if name == "silu":
        return x * 0.5 * (1.0 + np.tanh(x / 2.0))  # the logistic function as a tanh
    if name == "quick_gelu":
        return x * 0.5 * (1.0 + np.tanh(0.851 * x))
    if name == "gelu_tanh":
        return x * 0.5 * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    below = np.frompyfunc(lambda value: 0.5 * math.erfc(-value / math.sqrt(2.0)), 1, 1)
    gelu: Doubles = x * below(x).astype(np.float64)
    return gelu
