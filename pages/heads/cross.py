"""Heads, cross-attention: the output token by token, what each one attends to, and what matters for it."""

import numpy as np
import streamlit as st

from encoder import figures
from encoder.causal.cross import CrossScores, score_cross, target_of
from encoder.export.tables import axis, cells_of
from encoder.inputs import dates
from encoder.trace.decoder import DecoderTrace
from encoder.trace.trace import Trace
from pages.components import on_click, plot
from pages.components.beam_tree import beam_tree
from pages.components.lazy import expander
from pages.core.frame.frame import heading
from pages.core.view import View, selection
from pages.core.view.output import BEAMS, Output, decoded, target_text, written
from pages.core.widgets import Export, answer, title
from pages.core.words import errors_said, number, opening, plain, token_names
from pages.heads import spoken
from pages.state import links, state

#: Pixels of a map: both are in the window of a small laptop.
HEIGHT = 370


def draw(view: View) -> None:
    """The output, the map of the open head, every head for the selected token, and the tests."""
    heading()
    opening("Which tokens of the input does the decoder attend to, for each token that it writes?")
    with errors_said():
        writes = view.loaded.decoder is not None
        trace = decoded(view) if writes else view.trace
        target = target_of(trace)
        heard = trace.kind == "sound"
        exported = spoken.draw(view, target) if heard else _maps(view, trace, target)
        if writes:
            _beams(view)
            links.button(
                "interventions", "Change what reaches the decoder", "tune", "open-context", {"intervention": "context"}
            )
        exported.draw()


def _maps(view: View, trace: Trace, target: DecoderTrace) -> Export:
    """The output token by token, and both maps."""
    labels = target.output_labels
    maps = target.cross_attentions[:, :, target.output_rows].cpu()  # [L, H, T, S]
    step = choose_token(target)
    layer, head, n_heads = view.layer, view.head, maps.shape[1]
    with answer.area():
        best = answer.largest(maps[layer, head, step], trace.labels)
        answer.draw(f"To write :blue[{token_names.bold(labels, step)}], L{layer} H{head} attends most to {best}.")
        left, right = st.columns(2, gap="medium")
        with left:
            st.markdown(f"**L{layer} H{head}**: a row is a token that is written, a column a token of the input.")
            plot(
                figures.attention_heatmap(
                    maps[layer, head], labels, key_labels=trace.labels, colours=view.colours, square=False,
                    selected=(step, None),
                ),
                key="cross-map", height=HEIGHT,
                alt=f"Cross-attention of layer {layer}, head {head}: {len(labels)} output tokens downwards, "
                f"{trace.n_tokens} input tokens to the right.",
                on_event=on_click(cell=lambda i, _: state.put(Output.step, i), row=lambda i: state.put(Output.step, i)),
            )  # fmt: skip
        with right:
            st.markdown(f"**Every head**, for {plain(labels[step])}. Select a row to open its head.")
            heads = [f"L{one // n_heads} H{one % n_heads}" for one in range(maps.shape[0] * n_heads)]
            plot(
                figures.attention_heatmap(
                    maps[:, :, step].reshape(len(heads), -1), heads, key_labels=trace.labels, colours=view.colours,
                    square=False, selected=(layer * n_heads + head, None),
                ),
                key="cross-heads", height=HEIGHT,
                alt=f"What each of {len(heads)} heads attends to when the decoder writes token {step}.",
                on_event=on_click(row=lambda one: selection.open_head(*divmod(one, n_heads))),
            )  # fmt: skip
    if view.loaded.decoder is not None:
        _tests(view, trace)
    return _export(view, trace, labels, maps.numpy())


def choose_token(target: DecoderTrace) -> int:
    """The tokens of the output, with the probability of each where it is known; the place of the selected one."""
    labels = target.output_labels
    names = [f"{place} · {plain(label)}" for place, label in enumerate(labels)]
    if target.log_probabilities is not None:
        shares = target.output_log_probabilities.exp().tolist()
        written = (f"{share:.2f}" if share >= 0.005 else "< 0.01" for share in shares)
        names = [f"{name} · {share}" for name, share in zip(names, written, strict=True)]
    if (state.newest(Output.step) or 0) >= len(labels):  # of a longer output
        state.put(Output.step, None)
    chosen = state.bound(
        st.pills, Output.step, "Output: select a token. The number after it is its probability.",
        list(range(len(labels))), format_func=names.__getitem__, label_visibility="collapsed",
    )  # fmt: skip
    return chosen or 0


def _tests(view: View, trace: Trace) -> None:
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
                    values, rows, columns, titles=("layer", "head"), measure=unit, limits=limits,
                    selected=(view.layer, view.head), colours=view.colours,
                ),
                key=f"cross-{unit}", height=190, alt=f"{name}, for {n_layers} x {n_heads} heads.",
                on_event=on_click(cell=selection.open_head),
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


def _beams(view: View) -> None:
    """What beam search tries at each step, and the outputs that it found."""
    part = expander(f"Beam search: the {BEAMS} best outputs", "beams", icon=":material/account_tree:")
    if part is None:
        return
    found = written(view, beams=BEAMS)
    with part:
        st.markdown(
            "A column is a step, a box a token with the probability of all tokens up to it. The search continues from "
            f"the {BEAMS} best (solid); it prunes the others (dashed). A box with a thick edge ends an output."
        )
        beam_tree(found, key="beams-tree", alt=f"Beam search with {BEAMS} beams: {len(found.nodes)} candidates.")
        ended = [f"{n}. **{plain(one.text)}** {number(one.score)}" for n, one in enumerate(found.hypotheses, start=1)]
        st.markdown("Outputs by log probability / length:\n" + "\n".join(ended))


def _export(view: View, trace: Trace, labels: tuple[str, ...], maps: np.ndarray) -> Export:
    """Every weight: layer, head, output token, input token."""
    sides = axis(labels, "output", "output_token"), axis(trace.labels, "input", "input_token")
    run = "" if view.loaded.decoder is None else f"trace = model.decode(trace, {target_text(view)!r})\n"
    return Export(
        view,
        title(view, "Cross-attention"),
        lambda: cells_of("layer", "head", *sides, numbers={"weight": maps}),
        lines=f"{run}weights = trace.decoder.cross_attentions",
    )
