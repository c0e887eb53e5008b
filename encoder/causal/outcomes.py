"""Outcomes: the number by which edited runs are compared. A new one is a frozen dataclass, registered in OUTCOMES.

`outcome.on(model, plain)` checks that it fits and returns a function of outputs [n, T, D] of edited runs of the same
input, which gives n numbers. An effect is the edited number minus that of the unedited run.

Shapes: n runs, T tokens, D d_model, V vocabulary, C classes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from encoder import own
from encoder.classify import class_place, classifier_of
from encoder.encoders.named import NamedEncoder
from encoder.encoders.seq2seq import Decoder
from encoder.encoders.text import TextEncoder, of_text
from encoder.errors import EncoderError, quoted
from encoder.model.attend import Memory
from encoder.own import check_name
from encoder.trace.decoder import DecoderTrace
from encoder.trace.trace import Trace

#: Outputs [n, T, D] -> numbers [n].
Measure = Callable[[Tensor], Tensor]
WordScale = Literal["log_odds", "probability"]
#: Rows of logits at a time: a row is as long as the vocabulary.
ROWS_AT_ONCE = 64
#: What to do where an outcome needs a model of text.
ANOTHER = "choose another outcome."
#: Predicted tokens among which the likeliest word is searched.
TRIED = 20


@dataclass(frozen=True)
class Outcome:
    """Base of every outcome."""

    code: ClassVar[str] = ""

    def on(self, model: NamedEncoder, plain: Trace) -> Measure:
        """plain: the unedited run. Raises EncoderError where the outcome does not fit."""
        raise NotImplementedError


@dataclass(frozen=True)
class SentenceVector(Outcome):
    """Cosine of the vector of the input (`NamedEncoder.vectors`) to the unedited one: 1 without edits."""

    code: ClassVar[str] = "sentence"

    def on(self, model: NamedEncoder, plain: Trace) -> Measure:
        before = model.vectors(plain.output.unsqueeze(0))
        return lambda outputs: cosine_similarity(model.vectors(outputs), before, dim=-1)


@dataclass(frozen=True)
class Similarity(Outcome):
    """Cosine of the input's vector to that of a second one. text: a second text, or the trace of any input."""

    text: str | Trace
    code: ClassVar[str] = "similarity"

    def on(self, model: NamedEncoder, plain: Trace) -> Measure:
        if isinstance(self.text, Trace):
            second = model.vectors(self.text.output.unsqueeze(0))
        else:
            second = of_text(model, ANOTHER).embed(self.text).float()
        return lambda outputs: cosine_similarity(model.vectors(outputs), second, dim=-1)


@dataclass(frozen=True)
class TokenVector(Outcome):
    """Cosine of one token's output vector to the unedited one: 1 without edits."""

    position: int
    code: ClassVar[str] = "token"

    def on(self, model: NamedEncoder, plain: Trace) -> Measure:
        plain.check_token(self.position)
        before = plain.output[self.position].float()
        return lambda outputs: cosine_similarity(outputs[:, self.position].float(), before, dim=-1)


@dataclass(frozen=True)
class MaskedWord(Outcome):
    """What the masked-word head gives a word at the text's first mask token.

    scale: "log_odds", log(p / (1 - p)), or "probability". With `minus`, a second word: the difference of the two words'
    log probabilities, or of their probabilities. Each word must be one token of the vocabulary.
    """

    word: str
    minus: str | None = None
    scale: WordScale = "log_odds"
    code: ClassVar[str] = "word"

    def on(self, model: NamedEncoder, plain: Trace) -> Measure:
        model = of_text(model, ANOTHER)
        assert plain.source is not None
        head, ids = model.mlm_head, plain.source.ids
        if head is None:
            raise EncoderError(
                f"{model.name} has no masked-word head: choose the outcome sentence, or a model with one (twin-pre)."
            )
        if self.scale not in ("log_odds", "probability"):
            raise EncoderError(f"scale={quoted(self.scale)} is unknown: choose log_odds or probability.")
        token = model.tokenizer.mask_token
        if token is None or model.tokenizer.mask_id not in ids:
            raise EncoderError(f"The text has no {token or 'mask token'}: type {token or 'one'} in place of the word.")
        position = ids.index(model.tokenizer.mask_id)
        words = [one_token(model, word) for word in (self.word, self.minus) if word is not None]

        def measure(outputs: Tensor) -> Tensor:
            found = []
            for some in torch.split(outputs[:, position], ROWS_AT_ONCE):
                logits = head(some, model.encoder.embedding.tokens.weight).float()  # [n, V]
                log_p = torch.log_softmax(logits, dim=-1)[:, words]  # [n, 1 or 2]
                if self.scale == "probability":
                    log_p = log_p.exp()
                elif len(words) == 1:
                    others = logits.index_fill(1, torch.tensor(words, device=logits.device), -torch.inf)
                    log_p = logits[:, words] - others.logsumexp(dim=-1, keepdim=True)
                found.append(log_p[:, 0] - log_p[:, 1] if len(words) == 2 else log_p[:, 0])
            return torch.cat(found)

        return measure


@dataclass(frozen=True)
class ClassProbability(Outcome):
    """One class of the classification head. position: the token, for a head that tags tokens.

    scale: "probability", or "log_odds", log(p / (1 - p)). A regression has no probability: its score is taken.
    """

    label: str
    position: int | None = None
    scale: WordScale = "probability"
    code: ClassVar[str] = "class"

    def on(self, model: NamedEncoder, plain: Trace) -> Measure:
        head = classifier_of(model, "sequence" if self.position is None else "token")
        place = class_place(head, self.label)
        if self.scale not in ("log_odds", "probability"):
            raise EncoderError(f"scale={quoted(self.scale)} is unknown: choose log_odds or probability.")
        if self.position is not None:
            plain.check_token(self.position)
        if head.config.layer not in (None, model.config.n_layers) or not head.config.reads_output:
            what = "other vectors" if head.config.layer is None else f"the input of layer {head.config.layer}"
            raise EncoderError(
                f"This head uses {what}, and an outcome is measured at the output: choose a head that uses the output."
            )

        def measure(outputs: Tensor) -> Tensor:
            mask = torch.ones(outputs.shape[:2], dtype=torch.bool, device=outputs.device)
            logits = head(outputs, mask)  # [n, C], or [n, T, C] of tokens
            logits = logits if self.position is None else logits[:, self.position]
            if self.scale == "log_odds":
                return head.log_odds(logits, place)
            return head.probabilities(logits)[..., place]

        return measure


@dataclass(frozen=True)
class TargetProbability(Outcome):
    """The log probability of what a decoder is made to write, or of one token of it.

    target: a text, or the ids of an output, for edits of the encoder; None: what the trace was given, as edits of the
    decoder need (`trace.decoder`). position: a token of the output, counted from 0; None: the sum over all. token:
    another token at this position. begin: as of `NamedEncoder.decode`.
    """

    target: str | tuple[int, ...] | None = None
    position: int | None = None
    token: str | None = None
    begin: tuple[str, ...] = ()
    code: ClassVar[str] = "target"

    def on(self, model: NamedEncoder, plain: Trace) -> Measure:
        given = plain if isinstance(plain, DecoderTrace) else plain.decoder
        if isinstance(model, Decoder):
            if given is None or self.target is not None:
                raise EncoderError("Edits of a decoder need its own trace: leave target out, and give trace.decoder.")
            return self._of(model, given.next_ids, given.n_prompt, model.next_log_probabilities)
        decoder = model._writer(reads=True)
        if self.target is not None:
            ids, n_given = decoder.whole(plain, self.target, self.begin)
        elif given is not None:
            ids, n_given = (*given.ids, given.next_ids[-1]), given.n_prompt
        else:
            raise EncoderError("The trace has no target: specify one, TargetProbability(target).")

        mask = decoder.memory_of(plain).mask

        def log_probabilities(outputs: Tensor, next_ids: Sequence[int]) -> Tensor:
            rows: Tensor = decoder.log_probabilities((ids[0], *next_ids), Memory(outputs, mask), reads=ids[:-1])
            return rows

        return self._of(decoder, ids[1:], n_given, log_probabilities)

    def _of(
        self, decoder: Decoder, next_ids: tuple[int, ...], n_given: int, rows: Callable[[Tensor, Sequence[int]], Tensor]
    ) -> Measure:
        """rows: outputs and the token after each one -> its log probability, [n, T]."""
        first, wanted = n_given - 1, list(next_ids)
        if self.position is None:
            if self.token is not None:
                raise EncoderError("Another token needs its place: specify position.")
            return lambda outputs: rows(outputs, wanted)[:, first:].sum(dim=1)
        if not 0 <= self.position < len(wanted) - first:
            raise EncoderError(f"No token {self.position} in this output: choose 0 to {len(wanted) - first - 1}.")
        place = first + self.position
        if self.token is not None:
            wanted[place] = decoder.known(self.token)
        return lambda outputs: rows(outputs, wanted)[:, place]


OUTCOMES: dict[str, type[Outcome]] = {
    kind.code: kind
    for kind in (SentenceVector, Similarity, TokenVector, MaskedWord, ClassProbability, TargetProbability)
}


@dataclass(frozen=True)
class Named(Outcome):
    """An outcome of the user's own, by the name under which `register` knows it."""

    name: str
    code: ClassVar[str] = "named"

    def on(self, model: NamedEncoder, plain: Trace) -> Measure:
        make, name = _REGISTERED[as_outcome(self.name).name], f"the outcome {self.name!r}"  # type: ignore[attr-defined]
        measure = own.call(name, make, model, plain)
        if not callable(measure):
            raise own.gave(name, make, measure, "a function of outputs [n, T, D]")

        def checked(outputs: Tensor) -> Tensor:
            found = own.call(name, measure, outputs)
            if not isinstance(found, Tensor) or found.shape != outputs.shape[:1] or found.is_complex():
                raise own.gave(name, measure, found, f"a tensor of {len(outputs)} numbers, one for each output")
            return found

        return checked


_REGISTERED: dict[str, Callable[[NamedEncoder, Trace], Measure]] = {}


def register(name: str, make: Callable[[NamedEncoder, Trace], Measure]) -> None:
    """Make an outcome available by its name, wherever an outcome is asked for.

    make: (model, unedited trace) -> a function of outputs [n, T, D] that gives n numbers, as `Outcome.on`.
    """
    check_name(name, OUTCOMES)
    _REGISTERED[name] = make


def registered() -> list[str]:
    """The names of the outcomes that `register` knows."""
    return list(_REGISTERED)


def as_outcome(outcome: Outcome | str) -> Outcome:
    """An outcome by its name, where it needs nothing else ("sentence"). Raises EncoderError for another name."""
    if isinstance(outcome, Outcome):
        return outcome
    if outcome == SentenceVector.code:
        return SentenceVector()
    if outcome in _REGISTERED:
        return Named(outcome)
    others = ", ".join(kind.__name__ for code, kind in OUTCOMES.items() if code != SentenceVector.code)
    raise EncoderError(
        f"{quoted(outcome)} is not an outcome: specify 'sentence', or one of {', '.join([*_REGISTERED, others])}."
    )


def outcomes_of(model: NamedEncoder, plain: Trace, edited: Sequence[Trace], outcome: Outcome | str) -> list[float]:
    """The outcome of the unedited run, then of each edited run of the same input."""
    with torch.no_grad():
        measure = as_outcome(outcome).on(model, plain)
        return [float(measure(trace.output.unsqueeze(0))[0]) for trace in (plain, *edited)]


def one_token(model: TextEncoder, word: str) -> int:
    """The id of a word that is one token, written as inside a sentence. Raises EncoderError for another word."""
    sentence = model.tokenize(f"a {word}", max_tokens=32)
    first = model.tokenize("a", max_tokens=32)
    ids = [one for one, special in zip(sentence.ids, sentence.special, strict=True) if not special]
    rest = ids[sum(not special for special in first.special) :]
    if not rest:
        raise EncoderError("The word is empty: type a word that is one token of the vocabulary.")
    if len(rest) != 1:
        raise EncoderError(f"{quoted(word)} is {len(rest)} tokens in this vocabulary: choose a word that is one.")
    if model.tokenizer.token(rest[0]) == model.tokenizer.unk_token:
        raise EncoderError(f"{quoted(word)} is not in the vocabulary of {model.name}: choose another word.")
    return rest[0]


def likeliest_word(model: TextEncoder, trace: Trace) -> str:
    """The most probable word at the first mask that can be typed as an outcome's word; "" where there is none.

    A continuation ("##s") or a special token is not such a word.
    """
    try:
        (first, *_) = model.predict_masked(trace, k=min(TRIED, model.config.vocab_size))
    except EncoderError:
        return ""
    for token_id in first.ids:
        word = model.tokenizer.backend.decode([token_id]).strip()
        try:
            if word and one_token(model, word) == token_id:
                return word
        except EncoderError:
            continue
    return ""
