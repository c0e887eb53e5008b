"""The picture of the page Model: the whole model at work on the visitor's input, and what is open in it."""

import dataclasses
from functools import partial

from encoder import explain
from encoder import export as views
from encoder.errors import EncoderError
from encoder.export.model_parts import with_parts
from encoder.figures.numbers import in_words
from encoder.measure import ranking, telling
from pages import components
from pages.components import ModelEvent
from pages.core.inputs.picture_inputs import picture_inputs
from pages.core.view import first_view, selection, token_rows
from pages.core.view import place as place_of_view
from pages.core.view.place import PlaceParams
from pages.core.view.view import View
from pages.core.words import token_names
from pages.model import switches
from pages.model.params import Params, open_part, opened
from pages.state.url_state import state


def draw(view: View, show: str) -> None:
    """The picture with its switches, and with the numbers of the part that is open."""
    params, place = state.read(Params), place_of_view.selected_place(view)
    part = opened(params)
    reference, why_not = _reference(view) if part and state.get(PlaceParams.check) else (None, "")
    # The same numbers have the same bytes: the browser then keeps what is open.
    picture = views.model(
        view.trace, view.layer, view.head, view.i, view.j, model=view.loaded.name, first=state.newest(Params.first),
        **picture_inputs(view),
    )  # fmt: skip
    picture = with_parts(
        picture, view.trace, place, part=part, component=state.get(PlaceParams.component),
        neuron=state.get(PlaceParams.neuron), model=view.loaded,
        variant=selected_variant(view, params), reference=reference, why_not=why_not,
    )  # fmt: skip
    said, ending = switches.effect(view)
    more = {"switches": switches.header(view), "off": switches.heads_off(view), "effect": said, "ending": ending}
    more |= {"curves": show == "stream"}
    picture = dataclasses.replace(picture, header={**picture.header, **more})
    components.model_picture(picture, key="model-picture", on_event=partial(take, view))


def _reference(view: View) -> tuple[explain.Recomputation | None, str]:
    """The same forward pass in float64, and why there is none."""
    if view.trace.n_tokens > place_of_view.LONGEST_CHECK:
        return None, f"The check is limited to {place_of_view.LONGEST_CHECK:,} tokens. Use a shorter text."
    try:
        return place_of_view.recomputation(view), ""
    except EncoderError as error:
        return None, str(error)


def selected_variant(view: View, params: Params) -> explain.Variant:
    """How the open part computes scores: as the model, or as an old link or a switch of the part asks."""
    causal = True if params.causal or view.loaded.config.causal else None
    return explain.Variant(scaled=params.scaled, causal=causal)


def answer(view: View, query: int) -> str:
    """What a token attends to, in one line."""
    trace = view.trace
    row = trace.attention(view.layer, view.head, slice(query, query + 1))[0]
    key = int(row.argmax()) if view.j is None else view.j
    query_name, key_name = (token_names.bold(trace.labels, place) for place in (query, key))
    rank, count = ranking.rank(row, key)
    return (
        f"In L{view.layer} H{view.head} (layer {view.layer}, head {view.head}), {query_name} attends to {key_name}: "
        f"{in_words(float(row[key]))}. Rank: {rank} of {count}.{_before(view, query, key)}"
    )


def _before(view: View, query: int, key: int) -> str:
    """The same weight in the unchanged model; "" where nothing is changed."""
    unchanged = switches.original(view)
    if unchanged.model == view.model:
        return ""
    weight = float(unchanged.trace.attention(view.layer, view.head, slice(query, query + 1))[0, key])
    off = " Head off." if view.head in switches.heads_off(view) else ""
    return f" In the unchanged model: {in_words(weight)}.{off}"


def caution(view: View, query: int | None) -> str:
    """What the weight of a pronoun does not prove; "" for another word."""
    is_pronoun = query is not None and view.trace.labels[query].lower() in telling.PRONOUNS
    return "A pattern is not proof of coreference." if is_pronoun else ""


def take(view: View, event: ModelEvent) -> None:
    """Open a layer and head, select tokens, open a part, or turn a switch, on every page. For callbacks."""
    kind = event["event"]
    if "first" in event:
        state.put(Params.first, event["first"])
    if kind == "open":
        selection.open_head(event["layer"], event["head"])
    elif kind == "select":
        selection.select(event["query"], event["key"])
    elif kind == "switch":
        turn(view, event["name"], event["on"])
    elif kind == "part":
        open_part(event["part"])
        state.put(PlaceParams.check, event["check"])
        if event["query"] is not None and event["part"]:
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
