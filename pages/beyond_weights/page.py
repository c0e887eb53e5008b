"""Beyond attention weights: norm-weighted attention, attention rollout, Q-K space, and a deletion test."""

from pages.beyond_weights import deletion, norm_weighted, qk_space, rollout
from pages.beyond_weights.export import export_deletion, export_norm_weighted, export_plane, export_rollout
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
elif tested := deletion.show(view):
    export_deletion(view, *tested, params)
next_page("qkv", "Queries, keys, values")
