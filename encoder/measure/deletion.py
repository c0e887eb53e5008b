"""A deletion test of attention as an explanation: hide the tokens that a head attends to most, or random ones.

If a head's weights pointed at the tokens that matter, hiding the k most attended ones would change the sentence
embedding more than hiding k random ones. The idea is the erasure of Serrano and Smith (2019); the debate is Jain and
Wallace (2019) against Wiegreffe and Pinter (2019). All three studied text classifiers, mostly recurrent ones, with one
attention layer; a transformer encoder has many. "Hidden" means: no query attends to the token, while its own vector
still counts in the pooling. One text and a few random draws are not a statistical test.

Shapes: T tokens, S seeds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from encoder.edits import MaskKeys
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.maps import aggregate
from encoder.measure.norm_weighting import value_output
from encoder.trace import tokens
from encoder.trace.trace import Trace

Scope = Literal["head", "layer", "model"]
Candidates = Literal["all", "words"]
SCOPES: tuple[Scope, ...] = ("model", "layer", "head")
CANDIDATES: tuple[Candidates, ...] = ("all", "words")

#: A run with hidden tokens writes out all scores, H x T x T numbers a layer: with more tokens it takes seconds.
LONGEST = 1024


@dataclass(frozen=True, eq=False)
class Ranking:
    """Candidates for deletion. received, norm_weighted [T]: mean over queries of alpha_ij and of alpha_ij ||f(x_j)||.

    places: positions that may be hidden; by_attention, by_norm_weighted: the same positions, the largest value first,
    earlier ones among equals.
    """

    received: np.ndarray
    norm_weighted: np.ndarray
    places: tuple[int, ...]
    by_attention: tuple[int, ...]
    by_norm_weighted: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Deletion:
    """What hiding tokens changes: 1 - cosine of the embedding with and without, or the drop of another outcome.

    counts [n]: k; by_attention, by_norm_weighted [n]: change when the k largest by either measure are hidden;
    random [S, n]: for each seed k random ones; order, norm_weighted_order: what was hidden, first to last.
    """

    counts: tuple[int, ...]
    by_attention: np.ndarray
    by_norm_weighted: np.ndarray
    random: np.ndarray
    order: tuple[int, ...]
    norm_weighted_order: tuple[int, ...]

    def against_random(self) -> tuple[int, int, int]:
        """For how many values of k `by_attention` lies (above, inside, below) the range of the random draws."""
        above = int((self.by_attention > self.random.max(axis=0)).sum())
        below = int((self.by_attention < self.random.min(axis=0)).sum())
        return above, len(self.counts) - above - below, below


@torch.no_grad()
def ranking(trace: Trace, layer: int, head: int, candidates: Candidates = "all") -> Ranking:
    """Tokens by what a head gives them, averaged over the queries of real tokens. "words": no special tokens."""
    received = aggregate.received(trace, layer, head)[0].numpy()
    weighted = received * value_output(trace, layer, head).norm(dim=-1).cpu().double().numpy()
    allowed = tokens.is_real(trace) if candidates == "all" else tokens.is_content(trace)
    places = tuple(place for place, inside in enumerate(allowed) if inside)

    def largest_first(values: np.ndarray) -> tuple[int, ...]:
        return tuple(sorted(places, key=lambda place: (-values[place], place)))

    return Ranking(received, weighted, places, largest_first(received), largest_first(weighted))


def deletion_test(
    model: TextEncoder,
    trace: Trace,
    layer: int,
    head: int,
    *,
    counts: Sequence[int] | None = None,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    scope: Scope = "model",
    candidates: Candidates = "all",
    outcome: Callable[[Trace], float] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Deletion:
    """Hide the k tokens that a head attends to most, and k random ones for each seed; measure the embedding's change.

    trace: an unedited one of a text that `model` ran, without padding; counts: values of k, by default `usual_counts`;
    scope: hidden for all heads of all layers ("model"), of this layer, or for this head only; outcome: a number of a
    run, such as the probability of a class, whose drop is measured then; progress: called with the share that is done.
    Random draws are nested: k + 1 of a seed are its k and one more. At least one token is never hidden. Raises
    EncoderError for a text that is too long, has no source, or leaves nothing to hide.
    """
    ranked = ranking(trace, layer, head, candidates)
    counts = tuple(usual_counts(len(ranked.places), trace.n_real) if counts is None else counts)
    _check(trace, ranked, counts)
    shuffled = [np.random.default_rng(seed).permutation(ranked.places).tolist() for seed in seeds]
    orders = [ranked.by_attention, ranked.by_norm_weighted, *(tuple(order) for order in shuffled)]
    change = _change_of_embedding(model, trace) if outcome is None else _drop(outcome, trace)
    place: dict[str, Any] = {"model": {}, "layer": {"layer": layer}, "head": {"layer": layer, "head": head}}[scope]
    known: dict[frozenset[int], float] = {}
    changes = np.zeros((len(orders), len(counts)))
    for number, (row, column) in enumerate(np.ndindex(*changes.shape)):
        hidden = frozenset(orders[row][: counts[column]])
        if hidden not in known:
            edit = MaskKeys(tuple(sorted(hidden)), **place)
            edited = model.trace_tokens(trace.source, edits=(edit,))  # type: ignore[arg-type]
            known[hidden] = change(edited)
        changes[row, column] = known[hidden]
        if progress is not None:
            progress((number + 1) / changes.size)
    most = max(counts)
    shown = (ranked.by_attention[:most], ranked.by_norm_weighted[:most])
    return Deletion(counts, changes[0], changes[1], changes[2:], *shown)


def usual_counts(n_candidates: int, n_tokens: int) -> tuple[int, ...]:
    """1, 2, ... up to 8, and never every token; from 256 tokens on 1, 2, 4, 8, 16 to save time."""
    counts = (1, 2, 3, 4, 5, 6, 7, 8) if n_tokens < 256 else (1, 2, 4, 8, 16)
    return tuple(k for k in counts if k <= n_candidates and k < n_tokens)


def _check(trace: Trace, ranked: Ranking, counts: tuple[int, ...]) -> None:
    if trace.source is None or trace.edits or trace.n_tokens != trace.n_real:
        raise EncoderError("A deletion test needs the trace of one text, without edits and without padding.")
    if trace.n_tokens > LONGEST:
        raise EncoderError(
            f"This text is {trace.n_tokens:,} tokens; the deletion test runs the model dozens of times and accepts up "
            f"to {LONGEST:,}. Choose a shorter text."
        )
    if not counts:
        raise EncoderError("This text has no token to hide: type a longer one, or include special tokens.")
    if min(counts) < 1 or max(counts) > min(len(ranked.places), trace.n_real - 1):
        most = min(len(ranked.places), trace.n_real - 1)
        raise EncoderError(f"counts={list(counts)}: this text allows 1 to {most} hidden tokens.")


def _change_of_embedding(model: TextEncoder, trace: Trace) -> Callable[[Trace], float]:
    before = _embedding(model, trace)
    return lambda edited: _change(before, _embedding(model, edited))


def _drop(outcome: Callable[[Trace], float], trace: Trace) -> Callable[[Trace], float]:
    before = outcome(trace)
    return lambda edited: before - outcome(edited)


def _embedding(model: TextEncoder, trace: Trace) -> Tensor:
    with torch.no_grad():
        return model.vector_of(trace).cpu().double()


def _change(before: Tensor, after: Tensor) -> float:
    """1 - cosine, 0 to 2."""
    return max(0.0, 1.0 - float(torch.nn.functional.cosine_similarity(before, after, dim=0)))
