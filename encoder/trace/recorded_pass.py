"""RecordedPass: what the forward pass recorded for one text: tokens, q, k, v, the residual stream, the norms.

Shapes: L layers, H heads, T tokens, D d_model, E width of the tables, K width of a head.
"""

import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import torch
from torch import Tensor

from encoder.edits import Edit, check_edits
from encoder.errors import EncoderError, quoted
from encoder.inputs.layout import InputKind, Layout
from encoder.inputs.text import Tokenized
from encoder.model.attend import Memory
from encoder.model.config import EncoderConfig, Sublayer
from encoder.model.encoder import Encoder
from encoder.model.layers import NORMS, LayerNorm
from encoder.model.shown import Shown

#: The short form of a trace shows this many tokens.
SHOWN_LABELS = 12


@dataclass(frozen=True, repr=False)
class NormTrace:
    """One norm on one text. input [T, D]; gain [D]; bias [D] or None; kind: "layer" or "rms"."""

    name: str
    input: Tensor
    gain: Tensor
    bias: Tensor | None
    eps: float
    kind: str = "layer"

    def __repr__(self) -> str:
        return f"<NormTrace {self.name}: {len(self.input):,} tokens x {self.gain.numel()}, eps {self.eps:g}>"

    @property
    def mean(self) -> Tensor:
        """[T]: mean of each token's vector before the norm."""
        return self.input.mean(dim=-1)

    @property
    def std(self) -> Tensor:
        """[T]: population standard deviation of each token's vector before the norm, without eps."""
        return self.input.std(dim=-1, correction=0)

    @property
    def normalised(self) -> Tensor:
        """[T, D]: (x - mean) / sqrt(var + eps), before gain and bias; of RMSNorm, x / sqrt(mean of x^2 + eps)."""
        return NORMS[self.kind](self.input, torch.ones_like(self.gain), None, self.eps)

    @property
    def output(self) -> Tensor:
        """[T, D]: the norm's output."""
        return NORMS[self.kind](self.input, self.gain, self.bias, self.eps)


@dataclass(frozen=True, eq=False, repr=False)
class RecordedPass(Shown):
    """One text through the encoder: its tokens and the recorded values."""

    #: The Encoder that ran it.
    encoder: Encoder
    #: [T]: as in the vocabulary, padding included.
    tokens: tuple[str, ...]
    #: [T]: the tokens as a person reads them.
    labels: tuple[str, ...]
    #: [T]: their ids; empty where the input is not text.
    ids: tuple[int, ...]
    #: [T]: True for a real token.
    mask: Tensor
    #: Hook point -> tensor.
    values: Mapping[str, Tensor]
    #: A text's words and offsets.
    source: Tokenized | None = None
    #: Patches or time steps of an input that is not text and has no source.
    layout: Layout | None = None
    #: [C, S, S] or [F, C, S, S]: the prepared image or video; None for another input, and in a saved trace.
    pixels: Tensor | None = None
    #: Changes to the forward pass.
    edits: tuple[Edit, ...] = ()
    #: The same edits with their texts run.
    applied: tuple[Edit, ...] = ()
    #: Padding tokens that `unpadded` removed.
    n_left_out: int = 0
    #: The NamedEncoder that ran it; None where the trace has none.
    model: Any = None
    #: The DecoderTrace of a target; None where none was given.
    decoder: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """What a copy and a pickle hold: the fields, without what is computed from them."""
        values = self.values if isinstance(self.values, dict) else dict(self.values)
        return {**{field.name: getattr(self, field.name) for field in fields(self)}, "values": values}

    def __len__(self) -> int:
        """T, padding included."""
        return len(self.tokens)

    def __repr__(self) -> str:
        config = self.config
        shown = " ".join(self.labels[:SHOWN_LABELS])
        if self.n_tokens > SHOWN_LABELS:
            shown += " …"
        edited = f", {len(self.edits)} edit{'s' * (len(self.edits) > 1)}" if self.edits else ""
        numbers = "" if self.precision == "float32" else f", in {self.precision}"
        return (
            f"<{type(self).__name__} of {self.n_tokens:,} tokens on {self.mask.device}{numbers}: {config.n_layers} "
            f"layers x {config.n_heads} heads, width {config.d_model}{edited}: {shown}>"
        )

    @property
    def memory(self) -> Memory | None:
        """What cross-attention reads; None but in a DecoderTrace."""
        return None

    @cached_property
    def places(self) -> Tensor | None:
        """[T, P]: where each token is on its page, padding nowhere; None where nothing is known of a page."""
        placed = None if self.source is None else self.source.places
        if self.source is None or placed is None:
            return None
        rows = [*placed[: self.n_tokens], *[self.source.nowhere] * (self.n_tokens - len(placed))]
        return torch.tensor(rows, device=self.mask.device)

    @property
    def config(self) -> EncoderConfig:
        """The architecture."""
        return self.encoder.config

    @property
    def kind(self) -> InputKind:
        """What the input was."""
        return "text" if self.layout is None else self.layout.kind

    @property
    def n_tokens(self) -> int:
        """T, padding included."""
        return len(self.tokens)

    @cached_property
    def n_real(self) -> int:
        """Number of tokens that are not padding; they come first."""
        return int(self.mask.sum())

    @cached_property
    def finite(self) -> bool:
        """Whether everything that is drawn is finite: the output, and the attention maps of all heads.

        Broken or diverged weights give NaN. In q and k only, it leaves the output finite, since torch's fused attention
        makes zeros of such rows. Finite q and k give finite scores unless their product overflows.
        """
        if not bool(self.output.isfinite().all()):
            return False
        tables = {id(table): table for table in map(self.encoder.bias_table, range(self.config.n_layers))}
        if any(table is not None and not bool(table.isfinite().all()) for table in tables.values()):
            return False
        if not self.config.n_layers:
            return True
        largest = []
        for layer in range(self.config.n_layers):
            # Minimum and maximum pass NaN on, and need no memory for a comparison of each number.
            ends = [torch.stack(torch.aminmax(value)).abs().amax() for value in self.layer_qkv(layer)]
            largest.append(torch.stack(ends))
        q, k, v = torch.stack(largest).double().cpu().unbind(dim=1)  # [L] each: one answer of a GPU for all layers
        scale = abs(self.config.score_scale) * self.config.d_head
        most = torch.finfo(torch.float32).max
        return bool((q * k * scale < most).all()) and bool(v.isfinite().all())

    @cached_property
    def unpadded(self) -> Self:
        """The same pass without the rows and columns of padding. Nothing is copied.

        Attention stays the same, since masked keys have no weight. Recorded `scores` and `pattern` become
        [H, n_real, n_real]. Raises EncoderError for an edit of padding, and for a random edit.
        """
        n_real = self.n_real
        if n_real == self.n_tokens:
            return self
        if any(edit.drawn for edit in self.applied):
            raise EncoderError("A random edit depends on the padding: trace the text without padding.")
        check_edits(self.applied, self.config, n_real)
        by_pair = {f"layers.{layer}.{name}" for layer in range(self.config.n_layers) for name in ("scores", "pattern")}
        values = {
            name: value[..., :n_real, :n_real] if name in by_pair else value[..., :n_real, :]
            for name, value in self.values.items()
        }
        return replace(
            self,
            tokens=self.tokens[:n_real],
            labels=self.labels[:n_real],
            ids=self.ids[:n_real],
            mask=self.mask[:n_real],
            values=MappingProxyType(values),
            n_left_out=self.n_tokens - n_real,
            decoder=None if self.decoder is None else self.decoder.without_padded_memory(n_real),
        )

    @property
    def precision(self) -> str:
        """The number type of q, k and v, from which the maps come: "float32", or "bfloat16" for such weights.

        Under `torch.autocast` it is autocast's type, whatever the weights are. Maps are computed from it in float32.
        """
        return str(self.values.get("layers.0.q", self.output).dtype).removeprefix("torch.")

    @property
    def q(self) -> Tensor:
        """[L, H, T, K]: queries as the scores use them, rotated where positions are rotary. A new stack per call."""
        return self._stack("q")

    @property
    def k(self) -> Tensor:
        """[L, H, T, K]: keys, like q."""
        return self._stack("k")

    @property
    def v(self) -> Tensor:
        """[L, H, T, K]: values."""
        return self._stack("v")

    def layer_qkv(self, layer: int) -> tuple[Tensor, Tensor, Tensor]:
        """q, k and v of one layer without a copy, [H, T, K] each."""
        layer, _ = self.place(layer)
        q, k, v = (self.values[f"layers.{layer}.{name}"] for name in "qkv")
        return q, k, v

    @property
    def position(self) -> Tensor | None:
        """[T, E]: the positional encodings that were added; None for rotary positions or none."""
        return self.values.get("embedding.position")

    @property
    def residual(self) -> Mapping[str, Tensor]:
        """The residual stream in order, [T, D] each: "embedding", "layers.0.after_attention", ..."""
        places = ((layer, part) for layer in range(self.config.n_layers) for part in self.config.sublayers)
        names = ("embedding", *(f"layers.{layer}.after_{part}" for layer, part in places))
        return MappingProxyType({name: self.values[name] for name in names})

    @property
    def streams(self) -> tuple[Tensor, ...]:
        """[T, D] L + 1 times: the residual stream after the embeddings, then after each layer (before a final norm)."""
        after = (self.values[f"layers.{layer}.{self.config.after_layer}"] for layer in range(self.config.n_layers))
        return (self.values["embedding"], *after)

    @property
    def whole_streams(self) -> tuple[Tensor, ...]:
        """`streams` as the layers take them: with a stream of boxes after that of the text, [T, D + D']."""
        if self.config.beside is None:
            return self.streams
        names = ("embedding.beside", *(f"layers.{layer}.beside.out" for layer in range(self.config.n_layers)))
        pairs = zip(self.streams, names, strict=True)
        return tuple(torch.cat((x, self.values[name]), dim=-1) for x, name in pairs)

    def entering(self, layer: int) -> str:
        """The hook point of the residual stream that the sublayers of a layer read: the layer before, and the positions
        or letters that are added to it."""
        before = "embedding" if layer == 0 else f"layers.{layer - 1}.{self.config.after_layer}"
        changed = self.config.layer_positions or layer == self.config.letters_layer
        return f"layers.{layer}.entering" if layer and changed else before

    def norm_of_sum(self, layer: int, part: Sublayer) -> str | None:
        """The norm whose input is x + f(x) of a sublayer: in post-norm its own, at the end of a Conformer's layer
        another. None where the sum is the residual stream after the sublayer."""
        if self.config.norm_placement == "post" and self.encoder.block(layer).norm_of(part) is not None:
            return f"layers.{layer}.{part}_norm"
        ends = self.config.conformer is not None and part == self.config.sublayers[-1]
        return f"layers.{layer}.end_norm" if ends else None

    @property
    def norms(self) -> Mapping[str, NormTrace]:
        """Every LayerNorm in the order of the forward pass: "embedding_norm", "layers.0.attention_norm", ..."""
        return MappingProxyType({name: self._norm(name, module) for name, module in self._norm_modules()})

    @property
    def output(self) -> Tensor:
        """[T, D]: the last layer's output, after the final norm where there is one."""
        return self.values["output"]

    def before_layer(self, layer: int) -> Tensor:
        """[T, D]: the residual stream that enters a layer; the output for the number of layers, or for -1.

        Raises EncoderError for a layer that the model does not have.
        """
        n_layers = self.config.n_layers
        layer = layer + n_layers + 1 if layer < 0 else layer
        if not 0 <= layer <= n_layers:
            raise EncoderError(f"No layer {layer} in this model: choose 0 to {n_layers}, which is the output.")
        return self.output if layer == n_layers else self.streams[layer]

    def check_token(self, position: int, what: str = "token") -> None:
        """Raise EncoderError for a token that the input does not have. what: its part in the calculation."""
        if not 0 <= position < self.n_real:
            raise EncoderError(f"No {what} {position} in this {self.kind}: choose 0 to {self.n_real - 1}.")

    def _stack(self, name: str) -> Tensor:
        return torch.stack([self.values[f"layers.{layer}.{name}"] for layer in range(self.config.n_layers)])

    def place(self, layer: int, head: int = 0) -> tuple[int, int]:
        """Layer and head counted from 0; negative ones count from the end, as in a list.

        Raises EncoderError for a layer or head that the model does not have.
        """
        for name, value, count in (("layer", layer, self.config.n_layers), ("head", head, self.config.n_heads)):
            if not isinstance(value, numbers.Integral) or isinstance(value, bool):
                raise EncoderError(f"{name}={quoted(value)} is not a whole number: choose 0 to {count - 1}.")
            if not -count <= value < count:
                raise EncoderError(f"No {name} {value} in this model: choose 0 to {count - 1}.")
        return layer % self.config.n_layers, head % self.config.n_heads

    def _norm_modules(self) -> Iterator[tuple[str, LayerNorm]]:
        if self.encoder.embedding.last_norm is not None:
            yield "embedding_norm", self.encoder.embedding.last_norm
        for layer in range(self.config.n_layers):
            block = self.encoder.block(layer)
            for part in self.config.sublayers:
                norm = block.norm_of(part)
                if norm is not None:
                    yield f"layers.{layer}.{part}_norm", norm
            if block.end_norm is not None:
                yield f"layers.{layer}.end_norm", block.end_norm
        if self.encoder.final_norm is not None:
            yield "final_norm", self.encoder.final_norm

    def _norm(self, name: str, module: LayerNorm) -> NormTrace:
        return NormTrace(
            name=name,
            input=self.values[f"{name}.input"],
            gain=module.weight.detach(),
            bias=None if module.bias is None else module.bias.detach(),
            eps=module.eps,
            kind=module.kind,
        )
