"""The decoder's input: other vectors than the encoder's, heads of cross-attention off, and what the output loses."""

from dataclasses import replace

import numpy as np
import streamlit as st

from encoder import causal, figures
from encoder.causal.cross import MOST_SOURCE, changes, target_of
from encoder.documents.tables import cells_of
from encoder.figures.layers import effect_map
from encoder.trace.trace import Trace
from pages.components import on_click, plot
from pages.core.inputs import edited
from pages.core.view import View
from pages.core.view.output import Change, Output, chosen, decoded, source, target_text, written
from pages.core.widgets import Export, answer, title
from pages.core.words import about, errors_said, gestures, number, plain
from pages.state import Head, state


def show(view: View) -> None:
    """The controls, what the change does to the output, both maps, and the output token by token."""
    edited.mark(view)
    with errors_said(st.info, icon=":material/edit:"):
        with st.container(key="controls-context", horizontal=True, vertical_alignment="bottom"):
            state.bound(
                st.text_input,
                Output.target,
                "Output",
                placeholder=f"{written(view).text} (the model’s own)",
                width=300,
                help="The output whose log probability is compared.",
            )
            state.bound(
                st.text_input,
                Output.other,
                "Vectors of another input",
                placeholder="none",
                width=360,
                disabled=view.loaded.takes != "text",
                help="The decoder uses the encoder’s vectors of this text: all, or only the one that you select in the "
                "map. Without a text, a selected vector becomes the mean of all.",
            )
            st.button("Undo all", icon=":material/restart_alt:", on_click=_undo)
        change, trace = chosen(view), decoded(view)
        with answer.area():
            table = changes(target_of(trace), target_of(decoded(view, change)))
            _answer(view, change, trace, float(table["change"].sum()))
            left, right = st.columns([3, 2], gap="medium")
            with left:
                _vectors(view, change, trace)
            with right:
                effects = _heads(view, change, trace)
        if change != Change():
            st.dataframe(table.round(3), hide_index=True, key="context-change")
        st.caption(about.text(__file__, "Limits of a changed decoder’s input"))
        _export(view, change, effects).draw()


def _answer(view: View, change: Change, trace: Trace, gain: float) -> None:
    """What is changed, and what the output loses; without a change, what to select."""
    if change == Change():
        answer.draw(gestures.invitation("Select an input token to replace its vector, or a head to switch it off."))
        return
    whose = f"that of “{plain(change.other)}”" if change.other else "the mean of all"
    parts = [f"all vectors are those of “{plain(change.other)}”"] if change.other and change.vector is None else []
    if change.vector is not None:
        parts.append(f"the vector of **{plain(trace.labels[change.vector])}** is {whose}")
    if change.off:
        parts.append(", ".join(f"L{layer} H{head}" for layer, head in change.off) + " off")
    answer.draw(
        f"The log probability of {plain(target_text(view))} {'rises' if gain > 0 else 'falls'} by "
        f"**{number(abs(gain))}** nats: {'; '.join(parts)}.",
        f"The model now writes **{plain(written(view, change).text)}**; before: {plain(written(view).text)}.",
        clear=_undo,
    )


def _undo() -> None:
    """Change nothing. For callbacks."""
    for param, value in ((Output.off, []), (Output.other, ""), (Output.vector, None)):
        state.put(param, value)


def _vectors(view: View, change: Change, trace: Trace) -> np.ndarray | None:
    """The map [T, S] of what each output token loses when one vector is replaced; a click replaces it."""
    if trace.n_tokens > MOST_SOURCE:
        st.info(f"The map of vectors is limited to {MOST_SOURCE} tokens. Use a shorter input.")
        return None
    other = replace(change, vector=None)
    found: np.ndarray = view.derived(
        ("replaced vectors", target_text(view), change.other),
        lambda _: causal.falls_when_replaced(view.loaded, trace, source(view, other) if change.other else None),
    )
    labels = target_of(trace).output_labels
    st.markdown("**Fall of each output token’s log probability** when the vector of one input token is replaced")
    plot(
        figures.pair_map(
            found,
            labels,
            trace.labels,
            titles=("output", "replaced vector"),
            measure="nats",
            colours=view.colours,
            limits=(0.0, max(1.0, float(np.nanmax(found)))),
            selected=(None, change.vector),
        ),
        key="context-vectors",
        height=360,
        alt=f"What each of {len(labels)} output tokens loses when one of {trace.n_tokens} vectors is replaced.",
        on_event=on_click(column=lambda s: state.put(Output.vector, None if s == change.vector else s)),
    )
    return found


def _heads(view: View, change: Change, trace: Trace) -> np.ndarray:
    """The map [L, H] of the effect of each head of cross-attention; a click switches the head off, or on again."""
    decoder = view.loaded.decoder
    found: np.ndarray = view.derived(
        ("cross effects", target_text(view)),
        lambda _: causal.ablate_each_head(decoder, target_of(trace), causal.TargetProbability(), cross=True).numpy(),
    )
    st.markdown("**Change of the output’s log probability** without a head of cross-attention")
    plot(
        effect_map(found, None, change.off, "nats"),
        key="context-heads",
        height=360,
        alt=f"Effect of switching off each of {found.shape[0]} x {found.shape[1]} heads of cross-attention.",
        on_event=on_click(cell=lambda layer, head: _toggle((layer, head))),
    )
    return found


def _toggle(place: Head) -> None:
    off = state.newest(Output.off)
    state.put(Output.off, [one for one in off if one != place] if place in off else [*off, place])


def _export(view: View, change: Change, effects: np.ndarray) -> Export:
    """The effect of each head, with the Python lines of both maps."""
    other = f", model.trace({change.other!r})" if change.other else ""
    return Export(
        view,
        title(view, "Effects of heads of cross-attention"),
        lambda: cells_of("layer", "head", numbers={"effect": effects}),
        figures=lambda: {"Effect of each head of cross-attention": effect_map(effects, title="nats")},
        lines="from encoder import causal\n"
        f"trace = model.decode(trace, {target_text(view)!r})\n"
        "effects = causal.ablate_each_head(\n"
        "    model.decoder, trace.decoder, causal.TargetProbability(), cross=True\n)\n"
        f"falls = causal.falls_when_replaced(model, trace{other})  # [tokens of the output, of the input]",
    )
