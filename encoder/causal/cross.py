"""Cross-attention as an explanation: weights that look right, and source tokens and heads that matter.

A decoder writes token t of its output with row t of its cross-attention. Where somebody knows which source
tokens give an output token (as `measure.dates.answer` does), each head's largest weights are scored against them. The
test by deletion hides one source token at a time from all encoder and decoder heads: what the output loses of its log
probability says whether the token mattered, whatever the weights were.

Shapes: L layers and H heads of the decoder, T tokens of the output, S tokens of the source.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from encoder.causal.effects import ablate_each_head
from encoder.causal.outcomes import TargetProbability
from encoder.causal.variants import Variant, run_variants
from encoder.edits import Edit, MaskKeys, Mean, Replace, Run
from encoder.encoders.named import NamedEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.measure.head_alignment import AlignmentScores, Pair, scores_of_rows
from encoder.model.attend import Memory
from encoder.trace.decoder import DecoderTrace
from encoder.trace.trace import Trace

#: Each source token is a pass through the whole model.
MOST_SOURCE = 256


@dataclass(frozen=True, eq=False)
class CrossScores:
    """attention: the heads' weights against an alignment; deletion [1, 1]: the token whose hiding costs an output token
    most, against the same; when_hidden [T, S]: the fall of each output token's log probability, when a source token is
    hidden; without_head [L, H]: the fall of the whole output's, when a cross-attention head is switched off.
    """

    attention: AlignmentScores
    deletion: AlignmentScores
    when_hidden: np.ndarray
    without_head: np.ndarray


def score_cross(model: TextEncoder, trace: Trace, pairs: Sequence[Pair]) -> CrossScores:
    """Score a trace with a target. pairs: (token of the output, token of the source), both from 0.

    Raises EncoderError without a target, without pairs, for other tokens, and for a source that is too long.
    """
    target, n_source = target_of(trace), trace.n_tokens
    maps = target.cross_attentions[:, :, target.output_rows].cpu().numpy()
    n_output = maps.shape[2]
    if not pairs or not all(0 <= one < n_output and 0 <= key < n_source for one, key in pairs):
        raise EncoderError(
            f"The alignment needs pairs of an output token, 0 to {n_output - 1}, and a source token, 0 to "
            f"{n_source - 1}: specify them."
        )
    rows = list(dict.fromkeys(pairs))
    special = np.array(trace.source.special if trace.source is not None else [False] * n_source)
    usable = np.tile(~special, (len({row for row, _ in rows}), 1))
    hidden = falls_when_hidden(model, trace)
    return CrossScores(
        attention=scores_of_rows(rows, lambda row: maps[:, :, row], usable),
        deletion=scores_of_rows(rows, lambda row: hidden[None, None, row], usable),
        when_hidden=hidden,
        without_head=-ablate_each_head(model.decoder, target, TargetProbability(), cross=True).numpy(),
    )


def target_of(trace: Trace) -> DecoderTrace:
    """The decoder's pass of a trace. Raises EncoderError where it has none."""
    if not isinstance(trace.decoder, DecoderTrace):
        raise EncoderError("This trace has no target: specify model.trace(input, target=...).")
    return trace.decoder


def falls_when_hidden(model: NamedEncoder, trace: Trace) -> np.ndarray:
    """[T, S]: how much each output token's log probability falls when no other token attends to a source token.

    Its own vector is hidden from the decoder, and it from the rest of the input. Raises EncoderError for a trace with
    edits, without a text, or too long.
    """
    if trace.source is None:
        raise EncoderError("Hiding tokens needs a text: choose another model.")
    return _falls(model, trace, [(MaskKeys((key,)),) for key in range(trace.n_tokens)], hides=True)


def context_edit(place: int, own: Run | str, other: Run | str | None = None) -> Edit:
    """The edit that replaces the encoder's vector of one token by that of another input at the same place.

    own, other: the input and the other one, or their traces; without `other` it becomes the mean of all vectors.
    """
    return Mean("output", (own,), positions=(place,)) if not other else Replace("output", other, positions=(place,))


def falls_when_replaced(model: NamedEncoder, trace: Trace, other: Trace | None = None) -> np.ndarray:
    """[T, S]: how much each output token's log probability falls when one vector of the encoder is replaced.

    trace: with a target; other: of the input that the vectors come from, NaN beyond its length; None: the mean of the
    input's vectors. Raises EncoderError without a target, and for an input that is too long.
    """
    n_replaced = trace.n_tokens if other is None else min(trace.n_tokens, other.n_tokens)
    return _falls(model, trace, [(context_edit(place, trace, other),) for place in range(n_replaced)])


@torch.no_grad()
def _falls(model: NamedEncoder, trace: Trace, variants: list[Variant], *, hides: bool = False) -> np.ndarray:
    """[T, S]: the fall of each output token's log probability for each variant of the encoder's pass, NaN beyond them.

    hides: the decoder does not attend to the vector of the variant's number.
    """
    target, n_source = target_of(trace), trace.n_tokens
    if n_source > MOST_SOURCE or trace.edits or target.edits:
        raise EncoderError(f"This needs an input of up to {MOST_SOURCE} tokens, without edits: choose another.")
    falls = torch.full((n_source, len(target.output_log_probabilities)), torch.nan, dtype=torch.float64)
    ids, visible = (*target.ids, target.next_ids[-1]), ~torch.eye(n_source, dtype=torch.bool, device=trace.mask.device)
    for places, outputs in run_variants(model, trace, variants):
        memory = Memory(outputs, visible[places] if hides else None)
        now = model.decoder.log_probabilities(ids, memory)[:, target.output_rows]
        falls[places] = target.output_log_probabilities - now.double().cpu()
    return falls.T.numpy()


def changes(before: DecoderTrace, after: DecoderTrace) -> pd.DataFrame:
    """A row for each token of the same output: token, log probability, now, change."""
    was, now = (one.output_log_probabilities.numpy() for one in (before, after))
    return pd.DataFrame({"token": before.output_labels, "log probability": was, "now": now, "change": now - was})
