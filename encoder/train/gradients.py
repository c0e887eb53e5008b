"""Gradients at initialisation, over depth, in both norm placements: what Xiong et al. 2020 prove, measured.

"On Layer Normalization in the Transformer Architecture", sections 3.2 and 3.3. Where the theory's setting is followed
(`Setting()`): one head; W_Q and W_K zero, so that attention is uniform; an FFN as wide as the stream, with ReLU; linear
maps drawn as Xavier (Glorot) Gaussians, biases 0, gains 1; input vectors N(0, I), without positions and without a
norm after the embeddings; pre-norm with a final norm; the output words' vectors are a Xavier table of their own.
Where it is not: our attention has W_O after W_V (as real encoders do), both Xavier, which leaves the expected
squared norm as it is; the 15 % of the tokens that are to be predicted are shown as one and the same random vector;
the loss is their mean.

Shapes: L layers, B rows, T tokens, D d_model, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from encoder.capture import record
from encoder.config import NORM_PLACEMENTS, Activation, EncoderConfig, NormPlacement
from encoder.errors import EncoderError
from encoder.model import Encoder

if TYPE_CHECKING:
    import pandas

#: Depths of the benchmark and of the issue's figures.
DEPTHS = (6, 8, 12, 16, 24)
MASK_SHARE = 0.15


@dataclass(frozen=True)
class Setting:
    """What is measured on. The defaults are the theory's; d_ffn 0: as wide as d_model.

    uniform_attention: W_Q and W_K are zero (the theory); otherwise Xavier like the rest. n_rows x n_tokens random
    tokens.
    """

    d_model: int = 256
    n_heads: int = 1
    d_ffn: int = 0
    activation: Activation = "relu"
    uniform_attention: bool = True
    vocab_size: int = 1000
    n_rows: int = 16
    n_tokens: int = 16

    @property
    def is_theory(self) -> bool:
        """Whether the theorem's bounds are about this setting."""
        return (
            self.n_heads == 1
            and self.d_ffn in (0, self.d_model)
            and self.activation == "relu"
            and self.uniform_attention
        )

    def config(self, depth: int, placement: NormPlacement) -> EncoderConfig:
        """The encoder of `depth` layers. Raises ConfigError where the width cannot be split among the heads."""
        return EncoderConfig(
            vocab_size=self.vocab_size, d_model=self.d_model, n_layers=depth, n_heads=self.n_heads,
            d_ffn=self.d_ffn or self.d_model, max_positions=self.n_tokens, norm_placement=placement,
            embedding_norm=False, position="none", activation=self.activation,
        )  # fmt: skip


@dataclass(frozen=True)
class Measurement:
    """One backward pass.

    gradient_norms [L]: Frobenius norm of the loss' gradient in each layer's second FFN matrix, W_out; squared_norms
    [L]: mean over tokens of the squared length, over D, of the stream after each layer: in post-norm of the sum
    that goes into the layer's last norm, in pre-norm of the stream itself; loss in nats.
    """

    depth: int
    placement: NormPlacement
    seed: int
    gradient_norms: tuple[float, ...]
    squared_norms: tuple[float, ...]
    loss: float

    @property
    def last_gradient_norm(self) -> float:
        """Of the last layer, which the theorem is about."""
        return self.gradient_norms[-1]


def measure(depth: int, placement: NormPlacement, seed: int, setting: Setting | None = None) -> Measurement:
    """One encoder, one backward pass of a masked-word loss. The same seed gives both placements the same weights
    and text.
    """
    setting = setting or Setting()
    encoder = Encoder(setting.config(depth, placement), seed=seed)
    if setting.uniform_attention:
        silence_queries_and_keys(encoder)
    generator = torch.Generator().manual_seed(seed + 1_000_003)  # another stream than the weights'
    shape = (setting.n_rows, setting.n_tokens)
    words = torch.randint(1, setting.vocab_size, shape, generator=generator)  # [B, T]; word 0 stands for [MASK]
    hidden = torch.rand(shape, generator=generator) < MASK_SHARE
    hidden[0, 0] = True  # never nothing to predict
    deviation = (2.0 / (setting.vocab_size + setting.d_model)) ** 0.5
    table = torch.randn(setting.vocab_size, setting.d_model, generator=generator) * deviation
    with record() as recorder:
        output = encoder(words.masked_fill(hidden, 0))  # [B, T, D]
    loss = F.cross_entropy(output[hidden] @ table.T, words[hidden])
    matrices = [encoder.block(layer).ffn.w_out.weight for layer in range(depth)]
    gradients = torch.autograd.grad(loss, matrices)
    return Measurement(
        depth=depth,
        placement=placement,
        seed=seed,
        gradient_norms=tuple(float(gradient.norm()) for gradient in gradients),
        squared_norms=tuple(_squared_norm(recorder.values, layer, placement) for layer in range(depth)),
        loss=float(loss.detach()),
    )


@torch.no_grad()
def silence_queries_and_keys(encoder: Encoder) -> None:
    """Set W_Q and W_K to zero, in place: every score is 0, so every token attends to all tokens alike."""
    for block in encoder.layers:
        block.attention.w_q.weight.zero_()  # type: ignore[union-attr]
        block.attention.w_k.weight.zero_()  # type: ignore[union-attr]


def _squared_norm(values: dict[str, Tensor], layer: int, placement: NormPlacement) -> float:
    name = f"layers.{layer}.ffn_norm.input" if placement == "post" else f"layers.{layer}.after_ffn"
    return float(values[name].detach().square().mean())  # the mean over D is the squared length / D


def measure_all(
    depths: Sequence[int] = DEPTHS,
    seeds: Iterable[int] = (0, 1, 2),
    setting: Setting | None = None,
    stop: Callable[[], bool] | None = None,
) -> Iterator[Measurement]:
    """Every depth, seed and placement, the cheapest first, handed out as they come; ends early when `stop()` says so.

    Raises EncoderError for a depth below 1.
    """
    wrong = [depth for depth in depths if depth < 1]
    if wrong:
        raise EncoderError(f"depth={wrong[0]}: an encoder has at least 1 layer.")
    seeds = tuple(seeds)
    for depth in sorted(depths):
        for seed in seeds:
            for placement in NORM_PLACEMENTS:
                if stop is not None and stop():
                    return
                yield measure(depth, placement, seed, setting)  # type: ignore[arg-type]


def count(depths: Sequence[int], seeds: Sequence[int]) -> int:
    """How many measurements `measure_all` gives, for a progress bar."""
    return len(depths) * len(seeds) * len(NORM_PLACEMENTS)


# --- what the theory says ---------------------------------------------------------------------------------------------


def lemma_bounds(layer: int, placement: NormPlacement) -> tuple[float, float]:
    """Lemma 2: bounds of the expected squared norm over D after `layer` (counted from 0, so l = layer + 1 there).

    Post-norm: exactly 3/2, of the sum before the layer's last norm. Pre-norm: between 1 + l/2 and 1 + 3l/2, of the
    stream.
    """
    if placement == "post":
        return 1.5, 1.5
    return 1.0 + (layer + 1) / 2.0, 1.0 + 3.0 * (layer + 1) / 2.0


def theorem_exponent(placement: NormPlacement) -> float:
    """Theorem 1: the last layer's gradient is O(D sqrt(ln D)) in post-norm, O(D sqrt(ln D / L)) in pre-norm: L^0,
    L^-1/2.
    """
    return 0.0 if placement == "post" else -0.5


def theorem_line(depths: Sequence[int], placement: NormPlacement, d_model: int, through: float) -> tuple[float, ...]:
    """The theorem's bound up to its constant, which is chosen so that the line passes `through` at the first depth."""
    bound = [d_model * math.sqrt(math.log(d_model)) * depth ** theorem_exponent(placement) for depth in depths]
    return tuple(through * value / bound[0] for value in bound)


# --- what was found ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slope:
    """log(gradient norm) = intercept + slope x log(depth), least squares over the means of the seeds; at least two
    depths.
    """

    placement: NormPlacement
    slope: float
    intercept: float


def fit_slope(measurements: Iterable[Measurement], placement: NormPlacement) -> Slope | None:
    """Slope of the last layer's gradient norm over depth, both as logarithms; None with fewer than two depths."""
    by_depth: dict[int, list[float]] = {}
    for entry in measurements:
        if entry.placement == placement:
            by_depth.setdefault(entry.depth, []).append(entry.last_gradient_norm)
    if len(by_depth) < 2:
        return None
    x = torch.tensor([math.log(depth) for depth in by_depth], dtype=torch.float64)
    y = torch.tensor([math.log(sum(norms) / len(norms)) for norms in by_depth.values()], dtype=torch.float64)
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / (x - x.mean()).square().sum())
    return Slope(placement, slope, float(y.mean()) - slope * float(x.mean()))


def to_frame(measurements: Iterable[Measurement]) -> pandas.DataFrame:
    """One row a layer: placement, depth, seed, layer, gradient_norm, squared_norm (over D), lower and upper (Lemma
    2).
    """
    import pandas as pd

    rows = [
        {
            "placement": entry.placement, "depth": entry.depth, "seed": entry.seed, "layer": layer,
            "gradient_norm": gradient, "squared_norm": squared,
            "lower": lemma_bounds(layer, entry.placement)[0], "upper": lemma_bounds(layer, entry.placement)[1],
        }
        for entry in measurements
        for layer, (gradient, squared) in enumerate(zip(entry.gradient_norms, entry.squared_norms, strict=True))
    ]  # fmt: skip
    names = ["placement", "depth", "seed", "layer", "gradient_norm", "squared_norm", "lower", "upper"]
    return pd.DataFrame(rows, columns=names)
