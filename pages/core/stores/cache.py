"""Models and traces that all sessions share. Keys hold everything that changes a result: model, norms, precision, text.

The stores are plain values of this module: they are asked dozens of times in each run, and Streamlit's own caches hash
the function and its arguments each time.
"""

import dataclasses
import gc
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import encoder
from encoder.edits import Edit
from encoder.encoders.named import NamedEncoder
from encoder.inputs.text import TextWindow, Tokenized
from encoder.model.device import one_thread
from encoder.model.overview import Receiver
from encoder.trace.trace import Trace
from pages.core.stores import estimates, input_kinds, model_store
from pages.core.stores.byte_cache import CACHE_MB, ByteCache
from pages.core.stores.model_key import DECODER
from pages.core.stores.model_key import ModelKey as ModelKey  # other modules find it here
from pages.core.stores.sizes import trace_bytes, value_bytes
from pages.core.work.compute_turns import LONG_FLOPS, TURNS

COLLECT_SECONDS = 5.0
_collected = 0.0
#: Operations of a pass that two threads make no faster: about 100 tokens in MiniLM.
SHORT_FLOPS = 2 * 10**9
_STORE = ByteCache(CACHE_MB * 1_000_000)


def _needs_model(key: Hashable, name: Hashable, value: Any) -> bool:
    """Whether a stored value keeps the weights of a model alive. Arrays hold numbers only; traces hold the model."""
    return not isinstance(value, np.ndarray) and any(one.of_model == key for one in _model_keys(name))


def _model_keys(name: Hashable) -> Iterator[ModelKey]:
    if isinstance(name, ModelKey):
        yield name
    elif isinstance(name, tuple):
        for part in name:
            yield from _model_keys(part)


def _forget_what_needs(key: Hashable) -> None:
    """Forget what keeps the weights of an evicted model alive."""
    _STORE.discard(lambda name, value: _needs_model(key, name, value))


model_store.on_evict(_forget_what_needs)


def collect_garbage() -> None:
    """Collect garbage, but at most every few seconds. Streamlit would after each run: 4 ms, a tenth of the run."""
    global _collected
    now = time.monotonic()
    if now - _collected > COLLECT_SECONDS:
        _collected = now
        gc.collect()


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
    name = _trace_name(key, text, pair, edits, request)
    if (known := _STORE.known(name)) is not None:
        return known  # type: ignore[no-any-return]
    loaded = model_store.model(key)
    if key.tower == DECODER:
        of_input = dataclasses.replace(key, tower="")
        given, whole = trace(of_input, text), model_store.model(of_input)
        return _kept_with_model(key, name, lambda: whole.decode(given, pair).decoder, trace_bytes)  # type: ignore[no-any-return]
    if loaded.takes != "text":
        given, n_tokens = input_kinds.of(loaded).given(loaded, text), loaded.config.max_tokens
    else:
        given = _sentence(key, loaded, text, pair)
        n_tokens = max(len(given), key.pad or 0)
    estimates.of_trace(loaded.config, n_tokens, loaded.encoder.dtype.itemsize, key.device)
    # The turn comes before the store's lock of this name, for everyone: nobody who computes waits for one who queues.
    work = estimates.flops(loaded.config, n_tokens) + estimates.of_sources((*key.edits, *edits), loaded.config)

    def make() -> Trace:
        with one_thread() if work < SHORT_FLOPS else nullcontext():
            if loaded.takes != "text":
                chosen = (*key.edits, *edits)
                run = loaded.with_inputs(chosen, partial(input_kinds.of(loaded).given, loaded))
                found = loaded.trace(given, edits=run, request=request)
                return dataclasses.replace(found, edits=chosen) if chosen else found
            return loaded.trace_tokens(
                given, pad_to=key.pad, edits=(*key.edits, *edits), request=request, on_overview=on_overview
            )

    with TURNS.turn(long=work > LONG_FLOPS):
        return _kept_with_model(key, name, make, trace_bytes)


def _trace_name(
    key: ModelKey, text: str, pair: str | None, edits: Sequence[Edit] = (), request: Sequence[str] = ()
) -> Hashable:
    return "trace", key, text, pair, tuple(edits), tuple(request)


def is_traced(key: ModelKey, text: str, pair: str | None = None) -> bool:
    """Whether `trace` has the trace of a text already."""
    if key.pad is not None:
        key = dataclasses.replace(key, padding=True)
    return _STORE.known(_trace_name(key, text, pair)) is not None


def _sentence(key: ModelKey, loaded: encoder.TextEncoder, text: str, pair: str | None) -> Tokenized:
    if key.window is None:
        return loaded.tokenize(text, pair)
    windows = loaded.windows(text, pair, stride=_stride(key, text, pair))
    return windows[min(key.window, len(windows) - 1)].sentence


def _kept_with_model(key: ModelKey, name: Hashable, make: Callable[[], Any], size: Callable[[Any], int]) -> Any:
    """A value that is kept as long as its model, even if the model is evicted while the value is made."""
    value = _STORE.get(name, make, size)
    if not model_store.is_loaded(key):
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
    """The places of the sliding windows of a text; one window if the model accepts the whole text."""
    name = ("window spans", key.of_model, key.stride, text, pair)

    def span(window: TextWindow) -> WindowSpan:
        n_text = len(window.sentence) - sum(window.sentence.special)
        n_kept = n_text - (window.tokens[1] - window.tokens[0])
        return WindowSpan(window.tokens, window.characters, window.slides, n_kept)

    def make() -> tuple[WindowSpan, ...]:
        return tuple(
            span(window) for window in model_store.model(key).windows(text, pair, stride=_stride(key, text, pair))
        )

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

    what: the name of the value and every option that changes it; make: trace -> value.
    """
    name = ("derived", key, text, pair, what)
    if (known := _STORE.known(name)) is not None:
        return known
    made = trace(key, text, pair)
    # All maps of a model take about as much work as the pass itself.
    with TURNS.turn(long=estimates.flops(made.config, made.n_tokens) > LONG_FLOPS):
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
    def loaded(self) -> NamedEncoder:
        """The model itself."""
        return model_store.model(self.model)

    @property
    def given(self) -> Any:
        """What the model accepts: the text itself, or the image or sound of this name. Raises EncoderError."""
        return input_kinds.of(self.loaded).find(self.loaded, self.text)

    @property
    def title(self) -> str:
        """The text, or the name of the image or sound for people."""
        return input_kinds.of(self.loaded).title(self.text)

    def derived(self, name: Hashable, make: Callable[[Trace], Any]) -> Any:
        """A value made from the trace, computed once. name: names it and every option that changes it."""
        return derived(self.model, self.text, self.pair, name, make)


def bytes_in_use() -> int:
    """Bytes of all traces and derived values."""
    return _STORE.bytes
