"""TextEncoder: a tokenizer and an Encoder. `encoder.load` returns it.

Shapes: N texts, B batch, T tokens, D d_model, V vocabulary.
"""

import dataclasses
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from encoder.edits import Edit
from encoder.encoders.image import Preparation, prepared
from encoder.encoders.named import NamedEncoder
from encoder.errors import EncoderError, TextError, quoted
from encoder.inputs import image_files
from encoder.inputs.boxes import Box, Words, placed, with_page, words_of
from encoder.inputs.nodes import Node
from encoder.inputs.text import Batch, TextWindow, Tokenized, texts_of
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.classifier import Classifier
from encoder.model.config import EncoderConfig
from encoder.model.device import explain_out_of_memory, pick_dtype
from encoder.model.encoder import Encoder, unfilled
from encoder.model.entity_head import EntityHead
from encoder.model.mlm import MaskedPrediction, MLMHead
from encoder.model.overview import Receiver
from encoder.model.paths import Paths
from encoder.model.pooling import LateConfig, SparseConfig, parts_of, pool
from encoder.model.steps import LayerMix, check_widths, width_after
from encoder.trace.capture import record
from encoder.trace.trace import Trace

#: Masked positions that are predicted at a time: a row of logits is as long as the vocabulary.
POSITIONS_AT_ONCE = 64
#: The roles of texts that every encoder knows.
SIDES = ("query", "document")


@dataclass(frozen=True, eq=False)
class TraceWindow:
    """The trace of a part of a long text. The other fields are those of encoder.inputs.text.TextWindow."""

    trace: Trace
    tokens: tuple[int, int]
    characters: tuple[int, int]
    slides: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class TextEncoder(NamedEncoder):
    """A tokenizer with its encoder, ready to trace text."""

    #: What splits a text into tokens.
    tokenizer: Tokenizer
    #: How `embed` makes one vector of those of the tokens, as the checkpoint says.
    pooling: str = "mean"
    #: What follows the pooling: linear maps, and the other STEPS of encoder.model.steps.
    dense: tuple[nn.Module, ...] = ()
    #: Whether the vector then gets norm 1.
    normalise: bool = False
    #: Where `embed` cuts a text; None: where `trace` does, at config.max_tokens.
    max_embed_tokens: int | None = None
    #: The masked-word head, where the checkpoint has one.
    mlm_head: MLMHead | None = None
    #: Whether the logits of the masked-word head are pooled in place of the outputs: a number for each word.
    pools_words: bool = field(default=False, kw_only=True)
    #: How many of its first numbers count, as Matryoshka models allow; None: all.
    truncate_dim: int | None = field(default=None, kw_only=True)
    #: What `embed` puts before a text, by name.
    prompts: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    #: The name of the prompt that `embed` uses unless another is specified.
    default_prompt: str | None = field(default=None, kw_only=True)
    #: Whether the prompt's tokens are pooled, too.
    pools_prompt: bool = field(default=True, kw_only=True)
    #: The start and end of an answer, where the checkpoint has this head.
    span_head: Classifier | None = field(default=None, kw_only=True)
    #: GLiNER's scores of spans for labels in words (encoder.classify.span_scores).
    entity_head: EntityHead | None = field(default=None, kw_only=True)
    #: SPLADE's vector (encoder.classify.sparse_vector).
    sparse: SparseConfig | None = field(default=None, kw_only=True)
    #: ColBERT's vectors (encoder.similarity.late_interaction).
    late: LateConfig | None = field(default=None, kw_only=True)
    #: The steps that make these of the vectors of tokens; with a pooling they come before it.
    token_dense: tuple[nn.Module, ...] = field(default=(), kw_only=True)
    #: The mean over layers that is pooled in the place of the output, where the checkpoint has one.
    mix: LayerMix | None = field(default=None, kw_only=True)
    #: How the image of a page becomes pixels, where the model uses one next to words with boxes.
    page_preparation: Preparation | None = field(default=None, kw_only=True)
    #: The encoders of texts with another role, such as "query" and "document", where they differ from this one.
    sides: Mapping[str, "TextEncoder"] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classifier is not None and not self.classifier.config.reads_output:
            raise EncoderError("A classification head of texts uses one layer: choose another head.")
        if self.pools_words and self.mlm_head is None:
            raise EncoderError("Vectors of words need a masked-word head: choose a checkpoint with one.")
        if self.late is None and self.sparse is None:
            token_width = width_after(self.token_dense, self._token_width)
            check_widths(self.token_dense, self._token_width)
            check_widths(self.dense, token_width * len(parts_of(self.pooling)))
        if self.mix is not None and self.mix.config.first + self.mix.config.n_weights != self.config.n_layers + 1:
            raise EncoderError(
                f"{self.name} has {self.config.n_layers} layers, and its mean over layers has "
                f"{self.mix.config.n_weights} weights from {self.mix.config.first} on: specify one for each."
            )

    @property
    def heads(self) -> dict[str, nn.Module]:
        """As of every encoder, with those of its fields here; not those of `sides`."""
        found = super().heads
        for name, several in (("dense", self.dense), ("token_dense", self.token_dense)):
            found |= {f"{name}.{index}": dense for index, dense in enumerate(several)}
        names = ("mlm_head", "span_head", "entity_head", "mix")
        single: dict[str, nn.Module | None] = {name: getattr(self, name) for name in names}
        return found | {name: head for name, head in single.items() if head is not None}

    # --- tokens -------------------------------------------------------------------------------------------------------

    def tokenize(
        self,
        text: str,
        pair: str | None = None,
        max_tokens: int | None = None,
        *,
        boxes: Sequence[Box] | None = None,
        nodes: Sequence[Node] | None = None,
    ) -> Tokenized:
        """Text -> tokens, cut at `max_tokens` or at what the model accepts, whichever is less.

        boxes, nodes: of `trace`. Raises TextError for a token that the encoder has no vector for, and for boxes or
        nodes that do not fit.
        """
        limit = self.config.max_tokens if max_tokens is None else min(max_tokens, self.config.max_tokens)
        words = self._words(text, pair, boxes)
        self._check_nodes(nodes)
        found = self.tokenizer.encode(text if words is None else words.text, pair, limit, nodes)
        return self._placed(_known(found, self.config, self.name), words)

    def with_page(self, image: Any) -> "TextEncoder":
        """The same encoder, whose texts are all on this page: the patches of its image follow their words.

        image: a Pillow image, array or tensor of any size, or a file. Raises EncoderError for a model that reads no
        image, and ImageError for what is none.
        """
        shape = self.config.page
        if shape is None:
            raise EncoderError(f"{self.name} reads no image of a page: leave it out, or open a LayoutLMv3.")
        image = image_files.open_picture(image) if isinstance(image, str | bytes | Path) else image
        given = image_files.as_pixels(image, shape.channels, self.name)
        pixels = prepared(given, self.page_preparation or Preparation(), shape.image_size)
        with unfilled():
            encoder = Encoder(self.config.replace(reads_page=True))
        state = self.encoder.state_dict(keep_vars=True)
        state["embedding.page.pixels"] = pixels.to(device=self.device, dtype=self.encoder.dtype).unsqueeze(0)
        encoder.load_state_dict(state, assign=True)
        return dataclasses.replace(self, encoder=encoder.train(self.encoder.training))

    def _words(self, text: str, pair: str | None, boxes: Sequence[Box] | None) -> Words | None:
        """The words of a text with their boxes; None without boxes. Raises TextError for boxes that do not fit."""
        if boxes is None:
            return None
        if self.config.boxes is None:
            raise TextError(f"{self.name} knows no places on a page: leave the boxes out, or open a LayoutLM or LiLT.")
        if pair:
            raise TextError("Boxes belong to one text: leave the second text out, or the boxes.")
        return words_of(text, boxes, self.config.boxes.largest)

    def _check_nodes(self, nodes: Sequence[Node] | None) -> None:
        """Raise TextError for nodes where the model knows no tree."""
        if nodes is not None and not isinstance(self.config.places, Paths):
            raise TextError(f"{self.name} knows no tree of a page: leave the nodes out, or open a MarkupLM.")

    def _placed(self, sentence: Tokenized, words: Words | None) -> Tokenized:
        """The tokens with the boxes of their words, where there are boxes."""
        shape, page = self.config.boxes, self.config.page
        found = sentence if words is None or shape is None else placed(sentence, words, shape)
        return with_page(found, page) if page is not None and self.config.reads_page else found

    def windows(
        self,
        text: str,
        pair: str | None = None,
        *,
        stride: int | None = None,
        max_tokens: int | None = None,
        boxes: Sequence[Box] | None = None,
        nodes: Sequence[Node] | None = None,
    ) -> list[TextWindow]:
        """A text of any length as overlapping windows of `max_tokens` tokens, by default what the model accepts.

        pair: the longer text slides, and every window contains the other (`Tokenizer.windows`). stride: tokens from the
        start of a window to the start of the next, by default half of what a window contains of the text. boxes,
        nodes: of `trace`. Raises TextError for a stride that would leave out tokens, and for boxes or nodes that do not
        fit.
        """
        limit = self.config.max_tokens if max_tokens is None else min(max_tokens, self.config.max_tokens)
        words = self._words(text, pair, boxes)
        self._check_nodes(nodes)
        found = self.tokenizer.windows(text if words is None else words.text, limit, stride, pair, nodes)
        known = (_known(window.sentence, self.config, self.name) for window in found)
        return [
            dataclasses.replace(window, sentence=self._placed(one, words))
            for window, one in zip(found, known, strict=True)
        ]

    # --- traces -------------------------------------------------------------------------------------------------------

    def trace(
        self,
        text: str,
        pair: str | None = None,
        *,
        boxes: Sequence[Box] | None = None,
        nodes: Sequence[Node] | None = None,
        page: Any = None,
        target: str | Sequence[int] | None = None,
        begin: Sequence[str] = (),
        pad_to: int | None = None,
        edits: Sequence[Edit] = (),
        decoder_edits: Sequence[Edit] = (),
        request: Sequence[str] = (),
    ) -> Trace:
        """Run one text (with `pair`: as segments A and B) and return its Trace.

        A text is cut at `config.max_tokens`, the last position that the model has, and by `embed` already at
        `max_embed_tokens`; `trace.source.n_full` says how long it was. pad_to: the number of tokens of the longest text
        in its batch; `trace.mask` marks the padding, `trace.unpadded` leaves it out.
        boxes: of each word between blanks its left, upper, right and lower edge on the page, from 0 to 1000 (LayoutLM,
        LiLT); without them all are 0. nodes: of the text, or of `pair`, the number of words between blanks and the path
        in a tree of HTML (MarkupLM); `inputs.html_nodes` finds them. page: the image of the page (LayoutLMv3), as of
        `with_page`; the last tokens are its patches.
        `edits` change the forward pass (encoder.edits); `request` records more hook points (capture.ON_REQUEST).
        target, begin, decoder_edits: with a target, `trace.decoder` is the decoder's pass over it (`decode`).
        Raises TextError for a length that cannot be padded to, EncoderError for edits or a request that do not fit, and
        OutOfMemory.
        """
        here = self if page is None else self.with_page(page)
        sentence = here.tokenize(text, pair, boxes=boxes, nodes=nodes)
        found = here.trace_tokens(sentence, pad_to=pad_to, edits=edits, request=request)
        return (
            found if target is None else self.decode(found, target, begin=begin, edits=decoder_edits, request=request)
        )

    def trace_batch(
        self, texts: Sequence[str], *, edits: Sequence[Edit] = (), request: Sequence[str] = ()
    ) -> list[Trace]:
        """Run several texts as one padded batch: one Trace each, all of the same T; `trace.mask` marks the padding."""
        if isinstance(texts, str):
            raise TextError("trace_batch accepts a list of texts: call trace for a single text.")
        sentences = [self.tokenize(text) for text in texts]
        if self.config.reads_page:  # whose tokens are at the end
            return [self._trace([one], None, edits, request)[0] for one in sentences]
        return self._trace(sentences, None, edits, request)

    def trace_tokens(
        self,
        sentence: Tokenized,
        *,
        pad_to: int | None = None,
        edits: Sequence[Edit] = (),
        request: Sequence[str] = (),
        on_overview: Receiver | None = None,
    ) -> Trace:
        """Like `trace`, for a tokenized text.

        on_overview: called with layer and overview of each layer once it is computed, where that is quicker than
        `long_map.layer_overview` afterwards: float32 on a CPU, more than 512 tokens that all see each other.
        """
        if not isinstance(sentence, Tokenized):
            raise TextError(f"{quoted(sentence)} has no tokens yet: call trace for a text, or tokenize it first.")
        if pad_to is not None:
            self._check_padding(pad_to)
        return self._trace([sentence], pad_to, edits, request, on_overview)[0]

    def trace_windows(
        self,
        text: str,
        pair: str | None = None,
        *,
        stride: int | None = None,
        max_tokens: int | None = None,
        boxes: Sequence[Box] | None = None,
        nodes: Sequence[Node] | None = None,
        edits: Sequence[Edit] = (),
        request: Sequence[str] = (),
    ) -> Iterator[TraceWindow]:
        """Run a text of any length window by window (`windows`), each when the caller asks for it.

        No window attends to another: to the model, each is a text whose positions count from 0.
        """
        for window in self.windows(text, pair, stride=stride, max_tokens=max_tokens, boxes=boxes, nodes=nodes):
            trace = self.trace_tokens(window.sentence, edits=edits, request=request)
            yield TraceWindow(trace, window.tokens, window.characters, window.slides)

    @property
    def can_pad(self) -> bool:
        """Whether both tokenizer and encoder have a padding token."""
        known = self.tokenizer.pad_id is not None and self.tokenizer.pad_id < self.config.vocab_size
        return known and not self.config.reads_page

    def _check_padding(self, pad_to: int) -> None:
        """Raise TextError where no text can be padded to this length."""
        if not isinstance(pad_to, numbers.Integral) or isinstance(pad_to, bool):
            raise TextError(f"pad_to={quoted(pad_to)} is not a length: specify a whole number of tokens.")
        if pad_to > self.config.max_tokens:
            raise TextError(
                f"{self.name} accepts at most {self.config.max_tokens:,} tokens, not pad_to={pad_to}: choose fewer."
            )
        if self.config.reads_page:
            raise TextError("A text with the image of its page has no padding: leave pad_to out, or the image.")
        if not self.can_pad:
            raise TextError(f"The vocabulary of {self.name} has no padding token: leave pad_to out.")

    def _run_source(self, text: str, points: tuple[str, ...]) -> Trace:
        return self._run(text, points)

    def _trace(
        self,
        sentences: list[Tokenized],
        pad_to: int | None,
        edits: Sequence[Edit],
        request: Sequence[str],
        on_overview: Receiver | None = None,
    ) -> list[Trace]:
        applied = self._resolved(edits)
        batch = self.tokenizer.batch(sentences, self.device, pad_to)
        n_tokens = batch.ids.shape[1]
        recorded = self._recorded(
            batch.ids,
            batch.mask,
            batch.segments,
            n_tokens=n_tokens,
            edits=applied,
            request=request,
            on_overview=on_overview,
            places=batch.places,
        )
        pad, pad_id = self.tokenizer.pad_token, self.tokenizer.pad_id or 0
        traces = []
        for index, (sentence, values) in enumerate(zip(sentences, recorded, strict=True)):
            n_pad = n_tokens - len(sentence)
            everything = torch.ones(n_tokens, dtype=torch.bool, device=self.device)
            trace = Trace(
                encoder=self.encoder,
                tokens=sentence.tokens + (pad,) * n_pad,
                labels=sentence.labels + (pad,) * n_pad,
                ids=sentence.ids + (pad_id,) * n_pad,
                mask=everything if batch.mask is None else batch.mask[index],
                values=values,
                source=sentence,
                edits=tuple(edits),
                applied=applied,
                model=self,
            )
            traces.append(trace)
        return traces

    # --- one vector for a text ----------------------------------------------------------------------------------------

    def prompt(self, name: str | None = None) -> str:
        """The prompt of a name in `prompts`; None: the default one; "": none. Raises TextError for an unknown name."""
        name = self.default_prompt if name is None else name
        if name is not None and not (isinstance(name, str) and name in ("", *self.prompts)):
            known = ", ".join(self.prompts) or "none"
            raise TextError(f"{self.name} has no prompt {quoted(name)}: choose one of its prompts ({known}).")
        return self.prompts[name] if name else ""

    @property
    def has_sides(self) -> bool:
        """Whether the checkpoint treats queries and documents differently, by its weights or by its prompts."""
        return bool(self.sides) or any(self.prompts.get(name) for name in SIDES)

    def side(self, name: str | None) -> "TextEncoder":
        """The encoder of texts with a role, "query" or "document", which `embed` uses with `side`; None: this one.

        Its weights may be others (`sides`), and its default prompt is the one of that name, without which it has none.
        Raises TextError for an unknown name.
        """
        if name is None:
            return self
        if not isinstance(name, str) or (name not in SIDES and name not in self.sides):
            known = ", ".join(dict.fromkeys((*SIDES, *self.sides)))
            raise TextError(f"{self.name} has no side {quoted(name)}: choose one of {known}.")
        default = name if name in self.prompts else None
        return dataclasses.replace(self.sides.get(name, self), default_prompt=default, sides=self.sides)

    def searching(self, role: str) -> "TextEncoder":
        """The encoder of a "query" or a "document" in a search: that side, or this one where there are no sides."""
        return self.side(role) if self.has_sides else self

    def embed(
        self,
        texts: Sequence[str] | str,
        batch_size: int = 32,
        *,
        prompt: str | None = None,
        side: str | None = None,
    ) -> Tensor:
        """Texts -> [N, D], pooled (and scaled to norm 1) as the checkpoint says. A single text gives [1, D].

        A text is cut at `max_embed_tokens`, as sentence-transformers cuts it at max_seq_length; `trace` may cut later.
        prompt: the name of what comes before each text, as `self.prompt` takes it; side: "query" or "document", whose
        prompt and weights are used (`self.side`). Raises TextError for unknown ones.
        """
        if side is not None:
            return self.side(side).embed(texts, batch_size, prompt=prompt)
        texts = texts_of(texts)
        found = torch.zeros(len(texts), self.width_of_vectors, device=self.device, dtype=self.encoder.dtype)
        for places, vectors in self.iter_embed(texts, batch_size, prompt=prompt):
            found = found.to(vectors.dtype)  # autocast has a type of its own
            found[places] = vectors
        return found

    def iter_embed(
        self, texts: Sequence[str], batch_size: int = 32, *, prompt: str | None = None, side: str | None = None
    ) -> Iterator[tuple[list[int], Tensor]]:
        """`embed` batch by batch, the longest texts first, so that little is padding: (places in `texts`, [B, D])."""
        if side is not None:
            yield from self.side(side).iter_embed(texts, batch_size, prompt=prompt)
            return
        before = self.prompt(prompt)
        texts = [before + text for text in texts_of(texts)]
        n_left_out = 0 if self.pools_prompt or not before else self._prompt_tokens(before)
        if batch_size < 1:
            raise TextError(f"batch_size={batch_size} is too small: choose 1 text or more.")
        batch_size = 1 if self.config.reads_page else batch_size  # the tokens of a page are at the end
        order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
        for start in range(0, len(texts), batch_size):
            places = order[start : start + batch_size]
            sentences = [self.tokenize(texts[place], max_tokens=self.max_embed_tokens) for place in places]
            batch = self.tokenizer.batch(sentences, self.device)
            # A padding token that the encoder has no vector for: the mask hides it, so any vector does.
            ids = batch.ids if self.can_pad else batch.ids.where(batch.ids < self.config.vocab_size, 0)
            with explain_out_of_memory(self.device, batch.ids.numel()), torch.no_grad():
                output = self._pooled_stream(ids, batch)
                mask = torch.ones_like(batch.ids, dtype=torch.bool) if batch.mask is None else batch.mask.clone()
                mask[:, :n_left_out] = False
                vectors = self.pool(output, mask, batch.ids)
            yield places, vectors

    def _prompt_tokens(self, prompt: str) -> int:
        """Tokens of a prompt, with the special tokens before it and without those after it."""
        special = self.tokenize(prompt).special
        return len(special) - int(special[-1])

    def _pooled_stream(self, ids: Tensor, batch: Batch) -> Tensor:
        """[B, T, D]: what is pooled, which is the output, or the mean over layers. ids: of the batch, known ones."""
        inputs = ids, batch.mask, batch.segments
        if self.mix is None:
            return self.encoder(*inputs, places=batch.places)
        with record() as recorder:
            output = self.encoder(*inputs, places=batch.places)
        after = [f"layers.{layer}.{self.config.after_layer}" for layer in range(self.config.n_layers - 1)]
        mixed: Tensor = self.mix([*(recorder.values[name] for name in ("embedding", *after)), output])
        return mixed

    @property
    def width_of_vectors(self) -> int:
        """Numbers in the vector of a text."""
        if self.sparse is not None:
            return self.config.vocab_size
        token_width = self.config.d_model if self.late is not None else width_after(self.token_dense, self._token_width)
        width = width_after(self.dense, token_width * len(parts_of(self.pooling)))
        return min(width, self.truncate_dim or width)

    def vector_of(self, trace: Trace) -> Tensor:
        """A trace -> the vector that `embed` gives for its text without a prompt, edits included."""
        output = trace.output if self.mix is None else self.mix([*trace.streams[:-1], trace.output])
        ids = torch.tensor([trace.ids], device=self.device)
        return self.pool(output.unsqueeze(0), trace.mask.unsqueeze(0), ids)[0]

    def vectors(self, outputs: Tensor) -> Tensor:
        """Outputs [n, T, D] without padding -> [n, D'] in float32, by `pool`.

        Raises EncoderError where the vector of a text is made of more than the output (`pools_output`).
        """
        if not self.pools_output:
            raise EncoderError(
                f"The vector of {self.name} is not made of its output only, which this needs: choose another model."
            )
        return self.pool(outputs, torch.ones(outputs.shape[:2], dtype=torch.bool, device=outputs.device)).float()

    @property
    def _token_width(self) -> int:
        """Numbers in what is pooled of each token, before `token_dense`."""
        return self.config.vocab_size if self.pools_words else self.config.d_model

    @property
    def pools_output(self) -> bool:
        """Whether the vector of a text is made of the output only, and not of other layers or of the ids."""
        return self.mix is None and (self.sparse is None or self.sparse.pooling != "present")

    def pool(self, output: Tensor, mask: Tensor, ids: Tensor | None = None) -> Tensor:
        """output [N, T, D], mask and ids [N, T] -> [N, D'], as the checkpoint says. ids: needed by "present" only."""
        if self.sparse is not None:
            return self._word_weights(output, mask, ids)
        if self.pools_words and self.mlm_head is not None:
            output = self.mlm_head(output, self.encoder.embedding.tokens.weight)
        if self.late is None:
            for step in self.token_dense:
                output = step(output)
        pooled = pool(output, mask, self.pooling)
        for step in self.dense:
            pooled = step(pooled)
        pooled = torch.nn.functional.normalize(pooled, dim=-1) if self.normalise else pooled
        return pooled[..., : self.truncate_dim]

    def _word_weights(self, output: Tensor, mask: Tensor, ids: Tensor | None) -> Tensor:
        """[N, V]: SPLADE's weight of each word of the vocabulary."""
        how = self.sparse
        assert how is not None
        if how.pooling == "present":
            assert ids is not None, "pools_output says who needs them"
            found = output.new_zeros(len(output), self.config.vocab_size)
            for row, weights, one, counts in zip(found, output[..., 0], ids, mask, strict=True):
                row[one[counts]] = weights[counts]
        else:  # text by text, since a row of logits is as long as the vocabulary
            parts = [self.token_weights(one[counts]) for one, counts in zip(output, mask, strict=True)]
            found = torch.stack([part.amax(dim=0) if how.pooling == "max" else part.sum(dim=0) for part in parts])
        if how.most is None or how.most >= found.shape[-1]:
            return found
        places = found.abs().topk(how.most, dim=-1).indices
        return torch.zeros_like(found).scatter(-1, places, found.gather(-1, places))

    def token_weights(self, output: Tensor) -> Tensor:
        """Outputs [t, D] of some tokens -> [t, V] in float32: what each gives to each word in SPLADE's vector.

        Raises EncoderError for a model without a masked-word head.
        """
        if self.mlm_head is None:
            raise EncoderError(f"{self.name} has no masked-word head, which SPLADE needs: choose another checkpoint.")
        logits = self.mlm_head(output, self.encoder.embedding.tokens.weight).float()
        weights = torch.log1p(logits.relu())
        return torch.log1p(weights) if self.sparse is not None and self.sparse.twice else weights

    # --- masked words -------------------------------------------------------------------------------------------------

    def predict_masked(self, trace: Trace, k: int = 5) -> list[MaskedPrediction]:
        """The `k` most probable tokens at every mask token of `trace`, in the order of the text.

        Raises EncoderError when the checkpoint has no masked-word head, when the text has no mask token, and for a `k`
        outside 1 to the size of the vocabulary.
        """
        head, positions = self._masked_positions(trace, k)
        predictions = []
        for some in torch.split(torch.tensor(positions, device=trace.output.device), POSITIONS_AT_ONCE):
            with torch.no_grad():
                logits = head(trace.output[some], self.encoder.embedding.tokens.weight)  # [n, V]
            probabilities, ids = torch.softmax(logits.float(), dim=-1).topk(k)  # [n, k]
            for position, row, values in zip(some.tolist(), ids.tolist(), probabilities.tolist(), strict=True):
                tokens = tuple(self.tokenizer.token(token_id) for token_id in row)
                predictions.append(MaskedPrediction(position, tuple(row), tokens, tuple(values)))
        return predictions

    def _masked_positions(self, trace: Trace, k: int) -> tuple[MLMHead, list[int]]:
        """The head and the positions of the mask tokens; the errors of `predict_masked`."""
        if self.mlm_head is None:
            raise EncoderError(
                f"{self.name} has no masked-word head, so it cannot predict a hidden word: choose a checkpoint that "
                "was saved with one (in transformers: AutoModelForMaskedLM)."
            )
        token, token_id = self.tokenizer.mask_token, self.tokenizer.mask_id
        if token is None:
            raise EncoderError(f"The vocabulary of {self.name} has no mask token: choose another checkpoint.")
        if not 1 <= k <= self.config.vocab_size:
            raise EncoderError(f"k={k} is outside the vocabulary: choose 1 to {self.config.vocab_size}.")
        positions = [index for index, found in enumerate(trace.ids[: trace.n_real]) if found == token_id]
        if not positions:
            raise EncoderError(f"The text has no {token}: type {token} in place of the word to predict.")
        return self.mlm_head, positions


def build(
    config: EncoderConfig,
    tokenizer: Tokenizer,
    *,
    seed: int = 0,
    name: str = "untrained",
    device: torch.device | str = "cpu",
    dtype: str = "float32",
) -> TextEncoder:
    """A TextEncoder with random weights from `seed`; both norm placements get the same weights.

    dtype: "float32" or "bfloat16", to which the weights are rounded. Raises LoadError for another.
    """
    with torch.inference_mode(False):  # weights from inference mode could never be trained or differentiated
        made = Encoder(config, seed=seed).to(device=device, dtype=pick_dtype(dtype))
    return TextEncoder(name=name, encoder=made, tokenizer=tokenizer)


def of_text(model: NamedEncoder, remedy: str) -> TextEncoder:
    """The model itself. Raises EncoderError for one that accepts no text. remedy: what else to do, the error's end."""
    if not isinstance(model, NamedEncoder):
        raise EncoderError(f"{quoted(model)} is not a model: encoder.load opens one, such as encoder.load('minilm').")
    if not isinstance(model, TextEncoder):
        raise EncoderError(f"{model.name} accepts no text: {remedy}")
    return model


def _known(sentence: Tokenized, config: EncoderConfig, name: str) -> Tokenized:
    """The sentence itself. Raises TextError for no token at all, and for one that the encoder has no vector for.

    A tokenizer may come from another checkpoint.
    """
    if not sentence.ids:
        raise TextError(f"The text is empty, and the tokenizer of {name} adds no special tokens: type something.")
    for token, token_id in zip(sentence.tokens, sentence.ids, strict=True):
        if token_id >= config.vocab_size:
            raise TextError(
                f"The tokenizer of {name} gives {quoted(token)} the id {token_id}, but its encoder has vectors "
                f"for 0 to {config.vocab_size - 1} only: leave the word out, or use the checkpoint's own tokenizer."
            )
    n_segments = config.n_segments
    if n_segments > 1 and max(sentence.segments) >= n_segments:  # a table of one row serves every segment
        raise TextError(
            f"The tokenizer of {name} gives a token the segment {max(sentence.segments)}, but its encoder has 0 to "
            f"{n_segments - 1}: use the checkpoint's own tokenizer."
        )
    typed = {one for one, special in zip(sentence.ids, sentence.special, strict=True) if not special}
    if config.causal and sentence.special[-1] and sentence.ids[-1] in typed:
        raise TextError(f"The text has {sentence.tokens[-1]}, which marks the end of a text in {name}: leave it out.")
    return sentence
