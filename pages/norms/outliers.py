"""Outlier dimensions: components far larger than the rest before one LayerNorm."""

from functools import partial

import plotly.graph_objects as go
import streamlit as st

from encoder import figures
from encoder.figures.numbers import three_digits
from encoder.measure import norms
from pages.components import on_click, plot
from pages.core.view.place import PlaceParams
from pages.core.widgets import answer
from pages.core.words import about, gestures, number
from pages.norms.selected import Figures, Selected, choose_norm, select_component
from pages.state import state

#: Outliers that the first line names.
MOST_NAMED = 8
HINT = gestures.invitation("Select a bar for another component.")


def outlier_dimensions(selected: Selected) -> Figures:
    """The size of every component before the selected LayerNorm, and which are the largest before the others."""
    title = f"Outlier dimensions before {selected.label}"
    found: norms.OutlierDimensions = selected.view.derived("outlier dimensions", norms.outlier_dimensions)
    here = found.at(selected.norm)
    component = here.order[0] if selected.component is None else selected.component
    clear = None if selected.component is None else partial(state.put, PlaceParams.component, None)
    with answer.area():
        answer.draw(outliers_in_words(selected, here), component_in_words(selected, here, component), clear=clear)
        sizes = sizes_here(selected, here)
    choose_norm(selected)
    st.markdown(f"{effect_in_words(selected, here)} {leaders_in_words(found)}")
    about.expander(__file__, "Sources and limits", times=f"{norms.TIMES_CHANCE:g}")
    return {title: sizes}


def sizes_here(selected: Selected, here: norms.Extremes) -> go.Figure:
    """All components before the selected LayerNorm, as bars."""
    sizes = figures.component_sizes(
        here.ratio,
        threshold=norms.TIMES_CHANCE * here.chance,
        named=here.outliers[:4],
        selected=selected.component,
    )
    plot(
        sizes,
        key="component-sizes",
        alt=f"Largest |x| of each of {len(here.ratio)} components over all tokens, relative to the median.",
        height=400,
        on_event=on_click(point=select_component),
    )
    st.caption(
        f"One bar per component: its largest |x| over all tokens, divided by the median, {number(here.median)}. "
        f"Dashed line: {norms.TIMES_CHANCE * here.chance:.0f}, above which a component is an outlier; as many random "
        f"normal numbers typically reach {here.chance:.1f}. {HINT}"
    )
    return sizes


def component_in_words(selected: Selected, here: norms.Extremes, component: int) -> str:
    """The size of one component before the selected LayerNorm."""
    return (
        f"Component {component}: largest |x| **{three_digits(here.largest[component])}** at "
        f"{selected.quoted(here.token[component])}, **{three_digits(here.ratio[component])}** times the median "
        f"({answer.ordinal(here.order.index(component) + 1)} of {len(here.order):,})."
    )


def outliers_in_words(selected: Selected, here: norms.Extremes) -> str:
    """The outliers of the vectors before one LayerNorm, the largest first; without one, the largest component."""
    threshold = f"{norms.TIMES_CHANCE * here.chance:.0f} times the median of all |x|"
    if not here.outliers:
        top = here.order[0]
        return (
            f"No component exceeds {threshold}. Largest: component {top}, {here.ratio[top]:.1f} times the median, at "
            f"{selected.quoted(here.token[top])}."
        )
    named = ", ".join(f"**{one}**" for one in here.outliers[:MOST_NAMED])
    more = f" and {len(here.outliers) - MOST_NAMED:,} more" if len(here.outliers) > MOST_NAMED else ""
    return (
        f"{len(here.outliers):,} of {len(here.ratio):,} components raise the standard deviation before "
        f"{selected.label}: {named}{more}. They exceed {threshold}."
    )


def effect_in_words(selected: Selected, here: norms.Extremes) -> str:
    """The largest outliers with their tokens, and what they do; "" without one."""
    if not here.outliers:
        return ""
    listed = [
        f"component {one} with |x| = {three_digits(here.largest[one])} at {selected.quoted(here.token[one])}, "
        f"{here.ratio[one]:.0f} times the median"
        for one in here.outliers[:2]
    ]
    if len(here.outliers) > len(listed):
        listed.append(f"and {len(here.outliers) - len(listed)} more")
    return (
        f"Outliers: {'; '.join(listed)}. They raise the standard deviation that LayerNorm divides by; their gain "
        "scales them afterwards."
    )


def leaders_in_words(found: norms.OutlierDimensions) -> str:
    """The components that are largest at most LayerNorms."""
    (first, times), *others = list(found.leaders().items())[:4]
    rest = "".join(f", component {one} at {count}" for one, count in others)
    return f"Component {first} is the largest at {times} of {len(found.by_norm)} LayerNorms{rest}."
