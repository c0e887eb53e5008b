"""Attention in three functions: scores, pattern, mix. The model's explicit path and the trace both call them.

Shapes: B batch, H heads, T tokens (queries i, keys j), K width of a head. Leading axes (...) may be any.
Formula: Vaswani et al. 2017, equation 1: softmax(q k^T / sqrt(K)) v.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def scores(
    q: Tensor,
    k: Tensor,
    scale: float,
    bias: Tensor | None = None,
    allowed: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """q [..., Ti, K], k [..., Tj, K] -> [..., Ti, Tj]: q_i . k_j x scale + bias; the lowest number where not `allowed`.

    "Masked" is the lowest finite number, not -inf: a row without any allowed key (a padding token that sees only
    padding) then becomes uniform, as in the fused kernel, and not NaN. out: memory to write to.
    """
    # Scaling q costs T x K products; scaling the scores would cost T x T.
    out = torch.matmul(q * scale, k.transpose(-1, -2), out=out)  # [..., Ti, Tj]
    if bias is not None:
        out += bias
    if allowed is not None:
        out.masked_fill_(~allowed, torch.finfo(out.dtype).min)
    return out


def pattern(scores: Tensor, out: Tensor | None = None) -> Tensor:
    """Softmax over keys: [..., Ti, Tj] -> [..., Ti, Tj], every row sums to 1. out: memory to write to."""
    return torch.softmax(scores, dim=-1, out=out)


#: Powers of 2 from -100 to 100 are exact to float32's last digits, and 2^27 of them have a finite sum.
BASE_2_MOST = 100.0
LOG2_E = math.log2(math.e)


def fits_base_2(q: Tensor, k: Tensor, scale: float) -> bool:
    """Whether `pattern_base_2` can take all scores of q and k [T, K]: |q_i . k_j| <= |q_i| |k_j|. False for NaN."""
    longest = [x.norm(dim=-1).amax() for x in (q, k)]
    return bool(longest[0] * longest[1] * abs(scale) * LOG2_E < BASE_2_MOST)


def pattern_base_2(scores: Tensor) -> Tensor:
    """`pattern` of scores x LOG2_E, in their memory, in two thirds of the time: 2^s is quicker, and needs no maximum.

    Only for scores that `fits_base_2`.
    """
    weights = scores.exp2_()
    return weights.mul_(weights.sum(dim=-1, keepdim=True).reciprocal_())


def mix(pattern: Tensor, v: Tensor) -> Tensor:
    """pattern [..., Ti, Tj], v [..., Tj, K] -> z [..., Ti, K]: the weighted sum of the values."""
    return pattern @ v


def allowed(
    queries: Tensor, keys: Tensor, *, key_mask: Tensor | None, causal: bool, window: int | None
) -> Tensor | None:
    """Which key each query may attend to: bool [..., Ti, Tj], broadcast; None where every query sees every key.

    queries [Ti], keys [Tj]: positions; key_mask [..., Tj]: True for a real token; causal: j <= i; window: the largest
    |i - j|.
    """
    seen = None if key_mask is None else key_mask.unsqueeze(-2)  # [..., 1, Tj]
    if causal or window is not None:
        distance = queries.unsqueeze(-1) - keys.unsqueeze(-2)  # [Ti, Tj], i - j
        near = torch.ones_like(distance, dtype=torch.bool)
        if causal:
            near &= distance >= 0
        if window is not None:
            near &= distance.abs() <= window
        seen = near if seen is None else seen & near
    return seen


def relative_bucket(distance: Tensor, buckets: int, max_distance: int) -> Tensor:
    """j - i -> bucket: half of the buckets for each side, exact up to a quarter of them, then logarithmic.

    T5's scheme (Raffel et al. 2020, section 2.1), which MPNet uses too. Distances beyond `max_distance` share a bucket.
    """
    half = buckets // 2
    side = (distance > 0).long() * half
    distance = distance.abs()
    exact = half // 2
    # The clamp avoids the logarithm of 0; the exact branch below replaces these entries.
    far = torch.log(distance.clamp(min=1).float() / exact) / math.log(max_distance / exact) * (half - exact)
    far = (exact + far.long()).clamp(max=half - 1)
    return side + torch.where(distance < exact, distance, far)


def relative_bias(table: Tensor, queries: Tensor, keys: Tensor, max_distance: int) -> Tensor:
    """table [buckets, H], queries [Ti], keys [Tj] (positions) -> [H, Ti, Tj], added to the scores."""
    distance = keys.unsqueeze(-2) - queries.unsqueeze(-1)  # [Ti, Tj], j - i
    return table[relative_bucket(distance, table.shape[0], max_distance)].permute(2, 0, 1)


def rotary_angles(positions: Tensor, d_head: int, base: float) -> tuple[Tensor, Tensor]:
    """positions [T] -> cos, sin, [T, K] each. The angle of pair (c, c + K/2) is position / base^(2c/K).

    Su et al. 2021, section 3.2.2.
    """
    exponent = torch.arange(0, d_head, 2, device=positions.device, dtype=torch.float32) / d_head
    # Rounded as in the reference: at position 8,000, another order of rounding changes the angle by 0.0005.
    frequency = 1.0 / base**exponent  # [K/2]
    angle = positions.float().unsqueeze(-1) * frequency  # [T, K/2]
    angle = torch.cat((angle, angle), dim=-1)  # [T, K]
    return angle.cos(), angle.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [..., T, K], cos and sin [T, K] -> [..., T, K]: each pair rotated by its angle, in float32."""
    first, second = x.float().chunk(2, dim=-1)
    quarter_turn = torch.cat((-second, first), dim=-1)
    return (x.float() * cos + quarter_turn * sin).to(x.dtype)
