"""Q K V: the three vectors of every token in a head."""

from collections.abc import Mapping

import plotly.graph_objects as go
import streamlit as st

from encoder import explain, figures
from encoder.documents import tables
from encoder.explain.source import array
from encoder.figures.vectors import TITLES
from encoder.maps import EXACT_TOKENS
from pages.components import on_click, plot
from pages.core.view import View, ViewParams, selection, token_rows
from pages.core.widgets import Export, answer, title
from pages.core.widgets import place as place_of
from pages.core.words import formulas, gestures, token_names
from pages.state import Param, links, state

number = formulas.number

#: kind of vector -> its role in attention, the token that a click on its row selects.
VECTORS: dict[str, tuple[str, Param[int | None]]] = {
    "q": ("a query is compared with every key", ViewParams.i),
    "k": ("a key is compared with every query", ViewParams.j),
    "v": ("the weights average the values", ViewParams.j),
}


def draw(view: View) -> Export:
    """The three heatmaps, and where the score of the selected query and key is computed."""
    trace, (query, key) = view.trace, token_rows.pair(view)
    at = explain.Place(layer=view.layer, head=view.head, query=query, key=key)
    score = explain.score(trace, at)
    with answer.area():
        draw_answer(view, query, key, score)
        heatmaps(view, query, key)
    said = f"Each token has three vectors of {trace.config.d_head} numbers in this head. "
    if trace.config.position == "rotary":
        said += "Rotary positions: queries and keys are shown after their rotation, as the scores use them. "
    said += "A query and a key whose large values share components and signs have a large score. "
    st.caption(f"{said}{gestures.invitation('Select a row of the vectors for another query or key.')}")
    links.button(
        "model",
        "How this score is made, component by component",
        "calculate",
        "open-scores",
        {"step": "scores", "i": query, "j": key},
        type="tertiary",
    )
    return exported(view)


def heatmaps(view: View, query: int, key: int) -> None:
    """The three heatmaps side by side; of a long text, the parts with the selected query and key."""
    of_query, of_key = st.columns([1, 2])
    with of_query:
        query_rows = token_rows.part(view.trace.n_tokens, query, "qkv-i", "Query tokens")
    with of_key:
        key_rows = token_rows.part(view.trace.n_tokens, key, "qkv-j", "Key tokens")
    drawn = []  # before any is shown, so that the maps change together
    for kind, vectors in zip("qkv", view.trace.layer_qkv(view.layer), strict=True):
        rows, selected = (query_rows, query) if kind == "q" else (key_rows, key)
        look = {"title": TITLES[kind], "selected": selected, "first": rows.start}
        figure = figures.vectors_heatmap(array(vectors[view.head, rows]), view.trace.labels, kind, **look)
        drawn.append((kind, figure, rows, selected))
    for column, one in zip(st.columns(3), drawn, strict=True):
        with column:
            heatmap(view, *one)


def heatmap(view: View, kind: str, figure: go.Figure, rows: slice, selected: int) -> None:
    """One heatmap with its caption."""
    title, (role, param) = TITLES[kind], VECTORS[kind]
    plot(
        figure,
        key=f"vectors-{kind}",
        alt=f"{title} of layer {view.layer}, head {view.head}: one row per token, {view.trace.config.d_head} columns.",
        height=token_rows.height(rows.stop - rows.start, most=520),
        together=answer.together(),
        on_event=on_click(row=lambda token: state.put(param, token), clear=selection.clear),
    )
    st.caption(f"{title}: {role}.{token_rows.which(rows, view.trace.n_tokens, selected)}")


def exported(view: View) -> Export:
    """The vectors of the head."""
    layer, head = view.layer, view.head

    def drawn() -> Mapping[str, go.Figure]:
        vectors = zip("qkv", view.trace.layer_qkv(layer), strict=True)
        return {
            TITLES[kind]: figures.vectors_heatmap(array(x[head, :EXACT_TOKENS]), view.trace.labels, kind)
            for kind, x in vectors
        }

    return Export(
        view,
        title(view, f"q, k, v in L{layer} H{head}"),
        lambda: tables.vectors_frame(view.trace, layer, head),
        figures=drawn,
        lines=f"q, k, v = (part[{head}] for part in trace.layer_qkv({layer}))",
        settings=place_of(view),
    )


def draw_answer(view: View, query: int, key: int, score: explain.Score) -> None:
    """The line above the vectors: the score and the weight of the selected query and key."""
    labels = view.trace.labels
    names = f"{token_names.bold(labels, query)} attends to {token_names.bold(labels, key)}"
    row = view.trace.attention(view.layer, view.head, slice(query, query + 1))[0].cpu()
    value = f"score {number(score.value)}, weight {answer.weight(row, key)}" if score.visible else "the mask hides it"
    answer.draw(
        f"{names}: {value}.",
        f"Largest in this row: {answer.largest(row, labels)}.",
        cell={"i": query, "j": key},
        clear=selection.clearing(view),
    )
