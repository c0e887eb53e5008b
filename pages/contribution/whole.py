"""The whole output vector of a token: embedding, heads, feed-forward layers and biases, each with its share of it."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder import figures
from encoder.figures.numbers import percentage
from encoder.figures.output_parts import height, output_part_bars
from encoder.gradients import OutputPart, OutputParts, output_parts
from pages.components import PlotEvent, on_click, plot
from pages.components.button import button
from pages.contribution.params import Params
from pages.core.view import View, ViewParams, first_view, selection
from pages.core.widgets import Export, answer, title
from pages.core.words import about, gestures, token_names
from pages.state import controlled, state

#: Parts that the first line names.
NAMED = 3


def show(view: View) -> Export:
    """The whole part of the page."""
    token = _token(view)
    found = _found(view, token)
    figure = _figure(view, token, found)
    with answer.area():
        answer.draw(*_answer(view, token, found))
        _choose_token(view, token)
        plot(
            figure,
            key="output-parts",
            alt=f"Bars, one row for each layer: the share of each part in the output vector of token {token}.",
            height=height(len({one.row for one in found.parts})),
            on_event=on_click(point=lambda event: _open_from(event, figure, found, token)),
        )
        head = _largest_head(found)
        button(  # a click on its bar, for keys
            f"From which tokens: {head.name}, the largest head",
            "arrow_forward",
            "output-parts:head",
            lambda: _open(head, token),
            type="tertiary",
        )
    gestures.caption(gestures.invitation(f"{gestures.CLICK} a head to see which tokens its share comes from."))
    about.expander(__file__, "How the shares of a vector are computed")
    return Export(
        view,
        title(view, f"Parts of the output vector of token {token}"),
        lambda: pd.DataFrame(found.parts)[["name", "kind", "layer", "head", "share"]].convert_dtypes(),
        figures={"Each part's share of the output vector": figure},
        lines=f"from encoder import gradients\nfound = gradients.output_parts(trace, {token})",
        settings={"Token": token},
    )


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


def _figure(view: View, token: int, found: OutputParts) -> go.Figure:
    parts = found.parts
    return output_part_bars(
        [one.row for one in parts],
        [one.kind for one in parts],
        [one.name for one in parts],
        [one.share for one in parts],
        of=view.trace.labels[token],
    )


def _open_from(event: PlotEvent, figure: go.Figure, found: OutputParts, token: int) -> None:
    """Open the head that was clicked. For callbacks."""
    names = figure.data[event["trace"]].customdata if event["trace"] < len(figure.data) else None
    if names is None or event["point"] >= len(names):
        return
    part = next(one for one in found.parts if one.name == names[event["point"]])
    if part.kind == "head":
        _open(part, token)


def _open(head: OutputPart, token: int) -> None:
    """Open what a head's share is made of, for the same token. For callbacks."""
    assert head.layer is not None
    assert head.head is not None
    selection.open_head(head.layer, head.head)
    selection.select(token, None)
    state.put(Params.part, "moves")


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
