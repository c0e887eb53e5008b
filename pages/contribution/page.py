"""Contribution: the whole vector, norm-weighted attention, rollout, Q-K space, occlusion, and a class by token."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.contribution import deletion, norm_weighted, occlusion, of_class, qk_space, rollout, whole
from pages.contribution.params import PARTS, QUESTIONS, Params
from pages.core.frame.frame import heading, show
from pages.core.inputs.input_words import words_of
from pages.core.view import View
from pages.core.widgets import Export, class_head
from pages.core.words import errors_said, opening
from pages.state import former, next_page, not_chosen, state

#: Part -> what draws it and says what it exports.
SHOW: dict[str, Callable[[View], Export | None]] = {
    "whole": whole.show,
    "moves": norm_weighted.show,
    "rollout": rollout.show,
    "plane": qk_space.show,
    "deletion": deletion.show,
    "class": of_class.show,
}
#: Occlusion covers parts of what the model receives: hidden tokens of a text, patches, windows of a sound.
OCCLUSION = {"text": deletion.show, "image": occlusion.show, "video": occlusion.show, "sound": occlusion.show}


def main(view: View) -> None:
    kind = view.trace.kind
    has_classes = kind == "text" and (class_head.model_of(view).classifier or state.newest(Params.part) == "class")
    offered = {name: title for name, title in PARTS.items() if name != "class" or has_classes}

    with heading():
        part = state.segmented(Params.part, "Method", offered, label_visibility="collapsed")
    not_chosen.leave_out({Params.part.name: next(iter(PARTS))}, (), "part of Contribution", former.NAMES_OF_A_HEAD)
    opening(QUESTIONS[part].format(part=words_of(view.trace).part, head=f"L{view.layer} H{view.head}"))
    exported = None
    with errors_said(st.info, icon=":material/info:"):
        exported = (SHOW | {"deletion": OCCLUSION[kind]})[part](view)
    if exported is not None:
        exported.draw()
    question = "What changes if you switch this head off?"
    next_page("interventions", question, partial(whole.of_largest_head, view) if part == "whole" else None)


show(main)
