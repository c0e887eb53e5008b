"""The two sides that the page "Compare" holds against each other: which they are, their tokens, their maps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import encoder
from encoder.config import NORM_PLACEMENTS
from encoder.errors import LoadError
from encoder.measure import align
from pages.core import cache, model_access, sidebar
from pages.core.comparison import Side, Sides
from pages.core.view import View, scratch_config, state

RIVER, MONEY = "We walked along the bank of the river.", "We walked to the bank to get our money."

#: Title -> values of the view.
EXAMPLES: Mapping[str, Mapping[str, object]] = {
    "“bank” of a river and of money": {
        "compare": "sentences", "text": RIVER, "text_b": MONEY, "pair": "", "model": "minilm", "norm": "trained",
        "layer": 1, "head": 8,
    },
    "too tired or too wide": {
        "compare": "sentences", "text": "The animal didn't cross the street because it was too tired.",
        "text_b": "The animal didn't cross the street because it was too wide.", "pair": "", "model": "minilm",
        "norm": "trained",
    },
    "the token before, the token after": {
        "compare": "heads", "model": "minilm", "norm": "trained", "layer": 0, "head": 2, "layer_b": 1, "head_b": 8,
    },
    "the twins: pre-norm and post-norm": {
        "compare": "models", "model": "twin-pre", "norm": "trained", "model_b": "twin-post", "layer": 0, "head": 0,
        "layer_b": None, "head_b": None,
    },
    "MiniLM with its norms moved": {
        "compare": "models", "model": "minilm", "norm": "trained", "model_b": "moved", "layer_b": None,
        "head_b": None,
    },
}  # fmt: skip


def sides(view: View) -> Sides:
    """Both sides as the view and the page's own values say. Raises EncoderError where the other one cannot be."""
    what = state.get("compare")
    first = Side("A", view.model, view.text, view.pair, view.layer, view.head)
    model, text = view.model, view.text
    if what == "sentences":
        text = state.get("text_b")
    elif what == "models":
        model = other_model(view)
    layer, head = other_head(what, view, cache.model(model).config)
    return Sides(what, first, Side("B", model, text, view.pair, layer, head))


def other_head(what: str, view: View, config: encoder.EncoderConfig) -> tuple[int, int]:
    """Layer and head of side B: of a sentence the same as A's, otherwise as chosen, or the nearest that there is."""
    if what == "sentences":
        return view.layer, view.head
    layer, head = state.get("layer_b"), state.get("head_b")
    layer = view.layer if layer is None else layer
    if head is None:
        head = (view.head + 1) % config.n_heads if what == "heads" else view.head
    return min(layer, config.n_layers - 1), min(head, config.n_heads - 1)


def other_model(view: View) -> cache.ModelKey:
    """The model of side B."""
    chosen, key = state.get("model_b"), view.model
    place = {"device": key.device, "dtype": key.dtype}
    if chosen == "moved":
        own = view.loaded.config.norm_placement
        other = next(placement for placement in NORM_PLACEMENTS if placement != own)
        if key.scratch is not None:
            return dataclasses.replace(key, scratch=key.scratch.replace(norm_placement=other, final_norm=None))
        return dataclasses.replace(key, norm="trained" if key.norm == own else other)
    if chosen == "scratch":
        # Beside an encoder from scratch, another draw of the same one: what chance alone does.
        seed = key.seed + 1 if key.scratch is not None else state.get("seed")
        return cache.ModelKey(source="scratch", scratch=scratch_config(), seed=seed, **place)
    source = chosen
    if chosen == "other":
        if not state.get("source_b").strip():
            raise LoadError("Type the folder or Hub id of model B above, or choose another one.")
        source = model_access.allowed_source(state.get("source_b"))
    return cache.ModelKey(source=source, **place)


def selected_steps(view: View, steps: align.Alignment) -> tuple[int | None, int | None]:
    """The steps of the selected query and key: of the view's tokens, or else of side B's own."""
    return steps.step_of(view.i, state.get("i_b")), steps.step_of(view.j, state.get("j_b"))


def select_step(name: str, step: int | None, steps: align.Alignment) -> None:
    """Select the query ("i") or key ("j") at a step; of a step that side A has not, side B's token. For callbacks."""
    first = None if step is None else steps.first[step]
    state.put(name, first)
    state.put(f"{name}_b", None if step is None or first is not None else steps.second[step])


def from_click(steps: align.Alignment, block: int) -> Callable[[dict], None]:
    """What takes a click on any of the maps over as the one selection of all of them."""

    def take(event: dict) -> None:
        if event.get("event") != "click":
            return
        axis = event["axis"]
        if axis == "clear":
            select_step("i", None, steps)
            select_step("j", None, steps)
        for name, axes in (("i", ("cell", "y")), ("j", ("cell", "x"))):
            if axis in axes and block == 1 and event[name] < len(steps):
                select_step(name, event[name], steps)

    return take


def clear_selection() -> None:
    """Select nothing. For callbacks."""
    for name in ("i", "j", "i_b", "j_b"):
        state.put(name, None)


def open_from(what: str) -> Callable[[dict], None]:
    """What takes a click on the map of all heads: of two heads it chooses B, otherwise the head of both sides."""

    def take(event: dict) -> None:
        if event.get("event") != "click" or event["axis"] != "cell":
            return
        if what == "heads":
            state.put("layer_b", event["i"])
            state.put("head_b", event["j"])
        else:
            sidebar.open_head(event["i"], event["j"])
            state.put("layer_b", None)
            state.put("head_b", None)

    return take
