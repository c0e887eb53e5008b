"""Pages that moved: what an old address, lesson or room names, and which page shows it now."""

from __future__ import annotations

from collections.abc import Mapping

#: Former name of a page -> its page now, and the values that show there what the former page showed.
FORMER: dict[str, tuple[str, dict[str, str]]] = {
    "anatomy": ("architecture", {}),
    "architecture": ("model", {}),
    "beyond": ("beyond_weights", {}),
    "find": ("head_types", {}),
    "forward_pass": ("model", {"step": "ids"}),
    "norms": ("layernorm", {}),
    "predict": ("masked_words", {}),
    "prepost": ("pre_post", {}),
    "start": ("model", {}),
    "steps": ("forward_pass", {}),
    "worked_example": ("by_hand", {}),
}


#: Values of former pages that the page of now has no use for: a view with them opens without.
DROPPED = frozenset({"block", "picture", "says", "stage"})


def current(view: Mapping[str, str]) -> dict[str, str]:
    """A view, "page" and values as in a link, with the page of now. A value that the view holds itself stays."""
    view = {name: value for name, value in view.items() if name not in DROPPED}
    while view["page"] in FORMER:
        page, values = FORMER[view["page"]]
        view = {**values, **view, "page": page}
    return view
