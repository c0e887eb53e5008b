"""Decoder: what writes text from an encoder's vectors (T5, BART, Whisper), or continues a text by itself (GPT-2).

`model.decoder` of an encoder that `encoder.load` opened. It is the same stack as an encoder: causal, and with
cross-attention where it reads an input.

Shapes: n rows, T tokens of the target, S tokens of the input, D d_model, V vocabulary.
"""

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn

from encoder.edits import Edit
from encoder.encoders.named import NamedEncoder
from encoder.errors import ConfigError, EncoderError, TextError, quoted
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.attend import Memory
from encoder.model.config import EncoderConfig
from encoder.model.device import explain_out_of_memory
from encoder.model.encoder import Encoder
from encoder.model.hooks import visiting
from encoder.model.lm_head import LMHead, LMHeadConfig
from encoder.trace.decoder import DecoderTrace
from encoder.trace.trace import Trace

#: In `GenerationSettings.begin`: the language that the decoder finds most probable.
DETECTED = -1


@dataclass(frozen=True)
class Words:
    """A sequence of ids; by: what is added to the score of the last one where the others come before it."""

    ids: tuple[int, ...]
    by: float = 0.0


@dataclass(frozen=True)
class GenerationSettings:
    """How a decoder writes, as generation_config.json says. `processors` has the order of what changes scores."""

    #: Ids before the output; empty: the decoder continues a text.
    start: tuple[int, ...] = ()
    #: Ids after these (Whisper's language and task; DETECTED: the most probable of `languages`).
    begin: tuple[int, ...] = ()
    #: Forced after a single token.
    first: int | tuple[int, ...] | None = None
    #: Forced at the end of an output that is cut.
    last: int | tuple[int, ...] | None = None
    #: Each of these ids ends the output.
    end: tuple[int, ...] = ()
    #: Ids that are not written.
    never: tuple[int, ...] = ()
    #: Ids that are not written as the first.
    never_first: tuple[int, ...] = ()
    #: Ids of languages, of which one is detected.
    languages: tuple[int, ...] = ()
    #: No sequence of so many tokens is written twice; 0: any may be.
    no_repeat: int = 0
    #: No sequence of so many tokens of the input's text is written; 0: any may be.
    no_repeat_source: int = 0
    #: The output does not end before so many tokens, the start's included.
    least: int = 0
    #: The same without the start's.
    least_new: int = 0
    #: Sequences that are more or less probable.
    bias: tuple[Words, ...] = ()
    #: Sequences that are not written.
    banned: tuple[Words, ...] = ()
    #: A score above 0 of a token that has been written is divided by this number, one below 0 multiplied.
    repeat_penalty: float = 1.0
    #: The opposite, for tokens of the input's text.
    source_penalty: float = 1.0
    #: After so many tokens of the output its end becomes more probable, by `decay` to the power of further tokens.
    decay_from: int | None = None
    decay: float = 1.0
    #: Whether infinite scores become the largest numbers.
    finite: bool = False
    #: Whether the changed scores become log probabilities again.
    renormalise: bool = False
    #: Beam search scores a hypothesis by its log probability / length^length_penalty.
    length_penalty: float = 1.0
    #: Whether beam search ends with as many hypotheses as beams.
    early_stopping: bool | Literal["never"] = False


@dataclass(frozen=True)
class Prompt:
    """ids: what the decoder reads before it chooses; n_given: how many of them come before the output."""

    ids: tuple[int, ...]
    n_given: int


@dataclass(frozen=True, eq=False, repr=False)
class Decoder(NamedEncoder):
    """A decoder with its head and its tokenizer. `encoder` is its stack of layers."""

    lm_head: LMHead
    tokenizer: Tokenizer
    settings: GenerationSettings = field(default_factory=GenerationSettings)

    @property
    def heads(self) -> dict[str, nn.Module]:
        """The map to the vocabulary."""
        return {"lm_head": self.lm_head}

    @property
    def reads(self) -> bool:
        """Whether it has cross-attention."""
        return self.config.memory_width > 0

    def modules_beside(self, encoder: Encoder) -> dict[str, nn.Module]:
        """Its modules by name, next to those of the encoder that it belongs to."""
        own = {} if self.encoder is encoder else {"decoder": self.encoder}
        return own | self.heads

    def vectors(self, outputs: Tensor) -> Tensor:
        """Raises EncoderError: an outcome of a decoder is the probability of a target."""
        raise EncoderError("A decoder gives no vector of its text: choose the outcome causal.TargetProbability.")

    def logits(self, output: Tensor) -> Tensor:
        """output [..., T, D] -> logits of the next token [..., T, V]."""
        found: Tensor = self.lm_head(output, self.encoder.embedding.tokens.weight)
        return found

    def memory_of(self, trace: Trace) -> Memory | None:
        """What cross-attention reads of a trace of an input: its output [1, S, D]; None for a decoder by itself."""
        if not self.reads:
            return None
        return Memory(trace.output[None], None if trace.n_real == trace.n_tokens else trace.mask[None])

    # --- ids ----------------------------------------------------------------------------------------------------------

    def prompt(self, trace: Trace, begin: Sequence[str] = ()) -> Prompt:
        """The tokens before the output: the start's and `begin`; of a decoder by itself, the text's and `begin`.

        Raises TextError for a token in `begin` that is not in the vocabulary.
        """
        settings, start = self.settings, self.settings.start
        if not self.reads:
            start = trace.ids[: trace.n_real]
        given = tuple(self.known(token) for token in begin)
        if not given and settings.first is None:
            given = tuple(self._language(trace) if one == DETECTED else one for one in settings.begin)
        n_given = len(start) + (len(given) if settings.begin or not self.reads else 0)
        return Prompt(start + given, n_given)

    def known(self, token: str) -> int:
        """The id of a token. Raises TextError for one that is not in the vocabulary."""
        found = self.tokenizer.backend.token_to_id(token)
        if found is None:
            raise TextError(f"{self.name} has no token {quoted(token)}: choose one of its vocabulary.")
        return int(found)

    def _language(self, trace: Trace) -> int:
        """The most probable of the settings' languages after the start."""
        languages = list(self.settings.languages)
        ids = torch.tensor([self.settings.start], device=self.device)
        with torch.no_grad():
            logits = self.logits(self.encoder(ids, memory=self.memory_of(trace))[0, -1])
        return languages[int(logits[languages].argmax())]

    def whole(
        self, trace: Trace, target: str | Sequence[int], begin: Sequence[str] = ()
    ) -> tuple[tuple[int, ...], int]:
        """All ids, the prompt's and the target's, and the number that is given.

        target: a text, which gets the token of the end, or the ids of an output. Raises TextError for a target that is
        empty, too long, or of ids that do not exist.
        """
        prompt = self.prompt(trace, begin)
        if isinstance(target, str):
            found = self.tokenizer.encode(target)
            plain = tuple(one for one, special in zip(found.ids, found.special, strict=True) if not special)
            if not plain:
                raise TextError("The target is empty: type the text that the decoder shall write.")
            first = self.settings.first if len(prompt.ids) == 1 else None
            forced = () if first is None else (first,) if isinstance(first, int) else first[:1]
            ids = prompt.ids + forced + plain + self.settings.end[:1]
        else:
            ids = prompt.ids[: prompt.n_given] + _ids(target)
        if len(ids) <= prompt.n_given:
            raise TextError("The target is empty: type the text that the decoder shall write.")
        if not all(0 <= one < self.config.vocab_size for one in ids):
            raise TextError(f"{self.name} has tokens 0 to {self.config.vocab_size - 1:,} only: choose another target.")
        if len(ids) - 1 > self.config.max_tokens:
            raise TextError(
                f"The target has {len(ids):,} tokens, and {self.name} writes {self.config.max_tokens:,} at most: use a "
                "shorter one."
            )
        return ids, prompt.n_given

    # --- passes -------------------------------------------------------------------------------------------------------

    def log_probabilities(
        self, ids: Sequence[int], memory: Memory | None, reads: Sequence[int] | None = None
    ) -> Tensor:
        """[n, T]: of each next token of `ids`, whose last one is only predicted. n: the rows of the memory, or 1.

        reads: what the decoder reads, by default all ids but the last. They can be differentiated with respect to the
        memory's vectors; no visitor of the pass around it sees this one.
        """
        rows = 1 if memory is None else len(memory.vectors)
        given = torch.tensor(ids[:-1] if reads is None else reads, device=self.device).expand(rows, -1)
        with visiting(None):
            return self.next_log_probabilities(self.encoder(given, memory=memory), ids[1:])

    def next_log_probabilities(self, output: Tensor, next_ids: Sequence[int]) -> Tensor:
        """Output [n, T, D] -> [n, T]: the log probability of each of these tokens."""
        wanted = torch.tensor(next_ids, device=output.device).expand(len(output), -1)
        found = [  # row by row: logits of all rows are the largest tensor by far
            torch.log_softmax(self.logits(row).float(), dim=-1).gather(-1, one[:, None])[:, 0]
            for row, one in zip(output, wanted, strict=True)
        ]
        return torch.stack(found)

    def trace_target(
        self,
        trace: Trace,
        target: str | Sequence[int],
        begin: Sequence[str] = (),
        edits: Sequence[Edit] = (),
        request: Sequence[str] = (),
    ) -> DecoderTrace:
        """The recorded pass over a target, from the vectors of `trace`. Errors are those of `whole` and of `trace`."""
        if trace.config.d_model != self.config.memory_width:
            raise EncoderError(
                f"{self.name} reads vectors of {self.config.memory_width} numbers: choose its own trace."
            )
        whole, n_given = self.whole(trace, target, begin)
        ids = whole[:-1]
        memory, source = self.memory_of(trace), self.tokenizer.of_ids(ids)
        assert memory is not None
        applied = self._resolved(edits)
        given = torch.tensor([ids], device=self.device)
        (values,) = self._recorded(given, n_tokens=len(ids), edits=applied, request=request, memory=memory)
        with torch.no_grad(), explain_out_of_memory(self.device, len(ids)):
            found = self.next_log_probabilities(values["output"][None], whole[1:])[0]
        return DecoderTrace(
            encoder=self.encoder,
            tokens=source.tokens,
            labels=source.labels,
            ids=source.ids,
            mask=torch.ones(len(ids), dtype=torch.bool, device=self.device),
            values=values,
            source=source,
            edits=tuple(edits),
            applied=applied,
            model=self,
            memory_labels=trace.labels,
            memory_mask=trace.mask,
            next_ids=whole[1:],
            log_probabilities=found,
            n_prompt=n_given,
        )

    def labels(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The tokens as a person reads them."""
        return self.tokenizer.of_ids(ids).labels


def with_decoder(
    model: NamedEncoder,
    config: EncoderConfig,
    tokenizer: Tokenizer,
    settings: GenerationSettings,
    head: LMHeadConfig | None = None,
    *,
    seed: int = 1,
) -> NamedEncoder:
    """An encoder with an untrained decoder after it; its weights depend on the seed only. head: a tied one by default.

    Raises ConfigError for a decoder that is not causal or reads vectors of another width.
    """
    check_decoder(config, model.config, settings)
    with torch.inference_mode(False):
        stack, lm_head = Encoder(config, seed=seed), LMHead(config, head)
        for module in (stack, lm_head):
            module.to(device=model.device, dtype=model.encoder.dtype)
    return dataclasses.replace(model, decoder=Decoder(model.name, stack, lm_head, tokenizer, settings))


def _ids(target: object) -> tuple[int, ...]:
    """The ids of a target. Raises TextError for other values than whole numbers."""
    try:
        if isinstance(target, bytes | Mapping):
            raise TypeError
        given = list(target)  # type: ignore[call-overload]
        if any(isinstance(one, bool) for one in given):
            raise TypeError
        return tuple(operator.index(one) for one in given)
    except (TypeError, RuntimeError):
        said = quoted(target)
        raise TextError(f"The target {said} is not a text: specify a text, or the ids of its tokens.") from None


def check_decoder(config: EncoderConfig, encoder: EncoderConfig, settings: GenerationSettings) -> None:
    """Raise ConfigError for a decoder that does not fit its encoder, and for settings with tokens that do not exist."""
    if not config.causal or (config is not encoder and config.memory_width != encoder.d_model):
        raise ConfigError(f"The decoder needs causal=True and memory_width={encoder.d_model}: set both.")
    if config.memory_width and not settings.start:
        raise ConfigError("A decoder that reads an input needs a token to start with: set start.")
    if config is encoder and settings.start:
        raise ConfigError("A decoder by itself continues its text: leave start out.")
    if DETECTED in settings.begin and not settings.languages:
        raise ConfigError("The settings have no languages to choose from: set languages.")
    named = {*settings.start, *settings.end, *settings.never, *settings.never_first, *settings.languages}
    named |= {*settings.begin} - {DETECTED}
    for forced in (settings.first, settings.last):
        named |= set() if forced is None else {forced} if isinstance(forced, int) else {*forced}
    for token in sorted(named):
        if not 0 <= token < config.vocab_size:
            raise ConfigError(f"The settings name the token {token}: choose 0 to {config.vocab_size - 1}.")
