"""Heads, cross-attention: the output token by token, what each one attends to, and what matters for it.

Of a sound, the output is words, and what each attends to is a time.
"""

import numpy as np
import pandas as pd
import streamlit as st

from encoder import figures
from encoder.causal.cross import CrossScores, score_cross, target_of
from encoder.documents.tables import axis, cells_of
from encoder.figures.numbers import in_words
from encoder.inputs.sound_files import wav_bytes
from encoder.inputs.sound_layout import Span
from encoder.measure import dates, sounds
from encoder.trace.decoder import DecoderTrace
from encoder.trace.trace import Trace
from pages.components import on_click, plot
from pages.components.beam_tree import beam_tree
from pages.components.lazy import expander
from pages.core.frame.frame import heading
from pages.core.view import View, selection
from pages.core.view.output import BEAMS, Output, decoded, target_text, written
from pages.core.widgets import Export, answer, title
from pages.core.words import about, errors_said, gestures, number, opening, plain, token_names
from pages.heads import sound
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
        exported = _spoken(view, target) if heard else _maps(view, trace, target)
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
                    maps[layer, head],
                    labels,
                    key_labels=trace.labels,
                    colours=view.colours,
                    square=False,
                    selected=(step, None),
                ),
                key="cross-map",
                height=HEIGHT,
                alt=f"Cross-attention of layer {layer}, head {head}: {len(labels)} output tokens downwards, "
                f"{trace.n_tokens} input tokens to the right.",
                on_event=on_click(cell=lambda i, _: state.put(Output.step, i), row=lambda i: state.put(Output.step, i)),
            )
        with right:
            how = gestures.invitation("Select a row to open its head.")
            st.markdown(f"**Every head**, for {plain(labels[step])}. {how}")
            heads = [f"L{one // n_heads} H{one % n_heads}" for one in range(maps.shape[0] * n_heads)]
            plot(
                figures.attention_heatmap(
                    maps[:, :, step].reshape(len(heads), -1),
                    heads,
                    key_labels=trace.labels,
                    colours=view.colours,
                    square=False,
                    selected=(layer * n_heads + head, None),
                ),
                key="cross-heads",
                height=HEIGHT,
                alt=f"What each of {len(heads)} heads attends to when the decoder writes token {step}.",
                on_event=on_click(row=lambda one: selection.open_head(*divmod(one, n_heads))),
            )
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
        st.pills,
        Output.step,
        "Output: select a token. The number after it is its probability.",
        list(range(len(labels))),
        format_func=names.__getitem__,
        label_visibility="collapsed",
    )
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
                    values,
                    rows,
                    columns,
                    titles=("layer", "head"),
                    measure=unit,
                    limits=limits,
                    selected=(view.layer, view.head),
                    colours=view.colours,
                ),
                key=f"cross-{unit}",
                height=190,
                alt=f"{name}, for {n_layers} x {n_heads} heads.",
                on_event=on_click(cell=selection.open_head),
            )
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


def _spoken(view: View, target: DecoderTrace) -> Export:
    """The words with their times; the spectrogram with the weights of the selected one; a row for each head."""
    name, place = f"L{view.layer} H{view.head}", (view.layer, view.head)
    with st.container(key="controls-spoken", horizontal=True, vertical_alignment="center"):
        over = state.segmented(
            Output.over, "Weights of", {"mean": "Mean of all heads", "head": name}, label_visibility="collapsed"
        )
        with st.container(width=320):
            st.audio(wav_bytes(view.given), format="audio/wav")
    words = sounds.written_words(target, sounds.sound_layout(view.trace), place if over == "head" else None)
    names = {one.places[0]: f"{plain(one.text)} · {sounds.names([one.most])[0]}" for one in words}
    at = state.newest(Output.step)
    if at is not None and at not in names:  # a token inside a word, or of a longer output
        state.put(Output.step, next((one.places[0] for one in words if at in one.places), None))
    area = answer.area()  # above the words, which may be many
    chosen = state.bound(
        st.pills,
        Output.step,
        "Output: select a word. The time after it has its largest weights.",
        list(names),
        format_func=names.__getitem__,
    )
    word = next((one for one in words if chosen in one.places), words[0])
    found = sound.Heard(
        sound=view.given,
        wav=b"",
        layout=sounds.sound_layout(view.trace),
        query=0,
        name=word.text,
        span=Span(word.most.start, word.most.end),
        chosen=chosen is not None,
        over=word.over,
    )
    weights = sounds.written_by_head(target, word.places)
    with area:
        largest = sounds.pieces(word.over)
        named = ", ".join(
            f"{time} **{in_words(one.share)}**" for time, one in zip(sounds.names(largest), largest, strict=True)
        )
        whose = f"{name} attends" if over == "head" else "all heads together attend"
        answer.draw(
            f"To write :blue[**{plain(word.text)}**], {whose} most to {named}.",
            "These are attention weights. They suggest where a word is, and do not measure it.",
        )
        sound.draw_sound(view, found, hears=False)
    sound.draw_pieces(found)
    sound.draw_heads(view, found, weights, place)
    st.caption(about.text(__file__, "Limits of times from cross-attention"))
    return _export_words(view, words, word, weights, found)


def _export_words(
    view: View, words: list[sounds.Word], word: sounds.Word, weights: np.ndarray, found: sound.Heard
) -> Export:
    """The words with their times; the picture of all heads for the selected word."""

    def frame() -> pd.DataFrame:
        rows = [(one.text, one.places[0], one.most.start, one.most.end, one.most.share) for one in words]
        return pd.DataFrame(rows, columns=["word", "output_token", "start", "end", "share"])

    return Export(
        view,
        title(view, "Cross-attention over time"),
        frame,
        figures=lambda: {f"What {word.text} attends to": sound.map_of_heads(view, found, weights)},
        lines="from encoder.measure import sounds\n"
        f"trace = model.decode(trace, {target_text(view)!r})\n"
        "weights = sounds.written_over_time(trace.decoder)  # [tokens of the output, steps of time]",
    )
