"""Outlier dimensions: components far larger than the rest, before one LayerNorm and before all of them."""

from functools import partial

import plotly.graph_objects as go
import streamlit as st

from encoder import figures
from encoder.figures.numbers import three_digits
from encoder.measure import norms
from pages.components import on_click, plot
from pages.core.view.place import PlaceParams
from pages.core.widgets import answer
from pages.core.words import about, number
from pages.norms.params import Params
from pages.norms.selected import Figures, Selected, select_component
from pages.state import state

HINT = "Select a bar or a cell for another component."


def outlier_dimensions(selected: Selected) -> Figures:
    """The size of every component before the selected LayerNorm, and of the largest ones before all of them."""
    title = f"Outlier dimensions before {selected.label}"
    st.header(title, anchor=False)
    found: norms.OutlierDimensions = selected.view.derived("outlier dimensions", norms.outlier_dimensions)
    here = found.at(selected.norm)
    st.markdown(outliers_in_words(selected, here))
    component = here.order[0] if selected.component is None else selected.component
    clear = None if selected.component is None else partial(state.put, PlaceParams.component, None)
    with answer.area():
        answer.draw(component_in_words(selected, here, component), HINT, clear=clear)
        at_norm, everywhere = st.columns(2, gap="medium")
        with at_norm:
            sizes = sizes_here(selected, here)
        with everywhere:
            largest = sizes_everywhere(selected, found)
    about.expander(__file__, "Sources and limits", times=f"{norms.TIMES_CHANCE:g}")
    return {title: sizes, "The largest components before every LayerNorm": largest}


def sizes_here(selected: Selected, here: norms.Extremes) -> go.Figure:
    """All components before the selected LayerNorm, as bars."""
    sizes = figures.component_sizes(
        here.ratio,
        threshold=norms.TIMES_CHANCE * here.chance,
        chance=here.chance,
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
        f"Dotted line: {here.chance:.1f}, which as many random normal numbers typically reach."
    )
    return sizes


def sizes_everywhere(selected: Selected, found: norms.OutlierDimensions) -> go.Figure:
    """The largest components before all LayerNorms, as a map."""
    names, components, ratios = found.across(selected.norm)
    place = (names.index(selected.norm), selected.component)
    largest = figures.outlier_map(ratios, names, components, colours=selected.view.colours, selected=place)
    plot(
        largest,
        key="outlier-map",
        alt=f"Largest |x| of {len(components)} components before {len(names)} LayerNorms, relative to the median.",
        height=400,
        on_event=on_click(
            row=lambda norm: state.put(Params.at, names[norm]),
            column=lambda index: state.put(PlaceParams.component, components[index]),
            clear=lambda: state.put(PlaceParams.component, None),
        ),
    )
    st.caption(leaders_in_words(found))
    return largest


def component_in_words(selected: Selected, here: norms.Extremes, component: int) -> str:
    """The size of one component before the selected LayerNorm."""
    return (
        f"Component {component} before {selected.label}: largest |x| **{three_digits(here.largest[component])}** at "
        f"{selected.quoted(here.token[component])}, **{three_digits(here.ratio[component])}** times the median "
        f"({answer.ordinal(here.order.index(component) + 1)} of {len(here.order):,})."
    )


def outliers_in_words(selected: Selected, here: norms.Extremes) -> str:
    """The outliers before one LayerNorm, with their tokens."""
    threshold = f"{norms.TIMES_CHANCE * here.chance:.0f} times the median of all |x|"
    if not here.outliers:
        top = here.order[0]
        return (
            f"No component exceeds {threshold}. Largest: component {top}, {here.ratio[top]:.1f} times the median, at "
            f"{selected.quoted(here.token[top])}."
        )
    listed = [
        f"**component {one}** with |x| = {three_digits(here.largest[one])} at {selected.quoted(here.token[one])}, "
        f"{here.ratio[one]:.0f} times the median"
        for one in here.outliers[:4]
    ]
    if len(here.outliers) > len(listed):
        listed.append(f"and {len(here.outliers) - len(listed)} more")
    return (
        f"Components beyond {threshold}: {len(here.outliers)} of {len(here.ratio)}. {'; '.join(listed)}. "
        "They raise the standard deviation that LayerNorm divides by; their gain scales them afterwards."
    )


def leaders_in_words(found: norms.OutlierDimensions) -> str:
    """The components that are largest at most LayerNorms."""
    (first, times), *others = list(found.leaders().items())[:4]
    rest = "".join(f", component {one} at {count}" for one, count in others)
    return (
        "The same ratio before every LayerNorm. "
        f"Component {first} is the largest at {times} of {len(found.by_norm)} LayerNorms{rest}. "
        "Select a cell for its LayerNorm and component."
    )
