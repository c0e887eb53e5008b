"""A text as in a batch: padded to a length, padding's rows and columns shown or hidden, and what padding changes."""

from __future__ import annotations

import dataclasses

import streamlit as st

from encoder.figures.numbers import three_digits
from encoder.measure.padding import PaddingEffect, padding_effect
from pages.core import cache, sidebar
from pages.core.view import View, state

#: Up to so many tokens in a batch all heads are looked at; above, it is the open one, as the others take seconds.
EVERY_HEAD_TOKENS = 1_024
#: What rounding may change, as a share of the largest number of the output: float32, and bfloat16 with its 8 bits.
ROUNDING = {"float32": 1e-4, "bfloat16": 0.1}


def length_control(view: View) -> None:
    """How long the batch is."""
    state.bound(
        st.number_input, "pad", "As in a batch of … tokens", min_value=1, max_value=view.loaded.config.max_tokens,
        step=1, value=None, placeholder="no padding", disabled=not view.loaded.can_pad,
        help="A batch is a rectangle: texts shorter than its longest are filled up with padding. Give the length of "
        "the longest, and this text is run as it would be there. Empty: by itself, without padding.",
    )  # fmt: skip


def note(view: View) -> None:
    """Where a length is asked for: what padding does here, and the switch that shows it; or why there is none."""
    if state.get("pad") is None:
        return
    if view.model.pad is None:
        st.info(sidebar.plain(_why_not(view, state.get("pad"))), icon=":material/rectangle:")
        return
    with st.container(border=True, gap="small"):
        state.bound(
            st.toggle, "padding", "Show padding’s rows and columns",
            help="Means, strongest weights and measures leave padding’s rows out, shown or hidden.",
        )  # fmt: skip
        st.markdown(_told(view, _effect(view)))


def _why_not(view: View, length: int) -> str:
    """Why nothing is padded, and what can be done."""
    name, takes, n_tokens = view.loaded.name, view.loaded.config.max_tokens, view.trace.n_tokens
    if not view.loaded.can_pad:
        return f"The vocabulary of {name} has no padding token, so its texts cannot be padded."
    if n_tokens == takes:
        what = "This text" if view.model.window is None else "This window"
        other = "" if view.model.window is None else ", or the last window, which may be shorter"
        return (
            f"{what} fills all {takes:,} tokens that {name} takes, so there is no room for padding. Take a shorter text"
            f"{other}."
        )
    rest = f"Nothing is padded. Choose {n_tokens + 1:,} to {takes:,} tokens, or a shorter text."
    if length == n_tokens:
        return f"In a batch of {length:,} tokens this text is itself the longest. {rest}"
    return f"This text is {n_tokens:,} tokens, too long for a batch of {length:,}. {rest}"


def _effect(view: View) -> PaddingEffect:
    """What padding does, in all heads or, of a long batch, in the open one."""
    assert view.model.pad is not None
    padded = dataclasses.replace(view.model, padding=True)
    head = None if view.model.pad <= EVERY_HEAD_TOKENS else (view.layer, view.head)
    alone = cache.trace(dataclasses.replace(view.model, pad=None, padding=False), view.text, view.pair)
    return cache.derived(
        padded, view.text, view.pair, ("padding", head), lambda trace: padding_effect(trace, alone, head)
    )


def _told(view: View, effect: PaddingEffect) -> str:
    """The note's words."""
    n, total = effect.n_real, effect.n_real + effect.n_padding
    pad = sidebar.plain(view.loaded.tokenizer.pad_token)
    place = f"rows and columns {n:,} to {total - 1:,}" if effect.n_padding > 1 else f"row and column {n:,}"
    seen = f"{place} of the map" if view.model.padding else f"{place}, which are hidden"
    config = view.loaded.config
    every = view.model.pad <= EVERY_HEAD_TOKENS
    heads = f"all {config.n_layers * config.n_heads} heads" if every else f"L{view.layer} H{view.head}"
    off = max(abs(1 - total) for total in effect.row_sums)
    if effect.leaked:
        leak = f"Real tokens attend to padding in {heads}, with **{three_digits(effect.leaked)}** at most."
    else:
        leak = f"No real token attends to padding: the largest weight on it in {heads} is **0**."
    difference = f"**{effect.difference:.1e}**" if effect.difference else "**0**"
    if effect.difference <= ROUNDING[view.model.dtype] * effect.largest:
        change = "padding changes nothing: no number of a real token’s output differs from the text run alone by more "
        change += f"than {difference}, which is rounding."
    else:
        change = f"yet a number of a real token’s output differs from the text run alone by {difference}."
    return (
        f"**As in a batch of {total:,} tokens.** {effect.n_padding:,} × {pad} stand behind this text’s {n:,}: {seen}. "
        f"{leak} Padding’s own query rows sum to 1, too ({'none is' if effect.n_padding > 1 else 'it is'} off by "
        f"{'more than ' if effect.n_padding > 1 else ''}{off:.1e}), but nothing reads them, so {change}"
    )
