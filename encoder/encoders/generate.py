"""Generation: what a decoder writes, token by token: greedily, by beam search, or a target that is forced.

`model.generate(input)` gives it. Keys and values of earlier tokens are kept; with edits each step runs the whole output
again, since an edit names places in it. No random numbers are drawn.

Shapes: n beams, T tokens, V vocabulary.
"""

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd
import torch
from torch import Tensor

from encoder.edits import Edit, check_edits
from encoder.encoders.named import NamedEncoder
from encoder.encoders.seq2seq import Decoder, GenerationSettings, Prompt
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.model.attend import Cache, Memory
from encoder.model.device import explain_out_of_memory
from encoder.model.hooks import visiting
from encoder.model.shown import Shown
from encoder.trace import gradual
from encoder.trace.capture import record
from encoder.trace.trace import Trace

MOST_BEAMS = 16
#: The most probable tokens that a step names.
SHOWN = 5


@dataclass(frozen=True)
class Step:
    """One token of the output: its log probability, and the most probable tokens at its place, best first."""

    id: int
    label: str
    log_probability: float
    ids: tuple[int, ...]
    labels: tuple[str, ...]
    log_probabilities: tuple[float, ...]


@dataclass(frozen=True)
class BeamNode:
    """A candidate of beam search. step: place of its token in the output; parent: index of the node before, or None;
    log_probability: of all its tokens; kept: whether the search went on from it; finished: whether it ended."""

    step: int
    parent: int | None
    id: int
    label: str
    log_probability: float
    kept: bool
    finished: bool

    @property
    def probability(self) -> float:
        """Of all its tokens together."""
        return math.exp(self.log_probability)


@dataclass(frozen=True)
class Hypothesis:
    """A finished output of beam search; score: its log probability / length^length_penalty."""

    ids: tuple[int, ...]
    text: str
    score: float


@dataclass(frozen=True, eq=False, repr=False)
class Generation(Shown):
    """An output of a decoder."""

    #: The model that wrote it.
    model: NamedEncoder
    #: The trace of the input.
    given: Trace
    #: [T]: the ids of the output, that of its end included where it has one.
    ids: tuple[int, ...]
    #: The ids before the output.
    prompt: tuple[int, ...]
    #: The output as text.
    text: str
    #: What was chosen at each token, and from what.
    steps: tuple[Step, ...]
    #: Of the decoder.
    edits: tuple[Edit, ...] = ()
    #: Tokens between the start and the output.
    begin: tuple[str, ...] = ()
    #: Of beam search, the best first.
    hypotheses: tuple[Hypothesis, ...] = ()
    #: The candidates of beam search.
    nodes: tuple[BeamNode, ...] = ()

    def __repr__(self) -> str:
        return f"<Generation of {len(self.ids):,} tokens, log probability {self.log_probability:.3f}: {self.text}>"

    @property
    def log_probability(self) -> float:
        """Of the whole output."""
        return sum(step.log_probability for step in self.steps)

    @property
    def finished(self) -> bool:
        """Whether the output ended by itself, and was not cut."""
        return bool(self.ids) and self.ids[-1] in self.model.decoder.settings.end

    def ids_to(self, node: int) -> tuple[int, ...]:
        """The ids of a node of beam search and of those before it, from the first token of the output on."""
        one = self.nodes[node]
        return (one.id,) if one.parent is None else (*self.ids_to(one.parent), one.id)

    def table(self) -> pd.DataFrame:
        """A row for each token of the output: its log probability, and the most probable token in its place."""
        rows = [
            {
                "position": place,
                "token": step.label,
                "id": step.id,
                "log_probability": step.log_probability,
                "likeliest": step.labels[0],
                "likeliest_log_probability": step.log_probabilities[0],
            }
            for place, step in enumerate(self.steps)
        ]
        return pd.DataFrame(rows)

    @cached_property
    def best_path(self) -> tuple[int, ...]:
        """The places in `nodes` of the tokens of the best output, the first token first; () without beam search."""
        at = next((at for at, one in enumerate(self.nodes) if one.finished and self.ids_to(at) == self.ids), None)
        path: list[int] = []
        while at is not None:
            path.insert(0, at)
            at = self.nodes[at].parent
        return tuple(path)

    @cached_property
    def trace(self) -> Trace:
        """The trace of the input with `trace.decoder`, the recorded pass over this output; of a decoder by itself, that
        of the text and its continuation."""
        decoder: Decoder = self.model.decoder
        if decoder.reads:
            return self.model.decode(self.given, self.ids, begin=self.begin, edits=self.edits)
        assert isinstance(self.model, TextEncoder)
        return self.model.trace_tokens(decoder.tokenizer.of_ids((*self.prompt, *self.ids)), edits=self.edits)


@torch.no_grad()
def iter_generate(
    model: NamedEncoder,
    decoder: Decoder,
    given: Trace,
    max_tokens: int = 64,
    beams: int = 1,
    target: str | Sequence[int] | None = None,
    begin: Sequence[str] = (),
    edits: Sequence[Edit] = (),
) -> Generator[tuple[int, ...], None, Generation]:
    """`NamedEncoder.generate` from the trace of the input; yields the ids so far, of the best beam, token by token."""
    for name, value, most in (("max_tokens", max_tokens, None), ("beams", beams, MOST_BEAMS)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1 or (most is not None and value > most):
            raise EncoderError(
                f"{name}={value!r} is not possible: choose a whole number from 1{f' to {most}' if most else ' on'}."
            )
    applied = decoder._resolved(edits)
    memory, found = decoder.memory_of(given), Found((), (), ())
    n_memory = 0 if memory is None else memory.vectors.shape[1]
    if target is not None:
        whole, n_given = decoder.whole(given, target, begin)
        check_edits(applied, decoder.config, len(whole), n_memory)
    else:
        prompt = decoder.prompt(given, begin)
        longest = min(prompt.n_given + max_tokens, decoder.config.max_tokens)
        if longest <= len(prompt.ids):
            raise EncoderError(
                f"{decoder.name} has no room for an output after {len(prompt.ids):,} tokens: shorten them."
            )
        check_edits(applied, decoder.config, longest, n_memory)
        writer = Writer(decoder, memory, applied, prompt, longest)
        with explain_out_of_memory(decoder.device, longest * beams):
            found = yield from (writer.greedy() if beams == 1 else writer.beam_search(beams))
        whole, n_given = found.ids, prompt.n_given
    ids = whole[n_given:]
    return Generation(
        model,
        given,
        ids,
        whole[:n_given],
        decoder.tokenizer.of_ids(ids).text,
        steps_of(decoder, whole, n_given, memory, applied),
        tuple(edits),
        tuple(begin),
        found.hypotheses,
        found.nodes,
    )


generate = gradual.at_once(iter_generate, "generate")


def run(
    decoder: Decoder, rows: Tensor, memory: Memory | None, edits: tuple[Edit, ...], cache: Cache | None = None
) -> Tensor:
    """Ids [n, T] -> output [n, T, D], with the edits."""
    with record(edits) if edits else visiting(None):
        found: Tensor = decoder.encoder(rows, memory=memory, cache=cache)
    return found


def steps_of(
    decoder: Decoder, ids: tuple[int, ...], n_given: int, memory: Memory | None, edits: tuple[Edit, ...]
) -> tuple[Step, ...]:
    """The tokens from place n_given on, with their probabilities in one pass over all ids."""
    output = run(decoder, torch.tensor([ids[:-1]], device=decoder.device), memory, edits)[0, n_given - 1 :]
    steps = []
    for vector, one in zip(output, ids[n_given:], strict=True):
        log_p = torch.log_softmax(decoder.logits(vector).float(), dim=-1)
        values, best = log_p.topk(min(SHOWN, len(log_p)))
        label, *labels = (decoder.labels([token])[0] for token in (one, *best.tolist()))
        steps.append(Step(one, label, float(log_p[one]), tuple(best.tolist()), tuple(labels), tuple(values.tolist())))
    return tuple(steps)


@dataclass(frozen=True)
class Found:
    """ids: of the whole output with its prompt; hypotheses and nodes of beam search."""

    ids: tuple[int, ...]
    hypotheses: tuple[Hypothesis, ...]
    nodes: tuple[BeamNode, ...]


class Writer:
    """Writes one output. longest: tokens, the prompt's included."""

    def __init__(
        self, decoder: Decoder, memory: Memory | None, edits: tuple[Edit, ...], prompt: Prompt, longest: int
    ) -> None:
        self.decoder, self.memory, self.edits = decoder, memory, edits
        self.prompt, self.longest = prompt, longest
        self.cache = None if edits else Cache()

    @property
    def settings(self) -> GenerationSettings:
        return self.decoder.settings

    def next(self, rows: list[tuple[int, ...]]) -> Tensor:
        """Log probabilities [n, V] of the token after each row; what the settings forbid has -inf."""
        first = 0 if self.cache is None else self.cache.n_tokens
        ids = torch.tensor([row[first:] for row in rows], device=self.decoder.device)
        output = run(self.decoder, ids, self.memory, self.edits, self.cache)
        found = torch.log_softmax(self.decoder.logits(output[:, -1]).float(), dim=-1)
        for row, values in zip(rows, found, strict=True):
            self.forbid(row, values)
        return found

    def forbid(self, row: tuple[int, ...], log_p: Tensor) -> None:
        """Set the log probabilities [V] of tokens that must not follow a row to -inf."""
        settings = self.settings
        forbidden = [*settings.never, *repeats(row, settings.no_repeat)]
        if len(row) < settings.least:
            forbidden += settings.end
        if len(row) == len(self.prompt.ids):
            forbidden += settings.never_first
        if len(row) == self.longest - 1 and settings.last is not None:
            log_p.fill_(-torch.inf)[settings.last] = 0.0
        log_p[[one for one in forbidden if one < len(log_p)]] = -torch.inf

    def ended(self, row: tuple[int, ...]) -> bool:
        """Whether a row has ended, by itself or by its length."""
        return row[-1] in self.settings.end or len(row) >= self.longest

    def greedy(self) -> Generator[tuple[int, ...], None, Found]:
        """The most probable token, again and again."""
        row = self.prompt.ids
        while True:
            row = (*row, int(self.next([row])[0].argmax()))
            yield row[self.prompt.n_given :]
            if self.ended(row):
                return Found(row, (), ())

    def beam_search(self, n_beams: int) -> Generator[tuple[int, ...], None, Found]:
        """The rows with the highest sums of log probabilities, n_beams at a time.

        As in transformers: of the best (1 + number of end tokens) x n_beams candidates, those that end among the first
        n_beams are hypotheses, and the best n_beams others go on. The search stops when the best row, scored at its
        present length, is not better than the worst of n_beams hypotheses.
        """
        settings, given = self.settings, self.prompt.n_given
        rows: list[tuple[int, ...]] = [self.prompt.ids] * n_beams
        scores = torch.tensor([0.0, *[-1e9] * (n_beams - 1)])
        parents: list[int | None] = [None] * n_beams
        nodes: list[BeamNode] = []
        pool: list[tuple[float, tuple[int, ...]]] = []
        n_candidates = max(2, 1 + len(settings.end)) * n_beams
        while True:
            totals = self.next(rows).cpu() + scores[:, None]  # [n, V]
            best, places = totals.flatten().topk(min(n_candidates, totals.numel()))
            live: list[tuple[float, int, int, int]] = []  # score, beam, token, node
            n_ended, length = 0, len(rows[0]) + 1 - given
            for rank, (score, place) in enumerate(zip(best.tolist(), places.tolist(), strict=True)):
                beam, token = divmod(place, totals.shape[1])
                row = (*rows[beam], token)
                ended = self.ended(row)
                if ended and rank < n_beams and score > -1e8:
                    pool.append((score / length**settings.length_penalty, row))
                kept = not ended and len(live) < n_beams
                n_ended += ended
                if kept:
                    live.append((score, beam, token, len(nodes)))
                if score > -1e8:  # not a copy of the first beam, as there are at the start
                    label = self.decoder.labels([token])[0]
                    nodes.append(BeamNode(length - 1, parents[beam], token, label, score, kept, ended))
            pool = sorted(pool, key=lambda one: -one[0])[:n_beams]  # stable: an earlier one wins
            full = len(pool) == n_beams
            if n_ended == len(best) or (full and settings.early_stopping is True):
                break
            longest = settings.early_stopping == "never" and settings.length_penalty > 0
            reach = (self.longest - given if longest else length) ** settings.length_penalty
            if full and live[0][0] / reach <= pool[-1][0]:
                break
            rows = [(*rows[beam], token) for _, beam, token, _ in live]
            scores, parents = torch.tensor([one[0] for one in live]), [one[3] for one in live]
            if self.cache is not None:
                self.cache.reorder(torch.tensor([one[1] for one in live], device=self.decoder.device))
            yield rows[0][given:]
        nodes = [replace(one, kept=one.kept and one.step < length - 1) for one in nodes]  # it stopped at the last step
        of_ids = self.decoder.tokenizer.of_ids
        hypotheses = tuple(Hypothesis(row[given:], of_ids(row[given:]).text, score) for score, row in pool)
        return Found(pool[0][1], hypotheses, tuple(nodes))


def repeats(row: Sequence[int], size: int) -> list[int]:
    """The tokens that would repeat a sequence of `size` tokens of the row; none for size 0."""
    if not 0 < size <= len(row):
        return []
    end = tuple(row[len(row) - size + 1 :])
    return [row[at + size - 1] for at in range(len(row) - size + 1) if tuple(row[at : at + size - 1]) == end]
