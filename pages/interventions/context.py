"""The decoder's input: other vectors than the encoder's, heads of cross-attention off, and what the output loses."""

from dataclasses import replace

import numpy as np
import streamlit as st

from encoder import causal, figures
from encoder.causal.cross import MOST_SOURCE, changes, target_of
from encoder.documents.tables import cells_of
from encoder.figures.layers import effect_map
from encoder.measure.ranking import largest_cell
from encoder.trace.trace import Trace
from pages.components import on_click, plot
from pages.core.inputs import edited
from pages.core.view import View
from pages.core.view.output import Change, Output, chosen, decoded, source, target_text, written
from pages.core.widgets import Export, adjust, answer, title
from pages.core.words import about, errors_said, gestures, number, plain
from pages.state import Head, state


def show(view: View) -> None:
    """The controls, what the change does to the output, both maps, and the output token by token."""
    edited.mark(view)
    with errors_said(st.info, icon=":material/edit:"):
        with adjust.drawer("context"):
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
        falls, effects = _falls(view, change, trace), _effects(view, trace)
        with answer.area():
            table = changes(target_of(trace), target_of(decoded(view, change)))
            if change == Change():
                _largest(trace, falls, effects)
            else:
                _answer(view, change, trace, float(table["change"].sum()))
            left, right = st.columns([3, 2], gap="medium")
            with left:
                _vectors(view, change, trace, falls)
            with right:
                _heads(change, effects)
        if change != Change():
            st.dataframe(table.round(3), hide_index=True, key="context-change")
        hint = gestures.invitation("Select an input token to replace its vector, or a head to switch it off.")
        gestures.caption(f"{hint} {about.text(__file__, 'Limits of a changed decoder’s input')}")
        _export(view, change, effects).draw()


def _largest(trace: Trace, falls: np.ndarray | None, effects: np.ndarray) -> None:
    """The vector and the head on which the output depends most, before anything is changed."""
    layer, head = largest_cell(np.abs(effects))
    of_head = f"Without **L{layer} H{head}**, the output {_changes(float(effects[layer, head]))}."
    if falls is None:
        answer.draw(of_head)
        return
    output, replaced = largest_cell(falls)
    answer.draw(
        f"With another vector of **{plain(trace.labels[replaced])}**, “**"
        f"{plain(target_of(trace).output_labels[output])}**” of the output "
        f"{_changes(-float(falls[output, replaced]))}. {of_head}"
    )


def _changes(effect: float) -> str:
    """What a log probability does: "falls by **6.97** nats"."""
    return f"{'rises' if effect > 0 else 'falls'} by **{number(abs(effect))}** nats"


def _answer(view: View, change: Change, trace: Trace, gain: float) -> None:
    """What is changed, and what the output loses."""
    whose = f"that of “{plain(change.other)}”" if change.other else "the mean of all"
    parts = [f"all vectors are those of “{plain(change.other)}”"] if change.other and change.vector is None else []
    if change.vector is not None:
        parts.append(f"the vector of **{plain(trace.labels[change.vector])}** is {whose}")
    if change.off:
        parts.append(", ".join(f"L{layer} H{head}" for layer, head in change.off) + " off")
    answer.draw(
        f"The log probability of {plain(target_text(view))} {_changes(gain)}: {'; '.join(parts)}.",
        f"The model now writes **{plain(written(view, change).text)}**; before: {plain(written(view).text)}.",
        clear=_undo,
    )


def _undo() -> None:
    """Change nothing. For callbacks."""
    for param, value in ((Output.off, []), (Output.other, ""), (Output.vector, None)):
        state.put(param, value)


def _falls(view: View, change: Change, trace: Trace) -> np.ndarray | None:
    """[T, S]: what each output token loses when one vector is replaced; None for a long input."""
    if trace.n_tokens > MOST_SOURCE:
        return None
    other = replace(change, vector=None)
    found: np.ndarray = view.derived(
        ("replaced vectors", target_text(view), change.other),
        lambda _: causal.falls_when_replaced(view.loaded, trace, source(view, other) if change.other else None),
    )
    return found


def _effects(view: View, trace: Trace) -> np.ndarray:
    """[L, H]: the effect of each head of cross-attention."""
    decoder = view.loaded.decoder
    found: np.ndarray = view.derived(
        ("cross effects", target_text(view)),
        lambda _: causal.ablate_each_head(decoder, target_of(trace), causal.TargetProbability(), cross=True).numpy(),
    )
    return found


def _vectors(view: View, change: Change, trace: Trace, found: np.ndarray | None) -> None:
    """The map of `_falls`; a click replaces a vector."""
    if found is None:
        st.info(f"The map of vectors is limited to {MOST_SOURCE} tokens. Use a shorter input.")
        return
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


def _heads(change: Change, found: np.ndarray) -> None:
    """The map of `_effects`; a click switches the head off, or on again."""
    st.markdown("**Change of the output’s log probability** without a head of cross-attention")
    plot(
        effect_map(found, None, change.off, "nats"),
        key="context-heads",
        height=360,
        alt=f"Effect of switching off each of {found.shape[0]} x {found.shape[1]} heads of cross-attention.",
        on_event=on_click(cell=lambda layer, head: _toggle((layer, head))),
    )


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
