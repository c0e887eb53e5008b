"""The two sides of the view “Compare”, and the selection that their maps and the grid share."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import encoder
from encoder.measure.align import Alignment
from encoder.model.config import NORM_PLACEMENTS
from encoder.run import UNTRAINED, ModelSpec
from pages.components import PlotEvent, on_click
from pages.core.inputs import second_input
from pages.core.stores import input_kinds, model_access, model_store
from pages.core.view import MapParams, View, ViewParams, selection
from pages.core.view.view import untrained
from pages.core.widgets.comparison import Side, Sides
from pages.heads.params import SideB
from pages.state import Param, state


def sides(view: View, params: SideB) -> Sides:
    """Both sides, by the view and the page's values. Raises EncoderError where side B cannot run."""
    first, run = Side(view.run, "A"), view.run
    if params.what == "sentences" and view.loaded.takes == "text":
        same = run.of_text.about(params.text_b)
        run = run.but(text=params.text_b, boxes=same.boxes, nodes=same.nodes)
    elif params.what == "sentences":
        run = run.about(second_input.current(view, SideB.input_b))
    elif params.what == "models":
        run = model_store.run_on(run, model_store.taking(other_model(view, params), view.loaded.takes))
    other = model_store.model(run.model)
    if other.takes != view.loaded.takes:
        raise encoder.EncoderError(
            f"Model A accepts {input_kinds.NOUNS[view.loaded.takes]}, and model B, {other.name}, "
            f"{input_kinds.NOUNS[other.takes]}: choose a model B that accepts the same."
        )
    layer, head = other_head(view, params, other.config)
    return Sides(params.what, first, Side(run.but(layer=layer, head=head), "B"))


def other_head(view: View, params: SideB, config: encoder.EncoderConfig) -> tuple[int, int]:
    """Layer and head of side B: as chosen, or the page's choice, and within what the model has."""
    if params.what == "sentences":
        return view.layer, view.head
    layer = view.layer if params.layer_b is None else params.layer_b
    head = params.head_b
    if head is None:
        head = (view.head + 1) % config.n_heads if params.what == "heads" else view.head
    return min(layer, config.n_layers - 1), min(head, config.n_heads - 1)


def other_model(view: View, params: SideB) -> ModelSpec:
    """The model of side B."""
    chosen, own = params.model_b, view.model
    place = {"device": own.device, "dtype": own.dtype}
    if chosen == "moved":
        current = view.loaded.config.norm_placement
        return model_store.with_norms(own, next(one for one in NORM_PLACEMENTS if one != current))
    if chosen == "scratch":
        # Next to an untrained encoder, another draw of the same one: what chance does.
        made, norm = own.untrained or untrained(), state.get(ViewParams.norm)
        seed = made.seed + 1 if own.untrained is not None else made.seed
        norm = norm if norm in NORM_PLACEMENTS else "post"
        return ModelSpec(UNTRAINED, untrained=replace(made, seed=seed), norm=norm, **place)
    if chosen == "other":
        if not params.source_b.strip():
            raise encoder.LoadError("Type the folder or Hub id of model B above, or choose another model.")
        return ModelSpec(source=model_access.allowed_source(params.source_b), **place)
    return ModelSpec(source=chosen, **place)


# --- the selection ---------------------------------------------------------------------------------------------------


def selected_steps(view: View, params: SideB, steps: Alignment) -> tuple[int | None, int | None]:
    """The steps of the selected query and key: of side A's tokens, or else of side B's."""
    return steps.step_of(view.i, params.i_b), steps.step_of(view.j, params.j_b)


def select_on_click(steps: Alignment, block: int) -> Callable[[PlotEvent], None]:
    """What a map's clicks do: select a query, a key or both in all three maps."""

    def select(first: Param[int | None], second: Param[int | None], step: int) -> None:
        """Select side A's token at a step, or side B's where A has none; a cell of a pooled map is not a token."""
        if block == 1 and step < len(steps):
            token = steps.first[step]
            state.put(first, token)
            state.put(second, steps.second[step] if token is None else None)

    return on_click(
        row=lambda step: select(ViewParams.i, SideB.i_b, step),
        column=lambda step: select(ViewParams.j, SideB.j_b, step),
        clear=clear_selection,
    )


def clear_selection() -> None:
    """Select nothing. For callbacks."""
    for param in (ViewParams.i, ViewParams.j, SideB.i_b, SideB.j_b):
        state.put(param, None)


def open_head(what: str, layer: int, head: int) -> None:
    """What a click in the grid does: of two heads it chooses B, otherwise the head of both sides. For callbacks."""
    if what != "heads":
        selection.open_head(layer, head)
    state.put(SideB.layer_b, layer if what == "heads" else None)
    state.put(SideB.head_b, head if what == "heads" else None)


def by_head(view: View) -> np.ndarray | None:
    """[L, H]: the share of each head's attention that differs; NaN for a head that side B lacks, None where nothing is.

    Of two heads, every head is compared with the open one.
    """
    try:
        found = sides(view, state.read(SideB)).by_head(state.get(MapParams.special))  # type: ignore[arg-type]
    except encoder.EncoderError:  # said where the maps would be
        return None
    if found is None:
        return None
    every = np.full((view.loaded.config.n_layers, view.loaded.config.n_heads), np.nan)
    every[: found.shape[0], : found.shape[1]] = found
    return every
