"""The values of the page “Contribution” in the address."""

from encoder.measure.deletion import CANDIDATES, SCOPES
from encoder.similarity import REFERENCES
from pages.state import Param, choice, state, string

PARTS = {
    "whole": "Whole vector",
    "moves": "Norm-weighted",
    "rollout": "Rollout",
    "plane": "Q-K space",
    "deletion": "Occlusion",
    "class": "Class",
}
#: Part -> the question that its picture answers.
QUESTIONS = {
    "whole": "Which parts of the model make a token's output vector what it is?",
    "moves": "Does a large attention weight add much to the output of {head}?",
    "rollout": "How much may each input token contribute to a token after several layers?",
    "plane": "Do queries of {head} lie near the keys that they attend to most?",
    "deletion": "Do the tokens that {head} attends to matter more for the result than random ones?",
    "class": "Which tokens raise or lower the predicted class?",
}


@state.register
class Params:
    """The open part, and its options."""

    # No part until the page is open: so "whole" can be in its address, next to a head. An old address has none there.
    part: Param[str] = choice("", ("", *PARTS), url="beyond")
    # The opened part of the whole vector, by its name: "L5 H11".
    share_of: Param[str] = string(public="the name of a part of the vector")
    # What the map shows: norm-weighted attention as shares of a row, weight × norm itself, or attention.
    weighted: Param[str] = choice("share", ("share", "length", "attention"), url="moved")
    # The deletion test: where tokens are hidden, and which tokens may be.
    scope: Param[str] = choice("model", SCOPES, url="hide")
    candidates: Param[str] = choice("words", CANDIDATES, url="among")
    # What a class depends on.
    class_reference: Param[str] = choice("pad", REFERENCES, url="class_reference")
