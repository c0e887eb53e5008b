"""What the positions change: the same input once more, with its words in reverse order or without positions."""

from collections.abc import Iterable
from functools import partial
from itertools import islice

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from encoder import Trace, causal, figures
from encoder.documents import tables
from encoder.edits import DropPositions
from encoder.figures.numbers import three_digits
from encoder.measure import positions, ranking
from encoder.measure.residual_stream import output_cosines
from pages.components import PlotEvent, on_click, plot
from pages.core.frame import input_row
from pages.core.inputs.input_words import words_of
from pages.core.view import View, ViewParams, first_view, selection, token_rows
from pages.core.widgets import Export, answer, export, place, title
from pages.core.words import about, change, number, plain, references, token_names
from pages.state import state

#: Longer inputs are not run a second time: it takes as long as the first time.
MOST_TOKENS = 1_024
#: More tokens are not written out.
MOST_LISTED = 40


def select_token(event: PlotEvent) -> None:
    """A click on a bar selects its token, whose place the browser sends as text: an axis of tokens has categories."""
    place = str(event.get("x"))
    if place.isdecimal():
        selection.select(int(place), state.get(ViewParams.j))


#: What a click on a bar or on its token does, and a double click.
ON_CLICK = on_click(
    column=lambda token: selection.select(token, state.get(ViewParams.j)), point=select_token, clear=selection.clear
)


def selected(view: View) -> int | None:
    """The token whose bar is framed: one that somebody selected, not the one that the app suggests."""
    return None if first_view.suggests(view.i) else view.i


def answered(view: View, compared: str, cosine: np.ndarray, whole: str, more: str) -> None:
    """The answer to a click on a bar, then that of the whole input; without a click, that of the whole input first.

    compared: both outputs, as in "in both orders"; cosine: [T]; whole, more: sentences on the whole input.
    """
    token = selected(view)
    if token is None:
        answer.draw(whole, more)
        return
    rank, count = ranking.rank(-cosine, token)
    named = token_names.bold(view.trace.labels, token)
    nth = answer.nth_largest(rank, count).removeprefix("the ")
    answer.draw(
        f"Output of {named} {compared}: cosine **{number(cosine[token])}**, the {nth} changes.",
        f"{whole} {more}",
        clear=selection.clear,
    )


def is_too_long(view: View) -> bool:
    """Whether the input is too long to be run a second time, which the page then says."""
    n_tokens, words = view.trace.n_tokens, words_of(view.trace)
    if n_tokens > MOST_TOKENS:
        st.caption(
            f"This {words.text} has {n_tokens:,} tokens, and the page runs at most {MOST_TOKENS:,} a second time. "
            f"Choose another part, or a shorter {words.text}."
        )
    return n_tokens > MOST_TOKENS


# --- in reverse order -------------------------------------------------------------------------------------------------


def reversed_order(view: View, mechanism: str) -> Export:
    """What the order of the words changes: the cosine of every token's two output vectors.

    mechanism: how the model knows its positions, in one sentence.
    """
    trace = view.trace
    found: positions.OrderEffect = view.derived("order effect", positions.order_effect)
    part = token_rows.part(trace.n_tokens, view.i, "order")
    moved, drawn_from = found.moved[part], {"selected": selected(view), "first": part.start}
    drawn = figures.order_bars(found.cosine[part], trace.labels, moved=moved, **drawn_from)
    with answer.area():
        answered(view, "in both orders", found.cosine, order_in_words(view, found), mechanism)
        plot(
            drawn,
            key="order",
            alt="Cosine of every token's output vectors in this sentence and in the reversed one.",
            on_event=ON_CLICK,
        )
    if found.moved.any():
        st.caption(f"Yours: {in_order(view, range(trace.n_tokens))}  \nReversed: {in_order(view, found.order)}")
    references.caption(
        "Bars: cosine of a token's output vectors in both orders (1: same direction, 0: orthogonal). Special tokens, "
        "closing punctuation and the token in the middle keep their places."
        + token_rows.which(part, trace.n_tokens, view.i)
    )
    return cosines(
        view,
        "Outputs in reverse order",
        found.cosine,
        {"Cosine of each token's output in both orders": drawn},
        "from encoder.measure import positions\ncosine = positions.order_effect(trace).cosine",
    )


def cosines(
    view: View, name: str, cosine: np.ndarray, drawn: dict[str, go.Figure], lines: str, **settings: object
) -> Export:
    """The cosine of each token's two outputs, with the numbers of the first line. lines: Python that makes `cosine`."""
    return Export(
        view,
        title(view, name),
        lambda: tables.cells_of(tables.axis(view.trace.labels), numbers={"cosine": cosine}),
        figures=drawn,
        lines=f"{lines}\nmean, least = cosine.mean(), cosine.argmin()\nmost = trace.labels[least], cosine[least]",
        settings={"Positions": view.loaded.config.position} | settings,
    )


def order_in_words(view: View, found: positions.OrderEffect) -> str:
    """How much the output vectors of both orders differ."""
    if not found.moved.any():
        return "This sentence is too short: it has no other order."
    if found.same:
        return (
            f"This model cannot tell the two orders apart. All output vectors are equal up to rounding: "
            f"largest change {number(found.difference)} of the norm."
        )
    return f"Outputs in your order and in reverse order: {outputs_in_words(view, found.cosine)}"


def outputs_in_words(view: View, cosine: np.ndarray) -> str:
    """The mean cosine of a token's two outputs, and the token whose output changes most. cosine: [T]."""
    least = int(cosine.argmin())
    return (
        f"mean cosine **{number(cosine.mean())}** (1: no change); "
        f"**{token_names.quoted(view.trace.labels, least)}** changes most: **{number(cosine[least])}**."
    )


def in_order(view: View, order: Iterable[int]) -> str:
    """The tokens in this order, at most as many as fit on a few lines."""
    trace = view.trace
    shown = [plain(trace.labels[token]) for token in islice(order, MOST_LISTED)]
    more = " …" if trace.n_tokens > MOST_LISTED else ""
    return f"{' · '.join(shown)}{more}"


# --- without positions ------------------------------------------------------------------------------------------------


def without_positions(view: View) -> Export:
    """What becomes of the outputs, of the vector of the input and of the selected pair without positions.

    The edit is that of the switch “Positions” on the page Model.
    """
    trace, without = view.trace, view.but(edits=(DropPositions(),))
    other = without.trace  # before `derived`, whose function may ask for no trace
    cosine: np.ndarray = view.derived("cosines without positions", partial(output_cosines, other=other))
    random = "The weights are random. " if view.model.untrained is not None else ""
    whole = f"Outputs with and without positions, in the same order: {outputs_in_words(view, cosine)}"
    part = token_rows.part(trace.n_tokens, view.i, "without")
    drawn = figures.order_bars(cosine[part], trace.labels, selected=selected(view), first=part.start)
    with answer.area():
        answered(view, "with and without positions", cosine, whole, f"{random}{order_without(without)}")
        input_row.place_on_picture(view)
        plot(
            drawn,
            key="without",
            alt=f"Cosine of every token's output vectors in this {words_of(trace).input} with and without positions.",
            on_event=ON_CLICK,
        )
    st.markdown(f"{vector_in_words(view, without)} {pair_in_words(view, without)}")
    st.caption(
        "Bars: cosine of a token's output vectors with and without positions (1: same direction, 0: orthogonal)."
        + token_rows.which(part, trace.n_tokens, view.i)
        + " "
        + about.text(__file__, "without", left_out=left_out(view))
    )
    return cosines(
        view,
        "Outputs without positions",
        cosine,
        {"Cosine of each token's output with and without positions": drawn},
        "from encoder.measure.residual_stream import output_cosines\n"
        f"without = {export.again(view)}, edits=[encoder.edits.DropPositions()])\n"
        "cosine = output_cosines(trace, without)",
        **{"Positions": f"{view.loaded.config.position}, left out", **place(view)},
    )


def order_without(without: View) -> str:
    """Whether the model can still tell the order of the words: measured by their reverse order, as in “Reverse order”.

    Only where the input has an order of words.
    """
    name = f"Without positions, **{plain(without.loaded.name)}**"
    if without.trace.kind != "text":
        return f"{name} gives other vectors for the same {words_of(without.trace).parts}."
    found: positions.OrderEffect = without.derived("order effect", positions.order_effect)
    if found.moved.any() and found.same:
        return (
            f"{name} cannot tell the order of the words: in reverse order, each word gets the same vector as in yours."
        )
    if found.moved.any():
        mask = ": its causal mask stays" if without.loaded.config.causal else ""
        return f"{name} can still tell the order of the words{mask}."
    return f"{name} gives other vectors for the same words."


def vector_in_words(view: View, without: View) -> str:
    """How much the vector of the input changes."""
    other = without.trace

    def outcomes(trace: Trace) -> list[float]:
        return causal.outcomes_of(view.loaded, trace, [other], causal.SentenceVector())

    _, cosine = view.derived("vector without positions", outcomes)
    return f"{words_of(view.trace).vector.capitalize()}: cosine **{three_digits(cosine)}** with and without positions."


def pair_in_words(view: View, without: View) -> str:
    """The weight of the selected pair in the open head, with and without positions."""
    query, key = token_rows.pair(view)
    before, after = (
        float(one.trace.attention(view.layer, view.head, slice(query, query + 1))[0, key]) for one in (view, without)
    )
    first, second = (token_names.quoted(view.trace.labels, token) for token in (query, key))
    return f"L{view.layer} H{view.head}, {first} → {second}: {change(before, after)}."


def left_out(view: View) -> str:
    """What the edit leaves out of this model."""
    config = view.loaded.config
    vectors = "no position vector is added" if view.trace.position is not None else ""
    in_scores = config.position in ("rotary", "alibi") or config.table_rows or config.disentangled
    scores = "rotations and offsets are those of one position for all tokens"
    return ", and ".join(filter(None, (vectors, scores if in_scores or config.distance_keys else "")))
