"""Pages that moved: what an old address, lesson or room names, and which page shows it now."""

from __future__ import annotations

from collections.abc import Mapping

#: Former name of a page -> its page now, and the values that show there what the former page showed.
FORMER: dict[str, tuple[str, dict[str, str]]] = {
    "anatomy": ("architecture", {}),
    "beyond": ("beyond_weights", {}),
    "find": ("head_types", {}),
    "gradients": ("training", {"train_part": "gradients"}),
    "image_text": ("predict", {"predict": "caption"}),
    "interventions": ("ablation", {}),
    "masked_words": ("predict", {"predict": "word"}),
    "norms": ("layernorm", {}),
    "prepost": ("pre_post", {}),
    "steps": ("forward_pass", {}),
    "token_search": ("search", {"search_for": "words"}),
    "worked_example": ("by_hand", {}),
}


def current(view: Mapping[str, str]) -> dict[str, str]:
    """A view, "page" and values as in a link, with the page of now. A value that the view holds itself stays."""
    view = dict(view)
    while view["page"] in FORMER:
        page, values = FORMER[view["page"]]
        view = {**values, **view, "page": page}
    return view
