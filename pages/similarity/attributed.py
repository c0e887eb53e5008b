"""The attribution that the page shows: limits, progress, cache."""

from dataclasses import dataclass

import streamlit as st

from encoder import EncoderError, similarity
from encoder.run import ModelSpec
from encoder.trace import gradual
from pages.base.work import long_work
from pages.core.stores import results
from pages.core.view import View
from pages.similarity.controls import reference
from pages.similarity.params import Params

#: Up to so many tokens in each sentence the map is computed without being asked; the time grows with their square.
AT_ONCE = 32
#: The longest sentence, in tokens: below the output, and at the output, where no derivative is needed.
LONGEST, LONGEST_EXACT = 128, 512


@dataclass(frozen=True)
class Asked:
    """One attribution: all that its numbers depend on."""

    model: ModelSpec
    a: str
    b: str
    layer: int
    steps: str
    reference: str


def asked(view: View, params: Params) -> Asked:
    """The attribution that the controls describe. Options that the exact split ignores do not distinguish it."""
    texts = (view.model, view.text, params.other, params.depth)
    if is_exact(view, params):
        return Asked(*texts, "auto", "pad")
    return Asked(*texts, params.steps, reference(params, view.loaded))


def is_exact(view: View, params: Params) -> bool:
    """Whether the split needs no path."""
    return params.depth == view.loaded.config.n_layers and similarity.splits_exactly(view.loaded)


def n_tokens(view: View, params: Params) -> tuple[int, int]:
    """The tokens of both sentences, as far as sentence vectors use them."""
    model = view.loaded
    a, b = (len(model.tokenize(text, max_tokens=model.max_embed_tokens)) for text in (view.text, params.other))
    return a, b


def attribution(view: View, params: Params) -> similarity.Attribution | None:
    """The attribution, computed once for all sessions; None while it waits for a click.

    Raises EncoderError for sentences that are too long, and where the engine refuses.
    """
    key, longest = asked(view, params), max(n_tokens(view, params))
    most = LONGEST_EXACT if is_exact(view, params) else LONGEST
    if longest > most:
        raise EncoderError(
            f"A sentence here has {longest:,} tokens, and this map is limited to {most:,}. Shorten the sentence"
            + (
                "."
                if most == LONGEST_EXACT
                else f", or set “Vectors” to “output (exact)”, which takes {LONGEST_EXACT:,}."
            )
        )
    ask = "" if is_exact(view, params) or longest <= AT_ONCE else f"{longest} tokens: the map may take minutes."
    return results.of_work("similarity", key, lambda: _work(view, key), label="Compute the map", ask=ask)


def _work(view: View, key: Asked) -> long_work.Work[similarity.Attribution]:
    steps = "auto" if key.steps == "auto" else int(key.steps)
    parts = similarity.attribute_gradually(view.loaded, key.a, key.b, key.layer, steps, key.reference)  # type: ignore[arg-type]
    return gradual.reported(parts, lambda one: (one.share, f"Steps on the path: {one.steps}"))


def sentences(view: View, params: Params) -> None:
    """Notes on both sentences: what is left out, cut or empty."""
    if view.pair is not None:
        st.info("You typed a second sentence. This page compares the first one with sentence B.")
    if not params.other.strip():
        st.info("Sentence B is empty, so it has special tokens only. Type a sentence above.", icon=":material/info:")
    model = view.loaded
    for name, text in (("A", view.text), ("B", params.other)):
        tokens = model.tokenize(text, max_tokens=model.max_embed_tokens)
        if tokens.cut:
            st.warning(
                f"Sentence {name} has {tokens.n_full:,} tokens. {model.name} makes its sentence vector from the first "
                f"{len(tokens):,}.",
                icon=":material/content_cut:",
            )
