"""The edits of this session: in the address of every page, and marked on every page.

The page Interventions makes them. A page that declares `edits` in app.py shows the edited run, and Predict does
where it can; the others show the run without edits and say so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from encoder import EncoderError, OutOfMemory, edits
from pages.components import toast
from pages.components.button import button
from pages.core.inputs.input_words import words_of
from pages.core.view import View
from pages.core.words import plain, say_error, token_names
from pages.state import Param, links, state

#: What marks an edit that is switched off, in the address.
OFF = "!"
#: Edits that the mark names; of more it gives the number.
NAMED = 3


@dataclass(frozen=True)
class Step:
    """One edit of the recipe, and whether it is on."""

    edit: edits.Edit
    on: bool = True


Recipe = tuple[Step, ...]


def parse_recipe(text: str) -> Recipe:
    """Text of the address -> recipe. Raises ValueError with the reason."""
    parts = text.split("~") if text else []
    try:
        found = edits.parse("~".join(part.removeprefix(OFF) for part in parts))
    except EncoderError as error:  # the note about the link ends the sentence
        raise ValueError(str(error).removesuffix(".")) from None
    return tuple(Step(edit, not part.startswith(OFF)) for edit, part in zip(found, parts, strict=True))


def format_recipe(recipe: Recipe) -> str:
    """A recipe -> text for the address."""
    return "~".join(("" if step.on else OFF) + edits.format((step.edit,)) for step in recipe)


@state.register
class EditParams:
    """recipe: the edits in the order in which they are applied."""

    recipe: Param[Recipe] = Param((), parse_recipe, format_recipe, "edits", typed=True)


def active(recipe: Recipe) -> tuple[edits.Edit, ...]:
    """The edits that are switched on."""
    return tuple(step.edit for step in recipe if step.on)


def add(edit: edits.Edit) -> None:
    """Add an edit; an edit of the same single weight makes room for it. For callbacks."""
    recipe = state.newest(EditParams.recipe)
    kept = tuple(step for step in recipe if step.edit != edit and not same_cell(step.edit, edit))
    if len(kept) < edits.MOST_EDITS:
        state.put(EditParams.recipe, (*kept, Step(edit)))
    else:
        toast.say(f"{edits.MOST_EDITS} edits are in use already. Remove one first.", "tune")


def same_cell(one: edits.Edit, other: edits.Edit) -> bool:
    """Whether both set the weight of the same query and key in the same head."""
    if not isinstance(one, edits.SetWeight) or not isinstance(other, edits.SetWeight):
        return False
    return replace(one, value=other.value) == other


def take_back() -> None:
    """Remove all edits. For callbacks."""
    state.put(EditParams.recipe, ())


def applied(view: View) -> View:
    """The view of the edited run; without edits, and where they do not fit this text and model, the view itself."""
    chosen = active(state.newest(EditParams.recipe))
    if not chosen:
        return view
    changed = view.but(edits=chosen)
    try:
        if not changed.trace.finite:
            raise EncoderError("The edited run holds NaN or infinity: use smaller numbers.")
    except OutOfMemory:
        raise
    except EncoderError as error:
        before = f"The edits do not fit this {words_of(view.trace).text} and model, so nothing is edited. "
        say_error(error, st.warning, icon=":material/tune:", before=before)
        return view
    return changed


def describe(edit: edits.Edit, labels: Sequence[str]) -> str:
    """One edit in words, for Markdown: "L1 H3 off"."""

    def token(place: int) -> str:
        return token_names.quoted(labels, place) if place < len(labels) else f"token {place}"

    return edit.describe(edits.Names(token, _quoted))


def _quoted(text: str) -> str:
    return f"“{plain(text if len(text) <= 30 else f'{text[:29]}…')}”"


def named(chosen: Sequence[edits.Edit], labels: Sequence[str]) -> str:
    """The first edits in words, and the number of the others."""
    more = f", and {len(chosen) - NAMED} more" if len(chosen) > NAMED else ""
    return "; ".join(describe(edit, labels) for edit in chosen[:NAMED]) + more


def mark(view: View) -> None:
    """What is edited, whether this view is the edited run, a link to the recipe, and a button that takes all back."""
    chosen = active(state.newest(EditParams.recipe))
    if not chosen:
        return
    where = "" if view.trace.edits else " This page shows the run without edits."
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="edited-mark"):
        st.badge("Edited", icon=":material/tune:", color="orange")
        st.markdown(f"{named(chosen, view.trace.labels)}.{where}", width="content")
        links.button(
            "interventions",
            "Show the recipe",
            "tune",
            "edited:open",
            {"intervention": "ablation"},
            type="tertiary",
            width="content",
        )
        button("Undo all edits", "restart_alt", "edited:clear", take_back, type="tertiary")
