"""Models and traces that all sessions share. Keys hold everything that changes a result: model, norms, precision, text.

The stores are plain values of this module: they are asked dozens of times in each run, and Streamlit's own caches hash
the function and its arguments each time.
"""

from __future__ import annotations

import dataclasses
import gc
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

import encoder
from encoder.any_encoder import AnyEncoder, with_inputs
from encoder.device import DTYPES, one_thread, pick_device
from encoder.edits import Edit
from encoder.joint_encoder import JointEncoder
from encoder.layout import InputKind
from encoder.overview import Receiver
from encoder.text import TextWindow, Tokenized
from encoder.tokenizer import Tokenizer
from encoder.trace import Trace
from pages.core import inputs, limits, log, model_access
from pages.core.byte_cache import ByteCache
from pages.core.markdown import screen_name
from pages.core.model_key import ModelKey as ModelKey  # other modules find it here
from pages.core.sizes import model_bytes, trace_bytes, value_bytes
from pages.core.trained import TRAINED, kept_model
from pages.core.turns import LONG_FLOPS, TURNS

Checkpoint = AnyEncoder | JointEncoder

COLLECT_SECONDS = 5.0
_collected = 0.0
#: Operations of a pass that two threads make no faster: about 100 tokens in MiniLM.
SHORT_FLOPS = 2 * 10**9
#: Megabytes that traces and derived values may take together.
CACHE_MB = int(os.environ.get("ENCODERSCOPE_CACHE_MB", "768"))


_STORE = ByteCache(CACHE_MB * 1_000_000)
#: Bytes of the models that stay loaded for all sessions, each norm placement counted.
MODEL_BYTES = 2_000_000_000
_MODELS = ByteCache(MODEL_BYTES, lambda key, _: _STORE.discard(lambda name, value: _needs_model(key, name, value)))
#: Held while a model is read or built: its memory is there once before anybody else's.
_BUILDING = threading.Lock()
#: Held by the one session that measures times: two at once would both be wrong.
MEASURING = threading.Lock()


def _needs_model(key: Hashable, name: Hashable, value: Any) -> bool:
    """Whether a stored value keeps the weights of a model alive. Arrays hold numbers alone; traces hold the model."""
    return not isinstance(value, np.ndarray) and any(one.of_model == key for one in _model_keys(name))


def _model_keys(name: Hashable) -> Iterator[ModelKey]:
    if isinstance(name, ModelKey):
        yield name
    elif isinstance(name, tuple):
        for part in name:
            yield from _model_keys(part)


def _checkpoint(key: ModelKey) -> Checkpoint:
    """What is loaded for a key, once for all sessions: an encoder, or the pair of a model of images and text."""
    return _MODELS.get(key.of_checkpoint, lambda: _loaded(key.of_checkpoint), model_bytes)


def _encoder(key: ModelKey) -> AnyEncoder:
    """The encoder of a key: one of a pair, by default that of texts, and with its norms moved where the key says so."""
    found = _checkpoint(key)
    if isinstance(found, JointEncoder):
        found = found.image if key.tower == "image" else found.text
    return found if key.norm == "trained" else found.with_norm_placement(key.norm)


def _loaded(key: ModelKey) -> Checkpoint:
    began = time.monotonic()
    if key.scratch is not None:
        limits.of_model(key.scratch, DTYPES[key.dtype].itemsize)
        device, tokenizer = pick_device(key.device), _tokenizer()
        with _BUILDING:
            made = encoder.build(key.scratch, tokenizer, seed=key.seed, device=device, dtype=key.dtype)
    elif key.source.startswith(TRAINED):
        made = kept_model(key.source.removeprefix(TRAINED), key.device, key.dtype)
    else:
        with _BUILDING:
            made = _of_source(key)
    log.event("model loaded", model=made.name, megabytes=model_bytes(made) // 10**6, seconds=time.monotonic() - began)
    # Garbage is collected all the time; frozen objects are not searched again.
    gc.collect()
    gc.freeze()
    return made


def _of_source(key: ModelKey) -> Checkpoint:
    try:
        found = encoder.load(key.source, device=key.device, dtype=key.dtype, trial=True)
    except encoder.LoadError as error:
        raise encoder.LoadError(model_access.without_root(str(error))) from error
    if isinstance(found, JointEncoder):
        return dataclasses.replace(found, name=screen_name(found.name))
    if found.takes != "text" and found.takes not in inputs.SOURCES:
        raise encoder.LoadError(
            f"{found.name} takes {found.takes}, which these pages cannot show: choose another model."
        )
    return dataclasses.replace(found, name=screen_name(found.name))


def model(key: ModelKey) -> AnyEncoder:
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
    """The key of a pair's encoder that takes this kind of input; of another model, the key itself."""
    return dataclasses.replace(key, tower=kind) if joint(key) is not None else key


def collect_garbage() -> None:
    """Collect garbage, but at most every few seconds. Streamlit would after each run: 4 ms, a tenth of the run."""
    global _collected
    now = time.monotonic()
    if now - _collected > COLLECT_SECONDS:
        _collected = now
        gc.collect()


def is_loaded(key: ModelKey) -> bool:
    """Whether the model of a key is there, so that nobody has to wait for it."""
    return _MODELS.known(key.of_model) is not None


def kinds(key: ModelKey) -> tuple[InputKind, ...]:
    """What the encoders of a key's model take, as far as it is known before it is loaded."""
    return inputs.kinds_of(key.source, _MODELS.known(key.of_checkpoint))


def takes(key: ModelKey) -> InputKind:
    """What the model of a key takes, as far as it is known before it is loaded."""
    return key.tower or kinds(key)[0]  # type: ignore[return-value]


@cache
def _tokenizer() -> Tokenizer:
    return model(ModelKey()).tokenizer


def scratch_vocabulary() -> int:
    """Rows of an untrained encoder's token table: it uses MiniLM's tokenizer."""
    return _tokenizer().vocab_size


def trace(
    key: ModelKey,
    text: str,
    pair: str | None = None,
    edits: Sequence[Edit] = (),
    request: Sequence[str] = (),
    on_overview: Receiver | None = None,
) -> Trace:
    """The trace of a text, computed once for all sessions; the key says whether it is padded, and edited beforehand.

    on_overview: as in `TextEncoder.trace_tokens`; never called where the trace is there already.
    """
    if key.pad is not None and not key.padding:
        return trace(dataclasses.replace(key, padding=True), text, pair, edits, request).unpadded
    name = ("trace", key, text, pair, tuple(edits), tuple(request))

    if (known := _STORE.known(name)) is not None:
        return known  # type: ignore[no-any-return]
    limits.of_text(text, pair)
    loaded = model(key)
    if loaded.takes != "text":
        given, n_tokens = inputs.SOURCES[loaded.takes].find(loaded, text), loaded.config.max_tokens
    else:
        given = _sentence(key, loaded, text, pair)
        n_tokens = max(len(given), key.pad or 0)
    limits.of_trace(loaded.config, n_tokens, loaded.encoder.dtype.itemsize, key.device)
    # The turn comes before the store's lock of this name, for everyone: nobody who computes waits for one who queues.
    work = limits.flops(loaded.config, n_tokens) + limits.of_sources((*key.edits, *edits), loaded.config)

    def make() -> Trace:
        with one_thread() if work < SHORT_FLOPS else nullcontext():
            if loaded.takes != "text":
                chosen = (*key.edits, *edits)
                run = with_inputs(loaded, chosen, partial(inputs.SOURCES[loaded.takes].find, loaded))
                found = loaded.trace(given, edits=run, request=request)
                return dataclasses.replace(found, edits=chosen) if chosen else found
            return loaded.trace_tokens(
                given, pad_to=key.pad, edits=(*key.edits, *edits), request=request, on_overview=on_overview
            )

    with TURNS.turn(long=work > LONG_FLOPS):
        return _kept_with_model(key, name, make, trace_bytes)


def _sentence(key: ModelKey, loaded: encoder.TextEncoder, text: str, pair: str | None) -> Tokenized:
    if key.window is None:
        return loaded.tokenize(text, pair)
    windows = loaded.windows(text, pair, stride=_stride(key, text, pair))
    return windows[min(key.window, len(windows) - 1)].sentence


def _kept_with_model(key: ModelKey, name: Hashable, make: Callable[[], Any], size: Callable[[Any], int]) -> Any:
    """A value that is kept as long as its model, even if the model is evicted while the value is made."""
    value = _STORE.get(name, make, size)
    if _MODELS.known(key.of_model) is None:
        _STORE.discard(lambda other, kept: other == name and _needs_model(key.of_model, other, kept))
    return value


@dataclass(frozen=True)
class WindowSpan:
    """The place of a window in its text: first and one past the last token (special tokens not counted) and character.

    slides: which sentence of a pair the windows slide over, 0 or 1; n_kept: tokens of the other one in every window.
    """

    tokens: tuple[int, int]
    characters: tuple[int, int]
    slides: int
    n_kept: int


def window_spans(key: ModelKey, text: str, pair: str | None = None) -> tuple[WindowSpan, ...]:
    """The places of the sliding windows of a text; one window if the model takes the whole text."""
    name = ("window spans", key.of_model, key.stride, text, pair)

    def span(window: TextWindow) -> WindowSpan:
        n_text = len(window.sentence) - sum(window.sentence.special)
        n_kept = n_text - (window.tokens[1] - window.tokens[0])
        return WindowSpan(window.tokens, window.characters, window.slides, n_kept)

    def make() -> tuple[WindowSpan, ...]:
        limits.of_text(text, pair)
        return tuple(span(window) for window in model(key).windows(text, pair, stride=_stride(key, text, pair)))

    return _STORE.get(name, make, lambda found: 500 * len(found))


def _stride(key: ModelKey, text: str, pair: str | None) -> int | None:
    """The stride of a key, at most what a window of this text holds: Compare's second text may be shorter."""
    if key.stride is None:
        return None
    return min(key.stride, window_spans(key.of_model, text, pair)[0].tokens[1] or 1)


def forget_traces() -> None:
    """Forget all traces and derived values, after memory ran out."""
    _STORE.clear()


def derived(key: ModelKey, text: str, pair: str | None, what: Hashable, make: Callable[[Trace], Any]) -> Any:
    """A value made from the trace of a text (small maps, measures), kept while there is room.

    what: the name of the value and every option that changes it; make: trace -> value with `nbytes`, or a small value.
    """
    name = ("derived", key, text, pair, what)
    if (known := _STORE.known(name)) is not None:
        return known
    made = trace(key, text, pair)
    # All maps of a model take about as much work as the pass itself.
    with TURNS.turn(long=limits.flops(made.config, made.n_tokens) > LONG_FLOPS):
        return _kept_with_model(key, name, lambda: make(made), value_bytes)


def keep(key: ModelKey, text: str, pair: str | None, what: Hashable, value: Any) -> None:
    """Keep a value for `derived` that was computed on the way to the trace."""
    _STORE.get(("derived", key, text, pair, what), lambda: value, value_bytes)


def known(key: ModelKey, text: str, pair: str | None, what: Hashable) -> Any:
    """The value that `derived` keeps under this name, or None."""
    return _STORE.known(("derived", key, text, pair, what))


def computed(what: Hashable, make: Callable[[], Any], *, heavy: bool = False) -> Any:
    """A value that depends on no single text, computed once for all sessions. what: its name and every option.

    heavy: it takes as long as a forward pass and waits for one of their slots; `make` may then ask for no trace.
    """

    if not heavy:
        return _STORE.get(("computed", what), make, value_bytes)
    with TURNS.turn(long=True):
        return _STORE.get(("computed", what), make, value_bytes)


def known_computed(what: Hashable) -> Any:
    """The value that `computed` keeps under this name, or None."""
    return _STORE.known(("computed", what))


@dataclass(frozen=True)
class TracedText:
    """A text, with a second one or None, in a model."""

    model: ModelKey
    text: str
    pair: str | None

    @property
    def trace(self) -> Trace:
        """The trace, computed once."""
        return trace(self.model, self.text, self.pair)

    @property
    def loaded(self) -> AnyEncoder:
        """The model itself."""
        return model(self.model)

    def derived(self, name: Hashable, make: Callable[[Trace], Any]) -> Any:
        """A value made from the trace, computed once. name: names it and every option that changes it."""
        return derived(self.model, self.text, self.pair, name, make)


def bytes_in_use() -> int:
    """Bytes of all traces and derived values."""
    return _STORE.bytes
