"""A probe as a classification head: train it, use it with the sentence, save its weights."""

from functools import partial

import streamlit as st

from encoder import classify
from encoder.figures.probes import layer_names
from encoder.probe import Task
from pages.components.button import button
from pages.core.view import View
from pages.core.widgets import class_head, file_name
from pages.core.words import plain
from pages.probes import work
from pages.probes.params import VIEWS


def save(view: View, task: Task, pooled: str, layer: int, subject: work.Subject) -> None:
    """Train the selected probe on all texts, use it here, and offer its file."""
    if subject.spec != view.model:
        st.info("Choose this model above first.", icon=":material/info:")
        return
    found = work.head(view, task, pooled, layer)
    if found is None:
        return
    where = layer_names(view.loaded.config.n_layers)[layer]
    reads = "tags each token" if pooled == "token" else "classifies texts"
    st.markdown(f"This head {reads}. It uses: {VIEWS[pooled]}, {where}. Classes: {len(found.config.labels)}.")
    with st.container(horizontal=True):
        button(
            "Use it with your sentence",
            "label",
            "probes:use",
            partial(class_head.put, found, view.loaded.name, f"Probe: {task.title}"),
            type="primary",
        )
        st.download_button(
            "Weights (safetensors)",
            lambda: classify.head_to_bytes(found, view.loaded.name),
            f"{file_name(f'probe-{pooled}-{where}-{view.loaded.name}')}.safetensors",
            "application/octet-stream",
            key="probes:weights",
            on_click="ignore",
            icon=":material/download:",
        )


def opened(view: View) -> None:
    """What the model's head, or the one in use, says about the reader's sentence."""
    if class_head.model_of(view).classifier is None:
        return
    st.header("Your sentence, classified", anchor=False)
    if class_head.name():
        st.caption(f"Head: {plain(class_head.name())}")
    class_head.draw(view)
    if class_head.name():
        button("Close this head", "close", "probes:close", class_head.drop)
