"""The values of the page “Beyond attention weights” in the address."""

from dataclasses import dataclass

from encoder.measure.deletion import CANDIDATES, SCOPES
from encoder.similarity import REFERENCES
from pages.state.params import Param, choice
from pages.state.url_state import state

PARTS = {
    "moves": "Norm-weighted attention",
    "rollout": "Attention rollout",
    "plane": "Q-K space",
    "deletion": "Does attention explain?",
    "class": "What a class depends on",
}


@state.register
@dataclass(frozen=True)
class Params:
    """The open part, and its options."""

    part: Param[str] = choice("moves", PARTS, url="beyond")
    # Norm-weighted attention: as shares of a row, or weight × norm itself.
    weighted: Param[str] = choice("share", ("share", "length"), url="moved")
    # The deletion test: where tokens are hidden, and which tokens may be.
    scope: Param[str] = choice("model", SCOPES, url="hide")
    candidates: Param[str] = choice("words", CANDIDATES, url="among")
    measured: Param[str] = choice("embedding", ("embedding", "class"), url="change_of")
    # What a class depends on.
    class_reference: Param[str] = choice("pad", REFERENCES, url="class_reference")
