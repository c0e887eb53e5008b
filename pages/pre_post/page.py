"""Pre / post, side by side: the same sentence through an encoder with its norms before and after each sublayer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder import figures
from encoder.errors import EncoderError
from encoder.figures import placements as drawn
from encoder.figures.difference import attention_difference
from encoder.measure import stream
from encoder.train import curves
from pages.components import head_grid, plot
from pages.core import cache, norm_pair, sidebar
from pages.core.formulas import number
from pages.core.frame import current_view, heading
from pages.core.view import state
from pages.pre_post.export import export_placements, export_recorded, export_stream
from pages.pre_post.params import SIDES

view = current_view()
NAMES = drawn.PLACEMENT_NAMES
#: Heading -> the picture below it, for the report.
Drawn = dict[str, go.Figure]
FORMULAS = {"pre": "x ← x + f(norm(x))", "post": "x ← norm(x + f(x))"}
TITLES = {"heads": "Attention", "stream": "The residual stream", "curves": "How training went"}


def main() -> None:
    heading()
    sides = norm_pair.Sides(norm_pair.pair_of(view), view.text, view.pair)
    introduction(sides)
    part = state.bound(
        st.segmented_control, "sides", "What to compare", SIDES, required=True, format_func=TITLES.get,
        label_visibility="collapsed",
    )  # fmt: skip
    shown = {"heads": attention, "stream": residual_stream, "curves": lambda _: training()}[part](sides)
    if part == "heads":
        export_placements(view, sides.pair.keys)
    elif part == "stream":
        export_stream(view, sides, shown)
    confusion()


def named(placement: str) -> None:
    """The placement as a heading, with its sign in its colour."""
    sign = {"pre": "●", "post": "■"}[placement]
    colour = drawn.PLACEMENT_COLOURS[placement]
    st.markdown(f'<span style="color:{colour}">{sign}</span> **{NAMES[placement]}**', unsafe_allow_html=True)


def introduction(sides: norm_pair.Sides) -> None:
    """Which two encoders these are; what may be concluded from them."""
    name = view.loaded.name
    pair = sides.pair
    said = {
        "twins": "**twin-pre** and **twin-post** were trained from the same seed on the same text in the same order: "
        "they differ in nothing but the place of their norms. Each found its own heads, so L1 H2 of one need not do "
        "what L1 H2 of the other does.",
        "scratch": "Two encoders **from scratch** with the same random weights; only the norms stand elsewhere. "
        "Nothing "
        "is trained: what differs is what the placement alone does.",
        "trained": trained_beside(pair) + " Each found its own heads.",
        "rewired": f"**{name}** was trained as {NAMES.get(pair.trained_as, '')}. Beside it stand the very same weights "
        f"with the norms moved, **which nobody trained that way**. What breaks there is the lesson: weights learn to "
        "live with their norms.",
    }[pair.kind]
    st.markdown(
        f"Pre-norm computes {FORMULAS['pre']}, post-norm {FORMULAS['post']}. {said} Pre-norm is teal and drawn with "
        "circles, post-norm orange with squares."
    )
    if pair.kind == "rewired":
        agreement = sides.of_both("agreement", stream.output_agreement)
        st.info(
            "Not trained so: after moving the norms, a token's output has on average a cosine of "
            f"**{number(agreement)}** "
            f"to what {name} was trained to give (1 would be no change). For two placements that were both "
            "trained, choose one of the twins as the model.",
            icon=":material/science:",
        )


def trained_beside(pair: norm_pair.Pair) -> str:
    """Two runs that were trained together; stopped by hand they have seldom taken the same number of steps."""
    pre, post = (cache.model(pair.keys[placement]).name for placement in norm_pair.PLACEMENTS)
    steps = [name.rsplit(", ", 1)[-1] for name in (pre, post)]
    differ = "nothing but" if steps[0] == steps[1] else "their number of steps and in"
    return f"**{pre}** and **{post}**, the run that you trained beside it, differ in {differ} the place of their norms."


# --- attention --------------------------------------------------------------------------------------------------------


def attention(sides: norm_pair.Sides) -> None:
    """All heads of each, then one head in both and the difference."""
    apart = sides.head_differences()
    for column, placement in zip(st.columns(2, gap="medium"), norm_pair.PLACEMENTS, strict=True):
        with column:
            grid(sides, placement, apart)
    layer, head = (int(place) for place in np.unravel_index(apart.argmax(), apart.shape))
    st.caption(
        "The bar under a map says how much of its attention the head places elsewhere in the other encoder. Most "
        "of all "
        f"heads L{layer} H{head}: {apart[layer, head]:.0%} of each row on average; the mean over all heads is "
        f"{apart.mean():.0%}. Click a head to compare it below."
    )
    one_head(sides, apart)


def grid(sides: norm_pair.Sides, placement: str, apart: np.ndarray) -> None:
    trace = sides.trace(placement)
    named(placement)
    head_grid(
        sides.thumbnails(placement),
        layers=trace.config.n_layers,
        heads=trace.config.n_heads,
        selected=(view.layer, view.head),
        key=f"grid-{placement}",
        alt=f"Attention maps of all heads in {NAMES[placement]}, layers downwards, heads to the right.",
        colorscale=figures.thumbnails_lut(view.colours),
        measure=apart,
        measure_label="attention placed elsewhere",
        measure_range=(0.0, 1.0),
        on_event=on_grid,
    )


def on_grid(event: dict) -> None:
    if event["event"] == "open":
        sidebar.open_head(event["layer"], event["head"])


def one_head(sides: norm_pair.Sides, apart: np.ndarray) -> None:
    """The chosen head: both maps on the same scale, and pre minus post."""
    layer, head = view.layer, view.head
    st.subheader(f"L{layer} H{head} in both", anchor=False)
    found = sides.of_both(("difference", layer, head), lambda a, b: stream.map_difference(a, b, layer, head))
    labels = sides.trace("pre").labels
    selected = (view.i, view.j)
    size = {"block": found.block} if found.block > 1 else {}
    places = st.columns(3, gap="small")
    for place, placement in zip(places, norm_pair.PLACEMENTS, strict=False):
        with place:
            named(placement)
            weights = {"pre": found.pre, "post": found.post}[placement]
            figure = figures.attention_heatmap(weights, labels, colours=view.colours, selected=selected, **size)
            plot(
                figure, key=f"map-{placement}", height=400, on_event=lambda e: select(e, found.block),
                alt=f"Attention map of L{layer} H{head} in {NAMES[placement]}.",
            )  # fmt: skip
    with places[2]:
        st.markdown("**pre-norm − post-norm**")
        figure = attention_difference(
            found.values, labels, names=(NAMES["post"], NAMES["pre"]), weights=(found.post, found.pre),
            selected=selected, block=found.block,
        )  # fmt: skip
        plot(
            figure, key="map-difference", height=400, on_event=lambda e: select(e, found.block),
            alt=f"Difference of both maps of L{layer} H{head}: teal where pre-norm has more, orange where post-norm.",
        )  # fmt: skip
    st.caption(what_differs(found, labels, float(apart[layer, head])))


def select(event: dict, block: int) -> None:
    sidebar.select_from(event, block)


def what_differs(found: stream.MapDifference, labels: tuple[str, ...], share: float) -> str:
    """The largest difference of the head's two maps, in words; at the selected pair where one is selected."""
    row, column = found.largest
    at = "They differ most where"
    if view.i is not None and view.j is not None:
        row, column, at = view.i // found.block, view.j // found.block, "At the selected pair"
    if np.abs(found.values).max() < 5e-4:
        return "The two maps are the same to three decimals: up to here both placements compute the same."
    query, key = (sidebar.plain(labels[place * found.block]) for place in (row, column))
    unit = "" if found.block == 1 else f" (each cell is the largest of {found.block} × {found.block} weights)"
    return (
        f"{at} {query} (token {row * found.block}) attends to {key} (token {column * found.block}): "
        f"{found.pre[row, column]:.3f} in pre-norm, {found.post[row, column]:.3f} in post-norm{unit}. On average "
        f"{share:.0%} of a row's attention lies elsewhere."
    )


# --- the stream -------------------------------------------------------------------------------------------------------


def residual_stream(sides: norm_pair.Sides) -> Drawn:
    """Lengths, updates, cosines, entropies by layer; every norm's mean, std and gain."""
    shown = {}
    found = {p: sides.of_one(p, "stream", stream.measure) for p in norm_pair.PLACEMENTS}
    entropy = {p: sides.entropy(p) for p in norm_pair.PLACEMENTS}
    for left, right in (
        (lambda: lengths(found), lambda: updates(found)),
        (lambda: cosines(found), lambda: entropies(entropy, sides.trace("pre").n_real)),
    ):
        for column, draw in zip(st.columns(2, gap="medium"), (left, right), strict=True):
            with column:
                shown |= draw()
    return shown | norms(found)


def chart(figure: go.Figure, title: str, alt: str, said: str, key: str) -> Drawn:
    """A picture with its title above and its sentence below."""
    st.subheader(title, anchor=False)
    st.plotly_chart(figure, key=key, height=300, alt=alt, config={"displaylogo": False})
    st.caption(said)
    return {title: figure}


def lengths(found: dict[str, stream.StreamMeasures]) -> Drawn:
    ticks = ["embedding", *(f"L{layer}" for layer in range(len(found["pre"].cosine)))]
    pre, post = found["pre"], found["post"]
    return chart(
        drawn.layer_curves(
            {p: {"": f.length} for p, f in found.items()}, "length of a token's vector", ticks=ticks, low=0.0,
            across="after",
        ),
        "Length of the stream",
        "Mean length of a token's vector after the embeddings and after each layer, a line for each placement.",
        f"Mean over the tokens. Pre-norm only ever adds to the stream: {pre.length[0]:.3g} after the embeddings, "
        f"{pre.length[-1]:.3g} after the last layer, {pre.growth:.2g} times as long. Post-norm sets it back at every "
        f"norm: {post.length[0]:.3g} becomes {post.length[-1]:.3g}, {post.growth:.2g} times.",
        "stream-length",
    )  # fmt: skip


def updates(found: dict[str, stream.StreamMeasures]) -> Drawn:
    kinds = {p: {"attention": f.attention_update, "FFN": f.ffn_update} for p, f in found.items()}
    said = "; ".join(
        f"{NAMES[p]}: attention {f.attention_update[0]:.2f} in L0 and {f.attention_update[-1]:.2f} in "
        f"L{len(f.cosine) - 1}, FFN {f.ffn_update[0]:.2f} and {f.ffn_update[-1]:.2f}"
        for p, f in found.items()
    )
    return chart(
        drawn.layer_curves(kinds, "|f(x)| / |x|", low=0.0),
        "What each sublayer adds",
        "Size of the updates of attention and FFN against the stream, by layer, a colour for each placement.",
        f"The length of a sublayer's output against that of the stream to which it is added. {said}. Where the "
        "stream has "
        "grown, the same update counts for less.",
        "stream-updates",
    )


def cosines(found: dict[str, stream.StreamMeasures]) -> Drawn:
    said = " ".join(
        f"In {NAMES[p]} L{int(f.cosine.argmin())} turns the vectors most, to a cosine of {f.cosine.min():.2f}; "
        "the mean "
        f"is {f.cosine.mean():.2f}."
        for p, f in found.items()
    )
    return chart(
        drawn.layer_curves({p: {"": f.cosine} for p, f in found.items()}, "cosine", low=0.0),
        "From layer to layer",
        "Mean cosine between a token's vector after a layer and before it, a line for each placement.",
        f"1 means that a layer leaves the direction of a token's vector as it was. {said}",
        "stream-cosine",
    )


def entropies(entropy: dict[str, np.ndarray], n_tokens: int) -> Drawn:
    means = {p: values.mean(axis=1) for p, values in entropy.items()}
    said = "; ".join(f"{NAMES[p]} {values.mean():.2f}" for p, values in means.items())
    return chart(
        drawn.layer_curves({p: {"": values} for p, values in means.items()}, "nats", low=0.0),
        "Entropy of the attention",
        "Entropy of the attention, mean over heads and queries, by layer, a line for each placement.",
        f"Mean over heads and queries: 0 when a query looks at one token, ln {n_tokens} = {np.log(n_tokens):.2f} "
        "when at "
        f"all {n_tokens} alike. Over all layers: {said}.",
        "stream-entropy",
    )


def norms(found: dict[str, stream.StreamMeasures]) -> Drawn:
    """What the norms are given, and their gain."""
    st.subheader("What the norms meet", anchor=False)
    labels = {p: [figures.norm_label(name) for name in f.norms] for p, f in found.items()}
    three = [
        ("mean", "mean before", {p: (labels[p], f.norm_mean, None) for p, f in found.items()}),
        ("std", "standard deviation before", {p: (labels[p], f.norm_std, None) for p, f in found.items()}),
        ("gain", "gain (spread over components)", {p: (labels[p], f.gain, f.gain_spread) for p, f in found.items()}),
    ]
    shown = {f"The norms' {title}": drawn.norm_curves(rows, title) for _, title, rows in three}
    places = zip(st.columns(3, gap="small"), three, shown.values(), strict=True)
    for place, (name, title, _), figure in places:
        place.plotly_chart(
            figure, key=f"norms-{name}", height=300, config={"displaylogo": False},
            alt=f"The norms' {title}, a line for each placement.",
        )  # fmt: skip
    widest = {p: int(f.norm_std.argmax()) for p, f in found.items()}
    said = "; ".join(f"in {NAMES[p]} at {labels[p][at]}, {found[p].norm_std[at]:.3g}" for p, at in widest.items())
    st.caption(
        "Means over the tokens of each vector's mean and standard deviation before the norm. The widest vectors "
        "arrive "
        f"{said}. Gains are learned (1 in an untrained norm): on average {found['pre'].gain.mean():.2f} in pre-norm, "
        f"{found['post'].gain.mean():.2f} in post-norm."
    )
    return shown


# --- training ---------------------------------------------------------------------------------------------------------

CURVES = {
    "held_out_loss": ("held-out loss", "nats"),
    "held_out_accuracy": ("held-out accuracy", "share of hidden words"),
    "loss": ("training loss", "nats"),
    "gradient_norm": ("gradient norm", "before clipping"),
}


def training() -> None:
    """The recorded curves of the bundled twins and of the variants that were trained beside them."""
    try:
        recorded = curves.recorded()
    except EncoderError as error:
        st.info(str(error))
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        what = state.bound(
            st.selectbox, "curve", "Curve", list(CURVES), format_func=lambda name: CURVES[name][0], width=220
        )
        depths = sorted({int(depth) for depth in recorded.n_layers})
        depth = "all"
        if len(depths) > 1:
            depth = state.bound(
                st.segmented_control, "depth", "Depth", ["all", "shallow", "deep"], required=True,
                format_func={"all": "all", "shallow": f"{depths[0]} layers", "deep": f"{depths[-1]} layers"}.get,
            )  # fmt: skip
        clock = state.bound(st.toggle, "clock", "Seconds instead of steps")
    if depth != "all":
        recorded = recorded[recorded.n_layers == (depths[0] if depth == "shallow" else depths[-1])]
    name, unit = CURVES[what]
    figure = drawn.recorded_curves(
        lines(recorded, what, "seconds" if clock else "step"), f"{name}, {unit}", log=what == "gradient_norm",
        across="seconds" if clock else "step",
    )  # fmt: skip
    st.plotly_chart(
        figure, key="recorded", height=420, config={"displaylogo": False},
        alt=f"Recorded {name} of every run over the steps of its training; colour says the placement.",
    )  # fmt: skip
    outcome(recorded)
    st.caption(
        "Masked-word training on WordNet's text; runs of a pair differ in the placement of their norms alone. Recorded "
        "once, when the bundled models were trained (`make twins` trains them anew)."
    )
    chosen = None if depth == "all" else depths[0] if depth == "shallow" else depths[-1]
    export_recorded(recorded, figure, f"{name}, {unit}", chosen)


def label(run: pd.Series) -> str:
    """What a run is called: "post-norm, 12 layers, no warm-up"."""
    warm = f"{int(run.warmup_steps):,} steps of warm-up" if run.warmup_steps else "no warm-up"
    return f"{NAMES[run.norm_placement]}, {int(run.n_layers)} layers, {warm}"


def lines(recorded: pd.DataFrame, what: str, across: str) -> dict[str, tuple[str, str, object, object]]:
    """Runs as the figure takes them: solid with warm-up, dashed without; deeper ones dotted."""
    found = {}
    shallow = recorded.n_layers.min()
    for _, rows in recorded.groupby("run", sort=False):
        first = rows.iloc[0]
        deep = first.n_layers > shallow
        dash = {(True, False): "solid", (False, False): "dash", (True, True): "dashdot", (False, True): "dot"}[
            bool(first.warmup_steps), bool(deep)
        ]
        found[label(first)] = (str(first.norm_placement), dash, rows[across], rows[what])
    return found


def outcome(recorded: pd.DataFrame) -> None:
    """All runs after the same number of steps, as a table, and the pair that differs most, in words."""
    step, right = curves.at_common_step(recorded)
    shown = right[[each for each in NAMES if each in right]].rename(columns=NAMES).reset_index()
    shown = shown.rename(columns={"n_layers": "Layers", "warm_up": "Warm-up"})
    percent = st.column_config.NumberColumn(format="percent", help="Hidden words of held-out sentences named rightly.")
    st.dataframe(shown, hide_index=True, width="content", column_config=dict.fromkeys(NAMES.values(), percent))
    if {"pre", "post"} <= set(right):
        apart = (right.pre - right.post).abs().idxmax()
        layers, warm = apart
        st.markdown(
            f"After {step:,} steps the placements differ most with **{layers} layers, {warm} warm-up**: pre-norm names "
            f"**{right.pre[apart]:.1%}** of the hidden words rightly, post-norm **{right.post[apart]:.1%}**."
        )


def confusion() -> None:
    with st.expander("Which one is “the Transformer”?", icon=":material/help:"):
        st.markdown(
            "The paper of 2017 and BERT are post-norm: the norm stands after the sum. Much code is pre-norm: the norm "
            "stands at the entrance of each sublayer, and one more at the very end. The two are easily mixed up: *The "
            "Annotated Transformer* describes post-norm in its prose, LayerNorm(x + Sublayer(x)), while its code "
            "computes "
            "x + Sublayer(LayerNorm(x)), pre-norm (its issue 92 asks about it). Xiong et al. 2020 explain why it "
            "matters: "
            "post-norm needs a warm-up of the learning rate, since its gradients near the output are large at "
            "the start. "
            "The page **Gradients at initialisation** measures that, and **Train them yourself** lets you see it."
        )


main()
