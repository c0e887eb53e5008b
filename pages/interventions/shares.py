"""The map of what each place carries, and the answer line above it."""

import numpy as np
import plotly.graph_objects as go

from encoder import causal
from encoder.causal import Where
from encoder.figures.layers import patch_map
from encoder.figures.numbers import three_digits
from pages.components import on_click, plot
from pages.core.view import View
from pages.core.widgets import answer, effects
from pages.core.words import plain
from pages.interventions.pair import Pair, forget_place
from pages.interventions.params import COLOURS, Params
from pages.state import state

#: The longest text, in tokens, whose map is computed: it needs a run for each layer and token.
LONGEST = 128
#: What a place is, in the answer.
NAMES = {
    "residual": "The residual stream into layer {layer} at **{place}**",
    "attention_out": "Attention’s output of layer {layer} at **{place}**",
    "ffn_out": "The FFN’s output of layer {layer} at **{place}**",
    "head": "**L{layer} H{place}** at all tokens",
}
#: (layer, token or head).
Place = tuple[int, int]


def measure(view: View, pair: Pair, where: Where) -> tuple[np.ndarray, float, float] | None:
    """(shares [L, places], the outcome of your input, of the other), or None while they wait for a click.

    Raises EncoderError for long texts, and for an outcome that does not fit or does not differ.
    """
    before, after = causal.both_outcomes(view.loaded, pair.source, pair.plain, pair.outcome)
    n_layers, n_tokens = view.loaded.config.n_layers, pair.plain.n_tokens
    places = view.loaded.config.n_heads if where == "head" else n_tokens
    causal.carried_share(np.zeros(1), before, after)  # outcomes that do not differ are refused before the runs
    found = effects.measured(
        "patching",
        ("patching", view.model, pair.text, pair.other, pair.named_outcome, where),
        lambda: causal.iter_patch(view.loaded, pair.source, pair.plain, pair.outcome, where),
        lambda values: _figure(pair, where, causal.carried_share(values, before, after), None),
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


def draw_answer(pair: Pair, where: Where, shares: np.ndarray, at: Place | None) -> None:
    """The share of the selected place with its rank; without a selection, the largest."""
    if at is None:
        elsewhere = shares if where == "head" else np.where(pair.differs, -np.inf, shares)
        at = _largest(shares if not np.isfinite(elsewhere).any() else elsewhere)
        said = _said(pair, where, shares, at)
        where_else = "" if where == "head" or not np.isfinite(elsewhere).any() else " at a shared token"
        answer.draw(
            f"Largest{where_else}: {said[:1].lower()}{said[1:]}.",
            "Select a cell to see the run with that one vector replaced.",
        )
        return
    row = ", ".join(
        f"{_name(pair, where, int(place))} {three_digits(float(shares[at[0], place]))}"
        for place in np.argsort(-shares[at[0]], kind="stable")[: answer.NAMED]
    )
    answer.draw(f"{_said(pair, where, shares, at)}.", f"Largest in layer {at[0]}: {row}.", clear=forget_place)


def draw_map(pair: Pair, where: Where, shares: np.ndarray, at: Place | None) -> go.Figure:
    """The map; a click selects a place. Returns the figure."""
    drawn = _figure(pair, where, shares, at)
    plot(
        drawn,
        key="patching-map",
        alt=f"Share of the difference that each place carries: {shares.shape[0]} layers downwards, "
        f"{shares.shape[1]} {'heads' if where == 'head' else 'tokens'} to the right.",
        on_event=on_click(cell=_select, clear=forget_place),
    )
    return drawn


def _largest(shares: np.ndarray) -> Place:
    layer, place = np.unravel_index(int(np.nanargmax(shares)), shares.shape)
    return int(layer), int(place)


def colours(pair: Pair) -> None:
    """The widget for the range of the colours."""
    state.segmented(
        Params.colours, "Colours end at", COLOURS,
        help=f"Shared tokens: at the largest share among tokens that both {pair.words.inputs} have. Tokens that differ "
        "carry most in the first layers by construction, and would hide the others.",
    )  # fmt: skip


def _select(layer: int, place: int) -> None:
    state.put(Params.layer, layer)
    state.put(Params.place, place)


def _figure(pair: Pair, where: Where, shares: np.ndarray, at: Place | None) -> go.Figure:
    return patch_map(shares, None if where == "head" else pair.labels, at, _colour_limit(pair, where, shares))


def _colour_limit(pair: Pair, where: Where, shares: np.ndarray) -> float | None:
    """The share of the full colour: the largest among shared tokens, so that the others do not hide them."""
    if where == "head" or state.get(Params.colours) == "all" or pair.differs.all():
        return None
    return max(float(np.nan_to_num(np.abs(shares[:, ~pair.differs])).max()), 0.01)


def _said(pair: Pair, where: Where, shares: np.ndarray, at: Place) -> str:
    rank = 1 + int((shares > shares[at]).sum())
    what = NAMES[where].format(layer=at[0], place=_name(pair, where, at[1]))
    share = three_digits(float(shares[at]))
    return f"{what} carries **{share}** of the difference ({answer.ordinal(rank)} of {shares.size:,})"


def _name(pair: Pair, where: Where, place: int) -> str:
    if where == "head":
        return str(place)
    labels = pair.labels
    return plain(labels[place]) + (f" ({place})" if labels.count(labels[place]) > 1 else "")
