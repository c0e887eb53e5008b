"""Two heads, inputs or models to compare: what each side is, its tokens and its maps."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from encoder import Trace
from encoder.figures.placements import PLACEMENT_NAMES
from encoder.maps.aggregate import SpecialTokens
from encoder.measure import align
from encoder.measure.map_comparison import Comparison, TracedHead, compare, distance_by_head
from encoder.run import code
from pages.core.stores import cache
from pages.core.widgets import export

#: The longest text, in tokens, for which every head is compared.
EVERY_HEAD = 1_024
#: Alignments of more steps are drawn in blocks of cells.
EXACT_STEPS = 256


@dataclass(frozen=True)
class Side(cache.StoredRun):
    """One head of one run."""

    #: "A" or "B".
    name: str

    @property
    def layer(self) -> int:
        """The layer of the head."""
        return self.run.place.layer or 0

    @property
    def head(self) -> int:
        """The head."""
        return self.run.place.head or 0

    @property
    def measured(self) -> TracedHead:
        """The head as the engine compares it."""
        return TracedHead(self.trace, self.layer, self.head)

    @property
    def head_name(self) -> str:
        """ "L2 H3"."""
        return f"L{self.layer} H{self.head}"

    @property
    def model_name(self) -> str:
        """The model's name, its seed where it is untrained, and its norm placement where that was changed."""
        seed = f", seed {self.model.untrained.seed}" if self.model.untrained is not None else ""
        return f"{self.loaded.name_and_norms}{seed}"


@dataclass(frozen=True)
class Sides:
    """Both sides. what: "heads", "sentences" (inputs of any kind) or "models"."""

    what: str
    first: Side
    second: Side

    @property
    def ends(self) -> tuple[Side, Side]:
        """The sides in the difference map's colours, orange and teal: A and B, but pre-norm is teal on every page."""
        placements = tuple(side.loaded.config.norm_placement for side in (self.first, self.second))
        flipped = self.what == "models" and placements == ("pre", "post")
        return (self.second, self.first) if flipped else (self.first, self.second)

    @property
    def moves_norms(self) -> bool:
        """Whether the sides are one model in both placements, and have their names."""
        return self.first.model.source == self.second.model.source and self.first.name in PLACEMENT_NAMES.values()

    @property
    def alignment(self) -> align.Alignment:
        """Their tokens, step by step."""
        first, second = self.first, self.second
        key = ("alignment", second.run.of_pass)
        return first.derived(key, lambda trace: align.align_traces(trace, second.trace))

    def compared(self, special: SpecialTokens) -> Comparison:
        """Both maps and their difference, computed once."""
        one, other = self.first, self.second

        def make(_: Trace) -> Comparison:
            return compare(one.measured, other.measured, self.alignment, special=special, size=EXACT_STEPS)

        return one.derived(("compared", other.run, one.layer, one.head, special), make)

    def by_head(self, special: SpecialTokens) -> np.ndarray | None:
        """[L, H]: mean total variation distance of each head's two maps; None for texts over EVERY_HEAD tokens."""
        first, second = self.first, self.second
        if max(first.trace.n_tokens, second.trace.n_tokens) > EVERY_HEAD:
            return None
        head = (first.layer, first.head) if self.what == "heads" else None
        key = ("distance by head", second.run.of_pass, head, special)

        def make(_: Trace) -> np.ndarray:
            with st.spinner("Comparing every head …", show_time=False):
                return distance_by_head(first.trace, second.trace, self.alignment, special=special, head=head)

        return first.derived(key, make)


def python_lines(sides: Sides, special: SpecialTokens) -> str:
    """Python that gives the comparison as `found`, below the lines that make `model` and `trace`."""
    first, second = sides.first, sides.second
    lines, other = ["from encoder.measure import align, map_comparison"], "trace"
    if sides.what != "heads":
        other = "other"
        model = "model"
        if sides.what == "models":
            model = "model_b"
            spec, remark = export.origin(second.model, "source_b")
            lines += [*remark.splitlines(), code.model_lines(spec, model)]
        lines.append(f"other = {code.trace_call(second.run, model, export.expression(second))}")
    options = "" if special == "show" else f', special="{special}"'
    lines += [
        f"steps = align.align_traces(trace, {other})",
        f"first, second = map_comparison.TracedHead(trace, {first.layer}, {first.head}), "
        f"map_comparison.TracedHead({other}, {second.layer}, {second.head})",
        f"found = map_comparison.compare(first, second, steps{options})",
        "found.difference",
    ]
    return "\n".join(lines)
