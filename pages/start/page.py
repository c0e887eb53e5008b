"""Start: what this is, a picture of the visitor's own sentence, and three ways on."""

from __future__ import annotations

import dataclasses

import streamlit as st

from pages.components.lazy import expander
from pages.core.frame import frame, sidebar
from pages.core.stores import model_store
from pages.core.view import first_view
from pages.core.view.view import EXAMPLES, View, ViewParams, model_key
from pages.core.words.glossary import opening
from pages.start import picture, ways
from pages.state import links
from pages.state.url_state import state

_EXAMPLE = "start-example"


def main() -> None:
    frame.heading()
    opening(
        "Type a sentence: a real encoder, all-MiniLM-L6-v2 with 6 layers of 12 heads, runs on it, and every number on "
        "these pages is computed from it."
    )
    left, right = st.columns([7, 4], gap="large")
    kind = model_store.takes(model_key())
    with left:
        if kind == "text":
            sentence()
        else:
            links.link(f"{kind}_attention", f"This model runs on your {kind}: change it here")
    place, below = st.container(key="start-picture"), st.container(key="start-ways")
    with below:
        for column, part in zip(st.columns(3, gap="medium"), (newcomers, teachers, researchers), strict=True):
            with column:
                part()
    with right:
        sidebar.norm_controls(model_key())
    with place:
        if kind == "text":
            first_view.choose(model_key())
        view = frame.current_view()
        view = inside(sidebar.with_selection_inside(view, view.trace.n_tokens))
        picture.draw(view)
    picture.export(view)
    links.next_page("heads", "Heads, all heads of your sentence")


def inside(view: View) -> View:
    """The view with a layer and a head that the model has; a link may ask for others."""
    config = view.loaded.config
    place = {"layer": min(view.layer, config.n_layers - 1), "head": min(view.head, config.n_heads - 1)}
    for name, value in place.items():
        if value != getattr(view, name):
            state.note(f"{name}={getattr(view, name)}: this model has {name}s 0 to {value}. The last one is open.")
            state.put_named(**{name: value})
    return dataclasses.replace(view, **place)


def sentence() -> None:
    """The field, with the same sentence as in the sidebar of the other pages."""
    state.bound(
        st.text_area, ViewParams.text, "Sentence", height=68, label_visibility="collapsed",
        placeholder="Type a sentence and press Enter", on_change=sidebar.select, args=(None, None),
    )  # fmt: skip
    st.pills(
        "Examples", list(EXAMPLES)[:3], key=_EXAMPLE, label_visibility="collapsed", on_change=use_example
    )  # fmt: skip


def use_example() -> None:
    """Take an example as the sentence. For callbacks."""
    chosen = st.session_state.get(_EXAMPLE)
    if chosen is not None:
        state.put(ViewParams.text, EXAMPLES[chosen])
        sidebar.select(None, None)
        st.session_state[_EXAMPLE] = None


def newcomers() -> None:
    with st.container(border=True):
        st.header("I am new: four views, ten minutes", anchor=False)
        for number, way in enumerate(ways.NEW.values(), 1):
            links.link(way.folder, f"{number}. **{way.label}** {way.note}", values=way.values)


def teachers() -> None:
    with st.container(border=True):
        st.header("I teach", anchor=False)
        links.link("lessons", "**Lessons** Ten, with questions: predict, compute, see why")
        links.link("classroom", "**Classroom** A room that follows you, with a code and live answers")
        for lesson in ways.LESSONS.values():
            with st.expander(lesson.question):
                links.link(lesson.way.folder, lesson.way.label, values=lesson.way.values)
                st.markdown(f"**Expected observation.** {lesson.observation}\n\n**Answer.** {lesson.answer}")
        part = expander("Serve a class", "start-class")
        if part is not None:
            part.markdown("One machine serves all: start the app with this line, then open a room.")
            part.code(ways.CLASSROOM, language="bash", wrap_lines=True)
            part.markdown("A link holds a whole view. Without a room, nobody sees what others type.")


def researchers() -> None:
    with st.container(border=True):
        st.header("I research", anchor=False)
        for way in ways.RESEARCH:
            links.link(way.folder, way.label, values=way.values)
        part = expander("Long texts, export, Python", "start-python")
        if part is not None:
            part.markdown(
                "A text of any length: paste it. A longer text than the model takes is read in sliding windows. "
                "“Export and share”, at the end of each page, has CSV, Parquet, a report and these lines:"
            )
            part.code(ways.PYTHON, language="python", wrap_lines=True)


main()
