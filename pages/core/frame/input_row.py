"""The controls above every page: sentence, model, norms, layer and head."""

import contextlib
import dataclasses
from collections.abc import Collection

import streamlit as st

import encoder
from encoder.inputs.layout import InputKind
from encoder.model.layers import NORM_NAMES
from encoder.run import ModelSpec, Place, Run, Text
from encoder.run.address import PLACES
from encoder.run.untrained import LEAST_WIDTH, MOST_WIDTH
from encoder.train.settings import ENCODINGS
from pages.components.lazy import popover
from pages.core.frame import settings
from pages.core.inputs import chosen_input, places_input
from pages.core.inputs.input_words import words_of
from pages.core.stores import input_kinds, model_access, model_store, trained
from pages.core.view import SOURCES, UntrainedParams, View, ViewParams, model_spec
from pages.core.view.selection import clear, open_head
from pages.core.view.view import (
    FIRST_SENTENCE,
    UNTRAINED_ATTENTION,
    is_pair,
    opens_as_trained,
    page_takes,
)
from pages.core.widgets import examples
from pages.state import Param, state
from pages.state.bare import is_bare

_TEXT_BEFORE = "_text_before_trained"
#: The first sentence of the model of digits and words.
CAPTION = "a picture of a handwritten three"
DATE = "the twenty-first of March 1998"
CAPTIONS = {"digit-words": CAPTION, "spoken-words": "a voice says the number three",
            "dates-pre": DATE, "dates-post": DATE}  # fmt: skip

#: What a page may need of these controls, declared in app.py.
PARTS = ("text", "model", "layer", "head")
_PLACE = ((ViewParams.layer, "Layer"), (ViewParams.head, "Head"))
_NORMS = {"post": "Post-norm", "pre": "Pre-norm"}
_ACTIVATIONS = {
    "relu": "ReLU",
    "relu2": "ReLU, squared",
    "gelu": "GELU",
    "gelu_tanh": "GELU (tanh)",
    "gelu_rounded": "GELU (tanh, 8 digits)",
    "quick_gelu": "GELU (quick)",
    "silu": "SiLU",
}


def example_group() -> str:
    """Whose sentences the open model was trained on, in `examples.yml`."""
    return "dates" if state.newest(ViewParams.model).startswith("dates") else "text"


def sentence_controls() -> None:
    """The field of the sentence, and of a second one where there is one."""
    state.bound(
        st.text_area,
        ViewParams.text,
        "Sentence",
        height="content",
        on_change=places_input.keep_if_as_many,
        label_visibility="collapsed",
        placeholder="Type a sentence and press Enter",
    )
    if state.newest(ViewParams.pair) and not places_input.are_there():
        _second_sentence()
    if state.too_long_for_url(ViewParams.text):
        st.caption("The sentence is too long for a link: only this tab opens it. For other people, export a report.")


def _second_sentence() -> None:
    state.bound(
        st.text_area,
        ViewParams.pair,
        "Second sentence",
        height="content",
        label_visibility="collapsed",
        placeholder="Second sentence (segment B)",
    )


def options(view: View | None) -> None:
    """What a sentence may be besides: an example, one of two, and words at places of a page."""
    if chosen_input.kind() != "text":
        return
    if kind := places_input.kind_of(view):
        places_input.controls(kind)
    look = {"placeholder": "Choose a sentence", "label_visibility": "visible"}
    examples.draw(__file__, example_group(), "example", then=_another_sentence, **look)
    if not state.newest(ViewParams.pair) and not places_input.are_there():
        st.caption("A second sentence: the model then processes both as a pair, [CLS] A [SEP] B [SEP].")
        _second_sentence()


def _another_sentence() -> None:
    places_input.remove()
    clear()


def tower_controls() -> None:
    """Which encoder of a pair, where the page can show both."""
    with contextlib.suppress(encoder.EncoderError):  # said where the model is loaded
        spec = model_spec()
        kinds = model_store.kinds(spec)
        if is_pair(spec) and input_kinds.PAIR not in page_takes() and set(kinds) <= set(page_takes()):
            if state.newest(ViewParams.tower) not in kinds:  # of the pair before
                state.put(ViewParams.tower, kinds[0])
            titles = {kind: kind.capitalize() for kind in kinds}
            state.segmented(ViewParams.tower, "Encoder of", titles, label_visibility="collapsed")


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
    if chosen_input.changed():  # tokens, layers and heads of another kind of input
        clear()
        open_head(0, 0)
    state.put(ViewParams.norm, "trained")  # a moved norm was chosen for the model before


def model_controls() -> None:
    """Which model runs: a bundled one, a folder, a Hub id, one trained here or an untrained one."""
    has_trained = state.get(ViewParams.model) == "trained" or state.get(ViewParams.run)
    offered = [name for name in SOURCES if name != "trained" or has_trained]
    kind = state.bound(
        st.selectbox,
        ViewParams.model,
        "Model",
        offered,
        format_func=SOURCES.get,
        on_change=_another_model,
        label_visibility="collapsed",
    )
    if kind == "other":
        state.bound(
            st.text_input,
            ViewParams.source,
            "Folder or Hub id",
            placeholder="Folder or Hub id, as org/name",
            label_visibility="collapsed",
            help=model_access.source_help(),
        )
    if kind == "trained":
        runs = {state.get(ViewParams.run): "the model of the link"} | trained.kept_models()
        state.bound(
            st.selectbox,
            ViewParams.run,
            "Trained model",
            list(runs),
            format_func=runs.get,
            label_visibility="collapsed",
        )
    if kind == "scratch":
        _untrained_controls()
    settings.check_device()


def _fitting_sentence(spec: ModelSpec) -> None:
    """A caption or a date in place of the first sentence, where a bundled model knows none of its words."""
    fitting = CAPTIONS.get(spec.source, FIRST_SENTENCE)
    if state.newest(ViewParams.text) in {*CAPTIONS.values(), FIRST_SENTENCE} - {fitting}:
        state.put(ViewParams.text, fitting)


def awaits_source() -> bool:
    """Whether a folder or a Hub id is asked for and nothing is typed yet."""
    return state.newest(ViewParams.model) == "other" and not state.newest(ViewParams.source).strip()


def norm_controls(spec: ModelSpec | None) -> None:
    """The placement of the norms. spec: of the model; None: there is none."""
    norm = state.newest(ViewParams.norm)
    if opens_as_trained() or (
        spec is not None and model_store.takes(spec) in ("maps", "cross")
    ):  # maps do not know the norms
        return
    titles = dict(_NORMS)
    if state.newest(ViewParams.model) == "scratch":
        if norm == "trained":
            state.put(ViewParams.norm, "post")
    elif spec is None:
        return
    else:
        original = model_store.model(dataclasses.replace(spec, norm="trained")).config.norm_placement
        if norm == original:
            state.put(ViewParams.norm, "trained")
        titles = {"trained" if name == original else name: title for name, title in _NORMS.items()}
    state.segmented(
        ViewParams.norm, "Norm placement", titles, width="content", wrap=False, label_visibility="collapsed"
    )


def _untrained_controls() -> None:
    own = UntrainedParams
    part = popover("Architecture", "architecture", icon=":material/account_tree:")
    if part is None:
        return
    with part:
        left, right = st.columns(2)
        state.bound(left.number_input, own.layers, "Layers", min_value=1, max_value=24)
        state.bound(right.number_input, own.heads, "Heads", min_value=1, max_value=16)
        state.bound(
            left.number_input,
            own.width,
            "Width",
            min_value=LEAST_WIDTH,
            max_value=MOST_WIDTH,
            help="d_model, a multiple of the number of heads",
        )
        state.bound(right.number_input, own.ffn, "FFN width", min_value=4, max_value=3072)
        state.bound(st.selectbox, own.positions, "Positions", list(ENCODINGS), format_func=ENCODINGS.get)
        state.bound(st.selectbox, own.norm_kind, "Norm", list(NORM_NAMES), format_func=NORM_NAMES.get)
        state.bound(
            st.toggle,
            own.sandwich,
            "Sandwich norms",
            help="One more norm on what each sublayer adds (Gemma 2, with pre-norm).",
        )
        titles = {word: title for title, word in UNTRAINED_ATTENTION.items()}
        state.bound(
            st.pills, own.attention, "Attention also has", list(titles), selection_mode="multi", format_func=titles.get
        )
        state.bound(st.selectbox, own.activation, "Activation", list(_ACTIVATIONS), format_func=_ACTIVATIONS.get)
        state.bound(st.toggle, own.gated, "Gated FFN")
        state.bound(st.number_input, own.seed, "Seed", min_value=0, max_value=999_999)


def head_controls(config: encoder.EncoderConfig | None, uses: Collection[str] = PARTS) -> None:
    """Which layer and head. config: of the model, which sets their limits; None: no model, both wait for the next.

    uses: the parts that the page shows.
    """
    shown = [(param, title) for param, title in _PLACE if param.name in uses]
    if config is not None:
        for param, _ in _PLACE:
            state.limit(param, 0, _last(config, param), f"this model has {param.name}s")
    if not shown:
        return
    for param, title in shown:
        if config is None:
            value = max(0, state.get(param))
            st.number_input(title, value=value, disabled=True, key=f"resting {param.name}")
        else:
            state.bound(st.number_input, param, title, min_value=0, max_value=_last(config, param))


def place_on_picture(view: View, uses: Collection[str] = ("layer", "head")) -> None:
    """`head_controls` on the picture that they change, of a page that has none above it. Call it before the picture."""
    with st.container(key="picture-place", horizontal=True, width="content", gap="xsmall"):
        head_controls(view.loaded.config, uses)


def _last(config: encoder.EncoderConfig, param: Param[int]) -> int:
    return (config.n_layers if param is ViewParams.layer else config.n_heads) - 1


def kind_of_input() -> InputKind:
    """The kind of input for which this run draws controls. Another encoder of a pair begins without a selection."""
    if chosen_input.turned():  # tokens, layers and heads of the other encoder
        clear()
        open_head(0, 0)
    return chosen_input.remembered()


def input_controls() -> None:
    """What the model processes: a sentence, or an input of another kind."""
    kind = kind_of_input()
    if kind == "text":
        with contextlib.suppress(encoder.EncoderError):
            _fitting_sentence(model_spec())
        sentence_controls()
        return
    with contextlib.suppress(encoder.EncoderError):  # said where the model is loaded
        input_kinds.SOURCES[kind].controls(model_store.model(model_spec()))


def has_controls() -> bool:
    """Whether the controls are drawn. A bare page has none: its values come from the class, and are fitted here.

    Some controls are drawn all the same, since they know a value: the file of an image, the window of a long text.
    """
    if not is_bare() or kind_of_input() != "text" or state.newest(ViewParams.long) != "cut":
        return True
    settings.check_device()
    with contextlib.suppress(encoder.EncoderError):  # said where the model is loaded
        _fitting_sentence(model_spec())
    return False


def current_view(spec: ModelSpec, given: Text | None = None) -> View:
    """The View of this run, after the controls are drawn. given: the text or its window, if it is known."""
    own = state.read(ViewParams)
    place = Place(own.layer, own.head, own.i, own.j)
    return View(Run(spec, chosen_input.current(spec) if given is None else given, place=place), own.colours)


def placed(view: View) -> View:
    """The view with the newest layer, head and tokens, as far as its text has these."""
    own, n_tokens = state.read(ViewParams), view.run.pad_to or view.trace.n_tokens
    i, j = (one if one is not None and one < n_tokens else None for one in (own.i, own.j))
    return view.but(layer=own.layer, head=own.head, query=i, key=j)


def with_selection_inside(view: View, n_tokens: int) -> View:
    """The view without selected tokens that the text does not have; a note tells a link that asked for one."""
    for param in (ViewParams.i, ViewParams.j):
        value = state.get(param)
        if isinstance(value, str):  # a slow browser sent the label of a token that an earlier sentence had
            state.put(param, None)
            view = view.but(**{PLACES[param.name]: None})
        elif value is not None and value >= n_tokens:
            state.note(
                f"{param.name}={value}: this {words_of(view.trace).input} has tokens 0 to {n_tokens - 1}. No such "
                "token is selected."
            )
            state.put(param, None)
            view = view.but(**{PLACES[param.name]: None})
    return view
