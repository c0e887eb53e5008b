"""A deletion test of attention as an explanation: hide the tokens that it favours, or random ones, and compare.

If a head's weights told which tokens matter, hiding the k most attended ones should change the sentence embedding more
than hiding k random ones (the erasure of Serrano and Smith 2019; the debate: Jain and Wallace 2019, Wiegreffe and
Pinter 2019). Hidden means: no query attends to that token, while its own vector still counts in the pooling.

Shapes: T tokens, S seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from encoder.edits import MaskKeys
from encoder.errors import EncoderError
from encoder.measure import tokens
from encoder.measure.norm_weighted import value_output
from encoder.text_encoder import TextEncoder
from encoder.trace import Trace

Scope = Literal["head", "layer", "model"]
Candidates = Literal["all", "words"]
SCOPES: tuple[Scope, ...] = ("model", "layer", "head")
CANDIDATES: tuple[Candidates, ...] = ("all", "words")

#: Scores are written out to be edited, H x T x T numbers a layer: beyond so many tokens one run takes seconds.
LONGEST = 1024


@dataclass(frozen=True, eq=False)
class Ranking:
    """Candidates for deletion. received, moved [T]: mean over queries of alpha_ij and of alpha_ij ||f(x_j)||.

    places: positions that may be hidden; by_attention, by_moved: the same, the largest first, earlier ones among
    equals.
    """

    received: np.ndarray
    moved: np.ndarray
    places: tuple[int, ...]
    by_attention: tuple[int, ...]
    by_moved: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Deletion:
    """What hiding tokens does to the embedding. change = 1 - cosine of the embedding with and without.

    counts [n]: k; by_attention, by_moved [n]: change when the k most attended are hidden, or those that the head moves
    most of; random [S, n]: for each seed k random ones; order, moved_order: what was hidden, first to last.
    """

    counts: tuple[int, ...]
    by_attention: np.ndarray
    by_moved: np.ndarray
    random: np.ndarray
    order: tuple[int, ...]
    moved_order: tuple[int, ...]


@torch.no_grad()
def ranking(trace: Trace, layer: int, head: int, candidates: Candidates = "all") -> Ranking:
    """Which tokens a head favours, averaged over the queries of real tokens. candidates "words": no special tokens."""
    total = np.zeros(trace.n_tokens)
    for _, _, pattern in trace.attention_chunks(layer, slice(head, head + 1), slice(0, trace.n_real)):
        total += pattern[0].sum(dim=0).cpu().double().numpy()
    received = total / trace.n_real
    moved = received * value_output(trace, layer, head).norm(dim=-1).cpu().double().numpy()
    allowed = tokens.is_real(trace) if candidates == "all" else tokens.is_content(trace)
    places = tuple(place for place, inside in enumerate(allowed) if inside)

    def largest_first(values: np.ndarray) -> tuple[int, ...]:
        return tuple(sorted(places, key=lambda place: (-values[place], place)))

    return Ranking(received, moved, places, largest_first(received), largest_first(moved))


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
    progress: Callable[[float], None] | None = None,
) -> Deletion:
    """Hide the k favourite tokens of a head, and k random ones for each seed, and measure the change of the embedding.

    trace: an unedited one of a text that `model` ran, without padding; counts: values of k, by default `usual_counts`;
    scope: hidden for all heads of all layers ("model"), of this layer, or for this head alone; progress: called with
    the share that is done. Random ones are nested: k + 1 of a seed are its k and one more. At least one token always
    stays to be seen. Raises EncoderError for a text that is too long, has no source, or leaves nothing to hide.
    """
    ranked = ranking(trace, layer, head, candidates)
    counts = tuple(usual_counts(len(ranked.places), trace.n_real) if counts is None else counts)
    _check(trace, ranked, counts)
    shuffled = [np.random.default_rng(seed).permutation(ranked.places).tolist() for seed in seeds]
    orders = [ranked.by_attention, ranked.by_moved, *(tuple(order) for order in shuffled)]
    before = _embedding(model, trace)
    place = {"model": {}, "layer": {"layer": layer}, "head": {"layer": layer, "head": head}}[scope]
    known: dict[frozenset[int], float] = {}
    changes = np.zeros((len(orders), len(counts)))
    for number, (row, column) in enumerate(np.ndindex(*changes.shape)):
        hidden = frozenset(orders[row][: counts[column]])
        if hidden not in known:
            edit = MaskKeys(tuple(sorted(hidden)), **place)
            edited = model.trace_tokens(trace.source, edits=(edit,))  # type: ignore[arg-type]
            known[hidden] = _change(before, _embedding(model, edited))
        changes[row, column] = known[hidden]
        if progress is not None:
            progress((number + 1) / changes.size)
    most = max(counts)
    return Deletion(counts, changes[0], changes[1], changes[2:], ranked.by_attention[:most], ranked.by_moved[:most])


def usual_counts(n_candidates: int, n_tokens: int) -> tuple[int, ...]:
    """1, 2, 3, ... up to 8, and never all that there is to see; from 256 tokens on 1, 2, 4, 8, 16 for the time."""
    counts = (1, 2, 3, 4, 5, 6, 7, 8) if n_tokens < 256 else (1, 2, 4, 8, 16)
    return tuple(k for k in counts if k <= n_candidates and k < n_tokens)


def _check(trace: Trace, ranked: Ranking, counts: tuple[int, ...]) -> None:
    if trace.source is None or trace.edits or trace.n_tokens != trace.n_real:
        raise EncoderError("A deletion test needs the trace of one text, without edits and without padding.")
    if trace.n_tokens > LONGEST:
        raise EncoderError(
            f"This text is {trace.n_tokens:,} tokens; the deletion test runs it dozens of times with all scores "
            f"written out, and is offered up to {LONGEST:,}. Take a shorter text."
        )
    if not counts:
        raise EncoderError("There is no token to hide in this text: type a longer one, or let special tokens count.")
    if min(counts) < 1 or max(counts) > min(len(ranked.places), trace.n_real - 1):
        raise EncoderError(
            f"counts={list(counts)}: from 1 to {min(len(ranked.places), trace.n_real - 1)} tokens can be hidden here."
        )


def _embedding(model: TextEncoder, trace: Trace) -> Tensor:
    with torch.no_grad():
        return model.pool(trace.output.unsqueeze(0), trace.mask.unsqueeze(0))[0].cpu().double()


def _change(before: Tensor, after: Tensor) -> float:
    """1 - cosine, 0 to 2."""
    return max(0.0, 1.0 - float(torch.nn.functional.cosine_similarity(before, after, dim=0)))
