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
from pages.predict import answer, classes, masked, of_pair, vocabulary
from pages.predict.params import TASKS, Params
from pages.state import controlled, state

SHOW = {"word": masked.show, "class": classes.show, "caption": of_pair.show, "answer": answer.show,
        "sparse": vocabulary.show}  # fmt: skip
#: Task -> the inputs of a bundled model that does it. For masked words, `masked` shows the twins.
BUNDLED = {"class": ("image",), "caption": ("text", "image")}
CANNOT = {"class": "has no classification head", "caption": "does not compare images with texts"}


def main(view: View) -> None:
    able = tasks_of(view)
    task = state.newest(Params.task) or able[0]
    with heading():
        controlled(
            st.segmented_control,
            "Predict",
            list(TASKS),
            key="predict:task",
            value=task,
            required=True,
            format_func=TASKS.get,
            label_visibility="collapsed",
            take=partial(choose, able[0]),
        )
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
    """The tasks that the model was trained for; the masked word, by other models, where it is none."""
    can = {
        "sparse": getattr(view.loaded, "sparse", None),
        "word": view.loaded.mlm_head,
        "class": class_head.model_of(view).classifier,
        "caption": model_store.joint(view.model),
        "answer": getattr(view.loaded, "span_head", None),
    }
    return [task for task, part in can.items() if part is not None] or ["word"]


def choose(usual: str, task: str) -> None:
    """Show a task. The usual one stays out of the address, so another model shows its own. For callbacks."""
    state.put(Params.task, "" if task == usual else task)


show(main)
