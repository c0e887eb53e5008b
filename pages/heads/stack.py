"""Whose attention the page shows of a model with a decoder: the encoder's, the decoder's own, or cross-attention."""

import dataclasses

import streamlit as st

from pages.core.stores.model_key import DECODER
from pages.core.view import View
from pages.core.view.output import STACKS, Output, target_text, written
from pages.state import state


def choose(view: View) -> View | None:
    """The view itself, or that of its decoder over the output; None where the page shows cross-attention."""
    if view.loaded.takes == "cross":  # a file
        return None
    if view.loaded.decoder is None or not view.loaded.decoder.reads:
        return view
    with st.container(key="controls-stack", horizontal=True, vertical_alignment="center", gap="medium"):
        stack = state.segmented(Output.stack, "Attention of", STACKS, label_visibility="collapsed")
        if stack != "encoder":
            state.bound(
                st.text_input, Output.target, "Output", placeholder=f"Output: {written(view).text} (the model’s own)",
                label_visibility="collapsed", width=420,
                help="Type another output: the page then shows how probable each of its tokens is, and what it attends "
                "to.",
            )  # fmt: skip
    if stack == "encoder":
        return view
    return None if stack == "cross" else _of_decoder(view)


def _of_decoder(view: View) -> View:
    """The view of the decoder, whose tokens are the start, then the output without its end."""
    key = dataclasses.replace(view.model.of_model, tower=DECODER)
    shown = dataclasses.replace(view, model=key, pair=target_text(view))
    i, j = (one if one is not None and one < shown.trace.n_tokens else None for one in (view.i, view.j))
    return dataclasses.replace(shown, i=i, j=j)
