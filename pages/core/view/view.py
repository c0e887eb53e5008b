"""The View: the run that a page shows, read from the session and the address only."""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace

import streamlit as st

from encoder.checkpoints import BUNDLED
from encoder.inputs import boxes, nodes
from encoder.inputs.boxes import Box
from encoder.inputs.nodes import Node
from encoder.model.boxes import Boxes
from encoder.model.config import ACTIVATIONS, NORM_PLACEMENTS
from encoder.model.device import DEVICES, DTYPES
from encoder.model.layers import NORM_NAMES
from encoder.model.paths import Paths
from encoder.run import TRAINED, UNTRAINED, ModelSpec, Text, Untrained
from encoder.train.settings import ATTENTION, ENCODINGS
from pages.core.stores import cache, input_kinds, model_access, model_store
from pages.state import Param, ZoomWindow, choice, flag, several, state, string, whole_number
from pages.state.params import places_of_words, token_positions, zoom_window

FIRST_SENTENCE = "The animal didn't cross the street because it was too tired."

SOURCES = {name: one.label for name, one in BUNDLED.items()} | {
    "scratch": "Untrained (random weights)",
    "trained": "My trained models",
    "other": "Folder or Hub id",
}
COLOURS = ("blue", "viridis", "cividis", "magma", "greys")

#: Where the colours of a map end.
RANGES = {"words": "Words", "fixed": "0 to 1", "head": "Fit to map"}

#: More tokens selected at once than this make a link that nobody reads, and a sum that says nothing.
MOST_SELECTED = 64


#: Where the session keeps what the open page accepts.
PAGE_TAKES, PAGE_AS_TRAINED = "_page_takes", "_page_opens_as_trained"


@state.register
class ViewParams:
    """What every page shows: the text, the model, the place in it."""

    text: Param[str] = string(FIRST_SENTENCE)
    pair: Param[str] = string()
    # Of each word of the text its box on a page, for models that know places; (): none.
    boxes: Param[tuple[Box, ...]] = places_of_words(boxes.read_short, boxes.write_short)
    # The nodes of the text, for models that know the tree of a page; (): none.
    nodes: Param[tuple[Node, ...]] = places_of_words(nodes.read_short, nodes.write_short)
    # The image of the page that these places are on, by its name; "": a blank page.
    page_image: Param[str] = string()
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
    colours: Param[str] = choice("blue", COLOURS)
    device: Param[str] = choice("auto", DEVICES)
    dtype: Param[str] = choice("float32", DTYPES)
    # Presentation mode: the page only, in large type.
    present: Param[bool] = flag(any_page=True)


#: Switches of attention in an untrained encoder: title -> word. Registers are tokens that a task adds.
UNTRAINED_ATTENTION = {title: word for title, word in ATTENTION.items() if word != "registers"}


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


@dataclass(frozen=True)
class View(cache.StoredRun):
    """What a page shows of a run: the open head, the selected query and key token, the colours of maps."""

    colours: str

    @property
    def layer(self) -> int:
        """The layer of the open head."""
        return self.run.place.layer or 0

    @property
    def head(self) -> int:
        """The open head."""
        return self.run.place.head or 0

    @property
    def i(self) -> int | None:
        """The selected query token."""
        return self.run.place.query

    @property
    def j(self) -> int | None:
        """The selected key token."""
        return self.run.place.key


def padded(view: View) -> View:
    """The view with the padding that the reader asks for, if the text and the model allow it."""
    if state.newest(ViewParams.pad) is None or not view.loaded.can_pad:
        return view
    length = state.limit(ViewParams.pad, 1, view.loaded.config.max_tokens, f"{view.loaded.name} accepts batches of")
    if length <= view.trace.n_tokens:
        return view
    return view.but(pad_to=length, padding=state.newest(ViewParams.padding))


def untrained() -> Untrained:
    """The untrained architecture that the controls describe. Raises ConfigError if the numbers do not fit."""
    own = state.read(UntrainedParams)
    values = {field.name: getattr(own, field.name) for field in fields(own)}
    found = Untrained(**{**values, "attention": tuple(own.attention)})
    found.config()
    return found


def model_spec() -> ModelSpec:
    """The model that the controls name. Raises EncoderError if they name none."""
    model = state.newest(ViewParams.model)
    norm = "trained" if opens_as_trained() else state.newest(ViewParams.norm)
    place = {"device": state.newest(ViewParams.device), "dtype": state.newest(ViewParams.dtype)}
    if model == UNTRAINED:
        norm = norm if norm in NORM_PLACEMENTS else "post"
        return ModelSpec(UNTRAINED, untrained=untrained(), norm=norm, **place)
    if model == "trained":
        source = TRAINED + state.newest(ViewParams.run)
    else:
        source = model if model in BUNDLED else model_access.allowed_source(state.newest(ViewParams.source))
    spec = ModelSpec(source, norm=norm, **place)
    if not is_pair(spec):
        return spec
    tower = input_kinds.fitting(model_store.kinds(spec), page_takes(), state.newest(ViewParams.tower))
    return replace(spec, tower=tower)


def typed_text() -> Text:
    """The typed sentence, with the second one, or the places of its words where the model knows any."""
    text, of_page, of_tree = (state.get(one) for one in (ViewParams.text, ViewParams.boxes, ViewParams.nodes))
    page = state.get(ViewParams.page_image) or None
    if of_page or of_tree or page:
        config = model_store.model(model_spec()).config
        shape, reads = config.places, config.page is not None
        if page and (not reads or input_kinds.SOURCES["image"].picture(page) is None):
            page = None
        if of_page and isinstance(shape, Boxes):
            return Text(" ".join(text.split()), boxes=of_page, page=page)
        if page:
            return Text(text, state.get(ViewParams.pair) or None, page=page)
        if of_tree and isinstance(shape, Paths):
            return Text(text, nodes=of_tree)
    return Text(text, state.get(ViewParams.pair) or None)


def is_pair(spec: ModelSpec) -> bool:
    """Whether a model has an encoder of images and one of text, as far as it is known before it is loaded."""
    return len(model_store.kinds(spec)) > 1


def page_takes() -> Collection[str]:
    """The kinds of input that the open page can show; `frame.run` sets them."""
    return st.session_state.get(PAGE_TAKES, ("text",))


def opens_as_trained() -> bool:
    """Whether the open page leaves the norms as trained, whatever is chosen elsewhere; `frame.run` says so."""
    return bool(st.session_state.get(PAGE_AS_TRAINED))
