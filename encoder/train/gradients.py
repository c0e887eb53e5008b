"""Gradients at initialisation over depth, in both norm placements, next to the bounds of Xiong et al. 2020.

"On Layer Normalization in the Transformer Architecture", sections 3.2 and 3.3. `Setting()` follows the paper in this:
one head; W_Q and W_K zero, so that attention is uniform; an FFN as wide as the residual stream, with ReLU; linear maps
drawn as Xavier (Glorot) Gaussians, biases 0, gains 1; input vectors N(0, I), no positions and no LayerNorm after the
embeddings; pre-norm with a final LayerNorm; output vectors of the words from a Xavier table of their own.
It differs in this: W_O follows W_V as in real encoders, both Xavier, which keeps the expected squared norm; 15% of the
tokens are masked, all with the same random vector; the loss is their mean.

Theorem 1 gives upper bounds on the last layer's gradient, at initialisation only. It says nothing of the steps that
Adam takes, since Adam divides each gradient by its running size.

Shapes: L layers, B rows, T tokens, D d_model, V vocabulary.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor

from encoder.errors import EncoderError
from encoder.model.config import NORM_PLACEMENTS, Activation, EncoderConfig, NormPlacement
from encoder.model.encoder import Encoder
from encoder.trace.capture import record

#: Depths of the benchmark.
DEPTHS = (6, 8, 12, 16, 24)
MASK_SHARE = 0.15


@dataclass(frozen=True)
class Setting:
    """The encoders to measure. The defaults are the paper's."""

    d_model: int = 256
    n_heads: int = 1
    #: 0: as wide as d_model.
    d_ffn: int = 0
    activation: Activation = "relu"
    #: W_Q and W_K are zero as in the paper; otherwise Xavier.
    uniform_attention: bool = True
    vocab_size: int = 1000
    #: The input is n_rows x n_tokens random tokens.
    n_rows: int = 16
    n_tokens: int = 16

    @property
    def is_theory(self) -> bool:
        """Whether the paper's bounds hold for this setting."""
        return (
            self.n_heads == 1
            and self.d_ffn in (0, self.d_model)
            and self.activation == "relu"
            and self.uniform_attention
        )

    def config(self, depth: int, placement: NormPlacement) -> EncoderConfig:
        """The encoder of `depth` layers. Raises ConfigError for a width that the heads cannot share."""
        return EncoderConfig(
            vocab_size=self.vocab_size,
            d_model=self.d_model,
            n_layers=depth,
            n_heads=self.n_heads,
            d_ffn=self.d_ffn or self.d_model,
            max_positions=self.n_tokens,
            norm_placement=placement,
            embedding_norm=False,
            position="none",
            activation=self.activation,
        )


@dataclass(frozen=True)
class Measurement:
    """One backward pass.

    gradient_norms [L]: Frobenius norm of the loss' gradient in each layer's second FFN matrix, W_out. squared_norms
    [L]: mean over tokens of the squared norm over D, after each layer: in post-norm of the input of the layer's last
    LayerNorm, in pre-norm of the residual stream. loss in nats.
    """

    depth: int
    placement: NormPlacement
    seed: int
    gradient_norms: tuple[float, ...]
    squared_norms: tuple[float, ...]
    loss: float

    @property
    def last_gradient_norm(self) -> float:
        """That of the last layer, which Theorem 1 bounds."""
        return self.gradient_norms[-1]


def measure(depth: int, placement: NormPlacement, seed: int, setting: Setting | None = None) -> Measurement:
    """One backward pass of a masked-word loss. With one seed, both placements have the same weights and text."""
    setting = setting or Setting()
    encoder = Encoder(setting.config(depth, placement), seed=seed)
    if setting.uniform_attention:
        silence_queries_and_keys(encoder)
    generator = torch.Generator().manual_seed(seed + 1_000_003)  # other random numbers than those of the weights
    shape = (setting.n_rows, setting.n_tokens)
    words = torch.randint(1, setting.vocab_size, shape, generator=generator)  # [B, T]; word 0 is [MASK]
    hidden = torch.rand(shape, generator=generator) < MASK_SHARE
    hidden[0, 0] = True  # at least one token is masked
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
    """Set W_Q and W_K to zero, in place: every score is 0 and attention is uniform."""
    for layer in range(encoder.config.n_layers):
        attention = encoder.block(layer).attention
        attention.w_q.weight.zero_()
        attention.w_k.weight.zero_()


def _squared_norm(values: dict[str, Tensor], layer: int, placement: NormPlacement) -> float:
    name = f"layers.{layer}.ffn_norm.input" if placement == "post" else f"layers.{layer}.after_ffn"
    return float(values[name].detach().square().mean())  # the mean over D is the squared norm / D


def measure_all(
    depths: Sequence[int] = DEPTHS, seeds: Iterable[int] = (0, 1, 2), setting: Setting | None = None
) -> Iterator[Measurement]:
    """Measure all `cases`, one at a time. Raises EncoderError for a depth below 1."""
    for depth, placement, seed in cases(depths, seeds):
        yield measure(depth, placement, seed, setting)


def cases(depths: Iterable[int], seeds: Iterable[int]) -> list[tuple[int, NormPlacement, int]]:
    """Every depth, placement and seed, the cheapest first. Raises EncoderError for a depth below 1."""
    if wrong := [depth for depth in depths if depth < 1]:
        raise EncoderError(f"depth={wrong[0]}: choose 1 or more layers.")
    every = itertools.product(sorted(depths), seeds, NORM_PLACEMENTS)
    return [(depth, placement, seed) for depth, seed, placement in every]


# --- the paper's bounds -----------------------------------------------------------------------------------------------


def lemma_bounds(layer: int, placement: NormPlacement) -> tuple[float, float]:
    """Lemma 2: bounds of the expected squared norm over D after `layer` (counted from 0, so l = layer + 1 there).

    Post-norm: exactly 3/2, of the input of the layer's last LayerNorm. Pre-norm: between 1 + l/2 and 1 + 3l/2, of the
    residual stream.
    """
    if placement == "post":
        return 1.5, 1.5
    return 1.0 + (layer + 1) / 2.0, 1.0 + 3.0 * (layer + 1) / 2.0


def theorem_exponent(placement: NormPlacement) -> float:
    """Exponent of L in Theorem 1's upper bound on the last layer's gradient.

    Post-norm: O(D sqrt(ln D)), so 0. Pre-norm: O(D sqrt(ln D / L)), so -1/2.
    """
    return 0.0 if placement == "post" else -0.5


def theorem_line(depths: Sequence[int], placement: NormPlacement, d_model: int, through: float) -> tuple[float, ...]:
    """Theorem 1's bound, with its unknown constant chosen so that the line passes `through` at the first depth."""
    bound = [d_model * math.sqrt(math.log(d_model)) * depth ** theorem_exponent(placement) for depth in depths]
    return tuple(through * value / bound[0] for value in bound)


# --- summaries --------------------------------------------------------------------------------------------------------


def fit_slope(measurements: Iterable[Measurement], placement: NormPlacement) -> float | None:
    """Exponent of the depth L that fits the last layer's gradient norm; None for fewer than two depths.

    Least squares of log(gradient norm, mean over the seeds) on log(L).
    """
    by_depth: dict[int, list[float]] = {}
    for entry in measurements:
        if entry.placement == placement:
            by_depth.setdefault(entry.depth, []).append(entry.last_gradient_norm)
    if len(by_depth) < 2:
        return None
    means = [sum(norms) / len(norms) for norms in by_depth.values()]
    return float(np.polyfit(np.log(list(by_depth)), np.log(means), 1)[0])


def to_frame(measurements: Iterable[Measurement]) -> pd.DataFrame:
    """One row a layer: placement, depth, seed, layer, gradient_norm, squared_norm (over D), Lemma 2's lower, upper."""
    names = ["placement", "depth", "seed", "layer", "gradient_norm", "squared_norm", "lower", "upper"]
    rows = [
        (one.placement, one.depth, one.seed, layer, gradient, squared, *lemma_bounds(layer, one.placement))
        for one in measurements
        for layer, (gradient, squared) in enumerate(zip(one.gradient_norms, one.squared_norms, strict=True))
    ]
    return pd.DataFrame(rows, columns=names)
