"""Pipeline: how a program makes vectors of texts, stage by stage, as one frozen value. A fault changes its fields.

A pipeline has two halves. The front turns texts into states: the vectors of all tokens after the encoder. The end turns
states into one vector for each text. So the search runs a front once, and tries every end on its states.

Shapes: N texts, B batch, T tokens, D width of the residual stream, D' width of a vector.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Literal, Self
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from encoder.diagnose.comparing import settled
from encoder.diagnose.finishing import Codes, Finish
from encoder.diagnose.probes import probes
from encoder.edits import Edit, check_edits
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, TextError
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.config import EncoderConfig
from encoder.model.device import explain_out_of_memory
from encoder.model.encoder import Encoder, unfilled
from encoder.model.pooling import Dense, pool
from encoder.model.steps import Unit
from encoder.trace.capture import record

#: Texts of similar length that run together where no fault depends on the batch.
TOGETHER = 16
#: The place of the text in a template.
TEXT = "{text}"

Stage = Literal["text", "tokens", "embedding", "layers", "pooling", "dense", "vector"]
#: The stages in the order in which a program does them.
STAGES: tuple[Stage, ...] = ("text", "tokens", "embedding", "layers", "pooling", "dense", "vector")


def by_length(texts: Sequence[str]) -> list[int]:
    """The places of texts from the longest to the shortest, as sentence-transformers sorts them: by
    characters."""
    return sorted(range(len(texts)), key=lambda place: -len(texts[place]))


@dataclass(frozen=True)
class Row:
    """One text as the encoder receives it: T ids, which of them are special, and their segments."""

    ids: tuple[int, ...]
    special: tuple[bool, ...]
    segments: tuple[int, ...]

    def part(self, *slices: slice) -> Row:
        """These parts of the row, joined."""
        places = [place for one in slices for place in range(len(self.ids))[one]]
        return Row(
            tuple(self.ids[place] for place in places),
            tuple(self.special[place] for place in places),
            tuple(self.segments[place] for place in places),
        )

    def with_token(self, token: int, place: int) -> Row:
        """The row with a special token put in at a place."""
        segment = self.segments[min(place, len(self.ids) - 1)] if self.ids else 0
        before, after = slice(None, place), slice(place, None)
        return Row(
            (*self.ids[before], token, *self.ids[after]),
            (*self.special[before], True, *self.special[after]),
            (*self.segments[before], segment, *self.segments[after]),
        )

    @property
    def borders(self) -> tuple[int, int]:
        """The first token of the text, and one past its last: special tokens are before and after it."""
        first = next((place for place, special in enumerate(self.special) if not special), len(self.ids))
        after = next((place for place, special in enumerate(reversed(self.special)) if not special), 0)
        return first, max(first, len(self.ids) - after)


@dataclass(frozen=True, eq=False)
class States:
    """What a front makes of some texts. Shapes: output [B, T, D]; real, special [B, T] bool."""

    #: The places of the texts.
    places: tuple[int, ...]
    #: The vectors of all tokens.
    output: Tensor
    #: True for a token that is not padding.
    real: Tensor
    #: True for a special token.
    special: Tensor
    #: Tokens at the start that belong to the prompt, the special token before them included.
    n_prompt: int
    #: BERT's tanh layer on [CLS], where the encoder has one.
    pooler: nn.Linear | None


@dataclass(frozen=True, eq=False)
class EncoderFront:
    """The forward pass of a front, whatever goes in: the fields that faults change."""

    #: The weights.
    encoder: Encoder
    _: KW_ONLY
    #: Inputs in a batch, in their order; None: as `groups` likes, since nothing depends on it.
    batch: int | None = None
    #: Changes of the forward pass.
    edits: tuple[Edit, ...] = ()
    #: The layer before which the residual stream is taken; None: the output.
    layer: int | None = None
    #: Whether the final norm follows such a layer.
    normed: bool = False
    #: How numbers are rounded (`precision.KINDS`).
    precision: str = "float32"

    @property
    def config(self) -> EncoderConfig:
        """The architecture."""
        return self.encoder.config

    def varied(self, changes: Mapping[str, Any], weights: Mapping[str, Tensor] | None = None) -> Self:
        """The same weights, but for `weights`, in another architecture; weights that it lacks are left out."""
        return dataclasses.replace(self, encoder=varied(self.encoder, changes, weights))

    def outputs(
        self, encoder: Encoder, inputs: Tensor, mask: Tensor | None, segments: Tensor | None, n_tokens: int
    ) -> Tensor:
        """A batch as the encoder receives it -> the vectors of all tokens, [B, T, D]."""
        check_edits(self.edits, self.config, n_tokens)
        with explain_out_of_memory(encoder.device, len(inputs) * n_tokens), torch.no_grad(), record(self.edits):
            if self.layer in (None, self.config.n_layers):
                return encoder(inputs, mask, segments)
            output = encoder.before_layer(self.layer, encoder.embedding(inputs, mask, segments), mask)
            return encoder.finish(output) if self.normed else output[..., : self.config.d_model]


@dataclass(frozen=True, eq=False)
class Front(EncoderFront):
    """From a text to the vectors of its tokens: the fields that faults change."""

    #: What splits a text into tokens.
    tokenizer: Tokenizer
    #: What is put before each text.
    prompt: str = ""
    #: What is put around the text and its prompt; TEXT is the place of both.
    template: str = TEXT
    #: Changes of the text before it is split: text -> text, by name.
    rewrites: tuple[str, ...] = ()
    #: Changes of the row of tokens, by name (`ROW_CHANGES`).
    row_changes: tuple[str, ...] = ()
    #: Where a text is cut.
    limit: int = 512
    #: Whether it is cut before the row changes.
    cuts_first: bool = False
    #: Which end of a long text is kept.
    keeps: Literal["start", "end"] = "start"
    #: Whether the special token at the end is cut off with the rest.
    cuts_special: bool = False
    #: Whether texts are sorted by their characters before they are batched, as sentence-transformers does.
    sorts: bool = False
    #: The side of the padding.
    pads: Literal["right", "left"] = "right"
    #: The number of tokens to which every text is padded.
    fill_to: int | None = None
    #: Whether tokens attend to padding.
    attends_padding: bool = False
    #: Whether the padding mask takes the place of the causal mask.
    loses_causal: bool = False
    #: The segment of every token; None: the tokenizer's.
    segment: int | None = None

    def varied(self, changes: Mapping[str, Any], weights: Mapping[str, Tensor] | None = None) -> Self:
        """As of every front; a smaller table of positions cuts texts sooner."""
        found = super().varied(changes, weights)
        return dataclasses.replace(found, limit=min(found.limit, found.config.max_tokens))

    # --- tokens ---------------------------------------------------------------------------------------------------

    def text(self, text: str) -> str:
        """The text with what is put around it."""
        for name in self.rewrites:
            text = REWRITES[name](text)
        return self.template.replace(TEXT, self.prompt + text)

    def row(self, text: str) -> Row:
        """The tokens of a text. Raises TextError for one that has none, or none that the encoder knows."""
        found = self.tokenizer.encode(self.text(text))
        row = Row(found.ids, found.special, found.segments)
        row = self.cut(row) if self.cuts_first else row
        for name in self.row_changes:
            row = ROW_CHANGES[name](row, self.tokenizer)
        row = row if self.cuts_first else self.cut(row)
        if not row.ids or max(row.ids) >= self.config.vocab_size:
            raise TextError("The text has no token that this encoder has a vector for.")
        return row

    def cut(self, row: Row) -> Row:
        """The row with at most `limit` tokens."""
        surplus = len(row.ids) - self.limit
        if surplus <= 0:
            return row
        if self.cuts_special:
            return row.part(slice(0, self.limit) if self.keeps == "start" else slice(surplus, None))
        first, last = row.borders
        if surplus >= last - first:
            raise TextError(f"A limit of {self.limit} tokens leaves no room next to the special tokens.")
        if self.keeps == "start":
            return row.part(slice(0, last - surplus), slice(last, None))
        return row.part(slice(0, first), slice(first + surplus, None))

    def rows(self, texts: Sequence[str]) -> list[Row]:
        """The tokens of all texts."""
        return [self.row(text) for text in texts]

    def groups(self, rows: Mapping[int, Row], texts: Sequence[str]) -> list[list[int]]:
        """The places of the texts of each batch. rows: place -> tokens; of all texts where a batch is given."""
        places = by_length(texts) if self.sorts else list(rows)
        if self.batch is None:
            places = sorted(rows, key=lambda place: -len(rows[place].ids))
        size = TOGETHER if self.batch is None else self.batch
        longer: list[list[int]] = []
        if self.batch is None and self.fill_to is not None:  # texts that need no padding get none from others
            longer = [[place] for place in places if len(rows[place].ids) > self.fill_to]
            places = [place for place in places if len(rows[place].ids) <= self.fill_to]
        return [*longer, *(places[first : first + size] for first in range(0, len(places), size))]

    # --- states ---------------------------------------------------------------------------------------------------

    def states(self, texts: Sequence[str], only: Sequence[int] | None = None) -> list[States]:
        """Run the texts, or the places `only` of them, each padded as in its batch of all texts.

        Raises TextError and EncoderError for texts that this front cannot run.
        """
        needed = range(len(texts)) if only is None or self.batch is not None else sorted(set(only))
        rows = {place: self.row(texts[place]) for place in needed}
        found = []
        for group in self.groups(rows, texts):
            chosen = [place for place in group if only is None or place in only]
            if not chosen:
                continue
            width = max(len(rows[place].ids) for place in (chosen if self.batch is None else group))
            width = max(width, self.fill_to or 0)
            if width > self.config.max_tokens:
                raise TextError(f"The encoder accepts {self.config.max_tokens} tokens, not {width}.")
            found.append(self.run(chosen, [rows[place] for place in chosen], width))
        return found

    def run(self, places: Sequence[int], rows: Sequence[Row], width: int) -> States:
        """Run a batch of rows, padded to `width`."""
        ids, special, segments, real = self.padded(rows, width)
        if self.segment is not None:
            segments = torch.full_like(segments, self.segment)
        padded = not bool(real.all())
        mask = real if padded and not self.attends_padding else None
        encoder = self.encoder
        if self.loses_causal and padded:
            encoder = varied(encoder, {"causal": False})
        device = encoder.device
        mask = None if mask is None else mask.to(device)
        output = self.outputs(encoder, ids.to(device), mask, segments.to(device), width)
        tokens = len(self.tokenizer.encode(self.prompt).ids) - self.n_after if self.prompt else 0
        return States(tuple(places), output, real.to(device), special.to(device), tokens, encoder.pooler)

    @property
    def n_after(self) -> int:
        """Special tokens that follow the prompt where it is a text of its own."""
        special = self.tokenizer.encode(self.prompt).special
        return int(bool(special) and special[-1])

    def padded(self, rows: Sequence[Row], width: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """ids, special, segments and real [B, width] of rows."""
        pad = 0 if self.tokenizer.pad_id is None else self.tokenizer.pad_id

        def filled(values: Iterable[tuple[int, ...]], value: int) -> Tensor:
            lines = []
            for one in values:
                padding = [value] * (width - len(one))
                lines.append([*one, *padding] if self.pads == "right" else [*padding, *one])
            return torch.tensor(lines)

        real = filled(((1,) * len(row.ids) for row in rows), 0).bool()
        special = filled((tuple(map(int, row.special)) for row in rows), 1).bool()
        return filled((row.ids for row in rows), pad), special, filled((row.segments for row in rows), 0), real


def varied(encoder: Encoder, changes: Mapping[str, Any], weights: Mapping[str, Tensor] | None = None) -> Encoder:
    """An encoder over the same tensors in another architecture. Raises EncoderError where a weight is missing.

    One without other weights is made once: most pairs of faults have one that changes nothing of the encoder.
    """
    if weights is not None:
        return _varied(encoder, changes, weights)
    made = _VARIANTS.setdefault(encoder, {})
    key = tuple(sorted(changes.items()))
    if key not in made:
        made[key] = _varied(encoder, changes, {})
    return made[key]


#: Encoders in other architectures, by the encoder whose tensors they share, as long as that one is in use.
_VARIANTS: WeakKeyDictionary[Encoder, dict[tuple[tuple[str, Any], ...], Encoder]] = WeakKeyDictionary()


def _varied(encoder: Encoder, changes: Mapping[str, Any], weights: Mapping[str, Tensor]) -> Encoder:
    config = encoder.config.replace(**{"final_norm": encoder.config.final_norm, **changes})
    with unfilled():
        made = Encoder(config)
    state = {**encoder.state_dict(), **weights}
    wanted = made.state_dict()
    if missing := [name for name in wanted if name not in state or state[name].shape != wanted[name].shape]:
        raise EncoderError(f"The weights have no {missing[0]} for this change: choose another one.")
    made.load_state_dict({name: state[name] for name in wanted}, assign=True)
    return made.eval()


# --- the end --------------------------------------------------------------------------------------------------------

#: A step after the pooling: ("dense", which), ("normalise", 0), ("cut", numbers) or ("scale", factor).
Step = tuple[str, float]


@dataclass(frozen=True, eq=False)
class End:
    """From the vectors of tokens to one vector of a text: the fields that faults change."""

    #: As `encoder.model.pooling.pool` knows it; "pooler": BERT's tanh layer; "mean_of_words": without special tokens.
    pooling: str
    #: The maps that steps name.
    dense: tuple[Dense, ...] = ()
    #: What follows the pooling.
    steps: tuple[Step, ...] = ()
    #: Whether padding counts.
    pools_padding: bool = False
    #: Whether the prompt's tokens count.
    pools_prompt: bool = True
    #: Where the last token is searched: at the last one that is not padding; at the number of tokens minus 1 of the
    #: padded row; in the last column; before the last one.
    last: Literal["real", "count", "column", "before"] = "real"
    #: A type to which the vectors are rounded.
    stored: str = "float32"
    #: What is done to finished vectors before they are stored.
    finish: Finish | None = None
    #: What pools in the way "attention", as SigLIP does for images.
    attention: nn.Module | None = None

    @property
    def unrounded(self) -> End:
        """The same without the type to which vectors are rounded, and without whole numbers."""
        return dataclasses.replace(self, stored="float32", finish=None if self.is_whole else self.finish)

    @property
    def is_whole(self) -> bool:
        """Whether vectors are stored as whole numbers."""
        return isinstance(self.finish, Codes)

    def settled(self, made: Callable[[End], np.ndarray], theirs: np.ndarray) -> np.ndarray:
        """The vectors that `made` gives of this end, [n, D'], with the number of `theirs` where only the last digits
        of float32 decide how one is rounded."""
        if isinstance(self.finish, Codes):
            return self.finish.settled(made(self.unrounded), theirs)
        return made(self) if self.stored == "float32" else settled(made(self), made(self.unrounded), theirs)

    def of(self, states: Sequence[States]) -> np.ndarray:
        """States of texts -> float32 [n, D'], in the order of their places."""
        order = np.argsort([place for one in states for place in one.places], kind="stable")
        with torch.no_grad():
            found = [self.vectors(one).float().cpu().numpy() for one in states]
        vectors: np.ndarray = np.concatenate(found)[order]
        return vectors if self.finish is None else self.finish(vectors)

    def vectors(self, states: States) -> Tensor:
        """States -> [B, D']. Raises EncoderError for a pooling that these states do not have."""
        x = self.pooled(states)
        for kind, number in self.steps:
            if kind == "dense":
                dense = self.dense[int(number)]
                if dense.config.d_in != x.shape[-1]:
                    raise EncoderError("A dense map does not fit the vectors before it.")
                x = dense(x.to(dense.linear.weight.dtype)).float()
            elif kind == "normalise":
                x = torch.nn.functional.normalize(x, dim=-1)
            elif kind == "cut":
                x = x[..., : int(number)]
            else:
                x = x * number
        return x if self.stored == "float32" else rounded(x, self.stored)

    def pooled(self, states: States) -> Tensor:
        """States -> [B, D], or n x D of n ways of pooling."""
        mask = torch.ones_like(states.real) if self.pools_padding else states.real.clone()
        if not self.pools_prompt:
            mask[:, : states.n_prompt] = False
        output, rows = states.output.float(), torch.arange(len(states.output), device=states.output.device)
        if self.pooling == "pooler":
            if states.pooler is None:
                raise EncoderError("This encoder has no pooler: choose another pooling.")
            first = pool(output, mask, "cls").to(states.pooler.weight.dtype)
            return torch.tanh(states.pooler(first)).float()
        if self.pooling == "attention":
            if self.attention is None:
                raise EncoderError("This encoder has no pooling by attention: choose another pooling.")
            found: Tensor = self.attention(states.output.to(next(self.attention.parameters()).dtype))
            return found.float()
        if self.pooling == "mean_of_words":
            words = mask & ~states.special
            return pool(output, torch.where(words.any(-1, keepdim=True), words, mask), "mean")
        if self.pooling != "last" or self.last == "real":
            return pool(output, mask, self.pooling)
        column = {
            "count": states.real.sum(-1) - 1,
            "column": torch.full_like(rows, output.shape[1] - 1),
            "before": output.shape[1] - 2 - states.real.int().flip(1).argmax(1),
        }[self.last]
        return output[rows, column.clamp(min=0)]


def rounded(x: Tensor, kind: str) -> Tensor:
    """Numbers as a type stores them; "int8": whole numbers to 127 of each vector's largest."""
    if kind == "int8":
        scale = x.abs().amax(dim=-1, keepdim=True).clamp(min=1e-12) / 127
        return (x / scale).round() * scale
    return x.to(getattr(torch, kind)).float()


@dataclass(frozen=True, eq=False)
class Pipeline:
    """How vectors are made: a front and an end, and the order of the vectors."""

    front: Front
    end: End
    #: The model that it belongs to, with which `candidates` of a fault compare.
    model: TextEncoder
    #: The place of each vector's text, where it is not its own; "length": from the longest text to the shortest.
    order: tuple[int, ...] | Literal["length"] = ()

    @classmethod
    def of(cls, model: TextEncoder, prompt: str | None = None) -> Pipeline:
        """The right pipeline of a model. prompt: what is put before each text; None: the model's own."""
        if model.tokenizer.tags is not None:
            raise EncoderError(
                f"The faults here are of plain texts, and {model.name} has nodes of a page: choose another."
            )
        limit = model.config.max_tokens
        if model.max_embed_tokens is not None:
            limit = min(limit, model.max_embed_tokens)
        before = model.prompt() if prompt is None else prompt
        dense, steps = steps_of(model)
        kept: Literal["start", "end"] = "end" if model.tokenizer.cut_side == "left" else "start"
        front = Front(model.encoder, model.tokenizer, before, limit=limit, keeps=kept)
        end = End(model.pooling, dense, steps, pools_prompt=model.pools_prompt)
        return cls(front, end, model)

    def with_front(self, **changes: Any) -> Self:
        """The same with other fields of the front."""
        return dataclasses.replace(self, front=dataclasses.replace(self.front, **changes))

    def with_end(self, **changes: Any) -> Self:
        """The same with other fields of the end."""
        return dataclasses.replace(self, end=dataclasses.replace(self.end, **changes))

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """Texts -> float32 [N, D']. Raises TextError and EncoderError for texts that it cannot run."""
        return self.ordered(self.end.of(self.front.states(texts)), texts)

    def ordered(self, vectors: np.ndarray, texts: Sequence[str]) -> np.ndarray:
        """The vectors in the order in which they are given back."""
        return vectors[self.sources(texts)]

    def sources(self, texts: Sequence[str]) -> list[int]:
        """The text of each vector, by its place."""
        if self.order == "length":
            return by_length(texts)
        return list(self.order) if len(self.order) == len(texts) else list(range(len(texts)))

    @cached_property
    def width(self) -> int:
        """D' of the right pipeline."""
        return self.model.width_of_vectors

    def lengths(self, texts: Sequence[str]) -> tuple[int, ...]:
        """The tokens of each text, before it is cut."""
        return tuple(len(self.model.tokenizer.encode(self.front.text(text))) for text in texts)

    def probes(self) -> tuple[str, ...]:
        """Texts that make faults visible."""
        return probes(self.model)


def steps_of(model: TextEncoder) -> tuple[tuple[Dense, ...], tuple[Step, ...]]:
    """The linear maps after the pooling, and all that follows it, in order.

    Raises EncoderError for a vector that is made in another way, of words, other layers or a sparse code.
    """
    if model.pools_words or model.sparse is not None:
        raise EncoderError(f"{model.name} gives a number for each word: choose a model with a vector of a text.")
    dense: list[Dense] = []
    steps: list[Step] = []
    for one in model.dense:
        if isinstance(one, Dense):
            steps.append(("dense", len(dense)))
            dense.append(one)
        elif isinstance(one, Unit):
            steps.append(("normalise", 0))
        else:
            raise EncoderError(f"{model.name} has {type(one).__name__} after its pooling: choose another model.")
    if model.mix is not None or (model.token_dense and model.late is None):
        raise EncoderError(f"{model.name} changes the outputs before they are pooled: choose a model that does not.")
    if model.normalise:
        steps.append(("normalise", 0))
    if model.truncate_dim is not None:
        steps.append(("cut", model.truncate_dim))
    return tuple(dense), tuple(steps)


# --- changes by name ------------------------------------------------------------------------------------------------


def _without_accents(text: str) -> str:
    import unicodedata

    return "".join(one for one in unicodedata.normalize("NFD", text) if unicodedata.category(one) != "Mn")


#: Changes of a text before it is split.
REWRITES: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "accents": _without_accents,
    "newlines": lambda text: text.replace("\n", " "),
    "strip": str.strip,
}


def _end_token(tokenizer: Tokenizer) -> int:
    """The id of the token that ends a text. Raises TextError where the tokenizer names none."""
    for name in ("eos_token", "sep_token"):
        token = tokenizer.special.get(name)
        found = None if token is None else tokenizer.backend.token_to_id(token)
        if found is not None:
            return int(found)
    raise TextError("The tokenizer names no token that ends a text.")


def _doubled_first(row: Row, _: Tokenizer) -> Row:
    if not row.special or not row.special[0]:
        raise TextError("The row begins with no special token.")
    return row.part(slice(0, 1), slice(0, None))


def _doubled_last(row: Row, _: Tokenizer) -> Row:
    if not row.special or not row.special[-1]:
        raise TextError("The row ends with no special token.")
    return row.part(slice(0, None), slice(-1, None))


#: Changes of a row of tokens: (row, tokenizer) -> row.
ROW_CHANGES: dict[str, Callable[[Row, Tokenizer], Row]] = {
    "no_special": lambda row, _: row.part(slice(*row.borders)),
    "no_last": lambda row, _: row.part(slice(0, row.borders[1])),
    "no_first": lambda row, _: row.part(slice(row.borders[0], None)),
    "double_first": _doubled_first,
    "double_last": _doubled_last,
    "add_last": lambda row, tokenizer: row.with_token(_end_token(tokenizer), len(row.ids)),
}
