"""What moving the norms changed most in what a page shows, in one sentence: the line below the page's first line."""

import dataclasses

from encoder import Trace, causal
from encoder.figures.placements import PLACEMENT_NAMES
from encoder.measure.align import align_traces
from encoder.measure.map_comparison import TracedHead, compare
from pages.core.stores import cache, model_store
from pages.core.view.view import View
from pages.core.words import change, token_names

#: What changed, in words; the number before and after.
Change = tuple[str, float, float]


def before(view: View) -> cache.StoredRun | None:
    """The text with the norms where they were: as trained, for an untrained model in post-norm. None: not moved."""
    spec = view.model
    original = dataclasses.replace(spec, norm="trained" if spec.untrained is None else "post")
    if model_store.model(original).config.norm_placement == view.loaded.config.norm_placement:
        return None
    return cache.StoredRun(dataclasses.replace(view.run, model=original))


def original(view: View) -> str:
    """What an unedited run is called: "original", with its placement where the norms were moved."""
    return "original" if before(view) is None else f"original {PLACEMENT_NAMES[view.loaded.config.norm_placement]}"


def sentence(view: View, measured: str) -> str:
    """A number of the page before and after; "" where the norms were not moved.

    measured: a name of MEASURED, as the page declares it in app.py.
    """
    unmoved = before(view)
    if unmoved is None:
        return ""
    place = () if measured == "vector" else (view.layer, view.head)
    what, was, now = view.derived(
        ("changed by norms", unmoved.model, measured, *place), lambda trace: MEASURED[measured](view, unmoved, trace)
    )
    name, old = (PLACEMENT_NAMES[one.loaded.config.norm_placement] for one in (view, unmoved))
    return f"{name.capitalize()} instead of {old}: {what}, {change(was, now)}."


def _attention(view: View, unmoved: cache.StoredRun, trace: Trace) -> Change:
    """The weight of the open head that changed most."""
    was, now = (TracedHead(one, view.layer, view.head) for one in (unmoved.trace, trace))
    cell = compare(was, now, align_traces(unmoved.trace, trace)).most
    pair = " → ".join(token_names.quoted(trace.labels, place) for place in (cell.query, cell.key))
    where = f"largest change of attention in L{view.layer} H{view.head}"
    return f"{where}, {pair}", cell.first, cell.second


def _vector(view: View, unmoved: cache.StoredRun, trace: Trace) -> Change:
    """The similarity of the input's vector to the one before, whose placement names it."""
    was, now = causal.outcomes_of(view.loaded, unmoved.trace, [trace], causal.SentenceVector())
    old = PLACEMENT_NAMES[unmoved.loaded.config.norm_placement]
    return f"similarity of the output vector to the {old} one", was, now


#: What a page shows: name in app.py -> its largest change.
MEASURED = {"attention": _attention, "vector": _vector}
