"""The LayerNorms of an encoder on a sentence: means, standard deviations, gains, biases, outlier dimensions.

Shapes: N norms in the order in which they act, T tokens, D d_model.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
import torch
from torch import Tensor

from encoder.trace.recorded_pass import NormTrace
from encoder.trace.trace import Trace

#: A component is an outlier where it exceeds this many times the size that chance explains.
TIMES_CHANCE = 2.0


@dataclass(frozen=True, eq=False)
class NormStatistics:
    """names of the norms; before, after: (mean, population standard deviation), each [N, T] float32.

    rounding: smaller means, relative to the largest standard deviation, are rounding errors of the number type.
    least: the smallest standard deviation (of RMSNorm: root mean square) that a norm gives before its gain; below 1
    where epsilon is not small next to a vector's variance.
    """

    names: tuple[str, ...]
    before: tuple[np.ndarray, np.ndarray]
    after: tuple[np.ndarray, np.ndarray]
    rounding: float = 0.0
    least: float = 1.0

    def ends(self, moment: str = "before", statistic: str = "std") -> tuple[tuple[int, int], tuple[int, int]]:
        """(norm, token) of the largest and the smallest number. moment: "before", "after"; statistic: "std", "mean"."""
        numbers = getattr(self, moment)[("mean", "std").index(statistic)]
        return self._at(numbers.argmax()), self._at(numbers.argmin())

    def widest_of(self, token: int) -> str:
        """The norm before which a token's vector has its largest standard deviation."""
        return self.names[int(self.before[1][:, token].argmax())]

    def _at(self, place: np.intp) -> tuple[int, int]:
        norm, token = np.unravel_index(place, self.before[1].shape)
        return int(norm), int(token)


def largest_component(trace: Trace, name: str, token: int) -> int:
    """Component of a token's vector that is farthest from the mean, in standard deviations, at the norm `name`."""
    x = trace.norms[name].input[token].float()
    return int((x - x.mean()).abs().argmax())


@torch.no_grad()
def statistics(trace: Trace) -> NormStatistics:
    """Mean and standard deviation over the D numbers of each token, at every norm's input and output."""
    norms = trace.norms
    return NormStatistics(
        names=tuple(norms),
        before=_moments(norm.input for norm in norms.values()),
        after=_moments(norm.output for norm in norms.values()),
        rounding=4 * torch.finfo(trace.output.dtype).eps,
        least=min(map(_least, norms.values()), default=1.0),
    )


def _least(norm: NormTrace) -> float:
    """The smallest root of v / (v + epsilon), v the variance of a token's vector; of RMSNorm, its mean square."""
    x = norm.input.float()
    v = x.var(dim=-1, correction=0) if norm.kind == "layer" else x.square().mean(dim=-1)
    return float((v / (v + norm.eps)).sqrt().min())


def _moments(vectors: Iterable[Tensor]) -> tuple[np.ndarray, np.ndarray]:
    """N x [T, D] -> mean, std, each [N, T]. In float32 whatever the model's type; one norm at a time in memory."""
    mean, std = [], []
    for x in vectors:
        mean.append(x.float().mean(dim=-1).cpu())
        std.append(x.float().std(dim=-1, correction=0).cpu())
    return torch.stack(mean).numpy(), torch.stack(std).numpy()


@dataclass(frozen=True)
class Parameters:
    """The gain and the bias of a norm in a few numbers.

    gain, bias: ((component, smallest), (component, largest)), bias None where the norm has none; mean_gain; plain:
    every gain is 1 and every bias 0.
    """

    gain: tuple[tuple[int, float], tuple[int, float]]
    bias: tuple[tuple[int, float], tuple[int, float]] | None
    mean_gain: float
    plain: bool


def parameters(trace: Trace, name: str) -> Parameters:
    """Gain and bias of the norm `name`."""
    norm = trace.norms[name]
    bias = None if norm.bias is None else norm.bias.float()
    gain = norm.gain.float()
    return Parameters(
        gain=_ends(gain),
        bias=None if bias is None else _ends(bias),
        mean_gain=float(gain.mean()),
        plain=bool((gain == 1).all()) and (bias is None or bool((bias == 0).all())),
    )


def _ends(x: Tensor) -> tuple[tuple[int, float], tuple[int, float]]:
    low, high = int(x.argmin()), int(x.argmax())
    return (low, float(x[low])), (high, float(x[high]))


@dataclass(frozen=True, eq=False)
class Extremes:
    """The size of each component of the vectors before one norm.

    largest [D]: the largest |x| of the component at any real token; token [D]: at which; median: of |x| over all tokens
    and components; chance: the ratio to the median of the largest of as many normally distributed numbers.
    """

    name: str
    largest: np.ndarray
    token: np.ndarray
    median: float
    chance: float

    @cached_property
    def ratio(self) -> np.ndarray:
        """[D] float32: `largest` in units of the median."""
        return (self.largest / self.median).astype(np.float32)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Components, the largest first."""
        return tuple(int(component) for component in np.argsort(-self.ratio, kind="stable"))

    @property
    def outliers(self) -> tuple[int, ...]:
        """The components beyond TIMES_CHANCE times chance, the largest first."""
        return tuple(component for component in self.order if self.ratio[component] > TIMES_CHANCE * self.chance)


@dataclass(frozen=True, eq=False)
class OutlierDimensions:
    """Outlier dimensions before every norm: a few components of the residual stream, the same at many tokens, that are
    far larger than all others (Kovaleva et al. 2021; Timkey and van Schijndel 2021; Sun et al. 2024).

    by_norm: the norms in the order in which they act.
    """

    by_norm: tuple[Extremes, ...]

    def at(self, name: str) -> Extremes:
        """Those before the norm `name`."""
        return next(extremes for extremes in self.by_norm if extremes.name == name)

    def leaders(self) -> dict[int, int]:
        """Component -> at how many norms it is the largest of all, the most frequent first."""
        first = [extremes.order[0] for extremes in self.by_norm]
        return dict(sorted(((one, first.count(one)) for one in dict.fromkeys(first)), key=lambda item: -item[1]))


@torch.no_grad()
def outlier_dimensions(trace: Trace) -> OutlierDimensions:
    """The size of each component before each norm; one norm at a time in memory."""
    return OutlierDimensions(
        tuple(_extremes(name, norm.input[: trace.n_real].float().abs()) for name, norm in trace.norms.items())
    )


def _extremes(name: str, size: Tensor) -> Extremes:
    """size [T, D]: absolute values."""
    largest, token = size.max(dim=0)
    # An even number of values has two in the middle; torch takes the lower one. 1 where more than half of all are 0.
    median = float(size.median()) or 1.0
    normal = NormalDist()
    chance = normal.inv_cdf(1 - 0.5 / size.numel()) / normal.inv_cdf(0.75)
    return Extremes(name, largest.cpu().numpy(), token.cpu().numpy(), median, chance)
