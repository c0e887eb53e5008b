"""What the decoder of the open model writes: the choice between encoder, decoder and cross-attention; the output."""

import dataclasses

import streamlit as st

from encoder.edits import AblateHead
from encoder.encoders.generate import Generation
from encoder.encoders.text import TextEncoder
from encoder.trace.trace import Trace
from pages.core.stores.model_key import DECODER
from pages.core.view.view import View
from pages.state import Head, Param, choice, heads, state, string, whole_number

#: Of a model with a decoder: whose attention the page Heads shows.
STACKS = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross-attention"}
#: Tokens of an output that a page shows, and outputs that beam search keeps.
MOST_OUTPUT, BEAMS = 48, 4


@state.register
class Output:
    """What the decoder writes. target: a forced output, "": its own; step: the selected token of it; off: heads of
    cross-attention that are switched off; other: a text whose vectors it reads instead."""

    stack: Param[str] = choice("encoder", STACKS)
    target: Param[str] = string(url="output")
    step: Param[int | None] = whole_number(None, 0, url="output_token")
    off: Param[list[Head]] = heads(64, url="cross_off")
    other: Param[str] = string(url="vectors_of")


def of_stack(view: View) -> View | None:
    """The view itself, or that of its decoder over the output; None where the page shows cross-attention."""
    if view.loaded.decoder is None or not view.loaded.decoder.reads:
        return view
    with st.container(key="heads-stack"):
        stack = state.segmented(Output.stack, "Attention of", STACKS, label_visibility="collapsed")
    if stack == "encoder":
        return view
    return None if stack == "cross" else of_decoder(view)


def of_decoder(view: View) -> View:
    """The view of the decoder, whose tokens are the start, then the output without its end."""
    key = dataclasses.replace(view.model.of_model, tower=DECODER)
    shown = dataclasses.replace(view, model=key, pair=target_text(view))
    n_tokens, config = shown.trace.n_tokens, shown.loaded.config
    i, j = (one if one is not None and one < n_tokens else None for one in (view.i, view.j))
    return dataclasses.replace(
        shown, i=i, j=j, layer=min(view.layer, config.n_layers - 1), head=min(view.head, config.n_heads - 1)
    )


def target_text(view: View) -> str:
    """The forced output, or what the model writes."""
    return state.get(Output.target).strip() or written(view).text


def written(view: View, off: tuple[Head, ...] = (), other: str = "", beams: int = 1) -> Generation:
    """What the model writes by itself, without the heads `off` of cross-attention, from the vectors of `other`."""

    def make(trace: Trace) -> Generation:
        model = view.loaded
        return model.generate(source(model, trace, other), MOST_OUTPUT, beams=beams, decoder_edits=edits_of(off))

    return view.derived(("written", off, other, beams), make)


def decoded(view: View, off: tuple[Head, ...] = (), other: str = "") -> Trace:
    """The trace with the decoder's pass over the forced output, or over what it writes without edits."""
    forced = state.get(Output.target).strip()
    target = forced or written(view).ids

    def make(trace: Trace) -> Trace:
        return view.loaded.decode(source(view.loaded, trace, other), target, edits=edits_of(off))

    return view.derived(("decoded", target, off, other), make)


def source(model: TextEncoder, trace: Trace, other: str) -> Trace:
    """The trace whose vectors the decoder uses: the input's, or those of another text."""
    return model.trace(other) if other and model.takes == "text" else trace


def edits_of(off: tuple[Head, ...]) -> tuple[AblateHead, ...]:
    """Switch these heads of cross-attention off."""
    return tuple(AblateHead(layer, head, cross=True) for layer, head in off)
