"""The widgets of the view “Compare”: what to compare, and side B."""

import streamlit as st

from encoder import EncoderError
from encoder.load import BUNDLED
from pages.core.inputs import second_input
from pages.core.inputs.input_words import words_of
from pages.core.stores import model_access, model_store
from pages.core.view import View
from pages.core.widgets import examples
from pages.heads.compare.sides import clear_selection, other_head, other_model
from pages.heads.params import MODELS, WHAT, SideB
from pages.state import controlled, state


def draw(view: View) -> None:
    """All controls. Side A is the open input, model and head."""
    what = {name: title.format(input=words_of(view.trace).input) for name, title in WHAT.items()}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state.segmented(SideB.what, "What to compare", what, label_visibility="collapsed", width="content")
        _side_b(view, state.read(SideB))
        examples.draw(__file__, view.loaded.takes, "compare:example", then=clear_selection, width=200)


def _side_b(view: View, params: SideB) -> None:
    words = words_of(view.trace)
    if params.what == "sentences" and view.loaded.takes != "text":
        second_input.picture(view, view.text, "A")
        other = second_input.choose(
            view, SideB.input_b, f"{words.input.capitalize()} B",
            help=f"{words.input.capitalize()} A is the open one. Both run through the same model; the same head "
            "is shown.",
        )  # fmt: skip
        second_input.picture(view, other, "B")
        return
    if params.what == "sentences":
        state.bound(
            st.text_input, SideB.text_b, "Sentence B", placeholder="Type a sentence and press Enter",
            help="Sentence A is the open one. Both run through the same model; the same head is shown.",
        )  # fmt: skip
        return
    if params.what == "models":
        params = _choose_model(view)
    _choose_head(view, params)


def _choose_model(view: View) -> SideB:
    def title(name: str) -> str:
        return "Untrained, another seed" if name == "scratch" and view.model.scratch is not None else MODELS[name]

    kind = view.loaded.takes
    offered = [name for name in MODELS if name not in BUNDLED or kind in BUNDLED[name].kinds]
    offered = [name for name in offered if name != "scratch" or kind == "text"]
    chosen = state.selectbox(
        SideB.model_b, "Model B", {name: title(name) for name in offered}, width=270,
        help=f"Model A is the open one. Both read the same {words_of(view.trace).input}.",
    )  # fmt: skip
    if chosen == "other":
        state.bound(
            st.text_input, SideB.source_b, "Folder or Hub id of B", placeholder="org/name",
            help=model_access.source_help(), width=270,
        )  # fmt: skip
    return state.read(SideB)


def _choose_head(view: View, params: SideB) -> None:
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
        (SideB.layer_b, "Layer B", layer, config.n_layers),
        (SideB.head_b, "Head B", head, config.n_heads),
    ):
        controlled(
            st.number_input, label, 0, count - 1, key=f"compare:{param.name}", value=value, width=130,
            take=lambda chosen, param=param: state.put(param, chosen),
        )  # fmt: skip
