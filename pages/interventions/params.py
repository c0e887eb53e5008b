"""The values of the page Interventions in the address."""

from __future__ import annotations

from dataclasses import dataclass

from encoder import edits
from encoder.edits import Edit
from pages.core.params import Param, choice, string, whole_number
from pages.core.url_state import state

#: What marks an edit that is switched off, in the address.
OFF = "!"
OUTCOMES = {
    "sentence": "Sentence vector",
    "similarity": "Similarity to a second sentence",
    "token": "Output vector of one token",
    "word": "Masked word",
    "class": "Class of a classification head",
}
CLICKS = {"switch": "Switches it off", "open": "Opens it"}


@dataclass(frozen=True)
class Step:
    """One edit of the recipe, and whether it is on."""

    edit: Edit
    on: bool = True


Recipe = tuple[Step, ...]


def parse_recipe(text: str) -> Recipe:
    """Text of the address -> recipe. Raises ValueError with the reason."""
    parts = text.split("~") if text else []
    found = edits.parse("~".join(part.removeprefix(OFF) for part in parts))
    return tuple(Step(edit, not part.startswith(OFF)) for edit, part in zip(found, parts, strict=True))


def format_recipe(recipe: Recipe) -> str:
    """A recipe -> text for the address."""
    return "~".join(("" if step.on else OFF) + edits.format((step.edit,)) for step in recipe)


@state.register
@dataclass(frozen=True)
class Params:
    """recipe: the edits in order; outcome and its details; click: what a click on the map of effects does."""

    recipe: Param[Recipe] = Param((), parse_recipe, format_recipe, "edits")
    outcome: Param[str] = choice("sentence", OUTCOMES)
    similar_to: Param[str] = string("The dog was too tired to cross the road.", url="outcome_text")
    token: Param[int | None] = whole_number(None, url="outcome_token")
    word: Param[str] = string(url="outcome_word")
    minus: Param[str] = string(url="outcome_minus")
    label: Param[str] = string(url="outcome_class")
    scale: Param[str] = choice("log_odds", ("log_odds", "probability"), url="outcome_scale")
    click: Param[str] = choice("switch", CLICKS, url="effect_click")
