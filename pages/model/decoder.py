"""The second river of the page Model: the decoder's pass over its output, and what is selected in it."""

from dataclasses import replace

from encoder.explain import Place
from encoder.figures.numbers import three_digits
from encoder.trace.decoder import DecoderTrace
from encoder.trace.trace import Trace
from pages.components import ModelEvent
from pages.core.view import selection
from pages.core.view.output import Output, decoded, target_text
from pages.core.view.place import PlaceParams
from pages.core.view.view import View
from pages.core.words import errors_said, token_names
from pages.model.params import Params
from pages.state import state


def traced(view: View) -> Trace:
    """The trace, with the decoder's pass over the forced output or over what it writes, where it has a decoder."""
    decoder = view.loaded.decoder
    if decoder is not None and decoder.reads:
        with errors_said():  # of a forced output that this model cannot write
            return decoded(view)
    return view.trace


def of(trace: Trace) -> DecoderTrace | None:
    """The decoder's pass, where the reader has its river open."""
    found = trace.decoder
    return found if isinstance(found, DecoderTrace) and state.newest(Params.side) == "decoder" else None


def selected(trace: Trace) -> tuple[int | None, int | None]:
    """The selected token of the output and the one that it is compared with, by their rows."""
    step, found = state.newest(Output.step), trace.decoder
    if step is None or found is None:
        return None, None
    key = state.get(Params.output_key)
    return min(step + found.n_prompt - 1, found.n_tokens - 1), key if key is None or key < found.n_tokens else None


def place(view: View, trace: DecoderTrace, width: int | None = None) -> Place:
    """The selected place in the decoder; by default the first token of the output and its largest weight."""
    step, params = state.newest(Output.step) or 0, state.read(PlaceParams)
    at = Place(view.layer, view.head, step + trace.n_prompt - 1, 0, params.component or 0, params.neuron or 0)
    at = at.clamped(trace.config, trace.n_tokens, width)
    key = state.get(Params.output_key)
    if key is None:
        key = int(trace.attention(at.layer, at.head, slice(at.query, at.query + 1))[0].argmax())
    return replace(at, key=min(key, trace.n_tokens - 1))


def in_input(trace: DecoderTrace, at: Place) -> Place:
    """The place in cross-attention, whose key is a token of the input; by default the one with the largest weight."""
    source = state.get(Params.source)
    if source is None or source >= len(trace.memory_labels):
        source = int(trace.cross_attention(at.layer, at.head)[at.query].argmax())
    return replace(at, key=source)


def answer(view: View, trace: DecoderTrace) -> str:
    """What the selected token of the output attends to in the input, in one line."""
    at = place(view, trace)
    cross = in_input(trace, at)
    weight = float(trace.cross_attention(at.layer, at.head)[at.query, cross.key])
    labels = trace.model.labels(trace.next_ids)
    share = float(trace.log_probabilities[at.query].exp())  # type: ignore[index]
    return (
        f"To write {token_names.bold(labels, at.query)} (probability: {three_digits(share)}), cross-attention of "
        f"L{at.layer} H{at.head} attends to {token_names.bold(trace.memory_labels, cross.key)}: {three_digits(weight)}."
    )


def python(view: View) -> str:
    """Python lines that give the decoder's pass as `trace`."""
    return f"trace = model.decode(trace, {target_text(view)!r}).decoder\n"


def take(view: View, event: ModelEvent, n_prompt: int) -> None:
    """Open a layer of the decoder, or select a token of its output. For callbacks."""
    state.put(Params.side, "decoder")
    if event["event"] == "open":
        selection.open_head(event["layer"], event["head"])
    elif event["event"] in ("select", "part") and event["query"] is not None:
        state.put(Output.step, max(0, event["query"] - n_prompt + 1))
        state.put(Params.output_key, event["key"])
        state.put(Params.source, event.get("source"))
