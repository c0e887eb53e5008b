"""The measures and types of all heads of a view, computed once for all pages and sessions."""

import dataclasses
from collections.abc import Iterable
from contextlib import nullcontext
from functools import lru_cache
from typing import Any, TypeVar

import streamlit as st

from encoder import Trace
from encoder.measure import head_types
from encoder.measure.head_definitions import BY_NAME, OWN, Definition
from encoder.measure.head_measures import STRONG, HeadMeasures, head_measures
from encoder.measure.head_types import HEAD_TYPES, Finding, HeadType, Thresholds
from encoder.trace.tokens import Queries
from pages.core.view.view import View
from pages.core.words import token_names
from pages.state import Param, choice, number, state

#: Texts from this many tokens on take long to measure, so a spinner is shown.
LONG_TEXT = 512

_USUAL = Thresholds()

Named = TypeVar("Named", Definition, HeadType)


@state.register
class HeadTypeParams:
    """The head type to show, the thresholds of all types, and the threshold of a strong weight."""

    head_type: Param[str] = choice("", ("", *(one.name for one in HEAD_TYPES)), url="role")
    position: Param[float] = number(_USUAL.position, 0.0, 1.0, url="role_position")
    top: Param[float] = number(_USUAL.top, 0.0, 1.0, url="role_top")
    special: Param[float] = number(_USUAL.special, 0.0, 1.0, url="role_special")
    broad: Param[float] = number(_USUAL.broad, 0.0, 1.0, url="role_broad")
    same: Param[float] = number(_USUAL.same, 0.0, 1.0, url="role_same")
    strong: Param[float] = number(STRONG, 0.0, 1.0)


def offered(trace: Trace) -> dict[str, Definition]:
    """Name -> measure, for those that mean something for this input, in its words.

    An image or a sound has no words and no separators; it may have no special token, or several ([DIST], registers).
    """
    left_out = _left_out(trace)
    return {one.name: _in_words(one, trace) for one in BY_NAME.values() if one.name not in left_out}


def offered_types(trace: Trace) -> dict[str, HeadType]:
    """Name -> head type, for those of which one measure is `offered`."""
    left_out = _left_out(trace)
    return {
        one.name: _in_words(one, trace)
        for one in HEAD_TYPES
        if not {measure for measure, _, _ in one.rules} <= left_out
    }


def _left_out(trace: Trace) -> set[str]:
    if trace.layout is None:
        return set()
    return {"punctuation", "same_token", "own_word", *("cls", "sep")[len(trace.layout.before) :]}


def _in_words(one: Named, trace: Trace) -> Named:
    """A measure or a head type of separators, named after the special tokens of an image or a sound."""
    if one.name != "sep" or trace.layout is None:
        return one
    names = token_names.some(trace.layout.before[1:])
    if isinstance(one, Definition):
        formula = one.formula.replace("[SEP]", "special")
        said = f"Mean weight on the special tokens after the first: {names}."
        return dataclasses.replace(one, title="On other special tokens", formula=formula, source=OWN, sentence=said)
    said = f"Tokens attend mainly to the special tokens after the first: {names}."
    return dataclasses.replace(one, title="Sink on other special tokens", badge="other", sentence=said)


def measures(view: View, queries: Queries = "all") -> HeadMeasures:
    """Every measure of every head, from one pass over the attention; with a spinner for a long text."""
    strong = state.get(HeadTypeParams.strong)
    n_tokens = view.trace.n_tokens
    is_long = n_tokens >= LONG_TEXT
    with st.spinner(f"Measuring all heads over {n_tokens:,} tokens …", show_time=True) if is_long else nullcontext():
        what = ("measures", queries, strong)
        return view.derived(what, lambda trace: head_measures(trace, queries=queries, strong=strong))


def thresholds() -> Thresholds:
    """The thresholds of the head types in the address."""
    params = state.read(HeadTypeParams)
    return Thresholds(**{field.name: getattr(params, field.name) for field in dataclasses.fields(Thresholds)})


def found_types(view: View) -> tuple[tuple[tuple[Finding, ...], ...], ...]:
    """[L][H]: the types of every head by the thresholds in the address, each with the measure that shows it."""
    return _found(measures(view), thresholds())


@lru_cache(64)
def _found(measures: HeadMeasures, thresholds: Thresholds) -> tuple[tuple[tuple[Finding, ...], ...], ...]:
    return head_types.find(measures, thresholds)


def badges(view: View) -> dict[str, str]:
    """ "L0H3" -> the badge of the head's first type, for `head_grid`; heads without one are left out."""
    types = offered_types(view.trace)
    return {
        f"L{layer}H{head}": types[found[0].head_type.name].badge
        for layer, of_layer in enumerate(found_types(view))
        for head, found in enumerate(of_layer)
        if found
    }


def badge_legend(trace: Trace, shown: Iterable[str], *, marks: bool = False) -> str:
    """These badges, with their letters or without, and the head types that they mark, in Markdown."""
    found = set(shown)
    types = offered_types(trace).values()
    named = ", ".join(
        f"**{f'{one.mark}, ' if marks else ''}{one.badge}** {one.title.lower().removeprefix(f'{one.badge} ')}"
        for one in types
        if one.badge in found
    )
    return f"{'A letter or a word above a map' if marks else 'A word'} marks a head type: {named}."


def type_filter(trace: Trace, every: str, **look: Any) -> str:
    """The widget of the head type to show; its name, "" for all. every: what that is called; look: of the widget."""
    titles = {"": every} | {name: one.title for name, one in offered_types(trace).items()}
    return state.selectbox(HeadTypeParams.head_type, "Head type", titles, **look)
