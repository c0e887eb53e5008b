"""What an edit does, in a few words for its chip."""

from __future__ import annotations

from collections.abc import Sequence

from encoder import edits
from encoder.edits import Edit
from pages.core.words import markdown, token_names

POINTS = {
    "z": "z (what a head passes on)",
    "attention_out": "attention's output",
    "ffn_out": "the FFN's output",
    "after_attention": "the residual stream after attention",
    "after_ffn": "the residual stream after the layer",
    "embedding": "the embeddings",
    "q": "queries",
    "k": "keys",
    "v": "values",
    "pattern": "attention",
    "ffn.hidden": "FFN neurons",
}


def describe(edit: Edit, labels: Sequence[str]) -> str:
    """One edit in words: "L1 H3 off"."""
    if isinstance(edit, edits.AblateHead):
        return f"L{edit.layer} H{edit.head} off"
    if isinstance(edit, edits.MaskKeys):
        tokens = ", ".join(_token(labels, key) for key in edit.keys)
        return f"{tokens} hidden{_query(edit, labels)}{_where(edit)}"
    if isinstance(edit, edits.SetScore | edits.SetWeight):
        what = "score" if isinstance(edit, edits.SetScore) else "weight"
        pair = f"{_token(labels, edit.query)} to {_token(labels, edit.key)}"
        return f"{what} {pair} = {edit.value:g}{_where(edit)}"
    if isinstance(edit, edits.Temperature):
        return f"temperature {edit.value:g}{_query(edit, labels)}{_where(edit)}"
    if isinstance(edit, edits.UniformAttention):
        return f"uniform attention{_query(edit, labels)}{_where(edit)}"
    if isinstance(edit, edits.CausalMask):
        return f"causal mask{_where(edit)}"
    if isinstance(edit, edits.DropPositions):
        return "no positions"
    if isinstance(edit, edits.PermutePositions):
        return "positions in another order" if edit.order else f"positions shuffled, seed {edit.seed}"
    return _of_value(edit, labels)


def _of_value(edit: Edit, labels: Sequence[str]) -> str:
    if not isinstance(edit, edits.ValueEdit):
        return type(edit).__name__
    point = POINTS.get(edit.point, edit.point)
    where = _where(edit)
    if edit.positions is not None:
        where += " at " + ", ".join(_token(labels, place) for place in edit.positions)
    if edit.components is not None:
        where += _components(edit)
    if isinstance(edit, edits.Zero):
        return f"{point} left out{where}"
    if isinstance(edit, edits.Scale):
        return f"{point} × {edit.value:g}{where}"
    if isinstance(edit, edits.SetValue):
        return f"{point} = {edit.value:g}{where}"
    if isinstance(edit, edits.Noise):
        return f"noise {edit.value:g} on {point}, seed {edit.seed}{where}"
    if isinstance(edit, edits.Replace):
        return f"{point} of “{_short(edit.source)}”{where}"
    if isinstance(edit, edits.Mean):
        over = f"“{_short(edit.sources[0])}”" if len(edit.sources) == 1 else f"{len(edit.sources)} texts"
        return f"mean of {point} over {over}{where}"
    return f"vector added to {point}{where}"


def _components(edit: edits.ValueEdit) -> str:
    """ ", neuron 5", or how many there are."""
    assert edit.components is not None
    kind = "neuron" if edit.point == "ffn.hidden" else "component"
    if len(edit.components) == 1:
        return f", {kind} {edit.components[0]}"
    return f", {len(edit.components)} {kind}s"


def _where(edit: Edit) -> str:
    """ " in L1 H3", " in L1", " in H3 of every layer", or nothing for every layer and head."""
    layer, head = getattr(edit, "layer", None), getattr(edit, "head", None)
    heads = getattr(edit, "heads", None) if head is None else (head,)
    some = "" if heads is None else " ".join(f"H{one}" for one in heads)
    if layer is None:
        return f" in {some} of every layer" if some else ""
    return f" in L{layer} {some}".rstrip()


def _query(edit: Edit, labels: Sequence[str]) -> str:
    query = getattr(edit, "query", None)
    return "" if query is None else f" for {_token(labels, query)}"


def _token(labels: Sequence[str], place: int) -> str:
    return token_names.quoted(labels, place) if place < len(labels) else f"token {place}"


def _short(text: object) -> str:
    """The beginning of a text, inside Markdown."""
    words = str(text)
    return markdown.plain(words if len(words) <= 30 else f"{words[:29]}…")
