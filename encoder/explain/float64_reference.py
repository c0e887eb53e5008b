"""The second opinion: the encoder once more, in float64 and plain numpy, from the ids and the weights alone.

It takes nothing that the model computed and shares no function with the model or with the steps; where there are two
ways to write a formula it takes the other one (rotations as complex numbers, variances as mean square minus squared
mean, ...).

Shapes: L layers, H heads, T tokens (queries i, keys j), D d_model, K width of a head, F width of the FFN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from encoder.errors import EncoderError
from encoder.trace import Trace

Doubles = NDArray[np.float64]

#: How far a shown number may be from its second opinion, relative to the largest number of its vector.
TOLERANCE = {"torch.float32": 1e-4, "torch.float16": 2e-2, "torch.bfloat16": 1e-1}


@dataclass(frozen=True, eq=False)
class Check:
    """One number on the screen, or a whole vector, beside its second opinion.

    shown, recomputed: arrays of one shape; scale: what a difference is measured against, by default the largest
    recomputed number; tolerance: what is still called equal; index: the place of the selected number.
    """

    name: str
    shown: Doubles
    recomputed: Doubles
    scale: float = 0.0
    tolerance: float = 1e-4
    index: tuple[int, ...] = field(default=())

    @property
    def difference(self) -> float:
        """The largest difference between the two, in the numbers' own unit."""
        return float(np.max(np.abs(self.shown - self.recomputed), initial=0.0))

    @property
    def relative(self) -> float:
        """The largest difference as a share of `scale`."""
        return self.difference / self.scale if self.scale else self.difference

    @property
    def agrees(self) -> bool:
        """Whether the two are equal within the tolerance."""
        return bool(np.isfinite(self.relative)) and self.relative <= self.tolerance

    @property
    def shown_number(self) -> float:
        """The selected number as it is shown."""
        return float(self.shown[self.index])

    @property
    def recomputed_number(self) -> float:
        """The selected number as the second path has it."""
        return float(self.recomputed[self.index])


def compare(
    name: str, shown: ArrayLike, recomputed: ArrayLike, index: tuple[int, ...] = (), dtype: str = "torch.float32"
) -> Check:
    """A Check. `index` is the place of the selected number, by default where the two differ most; the whole vector is
    compared all the same.

    Masked scores (the lowest number) count as equal where both sides have them.
    """
    left, right = np.asarray(shown, dtype=np.float64), np.asarray(recomputed, dtype=np.float64)
    if left.shape != right.shape:
        raise ValueError(f"{name}: {left.shape} is shown and {right.shape} recomputed.")
    masked = (left < -1e30) & ~(right > -1e30)
    left, right = np.where(masked, 0.0, left), np.where(masked, 0.0, right)
    scale = float(np.max(np.abs(right), initial=0.0))
    if not index and left.size:
        index = tuple(int(place) for place in np.unravel_index(np.argmax(np.abs(left - right)), left.shape))
    return Check(name, left, right, scale, TOLERANCE.get(dtype, 1e-4), index)


def _once(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Each result is computed once and kept by the object."""

    @wraps(compute)
    def kept(self: Recomputation, *arguments: Any) -> Any:
        key = (compute.__name__, *arguments)
        if key not in self._kept:
            self._kept[key] = compute(self, *arguments)
        return self._kept[key]

    return kept


class Recomputation:
    """Every number of one sentence, from its ids, in float64. Layers are computed when they are asked for, and kept.

    Takes the config, the weights, the ids, the segments and the padding mask of `trace`, and none of its values. Raises
    EncoderError for a trace whose forward pass was edited, and for images, whose pixels a trace does not hold.
    """

    def __init__(self, trace: Trace) -> None:
        if trace.edits:
            raise EncoderError(
                "This forward pass was edited; the check recomputes the model as it is. Undo the edits first."
            )
        if trace.config.patches is not None:
            raise EncoderError("The check starts from the ids of a text; this model reads images.")
        self.config = trace.config
        self.dtype = str(trace.encoder.dtype)
        self.ids = np.asarray(trace.ids)
        self.n_tokens = len(self.ids)
        self.mask = np.asarray(trace.mask.tolist())
        segments = trace.source.segments if trace.source is not None and trace.config.n_segments > 1 else ()
        self.segments = np.asarray([*segments] + [0] * (self.n_tokens - len(segments)))
        self._parameters = dict(trace.encoder.named_parameters())
        self._kept: dict[tuple[Any, ...], Any] = {}

    @property
    def nbytes(self) -> int:
        """Bytes that this object holds once everything has been asked for, roughly."""
        config = self.config
        inner = config.n_heads * config.d_head
        a_token = 6 * config.d_model + config.d_ffn + 7 * inner
        return 8 * self.n_tokens * (4 * config.d_model + config.n_layers * a_token)

    def weight(self, name: str, rows: Any = slice(None)) -> Doubles | None:
        """A parameter (or some of its rows) in float64; None where the model has none of that name."""
        found = self._parameters.get(name)
        return None if found is None else found.detach()[rows].double().cpu().numpy()

    def of_layer(self, layer: int, name: str) -> Doubles | None:
        """A parameter of the weights that `layer` runs with."""
        group = layer * self.config.n_distinct_layers // self.config.n_layers
        return self.weight(f"layers.{group}.{name}")

    def apply(self, x: Doubles, layer: int, name: str) -> Doubles:
        """x [T, A] -> [T, C] through the linear map `name` of a layer: sum_a x_ta W_ca + b_c, W as torch stores it."""
        return _affine(x, self.of_layer(layer, f"{name}.weight"), self.of_layer(layer, f"{name}.bias"))

    # --- embeddings
    # ----------------------------------------------------------------------------------------------------

    @_once
    def token_rows(self) -> Doubles:
        """[T, E]: rows of the token table."""
        return self.weight("embedding.tokens.weight", list(self.ids))

    @_once
    def segment_rows(self) -> Doubles | None:
        """[T, E], or None where the model knows no segments."""
        return self.weight("embedding.segments.weight", list(self.segments))

    @_once
    def position_rows(self) -> Doubles | None:
        """[T, E], or None where nothing is added for the position."""
        config = self.config
        if config.position == "sinusoidal":
            return _waves(np.arange(self.n_tokens), config.embedding_width)
        if config.position != "learned":
            return None
        rows = [token + config.position_offset for token in range(self.n_tokens)]
        if config.pad_position is not None:  # only what is no padding is counted, be it added or typed
            counted = config.position_offset - 1
            for token, token_id in enumerate(self.ids):
                real = self.mask[token] and token_id != config.pad_id
                counted += bool(real)
                rows[token] = counted if real else config.pad_position
        return self.weight("embedding.positions.table.weight", rows)

    @_once
    def embedding_sum(self) -> Doubles:
        """[T, E]: token + segment + position."""
        parts = [self.token_rows(), self.segment_rows(), self.position_rows()]
        return np.sum([part for part in parts if part is not None], axis=0)

    @_once
    def embedding(self) -> Doubles:
        """[T, D]: what enters layer 0."""
        x = self.embedding_sum()
        if self.config.embedding_norm:
            x = self.norm(x, "embedding.norm")
        projection = self.weight("embedding.projection.weight")
        return x if projection is None else _affine(x, projection, self.weight("embedding.projection.bias"))

    def norm(self, x: Doubles, name: str) -> Doubles:
        """LayerNorm with the gain and bias of that name."""
        out = (x - x.mean(-1, keepdims=True)) * self.inverse_std(x)[:, None] * self.weight(f"{name}.weight")
        shift = self.weight(f"{name}.bias")
        return out if shift is None else out + shift

    def inverse_std(self, x: Doubles) -> Doubles:
        """x [T, D] -> [T]: 1 / sqrt(variance + eps), the variance as mean square minus squared mean."""
        variance = np.einsum("td,td->t", x, x) / x.shape[-1] - x.mean(-1) ** 2
        return (np.maximum(variance, 0.0) + self.config.norm_eps) ** -0.5

    # --- a layer
    # -------------------------------------------------------------------------------------------------------

    def stream(self, layer: int) -> Doubles:
        """[T, D]: the residual stream that enters `layer`; layer L: what the last one hands on."""
        return self.embedding() if layer == 0 else self.after(layer - 1, "ffn")

    def before(self, layer: int, part: str) -> Doubles:
        """[T, D]: the stream before the sublayer "attention" or "ffn"."""
        return self.stream(layer) if part == "attention" else self.after(layer, "attention")

    def norm_name(self, layer: int, part: str) -> str | None:
        """Name of a sublayer's norm among the weights; None where it has none."""
        if part == "attention" and layer == 0 and not self.config.first_norm:
            return None
        return f"layers.{layer * self.config.n_distinct_layers // self.config.n_layers}.{part}_norm"

    def input(self, layer: int, part: str) -> Doubles:
        """[T, D]: what the sublayer reads."""
        x, name = self.before(layer, part), self.norm_name(layer, part)
        return self.norm(x, name) if self.config.norm_placement == "pre" and name is not None else x

    @_once
    def after(self, layer: int, part: str) -> Doubles:
        """[T, D]: the stream after the sublayer, with its norm where that stands behind it."""
        x = self.before(layer, part) + self.update(layer, part)
        name = self.norm_name(layer, part)
        return self.norm(x, name) if self.config.norm_placement == "post" and name is not None else x

    def norm_input(self, layer: int, part: str) -> Doubles:
        """[T, D]: what the sublayer's norm is given: the sum in post-norm, the stream in pre-norm."""
        before = self.before(layer, part)
        return before if self.config.norm_placement == "pre" else before + self.update(layer, part)

    @_once
    def update(self, layer: int, part: str) -> Doubles:
        """[T, D]: what the sublayer adds to the stream."""
        if part == "ffn":
            return self.apply(self.hidden(layer), layer, "ffn.w_out")
        z = self.z(layer)
        return self.apply(np.hstack(list(z)), layer, "attention.w_o")

    @_once
    def projected(self, layer: int, which: str) -> Doubles:
        """[H, T, K]: q, k or v before any rotation."""
        flat = self.apply(self.input(layer, "attention"), layer, f"attention.w_{which}")  # [T, H x K]
        return np.stack(np.split(flat, self.config.n_heads, axis=1))

    @_once
    def qkv(self, layer: int, which: str) -> Doubles:
        """[H, T, K]: q, k or v as the scores use them."""
        out = self.projected(layer, which)
        if self.config.position == "rotary" and which != "v":
            return _turn(out, self.config.rotary_base_of_layer(layer))
        return out

    def scores(
        self,
        layer: int,
        head: int,
        queries: list[int] | None = None,
        *,
        scaled: bool = True,
        causal: bool | None = None,
    ) -> Doubles:
        """[Ti, T]: q . k x scale + bias, -infinity where not allowed. scaled, causal: as the model does it unless told
        otherwise."""
        config = self.config
        rows = list(range(self.n_tokens)) if queries is None else queries
        q, k = self.qkv(layer, "q")[head][rows], self.qkv(layer, "k")[head]
        out = np.einsum("ik,jk->ij", q, k)
        if scaled:
            out *= config.attention_scale
        if config.relative_buckets:
            out += self._relative_bias(head, rows)
        for row, i in enumerate(rows):
            out[row, ~self._sees(layer, i, config.causal if causal is None else causal)] = -np.inf
        return out

    def attention(
        self, layer: int, head: int, queries: list[int] | None = None, *, temperature: float = 1.0, **how: Any
    ) -> Doubles:
        """[Ti, T]: softmax of the scores, through the logarithm of the sum."""
        scores = self.scores(layer, head, queries, **how) / temperature
        nothing = ~np.isfinite(scores).any(-1)
        scores[nothing] = 0.0
        return np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))

    @_once
    def z(self, layer: int) -> Doubles:
        """[H, T, K]: the mixed values of every head, some query rows at a time."""
        v = self.qkv(layer, "v")
        rows = max(1, 4_000_000 // self.n_tokens)
        chunks = [list(range(start, min(start + rows, self.n_tokens))) for start in range(0, self.n_tokens, rows)]
        return np.stack(
            [
                np.vstack([np.einsum("ij,jk->ik", self.attention(layer, head, chunk), v[head]) for chunk in chunks])
                for head in range(self.config.n_heads)
            ]
        )

    @_once
    def hidden(self, layer: int) -> Doubles:
        """[T, F]: the FFN's hidden activations, gated where the model gates them."""
        x = self.input(layer, "ffn")
        out = _activation(self.apply(x, layer, "ffn.w_in"), self.config.activation)
        return out * self.apply(x, layer, "ffn.w_gate") if self.config.gated else out

    @_once
    def output(self) -> Doubles:
        """[T, D]: the model's output."""
        x = self.stream(self.config.n_layers)
        return self.norm(x, "final_norm") if self.config.final_norm else x

    # --- inside
    # --------------------------------------------------------------------------------------------------------

    def _sees(self, layer: int, i: int, causal: bool) -> NDArray[np.bool_]:
        """[T]: the keys that token i may look at."""
        window = self.config.window_of_layer(layer)
        nearest = 0 if window is None else max(0, i - window)
        farthest = self.n_tokens if window is None else i + window + 1
        seen = np.zeros(self.n_tokens, dtype=bool)
        seen[nearest : min(farthest, i + 1) if causal else farthest] = True
        return seen & self.mask

    def _relative_bias(self, head: int, rows: list[int]) -> Doubles:
        table = self.weight("relative_bias.weight")
        buckets, far = self.config.relative_buckets, self.config.relative_max_distance
        last = self.n_tokens - 1
        by_distance = table[[_bucket(distance, buckets, far) for distance in range(-last, last + 1)], head]
        return np.stack([by_distance[last - i : last - i + self.n_tokens] for i in rows])


def _affine(x: Doubles, weight: Doubles, bias: Doubles | None) -> Doubles:
    """x [T, A], weight [C, A] as torch stores it -> [T, C]."""
    out = np.einsum("ta,ca->tc", x, weight, optimize=True)
    return out if bias is None else out + bias


def _waves(positions: NDArray[np.integer], width: int) -> Doubles:
    """[T, width]: e^(i angle), its imaginary part (the sine) and its real part (the cosine) in turn."""
    turning = np.exp(1j * np.outer(positions, 10_000.0 ** (-2.0 * np.arange(width // 2) / width)))
    return np.stack((turning.imag, turning.real), axis=-1).reshape(len(positions), width)


def _turn(x: Doubles, base: float) -> Doubles:
    """x [H, T, K]: components c and c + K/2 as one complex number, times e^(i angle)."""
    half = x.shape[-1] // 2
    speed = base ** (-np.arange(half) / half)
    turned = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * np.outer(np.arange(x.shape[1]), speed))
    return np.concatenate((turned.real, turned.imag), axis=-1)


def _bucket(distance: int, buckets: int, max_distance: int) -> int:
    """Row of the relative bias for j - i. The logarithm is taken in single precision, as in training."""
    half, exact, far = buckets // 2, buckets // 4, abs(distance)
    if far >= exact:
        share = np.log(np.float32(far) / np.float32(exact)) / np.float32(math.log(max_distance / exact))
        far = min(half - 1, exact + int(share * np.float32(half - exact)))
    return far + (half if distance > 0 else 0)


def _activation(x: Doubles, name: str) -> Doubles:
    """The activation function `name` in float64."""
    if name == "relu":
        return x * (x > 0)
    if name == "silu":
        return x * 0.5 * (1.0 + np.tanh(x / 2.0))  # the logistic function as a tanh
    if name == "gelu_tanh":
        return x * 0.5 * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    below = np.frompyfunc(lambda value: 0.5 * math.erfc(-value / math.sqrt(2.0)), 1, 1)
    return x * below(x).astype(np.float64)
