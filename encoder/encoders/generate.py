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
from encoder.encoders.processors import Processors
from encoder.encoders.seq2seq import Decoder, GenerationSettings, Prompt
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted
from encoder.model.attend import Cache, Memory
from encoder.model.device import explain_out_of_memory
from encoder.model.hooks import visiting
from encoder.model.shown import Shown
from encoder.trace import gradual
from encoder.trace.capture import record
from encoder.trace.trace import Trace

MOST_BEAMS = 16
#: The score of what cannot be chosen, as in transformers.
NEVER = -1.0e9
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
            end = f"to {most}" if most else "on"
            raise EncoderError(f"{name}={quoted(value)} is not possible: choose a whole number from 1 {end}.")
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
        source = None if given.source is None else given.ids[: given.n_real]
        writer = Writer(decoder, memory, applied, prompt, source, longest)
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
    """Writes one output. source: the ids of the input's text, None for another input; longest: tokens, the prompt's
    included."""

    def __init__(
        self,
        decoder: Decoder,
        memory: Memory | None,
        edits: tuple[Edit, ...],
        prompt: Prompt,
        source: tuple[int, ...] | None,
        longest: int,
    ) -> None:
        self.decoder, self.memory, self.edits = decoder, memory, edits
        self.prompt, self.longest = prompt, longest
        self.process = Processors(decoder.settings, source, len(prompt.ids), longest)
        self.cache = None if edits else Cache()

    @property
    def settings(self) -> GenerationSettings:
        return self.decoder.settings

    def next(self, rows: list[tuple[int, ...]], *, logs: bool = True) -> Tensor:
        """Scores [n, V] of the token after each row, as the settings change them: log probabilities or logits."""
        first = 0 if self.cache is None else self.cache.n_tokens
        ids = torch.tensor([row[first:] for row in rows], device=self.decoder.device)
        output = run(self.decoder, ids, self.memory, self.edits, self.cache)
        found = self.decoder.logits(output[:, -1]).float()
        found = torch.log_softmax(found, dim=-1) if logs else found
        return torch.stack([self.process(row, values) for row, values in zip(rows, found, strict=True)])

    def ended(self, row: tuple[int, ...]) -> bool:
        """Whether a row has ended, by itself or by its length."""
        return row[-1] in self.settings.end or len(row) >= self.longest

    def greedy(self) -> Generator[tuple[int, ...], None, Found]:
        """The most probable token, again and again."""
        row = self.prompt.ids
        while True:
            row = (*row, int(self.next([row], logs=False)[0].argmax()))
            yield row[self.prompt.n_given :]
            if self.ended(row):
                return Found(row, (), ())

    def beam_search(self, n_beams: int) -> Generator[tuple[int, ...], None, Found]:
        """The rows with the highest sums of log probabilities, n_beams at a time.

        As in transformers: of the best (1 + number of end tokens) x n_beams candidates, those that end among the first
        n_beams are hypotheses, and the best n_beams others go on. The search stops when the best row, scored at its
        present length, is not better than the worst of n_beams hypotheses. Without any that ended, the best row of the
        pool is the output, as there. Raises EncoderError where the settings forbid every token.
        """
        settings, given = self.settings, self.prompt.n_given
        rows: list[tuple[int, ...]] = [self.prompt.ids] * n_beams
        scores = torch.tensor([0.0, *[NEVER] * (n_beams - 1)])  # the others are copies of the first
        parents: list[int | None] = [None] * n_beams
        nodes: list[BeamNode] = []
        pool, finished = list(rows), torch.zeros(n_beams, dtype=torch.bool)
        pool_scores, reachable = torch.full((n_beams,), NEVER), True
        n_candidates, length = max(2, 1 + len(settings.end)) * n_beams, 0
        while True:
            totals = self.next(rows).cpu() + scores[:, None]  # [n, V]
            best, places = totals.flatten().topk(min(n_candidates, totals.numel()))
            beams, tokens = (places // totals.shape[1]).tolist(), (places % totals.shape[1]).tolist()
            length = len(rows[0]) + 1 - given
            longer = [(*rows[beam], token) for beam, token in zip(beams, tokens, strict=True)]
            ended = torch.tensor([self.ended(row) for row in longer])
            scores, order = (best + ended * NEVER).topk(n_beams)
            firsts = torch.arange(len(best)) < n_beams
            closed = bool(finished.all()) and settings.early_stopping is True
            new = best / length**settings.length_penalty
            for hopeless in (closed, not reachable, ~(ended & firsts)):
                new = new + hopeless * NEVER
            pool_scores, kept = torch.cat([pool_scores, new]).topk(n_beams)
            pool = [[*pool, *longer][one] for one in kept.tolist()]
            finished = torch.cat([finished, ended & firsts])[kept]
            parents = self._note(nodes, (best, beams, tokens), ended, order.tolist(), parents, length)
            longest = settings.early_stopping == "never" and settings.length_penalty > 0
            reach = (self.longest - given if longest else length) ** settings.length_penalty
            worst = torch.where(finished, pool_scores.min(), NEVER)
            reachable = reachable and bool((scores[0] / reach > worst).any())
            if not reachable or bool(ended.all()) or (bool(finished.all()) and settings.early_stopping is True):
                break
            rows = [longer[one] for one in order.tolist()]
            if self.cache is not None:
                chosen = [beams[one] for one in order.tolist()]
                self.cache.reorder(torch.tensor(chosen, device=self.decoder.device))
            yield rows[0][given:]
        if not finished.any() and pool[0] == self.prompt.ids:
            raise EncoderError(
                f"The settings of {self.decoder.name} forbid every token after {length:,}: correct "
                "generation_config.json, or choose other max_tokens."
            )
        nodes = [replace(one, kept=one.kept and one.step < length - 1) for one in nodes]  # it stopped at the last step
        of_ids = self.decoder.tokenizer.of_ids
        hypotheses = tuple(
            Hypothesis(row[given:], of_ids(row[given:]).text, score)
            for row, score, whole in zip(pool, pool_scores.tolist(), finished.tolist(), strict=True)
            if row == pool[0] or (whole and score > NEVER / 10)
        )
        return Found(pool[0], hypotheses, tuple(nodes))

    def _note(
        self,
        nodes: list[BeamNode],
        best: tuple[Tensor, list[int], list[int]],
        ended: Tensor,
        order: list[int],
        parents: list[int | None],
        length: int,
    ) -> list[int | None]:
        """Add the candidates of a step to `nodes`; returns the nodes of the rows that go on."""
        added: dict[int, int] = {}
        going = {one for one in order if not ended[one]}
        for rank, (score, beam, token, ends) in enumerate(
            zip(best[0].tolist(), *best[1:], ended.tolist(), strict=True)
        ):
            if score > NEVER / 10:  # not a copy of the first beam, as there are at the start
                added[rank] = len(nodes)
                label = self.decoder.labels([token])[0]
                nodes.append(BeamNode(length - 1, parents[beam], token, label, score, rank in going, ends))
        return [added.get(one) for one in order]
