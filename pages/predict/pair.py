"""The image or sound above the page and the captions of the page in one model, and what it computes of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import encoder
from encoder.measure import pair_scores
from encoder.run import Run, Text
from pages.base.work.compute_turns import LONG_FLOPS
from pages.core.inputs import image_input
from pages.core.stores import cache, estimates, input_kinds, model_store
from pages.core.view import View
from pages.predict import captions
from pages.predict.params import CaptionParams
from pages.state import state


@dataclass(frozen=True)
class Pair:
    """view: of the image; model: both encoders; texts: the captions."""

    view: View
    model: encoder.JointEncoder
    texts: tuple[str, ...]

    @property
    def times(self) -> float:
        """Factor of the trained scale."""
        return float(state.newest(CaptionParams.scale))

    @property
    def takes_digits(self) -> bool:
        """Whether the model takes the bundled digits, written or spoken."""
        return self.of_sound or image_input.takes_digits(self.model.image)

    @property
    def of_sound(self) -> bool:
        """Whether the captions are of a sound, not of an image."""
        return self.model.other.takes == "sound"

    @property
    def source(self) -> Any:
        """The images or sounds above the page."""
        return input_kinds.of(self.model.other)

    @cached_property
    def scores(self) -> pair_scores.Scores:
        """Of the image with each caption, [1, N]."""
        return pair_scores.scores(self.model, self.image_vector[None], self.vectors(self.texts), self.times)

    @cached_property
    def chosen(self) -> int:
        """The selected caption, or the one that fits best."""
        asked = state.newest(CaptionParams.caption)
        best = int(self.scores.cosines[0].argmax())
        return asked if isinstance(asked, int) and asked < len(self.texts) else best

    @property
    def image_vector(self) -> pair_scores.Vectors:
        """Of the reader's image or sound, [E]."""
        return self.view.derived("image vector", self.model.other_vector)

    def vectors(self, texts: Sequence[str]) -> pair_scores.Vectors:
        """Of texts, [N, E], computed once for all sessions."""
        config = self.model.text.config
        work = estimates.flops(config, config.max_tokens) * len(texts)
        return cache.computed(
            ("caption vectors", self.view.model, tuple(texts)),
            lambda: self.model.embed_texts(texts),
            heavy=work > LONG_FLOPS,
        )

    @cached_property
    def caption(self) -> cache.StoredRun:
        """The selected caption in the encoder of texts."""
        text = Text(self.texts[self.chosen])
        return cache.StoredRun(Run(replace(self.view.model, tower="text"), text))

    def over_patches(self) -> np.ndarray:
        """[T, R, C]: cosines of the selected caption's tokens with the image's patches."""

        def make(image: encoder.Trace) -> np.ndarray:
            return pair_scores.token_patches(self.model, image, self.caption.trace).numpy()

        return self.view.derived(("words over patches", self.caption.text), make)

    @property
    def examples(self) -> dict[str, str]:
        """Name -> title of the bundled images or sounds, without those that are hard to name, and the reader's."""
        known = dict(self.source.examples(self.model.other))
        if self.of_sound:
            known = {name: f"“{name}”" for name in known}
        found = {name: title for name, title in known.items() if not name.startswith("hard")}
        name = self.view.run.input.name
        return found if name in found else found | {name: f"this {self.model.other.takes}"}

    def example_vectors(self) -> pair_scores.Vectors:
        """Of `examples`, [I, E]."""
        model, names = self.model, tuple(self.examples)
        return cache.computed(
            ("example vectors", self.view.model, names),
            lambda: model.embed([self.source.find(model.other, name) for name in names]),
        )


def of(view: View) -> Pair:
    """The pair of a view whose model has two encoders."""
    model = model_store.joint(view.model)
    assert model is not None, "the frame opens this page with a model of images and text only"
    return Pair(view, model, captions.given())
