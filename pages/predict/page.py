"""Predict: a masked word, a class or a tag, a caption, an answer, words of the vocabulary; each by a model that can."""

from dataclasses import replace
from functools import partial

import streamlit as st

from encoder.checkpoints import first_bundled
from pages.core.frame.frame import heading, show
from pages.core.inputs import chosen_input, image_input
from pages.core.stores import model_store
from pages.core.view import View
from pages.core.widgets import class_head
from pages.predict import answer, classes, entities, masked, of_pair, vocabulary, written
from pages.predict.params import TASKS, Params
from pages.state import controlled, next_page, state

SHOW = {"word": masked.show, "class": classes.show, "caption": of_pair.show, "answer": answer.show,
        "entity": entities.show, "sparse": vocabulary.show, "output": written.show}  # fmt: skip
#: Task -> the inputs of a bundled model that does it. For masked words, `masked` shows the twins.
BUNDLED = {"class": ("image",), "caption": ("text", "image")}
CANNOT = {"class": "has no classification head", "caption": "does not compare images with texts"}
#: Task -> what a model needs for it.
NEEDS = {
    "word": "A masked word: a masked-word head, as Twin has one.",
    "class": "A class: a classification head, as Digits has one.",
    "caption": "A caption: an encoder of images and one of texts, as in Digits and captions.",
    "answer": "An answer in a text: a head for its start and its end.",
    "entity": "Entities with your own labels: a [GLiNER](https://huggingface.co/models?search=gliner) model.",
    "sparse": "Words of the vocabulary: a SPLADE model.",
    "output": "A new text: a decoder, as Dates has one.",
}


def main(view: View) -> None:
    able = tasks_of(view)
    task = state.newest(Params.task) or (able or ["word"])[0]
    offered = [one for one in TASKS if one in {*able, task}]  # a link may ask for another one
    with heading():
        if len(offered) > 1:
            controlled(
                st.segmented_control,
                "Predict",
                offered,
                key="predict:task",
                value=task,
                required=True,
                format_func=TASKS.get,
                label_visibility="collapsed",
                take=partial(choose, (able or ["word"])[0]),
            )
    if task == "output" and task not in able:
        st.info("This model has no decoder that writes. Choose Dates under Model.", icon=":material/info:")
        return
    _show(view, task, able)
    with st.expander("Other predictions, and the model that each needs", icon=":material/help:"):
        st.markdown("\n".join(f"- {NEEDS[task]}" for task in TASKS if task not in able))
    next_page("texts", "Which of your texts answer a query?")


def _show(view: View, task: str, able: list[str]) -> None:
    """A task by the open model, or by a bundled one that stands in."""
    if task in able or task not in BUNDLED:
        SHOW[task](view)
        return
    kinds = BUNDLED[task]
    view = chosen_input.instead(view, first_bundled(*kinds), CANNOT[task], "image" if len(kinds) > 1 else "")
    controls, shown = st.columns([1, 4], gap="medium")
    with controls:
        image_input.IMAGES.controls(view.loaded)
    with shown:
        given = chosen_input.current(view.model)
        SHOW[task](replace(view, run=replace(view.run, input=given)))


def tasks_of(view: View) -> list[str]:
    """The tasks that the model was trained for."""
    can = {
        "sparse": getattr(view.loaded, "sparse", None),
        "word": view.loaded.mlm_head,
        "class": class_head.model_of(view).classifier,
        "caption": model_store.joint(view.model),
        "answer": getattr(view.loaded, "span_head", None),
        "entity": getattr(view.loaded, "entity_head", None),
        "output": view.loaded.decoder if view.loaded.decoder is not None and view.loaded.decoder.reads else None,
    }
    return [task for task, part in can.items() if part is not None]


def choose(usual: str, task: str) -> None:
    """Show a task. The usual one stays out of the address, so another model shows its own. For callbacks."""
    state.put(Params.task, "" if task == usual else task)


show(main)
