"""The sidebar: what is looked at, the same on every page."""

from __future__ import annotations

import dataclasses

import streamlit as st

import encoder
from encoder import figures
from encoder.device import DTYPES, available_devices
from pages.core import cache, model_access
from pages.core.lazy import expander
from pages.core.view import COLOURS, EXAMPLES, SOURCES, View, model_key, state

_TEXT_BEFORE = "_text_before_trained"
#: No token is in more windows than this, whatever their stride.
MOST_SEEN = 20

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
        st.text_area,
        "text",
        "Sentence",
        height=96,
        placeholder="Type a sentence and press Enter",
        help="Press Enter to run it, Shift+Enter for a new line. Any language, any length: a text longer than the "
        "model takes is cut, or looked at window by window.",
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
            st.text_area,
            "pair",
            "Second sentence",
            height=68,
            label_visibility="collapsed",
            placeholder="Fills segment B",
            help="Runs both as a pair: [CLS] A [SEP] B [SEP].",
        )


def remember_sentence(sample: str) -> None:
    """Keep the typed sentence while a model that was trained here shows a sample of its task. For callbacks."""
    st.session_state[_TEXT_BEFORE] = (sample, st.session_state.get(_TEXT_BEFORE, (None, state.get("text")))[1])


def _restore_sentence() -> None:
    """The sentence that was typed before comes back when another model is chosen."""
    if st.session_state.get(state.key("model")) != "trained" and _TEXT_BEFORE in st.session_state:
        sample, before = st.session_state.pop(_TEXT_BEFORE)
        if state.get("text") == sample:
            state.put("text", before)


def _another_model() -> None:
    _restore_sentence()
    # Moved norms were chosen for the model before; "both" belongs to a page and stays.
    if state.get("norm") != "both":
        state.put("norm", "trained")


def long_text_controls(key: cache.ModelKey, model: encoder.TextEncoder) -> cache.ModelKey:
    """For a text longer than the model takes: cut it, or look at one window of it. Returns the key with the window."""
    text, pair = state.get("text"), state.get("pair") or None
    n_bytes = len(f"{text}{pair or ''}".encode("utf-8", "replace"))
    if n_bytes + 8 <= model.config.max_tokens:  # a token stands for a byte or more
        return key
    spans = cache.window_spans(key, text, pair)
    if len(spans) == 1:
        return key
    chosen = state.bound(
        st.segmented_control,
        "long",
        "Text longer than the model takes",
        ["cut", "windows"],
        required=True,
        width="stretch",
        format_func={"cut": "cut", "windows": "sliding windows"}.get,
        help="Cut: only its beginning is run. Sliding windows: the text is run in overlapping parts, each by itself, "
        "and one of them is shown; of two sentences the longer slides, and the other is in every window.",
    )
    if chosen == "cut":
        return key
    holds = spans[0].tokens[1]
    if state.newest("stride") is not None:
        state.limit("stride", -(-holds // MOST_SEEN), holds, "windows of this text follow one another by")
    stride = state.newest("stride")
    if stride is not None:
        key = dataclasses.replace(key, stride=stride)
        spans = cache.window_spans(key, text, pair)
    last = len(spans) - 1
    # A slider whose end has moved is another widget, which is to be told its value.
    st.session_state[state.key("window")] = state.limit("window", 0, last, "this text has windows")
    window = state.bound(st.slider, "window", "Window", min_value=0, max_value=last)
    state.bound(
        st.number_input, "stride", "A window every … tokens", min_value=-(-holds // MOST_SEEN), max_value=holds, step=1,
        value=None, placeholder=f"half a window: {max(1, holds // 2)}",
        help=f"A window holds {holds:,} tokens of text here; what is left of them overlaps with the next window.",
    )  # fmt: skip
    here = spans[window]
    which = "" if pair is None else f" of the {('first', 'second')[here.slides]} sentence’s"
    slid = pair if pair is not None and here.slides == 1 else text
    st.caption(
        f"Window {window} of 0 to {last}: tokens {here.tokens[0]:,} to {here.tokens[1] - 1:,}{which or ' of'} "
        f"{spans[-1].tokens[1]:,}, {plain(_ends(slid[slice(*here.characters)]))}"
    )
    return dataclasses.replace(key, window=window)


def _ends(text: str, length: int = 24) -> str:
    """The beginning and the end of a stretch of text, in quotes."""
    text = " ".join(text.split())
    if len(text) <= 2 * length + 5:
        return f"“{text}”"
    return f"“{text[:length].rsplit(' ', 1)[0]} … {text[-length:].split(' ', 1)[-1]}”"


def model_controls() -> None:
    """Which model runs: bundled, from a folder or the Hub, or random from scratch."""
    # What was trained here is offered once there is something.
    offered = [name for name in SOURCES if name != "trained" or name == state.get("model") or state.get("run")]
    kind = state.bound(st.selectbox, "model", "Model", offered, format_func=SOURCES.get, on_change=_another_model)
    if kind == "other":
        state.bound(
            st.text_input, "source", "Folder or Hub id", placeholder="org/name", help=model_access.source_help()
        )
    if kind == "trained":
        runs = {state.get("run"): "named by the link"} | cache.kept_models()
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
        wrap=False,
        required=True,
        format_func={"trained": "as is", "pre": "pre", "post": "post", "both": "both"}.get,
        help="As is: where the model has them. Post-norm: x = norm(x + f(x)), the original Transformer and BERT. "
        "Pre-norm: x = x + f(norm(x)). Moving the norms of a pretrained model changes what it computes without "
        "training it again. Both: side "
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


def head_controls_without_model() -> None:
    """Layer and head as they were chosen, kept for the model that comes next."""
    left, right = st.columns(2)
    for place, name in ((left, "layer"), (right, "head")):
        place.number_input(name.title(), value=max(0, state.get(name)), disabled=True, key=f"resting {name}")
    st.caption("Both count from 0, and can be chosen once there is a model.")


def display_controls() -> None:
    """Colours of the maps, and where the model runs."""
    state.bound(st.selectbox, "colours", "Colours of the maps", COLOURS, format_func=str.title)
    offered = ("auto", *available_devices())
    if state.get("device") not in offered:
        state.note(f"device={state.get('device')}: this machine has {', '.join(offered[1:])}. Shown: automatic.")
        state.put("device", "auto")
    part = expander("Device", "device")
    if part is None:
        return
    with part:
        state.bound(st.selectbox, "device", "Device", offered, format_func=lambda name: _DEVICES.get(name, name))
        state.bound(st.selectbox, "dtype", "Numbers", DTYPES)


def current_view(key: cache.ModelKey) -> View:
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


def read_model_key() -> cache.ModelKey:
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
        select(event["i"], state.get("j"))
    elif axis == "x":
        select(state.get("i"), event["j"])


def plain(text: str) -> str:
    """A token inside Markdown, shown as it is: Markdown's own signs are escaped, right-to-left text keeps its place."""
    signs = r"\`*_{}[]()#+-.!|<>$:~^"
    return "".join("\\" + character if character in signs else character for character in figures.isolated(text))
