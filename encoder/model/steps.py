"""What may follow pooling besides a linear map: norm 1, LayerNorm, a sparse code; and a mean over layers before it.

They are the modules Normalize, LayerNorm, SparseAutoEncoder and WeightedLayerPooling of sentence-transformers.

Shapes: D width of a vector, C width of a code, n layers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from encoder.errors import ConfigError
from encoder.model.checks import check_kinds, check_whole, settle_eps
from encoder.model.pooling import Dense, DenseConfig


@dataclass(frozen=True)
class UnitConfig:
    """The scaling of a vector to norm 1 between two other steps; after the last it is `TextEncoder.normalise`."""


class Unit(nn.Module):
    """x / ||x||, [..., D] -> [..., D]."""

    def __init__(self, config: UnitConfig) -> None:
        super().__init__()
        self.config = config

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.normalize(x, dim=-1)


@dataclass(frozen=True)
class VectorNormConfig:
    """LayerNorm of one vector of D = width numbers."""

    width: int
    eps: float = 1e-5

    def __post_init__(self) -> None:
        check_whole("width", self.width, 1)
        settle_eps(self, "eps")


class VectorNorm(nn.Module):
    """LayerNorm with a gain and a bias, [..., D] -> [..., D]."""

    def __init__(self, config: VectorNormConfig) -> None:
        super().__init__()
        self.config = config
        self.norm = nn.LayerNorm(config.width, eps=config.eps)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.norm(x)
        return found


@dataclass(frozen=True)
class CodeConfig:
    """A sparse code (Wen et al. 2025, CSR): of d_out numbers the `kept` largest count, where they are positive.

    standardised: whether the vector first gets mean 0 and standard deviation 1.
    """

    d_in: int
    d_out: int
    kept: int
    standardised: bool = False

    def __post_init__(self) -> None:
        check_whole("d_in", self.d_in, 1)
        check_whole("d_out", self.d_out, 1)
        check_whole("kept", self.kept, 1, self.d_out)
        check_kinds(self)


class Code(nn.Module):
    """relu(top_k((x - pre_bias) W + bias)), [..., D] -> [..., C], with 0 in the places that are not among the k."""

    def __init__(self, config: CodeConfig) -> None:
        super().__init__()
        self.config = config
        self.pre_bias = nn.Parameter(torch.zeros(config.d_in))
        self.encoder = nn.Linear(config.d_in, config.d_out, bias=False)
        self.latent_bias = nn.Parameter(torch.zeros(config.d_out))

    def forward(self, x: Tensor) -> Tensor:
        if self.config.standardised:
            x = x - x.mean(dim=-1, keepdim=True)
            x = x / (x.std(dim=-1, keepdim=True) + 1e-5)
        latents = self.encoder(x - self.pre_bias) + self.latent_bias
        values, places = latents.topk(self.config.kept, dim=-1)
        return torch.zeros_like(latents).scatter(-1, places, values.relu())


@dataclass(frozen=True)
class LayerMixConfig:
    """The weighted mean of the residual streams from `first` to the output: 0 is the embeddings.

    n_weights: the number of streams, one for each layer and one for the embeddings, less `first`.
    """

    first: int
    n_weights: int

    def __post_init__(self) -> None:
        check_whole("first", self.first, 0)
        check_whole("n_weights", self.n_weights, 1)


class LayerMix(nn.Module):
    """n streams [..., D] -> their weighted mean [..., D]. The last is the output, after a final norm."""

    def __init__(self, config: LayerMixConfig) -> None:
        super().__init__()
        self.config = config
        self.layer_weights = nn.Parameter(torch.ones(config.n_weights))

    def forward(self, streams: Sequence[Tensor]) -> Tensor:
        mixed = torch.stack(list(streams[self.config.first :]), dim=-1) @ self.layer_weights
        return mixed / self.layer_weights.sum()


#: Each step by the name of its kind in our own files, with its settings.
STEPS: dict[str, tuple[type, Any]] = {
    "dense": (DenseConfig, Dense),
    "unit": (UnitConfig, Unit),
    "norm": (VectorNormConfig, VectorNorm),
    "code": (CodeConfig, Code),
}


def kind_of(step: nn.Module) -> str:
    """The name of a step's kind in STEPS."""
    return next(name for name, (_, made) in STEPS.items() if isinstance(step, made))


def width_after(steps: Sequence[nn.Module], width: int) -> int:
    """The numbers in a vector of `width` numbers after these steps."""
    for step in steps:
        width = getattr(step.config, "d_out", width)
    return width


def check_widths(steps: Sequence[nn.Module], width: int) -> None:
    """Raise ConfigError for a step that does not fit to the width of the vectors before it."""
    for step in steps:
        config: Any = step.config
        wanted = getattr(config, "d_in", getattr(config, "width", width))
        if wanted != width:
            raise ConfigError(f"{type(config).__name__} maps vectors of {wanted} numbers, and they have {width}.")
        width = getattr(config, "d_out", width)


def settings_of(step: nn.Module) -> Mapping[str, Any]:
    """The fields of a step's settings, and its kind where it is not a linear map."""
    kind = kind_of(step)
    own: dict[str, Any] = dict(vars(step.config))
    return own if kind == "dense" else {"kind": kind, **own}
