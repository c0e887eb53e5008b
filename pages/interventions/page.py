"""Interventions: switch a part of the forward pass off, or replace one vector, and see what it causes."""

from pages.core.frame.frame import heading, show
from pages.core.inputs import edited
from pages.core.inputs.edited import EditParams
from pages.core.view import View
from pages.core.widgets import outcomes
from pages.core.words import opening
from pages.interventions import ablation, context, patching
from pages.interventions.pair import outcomes_of_pair
from pages.interventions.params import KINDS, QUESTIONS, Params
from pages.state import next_page, state


def main(view: View) -> None:
    with heading():
        decoder = view.loaded.decoder
        reads = decoder is not None and decoder.reads
        kinds = KINDS if reads else {one: KINDS[one] for one in ("ablation", "patching")}
        kind = state.segmented(Params.kind, "Intervention", kinds, label_visibility="collapsed")
        if kind != "context":
            outcome = outcomes.choose(view, outcomes_of_pair(view) if kind == "patching" else tuple(outcomes.OUTCOMES))
    has_edits = kind == "ablation" and bool(edited.active(state.newest(EditParams.recipe)))
    opening(QUESTIONS["edited" if has_edits else kind])
    if kind == "context":
        context.show(view)
    elif kind == "ablation":
        ablation.show(view, outcome)
    else:
        patching.show(view, outcome)
    next_page("probes", "Which information does the vector of each layer hold?")


show(main)
