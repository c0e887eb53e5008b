"""Pages that moved: what an old address, lesson or room names, and which page shows it now."""

from collections.abc import Mapping

#: Former name of a page -> its page now, and the values that show there what the former page showed.
FORMER: dict[str, tuple[str, dict[str, str]]] = {
    "ablation": ("interventions", {"intervention": "ablation"}),
    "anatomy": ("architecture", {}),
    "architecture": ("model", {}),
    "beyond": ("contribution", {}),
    "beyond_weights": ("contribution", {}),
    "compare": ("heads", {"view": "beside"}),
    "find": ("head_types", {}),
    "head_types": ("heads", {}),
    "forward_pass": ("model", {}),
    "gradients": ("training", {"train_part": "gradients"}),
    "head_atlas": ("head_types", {"find": "corpus"}),
    "image_attention": ("heads", {"view": "text"}),
    "image_text": ("predict", {"predict": "caption"}),
    "layernorm": ("norms", {}),
    "masked_words": ("predict", {"predict": "word"}),
    "patching": ("interventions", {"intervention": "patching"}),
    "prepost": ("pre_post", {}),
    "qkv": ("heads", {"view": "vectors"}),
    "search": ("texts", {}),
    "similarity": ("texts", {"search_for": "texts"}),
    "sound_attention": ("heads", {"view": "text"}),
    "start": ("model", {}),
    "steps": ("forward_pass", {}),
    "token_search": ("texts", {"search_for": "words"}),
    "worked_example": ("by_hand", {}),
}

#: What a former page showed where its address named nothing else.
UNLESS_NAMED = {
    "forward_pass": {"step": "ids"},
    "head_types": {"find": "roles"},
    "similarity": {"similar_to": "The dog stayed on the pavement because it was exhausted."},
}
#: Values that have another name on the page of now: former page -> former name, name.
RENAMED = {"head_types": ("find", "all_heads")}
#: Contribution opened on one head: an address with one of these values, and without a part, showed its share.
NAMES_OF_A_HEAD = frozenset({"layer", "head", "moved"})
OF_A_HEAD = {"beyond": "moves"}
#: The page that shows both norm placements.
BOTH = "pre_post"
#: Pages that had a sentence of their own for words that are masked.
OF_MASKED = ("masked_words", "predict")
#: Values of former pages that the page of now has no use for: a view with them opens without.
DROPPED = frozenset(
    "atlas_against block change_of cover cross_encoder hidden knock_out_query maps masked moved_norms order path_steps "
    "picture points says second stage temperature third token_a token_b vectors whole_words".split()
)
#: Parts that are on another page now: former page, name and value -> page now, and the values that show the part there.
MOVED = {("pre_post", "sides", "curves"): ("training", {"train_part": "recorded"})}
#: Values of parts that are gone: a view with one opens its page.
GONE = frozenset({("find", "map")})


def current(view: Mapping[str, str]) -> dict[str, str]:
    """A view, "page" and values as in a link, with the page of now and the values that show the former page there."""
    own = {"text": view["masked"]} if "masked" in view and view["page"] in OF_MASKED else {}  # was a field of its own
    if view.get("norm") == "both":  # was a third placement
        view = {name: value for name, value in view.items() if name != "norm"} | {"page": BOTH}
    named = {**view, **own}.items()
    view = {name: value for name, value in named if name not in DROPPED and (name, value) not in GONE}
    while view["page"] in FORMER:
        page, values = FORMER[view["page"]]
        before, now = RENAMED.get(view["page"], ("", ""))
        view = {**UNLESS_NAMED.get(view["page"], {}), **view, **values, "page": page}
        if before in view:
            view = {now if name == before else name: value for name, value in view.items()}
    for part in _moved(view["page"], view):
        page, values = MOVED[part]
        view = {name: value for name, value in view.items() if name != part[1]} | values | {"page": page}
    return {**view, **_of_a_head(view["page"], view)}


def _moved(page: str, view: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The part of MOVED that a view names, if it does."""
    return [part for part in MOVED if part[0] == page and view.get(part[1]) == part[2]]


def _of_a_head(page: str, view: Mapping[str, str]) -> dict[str, str]:
    """The part that an address without one showed, where it names a head; nothing for any other."""
    is_old = page == "contribution" and OF_A_HEAD.keys().isdisjoint(view) and not NAMES_OF_A_HEAD.isdisjoint(view)
    return OF_A_HEAD if is_old else {}


def is_former(page: str, view: Mapping[str, str]) -> bool:
    """Whether an address has a page or values that `current` changes into others."""
    gone = not GONE.isdisjoint(view.items())
    masked, both = page in OF_MASKED and "masked" in view, view.get("norm") == "both"
    return gone or page in FORMER or masked or both or bool(_moved(page, view)) or bool(_of_a_head(page, view))
