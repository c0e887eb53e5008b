"""Positions: what tells the encoder where a token stands, how alike any two positions are, and the sines beside it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from encoder import figures
from encoder.measure import positions
from pages.shared import cached, formulas, token_rows
from pages.shared.components import plot
from pages.shared.frame import current_view
from pages.shared.view import state

#: More positions than these are not drawn: dot products of each with each would be a map of a million cells.
MOST = 512

SENTENCES = {
    "learned": "**{name}** adds a **learned** vector to each token: row *p* of a table of {longest:,}, trained like "
    "any other weight. Nothing told it that positions have an order; what order is seen below, it found in the text.",
    "sinusoidal": "**{name}** adds **sines and cosines** of falling frequency (Vaswani et al. 2017): components 2c "
    "and 2c + 1 are the sine and the cosine of position / 10000^(2c/{width}). Nothing is learned, and the dot product "
    "of two positions depends on their distance alone.",
    "rotary": "**{name}** adds nothing. It **turns** queries and keys: pair c of their components by the angle "
    "position / {base:,.0f}^(2c/{d_head}) in layer {layer} (Su et al. 2021). A dot product of a query and a key then "
    "depends on how far apart they are, and not on where they are.",
    "none": "**{name}** has **no positions**: the same words in another order give the same vectors, in that order. "
    "Attention alone does not know what comes first.",
}
FORMULAS = {
    "sinusoidal": r"P_{p,2c} = \sin\frac{p}{10000^{2c/D}} \qquad P_{p,2c+1} = \cos\frac{p}{10000^{2c/D}}",
    "rotary": r"\begin{pmatrix} q_c \\ q_{c+K/2} \end{pmatrix} \mapsto "
    r"\begin{pmatrix} \cos p\theta_c & -\sin p\theta_c \\ \sin p\theta_c & \cos p\theta_c \end{pmatrix} "
    r"\begin{pmatrix} q_c \\ q_{c+K/2} \end{pmatrix} \qquad "
    r"\theta_c = b^{-2c/K}",
}

view = current_view()
trace, config = view.trace, view.loaded.config


def main() -> None:
    st.header("Positions", anchor=False)
    base = config.rotary_base_of_layer(view.layer)
    st.markdown(
        SENTENCES[config.position].format(
            name=view.loaded.name,
            longest=config.max_tokens,
            width=config.embedding_width,
            base=base,
            d_head=config.d_head,
            layer=view.layer,
        )
    )
    if config.position in FORMULAS:
        formulas.show(FORMULAS[config.position])
    n_positions = how_many()
    own = positions.added(view.loaded.encoder, n_positions)
    if config.position == "rotary":
        rotary(n_positions)
    tables = {} if own is None else {config.position: own}
    if config.position != "sinusoidal" and config.embedding_width % 2 == 0:
        tables["sinusoidal"] = positions.sines(n_positions, config.embedding_width)
    heatmaps(tables)
    similarity(tables, n_positions)
    if config.relative_buckets:
        by_distance(min(n_positions, config.relative_max_distance * 2))


def how_many() -> int:
    """Positions of the sentence, or as many as the model has."""
    longest = min(config.max_tokens, MOST)
    choice = state.bound(
        st.segmented_control,
        "rows",
        "Positions",
        ["sentence", "all"],
        required=True,
        format_func={
            "sentence": f"of this sentence: {trace.n_tokens}" if trace.n_tokens <= longest else "of this sentence",
            "all": f"all {longest}" if longest == config.max_tokens else f"the first {longest}",
        }.get,
    )
    return min(trace.n_tokens, longest) if choice == "sentence" else longest


def heatmaps(tables: dict) -> None:
    """Each encoding as a map, side by side."""
    if not tables:
        return
    for column, (kind, table) in zip(st.columns(len(tables)), tables.items(), strict=True):
        with column:
            title = (
                "Sinusoidal, of the same width" if kind != config.position else f"{kind.title()}, as the model adds it"
            )
            plot(
                figures.position_heatmap(table, title=title, selected=view.i),
                key=f"encoding-{kind}",
                alt=f"{title}: {len(table)} positions downwards, {table.shape[1]} components to the right.",
                height=token_rows.height(len(table), pitch=12, most=460),
                on_event=select_position,
            )
            st.caption(read_encoding(kind))


def read_encoding(kind: str) -> str:
    """What is seen in a map of an encoding."""
    if kind == "sinusoidal":
        return "Each row is a position. On the left the waves are quick, on the right they hardly move over a sentence."
    return (
        "Each row is what is added to the token at that position. A column that changes slowly tells near from far. "
        "The strongest colour stands for the largest half percent of all values."
    )


def similarity(tables: dict, n_positions: int) -> None:
    """Dot products between positions, as maps and as curves by distance."""
    if not tables:
        return
    st.subheader("How alike are two positions?", anchor=False)
    measure = state.bound(
        st.segmented_control,
        "product",
        "Measure",
        ["cosine", "dot"],
        required=True,
        format_func={"dot": "dot product", "cosine": "cosine"}.get,
        help="The cosine leaves the lengths of the two vectors out.",
    )
    cosine = measure == "cosine"
    products = {kind: products_of(kind, n_positions, cosine, table) for kind, table in tables.items()}
    for column, (kind, matrix) in zip(st.columns(len(products)), products.items(), strict=True):
        with column:
            plot(
                figures.position_dot_products(matrix, title=kind.title(), cosine=cosine, selected=view.i),
                key=f"products-{kind}",
                alt=f"{kind.title()}: how alike each two of {n_positions} positions are.",
                height=420,
                on_event=select_position,
            )
    curves = {kind: curve_of(kind, n_positions, cosine, matrix) for kind, matrix in products.items()}
    # Cosines share an axis; dot products of a learned table and of sines are of very different size.
    charts = [curves] if cosine else [{kind: curve} for kind, curve in curves.items()]
    for column, chart in zip(st.columns(len(charts)), charts, strict=True):
        column.plotly_chart(
            figures.distance_curve(chart, unit="cosine" if cosine else "dot product"),
            height=320,
            key=f"by-distance-{'-'.join(chart)}",
            alt="Similarity of two positions by the distance between them, with the middle 80 % of all pairs.",
        )
    st.caption(
        "The line is the mean over all pairs so far apart, the band holds the middle 80 % of them. "
        + read_curve(curves)
    )


def read_curve(curves: dict[str, pd.DataFrame]) -> str:
    """What the curves say, with their numbers."""
    said = []
    for kind, curve in curves.items():
        if len(curve) > 1:
            near, far = curve["mean"].iloc[1], curve["mean"].iloc[-1]
            said.append(f"{kind.title()}: {near:.2f} for neighbours, {far:.2f} at distance {len(curve) - 1}.")
    return " ".join(said)


def products_of(kind: str, n_positions: int, cosine: bool, table: object) -> object:
    """Dot products of each position with each, kept for the model."""
    name = ("position products", kind, n_positions, cosine)
    return cached.derived(
        view.model, view.text, view.pair, name, lambda _: figures.position_products(table, cosine=cosine)
    )


def curve_of(kind: str, n_positions: int, cosine: bool, matrix: object) -> pd.DataFrame:
    """The same by distance, kept for the model."""
    name = ("position curve", kind, n_positions, cosine)
    return cached.derived(view.model, view.text, view.pair, name, lambda _: figures.products_by_distance(matrix))


def rotary(n_positions: int) -> None:
    """The angles by which queries and keys are turned, and what that does to a dot product."""
    cos, sin = positions.turns(config, view.layer, n_positions)
    angles, curve = st.columns(2)
    with angles:
        plot(
            figures.rotary_angles(figures.angles(cos, sin), title=f"Angles in layer {view.layer}", selected=view.i),
            key="angles",
            alt=f"How far each of {cos.shape[1]} pairs of components is turned at {n_positions} positions.",
            height=token_rows.height(n_positions, pitch=12, most=460),
            on_event=select_position,
        )
        st.caption("Pair 0 turns by one radian from token to token; the last pairs hardly turn at all.")
    with curve:
        falls = pd.DataFrame({"distance": range(n_positions), "mean": positions.turned_apart(cos)})
        st.plotly_chart(
            figures.distance_curve({"rotary": falls}, unit="dot product"),
            height=420,
            key="rotary-curve",
            alt="Dot product of two equal vectors of length 1, turned as at positions so far apart.",
        )
        st.caption("The same vector as query and as key: its dot product with itself, so far apart.")


def by_distance(farthest: int) -> None:
    """What the model adds to the scores of the head for the distance (MPNet, T5)."""
    found = positions.distance_bias(view.loaded.encoder, view.head, farthest)
    if found is None:
        return
    st.subheader(f"Added to the scores of head {view.head} for the distance", anchor=False)
    st.plotly_chart(
        figures.distance_curve(
            {f"head {view.head}": pd.DataFrame({"distance": found[0], "mean": found[1]})}, unit="bias"
        ),
        height=300,
        key="bias",
        alt="The learned bias of the head by distance, key minus query.",
    )
    st.caption(
        "A learned number for each bucket of distances j − i; far distances share one. It is the same in all layers."
    )


def select_position(event: dict) -> None:
    """A click on a position selects its token, where the sentence has one."""
    if event.get("event") == "click" and event.get("i", trace.n_tokens) < trace.n_tokens:
        state.put("i", event["i"])


main()
