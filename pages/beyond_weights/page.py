"""Beyond attention weights: norm-weighted attention, rollout, Q-K space, a deletion test, and a class by token."""

from pages.beyond_weights import deletion, norm_weighted, of_class, qk_space, rollout
from pages.beyond_weights.params import PARTS, Params
from pages.core.frame.frame import current_view, heading
from pages.state.links import next_page
from pages.state.url_state import state

#: Part -> what draws it and says what it exports.
SHOW = {
    "moves": norm_weighted.show,
    "rollout": rollout.show,
    "plane": qk_space.show,
    "deletion": deletion.show,
    "class": of_class.show,
}

heading()
part = state.segmented(Params.part, "Method", PARTS, label_visibility="collapsed")
if exported := SHOW[part](current_view()):
    exported.draw()
next_page("heads", "Heads")
