"""What an outcome loses when parts of an image, a video or a sound are covered: shared by the pages of both kinds.

The page draws `controls` and `curves`, and what it adds itself: a map over the image, or bars over time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from encoder import causal
from encoder.causal import Outcome, occlusion
from encoder.figures.deletion import deletion_curves
from encoder.figures.numbers import signed
from encoder.measure import patches
from encoder.measure.ranking import FEWEST
from pages.components import plot
from pages.core.inputs.input_words import several, words_of
from pages.core.view import View
from pages.core.widgets import effects, outcomes
from pages.core.widgets.export import given
from pages.core.words import number

#: The longest input, in tokens, whose parts are covered.
LONGEST = 1_600


@dataclass(frozen=True)
class Occlusion:
    """What is covered, and what is measured. given: what `model.trace` accepts; part: "patch", "tubelet", "window"."""

    view: View
    given: Any
    outcome: Outcome
    cover: occlusion.Cover
    part: str

    @property
    def n_parts(self) -> int:
        """Parts that are covered."""
        return occlusion.n_parts(self.view.loaded, self.given)

    @property
    def name(self) -> tuple[object, ...]:
        """What the effects depend on."""
        return (self.view.run.of_pass, self.outcome, self.cover)

    @property
    def measured(self) -> str:
        """The outcome in a sentence."""
        if isinstance(self.outcome, causal.ClassProbability):
            scale = {"log_odds": "log-odds", "probability": "probability"}[self.outcome.scale]
            return f"{scale} of “{self.outcome.label}”"
        return f"cosine to the {words_of(self.view.trace).vector}"

    def alone(self) -> np.ndarray | None:
        """[P]: the fall of the outcome when each part by itself is covered; None while it waits for a click."""
        view = self.view
        found = effects.measured(
            "covering",
            ("covering", *self.name),
            lambda: occlusion.iter_occlude_each(view.loaded, self.given, view.trace, self.outcome, self.cover),
            lambda values: self._picture(range(len(values)), np.atleast_2d(values)),
            runs=self.n_parts,
            n_tokens=view.trace.n_tokens,
            longest=LONGEST,
            label=f"Cover each {self.part}",
            doing=f"Occlusion each {self.part}",
        )
        return None if found is None else -found

    def python_lines(self) -> str:
        """Python that gives the fall for each part, below the lines that make `model` and `trace`."""
        return (
            f"\nfrom encoder import causal\noutcome = causal.{self.outcome!r}\n"
            f"given = {given(self.view, self.view.run.input.name)}\n"
            f"*_, alone = causal.occlusion.iter_occlude_each(model, given, trace, outcome, {self.cover!r})\n"
            "falls = -alone.values"
        )

    def _picture(self, steps: Sequence[int], values: np.ndarray) -> Any:
        """The falls so far, in the order of the parts."""
        return deletion_curves(steps, {}, -values, f"covered {several(self.part)}", self.measured)

    def curves(self, key: str, orders: dict[str, tuple[int, ...]], seeds: tuple[int, ...]) -> np.ndarray | None:
        """[orders + seeds, steps]: the fall with more and more parts covered; None while it waits for a click."""
        view, steps = self.view, occlusion.counts(self.n_parts)
        found = effects.measured(
            key,
            (key, *self.name, tuple(orders.items()), seeds),
            lambda: occlusion.iter_deletion_curves(
                view.loaded, self.given, view.trace, orders, self.outcome, self.cover, seeds
            ),
            lambda values: self._picture(steps, values),
            runs=len(steps) * (len(orders) + len(seeds)),
            n_tokens=view.trace.n_tokens,
            longest=LONGEST,
            label="Draw the curves",
            doing=f"Occlusion more and more {several(self.part)}",
        )
        return None if found is None else -found


def controls(view: View) -> Occlusion:
    """The widget of the class; a model without classes is measured by its vector."""
    found = view.given
    with st.container(key="controls-occlusion", horizontal=True, vertical_alignment="bottom", gap="medium"):
        outcome: Outcome = causal.SentenceVector()
        if view.loaded.classifier is not None:
            outcome = outcomes.choose_class(view)
    part = words_of(view.trace).part if patches.is_of_patches(view.trace) else "window"
    return Occlusion(view, found, outcome, _cover(view), part)


def _cover(view: View) -> occlusion.Cover:
    """Black for images of ink, whose paper is black; otherwise grey, the checkpoint's mean colour."""
    of_ink = view.loaded.takes == "image" and view.loaded.patches.channels == 1
    return "black" if of_ink else "grey"


def draw_curves(found: Occlusion, alone: np.ndarray, weights: dict[str, np.ndarray]) -> None:
    """The curves of several orders next to random ones, and what they say. weights: name of an order -> [P]."""
    orders = {name: occlusion.largest_first(values) for name, values in weights.items()}
    fixed = {"largest single fall first": occlusion.largest_first(alone)}
    # Two parts, so that another head computes its own curves only.
    some = found.curves("covering-fixed", fixed, occlusion.SEEDS)
    if some is None:
        return
    own = found.curves("covering-own", orders, ())
    if own is None:
        return
    steps = occlusion.counts(found.n_parts)
    drawn = {**dict(zip(orders, own, strict=True)), **dict(zip(fixed, some, strict=False))}
    random = some[len(fixed) :]
    fall = f"fall of the {found.measured}"
    plot(
        deletion_curves(steps, drawn, random, f"covered {several(found.part)}", fall),
        key="covering-curves",
        alt=f"The {fall} over the number of covered parts, in {len(drawn)} orders and at random.",
        height=360,
    )
    areas = {name: float(occlusion.area(values, steps)) for name, values in drawn.items()}
    chance = occlusion.area(random, steps)
    said = "; ".join(f"{name}: **{number(area)}**" for name, area in areas.items())
    st.markdown(
        f"Mean fall along each curve: {said}; random: {number(float(chance.mean()))} ({number(float(chance.min()))} to "
        f"{number(float(chance.max()))}). An order that finds what the model uses has a larger mean fall than random."
    )


def agreement(alone: np.ndarray, weights: np.ndarray, name: str) -> str:
    """How well weights [P] predict the fall of each part by itself."""
    if len(alone) < FEWEST:
        return ""
    rank = causal.rank_correlation(weights, alone)
    if rank.value != rank.value:  # NaN: all values of a side are equal
        return ""
    return (
        f"Rank correlation of {name} with the fall: **{signed(rank.value, 2)}** (95% interval "
        f"{signed(rank.low, 2)} to {signed(rank.high, 2)})."
    )
