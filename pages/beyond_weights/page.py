"""Beyond attention weights: norm-weighted attention, rollout, Q-K space, a deletion test, and a class by token."""

from pages.beyond_weights import deletion, norm_weighted, of_class, qk_space, rollout
from pages.beyond_weights.export import (
    export_class,
    export_deletion,
    export_norm_weighted,
    export_plane,
    export_rollout,
)
from pages.beyond_weights.params import PARTS, Params
from pages.core.frame import current_view, heading
from pages.core.links import next_page
from pages.core.url_state import state

view = current_view()

heading()
state.segmented(Params.part, "Method", PARTS, label_visibility="collapsed")
params = state.read(Params)
if params.part == "moves":
    export_norm_weighted(view, norm_weighted.show(view))
elif params.part == "rollout":
    export_rollout(view, rollout.show(view))
elif params.part == "plane":
    export_plane(view, *qk_space.show(view))
elif params.part == "class":
    if attributed := of_class.show(view):
        export_class(view, *attributed)
elif tested := deletion.show(view):
    export_deletion(view, *tested, params)
next_page("qkv", "Queries, keys, values")
