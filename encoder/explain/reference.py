"""The reference: a forward pass in numpy from the ids and the weights only, in any precision, and its comparisons.

    reference = Recomputation(trace)        # in float64, for `check` of a step
    chain(trace).largest                    # every stage of the residual stream, next to the model's

It reads no value of the model's forward pass and shares no code with the model. A mechanism is a function of
`arithmetic`, and the method of `Recomputation` that calls it where the config says so.

Shapes: L layers, H heads, T tokens (queries i, keys j), D d_model, E width of the tables, K width of a head, F width of
the FFN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from encoder.errors import EncoderError
from encoder.explain import arithmetic, of_pixels
from encoder.explain.arithmetic import Bools, Floats
from encoder.trace.trace import Trace

P = ParamSpec("P")
R = TypeVar("R")

#: The stream of boxes before the first layer, among the weights.
BESIDE = "embedding.beside"
#: The largest difference that counts as equal, relative to the largest number of the vector.
TOLERANCE = {"torch.float32": 1e-4, "torch.float16": 2e-2, "torch.bfloat16": 1e-1}

#: The longest input, in tokens, that a page or a notebook recomputes while somebody waits.
LONGEST_CHECK = 2_048

#: Added to the variance of a batch norm.
BATCH_EPS = 1e-5

#: Scores that are computed at once; the rows of queries are taken in parts, so that [H, T, T] never exists.
CHUNK_NUMBERS = 4_000_000


# --- a number of the model next to its recomputation -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Check:
    """One number on the screen, or a whole vector, next to its recomputation.

    shown, recomputed: arrays of one shape; scale: the largest recomputed number; tolerance: the largest `relative` that
    counts as equal; index: of the selected number.
    """

    name: str
    shown: NDArray[np.float64]
    recomputed: NDArray[np.float64]
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
        """The selected number on the screen."""
        return float(self.shown[self.index])

    @property
    def recomputed_number(self) -> float:
        """The selected number in float64."""
        return float(self.recomputed[self.index])


def compare(
    name: str, shown: ArrayLike, recomputed: ArrayLike, index: tuple[int, ...] = (), precision: str = "torch.float32"
) -> Check:
    """Compare whole vectors. index: of the selected number, by default the one with the largest difference; precision:
    the model's number type, which sets the tolerance.

    Masked scores (the lowest number) count as equal where both sides are masked.
    """
    left, right = np.asarray(shown, dtype=np.float64), np.asarray(recomputed, dtype=np.float64)
    if left.shape != right.shape:
        raise ValueError(f"{name}: {left.shape} is shown and {right.shape} recomputed.")
    masked = (left < -1e30) & ~(right > -1e30)
    left, right = np.where(masked, 0.0, left), np.where(masked, 0.0, right)
    scale = float(np.max(np.abs(right), initial=0.0))
    if not index and left.size:
        index = tuple(int(place) for place in np.unravel_index(np.argmax(np.abs(left - right)), left.shape))
    return Check(name, left, right, scale, TOLERANCE.get(precision, 1e-4), index)


# --- the forward pass ------------------------------------------------------------------------------------------------


def _once(compute: Callable[Concatenate[Recomputation, P], R]) -> Callable[Concatenate[Recomputation, P], R]:
    """Compute each result once; the object keeps it."""

    @wraps(compute)
    def kept(self: Recomputation, /, *arguments: P.args, **options: P.kwargs) -> R:
        key = (compute.__name__, arguments, tuple(sorted(options.items())))
        if key not in self._kept:
            self._kept[key] = compute(self, *arguments, **options)
        return self._kept[key]

    return kept


class Recomputation:
    """Every number of one sentence in the precision `dtype`. It computes a layer when a number of it is needed.

    It reads the config, the weights, the ids, the segments, the boxes, the pixels and the padding mask of `trace`, and
    none of its values. Of the layers below the last one that was needed, it keeps the residual stream only. Raises
    EncoderError for an edited forward pass, and for an input that is neither ids nor pixels.
    """

    def __init__(self, trace: Trace, dtype: DTypeLike = np.float64) -> None:
        if trace.edits:
            raise EncoderError(
                "This forward pass was edited, and the check recomputes the unedited model. Undo the edits first."
            )
        if trace.memory is not None:
            raise EncoderError("The check recomputes encoders, without cross-attention: choose the trace of the input.")
        if not trace.config.takes_text and trace.pixels is None:
            raise EncoderError(
                "The check starts from the ids of a text, or the pixels of an image or a video, and this trace has "
                "neither. Choose a model of these, and trace the input again."
            )
        self.config = trace.config
        self.dtype = np.dtype(dtype)
        self.precision = str(trace.encoder.dtype)
        self.ids = np.asarray(trace.ids)
        self.n_tokens = len(self.ids)
        self.n_words = self.n_tokens - self.config.n_page_tokens
        #: [T]: the positions; those of a page's image begin again at 0.
        self.order = np.concatenate((np.arange(self.n_words), np.arange(self.n_tokens - self.n_words)))
        self.mask: Bools = np.asarray(trace.mask.tolist())
        segments = trace.source.segments if trace.source is not None and trace.config.n_segments > 1 else ()
        self.segments = np.asarray([*segments] + [0] * (self.n_tokens - len(segments)))
        self.places = None if trace.places is None else np.asarray(trace.places.tolist())  # [T, P]
        self.pixels = None if trace.pixels is None else np.array(trace.pixels.float().cpu().numpy(), dtype=self.dtype)
        self._parameters = trace.encoder.state_dict()
        self._kept: dict[tuple[Any, ...], Any] = {}
        self.beside = None if self.config.beside is None else BesideRecomputation(self)

    @property
    def nbytes(self) -> int:
        """Bytes of all results together, roughly: the stream of each layer, and the numbers of two."""
        config = self.config
        inner = config.n_heads * config.d_head
        of_layer = 6 * config.d_model + config.d_ffn + 7 * inner
        return self.dtype.itemsize * self.n_tokens * ((4 + config.n_layers) * config.d_model + 2 * of_layer)

    def check(self, name: str, shown: ArrayLike, recomputed: ArrayLike, index: tuple[int, ...] = ()) -> Check:
        """`compare`, with the tolerance of the model's number type."""
        return compare(name, shown, recomputed, index, self.precision)

    # --- weights, by their names in the model

    def weight(self, name: str, rows: Any = slice(None)) -> Floats:
        """A parameter (or some of its rows). Raises KeyError for a name that the model does not have."""
        # By way of float32, which holds every weight exactly: MPS has no float64, and NumPy no bfloat16.
        return np.array(self._parameters[name].detach()[rows].float().cpu().numpy(), dtype=self.dtype)

    def bias(self, name: str) -> Floats | None:
        """A parameter, or None."""
        return self.weight(name) if name in self._parameters else None

    def of_layer(self, layer: int, name: str) -> Floats:
        """A parameter of a layer; layers of one group share it."""
        return self.weight(f"{self._layer(layer)}.{name}")

    def apply(self, x: Floats, name: str) -> Floats:
        """x [T, A] -> [T, C] through the linear map `name`; torch stores W as [C, A]."""
        return arithmetic.linear(x, self.weight(f"{name}.weight").T, self.bias(f"{name}.bias"))

    def norm(self, x: Floats, name: str) -> Floats:
        """The norm with the gain and bias of that name."""
        gain, shift = self.weight(f"{name}.weight"), self.bias(f"{name}.bias")
        norm = arithmetic.rms_norm if self.config.norm_kind == "rms" else arithmetic.layer_norm
        return norm(x, gain, shift, self.config.norm_eps)

    def _layer(self, layer: int) -> str:
        """The name of the layer that owns a layer's weights."""
        return f"layers.{self.config.weights_of_layer(layer)}"

    # --- embeddings

    def token_rows(self) -> Floats:
        """[T, E]: rows of the token table, times the model's factor; in ESM-2 without masked tokens. Of an image or a
        video, its special tokens and the vectors of its patches."""
        scale = np.asarray(self.config.embedding_scale, dtype=self.dtype)
        if self.pixels is not None:
            return self._patch_rows() * scale
        rows: Floats = self.weight("embedding.tokens.weight", list(self.ids[: self.n_words])) * scale
        if self.config.mask_id is None:
            return rows
        hidden = self.ids == self.config.mask_id
        factor = (1.0 - 0.15 * 0.8) / (1.0 - hidden.sum() / self.mask.sum())
        return (np.where(hidden[:, None], 0.0, rows) * factor).astype(self.dtype)

    def _patch_rows(self) -> Floats:
        name, shape = "embedding.tokens", self.config.patches
        assert self.pixels is not None
        assert shape is not None, "an input of pixels has patches"
        weight, bias = self.weight(f"{name}.projection.weight"), self.bias(f"{name}.projection.bias")
        patches = of_pixels.patch_vectors(self.pixels, weight, bias)
        if shape.norm:
            patches = arithmetic.rms_norm(patches, self.weight(f"{name}.norm.weight"), None, self.config.norm_eps)
        special = [self.weight(f"{name}.{kind}")[0] for kind, count in shape.special.items() if count]
        return np.concatenate((*special, patches))

    def segment_rows(self) -> Floats | None:
        """[T, E], or None where the model has no segments."""
        name = "embedding.segments.weight"
        return self.weight(name, list(self.segments[: self.n_words])) if name in self._parameters else None

    def position_rows(self) -> Floats | None:
        """[T, E], or None where the model adds no position vectors."""
        config = self.config
        if config.position == "sinusoidal" and not config.sine_halves:
            return arithmetic.sinusoidal(np.arange(self.n_tokens), config.embedding_width).astype(self.dtype)
        if config.position not in ("learned", "sinusoidal"):
            return None
        if config.patches is not None and config.position == "learned":
            return self._rows_of_patches(self.weight("embedding.positions.table.weight"))
        rows = self.position_indices()
        if config.sine_halves:
            return arithmetic.sine_halves(rows, config.embedding_width).astype(self.dtype)
        return self.weight("embedding.positions.table.weight", rows.tolist())

    def _rows_of_patches(self, table: Floats) -> Floats:
        assert self.config.patches is not None
        return of_pixels.rows_of_tokens(table, self.config.patches).astype(self.dtype)

    def position_indices(self) -> NDArray[np.integer]:
        """[T]: the row of each token in a table of positions."""
        config = self.config
        rows = np.arange(self.n_words) + config.position_offset
        if config.pad_position is not None:  # padding, added or typed, gets no position of its own
            real = (self.mask & (self.ids != config.pad_id))[: self.n_words]
            rows = np.where(real, np.cumsum(real) - 1 + config.position_offset, config.pad_position)
        return rows

    def place_rows(self) -> Floats | None:
        """[T, E], or None where the model knows no places on a page."""
        boxes = self.config.boxes
        if self.config.places is None or self.config.beside is not None:
            return None
        if boxes is None:
            return self.path_vectors("embedding.places", self.config.places.nowhere)
        return self.box_vectors("embedding.places", bool(boxes.joined))

    def path_vectors(self, at: str, nowhere: tuple[int, ...]) -> Floats:
        """[T, E]: the vectors of the paths from the tables and the two linear maps at that place."""
        places = np.tile(np.array(nowhere), (self.n_tokens, 1)) if self.places is None else self.places
        tags, numbers = np.split(places, 2, axis=1)  # [T, N]
        steps = [
            self.weight(f"{at}.tags.{step}.weight", list(tags[:, step]))
            + self.weight(f"{at}.numbers.{step}.weight", list(numbers[:, step]))
            for step in range(tags.shape[1])
        ]
        hidden = np.maximum(self.apply(np.concatenate(steps, axis=-1), f"{at}.w_in"), 0.0)
        return self.apply(hidden, f"{at}.w_out")

    def box_vectors(self, at: str, joined: bool) -> Floats:
        """[T, E]: the vectors of the boxes from the tables at that place, joined or added."""
        boxes = np.zeros((self.n_tokens, 4), dtype=np.int64) if self.places is None else self.places
        left, upper, right, lower = boxes[: self.n_words].T
        rows = {"x": (left, right), "y": (upper, lower), "height": (lower - upper,), "width": (right - left,)}
        x, y, height, width = (
            [self.weight(f"{at}.{name}.weight", list(row)) for row in some] for name, some in rows.items()
        )
        parts = (x[0], y[0], x[1], y[1], *height, *width)
        found: Floats = np.concatenate(parts, axis=-1) if joined else np.sum(parts, axis=0)
        return found

    @_once
    def embedding_sum(self) -> Floats:
        """[T, E]: token + segment + position + box. With a page: these after their norm, then the page's vectors."""
        if self.config.reads_page:
            return np.concatenate((self.norm(self._sum_of_words(), "embedding.norm"), self._page_vectors()))
        return self._sum_of_words()

    def _page_vectors(self) -> Floats:
        """[P + 1, E]: [CLS] and the linear map of each patch, with their positions, after a norm of their own."""
        pixels, weight = (self.weight(f"embedding.page.{name}") for name in ("pixels", "projection.weight"))
        size = weight.shape[-1]
        count = pixels.shape[-1] // size
        pixels = pixels[0, :, : count * size, : count * size].reshape(-1, count, size, count, size)
        patches = np.einsum("cryxz,ecyz->rxe", pixels, weight)
        mapped = patches.reshape(count * count, -1) + self.weight("embedding.page.projection.bias")
        x = np.concatenate((self.weight("embedding.page.cls")[0], mapped)) + self.weight("embedding.page.positions")[0]
        gain, shift = (self.weight(f"embedding.page.norm.{name}") for name in ("weight", "bias"))
        return arithmetic.layer_norm(x, gain, shift, 1e-6)

    def _sum_of_words(self) -> Floats:
        total = self.token_rows()
        for part in (self.segment_rows(), self.position_rows(), self.place_rows()):
            total = total if part is None else total + part
        return total

    @_once
    def embedding(self) -> Floats:
        """[T, D]: what enters layer 0."""
        x = self.embedding_sum()
        if self.config.embedding_norm:
            x = self.norm(x, "embedding.page.last" if self.config.reads_page else "embedding.norm")
        narrow = self.config.embedding_width != self.config.d_model
        return self.apply(x, "embedding.projection") if narrow else x

    # --- a layer

    def stream(self, layer: int) -> Floats:
        """[T, D]: the residual stream that enters `layer`; layer L: the output of the last layer."""
        return self.embedding() if layer == 0 else self.after(layer - 1, self.config.sublayers[-1])

    def before(self, layer: int, part: str) -> Floats:
        """[T, D]: the stream before one of the config's sublayers."""
        parts: tuple[str, ...] = self.config.sublayers
        if at := parts.index(part):
            return self.after(layer, parts[at - 1])
        x = self.stream(layer)
        if layer and self.config.layer_positions:
            x = x + self._rows_of_patches(self.weight("layer_positions")[layer - 1, 0])
        return x if layer != self.config.letters_layer else x + self.letters(layer)

    @_once
    def letters(self, layer: int) -> Floats:
        """[T, D]: what a layer adds to its input of the letters that the layer before writes."""
        name = f"{self._layer(layer)}.letters"
        written = self.apply(self.stream(layer), f"{name}.w_in")
        written = arithmetic.softmax(written, np.ones(written.shape, dtype=bool))
        return self.apply(written, f"{name}.w_out")

    def norm_name(self, layer: int, part: str) -> str | None:
        """Name of a sublayer's norm among the weights; None where it has none."""
        if part == "attention" and layer == 0 and not self.config.first_norm:
            return None
        return f"{self._layer(layer)}.{part}_norm"

    def input(self, layer: int, part: str) -> Floats:
        """[T, D]: the input of the sublayer."""
        x, name = self.before(layer, "attention" if self.config.parallel else part), self.norm_name(layer, part)
        return self.norm(x, name) if self.config.norm_placement == "pre" and name is not None else x

    @_once
    def after(self, layer: int, part: str) -> Floats:
        """[T, D]: the residual stream after the sublayer, normalised in post-norm."""
        x = self.before(layer, part) + self.update(layer, part)
        name = self.norm_name(layer, part)
        x = self.norm(x, name) if self.config.norm_placement == "post" and name is not None else x
        if part != self.config.sublayers[-1]:
            return x
        self._forget_below(layer)
        return x if self.config.conformer is None else self.norm(x, f"{self._layer(layer)}.end_norm")

    def _forget_below(self, layer: int) -> None:
        """Keep of lower layers the residual stream only: all numbers of a long input would fill the memory."""
        if self.beside is not None:
            self.beside.stream(layer)  # it needs the weights of lower layers
        last = self.config.sublayers[-1]

        def stays(name: str, given: tuple[Any, ...]) -> bool:
            of_layer = bool(given) and isinstance(given[0], int)
            return not of_layer or given[0] >= layer or (name == "after" and given[1] == last)

        self._kept = {key: value for key, value in self._kept.items() if stays(key[0], key[1])}

    def norm_input(self, layer: int, part: str) -> Floats:
        """[T, D]: the input of the sublayer's norm: the sum in post-norm, the residual stream in pre-norm."""
        before = self.before(layer, "attention" if self.config.parallel else part)
        return before if self.config.norm_placement == "pre" else before + self.update(layer, part)

    @_once
    def update(self, layer: int, part: str) -> Floats:
        """[T, D]: what the sublayer adds to the stream: its result, normalised where the model has a norm for it."""
        out = self.result(layer, part)
        return self.norm(out, f"{self._layer(layer)}.{part}_out_norm") if self.config.output_norms else out

    @_once
    def result(self, layer: int, part: str) -> Floats:
        """[T, D]: the result of the sublayer's last linear map."""
        if part != "attention":
            return self.apply(self.hidden(layer, part), f"{self._layer(layer)}.{part}.w_out")
        return self.apply(arithmetic.join_heads(self.z(layer)), f"{self._layer(layer)}.attention.w_o")

    @_once
    def entering(self, layer: int, which: str) -> Floats:
        """[T, D]: what q, k or v is made of: the input of attention, for q and k turned where the config says so."""
        x = self.input(layer, "attention")
        if not self.config.rotary_input or which == "v":
            return x
        return arithmetic.join_heads(self.rotated(layer, arithmetic.split_heads(x, self.config.n_heads)))

    @_once
    def qkv(self, layer: int, which: str) -> Floats:
        """[H, T, K]: q, k or v as the scores use them."""
        config, name = self.config, f"{self._layer(layer)}.attention"
        flat = self.apply(self.entering(layer, which), f"{name}.w_{which}")  # [T, h x K]
        has_norm = config.qk_norm != "none" and which != "v"
        if has_norm and config.qk_norm == "full":
            flat = self.norm(flat, f"{name}.{which}_norm")
        out = arithmetic.split_heads(flat, config.n_heads if which == "q" else config.n_kv_heads)
        if has_norm and config.qk_norm == "head":
            out = self.norm(out, f"{name}.{which}_norm")
        if config.position == "rotary" and which != "v" and not config.rotary_input:
            out = self.rotated(layer, out)
        return out if which == "q" else out[[config.kv_head(head) for head in range(config.n_heads)]]

    def rotated(self, layer: int, x: Floats) -> Floats:
        """[H, T, K], each head's part turned by its token's position."""
        config = self.config
        base, scaling = config.rotary_of_layer(layer)
        if config.rotary_table:
            sin, cos = np.split(self.weight("rotary_table.weight", list(range(self.n_tokens))), 2, axis=1)
            return arithmetic.turn(x, np.tile(cos, 2), np.tile(sin, 2), config.rotary_interleaved)
        if config.rotary_grid and config.patches is not None:
            angles = of_pixels.angles_of(config.patches, config.rotary_width, base)
            return arithmetic.turn(x, np.cos(angles), np.sin(angles), config.rotary_interleaved)
        places = config.rotary_sign * np.arange(self.n_tokens)
        angle = arithmetic.rotary_angles(places, config.rotary_width, base, scaling)
        length = 1.0 if scaling is None else scaling.length
        turned = arithmetic.rotate(x, angle, config.rotary_interleaved)
        parts = (turned[..., : config.rotary_width] * length, turned[..., config.rotary_width :])
        return np.concatenate(parts, axis=-1).astype(x.dtype)

    def scores(
        self,
        layer: int,
        head: int | slice,
        queries: Sequence[int] | None = None,
        *,
        scaled: bool = True,
        causal: bool | None = None,
    ) -> Floats:
        """[Ti, T], or [h, Ti, T] for a slice of heads: q . k x scale + bias, -infinity where not allowed. scaled,
        causal: by default those of the model."""
        scores, allowed = self._scores(layer, head, queries, scaled=scaled, causal=causal)
        return np.where(allowed, scores, -np.inf)

    def attention(
        self,
        layer: int,
        head: int | slice,
        queries: Sequence[int] | None = None,
        *,
        scaled: bool = True,
        causal: bool | None = None,
    ) -> Floats:
        """The softmax of `scores`, of the same shape. A query without any allowed key is uniform over all keys.

        A learned sink is one more key, which is left out afterwards.
        """
        scores, allowed = self._scores(layer, head, queries, scaled=scaled, causal=causal)
        if not self.config.attention_sinks:
            return arithmetic.softmax(scores, allowed)
        sink = self.of_layer(layer, "attention.sinks")[head]
        column = np.broadcast_to(sink[..., None, None], (*scores.shape[:-1], 1))
        seen = np.ones((*allowed.shape[:-1], 1), dtype=bool)
        whole = np.concatenate((scores, column), -1), np.concatenate((allowed, seen), -1)
        return arithmetic.softmax(*whole)[..., :-1]

    def _scores(
        self, layer: int, head: int | slice, queries: Sequence[int] | None, *, scaled: bool, causal: bool | None
    ) -> tuple[Floats, Bools]:
        """Scores before the mask, [Ti, T] or [h, Ti, T], and the mask [Ti, T]."""
        config, keys = self.config, np.arange(self.n_tokens)
        rows = keys if queries is None else np.asarray(queries)
        q, k = self.qkv(layer, "q")[head][..., rows, :], self.qkv(layer, "k")[head]
        bias = None
        if config.relative_buckets:
            table = self._table_of(layer)
            bias = arithmetic.relative_bias(table, config.relative_max_distance, self.order[rows], self.order)[head]
        elif config.relative_grid and config.patches is not None:
            bias = of_pixels.bias_of_grid(self._table_of(layer), config.patches.side, rows)[head]
        elif config.position == "alibi":
            bias = arithmetic.alibi(config.n_heads, rows, keys)[head]
        of_page = self._bias_on_page(rows)
        if bias is not None and of_page is not None:
            bias = bias + of_page[head]
        if self.beside is not None:
            bias = self.beside.products(layer, head, rows)
        scale = config.score_scale if scaled else 1.0
        causal = config.causal if causal is None else causal
        allowed = arithmetic.allowed(self.mask, rows, causal, config.window_of_layer(layer), config.attention_block)
        plain = arithmetic.scores(q, k, scale)
        for term in self._distance_terms(layer, head, rows):
            plain = plain + term * scale
        if config.score_cap is not None:
            plain = np.tanh(plain / config.score_cap) * config.score_cap
        return plain if bias is None else plain + bias, allowed

    def _table_of(self, layer: int) -> Floats:
        """[buckets, H]: the learned bias of the scores."""
        name = f"{self._layer(layer)}.attention." if self.config.relative_per_layer else ""
        return self.weight(f"{name}relative_bias.weight")

    def _bias_on_page(self, rows: NDArray[np.integer]) -> Floats | None:
        """[H, Ti, T]: the bias by the distances of left and of lower edges; None without one, or without boxes."""
        shape = self.config.boxes
        if shape is None or not shape.buckets or self.places is None:
            return None
        edges = {"x": self.places[:, 0], "y": self.places[:, 3]}
        across, down = (
            arithmetic.relative_bias(self.weight(f"box_bias_{name}.weight"), shape.max_distance, edge[rows], edge)
            for name, edge in edges.items()
        )
        return across + down

    def _distance_terms(self, layer: int, head: int | slice, rows: NDArray[np.integer]) -> Iterator[Floats]:
        """DeBERTa's q_i . K_p[i - j] and k_j . Q_p[i - j], or products with keys of distances, [Ti, T] or [h, Ti, T]
        each, before scaling."""
        shape, name = self.config.disentangled, f"{self._layer(layer)}.attention"
        if self.config.distance_keys is not None:
            yield from self._products_with_distances(layer, head, rows)
        if shape is None:
            return
        vectors = self.weight("distances.weight")
        vectors = self.norm(vectors, "distance_norm") if shape.norm else vectors
        row = arithmetic.distance_rows(shape, rows, np.arange(self.n_tokens))
        for wanted, which, other in ((shape.to_position, "k", "q"), (shape.to_content, "q", "k")):
            if not wanted:
                continue
            of = self.apply(vectors, f"{name}.w_{which}" if shape.shared else f"{name}.w_pos_{which}")
            vector = arithmetic.split_heads(of, self.config.n_heads)[head]  # [..., 2S, K]
            x = self.qkv(layer, other)[head]
            products = x[..., rows, :] @ np.swapaxes(vector, -1, -2) if other == "q" else None
            if products is None:  # [..., Ti, T]: for each key its product with the vector of that distance
                by_key = x @ np.swapaxes(vector, -1, -2)  # [..., T, 2S]
                yield np.take_along_axis(by_key, np.broadcast_to(row.T, (*by_key.shape[:-1], len(rows))), -1).swapaxes(
                    -1, -2
                )
            else:
                yield np.take_along_axis(products, np.broadcast_to(row, (*products.shape[:-1], row.shape[1])), -1)

    def _products_with_distances(self, layer: int, head: int | slice, rows: NDArray[np.integer]) -> Iterator[Floats]:
        """(q_i + v) . K[i - j] and u . k_j, or q_i . E[j - i], [Ti, T] or [h, Ti, T] each."""
        shape, name = self.config.distance_keys, f"{self._layer(layer)}.attention"
        assert shape is not None, "the caller has checked it"
        distance = rows[:, None] - np.arange(self.n_tokens)  # [Ti, T]
        q, k = self.qkv(layer, "q")[head][..., rows, :], self.qkv(layer, "k")[head]
        if shape.rows:
            table = self.weight(f"{name}.distance_keys.weight")
            keys = table[np.clip(-distance, -shape.earlier, shape.later) + shape.earlier]  # [Ti, T, K]
            yield np.einsum("...ik,ijk->...ij", q, keys)
            return
        u, v = (self.weight(f"{name}.{one}")[head] for one in ("content_bias", "position_bias"))
        sines = arithmetic.sinusoidal(distance.ravel(), self.config.d_model).astype(self.dtype)
        vectors = arithmetic.split_heads(self.apply(sines, f"{name}.w_pos_k"), self.config.n_heads)
        keys = vectors.reshape(self.config.n_heads, *distance.shape, -1)[head]  # [..., Ti, T, K]
        yield np.einsum("...ik,...ijk->...ij", q + v[..., None, :], keys)
        yield np.broadcast_to(np.einsum("...jk,...k->...j", k, u)[..., None, :], (*k.shape[:-2], *distance.shape))

    @_once
    def z(self, layer: int) -> Floats:
        """[H, T, K]: the weighted sum of values of every head, some query rows at a time."""
        v, heads = self.qkv(layer, "v"), slice(None)
        at_once = max(1, CHUNK_NUMBERS // (self.n_tokens * self.config.n_heads))
        chunks = [range(self.n_tokens)[start : start + at_once] for start in range(0, self.n_tokens, at_once)]
        mixed: Floats = np.concatenate([self.attention(layer, heads, rows) @ v for rows in chunks], axis=1)
        return mixed * self.gate(layer)

    @_once
    def gate(self, layer: int) -> Floats:
        """[H, T, 1]: the factor of each token's z; 1 where the model has no such gate."""
        if not self.config.output_gate:
            return np.ones((self.config.n_heads, self.n_tokens, 1), dtype=self.dtype)
        x = self.apply(self.input(layer, "attention"), f"{self._layer(layer)}.attention.w_gate")  # [T, H]
        gate: Floats = arithmetic.sigmoid(x).T[..., None]
        return gate

    @_once
    def hidden(self, layer: int, part: str = "ffn") -> Floats:
        """[T, F]: the hidden activations of an FFN, gated where the model gates them, of the adapter or of the
        convolution."""
        x, name = self.input(layer, part), f"{self._layer(layer)}.{part}"
        if part == "convolution":
            return self.channels(layer)
        out = arithmetic.ACTIVATIONS[self.config.activation](self.apply(x, f"{name}.w_in"))
        if part == "adapter":
            return out
        out = out * self.apply(x, f"{name}.w_gate") if self.config.gated else out
        routes = self.routes(layer)
        return out if routes is None else out * np.repeat(routes, out.shape[1] // routes.shape[1], axis=1)

    @_once
    def gated(self, layer: int) -> Floats:
        """[T, D]: what the convolution reads; 0 for padding."""
        x = self.apply(self.input(layer, "convolution"), f"{self._layer(layer)}.convolution.w_in")
        return np.where(self.mask[:, None], arithmetic.glu(x), 0.0).astype(self.dtype)

    @_once
    def channels(self, layer: int) -> Floats:
        """[T, D]: the channels of the convolution, normalised and activated."""
        shape, name = self.config.conformer, f"{self._layer(layer)}.convolution"
        assert shape is not None, "only a Conformer's layer has a convolution"
        kernel, shift = self.weight(f"{name}.convolution.weight")[:, 0], self.bias(f"{name}.convolution.bias")
        x = arithmetic.convolved(self.gated(layer), kernel, shift, shape.before)
        if shape.norm == "batch":
            mean, variance = self.weight(f"{name}.norm.mean"), self.weight(f"{name}.norm.variance")
            x = (x - mean) / np.sqrt(variance + BATCH_EPS)
            x = x * self.weight(f"{name}.norm.weight") + self.weight(f"{name}.norm.bias")
        else:
            gain, bias = self.weight(f"{name}.norm.weight"), self.weight(f"{name}.norm.bias")
            x = arithmetic.layer_norm(x, gain, bias, self.config.norm_eps)
        return arithmetic.ACTIVATIONS[self.config.activation](x)

    def routes(self, layer: int) -> Floats | None:
        """[T, E]: the weight of each expert, 0 where the router does not choose it; None without experts."""
        experts = self.config.of_layer(layer).experts
        if experts is None:
            return None
        logits = self.apply(self.input(layer, "ffn"), f"{self._layer(layer)}.ffn.router")
        return arithmetic.routes(logits, experts.chosen, experts.renormalised)

    @_once
    def output(self) -> Floats:
        """[T, D]: the model's output."""
        x = self.stream(self.config.n_layers)
        return self.norm(x, "final_norm") if self.config.final_norm else x

    def stages(self) -> Iterator[tuple[str, Floats]]:
        """Hook point and value [T, D] of each stage of the residual stream, in order, and of the output.

        Forgets what each stage was computed from: a long text's hidden activations would fill the memory.
        """
        yield "embedding", self.embedding()
        for layer in range(self.config.n_layers):
            for part in self.config.sublayers:
                x = self.after(layer, part)
                if self.beside is not None:
                    self.beside.stream(layer + (part == self.config.sublayers[-1]))  # while the weights are known
                self._kept = {key: value for key, value in self._kept.items() if value is x}
                yield f"layers.{layer}.after_{part}", x
        yield "output", self.output()


class BesideRecomputation:
    """The stream of boxes next to that of the text, whose attention weights it shares."""

    def __init__(self, text: Recomputation) -> None:
        self.text, self.config = text, text.config
        self._streams: list[Floats] = []

    def stream(self, layer: int) -> Floats:
        """[T, D']: the vectors of the boxes that enter a layer."""
        while len(self._streams) <= layer:
            self._streams.append(self._after(len(self._streams) - 1) if self._streams else self._embedding())
        return self._streams[layer]

    def products(self, layer: int, head: int | slice, rows: NDArray[np.integer]) -> Floats:
        """[Ti, T], or [h, Ti, T] for a slice of heads: the scores of the boxes."""
        q, k = self._heads(layer, "q")[head][..., rows, :], self._heads(layer, "k")[head]
        return arithmetic.scores(q, k, q.shape[-1] ** -0.5)

    def _embedding(self) -> Floats:
        x = self.text.apply(self.text.box_vectors(f"{BESIDE}.boxes", joined=True), f"{BESIDE}.projection")
        x = x + self.text.weight(f"{BESIDE}.positions.table.weight", self.text.position_indices().tolist())
        return self.text.norm(x, f"{BESIDE}.norm") if self.config.embedding_norm else x

    def _name(self, layer: int) -> str:
        return f"{self.text._layer(layer)}.beside.block"

    def _norm(self, layer: int, part: str, x: Floats, placement: str) -> Floats:
        has = self.text.norm_name(layer, part) is not None and self.config.norm_placement == placement
        return self.text.norm(x, f"{self._name(layer)}.{part}_norm") if has else x

    def _heads(self, layer: int, which: str) -> Floats:
        x = self._norm(layer, "attention", self.stream(layer), "pre")
        return arithmetic.split_heads(
            self.text.apply(x, f"{self._name(layer)}.attention.w_{which}"), self.config.n_heads
        )

    def _after(self, layer: int) -> Floats:
        z = self.text.attention(layer, slice(None)) @ self._heads(layer, "v")
        out = self.text.apply(arithmetic.join_heads(z), f"{self._name(layer)}.attention.w_o")
        x = self._norm(layer, "attention", self.stream(layer) + out, "post")
        hidden = self.text.apply(self._norm(layer, "ffn", x, "pre"), f"{self._name(layer)}.ffn.w_in")
        out = self.text.apply(arithmetic.ACTIVATIONS[self.config.activation](hidden), f"{self._name(layer)}.ffn.w_out")
        return self._norm(layer, "ffn", x + out, "post")


# --- the whole pass next to the model's ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Chain:
    """values: hook point -> its recomputed value, [T, D], in order; difference: the largest difference to the model's
    value over the real tokens. Rows of padding have no meaning, and rounding grows in them."""

    values: Mapping[str, Floats]
    difference: Mapping[str, float]

    @property
    def output(self) -> Floats:
        """[T, D]"""
        return self.values["output"]

    @property
    def largest(self) -> float:
        """The largest difference of all stages."""
        return max(self.difference.values())


def chain(trace: Trace, dtype: DTypeLike = np.float32) -> Chain:
    """Recompute every stage of the residual stream, each from the one before, and compare it with the model's.

    It shows that no step is missing. By default in the precision of most models, which needs half of the memory of
    float64. Raises EncoderError for an edited forward pass and without a text.
    """
    values = dict(Recomputation(trace, dtype).stages())
    real = slice(0, trace.n_real)
    captured = {name: trace.values[name][real].detach().float().cpu().numpy() for name in values}
    return Chain(values, {name: float(np.abs(x[real] - captured[name]).max()) for name, x in values.items()})
