"""The two encoders that “Pre/post-norm” compares, and a sentence in both."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import streamlit as st

import encoder
from encoder.checkpoints import BUNDLED
from encoder.measure import residual_stream
from encoder.model.config import NORM_PLACEMENTS as PLACEMENTS
from encoder.run import ModelSpec, Run
from pages.core.stores import cache, model_store
from pages.core.view import maps
from pages.core.view.view import View

TWINS = {"twin-pre": "pre", "twin-post": "post"}
#: Bundled pairs, trained alike: the names of both end in their placement.
PAIRS = tuple(name for name in BUNDLED if name.rpartition("-")[2] in PLACEMENTS)
_PARTNERS = "_trained_partners"


@dataclass(frozen=True)
class NormPair:
    """A pre-norm and a post-norm encoder: placement -> its model.

    kind: "twins", the bundled ones; "scratch", untrained with the same random weights; "trained", two runs of the page
    “Train a small encoder”; "rewired", one model, and its weights with the norms moved.
    """

    specs: dict[str, ModelSpec]
    kind: Literal["twins", "scratch", "trained", "rewired"]


def pair_of(view: View) -> NormPair:
    """The two encoders for the chosen model. Raises EncoderError if one cannot be loaded."""
    spec = replace(view.model, norm="trained")
    if spec.source in PAIRS:
        stem = spec.source.rpartition("-")[0]
        return NormPair({p: replace(spec, source=f"{stem}-{p}") for p in PLACEMENTS}, "twins")
    if partner := st.session_state.get(_PARTNERS, {}).get(spec.source):
        both = spec, replace(spec, source=partner)
        return NormPair({model_store.model(one).config.norm_placement: one for one in both}, "trained")
    specs = {p: model_store.with_norms(spec, p) for p in PLACEMENTS}
    return NormPair(specs, "rewired" if spec.untrained is None else "scratch")


def remember_partners(one: str, other: str) -> None:
    """Two models of this session that differ in their norm placement only: sources of ModelSpecs."""
    st.session_state.setdefault(_PARTNERS, {}).update({one: other, other: one})


@dataclass(frozen=True)
class PairTraces:
    """A run in both encoders. Shapes: L layers, H heads, S cells of a small map."""

    pair: NormPair
    run: Run

    def of(self, placement: str) -> cache.StoredRun:
        """The run in one of them."""
        return cache.StoredRun(replace(self.run, model=self.pair.specs[placement]))

    def trace(self, placement: str) -> encoder.Trace:
        """The trace in one of them."""
        return self.of(placement).trace

    def name(self, placement: str) -> str:
        """The name of one model."""
        return self.of(placement).loaded.name

    def of_one(self, placement: str, what: object, make: Callable[[encoder.Trace], Any]) -> Any:
        """A value that one trace gives, cached."""
        return self.of(placement).derived(("prepost", what), make)

    def of_both(self, what: object, make: Callable[[encoder.Trace, encoder.Trace], Any]) -> Any:
        """A value that both traces give, pre-norm's first, cached."""
        specs = tuple(self.pair.specs[p] for p in PLACEMENTS)
        name = ("prepost", specs, self.run.of_pass, what)
        return cache.computed(name, lambda: make(self.trace("pre"), self.trace("post")))

    def small_maps(self, placement: str) -> np.ndarray:
        """uint8 [L, H, S, S]: the small map of every head."""
        text = self.of(placement)
        return maps.by_layer(text.trace, lambda layer: maps.of_layer(text, layer), "Drawing the small maps")

    def entropy(self, placement: str) -> np.ndarray:
        """[L, H] in nats."""

        def one(layer: int) -> np.ndarray:
            return self.of_one(placement, ("entropy", layer), lambda trace: residual_stream.layer_entropy(trace, layer))

        return maps.by_layer(self.trace(placement), one, "Measuring the entropy")

    def head_differences(self) -> np.ndarray:
        """[L, H]: the share of its attention that each head places elsewhere."""

        def one(layer: int) -> np.ndarray:
            return self.of_both(("apart", layer), lambda pre, post: residual_stream.head_differences(pre, post, layer))

        return maps.by_layer(self.trace("pre"), one, "Comparing the heads")
