"""The picture of the page Model: the whole model at work on the visitor's input, and what is open in it."""

import dataclasses
import re
from collections.abc import Sequence
from functools import partial

import streamlit as st

from encoder import explain
from encoder import export as views
from encoder.errors import EncoderError
from encoder.figures.feed_forward import SUBLAYERS
from encoder.figures.numbers import in_words, three_digits
from encoder.measure import ranking, same_word, telling
from encoder.measure.residual_stream import largest_step
from encoder.trace.trace import Trace
from encoder.views.model_parts import with_parts
from pages import components
from pages.components import ModelEvent
from pages.core.inputs.picture_inputs import picture_inputs
from pages.core.view import first_view, selection, token_rows
from pages.core.view import place as place_of_view
from pages.core.view.place import PlaceParams
from pages.core.view.view import View
from pages.core.widgets.answer import nth_largest
from pages.core.words import token_names
from pages.model import decoder, switches
from pages.model.params import Params, open_part, opened
from pages.state.url_state import state

#: Two cosines that differ by less than this do not tell two meanings apart.
HARDLY = 0.05


def draw(view: View, trace: Trace, show: str) -> None:
    """The picture with its switches, and with the numbers of the part that is open. trace: of `decoder.traced`."""
    params, of_decoder = state.read(Params), decoder.of(trace)
    part = opened(params)
    place = place_of_view.selected_place(view) if of_decoder is None else decoder.place(view, of_decoder)
    reference, why_not = _reference(view, of_decoder) if part and state.get(PlaceParams.check) else (None, "")
    # The same numbers have the same bytes: the browser then keeps what is open.
    picture = views.model(
        trace,
        view.layer,
        view.head,
        view.i,
        view.j,
        model=view.loaded.name,
        first=state.newest(Params.first),
        side=state.newest(Params.side),
        output=decoder.selected(trace),
        **picture_inputs(view),
    )
    picture = with_parts(
        picture,
        of_decoder or view.trace,
        place,
        part=part,
        component=state.get(PlaceParams.component),
        neuron=state.get(PlaceParams.neuron),
        model=view.loaded if of_decoder is None else of_decoder.model,
        variant=selected_variant(view, params),
        reference=reference,
        why_not=why_not,
        source=state.get(Params.source),
    )
    said, ending = switches.effect(view)
    more = {"switches": switches.header(view), "off": switches.heads_off(view), "effect": said, "ending": ending}
    more |= {"curves": show == "stream"}
    picture = dataclasses.replace(picture, header={**picture.header, **more})
    n_prompt = 1 if trace.decoder is None else trace.decoder.n_prompt
    components.model_picture(picture, key="model-picture", on_event=partial(take, view, n_prompt=n_prompt))


def _reference(view: View, of_decoder: Trace | None) -> tuple[explain.Recomputation | None, str]:
    """The same forward pass in float64, and why there is none."""
    if of_decoder is not None:
        return None, "The check recomputes the encoder only."
    if view.trace.n_tokens > explain.LONGEST_CHECK:
        remedy = "Use a shorter text." if view.trace.kind == "text" else "Choose a model with fewer tokens."
        return None, f"The check is limited to {explain.LONGEST_CHECK:,} tokens. {remedy}"
    try:
        return place_of_view.recomputation(view), ""
    except EncoderError as error:
        return None, str(error)


def selected_variant(view: View, params: Params) -> explain.Variant:
    """How the open part computes scores: as the model, or as an old link or a switch of the part asks."""
    causal = True if params.causal or view.loaded.config.causal else None
    return explain.Variant(scaled=params.scaled, causal=causal)


def answer(view: View, query: int) -> str:
    """What a token attends to, in one line; first what a change does to the result.

    Of a changed model the strongest weight leads, as in the picture: the selected key may be that of before.
    """
    trace = view.trace
    row = trace.attention(view.layer, view.head, slice(query, query + 1))[0]
    strongest = int(row.argmax())
    key = strongest if view.j is None else view.j
    query_name, key_name, most = (token_names.bold(trace.labels, place) for place in (query, key, strongest))
    rank, count = ranking.rank(row, key)
    weight, nth = in_words(float(row[key])), nth_largest(rank, count)
    where = f"In L{view.layer} H{view.head}, {query_name}"
    changed = switches.effect(view)[0] if trace.edits else ""
    if changed and view.head in switches.heads_off(view):
        return f"L{view.layer} H{view.head} is off and adds nothing. {changed}"
    first, before = changed or made_of(trace), _before(view, query, key)
    if before is None:
        return f"{first} {where} attends to {key_name}: {weight} ({nth})."
    if key == strongest:
        return f"{first} {where} attends to {key_name}: {weight} ({nth}). In the unchanged model: {before}."
    return (
        f"{first} {where} attends most to {most}: {in_words(float(row[strongest]))}. "
        f"To {key_name}: {before} → {weight} ({nth})."
    )


def lengths(trace: Trace) -> str:
    """Which curve rises or falls most from one sublayer to the next, in one line."""
    found = largest_step(trace)
    verb = "grows" if found.after > found.before else "shrinks"
    place = re.fullmatch(r"layers\.(\d+)\.after_(\w+)", found.name)
    where = f"after L{place[1]} {SUBLAYERS.get(place[2], place[2])}" if place else found.name
    return (
        f"The vector of {token_names.bold(trace.labels, found.token)} {verb} most in one step: length "
        f"**{three_digits(found.before)} → {three_digits(found.after)}** {where}."
    )


def made_of(trace: Trace) -> str:
    """What the model makes of the input: so many vectors."""
    config = trace.config
    layers = "1 layer gives" if config.n_layers == 1 else f"{config.n_layers} layers give"
    return f"{layers} each of {trace.n_tokens:,} tokens a vector of {config.d_model:,} numbers."


def two_meanings(view: View, query: int) -> None:
    """Where the selected word occurs twice: both vectors side by side, with their cosine."""
    trace = view.trace
    other = (
        view.j if view.j is not None and trace.labels[view.j] == trace.labels[query] else same_word.again(trace, query)
    )
    if other is None or other == query:
        return
    found = same_word.same_word(trace, *sorted((query, other)))
    least = int(found.cosines.argmin())
    where = "in the embedding" if least == 0 else f"after L{least - 1}"
    said = (
        f"The same word twice: its two vectors have cosine **{in_words(found.cosines[-1])}** after the last layer "
        f"({in_words(found.cosines[0])} in the embedding; least: {in_words(found.cosines[least])}, {where})."
    )
    each = [_nearest(trace.labels, place, near) for place, near in zip(found.places, found.nearest, strict=True)]
    if all(found.nearest):
        said += f" Nearest words by cosine, without function words: {'; '.join(each)}."
    st.markdown(said, width="content")


def _nearest(labels: Sequence[str], place: int, nearest: Sequence[tuple[int, float]]) -> str:
    """A token with its nearest words, and whether their cosines tell them apart."""
    words = ", ".join(f"{token_names.plain(labels, one)} {in_words(cosine)}" for one, cosine in nearest)
    close = len(nearest) > 1 and nearest[0][1] - nearest[1][1] < HARDLY
    return f"{token_names.bold(labels, place)}: {words}{f' (less than {HARDLY:g} apart)' if close else ''}"


def _before(view: View, query: int, key: int) -> str | None:
    """The same weight in the unchanged model; None where nothing is changed."""
    unchanged = switches.original(view)
    if unchanged.run == view.run:
        return None
    return in_words(float(unchanged.trace.attention(view.layer, view.head, slice(query, query + 1))[0, key]))


def caution(view: View) -> str:
    """What the weight of a selected pronoun does not say; "" for another word."""
    is_pronoun = view.i is not None and view.trace.labels[view.i].lower() in telling.PRONOUNS
    return "Attention is not reference." if is_pronoun else ""


def take(view: View, event: ModelEvent, n_prompt: int = 1) -> None:
    """Open a layer and head, select tokens, open a part, or turn a switch, on every page. For callbacks."""
    kind, in_decoder = event["event"], event.get("side") == "decoder"
    if "first" in event and not in_decoder:
        state.put(Params.first, event["first"])
    if in_decoder:
        decoder.take(view, event, n_prompt)
    elif kind in ("open", "part") and view.loaded.decoder is not None:
        state.put(Params.side, "encoder")
    if kind == "open" and not in_decoder:
        selection.open_head(event["layer"], event["head"])
    elif kind == "select" and not in_decoder:
        selection.select(event["query"], event["key"])
    elif kind == "switch":
        turn(view, event["name"], event["on"])
    elif kind == "part":
        open_part(event["part"])
        state.put(PlaceParams.check, event["check"])
        if event["query"] is not None and event["part"] and not in_decoder:
            selection.select(event["query"], event["key"])
        for name in ("component", "neuron"):
            if event[name] is not None:  # type: ignore[literal-required]
                state.put(getattr(PlaceParams, name), event[name])  # type: ignore[literal-required]


def turn(view: View, name: str, on: bool) -> None:
    """Turn a switch of the picture, or of its open part."""
    if name in ("scaled", "causal row"):
        state.put(Params.scaled if name == "scaled" else Params.causal, on)
    else:
        first_view.keep()  # the reader compares the same head, token and weight
        if view.i is not None:
            selection.select(*token_rows.pair(view))
        switches.turn(view, name, on)
