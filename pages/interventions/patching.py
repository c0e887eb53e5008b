"""Patching: which vector carries the difference between two inputs, by replacing one at a time."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from encoder import Trace, causal
from encoder.causal import Outcome, Where
from encoder.documents.tables import axis, cells_of
from encoder.edits import Edit
from encoder.figures.layers import patch_map
from encoder.figures.numbers import three_digits
from encoder.measure import ranking
from encoder.measure.ranking import largest_cell
from pages.components import on_click, plot
from pages.components.button import button
from pages.core.inputs import edited
from pages.core.inputs.input_words import words_of
from pages.core.view import View, ViewParams
from pages.core.widgets import Export, answer, effects, given, title
from pages.core.words import about, errors_said, gestures, number, plain
from pages.interventions import pair
from pages.interventions.params import COLOURS, WHERE, Params
from pages.state import state

#: Predicted words that are listed.
WORDS = 4
#: The longest text, in tokens, whose map is computed: it needs a run for each layer and token.
LONGEST = 128
#: A share whose size is larger than this: one vector changes the outcome by more than both runs differ.
FAR = 1.5
#: What a place is, in the answer.
NAMES = {
    "residual": "The residual stream into layer {layer} at **{place}**",
    "attention_out": "Attention’s output of layer {layer} at **{place}**",
    "ffn_out": "The FFN’s output of layer {layer} at **{place}**",
    "head": "**L{layer} H{place}** at all tokens",
}
#: (layer, token or head).
Place = tuple[int, int]


def show(view: View, outcome: Outcome) -> None:
    """The two inputs, the map, the answer to a click, and the export panel."""
    edited.mark(view)
    if view.pair is not None:
        st.caption("This page leaves out your second sentence.")
    with errors_said(st.info, icon=":material/edit:"):
        both = pair.draw(view, outcome)
        if both is not None:
            _pair(view, both)
    st.caption(about.text(__file__, "Limits of patching", inputs=words_of(view.trace).inputs))


def _pair(view: View, both: pair.Pair) -> None:
    where: Where = state.newest(Params.where)  # type: ignore[assignment]
    found = measure(view, both, where)
    if found is None:
        return
    values, *ends = found
    at = selected(values)
    with answer.area():
        draw_answer(both, where, values, at)
        drawn = draw_map(both, where, values, at)
    with st.container(key="controls-where", horizontal=True, vertical_alignment="bottom"):
        replaced()
        if where != "head":
            colours(both)
    source = f"Vectors from: {plain(both.other)}  \n" if view.loaded.takes == "text" else ""
    st.caption(
        f"{source}Tokens that differ: {int(both.differs.sum())} of "
        f"{both.plain.n_tokens}. 0: as in your {both.words.input}; 1: as in the other.{_too_small(values, ends)}"
    )
    if at is None:
        st.caption(gestures.invitation("Select a cell to see the run with that one vector replaced."))
    else:
        draw_patched(view, both, where, at, (ends[0], ends[1]))
    exported(view, both, where, values, drawn, (ends[0], ends[1])).draw()


def _too_small(shares: np.ndarray, ends: Sequence[float]) -> str:
    """A warning where places change the outcome by more than both runs differ; "" where they do not."""
    if np.abs(shares).max(initial=0) <= FAR:
        return ""
    return (
        f"  \nBoth outcomes differ by only {number(ends[1] - ends[0])}, less than one vector can change: these shares "
        "say little. Choose inputs that differ more."
    )


def exported(
    view: View, both: pair.Pair, where: Where, values: np.ndarray, drawn: go.Figure, ends: tuple[float, float]
) -> Export:
    """The shares. values [L, places]; drawn: the page's map; ends: the outcome of your input, and of the other."""
    tokens = axis(both.plain.labels) | {"other_token": np.array(both.source.labels)}
    of_other = isinstance(both.outcome, causal.Similarity) and view.loaded.takes != "text"
    outcome = "Similarity(other)" if of_other else repr(both.outcome)
    asked = causal.patch_request(where)
    request = f", request={asked!r}" if asked else ""
    return Export(
        view,
        title(view, "Patching"),
        lambda: cells_of("layer", "head" if where == "head" else tokens, numbers={"share": values}),
        figures={"Share of the difference that each place carries": drawn},
        lines="from encoder import causal\n"
        f"yours, other = model.trace({given(view, both.text)}), model.trace({given(view, both.other)}{request})\n"
        f"outcome = causal.{outcome}\n"
        "before, after = causal.both_outcomes(model, other, yours, outcome)\n"
        f"effects = causal.patch(model, other, yours, outcome, {where!r})\n"
        "shares = causal.carried_share(effects.numpy(), before, after)",
        settings={
            "Vectors from": both.other,
            "Replaced": WHERE[where],
            "Outcome": f"{pair.unit(view, both.outcome)}: {ends[0]:.4g}, in the other run {ends[1]:.4g}",
        },
    )


def draw_patched(view: View, both: pair.Pair, where: Where, at: Place, ends: tuple[float, float]) -> None:
    """The patched run. ends: the outcome of your input, and of the other."""
    edit = causal.patch_edit(where, both.other, *at, view.trace.config.after_layer)
    patched = view.about(both.text).but(edits=(*view.run.edits, edit)).trace
    value = causal.outcomes_of(view.loaded, both.plain, [patched], both.outcome)[1]
    runs = {f"your {both.words.input}": ends[0], "one vector replaced": value, "the other": ends[1]}
    said = ", ".join(f"{name} **{number(one)}**" for name, one in runs.items())
    st.markdown(f"{plain(pair.unit(view, both.outcome))}: {said}.")
    if (
        both.plain.source is not None
        and view.loaded.mlm_head is not None
        and view.loaded.tokenizer.mask_token in both.plain.tokens
    ):
        _words(view, both, patched)
    button("Open this run in Ablation", "tune", "patching:open", partial(_open, edit))


def _open(edit: Edit) -> None:
    """Open the run with this edit as an ablation, without a second sentence, as it is here. For callbacks."""
    edited.add(edit)
    state.put(ViewParams.pair, "")
    state.put(Params.kind, "ablation")


def _words(view: View, both: pair.Pair, patched: Trace) -> None:
    """The most probable words at the first mask in the three runs."""
    runs = {"Your sentence": both.plain, "One vector replaced": patched}
    if view.loaded.tokenizer.mask_token in both.source.tokens:
        runs["The other"] = both.source
    lines = []
    for name, trace in runs.items():
        first = view.loaded.predict_masked(trace, k=WORDS)[0]
        words = ", ".join(f"{plain(word)} {p:.1%}" for word, p in zip(first.tokens, first.probabilities, strict=True))
        lines.append(f"- {name}: {words}")
    st.markdown("\n".join(lines))


def measure(view: View, both: pair.Pair, where: Where) -> tuple[np.ndarray, float, float] | None:
    """(shares [L, places], the outcome of your input, of the other), or None while they wait for a click.

    Raises EncoderError for long texts, and for an outcome that does not fit or does not differ.
    """
    before, after = causal.both_outcomes(view.loaded, both.source, both.plain, both.outcome)
    n_layers, n_tokens = view.loaded.config.n_layers, both.plain.n_tokens
    places = view.loaded.config.n_heads if where == "head" else n_tokens
    causal.carried_share(np.zeros(1), before, after)  # outcomes that do not differ are refused before the runs
    found = effects.measured(
        "patching",
        ("patching", view.run.of_pass, both.text, both.other, both.named_outcome, where),
        lambda: causal.iter_patch(view.loaded, both.source, both.plain, both.outcome, where),
        lambda values: _figure(both, where, causal.carried_share(values, before, after), None),
        runs=n_layers * places,
        n_tokens=n_tokens,
        longest=LONGEST,
        label="Measure all places",
        doing="Replacing vectors",
    )
    return None if found is None else (causal.carried_share(found, before, after), before, after)


def selected(shares: np.ndarray) -> Place | None:
    """The selected place of this map; None where nothing is selected, or the map has no such place."""
    layer, place = state.get(Params.layer), state.get(Params.place)
    if layer is None or place is None or layer >= shares.shape[0] or place >= shares.shape[1]:
        return None
    return layer, place


def draw_answer(both: pair.Pair, where: Where, shares: np.ndarray, at: Place | None) -> None:
    """The share of the selected place with its rank; without a selection, the largest."""
    if at is None:
        elsewhere = shares if where == "head" else np.where(both.differs, -np.inf, shares)
        at = largest_cell(shares if not np.isfinite(elsewhere).any() else elsewhere)
        said = _said(both, where, shares, at)
        where_else = "" if where == "head" or not np.isfinite(elsewhere).any() else " at a shared token"
        largest = f"Largest{where_else}: {said[:1].lower()}{said[1:]}."
        answer.draw(f"{_where_both_differ(both, where, shares)}{largest}")
        return
    row = ", ".join(
        f"{_name(both, where, int(place))} {three_digits(float(shares[at[0], place]))}"
        for place in np.argsort(-shares[at[0]], kind="stable")[: answer.NAMED]
    )
    answer.draw(f"{_said(both, where, shares, at)}.", f"Largest in layer {at[0]}: {row}.", clear=pair.forget_place)


def draw_map(both: pair.Pair, where: Where, shares: np.ndarray, at: Place | None) -> go.Figure:
    """The map; a click selects a place. Returns the figure."""
    drawn = _figure(both, where, shares, at)
    plot(
        drawn,
        key="patching-map",
        alt=f"Share of the difference that each place carries: {shares.shape[0]} layers downwards, "
        f"{shares.shape[1]} {'heads' if where == 'head' else 'tokens'} to the right.",
        on_event=on_click(cell=_select, clear=pair.forget_place),
    )
    return drawn


def replaced() -> None:
    """The widget for what is replaced."""
    state.selectbox(
        Params.where,
        "Replaced",
        WHERE,
        width=270,
        help="Residual stream: a token's whole vector before the layer. Attention's or the FFN's output: what the "
        "sublayer adds to it. Heads: what one head passes on, at all tokens.",
    )


def colours(both: pair.Pair) -> None:
    """The widget for the range of the colours."""
    state.segmented(
        Params.colours,
        "Colours end at",
        COLOURS,
        help=f"Shared tokens: at the largest share among tokens that both {both.words.inputs} have. Tokens that differ "
        "carry most in the first layers by construction, and would hide the others.",
    )


def _select(layer: int, place: int) -> None:
    state.put(Params.layer, layer)
    state.put(Params.place, place)


def _figure(both: pair.Pair, where: Where, shares: np.ndarray, at: Place | None) -> go.Figure:
    return patch_map(shares, None if where == "head" else both.labels, at, _colour_limit(both, where, shares))


def _colour_limit(both: pair.Pair, where: Where, shares: np.ndarray) -> float | None:
    """The share of the full colour: the largest among shared tokens, so that the others do not hide them."""
    if where == "head" or state.get(Params.colours) == "all" or both.differs.all():
        return None
    return max(float(np.nan_to_num(np.abs(shares[:, ~both.differs])).max()), 0.01)


def _said(both: pair.Pair, where: Where, shares: np.ndarray, at: Place) -> str:
    rank, _ = ranking.rank(shares, at)
    what = NAMES[where].format(layer=at[0], place=_name(both, where, at[1]))
    share = three_digits(float(shares[at]))
    return f"{what} carries **{share}** of the difference ({answer.ordinal(rank)} of {shares.size:,})"


def _where_both_differ(both: pair.Pair, where: Where, shares: np.ndarray) -> str:
    """The largest share of the tokens that differ; "" for heads, and where no token or every token differs."""
    if where == "head" or not both.differs.any() or both.differs.all():
        return ""
    layer, at = largest_cell(np.where(both.differs, shares, -np.inf))
    return f"Where both differ, at **{_name(both, where, at)}**: up to **{three_digits(float(shares[layer, at]))}**. "


def _name(both: pair.Pair, where: Where, place: int) -> str:
    if where == "head":
        return str(place)
    labels = both.labels
    return plain(labels[place]) + (f" ({place})" if labels.count(labels[place]) > 1 else "")
