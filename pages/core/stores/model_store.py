"""Models that all sessions share, each loaded once; a ModelSpec is the key of one."""

import dataclasses
import gc
import os
import threading
from collections.abc import Callable, Hashable
from functools import cache

import encoder
from encoder.encoders.joint import JointEncoder
from encoder.encoders.named import NamedEncoder
from encoder.inputs.layout import InputKind
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.device import DTYPES
from encoder.run import TRAINED, UNTRAINED, ModelSpec, Run, Text
from pages.base.access import limits
from pages.core.stores import estimates, input_kinds, model_access
from pages.core.stores.byte_cache import ByteCache
from pages.core.stores.sizes import model_bytes
from pages.core.stores.trained import kept_model
from pages.core.words.markdown import screen_name

Checkpoint = NamedEncoder | JointEncoder

#: Bytes of the models that stay loaded for all sessions, each norm placement counted.
MODEL_BYTES = int(os.environ.get("ENCODERSCOPE_MODELS_MB", "2000")) * 1_000_000
_MODELS = ByteCache(MODEL_BYTES, lambda key, _: _evicted(key))
#: Called with the key of a model that has to make room.
_ON_EVICT: list[Callable[[Hashable], None]] = []
#: Held while a model is read or built: its memory is there once before anybody else's.
_BUILDING = threading.Lock()


def on_evict(forget: Callable[[Hashable], None]) -> None:
    """Have `forget` called with the key of each model that has to make room."""
    _ON_EVICT.append(forget)


def _evicted(key: Hashable) -> None:
    for forget in _ON_EVICT:
        forget(key)


def _checkpoint(spec: ModelSpec) -> Checkpoint:
    """What is loaded for a model, once for all sessions: an encoder, or the pair of a model of images and text."""
    return _MODELS.get(spec.of_checkpoint, lambda: _loaded(spec.of_checkpoint), model_bytes)


def _loaded(spec: ModelSpec) -> Checkpoint:
    _freeze_imports()
    if spec.source == UNTRAINED:
        estimates.of_model(spec.config, DTYPES[spec.dtype].itemsize)
        tokenizer = _tokenizer()
        with _BUILDING:
            made = spec.build(tokenizer)
    elif spec.source.startswith(TRAINED):
        made = kept_model(spec.source.removeprefix(TRAINED), spec.device, spec.dtype)
    else:
        with _BUILDING:
            made = _of_source(spec)
    return _bounded(made)


@cache
def _freeze_imports() -> None:
    """Have the garbage collector leave out what the imports made: they stay, and a search of them takes 130 ms.

    Once: whatever else is alive at that moment and is in a cycle would stay, too.
    """
    gc.collect()
    gc.freeze()


def _bounded(made: Checkpoint) -> Checkpoint:
    """The model, which splits no longer text than a visitor may give: also one that no trace is made of."""
    if (tower := made.towers.get("text")) is None:
        return made
    text = dataclasses.replace(tower, tokenizer=tower.tokenizer.bounded(limits.TEXT.value))
    return text if tower is made else dataclasses.replace(made, text=text)


def _of_source(spec: ModelSpec) -> Checkpoint:
    try:
        found = encoder.load(spec.source, device=spec.device, dtype=spec.dtype, trial=True)
    except encoder.LoadError as error:
        raise encoder.LoadError(model_access.without_root(str(error))) from error
    for kind in found.towers:
        if kind not in input_kinds.SOURCES:
            raise encoder.LoadError(f"{found.name} takes {kind}, which these pages cannot show: choose another model.")
    return dataclasses.replace(found, name=screen_name(found.name))


def model(spec: ModelSpec) -> NamedEncoder:
    """A model, loaded once for all sessions. Raises EncoderError with a text for the screen."""
    if spec == spec.of_checkpoint:
        return spec.encoder_of(_checkpoint(spec))
    return _MODELS.get(spec, lambda: spec.encoder_of(_checkpoint(spec)), model_bytes)


def joint(spec: ModelSpec) -> JointEncoder | None:
    """The pair of encoders of a model of images and text; None for another model. Raises EncoderError as `model`."""
    found = _checkpoint(spec)
    return found if isinstance(found, JointEncoder) else None


def taking(spec: ModelSpec, kind: InputKind) -> ModelSpec:
    """The encoder of a pair that accepts this kind of input; of another model, the model itself."""
    return dataclasses.replace(spec, tower=kind) if joint(spec) is not None else spec


def with_norms(spec: ModelSpec, placement: str) -> ModelSpec:
    """The same model with its norms in a placement."""
    if spec.untrained is not None:
        return dataclasses.replace(spec, norm=placement)
    trained = model(dataclasses.replace(spec, norm="trained")).config.norm_placement
    return spec.with_norms(placement, trained)


def run_on(run: Run, spec: ModelSpec) -> Run:
    """The run in another model; without boxes, nodes and a page, where that one knows none."""
    moved = dataclasses.replace(run, model=spec)
    if not isinstance(run.input, Text) or run.input.boxes is run.input.nodes is run.input.page:
        return moved
    config = model(spec).config
    return moved.but(
        boxes=run.input.boxes if config.boxes else None,
        nodes=None if config.boxes or not config.places else run.input.nodes,
        page=run.input.page if config.page else None,
    )


def is_loaded(spec: ModelSpec) -> bool:
    """Whether a model is there, so that nobody has to wait for it."""
    return _MODELS.known(spec) is not None


def kinds(spec: ModelSpec) -> tuple[InputKind, ...]:
    """What the encoders of a model take, as far as it is known before it is loaded."""
    return input_kinds.kinds_of(spec.source, _MODELS.known(spec.of_checkpoint))


def takes(spec: ModelSpec) -> InputKind:
    """What a model accepts, as far as it is known before it is loaded."""
    return spec.tower or kinds(spec)[0]  # type: ignore[return-value]


@cache
def _tokenizer() -> Tokenizer:
    return model(ModelSpec()).tokenizer  # type: ignore[attr-defined]
