"""The sidebar: what is looked at, the same on every page."""

from __future__ import annotations

import dataclasses

import streamlit as st

import encoder
from encoder import figures
from encoder.device import DTYPES, available_devices
from pages.shared import cached, sources, training
from pages.shared.view import COLOURS, EXAMPLES, SOURCES, View, model_key, state

_KINDS = {"learned": "learned", "sinusoidal": "sinusoidal", "rotary": "rotary", "none": "none"}
_DEVICES = {"auto": "automatic", "cpu": "CPU", "cuda": "GPU (CUDA)", "mps": "GPU (MPS)"}
_ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU (tanh)", "silu": "SiLU"}


def _use_example() -> None:
    example = st.session_state.get("example")
    if example is not None:
        state.put("text", EXAMPLES[example])
        select(None, None)


def select(i: int | None, j: int | None) -> None:
    """Choose the query token i and the key token j, on every page."""
    state.put("i", i)
    state.put("j", j)
    # Tokens held beside them belong to the selection before.
    state.put("hold", [])
    state.put("hold_keys", [])


def open_head(layer: int, head: int) -> None:
    """Choose a layer and a head, on every page. For callbacks."""
    state.put("layer", layer)
    state.put("head", head)


def sentence_controls() -> None:
    """What is typed: one sentence, and a second one for segment B."""
    state.bound(
        st.text_input,
        "text",
        "Sentence",
        placeholder="Type a sentence and press Enter",
        help="Press Enter to run it. Any language, any length; what the model cannot take is cut, and said so.",
    )
    st.selectbox(
        "Example",
        list(EXAMPLES),
        index=None,
        key="example",
        placeholder="… or pick an example",
        label_visibility="collapsed",
        on_change=_use_example,
    )
    if state.too_long_for_url("text"):
        st.caption("The sentence is too long for a link: a copied link opens without it.")
    with st.expander("Second sentence", expanded=bool(state.get("pair"))):
        state.bound(
            st.text_input,
            "pair",
            "Second sentence",
            label_visibility="collapsed",
            placeholder="Fills segment B",
            help="Runs both as a pair: [CLS] A [SEP] B [SEP].",
        )


def model_controls() -> None:
    """Which model runs: bundled, from a folder or the Hub, or random from scratch."""
    # What was trained here is offered once there is something.
    offered = [name for name in SOURCES if name != "trained" or name == state.get("model") or state.get("run")]
    kind = state.bound(
        st.selectbox, "model", "Model", offered, format_func=SOURCES.get, on_change=training.leave_trained
    )
    if kind == "other":
        state.bound(st.text_input, "source", "Folder or Hub id", placeholder="org/name", help=sources.source_help())
    if kind == "trained":
        runs = {state.get("run"): "named by the link"} | cached.kept_models()
        state.bound(st.selectbox, "run", "Trained model", list(runs), format_func=runs.get)
    if kind == "scratch":
        _scratch_controls()
    trained = kind != "scratch"
    options = ["trained", "pre", "post", "both"] if trained else ["pre", "post", "both"]
    if not trained and state.get("norm") == "trained":
        state.put("norm", "post")
    state.bound(
        st.segmented_control,
        "norm",
        "Norm placement",
        options,
        width="stretch",
        required=True,
        format_func={"trained": "trained", "pre": "pre", "post": "post", "both": "both"}.get,
        help="Post-norm: x = norm(x + f(x)), the original Transformer and BERT. Pre-norm: x = x + f(norm(x)). "
        "Moving the norms of a pretrained model changes what it computes without training it again. Both: side "
        "by side, on a page of its own.",
    )


def _scratch_controls() -> None:
    with st.expander("Architecture", expanded=True):
        left, right = st.columns(2)
        state.bound(left.number_input, "layers", "Layers", min_value=1, max_value=24)
        state.bound(right.number_input, "heads", "Heads", min_value=1, max_value=16)
        state.bound(
            left.number_input, "width", "Width", min_value=4, max_value=768, help="d_model, a multiple of heads"
        )
        state.bound(right.number_input, "ffn", "FFN width", min_value=4, max_value=3072)
        state.bound(st.selectbox, "positions", "Positions", list(_KINDS), format_func=_KINDS.get)
        state.bound(st.selectbox, "activation", "Activation", list(_ACTIVATIONS), format_func=_ACTIVATIONS.get)
        state.bound(st.toggle, "gated", "Gated FFN")
        state.bound(st.number_input, "seed", "Seed", min_value=0, max_value=999_999)


def head_controls(config: encoder.EncoderConfig) -> None:
    """Which layer and head; their limits come from the model."""
    state.limit("layer", 0, config.n_layers - 1, "this model has layers")
    state.limit("head", 0, config.n_heads - 1, "this model has heads")
    left, right = st.columns(2)
    state.bound(left.number_input, "layer", "Layer", min_value=0, max_value=config.n_layers - 1)
    state.bound(right.number_input, "head", "Head", min_value=0, max_value=config.n_heads - 1)
    st.caption("Both count from 0: L0 H0 is the first head of the first layer.")


def display_controls() -> None:
    """Colours of the maps, and where the model runs."""
    state.bound(st.selectbox, "colours", "Colours of the maps", COLOURS, format_func=str.title)
    with st.expander("Device"):
        offered = ("auto", *available_devices())
        if state.get("device") not in offered:
            state.note(f"device={state.get('device')}: this machine has {', '.join(offered[1:])}. Shown: automatic.")
            state.put("device", "auto")
        state.bound(st.selectbox, "device", "Device", offered, format_func=lambda name: _DEVICES.get(name, name))
        state.bound(st.selectbox, "dtype", "Numbers", DTYPES)


def current_view(key: cached.ModelKey) -> View:
    """The View of this run, after the sidebar is drawn."""
    return View(
        model=key,
        text=state.get("text"),
        pair=state.get("pair") or None,
        layer=state.get("layer"),
        head=state.get("head"),
        i=state.get("i"),
        j=state.get("j"),
        colours=state.get("colours"),
    )


def with_selection_inside(view: View, n_tokens: int) -> View:
    """The view without a selected token that the sentence does not have; a link that asked for one gets a word."""
    kept = {}
    for name in ("i", "j"):
        value = getattr(view, name)
        if value is not None and value >= n_tokens:
            state.note(f"{name}={value}: this sentence has tokens 0 to {n_tokens - 1}. No such token is selected.")
            state.put(name, None)
            value = None
        kept[name] = value
    return dataclasses.replace(view, **kept)


def read_model_key() -> cached.ModelKey:
    """The model that the sidebar names. Raises EncoderError with a sentence."""
    return model_key()


def select_from(event: dict, block: int = 1) -> None:
    """Take a click on a map over as the selection: a cell, a token of an axis, or its end. For callbacks.

    block: tokens that one cell stands for; a click on a cell of a pooled map selects no single token.
    """
    if event.get("event") != "click":
        return
    axis = event["axis"]
    if axis == "clear":
        select(None, None)
    elif axis == "cell" and block == 1:
        select(event["i"], event["j"])
    elif axis == "y":
        state.put("i", event["i"])
    elif axis == "x":
        state.put("j", event["j"])


def plain(text: str) -> str:
    """A token inside Markdown, shown as it is: Markdown's own signs are escaped, right-to-left text keeps its place."""
    signs = r"\`*_{}[]()#+-.!|<>$:~^"
    return "".join("\\" + character if character in signs else character for character in figures.isolated(text))
