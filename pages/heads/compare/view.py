"""Compare: the open head next to another head, input or model, with the difference of their maps."""

import streamlit as st

from encoder import EncoderError
from encoder.checkpoints import BUNDLED
from encoder.views.options import COMPARED, SPECIAL_WORDS
from pages.core.inputs import second_input
from pages.core.inputs.input_words import words_of
from pages.core.stores import model_access, model_store
from pages.core.view import MapParams, View
from pages.core.widgets import Export, answer, comparison, comparison_maps, examples
from pages.core.widgets.compared import Compared
from pages.core.words import errors_said
from pages.heads.compare.sides import (
    clear_selection,
    other_head,
    other_model,
    select_on_click,
    selected_steps,
    sides,
)
from pages.heads.params import MODELS, SideB
from pages.state import controlled, state

#: What is compared, in the title of the export.
TITLES = {"heads": "Two heads", "sentences": "Two {inputs}", "models": "Two models"}


def draw(view: View) -> Export | None:
    """The controls and the three maps; None where side B cannot run."""
    _controls(view)
    params, look = state.read(SideB), state.read(MapParams)
    with errors_said():
        with st.spinner("Comparing …", show_time=False):
            both = sides(view, params)
            found = both.compared(look.special)  # type: ignore[arg-type]
        selected = selected_steps(view, params, both.alignment)
        compared = Compared(both, found, look.special, look.range, selected)  # type: ignore[arg-type]
        notes(both, params)
        return comparison_maps.show(
            view,
            compared,
            f"{TITLES[both.what].format(inputs=compared.words.inputs)}, {both.first.head_name} and "
            f"{both.second.head_name}",
            {
                "side_A": compared.described(both.first),
                "side_B": compared.described(both.second),
                "special_tokens": SPECIAL_WORDS[compared.special],
            },
            on_event=select_on_click(both.alignment, found.block),
            clear=clear_selection,
            together=answer.together(),
        )
    return None


def notes(both: comparison.Sides, params: SideB) -> None:
    """Notes on side B; the frame gives those on side A: what was cut, changed or left empty."""
    side, config = both.second, both.second.loaded.config
    for name, asked, shown, count in (
        ("layer", params.layer_b, side.layer, config.n_layers),
        ("head", params.head_b, side.head, config.n_heads),
    ):
        if both.what != "sentences" and asked is not None and asked != shown:
            st.warning(
                f"The link asks for {name} {asked} on side B, whose {name}s are 0 to {count - 1}. Shown: {shown}.",
                icon=":material/link_off:",
            )
    source = side.trace.source
    if both.what == "sentences" and not side.run.input.name.strip():
        st.info("Sentence B is empty, so it has special tokens only.", icon=":material/info:")
    if both.what != "heads" and source is not None and source.cut:
        st.warning(
            f"Side B is {source.n_full:,} tokens; {side.loaded.name} holds {config.max_tokens:,}. Compared: the first "
            f"{len(source):,}.",
            icon=":material/content_cut:",
        )
    if both.what == "models":
        if params.model_b != "moved":  # moved norms keep the weights of each head
            st.caption("Head numbers of two models do not correspond: nothing in training orders heads.")
        for sentence in side.loaded.remarks:
            st.info(f"B: {sentence}", icon=":material/info:")


def _controls(view: View) -> None:
    """All controls. Side A is the open input, model and head."""
    what = {name: title.format(input=words_of(view.trace).input) for name, title in COMPARED.items()}
    with st.container(key="heads-side-b", horizontal=True, vertical_alignment="bottom"):
        state.segmented(SideB.what, "What to compare", what, label_visibility="collapsed", width="content")
        _side_b(view, state.read(SideB))
        examples.draw(__file__, view.loaded.takes, "compare:example", then=clear_selection, width=200)


def _side_b(view: View, params: SideB) -> None:
    words = words_of(view.trace)
    if params.what == "sentences" and view.loaded.takes != "text":
        second_input.picture(view, view.run.input.name, "A")
        other = second_input.choose(
            view,
            SideB.input_b,
            f"{words.input.capitalize()} B",
            help=f"{words.input.capitalize()} A is the open one. Both run through the same model; the same head "
            "is shown.",
        )
        second_input.picture(view, other, "B")
        return
    if params.what == "sentences":
        state.bound(
            st.text_input,
            SideB.text_b,
            "Sentence B",
            placeholder="Type a sentence and press Enter",
            help="Sentence A is the open one. Both run through the same model; the same head is shown.",
        )
        return
    if params.what == "models":
        params = _choose_model(view)
    _choose_head(view, params)


def _choose_model(view: View) -> SideB:
    def title(name: str) -> str:
        return "Untrained, another seed" if name == "scratch" and view.model.untrained is not None else MODELS[name]

    kind = view.loaded.takes
    offered = [name for name in MODELS if name not in BUNDLED or kind in BUNDLED[name].kinds]
    offered = [name for name in offered if name != "scratch" or kind == "text"]
    chosen = state.selectbox(
        SideB.model_b,
        "Model B",
        {name: title(name) for name in offered},
        width=270,
        help=f"Model A is the open one. Both process the same {words_of(view.trace).input}.",
    )
    if chosen == "other":
        state.bound(
            st.text_input,
            SideB.source_b,
            "Folder or Hub id of B",
            placeholder="org/name",
            help=model_access.source_help(),
            width=270,
        )
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
            st.number_input,
            label,
            0,
            count - 1,
            key=f"compare:{param.name}",
            value=value,
            width=130,
            take=lambda chosen, param=param: state.put(param, chosen),
        )
