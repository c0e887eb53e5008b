"""What the grid of heads can be coloured by, and the controls of its order and range.

Another number in the colour of the grid is one function here, and its entry in `COLOURINGS`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from encoder.measure import patches, telling
from encoder.measure.head_definitions import Definition
from encoder.measure.ranking import largest_cell
from pages.core.view import View, head_measures
from pages.core.widgets.compared import percent
from pages.heads import ask, image
from pages.heads import options as head_options
from pages.heads.compare import sides
from pages.heads.params import Params
from pages.state import Head, controlled, state

#: Short enough for the legend above a narrow grid.
DIFFERS = "attention that differs"


@dataclass(frozen=True)
class Colouring:
    """One number for each head. Shapes: L layers, H heads.

    values: [L, H], NaN for a head without one; title: its name and unit; limits: the ends of the colour scale;
    definition: of numbers that order the heads by a control; ranged: whether another control leaves heads out by them;
    most: heads that an order lists; caption: a sentence below the grid.
    """

    values: np.ndarray
    title: str
    limits: tuple[float, float]
    definition: Definition | None = None
    ranged: bool = False
    most: int | None = None
    caption: str = ""

    def arranged(self, kept: np.ndarray) -> tuple[np.ndarray, list[Head] | None]:
        """Draw the controls of order and range; returns the heads that are kept, [L, H], and their order.

        kept: [L, H], bool, before the range; the order is None where it is that of the layers.
        """
        if self.definition is None:
            return kept, None
        sort = _sort_control(self.definition)
        if self.ranged:
            low, high = _range_control(self.definition, *self.limits)
            if (low, high) != self.limits:  # a head without a value is kept until a range is chosen
                with np.errstate(invalid="ignore"):
                    kept = kept & (self.values >= low) & (self.values <= high)
        order = sorted_heads(self.values, kept, sort)
        return kept, None if order is None else order[: self.most]


def by_measure(view: View) -> Colouring | None:
    """The measure that the reader chose."""
    name = state.get(Params.measure)
    if not name:
        return None
    measures, definition = head_measures.measures(view), head_measures.offered(view.trace)[name]
    values, unit = measures[name], "" if definition.unit in ("share", "number") else f" ({definition.unit})"
    limits = definition.limits(values, measures.n_tokens)
    return Colouring(values, definition.title + unit, limits, definition, ranged=True)


def by_word(view: View) -> Colouring | None:
    """The information gain of the word that the reader asked for."""
    word = state.get(Params.word)
    if word is None:
        return None
    values = ask.gains(view, word)
    return Colouring(values, f"{ask.title(view, word)} (nats)", _up_to(values), telling.DEFINITION, most=ask.LISTED)


def by_difference(view: View) -> Colouring | None:
    """How much each head differs from side B."""
    if state.get(Params.view) != "beside" or (values := sides.by_head(view)) is None:
        return None
    most = largest_cell(values)
    said = f"largest in L{most[0]} H{most[1]}: {percent(float(values[most]))}."
    if missing := int(np.isnan(values).sum()):
        said += f" “none”: model B has no head of that number ({missing} of {values.size})."
    return Colouring(
        values,
        DIFFERS,
        _up_to(values),
        caption=f"Bar: share of {DIFFERS} (total variation distance, mean over queries), {said}",
    )


def by_distance(view: View) -> Colouring | None:
    """How far each head attends over an image, where the grid shows the image."""
    if not over_image(view):
        return None
    values = image.distances(view)
    return Colouring(values, "attention distance (pixels)", _up_to(values))


#: What the grid can be coloured by; the first that the reader has chosen does.
COLOURINGS: tuple[Callable[[View], Colouring | None], ...] = (by_measure, by_word, by_difference, by_distance)


def chosen(view: View) -> Colouring | None:
    """What colours the grid now; None: nothing."""
    return next((found for colouring in COLOURINGS if (found := colouring(view)) is not None), None)


def over_image(view: View) -> bool:
    """Whether the small maps are drawn over an image."""
    return head_options.shown_view(view) == "text" and patches.is_of_patches(view.trace)


def _up_to(values: np.ndarray) -> tuple[float, float]:
    """0 to the largest value."""
    return 0.0, float(np.nan_to_num(values).max()) or 1.0


def _sort_control(definition: Definition) -> str:
    """The order of the heads: by layer, falling or rising."""
    return state.segmented(
        Params.sort,
        definition.title,
        {"place": "By layer", "falling": "↓", "rising": "↑"},
        help=definition.about,
    )


def _range_control(definition: Definition, low: float, high: float) -> tuple[float, float]:
    first, last = state.get(Params.keep) or (low, high)
    return controlled(
        st.slider,
        "Show heads with" if definition.unit in ("share", "number") else f"Show heads with ({definition.unit})",
        low,
        high,
        step=0.01,
        key=f"keep:{definition.name}:{high:g}",
        value=(min(max(first, low), high), max(min(last, high), low)),
        take=lambda keep: state.put(Params.keep, None if keep == (low, high) else keep),
    )


def sorted_heads(values: np.ndarray, kept: np.ndarray, sort: str) -> list[Head] | None:
    """The kept heads by their value, those without a value last. None: in the order of layers."""
    if sort == "place":
        return None
    sign = -1 if sort == "falling" else 1
    heads = [(int(layer), int(head)) for layer, head in zip(*np.nonzero(kept), strict=True)]
    return sorted(heads, key=lambda one: (math.isnan(values[one]), sign * values[one], one))
