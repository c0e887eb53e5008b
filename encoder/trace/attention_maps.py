"""Attention maps by themselves: a Trace without a model behind it, and maps whose keys are other tokens.

    trace = encoder.attentions(outputs.attentions, tokens)  # of any model that gives its maps
    trace.attention(0, 2), encoder.measure.heads(trace), encoder.export.map(trace, 0, 2)

Shapes: L layers, H heads, T tokens (queries i, keys j), S tokens of another text, h some heads, Ti some queries.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from encoder.errors import EncoderError, quoted
from encoder.inputs.text import Tokenized
from encoder.model.config import EncoderConfig
from encoder.model.encoder import Encoder
from encoder.trace.decoder import DecoderTrace
from encoder.trace.trace import Trace

#: What attention maps cannot show, in one sentence.
ONLY_MAPS = (
    "These are attention maps only: queries, keys, values, scores and the residual stream need the model itself. "
    "Open it by encoder.load or encoder.wrap."
)
#: Rows whose sum is further from 1 are named. float16 rounds sums of small weights by less.
OFF = 0.01
SPECIAL = re.compile(r"\[[A-Za-z0-9_]+\]|<[^<>\s]+>")


class _Only(dict[str, Tensor]):
    """Recorded values of which all but the maps are missing."""

    def __missing__(self, name: str) -> Tensor:
        raise EncoderError(ONLY_MAPS)


@dataclass(frozen=True, eq=False, repr=False)
class AttentionMaps(Trace):
    """A Trace that has attention maps and nothing else: what needs more raises EncoderError.

    notes: sentences about the maps, such as rows that do not sum to 1.
    """

    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        return (
            f"<AttentionMaps of {self.n_tokens:,} tokens: {self.config.n_layers} layers x {self.config.n_heads} heads>"
        )

    @property
    def maps(self) -> Tensor:
        """[L, H, T, T]: float32."""
        return self.values["attentions"]

    @property
    def finite(self) -> bool:
        """True: `attentions` refuses other numbers."""
        return True

    @property
    def precision(self) -> str:
        """The number type of the maps."""
        return "float32"

    def scores(self, layer: int, head: int, queries: slice | None = None, keys: slice | None = None) -> Tensor:
        """Raises EncoderError: a softmax forgets a constant of each row, so weights do not say the scores."""
        raise EncoderError(ONLY_MAPS)

    def attention(self, layer: int, head: int, queries: slice | None = None, keys: slice | None = None) -> Tensor:
        """[T, T], or the window queries x keys."""
        layer, head = self.place(layer, head)
        return self.maps[layer, head, queries or slice(None), keys or slice(None)]

    def every_layer(self) -> tuple[Tensor, Tensor]:
        """Logarithms of the maps, and the maps, [L, H, T, T] each."""
        return _logarithm(self.maps), self.maps.clone()

    def _prepared_keys(self, layer: int, heads: slice, most_rows: int) -> Tensor | None:
        return None

    def _layer_scores(
        self, layer: int, queries: slice, heads: slice, k: Tensor | None = None, out: Tensor | None = None
    ) -> Tensor:
        """[h, Ti, T]: the logarithm of the weights, scores that give these weights."""
        found = _logarithm(self.maps[layer, heads, queries])
        return found if out is None else out.copy_(found)

    def _layer_pattern(
        self, layer: int, scores: Tensor, queries: slice, heads: slice, out: Tensor | None = None
    ) -> Tensor:
        found = self.maps[layer, heads, queries]
        return found.clone() if out is None else out.copy_(found)


def _logarithm(weights: Tensor) -> Tensor:
    return weights.log().clamp(min=torch.finfo(torch.float32).min)


@dataclass(frozen=True, eq=False, repr=False)
class CrossMaps(DecoderTrace):
    """Cross-attention maps [L, H, T, S] in the place of a decoder's pass: nothing else is known of it."""

    @property
    def precision(self) -> str:
        """The number type of the maps."""
        return "float32"

    @property
    def output_labels(self) -> tuple[str, ...]:
        """The tokens of the rows."""
        return self.labels

    def _cross(self, layer: int, heads: slice) -> tuple[Tensor, Tensor]:
        """Logarithms of the weights, and the weights."""
        found = self.values["attentions"][layer, heads]
        return _logarithm(found), found


def attentions(maps: Any, tokens: Sequence[str], keys: Sequence[str] | None = None) -> AttentionMaps:
    """Attention maps of any model -> a Trace of them, for heads, measures, pictures and export.

    maps: an array or tensor [L, H, T, T], or a list of L layers, each [H, T, T] or [1, H, T, T], as transformers gives
    them; tokens [T]. With `keys` [S], maps [L, H, T, S] are cross-attention: the Trace is of the keys, without maps of
    its own, and `cross_attention(layer, head)` and `decoder` have these. Raises EncoderError for shapes or weights
    that do not fit. Rows that do not sum to 1 are kept, and `notes` says so.
    """
    weights, rows = _as_maps(maps), _as_tokens(tokens, "tokens")
    columns = rows if keys is None else _as_tokens(keys, "keys")
    if weights.shape[2:] != (len(rows), len(columns)):
        raise EncoderError(
            f"Maps of {weights.shape[2]} x {weights.shape[3]} do not fit {len(rows)} tokens and {len(columns)} keys: "
            "give one token for each row, and keys for each column where they differ."
        )
    notes = _notes(weights)
    if keys is not None:
        crossed = CrossMaps(**fields_of(rows, weights, attentions=weights), memory_labels=columns)
        return AttentionMaps(**fields_of(columns, weights), notes=notes, decoder=crossed)
    causal = len(rows) > 1 and not bool(weights.triu(1).any())
    return AttentionMaps(**fields_of(rows, weights, causal, attentions=weights), notes=notes)


def fields_of(tokens: tuple[str, ...], maps: Tensor, causal: bool = False, **values: Tensor) -> dict[str, Any]:
    """The fields of a Trace of these tokens, in which only these values are recorded."""
    n_layers, n_heads = maps.shape[:2]
    # The smallest encoder with these heads; nothing runs it.
    config = EncoderConfig(
        vocab_size=1,
        d_model=n_heads,
        n_layers=n_layers,
        n_heads=n_heads,
        d_ffn=1,
        max_positions=len(tokens),
        position="none",
        causal=causal,
    )
    source, mask = _as_source(tokens), torch.ones(len(tokens), dtype=torch.bool)
    return {
        "encoder": Encoder(config).eval(),
        "tokens": tokens,
        "labels": source.labels,
        "ids": source.ids,
        "mask": mask,
        "values": _Only(values),
        "source": source,
    }


def _as_maps(maps: Any) -> Tensor:
    """[L, H, T, S] float32 on the CPU. Raises EncoderError for another shape, or for numbers that are not weights."""
    try:
        if masked := _masked(maps):
            raise TypeError(masked)
        if isinstance(maps, list | tuple):
            layers = [torch.as_tensor(one).detach().cpu() for one in maps]
            maps = torch.stack([one[0] if one.dim() == 4 and len(one) == 1 else one for one in layers])
        maps = torch.as_tensor(maps).detach()
        if maps.is_complex() or maps.layout is not torch.strided or maps.is_quantized or maps.is_meta:
            raise TypeError(f"{maps.dtype}, {maps.layout}, on {maps.device}")
        found: Tensor = maps.to(device="cpu", dtype=torch.float32)
    except (TypeError, ValueError, RuntimeError, NotImplementedError) as error:
        raise EncoderError(
            f"These maps are not an array of numbers ({error}): specify [layers, heads, tokens, tokens]."
        ) from error
    if found.dim() == 5 and found.shape[1] == 1:  # a batch of one text
        found = found[:, 0]
    if found.dim() != 4 or not found.numel():
        raise EncoderError(
            f"Maps of shape {list(found.shape)} are not [layers, heads, tokens, tokens]: specify the maps of one text."
        )
    least, most = (float(end) for end in torch.aminmax(found))
    if not (least >= 0.0 and most <= 1.0 + OFF):  # also NaN
        raise EncoderError(
            f"Attention weights are 0 to 1, and these are {least:.3g} to {most:.3g}: specify the softmax."
        )
    return found


def _masked(maps: Any) -> str:
    """That some numbers of an array, or of the arrays in a list, are hidden, or ""."""
    arrays = maps if isinstance(maps, list | tuple) else [maps]
    return "a masked array" if any(np.ma.isMaskedArray(one) for one in arrays) else ""


def _as_tokens(tokens: Sequence[str], name: str) -> tuple[str, ...]:
    if not isinstance(tokens, Iterable) or isinstance(tokens, str | bytes):
        raise EncoderError(f"{quoted(tokens)} are not {name}: specify a list of texts, one for each token.")
    tokens = tuple(tokens)
    if not all(isinstance(token, str) for token in tokens):
        raise EncoderError(f"Specify {name} as a list of texts, one for each token.")
    return tokens


def _notes(weights: Tensor) -> tuple[str, ...]:
    off = (weights.sum(-1) - 1.0).abs()  # [L, H, T]
    if float(off.max()) <= OFF:
        return ()
    layer, head, row = (int(place) for place in torch.nonzero(off == off.max())[0])
    share = f"{int((off > OFF).sum()):,} of {off.numel():,} rows do not sum to 1"
    return (f"{share}: row {row} of L{layer} H{head} has {float(weights[layer, head, row].sum()):.3f}.",)


def _as_source(tokens: tuple[str, ...]) -> Tokenized:
    """The tokens as a text: "##" continues a word, and "[CLS]" or "<s>" is special."""
    special = tuple(SPECIAL.fullmatch(token) is not None for token in tokens)
    words: list[int] = []
    for token, is_special in zip(tokens, special, strict=True):
        last = max(words, default=-1)
        words.append(-1 if is_special else last if token.startswith("##") and last >= 0 else last + 1)
    text, offsets = "", []
    for token, is_special in zip(tokens, special, strict=True):
        shown = token.removeprefix("##").lstrip("\u2581\u0120")
        text += "" if is_special or not text or token.startswith("##") else " "
        offsets.append((0, 0) if is_special else (len(text), len(text) + len(shown)))
        text += "" if is_special else shown
    zeros = (0,) * len(tokens)
    numbers = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    return Tokenized(
        text=text,
        pair=None,
        ids=tuple(map(numbers.__getitem__, tokens)),
        tokens=tokens,
        labels=tokens,
        words=tuple(words),
        segments=zeros,
        special=special,
        offsets=tuple(offsets),
        n_full=len(tokens),
    )
