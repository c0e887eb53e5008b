"""The selected place inside a layer, as the parts of the picture share it, and the float64 numbers for it."""

from encoder.explain import Place, Recomputation
from pages.core.view import token_rows
from pages.core.view.view import View
from pages.state import Param, flag, state, whole_number


@state.register
class PlaceParams:
    """Values that several steps share, next to the tokens i and j."""

    component: Param[int | None] = whole_number(None)
    neuron: Param[int | None] = whole_number(None)
    check: Param[bool] = flag()


def selected_place(view: View, width: int | None = None) -> Place:
    """The selected place. Without a selection: the first word, and the token that it attends to most.

    width: components of the step's vectors; a larger component becomes the last one.
    """
    params = state.read(PlaceParams)
    place = Place(view.layer, view.head, *token_rows.pair(view), params.component or 0, params.neuron or 0)
    return place.clamped(view.loaded.config, view.trace.n_tokens, width)


def recomputation(view: View) -> Recomputation:
    """The view's input in float64, computed once for all sessions."""
    return view.derived(("float64",), Recomputation)
