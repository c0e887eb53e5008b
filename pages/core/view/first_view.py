"""The head and the token that the app opens with, while neither a link nor a person has chosen one.

They are computed on the visitor's own sentence (`measure.telling`), again for each new one, and stay out of the
address: the same sentence gives the same choice. From the first choice of a person on, nothing here changes a value.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from encoder.measure import telling
from encoder.run import ModelSpec, Run
from pages.core.stores import cache, model_store
from pages.core.view.view import View, ViewParams, typed_text
from pages.core.words import token_names
from pages.state import Param, not_chosen, state

_MADE, _OWN = "_first_view", "_head_or_token_chosen"
HEAD: tuple[Param[Any], ...] = (ViewParams.layer, ViewParams.head)
TOKENS: tuple[Param[Any], ...] = (ViewParams.i, ViewParams.j, ViewParams.more_queries, ViewParams.more_keys)


@dataclass(frozen=True)
class _Made:
    """A choice: for which run; None where no word tells anything; the values that it set."""

    origin: Run
    choice: telling.Choice | None
    values: Mapping[str, Any]


def choose(model: ModelSpec) -> None:
    """Choose head and token for the sentence, if nobody has. Call before the widgets of layer and head are drawn.

    Raises EncoderError if the model cannot run.
    """
    reads, asked = not_chosen.asked()
    seen, own = st.session_state.get(_OWN, (0, False))
    made = st.session_state.get(_MADE)
    # Another norm placement or an edit keeps the choice: a reader compares the same head and token.
    origin = Run(_unmoved(model), typed_text())
    if seen != reads:  # a link was opened, or another page has set values before
        own = any(param.name in asked for param in HEAD + TOKENS) or not _is(HEAD + TOKENS, made)
    elif not own and made is not None:
        own = not _is(HEAD + TOKENS if made.origin == origin else HEAD, made) or _stays(made, origin)
    if own and made is not None and made.origin != origin and not {param.name for param in HEAD + TOKENS} & asked:
        # A page that shows another model puts no place there, and the place from before back when you leave it.
        own = not (_is(HEAD + TOKENS, None) or _is(HEAD + TOKENS, _made(origin)))
    st.session_state[_OWN] = reads, own
    if own:
        st.session_state.pop(_MADE, None)
        not_chosen.leave_out({}, HEAD + TOKENS)
        return
    made = _made(origin)
    for param in HEAD + TOKENS:
        if state.newest(param) != made.values[param.name]:
            state.put(param, made.values[param.name])
    st.session_state[_MADE] = made
    not_chosen.leave_out(made.values, ())


def _unmoved(model: ModelSpec) -> ModelSpec:
    """The model with its norms where they were: as trained, or in post-norm where it is untrained."""
    return replace(model, norm="trained" if model.untrained is None else "post")


def _stays(made: _Made, origin: Run) -> bool:
    """Whether a choice for another model stays: the sentence is the same, and the new model has the place, too."""
    if made.origin == origin or made.origin.input != origin.input:
        return False
    config, old, new = model_store.model(origin.model).config, cache.trace(made.origin), cache.trace(origin)
    has_head = made.values["layer"] < config.n_layers and made.values["head"] < config.n_heads
    return has_head and old.labels == new.labels


def keep() -> None:
    """Keep head and tokens from now on: somebody chooses them, even if the choice is the same."""
    st.session_state[_OWN] = not_chosen.asked()[0], True


def again() -> None:
    """Choose head and token for the next sentence, whatever somebody chose for the one before. For callbacks."""
    st.session_state[_OWN] = not_chosen.asked()[0], False
    st.session_state.pop(_MADE, None)


def is_own() -> bool:
    """Whether somebody chose the head or the token."""
    return bool(st.session_state.get(_OWN, (0, False))[1])


def _is(params: Iterable[Param[Any]], made: _Made | None) -> bool:
    """Whether these have the values of a choice; None: their defaults."""
    return all(state.newest(param) == (param.default if made is None else made.values[param.name]) for param in params)


def _made(origin: Run) -> _Made:
    """The choice for a model and a text, computed once."""
    config = model_store.model(origin.model).config
    choice = cache.derived(origin, "most telling", telling.most_telling)
    values = {param.name: param.default for param in HEAD + TOKENS}
    if choice is not None:
        values |= {"layer": choice.layer, "head": choice.head, "i": choice.query}
    values["layer"] = min(values["layer"], max(0, config.n_layers - 1))
    values["head"] = min(values["head"], config.n_heads - 1)
    return _Made(origin, choice, values)


def suggests(token: int | None) -> bool:
    """Whether the selected token is the one that was chosen here, not by a link or a person."""
    made: _Made | None = st.session_state.get(_MADE)
    return made is not None and made.values[ViewParams.i.name] == token


def sentence(view: View) -> str:
    """What was chosen and why; "" where a link or a person chose, or where norms are moved or something is edited."""
    made = st.session_state.get(_MADE)
    if made is None or made.choice is None or made.origin != view.run.of_pass:
        return ""
    choice = made.choice
    word = token_names.quoted(view.trace.labels, choice.query)
    head = f"L{choice.layer} H{choice.head}"
    if choice.is_pronoun:  # a reader asks what it refers to
        return f"Attention is not reference. Chosen for you: {head}, whose attention from {word} is the most specific."
    return f"Chosen for you: {head}, where {word} attends most specifically."
