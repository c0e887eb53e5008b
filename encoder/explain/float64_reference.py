"""The float64 reference: every number of a forward pass, recomputed in numpy from the ids and the weights alone.

It reads no value of the model's forward pass and shares no function with the model or with the steps. Where a formula
can be written in two ways, it uses the other one (variances as mean square minus squared mean, ...).

Shapes: L layers, H heads, T tokens (queries i, keys j), D d_model, K width of a head, F width of the FFN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from encoder.errors import EncoderError
from encoder.explain.float64_arithmetic import Doubles, activation, affine, relative_bucket, sinusoidal, turned
from encoder.trace import Trace

P = ParamSpec("P")
R = TypeVar("R")


def _once(compute: Callable[Concatenate[Recomputation, P], R]) -> Callable[Concatenate[Recomputation, P], R]:
    """Compute each result once; the object keeps it."""

    @wraps(compute)
    def kept(self: Recomputation, /, *arguments: P.args, **options: P.kwargs) -> R:
        key = (compute.__name__, *arguments)
        if key not in self._kept:
            self._kept[key] = compute(self, *arguments, **options)
        result: R = self._kept[key]
        return result

    return kept


class Recomputation:
    """Every number of one sentence in float64. It computes a layer when a number of that layer is needed.

    It reads the config, the weights, the ids, the segments and the padding mask of `trace`, and none of its values.
    Raises EncoderError for an edited forward pass, and for images, whose pixels a trace does not contain.
    """

    def __init__(self, trace: Trace) -> None:
        if trace.edits:
            raise EncoderError(
                "This forward pass was edited, and the check recomputes the unedited model. Undo the edits first."
            )
        if not trace.config.takes_text:
            raise EncoderError(
                "The check starts from the ids of a text, and this model takes none. Choose a text model."
            )
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
        """Bytes of all results together, roughly."""
        config = self.config
        inner = config.n_heads * config.d_head
        a_token = 6 * config.d_model + config.d_ffn + 7 * inner
        return 8 * self.n_tokens * (4 * config.d_model + config.n_layers * a_token)

    def weight(self, name: str, rows: Any = slice(None)) -> Doubles:
        """A parameter (or some of its rows) in float64. Raises KeyError for a name that the model does not have."""
        found: Doubles = self._parameters[name].detach()[rows].double().cpu().numpy()
        return found

    def bias(self, name: str) -> Doubles | None:
        """A parameter in float64, or None."""
        return self.weight(name) if name in self._parameters else None

    def of_layer(self, layer: int, name: str) -> Doubles:
        """A parameter of a layer; layers of one group share it."""
        return self.weight(f"layers.{self._group(layer)}.{name}")

    def apply(self, x: Doubles, name: str) -> Doubles:
        """x [T, A] -> [T, C] through the linear map `name`: sum_a x_ta W_ca + b_c, W as torch stores it."""
        return affine(x, self.weight(f"{name}.weight"), self.bias(f"{name}.bias"))

    def apply_of(self, layer: int, name: str, x: Doubles) -> Doubles:
        """The same for a linear map of a layer."""
        return self.apply(x, f"layers.{self._group(layer)}.{name}")

    def _group(self, layer: int) -> int:
        return layer * self.config.n_distinct_layers // self.config.n_layers

    # --- embeddings

    @_once
    def token_rows(self) -> Doubles:
        """[T, E]: rows of the token table."""
        return self.weight("embedding.tokens.weight", list(self.ids))

    @_once
    def segment_rows(self) -> Doubles | None:
        """[T, E], or None where the model has no segments."""
        name = "embedding.segments.weight"
        return self.weight(name, list(self.segments)) if name in self._parameters else None

    @_once
    def position_rows(self) -> Doubles | None:
        """[T, E], or None where the model adds no position vectors."""
        config = self.config
        if config.position == "sinusoidal":
            return sinusoidal(np.arange(self.n_tokens), config.embedding_width)
        if config.position != "learned":
            return None
        rows = [token + config.position_offset for token in range(self.n_tokens)]
        if config.pad_position is not None:  # padding, added or typed, gets no position of its own
            counted = config.position_offset - 1
            for token, token_id in enumerate(self.ids):
                real = self.mask[token] and token_id != config.pad_id
                counted += bool(real)
                rows[token] = counted if real else config.pad_position
        return self.weight("embedding.positions.table.weight", rows)

    @_once
    def embedding_sum(self) -> Doubles:
        """[T, E]: token + segment + position."""
        total = self.token_rows()
        for part in (self.segment_rows(), self.position_rows()):
            total = total if part is None else total + part
        return total

    @_once
    def embedding(self) -> Doubles:
        """[T, D]: what enters layer 0."""
        x = self.embedding_sum()
        if self.config.embedding_norm:
            x = self.norm(x, "embedding.norm")
        narrow = self.config.embedding_width != self.config.d_model
        return self.apply(x, "embedding.projection") if narrow else x

    def norm(self, x: Doubles, name: str) -> Doubles:
        """LayerNorm with the gain and bias of that name."""
        out: Doubles = (x - x.mean(-1, keepdims=True)) * self.inverse_std(x)[:, None] * self.weight(f"{name}.weight")
        shift = self.bias(f"{name}.bias")
        return out if shift is None else out + shift

    def inverse_std(self, x: Doubles) -> Doubles:
        """x [T, D] -> [T]: 1 / sqrt(variance + eps), the variance as mean square minus squared mean."""
        variance = np.einsum("td,td->t", x, x) / x.shape[-1] - x.mean(-1) ** 2
        inverse: Doubles = (np.maximum(variance, 0.0) + self.config.norm_eps) ** -0.5
        return inverse

    # --- a layer

    def stream(self, layer: int) -> Doubles:
        """[T, D]: the residual stream that enters `layer`; layer L: the output of the last layer."""
        return self.embedding() if layer == 0 else self.after(layer - 1, "ffn")

    def before(self, layer: int, part: str) -> Doubles:
        """[T, D]: the stream before the sublayer "attention" or "ffn"."""
        return self.stream(layer) if part == "attention" else self.after(layer, "attention")

    def norm_name(self, layer: int, part: str) -> str | None:
        """Name of a sublayer's norm among the weights; None where it has none."""
        if part == "attention" and layer == 0 and not self.config.first_norm:
            return None
        return f"layers.{self._group(layer)}.{part}_norm"

    def input(self, layer: int, part: str) -> Doubles:
        """[T, D]: the input of the sublayer."""
        x, name = self.before(layer, part), self.norm_name(layer, part)
        return self.norm(x, name) if self.config.norm_placement == "pre" and name is not None else x

    @_once
    def after(self, layer: int, part: str) -> Doubles:
        """[T, D]: the residual stream after the sublayer, normalised in post-norm."""
        x = self.before(layer, part) + self.update(layer, part)
        name = self.norm_name(layer, part)
        return self.norm(x, name) if self.config.norm_placement == "post" and name is not None else x

    def norm_input(self, layer: int, part: str) -> Doubles:
        """[T, D]: the input of the sublayer's norm: the sum in post-norm, the residual stream in pre-norm."""
        before = self.before(layer, part)
        return before if self.config.norm_placement == "pre" else before + self.update(layer, part)

    @_once
    def update(self, layer: int, part: str) -> Doubles:
        """[T, D]: what the sublayer adds to the stream."""
        if part == "ffn":
            return self.apply_of(layer, "ffn.w_out", self.hidden(layer))
        return self.apply_of(layer, "attention.w_o", np.hstack(list(self.z(layer))))

    @_once
    def projected(self, layer: int, which: str) -> Doubles:
        """[H, T, K]: q, k or v before any rotation."""
        flat = self.apply_of(layer, f"attention.w_{which}", self.input(layer, "attention"))  # [T, H x K]
        return np.stack(np.split(flat, self.config.n_heads, axis=1))

    @_once
    def qkv(self, layer: int, which: str) -> Doubles:
        """[H, T, K]: q, k or v as the scores use them."""
        out = self.projected(layer, which)
        if self.config.position == "rotary" and which != "v":
            return turned(out, self.config.rotary_base_of_layer(layer))
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
        """[Ti, T]: q . k x scale + bias, -infinity where not allowed. scaled, causal: by default those of the model."""
        config = self.config
        rows = list(range(self.n_tokens)) if queries is None else queries
        q, k = self.qkv(layer, "q")[head][rows], self.qkv(layer, "k")[head]
        out: Doubles = np.einsum("ik,jk->ij", q, k)
        if scaled:
            out *= float(config.attention_scale or 1.0)
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
        weights: Doubles = np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))
        return weights

    @_once
    def z(self, layer: int) -> Doubles:
        """[H, T, K]: the weighted sum of values of every head, some query rows at a time."""
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
        out = activation(self.apply_of(layer, "ffn.w_in", x), self.config.activation)
        return out * self.apply_of(layer, "ffn.w_gate", x) if self.config.gated else out

    @_once
    def output(self) -> Doubles:
        """[T, D]: the model's output."""
        x = self.stream(self.config.n_layers)
        return self.norm(x, "final_norm") if self.config.final_norm else x

    # --- inside

    def _sees(self, layer: int, i: int, causal: bool) -> NDArray[np.bool_]:
        """[T]: the keys that token i can attend to."""
        window = self.config.window_of_layer(layer)
        nearest = 0 if window is None else max(0, i - window)
        farthest = self.n_tokens if window is None else i + window + 1
        seen: NDArray[np.bool_] = self.mask.copy()
        seen[:nearest] = seen[min(farthest, i + 1) if causal else farthest :] = False
        return seen

    def _relative_bias(self, head: int, rows: list[int]) -> Doubles:
        table = self.weight("relative_bias.weight")
        buckets, far = self.config.relative_buckets, self.config.relative_max_distance
        last = self.n_tokens - 1
        by_distance = table[[relative_bucket(distance, buckets, far) for distance in range(-last, last + 1)], head]
        return np.stack([by_distance[last - i : last - i + self.n_tokens] for i in rows])
