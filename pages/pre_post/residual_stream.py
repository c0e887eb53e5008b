"""The residual stream in both placements, layer by layer: its length, updates, directions, entropies."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from encoder.documents import tables
from encoder.figures import placements as drawn
from encoder.figures.numbers import three_digits
from encoder.figures.placements import PLACEMENT_NAMES
from encoder.measure.residual_stream import StreamMeasures, measure
from encoder.model.layers import NORM_NAMES
from encoder.run.code import model_lines, trace_call
from pages.components import plot
from pages.core.view import View
from pages.core.view.norm_pair import PLACEMENTS, PairTraces
from pages.core.widgets import Export, origin

#: Heading -> the picture below it, for the report.
Pictures = dict[str, go.Figure]
#: Placement -> its measures.
Measures = dict[str, StreamMeasures]


def residual_stream(view: View, traces: PairTraces) -> None:
    """Four charts over the layers."""
    name = NORM_NAMES[view.loaded.config.norm_kind]
    found = {p: traces.of_one(p, "stream", measure) for p in PLACEMENTS}
    left, right = st.columns(2, gap="medium")
    with left:
        pictures = lengths(found, name)
    with right:
        pictures |= updates(found)
    left, right = st.columns(2, gap="medium")
    with left:
        pictures |= cosines(found)
    with right:
        pictures |= entropies({p: traces.entropy(p) for p in PLACEMENTS}, traces.trace("pre").n_real)
    exported(view, traces, pictures).draw()


def exported(view: View, traces: PairTraces, pictures: Pictures) -> Export:
    """The norms of both placements, and the page's pictures."""
    models, remarks = [], ""
    for placement in PLACEMENTS:
        spec, remark = origin(traces.pair.specs[placement])
        models.append(model_lines(spec, placement))
        remarks = remarks or remark
    calls = ", ".join(f'"{p}": {trace_call(traces.of(p).run, p)}' for p in PLACEMENTS)
    imports = ["import encoder", "from encoder.export import tables"]
    return Export(
        view,
        "The residual stream in pre-norm and post-norm",
        lambda: tables.stream_frame({p: traces.trace(p) for p in PLACEMENTS}),
        figures=pictures,
        program=remarks + "\n".join([*imports, *models, f"table = tables.stream_frame({{{calls}}})\n"]),
        settings={PLACEMENT_NAMES[p]: traces.name(p) for p in PLACEMENTS} | {"Text": traces.run.input.name},
    )


def chart(figure: go.Figure, title: str, alt: str, caption: str, key: str) -> Pictures:
    """A picture with its title above and its caption below."""
    st.header(title, anchor=False)
    plot(figure, key=key, height=300, alt=alt)
    st.caption(caption)
    return {title: figure}


def lengths(found: Measures, name: str) -> Pictures:
    """The length of the residual stream. name: of the model's norms."""
    ticks = ["embedding", *(f"L{layer}" for layer in range(len(found["pre"].cosine)))]
    values = "; ".join(
        f"{PLACEMENT_NAMES[p]} {three_digits(f.length[0])} after the embeddings, {three_digits(f.length[-1])} after "
        f"the last layer (ratio {three_digits(f.growth)})"
        for p, f in found.items()
    )
    return chart(
        drawn.layer_curves(
            {p: {"": f.length} for p, f in found.items()},
            "length of a token's vector",
            ticks=ticks,
            low=0.0,
            across="after",
        ),
        "Length of the residual stream",
        "Mean length of a token's vector after the embeddings and after each layer, a line for each placement.",
        f"Mean over the tokens: {values}. In pre-norm no {name} rescales the residual stream between the layers.",
        "stream-length",
    )


def updates(found: Measures) -> Pictures:
    """The update of each sublayer against the residual stream."""
    last = len(found["pre"].cosine) - 1
    values = "; ".join(
        f"{PLACEMENT_NAMES[p]} attention {f.attention_update[0]:.2f} in L0, {f.attention_update[-1]:.2f} in L{last}, "
        f"FFN {f.ffn_update[0]:.2f}, {f.ffn_update[-1]:.2f}"
        for p, f in found.items()
    )
    return chart(
        drawn.layer_curves(
            {p: {"attention": f.attention_update, "FFN": f.ffn_update} for p, f in found.items()},
            "|f(x)| / |x|",
            low=0.0,
        ),
        "What each sublayer adds",
        "Length of the updates of attention and FFN against the residual stream, by layer, a line for each placement.",
        f"Length of a sublayer's output, divided by that of its residual stream: {values}. The same update changes the "
        "direction of a long vector less.",
        "stream-updates",
    )


def cosines(found: Measures) -> Pictures:
    """How much each layer turns the vectors."""
    values = "; ".join(
        f"{PLACEMENT_NAMES[p]} mean {f.cosine.mean():.2f}, lowest {f.cosine.min():.2f} in L{int(f.cosine.argmin())}"
        for p, f in found.items()
    )
    return chart(
        drawn.layer_curves({p: {"": f.cosine} for p, f in found.items()}, "cosine", low=0.0),
        "Direction from layer to layer",
        "Mean cosine between a token's vector after a layer and before it, a line for each placement.",
        f"Cosine of a token's vector before and after a layer (1: same direction, 0: orthogonal): {values}.",
        "stream-cosine",
    )


def entropies(entropy: dict[str, np.ndarray], n_tokens: int) -> Pictures:
    """The entropy of the attention."""
    means = {p: values.mean(axis=1) for p, values in entropy.items()}
    values = "; ".join(f"{PLACEMENT_NAMES[p]} {mean.mean():.2f}" for p, mean in means.items())
    return chart(
        drawn.layer_curves({p: {"": mean} for p, mean in means.items()}, "nats", low=0.0),
        "Entropy of the attention",
        "Entropy of the attention, mean over heads and queries, by layer, a line for each placement.",
        f"Mean over heads and queries (0: one token has all attention, ln {n_tokens} = {np.log(n_tokens):.2f}: uniform "
        f"attention). Mean over the layers, in nats: {values}.",
        "stream-entropy",
    )
