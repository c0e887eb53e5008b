"""The View: everything that decides what a page shows, read from the session and the URL alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import encoder
from encoder.config import ACTIVATIONS, NORM_PLACEMENTS, POSITION_KINDS
from encoder.device import DEVICES, DTYPES
from encoder.errors import ConfigError
from pages.shared import (
    beyond_params,
    cached,
    compare_params,
    find_params,
    gradients_params,
    heads_params,
    learn_params,
    predict_params,
    prepost_params,
    sources,
    training_params,
)
from pages.shared.url_state import Param, UrlState, choice, flag, whole_number

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

PARAMS = (
    Param("text", FIRST_SENTENCE),
    Param("pair", ""),
    choice("model", "minilm", SOURCES),
    Param("source", ""),
    Param("run", ""),
    whole_number("layer", 0),
    whole_number("head", 2),
    choice("norm", "trained", ("trained", *NORM_PLACEMENTS, "both"), shown="as is"),
    whole_number("i", None),
    whole_number("j", None),
    # A text longer than the model takes: cut, or looked at window by window.
    choice("long", "cut", ("cut", "windows")),
    whole_number("window", 0),
    # Tokens from one window to the next; None: half of what a window holds.
    whole_number("stride", None, 1),
    choice("colours", "viridis", COLOURS),
    choice("device", "auto", DEVICES),
    choice("dtype", "float32", DTYPES),
    # From scratch.
    whole_number("layers", 2, 1, 24),
    whole_number("heads", 4, 1, 16),
    whole_number("width", 64, 4, 768),
    whole_number("ffn", 256, 4, 3072),
    choice("positions", "sinusoidal", POSITION_KINDS),
    choice("activation", "gelu", ACTIVATIONS),
    flag("gated"),
    whole_number("seed", 0),
    # The Heads page.
    choice("special", "show", ("show", "zero", "renormalise")),
    choice("scale", "linear", ("linear", "log")),
    choice("range", "fixed", ("fixed", "head")),
    # Queries, keys, values.
    choice("order", "component", ("component", "size")),
    # Positions.
    choice("rows", "sentence", ("sentence", "all")),
    choice("product", "cosine", ("cosine", "dot")),
    # LayerNorm: which norm and which component of a vector.
    Param("at", ""),
    whole_number("component", None),
    *compare_params.PARAMS,
    *heads_params.PARAMS,
    *find_params.PARAMS,
    *beyond_params.PARAMS,
    *learn_params.PARAMS,
    *predict_params.PARAMS,
    *prepost_params.PARAMS,
    *gradients_params.PARAMS,
    *training_params.PARAMS,
)

#: The width of an encoder from scratch.
LEAST_WIDTH, MOST_WIDTH = 4, 768
#: Tokens that an encoder from scratch takes.
LONGEST_SCRATCH = 8_192

state = UrlState(PARAMS)


@dataclass(frozen=True)
class View:
    """What is looked at. model, text, pair: what runs; layer, head: where; i, j: the selected query and key token."""

    model: cached.ModelKey
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
        return cached.trace(self.model, self.text, self.pair)

    @property
    def loaded(self) -> encoder.TextEncoder:
        """The model itself."""
        return cached.model(self.model)


def scratch_config() -> encoder.EncoderConfig:
    """The from-scratch architecture that the sidebar describes. Raises ConfigError when the numbers do not fit."""
    check_width(state.get("width"), state.get("heads"), state.get("positions"))
    placement = state.get("norm") if state.get("norm") in NORM_PLACEMENTS else "post"
    return encoder.EncoderConfig(
        vocab_size=cached.scratch_vocabulary(),
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


def model_key() -> cached.ModelKey:
    """Which model the sidebar names. Raises EncoderError where it names none that can be."""
    place = {"device": state.get("device"), "dtype": state.get("dtype")}
    if state.get("model") == "scratch":
        return cached.ModelKey(source="scratch", scratch=scratch_config(), seed=state.get("seed"), **place)
    # "both" is the side by side page's: what else is shown beside it is the model as it is.
    norm = "trained" if state.get("norm") == "both" else state.get("norm")
    return cached.ModelKey(source=_source(), norm=norm, **place)


def _source() -> str:
    """What encoder.load, or the store of trained models, is to be given."""
    kind = state.get("model")
    if kind == "trained":
        return cached.TRAINED + state.get("run")
    return kind if kind in BUNDLED else sources.allowed_source(state.get("source"))
