"""DecoderTrace: a decoder's recorded pass over a target, with its cross-attention to the tokens of the input.

Shapes: L layers, H heads, T tokens of the target (queries), S tokens of the input (keys), V vocabulary.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import torch
from torch import Tensor

from encoder.model import attend
from encoder.model.attend import AttentionContext, Memory
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False, repr=False)
class DecoderTrace(Trace):
    """A Trace whose tokens are those that the decoder reads: first the prompt, then the target without its last token.

    memory_labels [S]: the tokens of the input; memory_mask [S]: False for its padding; next_ids [T]: the token that
    follows each one; log_probabilities [T]: of these; n_prompt: the number of tokens that were given, so that the
    target begins at next_ids[n_prompt - 1].
    """

    memory_labels: tuple[str, ...] = ()
    memory_mask: Tensor | None = None
    next_ids: tuple[int, ...] = ()
    log_probabilities: Tensor | None = None
    n_prompt: int = 1

    @property
    def output_rows(self) -> slice:
        """The rows whose next token belongs to the output, and not to the prompt."""
        return slice(self.n_prompt - 1, None)

    @property
    def output_labels(self) -> tuple[str, ...]:
        """The tokens of the output."""
        found: tuple[str, ...] = self.model.labels(self.next_ids[self.output_rows])
        return found

    @property
    def output_words(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The words of the output, each with the places of its tokens in it; a special token counts as a word."""
        found = self.model.tokenizer.of_ids(self.next_ids[self.output_rows])
        names = [
            (place, -1) if special else (word, 0)
            for place, (word, special) in enumerate(zip(found.words, found.special, strict=True))
        ]
        places = {name: tuple(at for at, one in enumerate(names) if one == name) for name in names}
        decode = self.model.tokenizer.backend.decode
        text = {
            name: found.labels[at[0]] if name[1] else decode([found.ids[one] for one in at]).strip()
            for name, at in places.items()
        }
        return tuple((text[name], at) for name, at in places.items())

    @property
    def output_log_probabilities(self) -> Tensor:
        """Of each token of the output, given the input and the tokens before it; float64, on the CPU."""
        assert self.log_probabilities is not None  # a trace of `Decoder.trace_target` has them
        return self.log_probabilities[self.output_rows].double().cpu()

    @torch.no_grad()
    def next_logits(self, rows: slice = slice(None)) -> Tensor:
        """[n, V]: the logits of the token after each of these rows; float32. Needs the trace's model."""
        found: Tensor = self.model.logits(self.output[rows]).float()
        return found

    @property
    def memory(self) -> Memory:
        """The vectors that cross-attention reads, [1, S, D], and their mask."""
        mask = None if self.memory_mask is None or bool(self.memory_mask.all()) else self.memory_mask[None]
        return Memory(self.values["memory"][None], mask)

    @cached_property
    def cross_contexts(self) -> tuple[AttentionContext, ...]:
        """Scale and mask of the cross-attention of each layer."""
        plain = [attend.LearnedScores()] * self.config.n_layers
        encoded = torch.arange(self.n_tokens, device=self.mask.device)
        mask = self.memory.mask
        return attend.contexts(self.config.cross, encoded, None if mask is None else mask[0], plain)

    def cross_scores(self, layer: int, head: int) -> Tensor:
        """[T, S]: q_i . k_j x scale; the keys of padding have the lowest number. Always float32."""
        layer, head = self.place(layer, head)
        return self._cross(layer, slice(head, head + 1))[0][0]

    def cross_attention(self, layer: int, head: int) -> Tensor:
        """[T, S]: what each token of the target reads of the input. Each row sums to 1."""
        layer, head = self.place(layer, head)
        return self._cross(layer, slice(head, head + 1))[1][0]

    def layer_cross_attention(self, layer: int) -> Tensor:
        """[H, T, S]: the cross-attention of all heads of a layer."""
        layer, _ = self.place(layer)
        return self._cross(layer, slice(None))[1]

    @property
    def cross_attentions(self) -> Tensor:
        """[L, H, T, S]: every cross-attention map."""
        return torch.stack([self.layer_cross_attention(layer) for layer in range(self.config.n_layers)])

    def without_padded_memory(self, n_real: int) -> "DecoderTrace":
        """The same pass without the padding of the input: its first n_real tokens are real. Nothing is copied."""
        ends = ("memory", "cross.k", "cross.v")
        values = {
            name: value[..., :n_real, :]
            if name.endswith(ends)
            else value[..., :n_real]
            if name.endswith(("cross.scores", "cross.pattern"))
            else value
            for name, value in self.values.items()
        }
        mask = None if self.memory_mask is None else self.memory_mask[:n_real]
        return replace(
            self, values=MappingProxyType(values), memory_labels=self.memory_labels[:n_real], memory_mask=mask
        )

    def _cross(self, layer: int, heads: slice) -> tuple[Tensor, Tensor]:
        """Edited scores and weights [h, T, S] of these heads."""
        every = slice(None)
        q, k = (self.values[f"layers.{layer}.cross.{name}"][heads] for name in "qk")
        context = self.cross_contexts[layer]
        scores = self._edited(context.float32_scores(q, k, every, heads), "cross.scores", layer, every, heads)
        return scores, self._edited(context.pattern(scores, heads=heads), "cross.pattern", layer, every, heads)
