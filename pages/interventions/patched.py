"""The run with one vector replaced: its outcome between the two others, and how far each vector moves."""

import streamlit as st

from encoder import Trace, causal
from encoder.causal import Where
from encoder.edits import Edit
from encoder.figures.layers import displacement_map
from pages.components import plot
from pages.core.inputs import edited
from pages.core.stores import cache
from pages.core.view import View, ViewParams, token_rows
from pages.core.words import number, plain
from pages.interventions.pair import Pair, unit
from pages.interventions.params import Params
from pages.interventions.shares import Place
from pages.state import state

#: Predicted words that are listed.
WORDS = 4


def draw(view: View, pair: Pair, where: Where, at: Place, ends: tuple[float, float]) -> None:
    """The patched run. ends: the outcome of your input, and of the other."""
    edit = causal.patch_edit(where, pair.other, *at)
    patched = cache.trace(view.model, pair.text, edits=(edit,))
    value = causal.outcomes_of(view.loaded, pair.plain, [patched], pair.outcome)[1]
    runs = {f"your {pair.words.input}": ends[0], "one vector replaced": value, "the other": ends[1]}
    st.markdown(f"{plain(unit(pair.outcome))}: {', '.join(f'{name} **{number(one)}**' for name, one in runs.items())}.")
    if (
        pair.plain.source is not None
        and view.loaded.mlm_head is not None
        and view.loaded.tokenizer.mask_token in pair.plain.tokens
    ):
        _words(view, pair, patched)
    moved = causal.displacement(pair.plain, patched)
    name = pair.words.input
    plot(
        displacement_map(moved, pair.labels, view.colours, None if where == "head" else at),
        key="patching-moved",
        alt=f"How far each vector moves from your {name}'s run: {moved.shape[0]} rows, from the input of layer 0 to "
        f"the output, {moved.shape[1]} tokens to the right.",
        height=token_rows.height(moved.shape[0], pitch=26, frame=160, most=520),
    )
    st.caption(
        f"How far each vector moves from your {name}’s run, relative to its norm. Attention passes the change to "
        "other tokens in later layers."
    )
    st.button("Open this run in Ablation", icon=":material/tune:", key="patching:open", on_click=_open, args=(edit,))


def _open(edit: Edit) -> None:
    """Open the run with this edit as an ablation, without a second sentence, as it is here. For callbacks."""
    edited.add(edit)
    state.put(ViewParams.pair, "")
    state.put(Params.kind, "ablation")


def _words(view: View, pair: Pair, patched: Trace) -> None:
    """The most probable words at the first mask in the three runs."""
    runs = {"Your sentence": pair.plain, "One vector replaced": patched}
    if view.loaded.tokenizer.mask_token in pair.source.tokens:
        runs["The other"] = pair.source
    lines = []
    for name, trace in runs.items():
        first = view.loaded.predict_masked(trace, k=WORDS)[0]
        words = ", ".join(f"{plain(word)} {p:.1%}" for word, p in zip(first.tokens, first.probabilities, strict=True))
        lines.append(f"- {name}: {words}")
    st.markdown("\n".join(lines))
