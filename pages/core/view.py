"""The View: everything that decides what a page shows, read from the session and the URL alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import encoder
from encoder.config import ACTIVATIONS, NORM_PLACEMENTS, POSITION_KINDS
from encoder.device import DEVICES, DTYPES
from encoder.errors import ConfigError
from pages.core import cache, model_access
from pages.core.params import Param, choice, flag, string, token_positions, whole_number
from pages.core.url_state import state

FIRST_SENTENCE = "The animal didn't cross the street because it was too tired."

#: A handful of sentences that each show something; the title says what to look for.
EXAMPLES = {
    "What does “it” refer to?": FIRST_SENTENCE,
    "One word, two meanings": "She sat on the bank of the river and thought about her money in the bank.",
    "A word that comes back": "The cat sat on the mat because the mat was warm.",
    "Agreement across a distance": "The keys to the old wooden cabinet are on the table.",
    "A garden path": "The old man the boat.",
    "Words in pieces": "Tokenizers split unbelievably uncommon words like antidisestablishmentarianism.",
    "If … then, twice": "If it rains, we stay; if it shines, we go.",
}

SOURCES = {
    "minilm": "all-MiniLM-L6-v2",
    "twin-pre": "Twin, pre-norm",
    "twin-post": "Twin, post-norm",
    "scratch": "From scratch",
    "trained": "Trained here",
    "other": "Folder or Hub id",
}
#: Those that encoder.load knows by this very name.
BUNDLED = ("minilm", "twin-pre", "twin-post")
COLOURS = ("viridis", "cividis", "magma", "greys")

#: More tokens selected at once than this make a link that nobody reads, and a sum that says nothing.
MOST_SELECTED = 64


@state.register
@dataclass(frozen=True)
class ViewParams:
    """What every page looks at: the text, the model, the place in it."""

    text: Param[str] = string(FIRST_SENTENCE)
    pair: Param[str] = string()
    model: Param[str] = choice("minilm", SOURCES)
    source: Param[str] = string()
    run: Param[str] = string()
    layer: Param[int] = whole_number(0)
    head: Param[int] = whole_number(2)
    norm: Param[str] = choice("trained", ("trained", *NORM_PLACEMENTS, "both"), shown="Original")
    i: Param[int | None] = whole_number(None)
    j: Param[int | None] = whole_number(None)
    # Tokens selected beside i and j, whose attention is summed.
    more_queries: Param[list[int]] = token_positions(MOST_SELECTED, url="hold")
    more_keys: Param[list[int]] = token_positions(MOST_SELECTED, url="hold_keys")
    # A text longer than the model takes: cut, or looked at window by window.
    long: Param[str] = choice("cut", ("cut", "windows"))
    window: Param[int] = whole_number(0)
    # Tokens from one window to the next; None: half of what a window holds.
    stride: Param[int | None] = whole_number(None, 1)
    # The length of the batch that the text is padded for; whether padding's rows and columns are shown.
    pad: Param[int | None] = whole_number(None, 1)
    padding: Param[bool] = flag()
    colours: Param[str] = choice("viridis", COLOURS)
    device: Param[str] = choice("auto", DEVICES)
    dtype: Param[str] = choice("float32", DTYPES)


@state.register
@dataclass(frozen=True)
class UntrainedParams:
    """The architecture of an encoder with random weights."""

    layers: Param[int] = whole_number(2, 1, 24)
    heads: Param[int] = whole_number(4, 1, 16)
    width: Param[int] = whole_number(64, 4, 768)
    ffn: Param[int] = whole_number(256, 4, 3072)
    positions: Param[str] = choice("sinusoidal", POSITION_KINDS)
    activation: Param[str] = choice("gelu", ACTIVATIONS)
    gated: Param[bool] = flag()
    seed: Param[int] = whole_number(0)


@state.register
@dataclass(frozen=True)
class MapParams:
    """How the maps of several pages are drawn."""

    special: Param[str] = choice("show", ("show", "zero", "renormalise"))
    scale: Param[str] = choice("linear", ("linear", "log"))
    range: Param[str] = choice("fixed", ("fixed", "head"))


#: The width of an encoder from scratch.
LEAST_WIDTH, MOST_WIDTH = 4, 768
#: Tokens that an encoder from scratch takes.
LONGEST_SCRATCH = 8_192


@dataclass(frozen=True)
class View:
    """What is looked at. model, text, pair: what runs; layer, head: where; i, j: the selected query and key token."""

    model: cache.ModelKey
    text: str
    pair: str | None
    layer: int
    head: int
    i: int | None
    j: int | None
    colours: str

    @property
    def trace(self) -> encoder.Trace:
        """The trace of this view's text, computed once."""
        return cache.trace(self.model, self.text, self.pair)

    @property
    def loaded(self) -> encoder.TextEncoder:
        """The model itself."""
        return cache.model(self.model)


def scratch_config() -> encoder.EncoderConfig:
    """The from-scratch architecture that the sidebar describes. Raises ConfigError when the numbers do not fit."""
    check_width(state.get("width"), state.get("heads"), state.get("positions"))
    placement = state.get("norm") if state.get("norm") in NORM_PLACEMENTS else "post"
    return encoder.EncoderConfig(
        vocab_size=cache.scratch_vocabulary(),
        d_model=state.get("width"),
        n_layers=state.get("layers"),
        n_heads=state.get("heads"),
        d_ffn=state.get("ffn"),
        max_positions=LONGEST_SCRATCH,
        norm_placement=placement,
        position=state.get("positions"),
        activation=state.get("activation"),
        gated=state.get("gated"),
    )


def check_width(
    width: int, heads: int, positions: str, bounds: tuple[int, int] = (LEAST_WIDTH, MOST_WIDTH)
) -> None:  # fmt: skip
    """What EncoderConfig would refuse, in the words of the controls. bounds: widths that are offered.

    Raises ConfigError with the nearest widths that fit.
    """
    steps = {"rotary": 2 * heads, "sinusoidal": math.lcm(2, heads)}
    step = steps.get(positions, heads)
    if width % step == 0:
        return
    if width % heads:
        why = f"Width {width} cannot be split among {heads} heads."
    elif positions == "rotary":
        why = f"Rotary positions turn pairs of numbers, and {width // heads}, the width of each head, is odd."
    else:
        why = f"Sinusoidal positions are pairs of sine and cosine, and Width {width} is odd."
    multiples = (width // step * step, (width // step + 1) * step)
    fitting = " or ".join(str(one) for one in multiples if bounds[0] <= one <= bounds[1])
    raise ConfigError(f"{why} Choose Width {fitting}, or other Heads or Positions.")


def model_key() -> cache.ModelKey:
    """Which model the sidebar names. Raises EncoderError where it names none that can be."""
    place = {"device": state.get("device"), "dtype": state.get("dtype")}
    if state.get("model") == "scratch":
        return cache.ModelKey(source="scratch", scratch=scratch_config(), seed=state.get("seed"), **place)
    # "both" is the side by side page's: what else is shown beside it is the model as it is.
    norm = "trained" if state.get("norm") == "both" else state.get("norm")
    return cache.ModelKey(source=_source(), norm=norm, **place)


def _source() -> str:
    """What encoder.load, or the store of trained models, is to be given."""
    kind = state.get("model")
    if kind == "trained":
        return cache.TRAINED + state.get("run")
    return kind if kind in BUNDLED else model_access.allowed_source(state.get("source"))
