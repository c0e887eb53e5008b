"""Heads, cross-attention: the output token by token, what each one attends to, and what matters for it."""

import numpy as np
import pandas as pd
import streamlit as st

from encoder import figures
from encoder.inputs import dates
from encoder.measure.cross import CrossScores, changes, score_cross, target_of
from encoder.trace.trace import Trace
from pages.components import on_click, plot
from pages.components.lazy import expander
from pages.core.frame.frame import heading
from pages.core.view import View, selection
from pages.core.view.output import BEAMS, Output, decoded, target_text, written
from pages.core.widgets import Export, answer, title
from pages.core.words import errors_said, opening, plain, token_names
from pages.state import Head, state


def draw(view: View) -> None:
    """The output, the map of the open head, every head for the selected token, and the tests."""
    heading()
    opening("Which tokens of the input does the decoder attend to, for each token that it writes?")
    forced, other = st.columns(2, gap="medium")
    with forced:
        state.bound(
            st.text_input, Output.target, "Output", placeholder=f"{written(view).text} (the model’s own)",
            help="Type another output: the page then shows how probable each of its tokens is, and what it attends to.",
        )  # fmt: skip
    with other:
        state.bound(
            st.text_input, Output.other, "Vectors of another input", placeholder="none",
            disabled=view.loaded.takes != "text",
            help="The decoder uses the encoder’s vectors of this text, and not those of the input.",
        )  # fmt: skip
    with errors_said():
        _draw(view)


def _draw(view: View) -> None:
    swapped = state.get(Output.other).strip()
    trace = decoded(view, (), swapped)
    target = target_of(trace)
    labels = view.loaded.decoder.labels(target.next_ids[target.output_rows])
    probabilities = target.output_log_probabilities.exp().tolist()
    layer, head = min(view.layer, target.config.n_layers - 1), min(view.head, target.config.n_heads - 1)
    maps = target.cross_attentions[:, :, target.output_rows].cpu()  # [L, H, T, S]
    names = [f"{place} · {plain(label)} · {share:.2f}" for place, (label, share) in
             enumerate(zip(labels, probabilities, strict=True))]  # fmt: skip
    if (state.newest(Output.step) or 0) >= len(labels):  # of a longer output
        state.put(Output.step, None)
    chosen = state.bound(
        st.pills, Output.step, "Output: select a token. The number after it is its probability.",
        list(range(len(labels))), format_func=names.__getitem__,
    )  # fmt: skip
    step = chosen or 0
    row = maps[layer, head, step]
    best = answer.largest(row, trace.labels)
    with answer.area():
        answer.draw(f"To write :blue[{token_names.bold(labels, step)}], L{layer} H{head} attends most to {best}.")
        left, right = st.columns(2, gap="medium")
        with left:
            st.markdown(f"**L{layer} H{head}**: a row is a token that is written, a column a token of the input.")
            plot(
                figures.attention_heatmap(
                    maps[layer, head], labels, key_labels=trace.labels, colours=view.colours, square=False,
                    selected=(step, None),
                ),
                key="cross-map", height=400,
                alt=f"Cross-attention of layer {layer}, head {head}: {len(labels)} output tokens downwards, "
                f"{trace.n_tokens} input tokens to the right.",
                on_event=on_click(cell=lambda i, _: state.put(Output.step, i), row=lambda i: state.put(Output.step, i)),
            )  # fmt: skip
        with right:
            st.markdown(f"**Every head**, for {plain(labels[step])}. Select a row to open its head.")
            n_heads = target.config.n_heads
            heads = [f"L{one // n_heads} H{one % n_heads}" for one in range(maps.shape[0] * n_heads)]
            plot(
                figures.attention_heatmap(
                    maps[:, :, step].reshape(len(heads), -1), heads, key_labels=trace.labels, colours=view.colours,
                    square=False, selected=(layer * n_heads + head, None),
                ),
                key="cross-heads", height=400,
                alt=f"What each of {len(heads)} heads attends to when the decoder writes token {step}.",
                on_event=on_click(row=lambda one: selection.open_head(*divmod(one, n_heads))),
            )  # fmt: skip
    if not swapped:
        _tests(view, trace, (layer, head), step, labels)
    _switched_off(view, (layer, head))
    _beams(view)
    _export(view, trace, labels, maps.numpy()).draw()


def _tests(view: View, trace: Trace, place: Head, step: int, labels: tuple[str, ...]) -> None:
    """Attention that looks right, where the right tokens are known, and tokens and heads that matter."""
    found = view.derived(("cross scores", target_text(view)), lambda _: _scores(view, trace, target_text(view)))
    if found is None:
        return
    layer, head = found.attention.best
    st.subheader("Attention that looks right, attention that matters", anchor=False)
    st.markdown(
        f"Rules know which tokens of the input give each character. **L{layer} H{head}** attends most to such a token "
        f"for {found.attention.precision[layer, head]:.0%} of the characters, the best of all heads; at random: "
        f"{found.attention.chance:.0%}. Hiding a token from the whole model costs most where the rules say so for "
        f"{found.deletion.precision[0, 0]:.0%}."
    )
    off = found.without_head
    n_layers, n_heads = off.shape
    rows, columns = [f"L{one}" for one in range(n_layers)], [f"H{one}" for one in range(n_heads)]
    shown = {
        "Share of characters whose largest weight is right": (found.attention.precision, (0.0, 1.0), "share"),
        "Fall of the output’s log probability without the head": (off, (0.0, max(1.0, float(off.max()))), "nats"),
    }
    for area, (name, (values, limits, unit)) in zip(st.columns(2, gap="medium"), shown.items(), strict=True):
        with area:
            st.markdown(name)
            plot(
                figures.pair_map(
                    values, rows, columns, titles=("layer", "head"), measure=unit, limits=limits, selected=place,
                    colours=view.colours,
                ),
                key=f"cross-{unit}", height=190, alt=f"{name}, for {n_layers} x {n_heads} heads.",
                on_event=on_click(cell=selection.open_head),
            )  # fmt: skip
    st.markdown(f"Fall of the log probability of {plain(labels[step])} when no token attends to an input token:")
    hidden = found.when_hidden[[step]]
    plot(
        figures.pair_map(
            hidden, [labels[step]], trace.labels, titles=("", "hidden token"), measure="nats",
            limits=(0.0, max(1.0, float(hidden.max()))), colours=view.colours,
        ),
        key="cross-hidden", height=170, alt=f"What hiding each input token costs output token {step}.",
    )  # fmt: skip
    st.caption(
        "One input is not a proof. A head whose weights look right may not matter, since other heads carry the same; "
        "hiding a token also changes what is unusual for the model."
    )


def _scores(view: View, trace: Trace, target: str) -> CrossScores | None:
    """The scores, where the rules of the bundled translators know the answer and the output is this one."""
    known = dates.answer(trace.source) if trace.source is not None and view.model.source in dates.MODELS else None
    if known is None or known.output != target or not known.pairs:
        return None
    return score_cross(view.loaded, trace, known.pairs)


def _switched_off(view: View, place: Head) -> None:
    """Switch heads of cross-attention off, and use the vectors of another text: what the output loses."""
    off, name = tuple(state.get(Output.off)), f"L{place[0]} H{place[1]}"
    swapped = state.get(Output.other).strip()
    with st.container(horizontal=True, vertical_alignment="center"):
        word = "on" if place in off else "off"
        changed = [one for one in off if one != place] if place in off else [*off, place]
        st.button(
            f"Switch {name} {word}", key="cross-off", icon=":material/power_settings_new:",
            on_click=lambda: state.put(Output.off, changed),
        )  # fmt: skip
        if off:
            st.markdown("Off: " + ", ".join(f"L{layer} H{head}" for layer, head in off), width="content")
    if not off and not swapped:
        return
    plain_run, edited = target_of(decoded(view)), target_of(decoded(view, off, swapped))
    st.markdown(f"The model now writes **{plain(written(view, off, swapped).text)}**; before: {target_text(view)}.")
    st.dataframe(changes(view.loaded, plain_run, edited).round(3), hide_index=True, key="cross-change")


def _beams(view: View) -> None:
    """The outputs that beam search keeps, with what each is scored by."""
    part = expander(f"Beam search: the {BEAMS} best outputs", "beams", icon=":material/account_tree:")
    if part is None:
        return
    found = written(view, tuple(state.get(Output.off)), state.get(Output.other).strip(), BEAMS)
    with part:
        rows = [(one.text, one.score, len(one.ids)) for one in found.hypotheses]
        frame = pd.DataFrame(rows, columns=["output", "log probability / length", "tokens"])
        st.dataframe(frame.round(3), hide_index=True, key="beams-table")
        kept = pd.DataFrame(
            [(node.step, node.label, node.probability, node.kept, node.finished) for node in found.nodes],
            columns=["step", "token", "probability of all so far", "kept", "ended"],
        )
        st.dataframe(kept.round(4), hide_index=True, key="beams-nodes", height=240)


def _export(view: View, trace: Trace, labels: tuple[str, ...], maps: np.ndarray) -> Export:
    """Every weight: layer, head, output token, input token."""

    def frame() -> pd.DataFrame:
        layer, head, row, column = (one.ravel() for one in np.indices(maps.shape))
        return pd.DataFrame(
            {"layer": layer, "head": head, "output": row, "output_token": np.array(labels, dtype=object)[row],
             "input": column, "input_token": np.array(trace.labels, dtype=object)[column], "weight": maps.ravel()}
        )  # fmt: skip

    lines = f"trace = model.decode(trace, {target_text(view)!r})\nweights = trace.decoder.cross_attentions"
    return Export(view, title(view, "Cross-attention"), frame, lines=lines)
