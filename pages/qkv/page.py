"""Queries, keys, values: the three vectors of every token in a head, and a pair's dot product with its real numbers."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from encoder import explain, figures
from encoder.explain.source import array
from encoder.measure import ranking
from pages.components import plot
from pages.core import formulas, sidebar, token_names, token_rows
from pages.core.frame import current_view, heading
from pages.core.view import state
from pages.qkv.export import export_vectors

NAMES = {
    "q": ("Queries", "what each token looks for", "i"),
    "k": ("Keys", "what each token offers to be found by", "j"),
    "v": ("Values", "what each token hands over when it is found", "j"),
}

#: Room that is kept for the sentence and the derivation, whatever their numbers: the page below stays where it is when
#: another pair is chosen, and when the formulas' script arrives late.
STYLE = """
.st-key-pair-sentence { min-height: 5rem; }
.st-key-derivation { min-height: 51rem; }
@media (max-width: 640px) { .st-key-pair-sentence { min-height: 11rem; } }
"""

view = current_view()
trace, config, labels = view.trace, view.loaded.config, view.trace.labels


def main() -> None:
    st.html(f"<style>{STYLE}</style>")
    heading()
    st.markdown(
        f"In **L{view.layer} H{view.head}** each token becomes three vectors of {config.d_head} numbers: a "
        ":blue[**query**], a :red[**key**] and a :green[**value**]. A query and a key that point the same way make "
        "a large score. Click a row: of a query to choose the token that looks, of a key or value the one looked at."
    )
    if config.position == "rotary":
        st.caption("Queries and keys are shown as the scores use them: already turned by the position of their token.")
    query, key = token_rows.pair(view)
    maps(query, key)
    dot_product(query, key)
    export_vectors(view)


def maps(query: int, key: int) -> None:
    """The three heatmaps side by side; of a long text the part with the query, and the part with the key."""
    of_query, of_key = st.columns([1, 2])
    with of_query:
        queries = token_rows.part(trace.n_tokens, query, "qkv-i", "Query tokens")
    with of_key:
        keys = token_rows.part(trace.n_tokens, key, "qkv-j", "Key tokens")
    places = {"q": (queries, query), "k": (keys, key), "v": (keys, key)}
    for column, vectors, kind in zip(st.columns(3), trace.layer_qkv(view.layer), "qkv", strict=True):
        title, meaning, parameter = NAMES[kind]
        rows, selected = places[kind]
        figure = figures.vectors_heatmap(
            array(vectors[view.head, rows]), labels, kind, title=title, selected=selected, first=rows.start
        )
        with column:
            plot(
                figure,
                key=f"vectors-{kind}",
                alt=f"{title} of layer {view.layer}, head {view.head}: {meaning}. One row a token, one column for each "
                f"of {config.d_head} numbers.",
                height=token_rows.height(rows.stop - rows.start, most=400),
                on_event=partial(token_rows.select_row, name=parameter),
            )
            st.caption(f"{title}: {meaning}.{token_rows.which(rows, trace.n_tokens, selected)}")


def dot_product(query: int, key: int) -> None:
    """The selected pair: every product, the sum, the score, the weight."""
    at = explain.Place(layer=view.layer, head=view.head, query=query, key=key)
    score, softmax = explain.score(trace, at), explain.softmax(trace, at)
    asks, answers = token_names.plain(labels, query), token_names.plain(labels, key)
    st.subheader(f":blue[{asks}] looks at :red[{answers}]", anchor=False)
    with st.container(key="pair-sentence"):
        st.markdown(sentence(query, key, score, softmax))
    # The derivation beside the products it is made of: each formula on lines of its own, never wider than its column.
    derivation, products = st.columns([2, 3], gap="medium")
    with derivation, st.container(key="derivation"):
        formulas.show_step(score.formula)
        formulas.show_step(softmax.formula)
    with products:
        product_pictures(score, query, key)


def product_pictures(score: explain.Score, query: int, key: int) -> None:
    """The K products as bars, in a sentence, and as a table."""
    order = state.bound(
        st.segmented_control,
        "order",
        "The products, one bar a component",
        ["component", "size"],
        required=True,
        format_func={"component": "in order", "size": "largest first"}.get,
    )
    st.plotly_chart(
        figures.dot_product_bars(score.q, score.k, scale=score.scale, order=order),
        height=300,
        key="products",
        alt=f"The {config.d_head} products of query and key, and their running sum up to {score.dot:.3f}.",
    )
    terms = figures.dot_product_terms(score.q, score.k)
    st.caption(products_in_words(figures.dot_product_summary(terms)))
    product_table(terms, query, key)


def products_in_words(found: figures.DotProduct) -> str:
    """What the bars say."""
    component, product = found.largest
    number = formulas.number
    return (
        f"The products above 0 add up to {number(found.above)}, those below 0 to {number(found.below)}; the largest in "
        f"size is component {component} with {number(product)}. The query is {number(found.lengths[0])} long and the "
        f"key {number(found.lengths[1])}; the cosine of the angle between them is {number(found.cosine)}."
    )


def product_table(terms: pd.DataFrame, query: int, key: int) -> None:
    """Every product as a number."""
    column = st.column_config.NumberColumn
    asks, answers = (figures.isolated(labels[at]) + token_names.which(labels, at) for at in (query, key))
    st.dataframe(
        terms,
        hide_index=True,
        height=260,
        column_config={
            "component": column("c", width="small", help="The component, counted from 0"),
            "q": column(f"q of {asks}", format="%.5f"),
            "k": column(f"k of {answers}", format="%.5f"),
            "product": column("q × k", format="%.5f"),
            "running_sum": column("Sum so far", format="%.5f"),
        },
    )


def sentence(query: int, key: int, score: explain.Score, softmax: explain.Softmax) -> str:
    """What is seen, in words."""
    asks, answers = sidebar.plain(labels[query]), sidebar.plain(labels[key])
    chosen = "" if view.i is not None and view.j is not None else "No pair is selected, so this one is shown. "
    if not score.visible:
        return (
            f"{chosen}**{asks}** (token {query}) may not look at **{answers}** (token {key}): the mask hides it, and "
            "its weight is 0 whatever the score."
        )
    row = trace.attention(view.layer, view.head, slice(query, query + 1))[0]
    places = [place for place, _ in ranking.strongest(row, trace.n_tokens)]
    rank = places.index(key) + 1
    best = (
        "the largest of all"
        if rank == 1
        else f"number {rank}: the largest goes to {token_names.quoted(labels, places[0])}"
    )
    added = f", plus {formulas.number(score.bias)} for the distance," if score.bias else ","
    seen = int(score.allowed.sum())
    return (
        f"{chosen}The {config.d_head} products of the query of **{asks}** (token {query}) and the key of **{answers}** "
        f"(token {key}) add up to {formulas.number(score.dot)}. Times {score.scale:.4f}{added} the score is "
        f"**{formulas.number(score.value)}**. The softmax over {seen} tokens makes it a weight of "
        f"**{formulas.number(softmax.value)}**, {best}. If all weights were alike, each would be "
        f"{formulas.number(1 / seen)}."
    )


main()
