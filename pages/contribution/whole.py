"""The whole output vector of a token: embedding, heads, feed-forward layers and biases, each with its share of it."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder import figures
from encoder.figures.numbers import percentage
from encoder.figures.output_parts import height, output_part_bars
from encoder.figures.token_bars import signed_token_bars
from encoder.gradients import OutputPart, OutputParts, output_parts, share_by_token
from encoder.measure import ranking
from pages.components import PlotEvent, on_click, plot
from pages.components.button import button
from pages.contribution.params import Params
from pages.core.view import View, ViewParams, first_view, selection, token_rows
from pages.core.widgets import Export, answer, title
from pages.core.words import about, gestures, token_names
from pages.state import controlled, state

#: Parts that the first line names.
NAMED = 3


def show(view: View) -> Export:
    """The whole part of the page."""
    token = _token(view)
    found = _found(view, token)
    opened = _opened(found)
    figure = _figure(view, token, found, opened)
    drawn = {"Each part's share of the output vector": figure}
    with answer.area():
        said = _answer(view, token, found) if opened is None else _of_part(view, token, found, opened)
        answer.draw(*said, clear=None if opened is None else _close)
        _choose_token(view, token)
        plot(
            figure,
            key="output-parts",
            alt=f"Bars, one row for each layer: the share of each part in the output vector of token {token}.",
            height=height(len({one.row for one in found.parts})),
            on_event=on_click(point=lambda event: _open_from(event, figure, found), clear=_close),
        )
        head = _largest_head(found)
        if opened != head:
            button(  # a click on its bar, for keys
                f"From which tokens: {head.name}, the largest head",
                "arrow_forward",
                "output-parts:head",
                lambda: _open(head),
                type="tertiary",
            )
        if opened is not None and opened.kind == "head":
            drawn[f"The share of {opened.name}, token by token"] = _draw_tokens(view, token, opened)
    gestures.caption(
        gestures.invitation(
            f"{gestures.CLICK} a head to see which tokens its share comes from, another part for its share."
        )
    )
    about.expander(__file__, "How the shares of a vector are computed")
    lines = f"from encoder import gradients\nfound = gradients.output_parts(trace, {token})"
    if opened is not None and opened.kind == "head":
        lines += f"\ntokens = gradients.share_by_token(trace, {token}, {opened.layer}, {opened.head})"
    return Export(
        view,
        title(view, f"Parts of the output vector of token {token}"),
        lambda: pd.DataFrame(found.parts)[["name", "kind", "layer", "head", "share"]].convert_dtypes(),
        figures=drawn,
        lines=lines,
        settings={"Token": token},
    )


def _draw_tokens(view: View, token: int, head: OutputPart) -> go.Figure:
    """The share of a head as bars, one for each token that it attends to."""
    values, part = _by_token(view, token, head), token_rows.part(view.trace.n_tokens, view.i, "share-by-token")
    figure = signed_token_bars(
        values[part], view.trace.labels, "share from this token", first=part.start, written=percentage
    )
    figure.update_yaxes(tickformat=".0%")
    plot(
        figure,
        key="share-by-token",
        alt=f"A bar for each token: what it adds to the share of {head.name} in the output vector of token {token}.",
        height=240,
        mode_bar=False,
    )
    if said := token_rows.which(part, view.trace.n_tokens, view.i):
        st.caption(said.strip())
    return figure


def _by_token(view: View, token: int, head: OutputPart) -> np.ndarray:
    """[T]: what each token adds to the share of a head."""
    assert head.layer is not None
    assert head.head is not None
    layer, number = head.layer, head.head
    values: np.ndarray = view.derived(
        ("share by token", token, layer, number), lambda trace: share_by_token(trace, token, layer, number).numpy()
    )
    return values


def of_largest_head(view: View) -> dict[str, Any]:
    """The head with the largest share as another page opens it. For clicks."""
    head = _largest_head(_found(view, _token(view)))
    first_view.keep()
    return {ViewParams.layer.name: head.layer, ViewParams.head.name: head.head}


def _found(view: View, token: int) -> OutputParts:
    found: OutputParts = view.derived(("output parts", token), lambda trace: output_parts(trace, token))
    return found


def _largest_head(found: OutputParts) -> OutputPart:
    return max((one for one in found.parts if one.kind == "head"), key=lambda one: one.share)


def _token(view: View) -> int:
    """The selected query, or the first word."""
    return view.i if view.i is not None else min(1, view.trace.n_tokens - 1)


def _choose_token(view: View, token: int) -> None:
    """Which token, on the picture."""
    names = [figures.isolated(name) for name in figures.disambiguate(view.trace.labels)]
    with st.container(key="picture-place", horizontal=True, width="content", gap="xsmall"):
        controlled(
            st.selectbox,
            "Token",
            range(view.trace.n_real),
            key="output-parts:token",
            value=token,
            take=lambda chosen: selection.select(chosen, view.j),
            format_func=lambda at: f"{at} · {names[at]}",
            label_visibility="collapsed",
            width=160,
        )


def _opened(found: OutputParts) -> OutputPart | None:
    """The part that a reader opened; None where the vector has none of this name."""
    name = state.get(Params.share_of)
    return next((one for one in found.parts if one.name == name), None)


def _figure(view: View, token: int, found: OutputParts, opened: OutputPart | None) -> go.Figure:
    parts = found.parts
    return output_part_bars(
        [one.row for one in parts],
        [one.kind for one in parts],
        [one.name for one in parts],
        [one.share for one in parts],
        of=view.trace.labels[token],
        selected="" if opened is None else opened.name,
    )


def _open_from(event: PlotEvent, figure: go.Figure, found: OutputParts) -> None:
    """Open the part that was clicked. For callbacks."""
    names = figure.data[event["trace"]].customdata if event["trace"] < len(figure.data) else None
    if names is None or event["point"] >= len(names):
        return
    _open(next(one for one in found.parts if one.name == names[event["point"]]))


def _open(part: OutputPart) -> None:
    """Say what a part's share is; of a head, also what it is made of. For callbacks."""
    state.put(Params.share_of, part.name)
    if part.layer is not None and part.head is not None:
        selection.open_head(part.layer, part.head)


def _close() -> None:
    """Open no part. For callbacks."""
    state.put(Params.share_of, "")


def _answer(view: View, token: int, found: OutputParts) -> tuple[str, str]:
    """The largest parts and how much they make together; then all parts by kind, which sum to 100% before rounding."""
    largest = found.largest(NAMED)
    together = sum(one.share for one in largest)
    named = ", ".join(f"{one.name} **{percentage(one.share)}**" for one in largest)
    n_layers, n_heads = view.loaded.config.n_layers, view.loaded.config.n_heads
    kinds = {
        "embedding": "embedding",
        "head": f"{n_layers * n_heads} heads",
        "ffn": f"{n_layers} FFNs",
        "bias": "biases",
    }
    listed = ", ".join(
        f"{name} {percentage(found.of_kind(kind))}"  # type: ignore[arg-type]
        for kind, name in kinds.items()
    )
    return (
        f"Three of {len(found.parts)} parts make **{percentage(together)}** of the vector of "
        f"{token_names.bold(view.trace.labels, token)}: {named}.",
        f"All parts sum to 100% before rounding: {listed}. "
        f"The other {len(found.parts) - NAMED}: {percentage(1 - together)}.",
    )


def _of_part(view: View, token: int, found: OutputParts, part: OutputPart) -> tuple[str, str]:
    """The share of the opened part; of a head, the tokens that it comes from, whose shares sum to it."""
    labels = view.trace.labels
    rank, count = ranking.rank(np.array([one.share for one in found.parts]), found.parts.index(part))
    share = f"**{percentage(part.share)}**"
    first = f"Share of **{part.name}** in the vector of {token_names.bold(labels, token)}: {share}"
    nth = answer.nth_largest(rank, count).removeprefix("the ")
    if part.kind != "head":
        return f"{first}, the {nth} parts.", _answer(view, token, found)[1]
    values = _by_token(view, token, part)
    largest = np.argsort(-np.abs(values), kind="stable")[:NAMED].tolist()
    named = ", ".join(f"{token_names.plain(labels, at)} **{percentage(values[at])}**" for at in largest)
    rest = len(values) - len(largest)
    others = f"; the other {rest} tokens: {percentage(values.sum() - values[largest].sum())}" if rest else ""
    return (
        f"{first}, from {named}{others}.",
        f"{part.name} is the {nth} parts. What the tokens add sums to its {percentage(part.share)} before rounding: "
        "each one’s weight times its value vector’s projection on the output.",
    )
