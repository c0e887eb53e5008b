"""The measures and roles of all heads of a view, computed once for every page and session that asks for them."""

from __future__ import annotations

import dataclasses

import streamlit as st

from encoder.measure import roles
from encoder.measure.heads import HeadMeasures, head_measures
from encoder.measure.roles import Finding, Thresholds
from encoder.measure.tokens import Queries
from pages.shared import cached
from pages.shared.view import View, state

#: From so many tokens on, measuring takes so long that a word is said meanwhile.
LONG_TEXT = 512


def measures(view: View, queries: Queries = "all", strong: float | None = None) -> HeadMeasures:
    """Every measure of every head, from one walk through the attention; with a spinner where the text is long.

    strong: threshold of the measure of that name; None: the one in the URL.
    """
    strong = state.get("strong") if strong is None else strong

    def make(trace) -> HeadMeasures:
        return head_measures(trace, queries=queries, strong=strong)

    what = ("measures", queries, strong)
    if view.trace.n_tokens < LONG_TEXT:
        return cached.derived(view.model, view.text, view.pair, what, make)
    with st.spinner(f"Measuring all heads over {view.trace.n_tokens:,} tokens …", show_time=True):
        return cached.derived(view.model, view.text, view.pair, what, make)


def thresholds() -> Thresholds:
    """From where on a head has a role, as the URL says: its values are called role_position, role_top, ..."""
    names = (field.name for field in dataclasses.fields(Thresholds))
    return Thresholds(**{name: state.get(f"role_{name}") for name in names})


def found_roles(view: View) -> tuple[tuple[tuple[Finding, ...], ...], ...]:
    """[L][H]: the roles of every head by the thresholds of the URL, each with the measure that shows it."""
    return roles.roles(measures(view), thresholds())


def badges(view: View) -> dict[str, str]:
    """ "L0H3" -> the badge of the head's first role, for `head_grid`; heads without one are left out."""
    shown = roles.badges(measures(view), thresholds())
    return {
        f"L{layer}H{head}": badge
        for layer, of_layer in enumerate(shown)
        for head, badge in enumerate(of_layer)
        if badge
    }
