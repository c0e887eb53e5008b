"""Q K V: the three vectors of every token in a head, and the score of one pair with its numbers."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder import explain, figures
from encoder.explain.source import array
from encoder.export import tables
from pages.components import on_click, plot
from pages.core.view import View, ViewParams, selection, token_rows
from pages.core.widgets import Export, answer, title
from pages.core.widgets import place as place_of
from pages.core.words import formulas, token_names
from pages.heads.params import Params
from pages.state import Param, state

number = formulas.number

#: kind of vector -> title, role in attention, the token that a click on its row selects.
VECTORS: dict[str, tuple[str, str, Param[int | None]]] = {
    "q": ("Queries", "a query is compared with every key", ViewParams.i),
    "k": ("Keys", "a key is compared with every query", ViewParams.j),
    "v": ("Values", "the weights average the values", ViewParams.j),
}


def draw(view: View) -> Export:
    """The three heatmaps, then the score and the weight of the selected query and key."""
    trace, (query, key) = view.trace, token_rows.pair(view)
    at = explain.Place(layer=view.layer, head=view.head, query=query, key=key)
    score, softmax = explain.score(trace, at), explain.softmax(trace, at)
    with answer.area():
        draw_answer(view, query, key, score)
        heatmaps(view, query, key)
    said = f"Each token has three vectors of {trace.config.d_head} numbers in this head. "
    if trace.config.position == "rotary":
        said += "Rotary positions: queries and keys are shown after their rotation, as the scores use them. "
    st.caption(f"{said}A query and a key whose large values share components and signs have a large score.")
    selected_pair(view, query, key, score, softmax)
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
        look = {"title": VECTORS[kind][0], "selected": selected, "first": rows.start}
        figure = figures.vectors_heatmap(array(vectors[view.head, rows]), view.trace.labels, kind, **look)
        drawn.append((kind, figure, rows, selected))
    for column, one in zip(st.columns(3), drawn, strict=True):
        with column:
            heatmap(view, *one)


def heatmap(view: View, kind: str, figure: go.Figure, rows: slice, selected: int) -> None:
    """One heatmap with its caption."""
    title, role, param = VECTORS[kind]
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
            VECTORS[kind][0]: figures.vectors_heatmap(array(x[head, : tables.EXACT_TOKENS]), view.trace.labels, kind)
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
        f"Largest in this row: {answer.largest(row, labels)}. Select a row of the vectors for another query or key.",
        cell={"i": query, "j": key},
        clear=selection.clearing(view),
    )


def selected_pair(view: View, query: int, key: int, score: explain.Score, softmax: explain.Softmax) -> None:
    """The selected pair: products, sum, score and weight."""
    query_name, key_name = token_names.plain(view.trace.labels, query), token_names.plain(view.trace.labels, key)
    st.subheader(f"Query :blue[{query_name}], key :red[{key_name}]", anchor=False)
    with st.container(key="pair-sentence"):
        st.markdown(pair_in_words(view, query, key, score, softmax))
    # Narrow screens stack the columns: the picture comes before the formulas.
    products, derivation = st.columns([3, 2], gap="medium")
    with products:
        product_bars(view, score, query, key)
    with derivation, st.container(key="derivation"):
        formulas.show_step(score.formula)
        formulas.show_step(softmax.formula)


def pair_in_words(view: View, query: int, key: int, score: explain.Score, softmax: explain.Softmax) -> str:
    """Dot product, score and weight of the pair."""
    pair = f"Query: token {query}. Key: token {key}."
    if view.i is None or view.j is None:
        pair += " This pair is the default: click a query and a key to choose another."
    if not score.visible:
        return f"{pair} The mask hides this key from this query: its weight is 0, whatever the score."
    n_visible = int(score.allowed.sum())
    bias = f" + {number(score.bias)} (bias for the offset j − i)" if score.bias else ""
    dot = " + ".join(("dot product", *(f"{number(value)} ({name})" for name, value in score.of_positions.items())))
    dot = f"({dot})" if score.of_positions else dot
    cap = "" if score.cap is None else f", capped at ±{score.cap:g} by tanh,"
    scale = f"{score.scale:.4f}"
    if abs(score.scale - view.trace.config.d_head**-0.5) < 1e-6:
        scale = f"{scale} (1/√d_k; d_k = {view.trace.config.d_head} is the width of a head, K in the formulas)"
    return (
        f"{pair}  \n"
        f"Dot product: {number(score.dot)}. Score: {dot} × {scale}{cap}{bias} = **{number(score.value)}**.  \n"
        f"Weight after the softmax: **{number(softmax.value)}**. Uniform attention would give each token "
        f"{number(1 / n_visible)}."
    )


def product_bars(view: View, score: explain.Score, query: int, key: int) -> None:
    """The products of all components as bars, in words and as a table."""
    orders = {"component": "by component", "size": "largest first"}
    order = state.segmented(Params.order, "Order of the products", orders)
    plot(
        figures.dot_product_bars(score.q, score.k, scale=score.scale, order=order),
        height=300,
        key="products",
        alt=f"The {view.trace.config.d_head} products of query and key, and their running sum up to {score.dot:.3f}.",
    )
    terms = figures.dot_product_terms(score.q, score.k)
    st.caption(products_in_words(figures.dot_product_summary(terms)))
    product_table(view, terms, query, key)


def products_in_words(found: figures.DotProduct) -> str:
    """Sums, norms and cosine behind a dot product."""
    component, product = found.largest
    query_norm, key_norm = found.lengths
    return (
        f"Sum of the positive products: {number(found.above)}; of the negative ones: {number(found.below)}. "
        f"Largest product in size: {number(product)}, component {component}. "
        f"Norm of the query: {number(query_norm)}; of the key: {number(key_norm)}. "
        f"Cosine of their angle: {number(found.cosine)} (1: same direction, 0: orthogonal)."
    )


def product_table(view: View, terms: pd.DataFrame, query: int, key: int) -> None:
    """Every product as a number."""
    column, labels = st.column_config.NumberColumn, view.trace.labels
    query_name, key_name = (figures.isolated(labels[at]) + token_names.which(labels, at) for at in (query, key))
    st.dataframe(
        terms,
        hide_index=True,
        height=260,
        column_config={
            "component": column("c", width="small", help="Component, counted from 0"),
            "q": column(f"q of {query_name}", format="%.5f"),
            "k": column(f"k of {key_name}", format="%.5f"),
            "product": column("q × k", format="%.5f"),
            "running_sum": column("Running sum", format="%.5f"),
        },
    )
