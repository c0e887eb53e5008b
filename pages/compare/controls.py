"""The widgets of the page “Compare”: what to compare, side B, and how the maps are drawn."""

from collections.abc import Mapping

import streamlit as st

from encoder.errors import EncoderError
from encoder.load import BUNDLED
from pages.compare.params import MODELS, WHAT, Params
from pages.compare.sides import EXAMPLES, clear_selection, other_head, other_model
from pages.core.inputs import second_input
from pages.core.inputs.input_words import InputWords, words_of
from pages.core.stores import model_access, model_store
from pages.core.view.view import MapParams, View, state
from pages.state.params import Param
from pages.state.url_state import controlled


def draw(view: View) -> None:
    """All controls. Side A is the sidebar's sentence, model and head."""
    words = words_of(view.trace)
    what = {name: title.format(inputs=words.inputs) for name, title in WHAT.items()}
    examples = EXAMPLES[view.loaded.takes]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state.segmented(Params.what, "What to compare", what, label_visibility="collapsed", width="content")
        st.selectbox(
            "Example", list(examples), index=None, key="compare:example", placeholder="Try an example …",
            label_visibility="collapsed", on_change=_use_example, args=(examples,), width=300,
        )  # fmt: skip
        with st.popover("Options", icon=":material/tune:", width="content"):
            _options(words)
    _side_b(view, state.read(Params))


def _use_example(examples: Mapping[str, Mapping[Param, object]]) -> None:
    chosen = st.session_state.get("compare:example")
    if chosen in examples:
        for param, value in examples[chosen].items():
            state.put(param, value)
        clear_selection()


def _options(words: InputWords) -> None:
    state.segmented(
        MapParams.special, "Special tokens", {"show": "Shown", "zero": "Zeroed", "renormalise": "Left out, rows to 1"},
        help="Special tokens such as [CLS] receive much of the attention in many heads. This hides differences "
        f"between {words.parts}.",
    )  # fmt: skip
    state.segmented(
        MapParams.range, "Range", words.ranges, help=f"Both maps have the same colours. {words.range_help}",
    )  # fmt: skip


def _side_b(view: View, params: Params) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = words_of(view.trace)
        if params.what == "sentences" and view.loaded.takes != "text":
            second_input.picture(view, view.text, "A")
            other = second_input.choose(
                view, Params.input_b, f"{words.input.capitalize()} B",
                help=f"{words.input.capitalize()} A is the one above. Both run through the same model; the same head "
                "is shown.",
            )  # fmt: skip
            second_input.picture(view, other, "B")
            return
        if params.what == "sentences":
            state.bound(
                st.text_input, Params.text_b, "Sentence B", placeholder="Type a sentence and press Enter",
                help="Sentence A is the one above. Both run through the same model; the same head is shown.",
            )  # fmt: skip
            return
        if params.what == "models":
            params = _choose_model(view)
        _choose_head(view, params)


def _choose_model(view: View) -> Params:
    def title(name: str) -> str:
        return "Untrained, another seed" if name == "scratch" and view.model.scratch is not None else MODELS[name]

    kind = view.loaded.takes
    offered = [name for name in MODELS if name not in BUNDLED or kind in BUNDLED[name].kinds]
    offered = [name for name in offered if name != "scratch" or kind == "text"]
    if state.newest(Params.model_b) not in offered:
        state.put(Params.model_b, Params.model_b.default)
    chosen = state.bound(
        st.selectbox, Params.model_b, "Model B", offered, format_func=title, width=270,
        help=f"Model A is the one above. Both read the same {words_of(view.trace).input}.",
    )  # fmt: skip
    if chosen == "other":
        state.bound(
            st.text_input, Params.source_b, "Folder or Hub id of B", placeholder="org/name",
            help=model_access.source_help(), width=270,
        )  # fmt: skip
    return state.read(Params)


def _choose_head(view: View, params: Params) -> None:
    """Layer and head of side B. While nobody chooses them the page does, and they stay out of the link."""
    try:
        other = view.model
        if params.what != "heads":
            other = model_store.taking(other_model(view, params), view.loaded.takes)
        config = model_store.model(other).config
    except EncoderError:
        return  # the comparison below says what is wrong with model B
    layer, head = other_head(view, params, config)
    for param, label, value, count in (
        (Params.layer_b, "Layer B", layer, config.n_layers),
        (Params.head_b, "Head B", head, config.n_heads),
    ):
        controlled(
            st.number_input, label, 0, count - 1, key=f"compare:{param.name}", value=value, width=130,
            take=lambda chosen, param=param: state.put(param, chosen),
        )  # fmt: skip
