"""Positions: what tells the encoder where a token stands, how alike any two positions are, the sines beside it; and
what the same words in another order would give."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from encoder import figures
from encoder.explain import latex
from encoder.measure import positions
from pages.components import plot
from pages.core import cache, formulas, sidebar, token_names, token_rows
from pages.core.frame import current_view, heading
from pages.core.view import state
from pages.positions.export import export_positions

#: More positions than these are not drawn: dot products of each with each would be a map of a million cells.
MOST = 512
#: Farthest distance at which a query and a key are shown.
MOST_APART = 128

#: Longer texts are not run once more in another order: that takes as long as the sentence itself did.
MOST_REORDERED = 1_024

SENTENCES = {
    "learned": "**{name}** adds a **learned** vector to each token: row *p* of a table of {longest:,}, trained like "
    "any other weight. Nothing told it that positions have an order; what order is seen below, it found in the text.",
    "untrained": "**{name}** adds a vector of its own to each position: row *p* of a table of {longest:,} that "
    "training would fill. This one is **drawn at random and never trained**: it tells positions apart, and knows "
    "of no order.",
    "sinusoidal": "**{name}** adds **sines and cosines** of falling frequency (Vaswani et al. 2017): components 2c "
    "and 2c + 1 are the sine and the cosine of position / 10000^(2c/{width}). Nothing is learned, and the dot product "
    "of two positions depends on their distance alone.",
    "rotary": "**{name}** adds nothing. It **turns** queries and keys: pair c of their components by the angle "
    "position / {base:,.0f}^(2c/{d_head}) in layer {layer} (Su et al. 2021). A dot product of a query and a key then "
    "depends on how far apart they are, and not on where they are.",
    "none": "**{name}** has **no positions**: the same words in another order give the same vectors, in that order. "
    "Attention alone does not know what comes first.",
    "relative": "**{name}** adds nothing to the tokens. It knows how far apart two of them are from a number that it "
    "adds to their score.",
}
#: The same for models whose heads also know distances (MPNet).
RELATIVE_TOO = (
    " Beside that, each head adds a number to every score for the distance between its two tokens: see below."
)
#: Below each other: side by side they are wider than a telephone.
FORMULAS = {
    "sinusoidal": latex.stack(
        r"P_{p,2c} = \sin\frac{p}{10000^{2c/D}}",
        r"P_{p,2c+1} = \cos\frac{p}{10000^{2c/D}}",
    ),
    "rotary": latex.stack(
        r"\begin{pmatrix} q_c \\ q_{c+K/2} \end{pmatrix} \mapsto "
        r"\begin{pmatrix} \cos p\theta_c & -\sin p\theta_c \\ \sin p\theta_c & \cos p\theta_c \end{pmatrix} "
        r"\begin{pmatrix} q_c \\ q_{c+K/2} \end{pmatrix}",
        r"\theta_c = b^{-2c/K}",
    ),
}

view = current_view()
trace, config = view.trace, view.loaded.config
#: Drawn at random from a seed, and nothing learned since.
untrained = view.model.source == "scratch"


def main() -> None:
    heading()
    st.markdown(introduction())
    if config.position in FORMULAS:
        formulas.show(FORMULAS[config.position])
    n_positions = how_many()
    own = positions.added(view.loaded.encoder, n_positions)
    tables = {} if own is None else {config.position: own}
    if config.position != "sinusoidal" and config.embedding_width % 2 == 0:
        tables["sinusoidal"] = positions.sines(n_positions, config.embedding_width)
    if own is not None:
        encodings(tables, n_positions)
    if config.position == "rotary":
        rotary(n_positions)
    if config.relative_buckets:
        by_distance(min(n_positions, config.relative_max_distance * 2))
    in_another_order()
    if own is None:  # the sines are another model's: they come last
        encodings(tables, n_positions)
    export_positions(view)


def introduction() -> str:
    """What this model does about positions."""
    kind = config.position
    if kind == "learned" and untrained:
        kind = "untrained"
    elif kind == "none" and config.relative_buckets:
        kind = "relative"
    said = SENTENCES[kind].format(
        name=view.loaded.name,
        longest=config.max_tokens,
        width=config.embedding_width,
        base=config.rotary_base_of_layer(view.layer),
        d_head=config.d_head,
        layer=view.layer,
    )
    if config.relative_buckets and kind != "relative":
        said += RELATIVE_TOO
    window = config.window_of_layer(view.layer)
    if window is not None:
        said += f" In layer {view.layer} a token sees no further than {window} tokens to either side."
    found = positions.lengths(trace)
    if found is not None:
        said += (
            f" In this sentence what is added is {found[0]:.3g} long on average, a token's own vector {found[1]:.3g}."
        )
    return said


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


def title_of(kind: str) -> str:
    """An encoding as the headings and legends name it."""
    if kind == "sinusoidal" and config.position != "sinusoidal":
        return "Sinusoidal, for comparison"
    return "Random, never trained" if kind == "learned" and untrained else kind.title()


def encodings(tables: dict, n_positions: int) -> None:
    """What is added at each position, and how alike any two of these vectors are."""
    if tables and config.position not in tables:
        st.subheader("For comparison: sines and cosines", anchor=False)
        st.markdown("The **sinusoidal** encoding of the same width, which this model does not add:")
    heatmaps(tables)
    similarity(tables, n_positions)


def heatmaps(tables: dict) -> None:
    """Each encoding as a map, side by side."""
    for column, (kind, table) in zip(st.columns(len(tables) or 1), tables.items(), strict=False):
        with column:
            plot(
                figures.position_heatmap(table, title=title_of(kind), selected=view.i),
                key=f"encoding-{kind}",
                alt=f"{title_of(kind)}: {len(table)} positions downwards, {table.shape[1]} components to the right.",
                height=token_rows.height(len(table), pitch=12, most=460),
                on_event=select_position,
            )
            st.caption(read_encoding(kind))
    if config.embedding_width % 2:
        st.caption(
            "The sinusoidal encoding is not drawn for comparison: its sines and cosines come in pairs, and the "
            f"width of this model, {config.embedding_width}, is odd. Choose an even width to see it."
        )


def read_encoding(kind: str) -> str:
    """What is seen in a map of an encoding."""
    if kind == "sinusoidal":
        return "Each row is a position. On the left the waves are quick, on the right they hardly move over a sentence."
    return (
        "Each row is what is added to the token at that position. "
        + (
            "The rows are drawn at random, each by itself: no column tells near from far. "
            if untrained
            else "A column that changes slowly tells near from far. "
        )
        + "The strongest colour stands for the largest half percent of all values."
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
    columns = st.columns(2)
    for column, (kind, matrix) in zip(columns, products.items(), strict=False):
        with column:
            plot(
                figures.position_dot_products(matrix, title=title_of(kind), cosine=cosine, selected=view.i),
                key=f"products-{kind}",
                alt=f"{title_of(kind)}: how alike each two of {n_positions} positions are.",
                height=420,
                on_event=select_position,
            )
    curves = {kind: curve_of(kind, n_positions, cosine, matrix) for kind, matrix in products.items()}
    # Cosines share an axis; dot products of a learned table and of sines are of very different size.
    charts = [curves] if cosine else [{kind: curve} for kind, curve in curves.items()]
    places = columns[1:] if len(products) == 1 else st.columns(len(charts))
    for column, chart in zip(places, charts, strict=True):
        column.plotly_chart(
            figures.distance_curve(
                {title_of(kind): curve for kind, curve in chart.items()}, unit="cosine" if cosine else "dot product"
            ),
            height=420 if len(products) == 1 else 320,
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
            name = "Sinusoidal" if kind == "sinusoidal" else title_of(kind)
            said.append(f"{name}: {near:.2f} for neighbours, {far:.2f} at distance {len(curve) - 1}.")
    return " ".join(said)


def products_of(kind: str, n_positions: int, cosine: bool, table: object) -> object:
    """Dot products of each position with each, kept for the model."""
    name = ("position products", kind, n_positions, cosine)
    return cache.derived(
        view.model, view.text, view.pair, name, lambda _: figures.position_products(table, cosine=cosine)
    )


def curve_of(kind: str, n_positions: int, cosine: bool, matrix: object) -> pd.DataFrame:
    """The same by distance, kept for the model."""
    name = ("position curve", kind, n_positions, cosine)
    return cache.derived(view.model, view.text, view.pair, name, lambda _: figures.products_by_distance(matrix))


def rotary(n_positions: int) -> None:
    """The angles by which queries and keys are turned, and what that does to a dot product."""
    cos, sin = positions.turns(config, view.layer, n_positions)
    angles, curve = st.columns(2, gap="medium")
    with angles:
        plot(
            figures.rotary_angles(figures.angles(cos, sin), title=f"Angles in layer {view.layer}", selected=view.i),
            key="angles",
            alt=f"How far each of {cos.shape[1]} pairs of components is turned at {n_positions} positions.",
            height=token_rows.height(n_positions, pitch=12, most=460),
            on_event=select_position,
        )
        last = cos.shape[1] - 1
        slowest = config.rotary_base_of_layer(view.layer) ** (-2 * last / config.d_head)
        st.caption(
            "Pair 0 turns by one radian from token to token, a whole turn in 6.3 tokens; "
            f"pair {last} by {formulas.number(slowest)} radians, a whole turn in {2 * math.pi / slowest:,.0f} tokens."
        )
    with curve:
        falls = pd.DataFrame({"distance": range(n_positions), "mean": positions.turned_apart(cos)})
        st.plotly_chart(
            figures.distance_curve({"rotary": falls}, unit="dot product"),
            height=token_rows.height(n_positions, pitch=12, most=460),
            key="rotary-curve",
            alt="Dot product of two equal vectors of length 1, turned as at positions so far apart.",
        )
        st.caption(
            "The same vector as query and as key, with the same length in every pair: its dot product with itself"
            f" is 1 at distance 0 and {falls['mean'].iloc[-1]:.2f} at distance {n_positions - 1}."
        )
    pair_by_distance(min(n_positions, MOST_APART))


def pair_by_distance(farthest: int) -> None:
    """The query and the key of the selected pair, were they any other distance apart."""
    query, key = token_rows.pair(view)
    distances, products = positions.turned_products(trace, view.layer, view.head, query, key, farthest)
    asks, answers = trace.labels[query], trace.labels[key]
    st.subheader(f":blue[{sidebar.plain(asks)}] and :red[{sidebar.plain(answers)}], any distance apart", anchor=False)
    apart = key - query
    here = positions.turned_products(trace, view.layer, view.head, query, key, abs(apart))[1][apart + abs(apart)]
    best = int(products.argmax())
    st.plotly_chart(
        figures.distance_curve(
            {"q · k": pd.DataFrame({"distance": distances, "mean": products})},
            unit="q · k",
            across="distance, key minus query",
            mark=(apart, float(here), f"{figures.arrow(asks, answers)} here"),
        ),
        height=340,
        key="pair-by-distance",
        alt="Dot product of the selected query and key by the distance at which they would stand.",
    )
    st.caption(
        f"In L{view.layer} H{view.head} the query of {sidebar.plain(asks)} (token {query}) and the key of "
        f"{sidebar.plain(answers)} (token {key}) are {spelled(apart)} apart (key minus query), and q · k is "
        f"{formulas.number(float(here))}. The same two words {spelled(int(distances[best]))} apart would give "
        f"{formulas.number(float(products[best]))}, the most within {farthest}."
    )


def spelled(distance: int) -> str:
    """A distance with a minus sign and not a hyphen."""
    return f"{distance}".replace("-", "−")


def by_distance(farthest: int) -> None:
    """What the model adds to the scores for the distance (MPNet, T5): all heads as a map, the head as a curve."""
    found = positions.distance_biases(view.loaded.encoder, farthest)
    if found is None:
        return
    distances, biases = found
    own = biases[view.head]
    st.subheader("Added to the scores for the distance", anchor=False)
    heads, head = st.columns(2, gap="medium")
    with heads:
        plot(
            figures.head_biases(biases, distances, selected=view.head),
            key="biases",
            alt=f"What each of {len(biases)} heads adds to a score, by the distance, key minus query.",
            height=340,
            on_event=select_head,
        )
        st.caption(
            f"Each row is a head. One number for each of {config.relative_buckets} buckets of distances j − i, "
            f"{'drawn at random' if untrained else 'learned'}; far distances share one. It is the same in all layers. "
            "Click a row to choose the head."
        )
    with head:
        st.plotly_chart(
            figures.distance_curve(
                {f"head {view.head}": pd.DataFrame({"distance": distances, "mean": own})},
                unit="added to the score",
                across="distance, key minus query",
            ),
            height=340,
            key="bias",
            alt="What the head adds by distance, key minus query.",
        )
        low, high = int(own.argmin()), int(own.argmax())
        st.caption(
            f"Head {view.head} adds most, {formulas.number(float(own[high]))}, at distance {spelled(distances[high])} "
            f"and least, {formulas.number(float(own[low]))}, at {spelled(distances[low])}; to a token itself "
            f"{formulas.number(float(own[farthest]))}."
        )


def select_head(event: dict) -> None:
    """A click on a row of the heads chooses the head."""
    if event.get("event") == "click" and event.get("axis") in ("cell", "y"):
        state.put("head", event["i"])


def in_another_order() -> None:
    """The same words in reverse order: how much of every token's output is left."""
    st.subheader("The same words in reverse order", anchor=False)
    if trace.n_tokens > MOST_REORDERED:
        st.caption(
            f"This text has {trace.n_tokens:,} tokens. Up to {MOST_REORDERED:,} are run once more in reverse "
            "order, to see what the order matters: type a shorter text."
        )
        return
    found = cache.derived(view.model, view.text, view.pair, "order effect", positions.order_effect)
    part = token_rows.part(trace.n_tokens, view.i, "order")
    st.plotly_chart(
        figures.order_bars(
            found.cosine[part], trace.labels, moved=found.moved[part], selected=view.i, first=part.start
        ),
        height=320,
        key="order",
        alt="Cosine of every token's output vector with what it is when the words come in reverse order.",
    )
    st.caption(order_in_words(found) + token_rows.which(part, trace.n_tokens, view.i))


def order_in_words(found: positions.OrderEffect) -> str:
    """What the order matters."""
    if not found.moved.any():
        return "The sentence has no other order: it is too short."
    said = "Each bar is the cosine of a token's output vector with the one it has when the words are turned around. "
    if found.same:
        return said + (
            f"Every token keeps its vector: the largest change is {formulas.number(found.difference)} of its length, "
            "which is rounding. This model cannot tell the two orders apart."
        )
    least = int(found.cosine.argmin())
    return said + (
        f"{token_names.quoted(trace.labels, least)} changes most: its cosine is {found.cosine[least]:.3f}; the mean is "
        f"{found.cosine.mean():.3f}. Without any positions each would be 1."
    )


def select_position(event: dict) -> None:
    """A click on a position selects its token, where the sentence has one."""
    if event.get("event") == "click" and event.get("i", trace.n_tokens) < trace.n_tokens:
        state.put("i", event["i"])


main()
