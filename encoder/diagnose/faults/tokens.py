"""Faults of the tokens: special tokens, the tokenizer's normalisation, truncation, and padding in a batch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self
from weakref import WeakKeyDictionary, WeakValueDictionary

from encoder.diagnose.faults.base import Batching, Clues, Fault, refuse_unless, register
from encoder.diagnose.pipeline import Pipeline, Stage
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.inputs.tokenizer import Tokenizer

#: Lengths at which programs cut texts, or to which they pad them.
USUAL_LENGTHS = (128, 256, 512, 64, 32, 384, 510, 500, 514, 100, 200, 16, 1_000, 1_024, 2_048, 4_096, 8_192)
#: Lengths that are tried between the longest text that agrees and the shortest that does not.
MOST_LENGTHS = 400


# --- special tokens -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _RowChange(Fault):
    """Base: a change of the row of tokens, before or after a long text is cut."""

    after_cut: bool = False
    stage: ClassVar[Stage] = "tokens"
    change: ClassVar[str] = ""
    rank: ClassVar[int] = 2

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        cut = max(clues.tokens, default=0) > pipeline.front.limit
        return [cls(), cls(after_cut=True)] if cut else [cls()]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(not pipeline.front.row_changes, "has another change of its special tokens")
        return pipeline.with_front(row_changes=(self.change,), cuts_first=self.after_cut)


@register
@dataclass(frozen=True)
class SpecialTokensMissing(_RowChange):
    """No special tokens are added."""

    name: ClassVar[str] = "special-tokens-missing"
    change: ClassVar[str] = "no_special"
    said: ClassVar[str] = "adds no special tokens to the text"
    remedy: ClassVar[str] = "Tokenize with add_special_tokens=True, or with the post-processor of tokenizer.json."


@register
@dataclass(frozen=True)
class EosMissing(_RowChange):
    """The token that ends a text (EOS, [SEP]) is not there."""

    name: ClassVar[str] = "eos-missing"
    change: ClassVar[str] = "no_last"
    said: ClassVar[str] = "leaves out the special token at the end of the text"
    remedy: ClassVar[str] = (
        "Append EOS to each row of tokens: correct the post-processor in tokenizer.json, convert the model again with "
        "its newest tokenizer, or add the token's id yourself."
    )


@register
@dataclass(frozen=True)
class EosAdded(_RowChange):
    """A token that ends a text follows, which tokenizer.json does not add."""

    name: ClassVar[str] = "eos-added"
    change: ClassVar[str] = "add_last"
    said: ClassVar[str] = "appends a special token to the text that tokenizer.json does not add"
    remedy: ClassVar[str] = (
        "tokenizer_config.json and tokenizer.json contradict each other: read the model's card for the one that is "
        "right, and correct the other (encoderscope check says more)."
    )


@register
@dataclass(frozen=True)
class EosDoubled(_RowChange):
    """The token that ends a text is there twice."""

    name: ClassVar[str] = "eos-doubled"
    change: ClassVar[str] = "double_last"
    said: ClassVar[str] = "appends the special token at the end twice"
    remedy: ClassVar[str] = "Let either your text or the tokenizer add it, and not both."


@register
@dataclass(frozen=True)
class BosMissing(_RowChange):
    """The token that begins a text (BOS, [CLS]) is not there."""

    name: ClassVar[str] = "bos-missing"
    change: ClassVar[str] = "no_first"
    said: ClassVar[str] = "leaves out the special token before the text"
    remedy: ClassVar[str] = "Put BOS before each row of tokens, as the post-processor of tokenizer.json does."


@register
@dataclass(frozen=True)
class BosDoubled(_RowChange):
    """The token that begins a text is there twice."""

    name: ClassVar[str] = "bos-doubled"
    change: ClassVar[str] = "double_first"
    said: ClassVar[str] = "puts the special token before the text twice"
    remedy: ClassVar[str] = "Let either your text or the tokenizer add it, and not both."


# --- the tokenizer's settings ---------------------------------------------------------------------------------------


def with_settings(tokenizer: Tokenizer, change: Any) -> Tokenizer:
    """The tokenizer with its JSON changed: `change` gets the object, and says whether it changed anything."""
    import tokenizers

    content = json.loads(tokenizer.backend.to_str())
    refuse_unless(change(content), "has a tokenizer without such a setting")
    try:
        backend = tokenizers.Tokenizer.from_str(json.dumps(content))
    except Exception as error:  # the library raises bare Exception
        raise EncoderError(f"The tokenizer cannot be changed in this way ({error}).") from error
    return Tokenizer(
        backend,
        tokenizer.special,
        tokenizer.fill_to,
        tokenizer.most_characters,
        segmented=tokenizer.segmented,
        cut_side=tokenizer.cut_side,
        label_prompt=tokenizer.label_prompt,
        tags=tokenizer.tags,
    )


def parts(content: Any) -> Iterator[dict[str, Any]]:
    """The parts of a normaliser or pre-tokenizer, those in sequences, too."""
    if isinstance(content, dict):
        yield content
        for name in ("normalizers", "pretokenizers"):
            for one in content.get(name) or []:
                yield from parts(one)


def first(content: dict[str, Any], *more: dict[str, Any]) -> bool:
    """Put these normalisers before the others."""
    own = content["normalizer"]
    content["normalizer"] = {"type": "Sequence", "normalizers": [*more, *([] if own is None else [own])]}
    return True


def without(content: dict[str, Any], *kinds: str) -> bool:
    """Remove the normalisers of these kinds; whether there were any."""
    own = content["normalizer"]
    if own is not None and own["type"] in kinds:
        content["normalizer"] = None
        return True
    found = False
    for one in parts(own):
        inner = one.get("normalizers")
        if inner is not None:
            one["normalizers"] = [part for part in inner if part["type"] not in kinds]
            found = found or len(one["normalizers"]) < len(inner)
    return found


#: Tokenizers with another setting, by the tokenizer: reading one takes longer than a short text, and most pairs of
#: faults have one that changes nothing else of it. Only those that a candidate of a search has: each is a whole one.
_CHANGED: WeakKeyDictionary[Tokenizer, WeakValueDictionary[Fault, Tokenizer]] = WeakKeyDictionary()


@dataclass(frozen=True)
class _Settings(Fault):
    """Base: a setting of the tokenizer that is on or off."""

    on: bool
    stage: ClassVar[Stage] = "tokens"
    rank: ClassVar[int] = 3

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls(on) for on in (True, False)]

    def change(self, content: dict[str, Any]) -> bool:
        """Change the tokenizer's JSON; whether it had another setting."""
        raise NotImplementedError

    def apply(self, pipeline: Pipeline) -> Pipeline:
        made = _CHANGED.setdefault(pipeline.front.tokenizer, WeakValueDictionary())
        changed = made.get(self)
        if changed is None:
            changed = made[self] = with_settings(pipeline.front.tokenizer, self.change)
        return pipeline.with_front(tokenizer=changed)

    def _said(self, parameters: dict[str, Any]) -> str:
        return self.said.format(does="does" if self.on else "does not")


def _set(content: dict[str, Any], kind: str, name: str, value: object) -> bool | None:
    """Set a field of the normaliser of a kind: whether it changed; None where the tokenizer has none."""
    for one in parts(content["normalizer"]):
        if one["type"] == kind:
            changed = one.get(name) != value
            one[name] = value
            return changed
    return None


@register
@dataclass(frozen=True)
class LowerCase(_Settings):
    """Capitals become small letters, or do not."""

    name: ClassVar[str] = "lower-case"
    said: ClassVar[str] = "{does} turn the text into lower case, unlike tokenizer.json"
    remedy: ClassVar[str] = "Set do_lower_case as tokenizer.json has it, or load tokenizer.json itself."

    def change(self, content: dict[str, Any]) -> bool:
        found = _set(content, "BertNormalizer", "lowercase", self.on)
        if found is not None:
            return found
        return first(content, {"type": "Lowercase"}) if self.on else without(content, "Lowercase")


@register
@dataclass(frozen=True)
class Accents(_Settings):
    """Accents are stripped, or are not, so that words with accents become unknown."""

    name: ClassVar[str] = "accents"
    said: ClassVar[str] = "{does} strip accents, unlike tokenizer.json"
    remedy: ClassVar[str] = "Normalise texts as tokenizer.json does: NFD, then without combining marks, or not at all."

    def change(self, content: dict[str, Any]) -> bool:
        for one in parts(content["normalizer"]):
            if one["type"] == "BertNormalizer":
                now = one["lowercase"] if one.get("strip_accents") is None else one["strip_accents"]
                one["strip_accents"] = self.on
                return bool(now) is not self.on
        if self.on:
            return first(content, {"type": "NFD"}, {"type": "StripAccents"})
        return without(content, "StripAccents")


@register
@dataclass(frozen=True)
class ChineseCharacters(_Settings):
    """Each Chinese character becomes a word, or does not."""

    name: ClassVar[str] = "chinese-characters"
    rank: ClassVar[int] = 4
    said: ClassVar[str] = "{does} split Chinese text into single characters, unlike tokenizer.json"
    remedy: ClassVar[str] = "Set tokenize_chinese_chars as tokenizer.json has it, or load tokenizer.json itself."

    def change(self, content: dict[str, Any]) -> bool:
        return bool(_set(content, "BertNormalizer", "handle_chinese_chars", self.on))


@register
@dataclass(frozen=True)
class WordMarkers(_Settings):
    """The first word gets the mark of a word's beginning, or does not."""

    name: ClassVar[str] = "word-markers"
    said: ClassVar[str] = "{does} put the mark of a word's beginning before the first word, unlike tokenizer.json"
    remedy: ClassVar[str] = (
        "Set add_prefix_space as tokenizer.json has it: some versions rebuild the tokenizer from tokenizer_config.json."
    )

    def change(self, content: dict[str, Any]) -> bool:
        if not self.on and without(content, "Prepend"):
            return True
        for one in parts(content["pre_tokenizer"]):
            if one["type"] == "ByteLevel" and one.get("use_regex", True):
                now, one["add_prefix_space"] = one.get("add_prefix_space"), self.on
                return now is not self.on
            if one["type"] == "Metaspace":
                now = one.get("prepend_scheme", "always")
                one["prepend_scheme"] = "always" if self.on else "never"
                one.pop("add_prefix_space", None)
                return bool(now != one["prepend_scheme"])
        return False


@register
@dataclass(frozen=True)
class OtherTokenizer(Fault):
    """Another tokenizer: tokenizer.json without the class and settings next to it, or that of another model."""

    source: str
    tokenizer: Tokenizer = field(repr=False, compare=False)
    name: ClassVar[str] = "other-tokenizer"
    stage: ClassVar[Stage] = "tokens"
    rank: ClassVar[int] = 4
    said: ClassVar[str] = "splits texts as {source} says"
    remedy: ClassVar[str] = (
        "Load the tokenizer of the same revision as the weights in both programs, and make tokenizer_config.json and "
        "tokenizer.json agree."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        found = [cls(other.name, other.tokenizer) for other in clues.others if isinstance(other, TextEncoder)]
        path = None if clues.folder is None else clues.folder / "tokenizer.json"
        if path is not None and path.is_file():
            found.append(cls("tokenizer.json by itself", Tokenizer.from_file(path)))
        return found

    def apply(self, pipeline: Pipeline) -> Pipeline:
        return pipeline.with_front(tokenizer=self.tokenizer)


# --- length ---------------------------------------------------------------------------------------------------------


@register
@dataclass(frozen=True)
class Truncation(Fault):
    """A text is cut at another length, at its other end, or with its special token."""

    limit: int
    keeps: Literal["start", "end"] = "start"
    cuts_special: bool = False
    name: ClassVar[str] = "truncation"
    most_together: ClassVar[int] = 3
    stage: ClassVar[Stage] = "tokens"
    rank: ClassVar[int] = 3
    said: ClassVar[str] = "cuts texts at {limit} tokens, {how}"
    remedy: ClassVar[str] = (
        "Set the longest input (max_seq_length, max_length, the context or batch size of a server) to the model's own, "
        "and cut the text before special tokens are added."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        own, most = pipeline.front.limit, pipeline.front.config.max_tokens
        longest = max(clues.tokens, default=0)
        known = [length for length in (*clues.lengths, *USUAL_LENGTHS, most) if 3 <= length <= most]
        if clues.right is not None:
            right = [tokens for place, tokens in enumerate(clues.tokens) if place in clues.right]
            wrong = [tokens for place, tokens in enumerate(clues.tokens) if place not in clues.right]
            low, high = max(right, default=3), min(wrong, default=own)
            known += range(max(3, low), min(high, own, low + MOST_LENGTHS))
            if min(wrong, default=0) > own:  # a program that accepts more
                known += range(own + 1, min(max(wrong), most, own + MOST_LENGTHS))
        known = [length for length in dict.fromkeys(known) if length < longest or own < longest]
        found = [cls(length) for length in known if length != own]
        if own < longest:
            found += [cls(own, "end"), cls(own, cuts_special=True)]
        found += [cls(length, "end") for length in clues.lengths if length in known and length != own]
        return [*found, *(cls(length, cuts_special=True) for length in known if length != own)]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(self.limit <= pipeline.front.config.max_tokens, "accepts no texts of this length")
        return pipeline.with_front(limit=self.limit, keeps=self.keeps, cuts_special=self.cuts_special)

    def _said(self, parameters: dict[str, Any]) -> str:
        how = f"and keeps the {self.keeps}" + ", without the special token that is cut off" * self.cuts_special
        return self.said.format(limit=f"{self.limit:,}", how=how)


# --- padding --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _OfBatch(Fault):
    """Base: a fault of padding, which shows in a batch of texts of different lengths."""

    batch: Batching
    stage: ClassVar[Stage] = "tokens"
    of_batches: ClassVar[bool] = True
    rank: ClassVar[int] = 3
    changes: ClassVar[dict[str, Any]] = {}

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls(batch) for batch in clues.batches]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(pipeline.front.tokenizer.pad_id is not None, "has no padding token")
        return self.batch.of(pipeline, **self.changes)


@register
@dataclass(frozen=True)
class PaddingSide(_OfBatch):
    """Padding is on the left, so that tokens have other positions."""

    name: ClassVar[str] = "padding-side"
    said: ClassVar[str] = "pads a batch on the left"
    remedy: ClassVar[str] = "Set padding_side to right, or give each token the position that it has without padding."
    changes: ClassVar[dict[str, Any]] = {"pads": "left"}


@register
@dataclass(frozen=True)
class AttendedPadding(_OfBatch):
    """The padding mask does not reach the attention."""

    name: ClassVar[str] = "attended-padding"
    part: ClassVar[str] = "softmax"
    stage: ClassVar[Stage] = "layers"
    said: ClassVar[str] = "lets tokens attend to the padding of a batch"
    remedy: ClassVar[str] = "Pass attention_mask to the encoder."
    changes: ClassVar[dict[str, Any]] = {"attends_padding": True}


@register
@dataclass(frozen=True)
class CausalLostWithPadding(_OfBatch):
    """The padding mask takes the place of the causal mask."""

    name: ClassVar[str] = "causal-lost-with-padding"
    part: ClassVar[str] = "softmax"
    stage: ClassVar[Stage] = "layers"
    said: ClassVar[str] = "loses the causal mask in a batch with padding"
    remedy: ClassVar[str] = "Combine both masks: a token attends to earlier tokens that are not padding."
    changes: ClassVar[dict[str, Any]] = {"loses_causal": True}

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(pipeline.front.config.causal, "is not causal")
        return super().apply(pipeline)


@register
@dataclass(frozen=True)
class PooledPadding(_OfBatch):
    """Padding counts in the pooling."""

    name: ClassVar[str] = "pooled-padding"
    stage: ClassVar[Stage] = "pooling"
    said: ClassVar[str] = "counts the padding of a batch in the pooling"
    remedy: ClassVar[str] = "Multiply by attention_mask before the sum, and divide by its sum."

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(pipeline.front.tokenizer.pad_id is not None, "has no padding token")
        return self.batch.of(pipeline).with_end(pools_padding=True)


@register
@dataclass(frozen=True)
class LastTokenPlace(_OfBatch):
    """The last token is taken at a wrong place of a padded row."""

    how: Literal["count", "column", "before"] = "count"
    name: ClassVar[str] = "last-token-place"
    most_together: ClassVar[int] = 3
    stage: ClassVar[Stage] = "pooling"
    rank: ClassVar[int] = 2
    said: ClassVar[str] = "pools {what}"
    remedy: ClassVar[str] = (
        "Take the last column of rows that are padded on the left, and column sum(attention_mask) - 1 of rows that are "
        "padded on the right."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls(batch, how) for batch in clues.batches for how in ("count", "column", "before")]

    @property
    def unlikely(self) -> int:
        return 6 if self.how == "before" else self.rank

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(pipeline.end.pooling == "last", "does not pool the last token")
        refuse_unless(pipeline.front.tokenizer.pad_id is not None, "has no padding token")
        pads = {"count": "left", "column": "right", "before": pipeline.front.pads}[self.how]
        return self.batch.of(pipeline, pads=pads).with_end(last=self.how)

    def _said(self, parameters: dict[str, Any]) -> str:
        return self.said.format(
            what={
                "count": "the token at sum(attention_mask) - 1 of rows that are padded on the left",
                "column": "the last column of rows that are padded on the right, which is padding",
                "before": "the token before the last one",
            }[self.how]
        )


@register
@dataclass(frozen=True)
class FixedPadding(Fault):
    """Every text is padded to one length, and the padding is not masked."""

    length: int
    attended: bool = True
    pooled: bool = True
    name: ClassVar[str] = "fixed-padding"
    most_together: ClassVar[int] = 3
    stage: ClassVar[Stage] = "tokens"
    rank: ClassVar[int] = 4
    said: ClassVar[str] = "pads every text to {length} tokens, and {what} padding"
    remedy: ClassVar[str] = (
        "Switch off the padding that tokenizer.json declares, or pass attention_mask to the encoder and the pooling."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        most = pipeline.front.config.max_tokens
        lengths = [length for length in dict.fromkeys((*clues.lengths, *USUAL_LENGTHS)) if length <= min(most, 1_024)]
        kinds = ((True, True), (True, False), (False, True))
        return [cls(length, *kind) for length in lengths for kind in kinds]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        front = pipeline.front
        refuse_unless(front.tokenizer.pad_id is not None, "has no padding token")
        refuse_unless(front.batch is None, "has batches with other padding")
        changed = pipeline.with_front(fill_to=self.length, attends_padding=self.attended)
        return changed.with_end(pools_padding=self.pooled)

    def _said(self, parameters: dict[str, Any]) -> str:
        what = [name for name, does in (("attends to", self.attended), ("pools", self.pooled)) if does]
        return self.said.format(length=f"{self.length:,}", what=" and ".join(what))
