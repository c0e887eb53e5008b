"""The View: text, model and place that a page shows, read from the session and the address only."""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

import streamlit as st

import encoder
from encoder.load import BUNDLED
from encoder.model.config import ACTIVATIONS, NORM_PLACEMENTS
from encoder.model.device import DEVICES, DTYPES
from encoder.model.layers import NORM_NAMES
from encoder.train.settings import ATTENTION, ENCODINGS, block
from pages.core.stores import cache, input_kinds, model_access, model_store, trained
from pages.state import Param, ZoomWindow, choice, flag, several, state, string, whole_number
from pages.state.params import token_positions, zoom_window

FIRST_SENTENCE = "The animal didn't cross the street because it was too tired."

SOURCES = {name: one.label for name, one in BUNDLED.items()} | {
    "scratch": "Untrained (random weights)",
    "trained": "My trained models",
    "other": "Folder or Hub id",
}
COLOURS = ("viridis", "cividis", "magma", "greys")

#: Where the colours of a map end.
RANGES = {"words": "Words", "fixed": "0 to 1", "head": "Fit to map"}

#: More tokens selected at once than this make a link that nobody reads, and a sum that says nothing.
MOST_SELECTED = 64


#: Where the session keeps what the open page accepts.
PAGE_TAKES, PAGE_BOTH = "_page_takes", "_page_shows_both_norms"


@state.register
class ViewParams:
    """What every page shows: the text, the model, the place in it."""

    text: Param[str] = string(FIRST_SENTENCE)
    pair: Param[str] = string()
    model: Param[str] = choice("minilm", SOURCES)
    # The encoder of a model of images and text, on pages that can show both.
    tower: Param[str] = choice("text", ("text", "image", "sound"))
    source: Param[str] = string()
    run: Param[str] = string(public="the id of a run on the server")
    layer: Param[int] = whole_number(0)
    head: Param[int] = whole_number(2)
    norm: Param[str] = choice("trained", ("trained", *NORM_PLACEMENTS), shown="Original")
    i: Param[int | None] = whole_number(None)
    j: Param[int | None] = whole_number(None)
    # Tokens selected next to i and j, whose attention is summed.
    more_queries: Param[list[int]] = token_positions(MOST_SELECTED, url="hold")
    more_keys: Param[list[int]] = token_positions(MOST_SELECTED, url="hold_keys")
    # A text longer than the model accepts: cut, or shown window by window.
    long: Param[str] = choice("cut", ("cut", "windows"))
    window: Param[int] = whole_number(0)
    # Tokens from one window to the next; None: half of what a window holds.
    stride: Param[int | None] = whole_number(None, 1)
    # The length that the text is padded to; whether the rows and columns of padding are shown.
    pad: Param[int | None] = whole_number(None, 1)
    padding: Param[bool] = flag()
    colours: Param[str] = choice("viridis", COLOURS)
    device: Param[str] = choice("auto", DEVICES)
    dtype: Param[str] = choice("float32", DTYPES)
    # Presentation mode: the page only, in large type.
    present: Param[bool] = flag()


#: Switches of attention in an untrained encoder: title -> word. Registers are tokens that a task adds.
UNTRAINED_ATTENTION = {title: word for title, word in ATTENTION.items() if word != "registers"}
#: Tokens that a window of an untrained encoder reaches to each side.
UNTRAINED_REACH = 8


@state.register
class UntrainedParams:
    """The architecture of an encoder with random weights."""

    layers: Param[int] = whole_number(2, 1, 24)
    heads: Param[int] = whole_number(4, 1, 16)
    width: Param[int] = whole_number(64, 4, 768)
    ffn: Param[int] = whole_number(256, 4, 3072)
    positions: Param[str] = choice("sinusoidal", ENCODINGS)
    norm_kind: Param[str] = choice("layer", NORM_NAMES, url="untrained_norm")
    sandwich: Param[bool] = flag(url="untrained_sandwich")
    attention: Param[list[str]] = several([], UNTRAINED_ATTENTION.values(), url="untrained_attention")
    activation: Param[str] = choice("gelu", ACTIVATIONS)
    gated: Param[bool] = flag()
    seed: Param[int] = whole_number(0)


@state.register
class MapParams:
    """How the maps of several pages are drawn."""

    special: Param[str] = choice("show", ("show", "zero", "renormalise"))
    scale: Param[str] = choice("linear", ("linear", "log"))
    range: Param[str] = choice("words", RANGES)
    # The part of the large map that is shown; None: all of it.
    zoom: Param[ZoomWindow | None] = zoom_window()


#: Widths of an untrained encoder.
LEAST_WIDTH, MOST_WIDTH = 4, 768
#: The most tokens that an untrained encoder accepts.
LONGEST_SCRATCH = 8_192


@dataclass(frozen=True)
class View(cache.TracedText):
    """model, text, pair: what runs; layer, head: the open head; i, j: the selected query and key token."""

    layer: int
    head: int
    i: int | None
    j: int | None
    colours: str


def padded(view: View) -> View:
    """The view with the padding that the reader asks for, if the text and the model allow it."""
    if state.newest(ViewParams.pad) is None or not view.loaded.can_pad:
        return view
    length = state.limit(ViewParams.pad, 1, view.loaded.config.max_tokens, f"{view.loaded.name} accepts batches of")
    if length <= view.trace.n_tokens:
        return view
    model = replace(view.model, pad=length, padding=state.newest(ViewParams.padding))
    return replace(view, model=model)


def scratch_config() -> encoder.EncoderConfig:
    """The untrained architecture that the controls describe. Raises ConfigError if the numbers do not fit."""
    own = state.read(UntrainedParams)
    norm = "post" if shows_both_norms() else state.get(ViewParams.norm)
    check_width(own.width, own.heads, own.positions)
    switches = block(
        own.positions, own.norm_kind, own.attention, n_layers=own.layers, n_heads=own.heads, reach=UNTRAINED_REACH
    )
    return encoder.EncoderConfig(
        vocab_size=model_store.scratch_vocabulary(),
        d_model=own.width,
        n_layers=own.layers,
        n_heads=own.heads,
        d_ffn=own.ffn,
        max_positions=LONGEST_SCRATCH,
        norm_placement=norm if norm in NORM_PLACEMENTS else "post",
        activation=own.activation,
        gated=own.gated,
        output_norms=own.sandwich,
        **switches,
    )


def check_width(width: int, heads: int, positions: str, bounds: tuple[int, int] = (LEAST_WIDTH, MOST_WIDTH)) -> None:
    """Refuse a width that EncoderConfig would refuse, in the words of the controls. bounds: widths on offer.

    Raises ConfigError with the nearest widths that fit.
    """
    steps = {"rotary": 2 * heads, "sinusoidal": math.lcm(2, heads)}
    step = steps.get(positions, heads)
    if width % step == 0:
        return
    if width % heads:
        why = f"Width {width} cannot be split among {heads} heads."
    elif positions == "rotary":
        why = f"Rotary positions rotate pairs of numbers, and the width of each head, {width // heads}, is odd."
    else:
        why = f"Sinusoidal positions are pairs of sine and cosine, and Width {width} is odd."
    multiples = (width // step * step, (width // step + 1) * step)
    fitting = " or ".join(str(one) for one in multiples if bounds[0] <= one <= bounds[1])
    raise encoder.ConfigError(f"{why} Choose Width {fitting}, or other Heads or Positions.")


def model_key() -> cache.ModelKey:
    """The key of the model that the controls name. Raises EncoderError if it names none."""
    model = state.newest(ViewParams.model)
    norm = "trained" if shows_both_norms() else state.newest(ViewParams.norm)
    place = {"device": state.newest(ViewParams.device), "dtype": state.newest(ViewParams.dtype)}
    if model == "scratch":
        return cache.ModelKey(source="scratch", scratch=scratch_config(), seed=state.get(UntrainedParams.seed), **place)
    if model == "trained":
        source = trained.TRAINED + state.newest(ViewParams.run)
    else:
        source = model if model in BUNDLED else model_access.allowed_source(state.newest(ViewParams.source))
    key = cache.ModelKey(source=source, norm=norm, **place)
    if not is_pair(key):
        return key
    tower = input_kinds.fitting(model_store.kinds(key), page_takes(), state.newest(ViewParams.tower))
    return replace(key, tower=tower)


def is_pair(key: cache.ModelKey) -> bool:
    """Whether a model has an encoder of images and one of text, as far as it is known before it is loaded."""
    return len(model_store.kinds(key)) > 1


def page_takes() -> Collection[str]:
    """The kinds of input that the open page can show; `frame.run` sets them."""
    return st.session_state.get(PAGE_TAKES, ("text",))


def shows_both_norms() -> bool:
    """Whether the open page shows both norm placements, whatever is chosen elsewhere; `frame.run` says so."""
    return bool(st.session_state.get(PAGE_BOTH))
