"""What the model's picture shows around the forward pass: image or sound, classes, the other tower of a pair."""

import contextlib
import dataclasses
from functools import partial
from typing import Any, TypedDict

import numpy as np

from encoder import EncoderError, JointEncoder, TextEncoder, Trace
from encoder.classify import predict
from encoder.encoders.signal import SignalEncoder
from encoder.inputs.layout import InputKind
from encoder.run import Media, Run, Text
from encoder.views.model_input import Given
from encoder.views.model_picture import OtherEnd
from pages.core.stores import cache, input_kinds, model_store
from pages.core.view import View, ViewParams
from pages.state import state


class PictureInputs(TypedDict):
    """Arguments of `encoder.export.model`."""

    given: Given | None
    classes: dict[str, float] | None
    pair: OtherEnd | None


def picture_inputs(view: View) -> PictureInputs:
    """The input as the model receives it, and what the model gives for it."""
    model, joint = view.loaded, model_store.joint(view.model)
    classes = None
    if isinstance(model, SignalEncoder) and model.classifier is not None:
        classes = view.derived("picture classes", model.probabilities)
    elif isinstance(model, TextEncoder) and model.classifier is not None:
        with contextlib.suppress(EncoderError):  # a head for tags, or for multiple choice, names no class of the whole
            found = view.derived("picture classes", partial(predict, model))
            classes = dict(zip(found.labels, found.probabilities, strict=True))
    of_vectors = joint is not None and joint.compares != "MaxSim"
    return {"given": _given(view), "classes": classes, "pair": _pair(view, joint) if of_vectors and joint else None}


def _given(view: View) -> Given | None:
    if view.loaded.takes == "sound":
        return view.given  # type: ignore[no-any-return]
    return input_kinds.of(view.loaded).shown(view.loaded, view.run.input.name)


def _pair(view: View, joint: JointEncoder) -> OtherEnd:
    """The vector of the view's input, and of the input that the row above the page has for the other tower."""
    own: InputKind = view.loaded.takes
    kind: InputKind = joint.other.takes if own == "text" else "text"
    spec = dataclasses.replace(view.model, tower=kind)
    source: Any = input_kinds.SOURCES[kind]
    typed = Text(state.newest(ViewParams.text))
    given = typed if kind == "text" else Media(kind, source.current(model_store.model(spec)))
    other = cache.StoredRun(Run(spec, given))

    def vector(one: View | cache.StoredRun, tower: InputKind) -> np.ndarray:
        def make(trace: Trace) -> np.ndarray:
            found = joint.text_vector(trace) if tower == "text" else joint.other_vector(trace)
            return found.cpu().numpy()  # type: ignore[no-any-return]

        return one.derived(f"{tower} vector of a pair", make)

    return OtherEnd(vector(view, own), vector(other, kind), other.title)
