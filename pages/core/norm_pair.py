"""The two encoders that "Pre / post, side by side" compares: which they are, and what they have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import streamlit as st

import encoder
from encoder.measure import stream
from pages.core import cache, small_maps
from pages.core.view import View

PLACEMENTS = ("pre", "post")
TWINS = {"twin-pre": "pre", "twin-post": "post"}
_PARTNERS = "_trained_partners"

Kind = Literal["twins", "scratch", "trained", "rewired"]


@dataclass(frozen=True)
class Pair:
    """A pre-norm and a post-norm encoder. kind: trained both ways ("twins"; "trained" here), random, or one rewired.

    trained_as: the placement that the weights were trained with, where one of the two was not trained as it stands.
    """

    keys: dict[str, cache.ModelKey]
    kind: Kind
    trained_as: str = ""

    @property
    def same_weights(self) -> bool:
        """Whether both run with the same numbers, so that a head of one is the same head of the other."""
        return self.kind in ("scratch", "rewired")


def pair_of(view: View) -> Pair:
    """The two encoders for the model that the sidebar names. Raises EncoderError where one cannot be loaded."""
    key = dataclasses.replace(view.model, norm="trained")
    if key.scratch is not None:
        placed = {p: _placed(key.scratch, p) for p in PLACEMENTS}
        return Pair({p: dataclasses.replace(key, scratch=config) for p, config in placed.items()}, "scratch")
    if key.source in TWINS:
        return Pair({p: dataclasses.replace(key, source=f"twin-{p}") for p in PLACEMENTS}, "twins")
    own = cache.model(key).config.norm_placement
    other = next(p for p in PLACEMENTS if p != own)
    partner = st.session_state.get(_PARTNERS, {}).get(key.source)
    if partner:
        return Pair({own: key, other: dataclasses.replace(key, source=partner)}, "trained")
    return Pair({own: key, other: dataclasses.replace(key, norm=other)}, "rewired", own)


def _placed(config: encoder.EncoderConfig, placement: str) -> encoder.EncoderConfig:
    # Post-norm's last layer ends in a norm; pre-norm's stream needs a final one to end likewise.
    return config.replace(norm_placement=placement, final_norm=None)


def remember_partners(one: str, other: str) -> None:
    """Two models trained here that differ in their placement alone: sources of ModelKeys."""
    st.session_state.setdefault(_PARTNERS, {}).update({one: other, other: one})


@dataclass(frozen=True)
class Sides:
    """A sentence in both encoders."""

    pair: Pair
    text: str
    second: str | None

    def trace(self, placement: str) -> encoder.Trace:
        """The sentence's trace in one of them."""
        return cache.trace(self.pair.keys[placement], self.text, self.second)

    def of_one(self, placement: str, what: object, make: Callable[[encoder.Trace], Any]) -> Any:
        """Something derived from one trace, kept."""
        return cache.derived(self.pair.keys[placement], self.text, self.second, ("prepost", what), make)

    def of_both(self, what: object, make: Callable[[encoder.Trace, encoder.Trace], Any]) -> Any:
        """Something derived from both traces, pre-norm's first, kept."""
        keys = tuple(self.pair.keys[p] for p in PLACEMENTS)
        name = ("prepost", keys, self.text, self.second, what)
        return cache.computed(name, lambda: make(self.trace("pre"), self.trace("post")))

    def by_layer(self, make: Callable[[int], np.ndarray], doing: str) -> np.ndarray:
        """[L, H]: `make` of each layer, with progress in a long text."""
        return small_maps.by_layer(self.trace("pre"), make, doing)

    def thumbnails(self, placement: str) -> np.ndarray:
        """uint8 [L, H, S, S]: every head's small map."""
        key = self.pair.keys[placement]
        return self.by_layer(
            lambda layer: small_maps.of_layer(key, self.text, self.second, layer), "Drawing the small maps"
        )

    def entropy(self, placement: str) -> np.ndarray:
        """[L, H] in nats."""

        def one(layer: int) -> np.ndarray:
            return self.of_one(placement, ("entropy", layer), lambda trace: stream.layer_entropy(trace, layer))

        return self.by_layer(one, "Measuring the entropy")

    def head_differences(self) -> np.ndarray:
        """[L, H]: how much of its attention each head places elsewhere."""

        def one(layer: int) -> np.ndarray:
            return self.of_both(("apart", layer), lambda pre, post: stream.head_differences(pre, post, layer))

        return self.by_layer(one, "Comparing the heads")
