"""Rotary positions: the angles by which pairs of components of queries and keys rotate, and the rotation.

Shapes: T tokens, K width of a head, R rotated components (K unless positions are partial).
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from encoder.errors import ConfigError
from encoder.model.checks import check_kinds, check_whole

ScalingKind = Literal["linear", "yarn", "llama3"]


@dataclass(frozen=True)
class RotaryScaling:
    """How the frequencies differ from base^(-2c/R), so that a model handles longer inputs than it was trained on.

    "linear": all are divided by `factor` (Chen et al. 2023).
    "yarn" (Peng et al. 2024, section 3.2): pairs that turn more than `fast` times within `original` tokens keep their
    frequency, those that turn less than `slow` times are divided by `factor`, with a linear ramp between; cos and sin
    are multiplied by `length`; whole: whether the ends of the ramp are whole pairs. "llama3" (Llama 3.1): the same with
    a ramp in the number of turns.
    """

    kind: ScalingKind
    factor: float
    original: int = 1
    fast: float = 32.0
    slow: float = 1.0
    length: float = 1.0
    whole: bool = True

    def __post_init__(self) -> None:
        check_kinds(self)
        for name in ("factor", "fast", "slow", "length"):
            if not 0.0 < getattr(self, name) <= 1e9:
                raise ConfigError(f"{name}={getattr(self, name)} is out of range: choose a number above 0.")
        if self.kind == "llama3" and self.fast <= self.slow:
            raise ConfigError(f"fast={self.fast} must be larger than slow={self.slow}.")
        check_whole("original", self.original, 1)

    def scaled(self, frequency: Tensor, base: float) -> Tensor:
        """frequency [R/2] of unscaled positions -> [R/2]."""
        if self.kind == "linear":
            return frequency / self.factor
        kept = self._kept(frequency, base)
        if self.kind == "yarn":
            # 1 / (factor x base^...) as in the reference: at a long distance the order of rounding shows.
            return 1.0 / (self.factor * (1.0 / frequency)) * (1.0 - kept) + frequency * kept
        return frequency / self.factor * (1.0 - kept) + frequency * kept

    def _kept(self, frequency: Tensor, base: float) -> Tensor:
        """[R/2]: how much of each pair's frequency stays, 0 to 1."""
        if self.kind == "llama3":
            turns = self.original * frequency / (2.0 * math.pi)
            return ((turns - self.slow) / (self.fast - self.slow)).clamp(0.0, 1.0)
        width = 2 * len(frequency)
        low, high = (
            width * math.log(self.original / (turns * 2.0 * math.pi)) / (2.0 * math.log(base))
            for turns in (self.fast, self.slow)
        )
        if self.whole:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        pairs = torch.arange(len(frequency), device=frequency.device, dtype=torch.float32)
        return 1.0 - ((pairs - low) / (high - low or 0.001)).clamp(0.0, 1.0)


def rotary_frequencies(
    width: int, base: float, scaling: RotaryScaling | None = None, device: torch.device | None = None
) -> Tensor:
    """[R/2]: the angle in radians that pair c rotates by from one position to the next, 1 / base^(2c/R)."""
    exponent = torch.arange(0, width, 2, device=device, dtype=torch.float32) / width
    # Rounded as in the reference: at position 8,000, another order of rounding changes the angle by 0.0005.
    frequency: Tensor = 1.0 / base**exponent
    return frequency if scaling is None else scaling.scaled(frequency, base)


def rotary_angles(
    positions: Tensor, width: int, base: float, scaling: RotaryScaling | None = None
) -> tuple[Tensor, Tensor]:
    """positions [T] -> cos, sin, [T, R] each. The angle of pair c is position / base^(2c/R); R is `width`.

    Su et al. 2021, section 3.2.2. Each angle is there twice, for components c and c + R/2.
    """
    angle = positions.float().unsqueeze(-1) * rotary_frequencies(width, base, scaling, positions.device)  # [T, R/2]
    angle = torch.cat((angle, angle), dim=-1)  # [T, R]
    length = 1.0 if scaling is None else scaling.length
    return angle.cos() * length, angle.sin() * length


def grid_angles(positions: Tensor, width: int, base: float, side: int, special: int) -> tuple[Tensor, Tensor]:
    """Tokens of an image, positions [T] -> cos, sin, [T, K] each: DINOv3's angles (Simeoni et al. 2025, code).

    A patch has the coordinates of its centre, -1 to 1 along both sides of `side` patches. Half of the pairs rotate by
    its row, half by its column: 2 pi x coordinate / base^(4c/K). `special` tokens come first and do not rotate.
    """
    patch = positions - special
    centres = torch.stack((patch // side, patch % side), dim=-1).float()  # [T, 2]
    coordinates = 2.0 * ((centres + 0.5) / side) - 1.0
    frequency = 1.0 / base ** torch.arange(0, 1, 4 / width, device=positions.device, dtype=torch.float32)  # [K/4]
    angle = (2.0 * math.pi * coordinates.unsqueeze(-1) * frequency).flatten(-2)  # [T, K/2]
    angle = torch.where(patch.unsqueeze(-1) >= 0, angle, 0.0).repeat(1, 2)
    return angle.cos(), angle.sin()


def tubelet_angles(positions: Tensor, width: int, base: float, side: int) -> tuple[Tensor, Tensor]:
    """Tokens of a video, positions [T] -> cos, sin, [T, R] each: V-JEPA 2's angles (Assran et al. 2025, code).

    A third of the R components rotates by the token's time step, a third by its row, a third by its column; a step has
    `side` x `side` tokens. Component c of the w of a third has the angle place / base^(2 (c mod w/2) / w), though
    neighbours are its pairs: so the code was trained. First the angles of each pair's first component, then of its
    second.
    """
    within = positions % side**2
    places = torch.stack((positions // side**2, within // side, within % side), dim=-1)  # [T, 3]
    third = width // 3
    exponent = torch.arange(0, third, 2, device=positions.device, dtype=torch.float32) / third
    angle = places.float().unsqueeze(-1) * (1.0 / base**exponent).repeat(2)  # [T, 3, w]
    angle = angle.flatten(-2)
    angle = torch.cat((angle[:, 0::2], angle[:, 1::2]), dim=-1)
    return angle.cos(), angle.sin()


def angles_of_table(rows: Tensor) -> tuple[Tensor, Tensor]:
    """rows [T, R] of a table, the sine of each pair and then its cosine -> cos, sin, [T, R] each."""
    sin, cos = rows.float().chunk(2, dim=-1)
    return cos.repeat(1, 2), sin.repeat(1, 2)


def rotate(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False) -> Tensor:
    """x [..., T, K], cos and sin [T, R] -> [..., T, K]: each pair of the first R components rotated, in float32.

    Pairs are (c, c + R/2), or neighbours (2c, 2c + 1) where they are interleaved. Components after R stay. The first
    R/2 angles are those of the pairs' first components, the others of their second ones.
    """
    width = cos.shape[-1]
    turned = x[..., :width].float()
    if interleaved:
        first, second = turned[..., 0::2], turned[..., 1::2]
        (cos, cos2), (sin, sin2) = cos.chunk(2, dim=-1), sin.chunk(2, dim=-1)
        out = torch.stack((first * cos - second * sin, second * cos2 + first * sin2), dim=-1).flatten(-2)
    else:
        first, second = turned.chunk(2, dim=-1)
        out = turned * cos + torch.cat((-second, first), dim=-1) * sin
    out = out.to(x.dtype)
    return out if width == x.shape[-1] else torch.cat((out, x[..., width:]), dim=-1)
