"""Padding: the length of the batch, and a note on what padding changes."""

import streamlit as st

from encoder.figures.numbers import three_digits
from encoder.measure.padding import PaddingEffect, padding_effect
from pages.core.view import View, ViewParams
from pages.core.words import plain
from pages.state import state

#: Up to this many tokens with padding, the note covers all heads; above, the open one, since all take seconds.
EVERY_HEAD_TOKENS = 1_024
#: What rounding may change, as a share of the output's largest number: float32, and bfloat16 with its 8 bits.
ROUNDING = {"float32": 1e-4, "bfloat16": 0.1}


def length_control(view: View) -> None:
    """The length of the batch."""
    state.bound(
        st.number_input,
        ViewParams.pad,
        "Pad to length",
        min_value=1,
        max_value=view.loaded.config.max_tokens,
        step=1,
        value=None,
        placeholder="no padding",
        disabled=not view.loaded.can_pad,
        help="In a batch, shorter texts get padding tokens up to the length of the longest one. Enter that length to "
        "run this text as in such a batch. Empty: no padding.",
    )


def note(view: View) -> None:
    """For a padded text: what padding does here, and the switch that shows it. Otherwise why nothing is padded."""
    length = state.get(ViewParams.pad)
    if length is None:
        return
    if view.run.of_text.pad_to is None:
        st.info(plain(_why_not(view, length)), icon=":material/rectangle:")
        return
    with st.container(border=True, gap="small"):
        state.bound(
            st.toggle,
            ViewParams.padding,
            "Show rows and columns of padding",
            help="Means, strongest weights and head measures never count the rows of padding.",
        )
        st.markdown(_description(view, _effect(view)))


def _why_not(view: View, length: int) -> str:
    """Why nothing is padded, and what to do."""
    name, most, n_tokens = view.loaded.name, view.loaded.config.max_tokens, view.trace.n_tokens
    if not view.loaded.can_pad:
        return f"The vocabulary of {name} has no padding token, so its texts cannot be padded."
    if n_tokens == most and view.run.of_text.window is None:
        return f"This text fills all {most:,} tokens of {name}, so no room is left for padding. Choose a shorter text."
    if n_tokens == most:
        return (
            f"This window fills all {most:,} tokens of {name}, so no room is left for padding. Choose the last "
            "window, or a shorter text."
        )
    return (
        f"Nothing is padded to {length:,}: this text has {n_tokens:,} tokens. Choose a length of {n_tokens + 1:,} to "
        f"{most:,}, or a shorter text."
    )


def _effect(view: View) -> PaddingEffect:
    """What padding changes, in all heads or, of a long text, in the open one."""
    length = view.run.of_text.pad_to
    assert length is not None
    head = None if length <= EVERY_HEAD_TOKENS else (view.layer, view.head)
    alone = view.but(pad_to=None, padding=False).trace
    return view.but(padding=True).derived(("padding", head), lambda trace: padding_effect(trace, alone, head))


def _description(view: View, effect: PaddingEffect) -> str:
    n, total = effect.n_real, effect.n_real + effect.n_padding
    pad = plain(view.loaded.tokenizer.pad_token)
    config = view.loaded.config
    heads = f"L{view.layer} H{view.head}"
    if total <= EVERY_HEAD_TOKENS:
        heads = f"all {config.n_layers * config.n_heads} heads"
    shown = "shown" if view.run.of_text.padding else "hidden"
    deviation = max(abs(1 - row_sum) for row_sum in effect.row_sums)
    difference = f"{effect.difference:.1e}" if effect.difference else "0"
    if effect.difference <= ROUNDING[view.model.dtype] * effect.largest:
        verdict = "This is within rounding: padding does not change the result."
    else:
        verdict = "This is more than rounding."
    return (
        f"**Padded to {total:,} tokens.** {effect.n_padding:,} × {pad} follow the {n:,} tokens of this text, as rows "
        f"and columns {n:,} to {total - 1:,} ({shown}).\n"
        f"- Largest weight from a real token to padding, in {heads}: **{three_digits(effect.leaked)}**\n"
        f"- Rows of padding also sum to 1 (largest deviation: {deviation:.1e}), but no real token attends to them.\n"
        f"- Largest difference of a real token's output from the text without padding: **{difference}**. {verdict}"
    )
