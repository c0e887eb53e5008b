"""The measures and roles of all heads of a view, computed once for every page and session that asks for them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import streamlit as st

from encoder.measure import roles
from encoder.measure.heads import STRONG, HeadMeasures, head_measures
from encoder.measure.roles import ROLES, Finding, Thresholds
from encoder.measure.tokens import Queries
from pages.core import cache
from pages.core.params import Param, choice, number
from pages.core.url_state import state
from pages.core.view import View

#: From so many tokens on, measuring takes so long that a word is said meanwhile.
LONG_TEXT = 512

_USUAL = Thresholds()


@state.register
@dataclass(frozen=True)
class HeadTypeParams:
    """Which head type is asked for; from where on a head has one, and from where on a weight is strong."""

    role: Param[str] = choice("", ("", *(role.name for role in ROLES)))
    role_position: Param[float] = number(_USUAL.position, 0.0, 1.0)
    role_top: Param[float] = number(_USUAL.top, 0.0, 1.0)
    role_special: Param[float] = number(_USUAL.special, 0.0, 1.0)
    role_broad: Param[float] = number(_USUAL.broad, 0.0, 10.0)
    role_same: Param[float] = number(_USUAL.same, 0.0, 1.0)
    strong: Param[float] = number(STRONG, 0.0, 1.0)


def measures(view: View, queries: Queries = "all", strong: float | None = None) -> HeadMeasures:
    """Every measure of every head, from one walk through the attention; with a spinner where the text is long.

    strong: threshold of the measure of that name; None: the one in the URL.
    """
    strong = state.get("strong") if strong is None else strong

    def make(trace) -> HeadMeasures:
        return head_measures(trace, queries=queries, strong=strong)

    what = ("measures", queries, strong)
    if view.trace.n_tokens < LONG_TEXT:
        return cache.derived(view.model, view.text, view.pair, what, make)
    with st.spinner(f"Measuring all heads over {view.trace.n_tokens:,} tokens …", show_time=True):
        return cache.derived(view.model, view.text, view.pair, what, make)


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
