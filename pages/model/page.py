"""Model: the whole model at work on the visitor's input, as one picture; then ways on."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

import streamlit as st

from encoder import EncoderError
from encoder.explain.cost import BYTES
from encoder.run import Run
from encoder.trace.trace import Trace
from pages.base.work.page_slots import draws_for_class
from pages.components.button import button
from pages.components.lazy import KEY, expander, popover
from pages.core.frame import frame, input_row
from pages.core.inputs import edited, places_input
from pages.core.stores import cache
from pages.core.view import first_view, model_spec, output, selection, typed_text
from pages.core.view.view import View, ViewParams
from pages.core.widgets import class_head, examples
from pages.core.words import gestures, glossary
from pages.model import cost, decoder, export, picture, switches, ways
from pages.model.params import Params, open_part
from pages.state import links
from pages.state.url_state import state

#: The example that was pressed; the selected tokens of the last run, with their labels.
_EXAMPLE, _SELECTED = "model-example", "_model_selected"
_WAYS = "model-ways"
SHOWN = {"picture": "Picture", "stream": "Length curves", "cost": "Cost"}


def controls() -> None:
    """The title, the examples, and the controls in one row."""
    if state.get(Params.show) == "diagram":  # an old link
        state.put(Params.show, "picture")
    if not input_row.has_controls():
        return
    kind = input_row.kind_of_input()
    with frame.heading():
        if kind == "text":
            shown = examples.read(input_row.__file__, input_row.example_group())
            st.pills(
                "Examples",
                list(shown)[:3],
                key=_EXAMPLE,
                label_visibility="collapsed",
                on_change=use_example,
                args=(shown,),
                width="content",
            )
    if state.newest(Params.show) == "cost":
        glossary.opening("How much work and memory does one forward pass need?")
    elif kind != "text":
        glossary.opening(f"What does a transformer encoder do with your {kind}?")
    row = st.container(key="input", horizontal=True, gap="xsmall")  # as above the other pages
    with row, st.container(key="input-itself"):
        if kind == "text":
            sentence()
        else:
            part = expander(f"Change the {kind}", "model-input", icon=":material/upload:")
            if part is not None:
                with part:
                    input_row.input_controls()
    with row:
        with st.container(key="input-help"):
            ways_in()
        with st.container(key="input-model", horizontal=True, gap="xsmall"):
            input_row.model_controls()
            input_row.tower_controls()
        with st.container(key="input-more", horizontal=True):
            state.segmented(Params.show, "Show", SHOWN, label_visibility="collapsed")


def main(view: View) -> None:
    said, place, below = st.container(key="model-said"), st.container(key="model-place"), st.empty()
    view, show = inside(view), state.get(Params.show)
    with said:
        view = edited.applied(view)
        trace = decoder.traced(view)
        labels = view.trace.labels
        selected = [place for place in (view.i, view.j) if place is not None and place < len(labels)]
        st.session_state[_SELECTED] = [(place, labels[place]) for place in selected]
        if show == "cost":
            bytes_each = BYTES.get(str(view.loaded.encoder.dtype), 4)
            found = cost.answer(view, bytes_each)
            edited.mark(view)
        else:
            answer(view, trace)
    with place:
        if show == "cost":
            cost.show(view, found, bytes_each)
        else:
            picture.draw(view, trace, show)
    if show == "cost":
        cost.export(view, found, bytes_each)
    else:
        export.export(view, trace, state.read(Params))
    links.next_page("heads", "Which tokens does each head attend to?")
    if trace.decoder is not None:
        step = state.newest(output.Output.step)
        values = {"stack": "cross", "layer": view.layer, "head": view.head, "output_token": step}
        links.button("heads", "Every head of cross-attention, on Heads", "grid_view", "to-cross", values)
    if decoder.of(trace) is None:
        worth = "" if draws_for_class() else switches.worth(view)  # a forward pass without each head
        notes = (first_view.sentence(view) or picture.caution(view), worth)
        below.caption(" ".join(note for note in notes if note))


def answer(view: View, trace: Trace) -> None:
    """What the selected token attends to; above the curves, which length changes most."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if state.get(Params.show) == "stream":
            st.markdown(picture.lengths(decoder.of(trace) or view.trace), width="content")
        elif (of_decoder := decoder.of(trace)) is not None:
            st.markdown(decoder.answer(view, of_decoder), width="content")
        elif view.i is None:
            named = "" if trace.kind == "text" else class_head.best(view)
            st.markdown(f"{picture.made_of(trace)} {named}", width="content")
            gestures.caption(gestures.invitation(f"{gestures.CLICK} a token to see what it attends to."))
        else:
            picture.two_meanings(view, view.i)
            st.markdown(picture.answer(view, view.i), width="content")
        edited.mark(view)


def inside(view: View) -> View:
    """The view with a layer and a head that the open river has; a link may ask for others."""
    config = output.config_shown(view.loaded, state.newest(Params.side) == "decoder")
    place = {"layer": min(view.layer, config.n_layers - 1), "head": min(view.head, config.n_heads - 1)}
    for name, value in place.items():
        if value != getattr(view, name):
            state.note(f"{name}={getattr(view, name)}: this model has {name}s 0 to {value}. The last one is open.")
            state.put_named(**{name: value})
    return view.but(**place)


def sentence() -> None:
    """The field, with the same sentence as in the row above the other pages."""
    state.bound(
        st.text_area,
        ViewParams.text,
        "Sentence",
        height=68,
        label_visibility="collapsed",
        placeholder="Type a sentence and press Enter",
        on_change=another_text,
    )


def another_text() -> None:
    """Tokens stay selected that the new sentence has at the same places. Its window is the first. For callbacks."""
    places_input.keep_if_as_many()
    if first_view.is_own() and not _has_selected():
        selection.clear()
        open_part("")  # of a token of the sentence before
    state.put(Params.first, None)


def _has_selected() -> bool:
    """Whether the sentence that is asked for has the selected tokens of the last run at their places."""
    with suppress(EncoderError):  # said where the model is loaded
        text = replace(typed_text(), text=state.newest(ViewParams.text))
        labels = cache.trace(Run(model_spec(), text)).labels
        return all(
            place < len(labels) and labels[place] == label for place, label in st.session_state.get(_SELECTED, ())
        )
    return False


def use_example(shown: Mapping[str, Mapping[str, object]]) -> None:
    """Take one of the examples as the sentence. For callbacks."""
    chosen = st.session_state.get(_EXAMPLE)
    if chosen is not None and chosen in shown:
        state.put(ViewParams.text, str(shown[chosen]["text"]))
        places_input.remove()
        first_view.again()
        open_part("")
        state.put(Params.first, None)
        if "select" in shown[chosen]:
            select_twice(str(shown[chosen]["select"]))
        st.session_state[_EXAMPLE] = None


def select_twice(word: str) -> None:
    """Select the first two tokens of a word, whose meanings may differ. For callbacks."""
    with suppress(EncoderError):  # said where the model is loaded
        labels = cache.trace(Run(model_spec(), typed_text())).labels
        places = [place for place, label in enumerate(labels) if label == word][:2]
        if len(places) == 2:
            selection.select(*places)


def ways_in() -> None:
    """Where to go from here, for those who are new, who teach, who run an encoder and who research."""
    part = popover("Where to begin", _WAYS)
    if part is None:
        return
    with part:
        st.markdown("**Four views, ten minutes**")
        for number, way in enumerate(ways.NEW.values(), 1):
            said = f"{number}. **{way.label}** {way.note}"
            if way.folder == "model":  # here the list would stay open over what it opens
                button(said, "arrow_forward", f"model-way:{number}", partial(_show, way.values), type="tertiary")
            else:
                links.link(way.folder, said, values=way.values)
        st.markdown("**I teach**")
        links.link("lessons", "**Lessons** With questions: predict, compute, see why")
        links.link("classroom", "**Classroom** A room that follows you, with a code and live answers")
        for title, found in (("I run an encoder", ways.RUN), ("I research", ways.RESEARCH)):
            st.markdown(f"**{title}**")
            for way in found:
                links.link(way.folder, way.label, values=way.values)


def _show(values: Mapping[str, str]) -> None:
    """Show a view of this page, and close the list that offered it. For callbacks."""
    st.session_state[f"{KEY}{_WAYS}"] = False
    state.put_named(**{name: state.params[name].parse(value) for name, value in values.items()})


frame.show(main, controls)
