"""Positions: how a model knows word order, how similar two positions are, and what the positions change."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from encoder import EncoderConfig, figures
from encoder.documents import tables
from encoder.explain import latex
from encoder.explain.source import array
from encoder.figures.numbers import three_digits
from encoder.maps import EXACT_TOKENS
from encoder.measure import patches, positions
from pages.core.frame import input_row
from pages.core.frame.frame import heading, show
from pages.core.inputs.input_words import words_of
from pages.core.view import View
from pages.core.widgets import Export, adjust, title
from pages.core.words import about, formulas, opening, references
from pages.positions.encodings import Tables, chosen_encoding, chosen_product, encodings, patch_positions, similarity
from pages.positions.offsets import disentangled, grid_bias, relative_bias, rotary
from pages.positions.order import is_too_long, reversed_order, without_positions
from pages.positions.params import Params
from pages.state import next_page, state

#: More positions are not drawn: the similarity map would have more than 262,144 cells.
MOST_POSITIONS = 512

#: Part -> the question that its picture answers.
QUESTIONS = {
    "encoding": "How does the model encode a position?",
    "similar": "Which positions have similar vectors?",
}
FORMULAS = {
    "sinusoidal": latex.stack(r"P_{p,2c} = \sin\frac{p}{10000^{2c/D}}", r"P_{p,2c+1} = \cos\frac{p}{10000^{2c/D}}"),
    "rotary": latex.stack(
        r"\begin{pmatrix} q_c \\ q_{c+K/2} \end{pmatrix} \mapsto "
        r"\begin{pmatrix} \cos p\theta_c & -\sin p\theta_c \\ \sin p\theta_c & \cos p\theta_c \end{pmatrix} "
        r"\begin{pmatrix} q_c \\ q_{c+K/2} \end{pmatrix}",
        r"\theta_c = b^{-2c/K}",
    ),
    "rotary table": latex.stack(
        r"\begin{pmatrix} q_{2c} \\ q_{2c+1} \end{pmatrix} \mapsto "
        r"\begin{pmatrix} C_{p,c} & -S_{p,c} \\ S_{p,c} & C_{p,c} \end{pmatrix} "
        r"\begin{pmatrix} q_{2c} \\ q_{2c+1} \end{pmatrix}"
    ),
}


def main(view: View) -> None:
    trace = view.trace
    with heading(about.text(__file__, "Why positions")):
        part = state.segmented(Params.part, "Part of the page", parts(view), label_visibility="collapsed")
    export = exported(view)
    if part in ("encoding", "similar"):
        vectors(view, part)
    elif part == "order" and trace.kind != "text":
        patch_positions(view)
    elif part == "without" and not view.loaded.config.has_positions:
        references.markdown(f"{mechanism(view)} This part leaves positions out: choose another model.")
    elif not is_too_long(view):
        export = reversed_order(view, mechanism(view)) if part == "order" else without_positions(view)
    export.draw()
    next_page("heads", "Which heads attend by position?")


def parts(view: View) -> dict[str, str]:
    """The parts of the page that this input has."""
    trace = view.trace
    found = {"without": "Without positions", "encoding": "Encoding", "similar": "Similarity of positions"}
    if trace.kind == "text":
        return {"order": "Reverse order", **found}
    has_patches = patches.is_of_patches(trace) and trace.position is not None
    return {"order": "Places of the patches", **found} if has_patches else found


def vectors(view: View, part: str) -> None:
    """How the model encodes positions: the vectors that it adds, their similarity, or what depends on the offset."""
    config = view.loaded.config
    opening(QUESTIONS[part])
    with adjust.drawer("positions"):
        tables = position_vectors(view)
        kind = chosen_encoding(view, tables)
        if part == "similar":
            chosen_product()
    if part == "encoding" and has_offsets(config):
        with st.container(key="head-place", horizontal=True):
            input_row.head_controls(config, ("layer", "head"))
    added = tables.get(config.position)
    if part == "similar":
        similarity(view, tables, kind)
        return
    said, look = (encoding_in_words(view, added).splitlines()[at].strip() for at in (0, -1))
    if added is not None:  # else the sines are for comparison only
        encodings(view, tables, kind, said)
        references.markdown(look)
    else:
        references.markdown(said)
    if more := details(view):
        st.caption(more)
    offset_pictures(view)
    if added is None:
        references.markdown(look)
        encodings(view, tables, kind)


def position_vectors(view: View) -> Tables:
    """The vectors that the model adds, if it does, and the sines for comparison."""
    config = view.loaded.config
    n_chosen = (
        min(view.trace.n_tokens, MOST_POSITIONS) if config.position == "convolutional" else chosen_positions(view)
    )
    added = added_vectors(view, n_chosen)
    found = {} if added is None else {config.position: added}
    if config.position != "sinusoidal" and config.embedding_width % 2 == 0:
        n_positions = chosen_number(view) if added is None else len(added)
        found["sinusoidal"] = positions.sines(n_positions, config.embedding_width)
    return found


def added_vectors(view: View, n_positions: int) -> np.ndarray | None:
    """[N, E]: the vectors that the model adds at the first positions; None where it adds none."""
    trace = view.trace
    if view.loaded.config.position == "convolutional" and trace.position is not None:  # they belong to this input only
        return array(trace.position[:n_positions])
    return positions.added(view.loaded.encoder, n_positions)


def has_offsets(config: EncoderConfig) -> bool:
    """Whether scores depend on the offset of two tokens: its pictures are those of a layer and a head."""
    in_scores = config.relative_buckets or config.relative_grid or has_terms(config)
    return config.position in ("rotary", "alibi") or bool(in_scores)


def has_terms(config: EncoderConfig) -> bool:
    """Whether scores have parts of their own for the offset: products with vectors of offsets."""
    return config.disentangled is not None or config.distance_keys is not None


def offset_pictures(view: View) -> None:
    """What the scores of this model owe to the offset of two tokens."""
    config = view.loaded.config
    if config.position == "rotary":
        rotary(view, chosen_number(view))
    kind = "rotary table" if config.rotary_table else config.position
    if kind in FORMULAS and not config.rotary_grid:
        formulas.show(FORMULAS[kind].replace("q_", "x_") if config.rotary_input else FORMULAS[kind])
    if config.relative_buckets or config.position == "alibi":
        relative_bias(view, min(chosen_number(view), config.relative_max_distance * 2))
    if config.relative_grid:
        grid_bias(view)
    if config.distance_keys is not None or (config.disentangled is not None and config.disentangled.n_terms > 1):
        disentangled(view)


def exported(view: View) -> Export:
    """The position vectors of the sentence, or the rotations of the layer."""
    trace, config = view.trace, view.loaded.config
    lines = "position = trace.position"
    if config.position == "rotary":
        lines = "from encoder.measure import positions\n"
        lines += f"cos, sin = positions.turns(trace.encoder, {view.layer}, trace.n_tokens)"
    elif trace.position is not None:
        count = min(chosen_number(view), MOST_POSITIONS)
        vectors = "position" if config.position == "convolutional" else "positions.added(model.encoder, {})"
        lines += "\nfrom encoder.measure import positions\n"
        lines += f"similar = encoder.figures.position_products({vectors.format(count)}[:{count}], cosine=True)"

    def drawn() -> dict[str, go.Figure]:
        if trace.position is None:
            return {}
        return {"Vectors added to the tokens": figures.position_heatmap(array(trace.position[:EXACT_TOKENS]))}

    return Export(
        view,
        title(view, "Positions"),
        lambda: tables.positions_frame(trace, view.layer),
        figures=drawn,
        lines=lines,
        settings={"Positions": config.position},
    )


def encoding_in_words(view: View, added: np.ndarray | None) -> str:
    """How the model encodes positions, and what to look for. added: the vectors that it adds."""
    trace, config = view.trace, view.loaded.config
    kind: str = config.position
    if kind == "learned" and view.model.untrained is not None:
        kind = "untrained"
    elif kind == "learned" and added is not None and positions.are_stored_sines(added):
        kind = "stored"
    elif kind == "learned" and positions.has_sines_of_grid(view.loaded.encoder):
        kind = "sines of a grid"
    elif config.rotary_table:
        kind = "rotary table"
    elif config.rotary_input:
        kind = "rotary input"
    elif config.rotary_grid:
        kind = "rotary grid"
    elif kind == "none" and has_terms(config):
        kind = "disentangled" if config.disentangled is not None else "distance keys"
    elif kind == "none" and config.table_rows:
        kind = "grid" if config.relative_grid else "relative"
    axes = "time step, row and column" if trace.kind == "video" else "row and column"
    values = {"name": view.loaded.name, "longest": f"{config.max_tokens:,}", "input": words_of(trace).input}
    return about.text(__file__, kind, axes=axes, **values)


def mechanism(view: View) -> str:
    """How the model knows its positions, in one sentence."""
    some = added_vectors(view, min(view.trace.n_tokens, view.loaded.config.max_tokens))
    return encoding_in_words(view, some).splitlines()[0].strip()


def details(view: View) -> str:
    """Norms of what is added, relative positions and the attention window, as far as the model has them."""
    trace, config = view.trace, view.loaded.config
    said = []
    norms = positions.lengths(trace)
    if norms is not None:
        added, tokens = (three_digits(norm) for norm in norms)
        said.append(f"Mean norm in this {words_of(trace).input}: position vectors {added}, token embeddings {tokens}.")
    if config.table_rows and config.position != "none":
        said.append("Each head also adds a number to every score that depends on the offset: see below.")
    if has_terms(config) and config.position != "none":
        said.append("Each head also compares queries and keys with vectors of offsets: see below.")
    window = config.window_of_layer(view.layer)
    if window is not None:
        said.append(f"Attention window in layer {view.layer}: {window} tokens to either side.")
    if config.attention_block:
        said.append(f"Blocks: {config.attention_block} tokens each attend to each other only.")
    return " ".join(said)


def chosen_positions(view: View) -> int:
    """The control for the number of positions to draw: those of the input, or those of the model."""
    trace, config = view.trace, view.loaded.config
    longest = min(config.max_tokens, MOST_POSITIONS)
    every = "all" if longest == config.max_tokens else "the first"
    here = min(trace.n_tokens, longest)
    names = {"sentence": f"this {words_of(trace).input}: {here}", "all": f"{every} {longest}"}
    state.segmented(Params.rows, "Positions", names)
    return chosen_number(view)


def chosen_number(view: View) -> int:
    """The number of positions to draw."""
    trace, config = view.trace, view.loaded.config
    longest = min(config.max_tokens, MOST_POSITIONS)
    return min(trace.n_tokens, longest) if state.get(Params.rows) == "sentence" else longest


show(main)
