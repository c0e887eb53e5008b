"""Cross-attention as an explanation: weights that look right, and source tokens and heads that matter.

A decoder writes token t of its output with row t of its cross-attention. Where somebody knows which source
tokens give an output token (as `inputs.dates.answer` does), each head's largest weights are scored against them. The
test by deletion hides one source token at a time from all encoder and decoder heads: what the output loses of its log
probability says whether the token mattered, whatever the weights were.

Shapes: L layers and H heads of the decoder, T tokens of the output, S tokens of the source.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from encoder.edits import AblateHead, Edit, MaskKeys
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.measure.head_alignment import AlignmentScores, Pair, scores_of_rows
from encoder.trace.decoder import DecoderTrace
from encoder.trace.trace import Trace

#: Each source token is a pass through the whole model.
MOST_SOURCE = 256


@dataclass(frozen=True, eq=False)
class CrossScores:
    """attention: the heads' weights against an alignment; deletion [1, 1]: the token whose hiding costs an output token
    most, against the same; when_hidden [T, S], when_off [L, H, T]: the fall of each output token's log probability,
    when a source token is hidden, and when a cross-attention head is switched off.
    """

    attention: AlignmentScores
    deletion: AlignmentScores
    when_hidden: np.ndarray
    when_off: np.ndarray

    @property
    def without_head(self) -> np.ndarray:
        """[L, H]: the fall of the whole output's log probability without each head."""
        found: np.ndarray = self.when_off.sum(-1)
        return found


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
        when_off=falls_when_off(model, trace),
    )


def target_of(trace: Trace) -> DecoderTrace:
    """The decoder's pass of a trace. Raises EncoderError where it has none."""
    if not isinstance(trace.decoder, DecoderTrace):
        raise EncoderError("This trace has no target: specify model.trace(input, target=...).")
    return trace.decoder


def falls_when_hidden(model: TextEncoder, trace: Trace) -> np.ndarray:
    """[T, S]: how much each output token's log probability falls when no other token attends to a source token.

    Its own vector is hidden from the decoder, and it from the rest of the input. Raises EncoderError for a trace with
    edits, without a text, or too long.
    """
    if trace.source is None or trace.edits or trace.n_tokens > MOST_SOURCE:
        raise EncoderError(f"Hiding tokens needs a text of up to {MOST_SOURCE} tokens, without edits: choose another.")
    columns = [
        _fall(model, trace, (MaskKeys((token,)),), (MaskKeys((token,), cross=True),)) for token in range(trace.n_tokens)
    ]
    return np.stack(columns, axis=-1)


def falls_when_off(model: TextEncoder, trace: Trace) -> np.ndarray:
    """[L, H, T]: how much each output token's log probability falls without one cross-attention head."""
    config = target_of(trace).config
    return np.stack(
        [
            [_fall(model, trace, (), (AblateHead(layer, head, cross=True),)) for head in range(config.n_heads)]
            for layer in range(config.n_layers)
        ]
    )


def _fall(model: TextEncoder, trace: Trace, edits: tuple[Edit, ...], of_decoder: tuple[Edit, ...]) -> np.ndarray:
    """[T]: the log probabilities of the output minus those with edits of the encoder and of the decoder."""
    target = target_of(trace)
    source = model.trace_tokens(trace.source, edits=edits) if edits and trace.source is not None else trace
    again = model.decode(source, target.next_ids[target.n_prompt - 1 :], edits=(*target.edits, *of_decoder))
    found: np.ndarray = (target.output_log_probabilities - target_of(again).output_log_probabilities).numpy()
    return found


def changes(before: DecoderTrace, after: DecoderTrace) -> pd.DataFrame:
    """A row for each token of the same output: token, log probability, now, change."""
    was, now = (one.output_log_probabilities.numpy() for one in (before, after))
    return pd.DataFrame({"token": before.output_labels, "log probability": was, "now": now, "change": now - was})
