"""Two heads, sentences or models that are compared: which they are, their tokens, their maps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

import encoder
from encoder.export import python_code
from encoder.measure import align
from encoder.measure.aggregate import SpecialTokens
from encoder.trace import Trace
from pages.core import cache, export

#: Longest text, in tokens, of which every head is compared.
EVERY_HEAD = 1_024


#: Up to so many steps of the alignment a map is drawn cell by cell.
EXACT_STEPS = 256


@dataclass(frozen=True)
class Side:
    """One head of one model on one text. name: "A" or "B"; title: what it is, without the name."""

    name: str
    model: cache.ModelKey
    text: str
    pair: str | None
    layer: int
    head: int

    @property
    def trace(self) -> Trace:
        """The trace of this side's text, computed once."""
        return cache.trace(self.model, self.text, self.pair)

    @property
    def loaded(self) -> encoder.TextEncoder:
        """Its model."""
        return cache.model(self.model)

    @property
    def measured(self) -> align.Side:
        """What the engine compares."""
        return align.Side(self.trace, self.layer, self.head)

    @property
    def head_name(self) -> str:
        """ "L2 H3"."""
        return f"L{self.layer} H{self.head}"

    @property
    def model_name(self) -> str:
        """The model's name, and where its norms stand when it is shown elsewhere than it was trained."""
        moved = f", moved to {self.loaded.config.norm_placement}-norm" if self.loaded.notes else ""
        seed = f", seed {self.model.seed}" if self.model.scratch is not None else ""
        return f"{self.loaded.name}{seed}{moved}"


@dataclass(frozen=True)
class Sides:
    """Both sides. what: "heads", "sentences" or "models"."""

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
    def alignment(self) -> align.Alignment:
        """Their tokens, step by step."""
        first, second = self.first, self.second
        key = ("alignment", second.model, second.text, second.pair)
        return cache.derived(
            first.model, first.text, first.pair, key, lambda trace: align.align_traces(trace, second.trace)
        )

    def compared(self, special: SpecialTokens) -> align.Comparison:
        """Both maps and their difference, computed once."""
        first, second = self.first, self.second
        key = ("compared", second, first.layer, first.head, special)
        return cache.derived(
            first.model,
            first.text,
            first.pair,
            key,
            lambda _: align.compare(first.measured, second.measured, self.alignment, special=special, size=EXACT_STEPS),
        )

    def by_head(self, special: SpecialTokens) -> np.ndarray | None:
        """[L, H]: how much of its attention each head moves from side to side; None where that would take long."""
        first, second = self.first, self.second
        if max(first.trace.n_tokens, second.trace.n_tokens) > EVERY_HEAD:
            return None
        head = (first.layer, first.head) if self.what == "heads" else None
        key = ("moved by head", second.model, second.text, second.pair, head, special)

        def make(_: Trace) -> np.ndarray:
            with st.spinner("Comparing every head …", show_time=False):
                return align.moved_by_head(first.trace, second.trace, self.alignment, special=special, head=head)

        return cache.derived(first.model, first.text, first.pair, key, make)


def python_lines(sides: Sides, special: SpecialTokens) -> str:
    """Python that gives the comparison as `found`, below the lines that make `model` and `trace`."""
    first, second = sides.first, sides.second
    lines, other = ["from encoder.measure import align"], "trace"
    if sides.what != "heads":
        other = "other"
        model = "model"
        if sides.what == "models":
            model = "model_b"
            key, remark = export.origin(second.model, "source_b")
            lines += [*remark.splitlines(), python_code.model_lines(key, model)]
        lines.append(f"other = {python_code.trace_call(model, second.text, second.pair)}")
    options = "" if special == "show" else f', special="{special}"'
    lines += [
        f"steps = align.align_traces(trace, {other})",
        f"first, second = align.Side(trace, {first.layer}, {first.head}), "
        f"align.Side({other}, {second.layer}, {second.head})",
        f"found = align.compare(first, second, steps{options})",
        "found.difference",
    ]
    return "\n".join(lines)
