"""The options of the page: their widgets, and the open head's map with the chosen options."""

import streamlit as st

from encoder.export import Map, Options
from encoder.inputs.nodes import given_nodes
from encoder.maps import beyond, is_whole
from encoder.measure import patches
from encoder.run import DECODER, Text
from encoder.trace import tokens
from encoder.views.options import HEAD_VIEWS
from pages.components import toast
from pages.core.inputs.input_words import words_of
from pages.core.view import MapParams, View
from pages.core.view.output import STACKS, Output, target_text, written
from pages.core.words import plain, references
from pages.heads import padding
from pages.heads.head_maps import map_of
from pages.heads.params import INPUTS, MOST_PINS, Params
from pages.state import Head, Param, controlled, state

#: Up to this many tokens, an average over heads or layers takes seconds at most.
AVERAGED_TOKENS = 2_048

#: Key of the container of the open head.
HEAD = "heads-head"

_SPECIAL = {"show": "Show", "zero": "Set to 0", "renormalise": "Leave out, rescale"}
_BETWEEN = {"all": "All", "a-b": "A → B", "b-a": "B → A", "a-a": "within A", "b-b": "within B"}
_AVERAGE = {"none": "None", "heads": "Heads", "layers": "Layers", "both": "Both"}


def stack(view: View) -> View | None:
    """Whose attention is shown of a model with a decoder: the view itself, or that of the decoder over the output; None
    for cross-attention."""
    if view.loaded.takes == "cross":  # a file
        return None
    if view.loaded.decoder is None or not view.loaded.decoder.reads:
        return view
    with st.container(key="controls-stack", horizontal=True, vertical_alignment="center", gap="medium"):
        chosen = state.segmented(Output.stack, "Attention of", STACKS, label_visibility="collapsed")
        if chosen != "encoder":
            state.bound(
                st.text_input,
                Output.target,
                "Output",
                placeholder=f"Output: {written(view).text} (the model’s own)",
                label_visibility="collapsed",
                width=420,
                help="Type another output: the page then shows how probable each of its tokens is, and what it attends "
                "to.",
            )
    if chosen == "encoder":
        return view
    return None if chosen == "cross" else _of_decoder(view)


def _of_decoder(view: View) -> View:
    """The view of the decoder, whose tokens are the start, then the output without its end."""
    read = view.but(tower=DECODER, target=target_text(view), edits=())
    return _inside(read.but(**(NOT_PADDED if view.loaded.takes == "text" else {})))


#: A text as it is, without the padding of a batch.
NOT_PADDED = {"pad_to": None, "padding": False}


def _inside(view: View) -> View:
    """The view without selected tokens that its trace does not have."""
    n_tokens = view.trace.n_tokens
    i, j = (one if one is not None and one < n_tokens else None for one in (view.i, view.j))
    return view.but(query=i, key=j)


def shown_view(view: View) -> str:
    """The open view: as chosen; otherwise the map of a text, and a page or another input itself."""
    return state.get(Params.view) or _usual_view(view)


def _usual_view(view: View) -> str:
    return "map" if input_of(view) == "text" else "text"


def input_of(view: View) -> str:
    """What the input is, one of INPUTS: the kind of the trace; "page" or "tree" where a text's words have places."""
    source = view.trace.source
    if source is None or source.places is None:
        return view.trace.kind
    return "page" if source.nodes is None else "text" if given_nodes(source) is None else "tree"


def choose_view(view: View) -> None:
    """The widget of the open view."""
    titles, usual = HEAD_VIEWS | {"text": INPUTS[input_of(view)]}, _usual_view(view)
    controlled(
        st.segmented_control,
        "View",
        list(titles),
        key="heads-view",
        value=shown_view(view),
        required=True,
        take=lambda chosen: state.put(Params.view, "" if chosen == usual else chosen),
        format_func=titles.get,
        width="content",
        label_visibility="collapsed",
    )


def controls(view: View) -> None:
    """Draw the widgets. Options that this text is too long for are disabled, and a caption says so."""
    n_tokens, whole, words = view.trace.n_tokens, is_whole(view.trace), words_of(view.trace)
    of_text = view.trace.kind == "text"
    state.segmented(
        MapParams.special,
        "Special tokens",
        _SPECIAL,
        help="In many heads, special tokens such as [CLS] receive most of the attention. **Set to 0** clears their "
        "rows and columns. **Leave out** also rescales each other row to sum to 1. The model itself attends to them.",
    )
    left, right = st.columns(2, gap="small")
    with left:
        state.segmented(MapParams.scale, "Colour scale", ["linear", "log"], format_func=str.title)
    with right:
        state.segmented(
            MapParams.range,
            "Colour range",
            words.ranges,
            help=words.range_help,
        )
    state.segmented(
        Params.average,
        "Average over",
        _AVERAGE,
        disabled=n_tokens > AVERAGED_TOKENS,
        help="**Heads**: the mean of all heads of this layer. **Layers**: the mean of the heads with this number in "
        "all layers; only their number links them. **Both**: the mean of all heads.",
    )
    if view.pair is not None:
        state.segmented(
            Params.between,
            "Between sentences",
            _BETWEEN,
            disabled=not whole,
            help="A is the first sentence, B the second. A special token belongs to the sentence before it.",
        )
    with st.container(horizontal=True, gap="small"):
        state.bound(
            st.toggle,
            Params.words,
            "Whole words",
            disabled=not whole or not of_text,
            help=references.cited(
                "Sums the weights to the pieces of a word and averages the weights from them. Each row still sums to "
                "1 (Clark et al. 2019, section 4.1)."
            )
            if of_text
            else f"Each token of this model is a {words.part}.",
        )
        state.bound(
            st.toggle,
            Params.badges,
            "Mark head types",
            help=f"Marks the heads of the grid that have a type in this {words.text}, such as previous-token or broad. "
            "“By type” under All heads shows the thresholds.",
        )
    padding.length_control(view)
    if patches.is_of_patches(view.trace):
        state.bound(st.slider, Params.opacity, "Opacity of colours over the image", 0.0, 1.0, step=0.05)
    if of_text and (said := beyond(view.trace, "Whole words and sentence pairs work")):
        st.caption(said)
    if n_tokens > AVERAGED_TOKENS:
        st.caption(f"Averages: up to {AVERAGED_TOKENS:,} tokens.")


def hide_special(view: View) -> None:
    """The switch next to the map that sets the weights from and to special tokens to 0."""
    special = tokens.is_special(view.trace)
    names = dict.fromkeys(label for label, one in zip(view.trace.labels, special, strict=True) if one)
    if names:
        controlled(
            st.toggle,
            f"Hide {' and '.join(map(plain, names))}",
            key="hide-special",
            value=state.get(MapParams.special) != "show",
            take=lambda hide: state.put(MapParams.special, "zero" if hide else "show"),
            help="Sets their rows and columns to 0 on this page. The model itself attends to them. Options can also "
            "rescale the other weights.",
        )


def open_head(view: View) -> Map:
    """The open head with the chosen options, as far as this text allows them. Call it after `controls`."""
    params, maps, whole = state.read(Params), state.read(MapParams), is_whole(view.trace)
    options = Options(
        special=maps.special,  # type: ignore[arg-type]
        pairs=params.between if whole and view.pair is not None else "all",  # type: ignore[arg-type]
        words=whole and params.words,
        padding=shows_padding(view),
        scale_to_max=maps.range == "head",
        scale_to_words=maps.range == "words",
        log=maps.scale == "log",
    )
    average = params.average if view.trace.n_tokens <= AVERAGED_TOKENS else "none"
    layer = None if average in ("layers", "both") else view.layer
    head = None if average in ("heads", "both") else view.head
    return map_of(view, options, layer, head)


def as_trained(view: View) -> View:
    """The view without edits and padding, which Q K V and Compare show."""
    return _inside(view.but(edits=(), **(NOT_PADDED if view.loaded.takes == "text" else {})))


def shows_padding(view: View) -> bool:
    """Whether the rows and columns of padding are shown."""
    return isinstance(view.run.input, Text) and view.run.input.padding


def one_head(view: View) -> Map:
    """The open head as the model computes it, in the colours of every map."""
    chosen = state.newest(MapParams.range)
    options = Options(padding=shows_padding(view), scale_to_max=chosen == "head", scale_to_words=chosen == "words")
    return map_of(view, options, view.layer, view.head)


def heads_of_model(param: Param[list[Head]], view: View) -> list[Head]:
    """The heads of a Param that this model has; a warning names the others and removes them."""
    config, chosen = view.loaded.config, state.get(param)
    kept = [(layer, head) for layer, head in chosen if layer < config.n_layers and head < config.n_heads]
    if len(kept) < len(chosen):
        missing = ", ".join(f"L{layer} H{head}" for layer, head in chosen if (layer, head) not in kept)
        st.warning(
            f"No {missing} in this model: choose layers 0 to {config.n_layers - 1} and heads 0 to "
            f"{config.n_heads - 1}.",
            icon=":material/link_off:",
        )
        state.put(param, kept)
    return kept


def toggle_pin(layer: int, head: int) -> None:
    """Pin a head, or unpin it. For callbacks."""
    pins = state.get(Params.pins)
    if (layer, head) in pins:
        state.put(Params.pins, [one for one in pins if one != (layer, head)])
    elif len(pins) < MOST_PINS:
        state.put(Params.pins, [*pins, (layer, head)])
    else:
        toast.say(f"{MOST_PINS} heads are pinned already. Unpin one first.", "push_pin")
