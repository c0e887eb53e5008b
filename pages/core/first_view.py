"""The head and the token that the app opens with, while neither a link nor a person has chosen one.

They are computed on the visitor's own sentence (`measure.telling`), again for each new one, and stay out of the
address: the same sentence gives the same choice. From the first choice of a person on, nothing here changes a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from encoder.measure import telling
from encoder.measure.telling import Choice
from pages.core import cache, token_names
from pages.core.params import Param
from pages.core.url_state import state
from pages.core.view import View, ViewParams

_MADE, _OWN = "_first_view", "_head_or_token_chosen"
HEAD: tuple[Param[Any], ...] = (ViewParams.layer, ViewParams.head)
TOKENS: tuple[Param[Any], ...] = (ViewParams.i, ViewParams.j, ViewParams.more_queries, ViewParams.more_keys)


@dataclass(frozen=True)
class _Made:
    """A choice: for which model, text and pair; None where no word tells anything; the values that it set."""

    origin: tuple[cache.ModelKey, str, str | None]
    choice: Choice | None
    values: Mapping[str, Any]


def choose(key: cache.ModelKey) -> None:
    """Choose head and token for the sentence, if nobody has. Call before the widgets of layer and head are drawn.

    Raises EncoderError if the model cannot run.
    """
    reads, asked = state.asked()
    seen, own = st.session_state.get(_OWN, (0, False))
    made = st.session_state.get(_MADE)
    if seen != reads:  # a link was opened, or another page has set values before
        ours = {param.name: param.default for param in HEAD + TOKENS} if made is None else made.values
        own = any(param.name in asked or state.newest(param) != ours[param.name] for param in HEAD + TOKENS)
    origin = (key, state.get(ViewParams.text), state.get(ViewParams.pair) or None)
    if not own and made is not None and seen == reads:
        # A new sentence drops the old one's tokens, so they are compared within one sentence alone.
        compared = HEAD + TOKENS if made.origin == origin else HEAD
        own = any(state.newest(param) != made.values[param.name] for param in compared)
    st.session_state[_OWN] = reads, own
    if own:
        st.session_state.pop(_MADE, None)
        state.leave_out({}, HEAD + TOKENS)
        return
    if made is None or made.origin != origin or seen != reads:
        _make(origin)
    state.leave_out(st.session_state[_MADE].values, ())


def _make(origin: tuple[cache.ModelKey, str, str | None]) -> None:
    key, text, pair = origin
    config = cache.model(key).config
    choice = cache.derived(key, text, pair, "first view", telling.most_telling)
    values = {param.name: param.default for param in HEAD + TOKENS}
    if choice is not None:
        values |= {"layer": choice.layer, "head": choice.head, "i": choice.query}
    values["layer"] = min(values["layer"], config.n_layers - 1)
    values["head"] = min(values["head"], config.n_heads - 1)
    for param in HEAD + TOKENS:
        if state.newest(param) != values[param.name]:
            state.put(param, values[param.name])
    st.session_state[_MADE] = _Made(origin, choice, values)


def sentence(view: View) -> str:
    """What was chosen and why; "" where a link or a person chose."""
    made = st.session_state.get(_MADE)
    if made is None or made.choice is None or made.origin != (view.model, view.text, view.pair):
        return ""
    choice = made.choice
    word = token_names.quoted(view.trace.labels, choice.query)
    where = f"Chosen for you: L{choice.layer} H{choice.head}, where {word} attends most tellingly"
    if choice.is_pronoun:
        return f"{where} to an earlier word. A pattern is no proof of coreference."
    return f"{where}. A pattern is no proof of what the head does."
