"""Interventions: switch a part of the forward pass off, or replace one vector, and see what it causes."""

from pages.core.frame.frame import current_view, heading
from pages.core.widgets import outcomes
from pages.core.words import opening
from pages.interventions import ablation, patching
from pages.interventions.pair import outcomes_of_pair
from pages.interventions.params import KINDS, QUESTIONS, Params
from pages.state import next_page, state

view = current_view()
controls = heading()
with controls:
    kind = state.segmented(Params.kind, "Intervention", KINDS, label_visibility="collapsed")
    outcome = outcomes.choose(view, outcomes_of_pair(view) if kind == "patching" else tuple(outcomes.OUTCOMES))
opening(QUESTIONS[kind])
{"ablation": ablation.show, "patching": patching.show}[kind](view, outcome, controls)
next_page("contribution", "Contribution, what else matters")
