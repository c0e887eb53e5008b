"""Models that all sessions share, each loaded once. A key names a checkpoint, one of its encoders, and its norms."""

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
from encoder.model.device import DTYPES, pick_device
from pages.core.access import limits
from pages.core.stores import estimates, input_kinds, model_access
from pages.core.stores.byte_cache import ByteCache
from pages.core.stores.model_key import DECODER, ModelKey
from pages.core.stores.sizes import model_bytes
from pages.core.stores.trained import TRAINED, kept_model
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


def _checkpoint(key: ModelKey) -> Checkpoint:
    """What is loaded for a key, once for all sessions: an encoder, or the pair of a model of images and text."""
    return _MODELS.get(key.of_checkpoint, lambda: _loaded(key.of_checkpoint), model_bytes)


def _encoder(key: ModelKey) -> NamedEncoder:
    """The encoder of a key: one of a pair, by default that of texts, and with its norms moved where the key says so."""
    towers = _checkpoint(key).towers
    found = towers.get(key.tower) or next(iter(towers.values()))
    found = found.decoder if key.tower == DECODER else found
    return found if key.norm == "trained" else found.with_norm_placement(key.norm)


def _loaded(key: ModelKey) -> Checkpoint:
    _freeze_imports()
    if key.scratch is not None:
        estimates.of_model(key.scratch, DTYPES[key.dtype].itemsize)
        device, tokenizer = pick_device(key.device), _tokenizer()
        with _BUILDING:
            made = encoder.build(key.scratch, tokenizer, seed=key.seed, device=device, dtype=key.dtype)
    elif key.source.startswith(TRAINED):
        made = kept_model(key.source.removeprefix(TRAINED), key.device, key.dtype)
    else:
        with _BUILDING:
            made = _of_source(key)
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


def _of_source(key: ModelKey) -> Checkpoint:
    try:
        found = encoder.load(key.source, device=key.device, dtype=key.dtype, trial=True)
    except encoder.LoadError as error:
        raise encoder.LoadError(model_access.without_root(str(error))) from error
    for kind in found.towers:
        if kind not in input_kinds.SOURCES:
            raise encoder.LoadError(f"{found.name} takes {kind}, which these pages cannot show: choose another model.")
    return dataclasses.replace(found, name=screen_name(found.name))


def model(key: ModelKey) -> NamedEncoder:
    """The model of a key, loaded once for all sessions. Raises EncoderError with a text for the screen."""
    key = key.of_model
    if key == key.of_checkpoint:
        return _encoder(key)
    return _MODELS.get(key, lambda: _encoder(key), model_bytes)


def joint(key: ModelKey) -> JointEncoder | None:
    """The pair of encoders of a model of images and text; None for another model. Raises EncoderError as `model`."""
    found = _checkpoint(key)
    return found if isinstance(found, JointEncoder) else None


def taking(key: ModelKey, kind: InputKind) -> ModelKey:
    """The key of a pair's encoder that accepts this kind of input; of another model, the key itself."""
    return dataclasses.replace(key, tower=kind) if joint(key) is not None else key


def with_norms(key: ModelKey, placement: str) -> ModelKey:
    """The key of the same model with its norms in a placement."""
    if key.scratch is not None:
        # final_norm=None: pre-norm gets a final LayerNorm, since post-norm ends in one, too.
        return dataclasses.replace(key, scratch=key.scratch.replace(norm_placement=placement, final_norm=None))
    trained = model(dataclasses.replace(key, norm="trained")).config.norm_placement
    return dataclasses.replace(key, norm="trained" if placement == trained else placement)


def is_loaded(key: ModelKey) -> bool:
    """Whether the model of a key is there, so that nobody has to wait for it."""
    return _MODELS.known(key.of_model) is not None


def kinds(key: ModelKey) -> tuple[InputKind, ...]:
    """What the encoders of a key's model take, as far as it is known before it is loaded."""
    return input_kinds.kinds_of(key.source, _MODELS.known(key.of_checkpoint))


def takes(key: ModelKey) -> InputKind:
    """What the model of a key accepts, as far as it is known before it is loaded."""
    return key.tower or kinds(key)[0]  # type: ignore[return-value]


@cache
def _tokenizer() -> Tokenizer:
    return model(ModelKey()).tokenizer


def scratch_vocabulary() -> int:
    """Rows of an untrained encoder's token table: it uses MiniLM's tokenizer."""
    return _tokenizer().vocab_size
