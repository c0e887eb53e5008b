"""The widgets of the page “Compare”: what to compare, side B, and how the maps are drawn."""

import streamlit as st

from encoder.errors import EncoderError
from pages.compare.params import MODELS, WHAT, Params
from pages.compare.sides import EXAMPLES, clear_selection, other_head, other_model
from pages.core import cache, model_access
from pages.core.url_state import controlled
from pages.core.view import RANGE_HELP, RANGES, MapParams, View, state


def draw(view: View) -> None:
    """All controls. Side A is the sidebar's sentence, model and head."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state.segmented(Params.what, "What to compare", WHAT, label_visibility="collapsed", width="content")
        st.selectbox(
            "Example", list(EXAMPLES), index=None, key="compare:example", placeholder="Try an example …",
            label_visibility="collapsed", on_change=_use_example, width=300,
        )  # fmt: skip
        with st.popover("Options", icon=":material/tune:", width="content"):
            _options()
    _side_b(view, state.read(Params))


def _use_example() -> None:
    chosen = st.session_state.get("compare:example")
    if chosen is not None:
        for param, value in EXAMPLES[chosen].items():
            state.put(param, value)
        clear_selection()


def _options() -> None:
    state.segmented(
        MapParams.special, "Special tokens", {"show": "Shown", "zero": "Zeroed", "renormalise": "Left out, rows to 1"},
        help="[CLS] and [SEP] receive much of the attention in many heads, which hides differences between words.",
    )  # fmt: skip
    state.segmented(
        MapParams.range, "Range", RANGES, help=f"Both maps have the same colours. {RANGE_HELP}",
    )  # fmt: skip


def _side_b(view: View, params: Params) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if params.what == "sentences":
            state.bound(
                st.text_input, Params.text_b, "Sentence B", placeholder="Type a sentence and press Enter",
                help="Sentence A is the sidebar's. Both run through the same model; the same head is shown.",
            )  # fmt: skip
            return
        if params.what == "models":
            params = _choose_model(view)
        _choose_head(view, params)


def _choose_model(view: View) -> Params:
    def title(name: str) -> str:
        return "Untrained, another seed" if name == "scratch" and view.model.scratch is not None else MODELS[name]

    chosen = state.bound(
        st.selectbox, Params.model_b, "Model B", list(MODELS), format_func=title, width=270,
        help="Model A is the sidebar's. Both read the same sentence.",
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
        config = (view.loaded if params.what == "heads" else cache.model(other_model(view, params))).config
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
