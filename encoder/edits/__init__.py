"""Changes to a forward pass: of any value, of attention, of positions. They travel in the recording's context.

    >>> edited = model.trace("a cat", edits=[edits.AblateHead(1, 3), edits.Scale("z", 2.0, layer=0, heads=(2,))])
    >>> edits.format(edited.edits)                            # as in links; edits.parse reads it
    'ablate_l1_h3~scale_l0_h2_oz_x2.0'

A new kind of edit is one class: a frozen dataclass
over `Edit` with its hook points, its check, its value and its words, listed in its file's tuple.
"""

from collections.abc import Sequence

from encoder.edits.applying import apply_edits, edits_at
from encoder.edits.base import HEAD_POINTS, Edit, Names, Run, Runner, Site, width
from encoder.edits.link import MOST_EDITS, format, parse
from encoder.edits.other_runs import Mean, Replace, sources
from encoder.edits.positions import DropPositions, PermutePositions
from encoder.edits.scores import (
    AttentionEdit,
    CausalMask,
    MaskKeys,
    SetScore,
    SetWeight,
    Temperature,
    UniformAttention,
)
from encoder.edits.values import (
    FUNCTIONS,
    AblateHead,
    Add,
    Call,
    Noise,
    Scale,
    SetValue,
    ValueEdit,
    Zero,
    ablates,
    register,
)
from encoder.errors import EncoderError, quoted
from encoder.model.config import EncoderConfig

__all__ = [
    "FUNCTIONS", "HEAD_POINTS", "MOST_EDITS", "AblateHead", "Add", "AttentionEdit", "Call", "CausalMask",
    "DropPositions", "Edit", "MaskKeys", "Mean", "Names", "Noise", "PermutePositions", "Replace", "Run", "Runner",
    "Scale", "SetScore", "SetValue", "SetWeight", "Site", "Temperature", "UniformAttention", "ValueEdit", "Zero",
    "ablates", "apply_edits", "check_edits", "edits_at", "format", "parse", "register", "sources", "width",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


def check_edits(edits: Sequence[Edit], config: EncoderConfig, n_tokens: int, n_memory: int = 0) -> None:
    """Raise EncoderError for what is not an edit, and for a layer, head, token or component that does not exist.

    n_memory: tokens of the input that a decoder reads.
    """
    for edit in edits:
        if not isinstance(edit, Edit):
            raise EncoderError(
                f"{quoted(edit)} is not an edit: choose from encoder.edits, such as AblateHead or MaskKeys."
            )
        edit.check(config, n_tokens, n_memory)
