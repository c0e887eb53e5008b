"""TextEncoder: a tokenizer and an Encoder, the object that `encoder.load` returns.

Shapes: N texts, T tokens, D d_model.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from encoder.capture import record
from encoder.config import EncoderConfig, NormPlacement
from encoder.device import DTYPES
from encoder.edits import Edit, check_edits
from encoder.errors import EncoderError, LoadError, OutOfMemory, TextError, is_out_of_memory
from encoder.mlm import MaskedPrediction, MLMHead
from encoder.model import Encoder, unfilled
from encoder.pooling import Dense, Pooling, pool
from encoder.text import TextWindow, Tokenized, Tokenizer
from encoder.trace import Trace, split_batch


@dataclass(frozen=True, eq=False)
class TraceWindow:
    """The trace of a stretch of a long text; the other fields say of which, as in encoder.text.TextWindow."""

    trace: Trace
    tokens: tuple[int, int]
    characters: tuple[int, int]
    slides: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class TextEncoder:
    """A tokenizer with its encoder, ready to trace text.

    name: what a person calls it; pooling, dense, normalise: how `embed` makes one vector of a text, in this order, as
    the checkpoint says; max_embed_tokens: where `embed` cuts a text (`trace` cuts at config.max_tokens);
    mlm_head: from outputs to words, where the checkpoint has one; notes: sentences about how it was loaded (weights
    that were dropped, norms that were moved). Encoder and head are put into eval mode.
    """

    name: str
    encoder: Encoder
    tokenizer: Tokenizer
    pooling: Pooling = "mean"
    dense: tuple[Dense, ...] = ()
    normalise: bool = False
    max_embed_tokens: int | None = None
    mlm_head: MLMHead | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.encoder.eval()
        if self.mlm_head is not None:
            self.mlm_head.eval()

    def __repr__(self) -> str:
        config = self.config
        return (
            f"<TextEncoder {self.name}: {config.n_layers} layers x {config.n_heads} heads, width {config.d_model}, "
            f"{config.norm_placement}-norm, {config.position} positions, {self.n_parameters:,} parameters, "
            f"{config.max_tokens:,} tokens at most, on {self.device}>"
        )

    @property
    def config(self) -> EncoderConfig:
        """The architecture."""
        return self.encoder.config

    @property
    def device(self) -> torch.device:
        """Where the weights are and the traces are made."""
        return self.encoder.device

    @property
    def n_parameters(self) -> int:
        """Number of the encoder's weights, shared ones counted once; a masked-word head is not part of it."""
        return sum(parameter.numel() for parameter in self.encoder.parameters())

    def tokenize(self, text: str, pair: str | None = None, max_tokens: int | None = None) -> Tokenized:
        """Text -> tokens, cut at `max_tokens` or at what the model takes, whichever is less.

        Raises TextError for a token that the tokenizer knows and the encoder's table does not.
        """
        limit = self.config.max_tokens
        return self._known(self.tokenizer.encode(text, pair, limit if max_tokens is None else min(limit, max_tokens)))

    def _known(self, sentence: Tokenized) -> Tokenized:
        if not sentence.ids:
            raise TextError(
                f"The text is empty, and the tokenizer of {self.name} adds no token of its own: type at least one "
                "symbol."
            )
        size = self.config.vocab_size
        for token, token_id in zip(sentence.tokens, sentence.ids, strict=True):
            if token_id >= size:
                raise TextError(
                    f"The tokenizer gives {token!r} the id {token_id}; the encoder of {self.name} has vectors for 0 to "
                    f"{size - 1}: its tokenizer belongs to another checkpoint. Leave the word out, or mend the folder."
                )
        return sentence

    def trace(
        self,
        text: str,
        pair: str | None = None,
        *,
        pad_to: int | None = None,
        edits: Sequence[Edit] = (),
        request: Sequence[str] = (),
    ) -> Trace:
        """Run one text (with `pair`: as segments A and B) and return its Trace.

        A text longer than the model takes is cut; `trace.source.n_full` says how long it was. pad_to: run it as in a
        batch whose longest text has so many tokens; `trace.mask` tells the padding, `trace.unpadded` leaves it out.
        `edits` change the forward pass (encoder.edits); `request=("ffn.hidden",)` keeps large values too.
        Raises TextError for a length that cannot be padded to; OutOfMemory with a remedy.
        """
        return self.trace_tokens(self.tokenize(text, pair), pad_to=pad_to, edits=edits, request=request)

    def trace_batch(
        self, texts: Sequence[str], *, edits: Sequence[Edit] = (), request: Sequence[str] = ()
    ) -> list[Trace]:
        """Run several texts as one padded batch: one Trace each, all of the same T; `trace.mask` tells the padding."""
        if isinstance(texts, str):
            raise TextError("trace_batch takes a list of texts; for a single one there is trace.")
        return self._run(tuple(self.tokenize(text) for text in texts), tuple(edits), tuple(request))

    def trace_tokens(
        self,
        sentence: Tokenized,
        *,
        pad_to: int | None = None,
        edits: Sequence[Edit] = (),
        request: Sequence[str] = (),
    ) -> Trace:
        """Like `trace`, for a text that is tokenized already."""
        if pad_to is not None:
            self._check_padding(pad_to)
        return self._run((sentence,), tuple(edits), tuple(request), pad_to)[0]

    def _check_padding(self, pad_to: int) -> None:
        """Raise TextError where no text can be padded to this length."""
        if not isinstance(pad_to, numbers.Integral) or isinstance(pad_to, bool):
            raise TextError(f"pad_to={pad_to!r}: a whole number of tokens is needed.")
        if pad_to > self.config.max_tokens:
            raise TextError(
                f"pad_to={pad_to}: {self.name} takes {self.config.max_tokens:,} tokens. Choose a length up to that."
            )
        if not self.can_pad:
            raise TextError(
                f"The vocabulary of {self.name} has no padding token, so a text cannot be padded: leave pad_to out."
            )

    @property
    def can_pad(self) -> bool:
        """Whether tokenizer and encoder know a padding token."""
        return self.tokenizer.pad_id is not None and self.tokenizer.pad_id < self.config.vocab_size

    def windows(
        self, text: str, pair: str | None = None, *, stride: int | None = None, max_tokens: int | None = None
    ) -> list[TextWindow]:
        """A text of any length as overlapping windows of `max_tokens` tokens, by default what the model takes.

        pair: the longer sentence slides, the other is in every window, as in `Tokenizer.windows`. stride: tokens from
        the start of a window to that of the next, by default half of what a window holds of the text. Raises TextError
        for a stride that would leave tokens out.
        """
        limit = self.config.max_tokens if max_tokens is None else min(max_tokens, self.config.max_tokens)
        found = self.tokenizer.windows(text, limit, stride, pair)
        for window in found:
            self._known(window.sentence)
        return found

    def trace_windows(
        self,
        text: str,
        pair: str | None = None,
        *,
        stride: int | None = None,
        max_tokens: int | None = None,
        edits: Sequence[Edit] = (),
        request: Sequence[str] = (),
    ) -> Iterator[TraceWindow]:
        """Run a text of any length window by window (`windows`), one after the other as they are asked for.

        No window sees another: each is a text of its own to the model, its positions counted from 0.
        """
        for window in self.windows(text, pair, stride=stride, max_tokens=max_tokens):
            trace = self.trace_tokens(window.sentence, edits=edits, request=request)
            yield TraceWindow(trace, window.tokens, window.characters, window.slides)

    def embed(self, texts: Sequence[str] | str, batch_size: int = 32) -> Tensor:
        """Texts -> [N, D], pooled (and brought to length 1) as the checkpoint says. A single text gives [1, D]."""
        texts = [texts] if isinstance(texts, str) else list(texts)
        if batch_size < 1:
            raise TextError(f"batch_size={batch_size}: choose 1 or more texts.")
        if not texts:
            return torch.zeros(0, self.dense[-1].config.d_out if self.dense else self.config.d_model)
        vectors = []
        for start in range(0, len(texts), batch_size):
            sentences = [
                self.tokenize(text, max_tokens=self.max_embed_tokens) for text in texts[start : start + batch_size]
            ]
            batch = self.tokenizer.batch(sentences, self.device)
            with self._out_of_memory_explained(batch.ids.numel()), torch.no_grad():
                output = self.encoder(batch.ids, batch.mask, batch.segments)
                mask = torch.ones_like(batch.ids, dtype=torch.bool) if batch.mask is None else batch.mask
                vectors.append(self.pool(output, mask))
        return torch.cat(vectors)

    def pool(self, output: Tensor, mask: Tensor) -> Tensor:
        """output [N, T, D], mask [N, T] -> [N, D] (or the width of the last dense map), as the checkpoint says."""
        pooled = pool(output, mask, self.pooling)
        for dense in self.dense:
            pooled = dense(pooled)
        return torch.nn.functional.normalize(pooled, dim=-1) if self.normalise else pooled

    def predict_masked(self, trace: Trace, k: int = 5) -> list[MaskedPrediction]:
        """The `k` most probable tokens at every mask token of `trace`, in the order of the text.

        Raises EncoderError when the checkpoint has no masked-word head, when the text has no mask token, and for a `k`
        that is not between 1 and the size of the vocabulary.
        """
        positions = self._masked_positions(trace, k)
        assert self.mlm_head is not None
        table = self.encoder.embedding.tokens.weight
        predictions = []
        # A few positions at a time: a row of logits is as long as the vocabulary.
        for some in torch.tensor(positions, device=trace.output.device).split(64):
            with torch.no_grad():
                logits = self.mlm_head(trace.output[some], table)  # [n, V]
            probabilities, ids = torch.softmax(logits.float(), dim=-1).topk(k)  # [n, k]
            for position, row, values in zip(some.tolist(), ids.tolist(), probabilities.tolist(), strict=True):
                tokens = tuple(self.tokenizer.token(token_id) for token_id in row)
                predictions.append(MaskedPrediction(position, tuple(row), tokens, tuple(values)))
        return predictions

    def _masked_positions(self, trace: Trace, k: int) -> list[int]:
        """Where the mask tokens are; the errors of `predict_masked`."""
        if self.mlm_head is None:
            raise EncoderError(
                f"{self.name} has no masked-word head, so it cannot say which word is hidden: choose a checkpoint that "
                "was saved with one (in transformers: AutoModelForMaskedLM)."
            )
        token = self.tokenizer.mask_token
        if token is None:
            raise EncoderError(f"The vocabulary of {self.name} has no mask token, so no word can be hidden.")
        if not 1 <= k <= self.config.vocab_size:
            raise EncoderError(f"k={k}: choose 1 to {self.config.vocab_size}, the size of the vocabulary.")
        hidden = self.tokenizer.mask_id
        positions = [index for index, token_id in enumerate(trace.ids[: trace.n_real]) if token_id == hidden]
        if not positions:
            raise EncoderError(f"The text has no {token}: put {token} in the place of the word to be predicted.")
        return positions

    def with_norm_placement(self, norm_placement: NormPlacement) -> TextEncoder:
        """The same weights with the norms moved. Not trained that way, and `notes` says so. No weight is copied.

        Weights trained as post-norm have no final norm to give; those trained as pre-norm keep theirs.
        """
        if norm_placement == self.config.norm_placement:
            return self
        moved, note = rewired_encoder(self.encoder, self.name, norm_placement)
        return dataclasses.replace(self, encoder=moved, notes=(*self.notes, note))

    rewired = with_norm_placement  # the name up to 0.1; it goes in the release after the next

    def _run(
        self,
        sentences: tuple[Tokenized, ...],
        edits: tuple[Edit, ...],
        request: tuple[str, ...],
        pad_to: int | None = None,
    ) -> list[Trace]:
        if self.encoder.training:
            raise EncoderError(
                "This encoder is in training mode, where dropout changes the numbers: call .eval() first."
            )
        batch = self.tokenizer.batch(sentences, self.device, pad_to)
        check_edits(edits, self.config.n_layers, self.config.n_heads, batch.ids.shape[1])
        with self._out_of_memory_explained(batch.ids.numel()), record(edits, request) as recorder, torch.no_grad():
            self.encoder(batch.ids, batch.mask, batch.segments)
        pad = (self.tokenizer.pad_token, self.tokenizer.pad_id or 0)
        return split_batch(self.encoder, recorder.values, sentences, batch.mask, pad, edits)

    def _out_of_memory_explained(self, n_tokens: int) -> OutOfMemoryExplained:
        return OutOfMemoryExplained(self.device, n_tokens)


def rewired_encoder(encoder: Encoder, name: str, norm_placement: NormPlacement) -> tuple[Encoder, str]:
    """The same weights, not copied, with the norms moved, and a sentence that says so."""
    was = encoder.config.norm_placement
    with unfilled():
        moved = Encoder(encoder.config.replace(norm_placement=norm_placement, final_norm=encoder.config.final_norm))
    moved.load_state_dict(encoder.state_dict(), assign=True)
    note = (
        f"{name} was trained with {was}-norm. Here its norms are moved to {norm_placement}-norm without any training: "
        "the numbers are real, but it was not made to work this way."
    )
    return moved, note


class OutOfMemoryExplained:
    """Context: a device that runs out of memory becomes OutOfMemory, with what to do about it."""

    def __init__(self, device: torch.device, n_tokens: int) -> None:
        self.device = device
        self.n_tokens = n_tokens

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if not is_out_of_memory(error):
            return
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        raise OutOfMemory(
            f"{self.n_tokens:,} tokens do not fit into the memory of {self.device}. Take a shorter text, "
            "or choose another device or bfloat16."
        ) from error


def build(
    config: EncoderConfig,
    tokenizer: Tokenizer,
    *,
    seed: int = 0,
    name: str = "from scratch",
    device: torch.device | str = "cpu",
    dtype: str = "float32",
) -> TextEncoder:
    """A TextEncoder with random weights drawn from `seed`; both norm placements get the same weights.

    dtype: "float32" or "bfloat16", to which the weights are rounded. Raises LoadError for another.
    """
    if dtype not in DTYPES:
        raise LoadError(f"dtype={dtype!r}: choose one of {', '.join(DTYPES)}.")
    made = Encoder(config, seed=seed).to(device=device, dtype=DTYPES[dtype])
    return TextEncoder(name=name, encoder=made, tokenizer=tokenizer)
