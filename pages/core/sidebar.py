"""The sidebar: sentence, model, layer and head, the same on every page."""

from __future__ import annotations

import dataclasses

import streamlit as st

import encoder
from encoder.config import POSITION_KINDS
from encoder.device import DTYPES, available_devices
from pages.components import PlotEvent, on_click
from pages.core import cache, links, model_access
from pages.core.lazy import expander
from pages.core.markdown import plain
from pages.core.url_state import state
from pages.core.view import (
    COLOURS,
    EXAMPLES,
    LEAST_WIDTH,
    MOST_WIDTH,
    SOURCES,
    UntrainedParams,
    View,
    ViewParams,
)  # fmt: skip

_TEXT_BEFORE = "_text_before_trained"
#: The most windows that hold one token, at the smallest stride.
MOST_SEEN = 20

_DEVICES = {"auto": "automatic", "cpu": "CPU", "cuda": "GPU (CUDA)", "mps": "GPU (MPS)"}
_ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU (tanh)", "silu": "SiLU"}


def _use_example() -> None:
    example = st.session_state.get("example")
    if example is not None:
        state.put(ViewParams.text, EXAMPLES[example])
        select(None, None)


def select(i: int | None, j: int | None) -> None:
    """Select the query token i and the key token j on every page, and no others."""
    state.put(ViewParams.i, i)
    state.put(ViewParams.j, j)
    state.put(ViewParams.more_queries, [])
    state.put(ViewParams.more_keys, [])


def open_head(layer: int, head: int) -> None:
    """Open a layer and a head on every page. For callbacks."""
    state.put(ViewParams.layer, layer)
    state.put(ViewParams.head, head)


def sentence_controls() -> None:
    """One sentence, and a second one for segment B."""
    state.bound(
        st.text_area, ViewParams.text, "Sentence", height=96, placeholder="Type a sentence and press Enter",
        help="Enter runs the sentence; Shift+Enter starts a new line. Any language and any length: a text longer than "
        "the model takes is cut, or shown window by window.",
    )  # fmt: skip
    st.selectbox(
        "Example", list(EXAMPLES), index=None, key="example", placeholder="… or choose an example",
        label_visibility="collapsed", on_change=_use_example,
    )  # fmt: skip
    if state.too_long_for_url(ViewParams.text):
        st.caption("The sentence is too long for a link: a copied link opens without it.")
    with st.expander("Second sentence", expanded=bool(state.get(ViewParams.pair))):
        state.bound(
            st.text_area, ViewParams.pair, "Second sentence", height=68, label_visibility="collapsed",
            placeholder="Segment B", help="The model then reads both sentences as a pair: [CLS] A [SEP] B [SEP].",
        )  # fmt: skip


def remember_sentence(sample: str) -> None:
    """Keep the typed sentence while a model trained here shows a sample of its task. For callbacks."""
    typed = st.session_state.get(_TEXT_BEFORE, (None, state.get(ViewParams.text)))[1]
    st.session_state[_TEXT_BEFORE] = (sample, typed)


def _another_model() -> None:
    """Bring the typed sentence and the original norms back when another model is chosen."""
    if st.session_state.get(state.key(ViewParams.model)) != "trained" and _TEXT_BEFORE in st.session_state:
        sample, before = st.session_state.pop(_TEXT_BEFORE)
        if state.get(ViewParams.text) == sample:
            state.put(ViewParams.text, before)
    # A moved norm was chosen for the model before; "both" belongs to a page and stays.
    if state.get(ViewParams.norm) != "both":
        state.put(ViewParams.norm, "trained")


def long_text_controls(key: cache.ModelKey, model: encoder.TextEncoder) -> cache.ModelKey:
    """For a text longer than the model takes: cut it, or show one window of it. Returns the key with the window."""
    text, pair = state.get(ViewParams.text), state.get(ViewParams.pair) or None
    n_bytes = len(f"{text}{pair or ''}".encode("utf-8", "replace"))
    if n_bytes + 8 <= model.config.max_tokens:  # every token covers a byte or more
        return key
    if len(cache.window_spans(key, text, pair)) == 1:
        return key
    chosen = state.segmented(
        ViewParams.long,
        "Text longer than the model takes",
        {"cut": "Cut", "windows": "Sliding windows"},
        width="stretch",
        help="Cut: the model reads the beginning only. Sliding windows: it reads overlapping parts, each by itself. "
        "For a pair, windows slide over the longer sentence and keep the other one.",
    )
    return key if chosen == "cut" else _window_controls(key, text, pair)


def _window_controls(key: cache.ModelKey, text: str, pair: str | None) -> cache.ModelKey:
    """Which sliding window is shown, and how many tokens lie between two windows."""
    size = cache.window_spans(key, text, pair)[0].tokens[1]
    least = -(-size // MOST_SEEN)
    if state.newest(ViewParams.stride) is not None:
        state.limit(ViewParams.stride, least, size, "windows of this text can follow one another by")
        key = dataclasses.replace(key, stride=state.newest(ViewParams.stride))
    spans = cache.window_spans(key, text, pair)
    last = len(spans) - 1
    # Streamlit takes a slider with another end for a new widget, which must be given its value.
    st.session_state[state.key(ViewParams.window)] = state.limit(ViewParams.window, 0, last, "this text has windows")
    window = state.bound(st.slider, ViewParams.window, "Window", min_value=0, max_value=last)
    state.bound(
        st.number_input, ViewParams.stride, "Tokens between windows", min_value=least, max_value=size, step=1,
        value=None, placeholder=f"half a window: {max(1, size // 2)}",
        help=f"A window holds {size:,} tokens of this text. A smaller number gives more overlap.",
    )  # fmt: skip
    span = spans[window]
    slid = pair if pair is not None and span.slides == 1 else text
    whose = "" if pair is None else f" of the {('first', 'second')[span.slides]} sentence"
    st.caption(
        f"Window {window} of 0 to {last}: tokens {span.tokens[0]:,} to {span.tokens[1] - 1:,} of "
        f"{spans[-1].tokens[1]:,}{whose}. {plain(_ends(slid[slice(*span.characters)]))}"
    )
    return dataclasses.replace(key, window=window)


def _ends(text: str, length: int = 24) -> str:
    """The beginning and the end of a text, in quotes."""
    text = " ".join(text.split())
    if len(text) <= 2 * length + 5:
        return f"“{text}”"
    return f"“{text[:length].rsplit(' ', 1)[0]} … {text[-length:].split(' ', 1)[-1]}”"


def model_controls() -> None:
    """Which model runs: a bundled one, a folder, a Hub id, one trained here or an untrained one."""
    has_trained = state.get(ViewParams.model) == "trained" or state.get(ViewParams.run)
    offered = [name for name in SOURCES if name != "trained" or has_trained]
    kind = state.bound(
        st.selectbox, ViewParams.model, "Model", offered, format_func=SOURCES.get, on_change=_another_model
    )
    if kind == "other":
        state.bound(
            st.text_input,
            ViewParams.source,
            "Folder or Hub id",
            placeholder="org/name",
            help=model_access.source_help(),
        )
    if kind == "trained":
        runs = {state.get(ViewParams.run): "the model of the link"} | cache.kept_models()
        state.bound(st.selectbox, ViewParams.run, "Trained model", list(runs), format_func=runs.get)
    if kind == "scratch":
        _untrained_controls()
    _norm_controls(untrained=kind == "scratch")


def _norm_controls(*, untrained: bool) -> None:
    """The placement of the norms, and the way to the page that shows both."""
    norm = state.newest(ViewParams.norm)
    if norm == "both":  # on the page that shows both
        st.caption("Norm placement: this page shows both.")
        return
    if untrained and norm == "trained":
        state.put(ViewParams.norm, "post")
    state.bound(
        st.segmented_control,
        ViewParams.norm,
        "Norm placement",
        ["pre", "post"] if untrained else ["trained", "pre", "post"],
        width="stretch",
        wrap=False,
        required=True,
        format_func={"trained": "Original", "pre": "Pre-norm", "post": "Post-norm"}.get,
        help="Original: as the model was trained. Post-norm: x = norm(x + f(x)), as in the first Transformer and BERT. "
        "Pre-norm: x = x + f(norm(x)). Moving the norms of a trained model changes its results; it is not retrained.",
    )
    if links.exists("pre_post"):
        st.button(
            "Compare both", type="tertiary", icon=":material/compare:", key="compare both placements",
            on_click=state.put, args=(ViewParams.norm, "both"),
        )  # fmt: skip


def _untrained_controls() -> None:
    own = UntrainedParams
    with st.expander("Architecture", expanded=True):
        left, right = st.columns(2)
        state.bound(left.number_input, own.layers, "Layers", min_value=1, max_value=24)
        state.bound(right.number_input, own.heads, "Heads", min_value=1, max_value=16)
        state.bound(
            left.number_input, own.width, "Width", min_value=LEAST_WIDTH, max_value=MOST_WIDTH,
            help="d_model, a multiple of the number of heads",
        )  # fmt: skip
        state.bound(right.number_input, own.ffn, "FFN width", min_value=4, max_value=3072)
        state.bound(st.selectbox, own.positions, "Positions", POSITION_KINDS)
        state.bound(st.selectbox, own.activation, "Activation", list(_ACTIVATIONS), format_func=_ACTIVATIONS.get)
        state.bound(st.toggle, own.gated, "Gated FFN")
        state.bound(st.number_input, own.seed, "Seed", min_value=0, max_value=999_999)


def head_controls(config: encoder.EncoderConfig | None) -> None:
    """Which layer and head. config: of the model, which sets their limits; None: no model, both wait for the next."""
    places = zip(st.columns(2), (ViewParams.layer, ViewParams.head), ("Layer", "Head"), strict=True)
    for place, param, title in places:
        if config is None:
            value = max(0, state.get(param))
            place.number_input(title, value=value, disabled=True, key=f"resting {param.name}")
            continue
        last = (config.n_layers if param is ViewParams.layer else config.n_heads) - 1
        state.limit(param, 0, last, f"this model has {param.name}s")
        state.bound(place.number_input, param, title, min_value=0, max_value=last)
    st.caption("Both count from 0: L0 H0 is the first head of the first layer.")


def display_controls() -> None:
    """The colours of the maps; where and with which precision the model runs."""
    state.bound(st.selectbox, ViewParams.colours, "Colours of the maps", COLOURS, format_func=str.title)
    offered = ("auto", *available_devices())
    device = state.get(ViewParams.device)
    if device not in offered:
        state.note(f"device={device}: this machine has {', '.join(offered[1:])}. Shown: automatic.")
        state.put(ViewParams.device, "auto")
    part = expander("Device", "device")
    if part is None:
        return
    with part:
        state.bound(
            st.selectbox, ViewParams.device, "Device", offered, format_func=lambda name: _DEVICES.get(name, name)
        )
        state.bound(st.selectbox, ViewParams.dtype, "Precision", DTYPES, help="bfloat16 needs half the memory.")


def current_view(key: cache.ModelKey) -> View:
    """The View of this run, after the sidebar is drawn."""
    own = state.read(ViewParams)
    return View(
        model=key, text=own.text, pair=own.pair or None, layer=own.layer, head=own.head,
        i=own.i, j=own.j, colours=own.colours,
    )  # fmt: skip


def with_selection_inside(view: View, n_tokens: int) -> View:
    """The view without selected tokens that the text does not have; a note tells a link that asked for one."""
    for param in (ViewParams.i, ViewParams.j):
        value = state.get(param)
        if value is not None and value >= n_tokens:
            state.note(
                f"{param.name}={value}: this sentence has tokens 0 to {n_tokens - 1}. No such token is selected."
            )
            state.put(param, None)
            view = dataclasses.replace(view, **{param.name: None})
    return view


def select_from(event: PlotEvent, block: int = 1) -> None:
    """Take a click on a map as the selection: a cell, a token of an axis, or "clear". For callbacks.

    block: tokens that one cell covers; a cell of a pooled map is no single token.
    """
    on_click(
        cell=lambda i, j: select(i, j) if block == 1 else None,
        row=lambda i: select(i, state.get(ViewParams.j)),
        column=lambda j: select(state.get(ViewParams.i), j),
        clear=lambda: select(None, None),
    )(event)
