"""Models and traces that all sessions share. A Run is the key of all that is computed from its forward pass.

The stores are plain values of this module: they are asked dozens of times in each run, and Streamlit's own caches hash
the function and its arguments each time.
"""

import dataclasses
import gc
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, cast

import numpy as np

import encoder
from encoder.encoders.named import NamedEncoder
from encoder.inputs.text import TextWindow
from encoder.model.device import one_thread
from encoder.model.overview import Receiver
from encoder.run import DECODER, ModelSpec, Run, Text
from encoder.trace.trace import Trace
from pages.base.work.compute_turns import LONG_FLOPS, TURNS
from pages.core.stores import estimates, input_kinds, model_store
from pages.core.stores.byte_cache import CACHE_MB, ByteCache
from pages.core.stores.sizes import trace_bytes, value_bytes

COLLECT_SECONDS, COLLECT_AFTER = 5.0, 1.0
_collected = 0.0
#: Operations of a pass that two threads make no faster: about 100 tokens in MiniLM.
SHORT_FLOPS = 2 * 10**9
_STORE = ByteCache(CACHE_MB * 1_000_000)


def _needs_model(model: Hashable, name: Hashable, value: Any) -> bool:
    """Whether a stored value keeps the weights of a model alive. Arrays hold numbers only; traces hold the model."""
    return not isinstance(value, np.ndarray) and any(one == model for one in _models(name))


def _models(name: Hashable) -> Iterator[ModelSpec]:
    if isinstance(name, Run):
        yield name.model
    elif isinstance(name, ModelSpec):
        yield name
    elif isinstance(name, tuple):
        for part in name:
            yield from _models(part)


def _forget_what_needs(model: Hashable) -> None:
    """Forget what keeps the weights of an evicted model alive."""
    _STORE.discard(lambda name, value: _needs_model(model, name, value))


model_store.on_evict(_forget_what_needs)


def collect_garbage() -> None:
    """Have garbage collected soon, at most every few seconds. Streamlit would after each run: a tenth of the run.

    Not now: the reader, and a class whose screens are drawn one after the other, would wait for it.
    """
    global _collected
    now = time.monotonic()
    if now - _collected > COLLECT_SECONDS:
        _collected = now
        soon = threading.Timer(COLLECT_AFTER, gc.collect)
        soon.daemon = True
        soon.start()


def trace(run: Run, request: Sequence[str] = (), on_overview: Receiver | None = None) -> Trace:
    """The trace of a run, computed once for all sessions.

    on_overview: as in `TextEncoder.trace_tokens`; never called where the trace is there already.
    """
    run = run.of_pass
    own = run.input
    if isinstance(own, Text) and own.pad_to is not None and not own.padding:
        return trace(run.but(padding=True), request).unpadded
    name = _trace_name(run, request)
    if (known := _STORE.known(name)) is not None:
        return known  # type: ignore[no-any-return]
    if run.model.tower == DECODER:
        return _of_decoder(run, name)
    loaded = run.on_page(model_store.model(run.model), page_picture)
    find = partial(input_kinds.of(loaded).given, loaded)
    given = _fitting(run).given(loaded, find)
    n_tokens = loaded.config.max_tokens
    if isinstance(own, Text):
        n_tokens = max(len(given), own.pad_to or 0)
    estimates.of_trace(loaded.config, n_tokens, loaded.encoder.dtype.itemsize, run.model.device)
    # The turn comes before the store's lock of this name, for everyone: nobody who computes waits for one who queues.
    work = estimates.flops(loaded.config, n_tokens) + estimates.of_sources(run.edits, loaded.config)

    def make() -> Trace:
        with one_thread() if work < SHORT_FLOPS else nullcontext():
            return run.forward(loaded, given, find, request, on_overview)

    with TURNS.turn(long=work > LONG_FLOPS):
        return _kept_with_model(run.model, name, make, trace_bytes)  # type: ignore[no-any-return]


def page_picture(name: str) -> Any:
    """The image of a page. Raises EncoderError where it is not here."""
    if (found := input_kinds.SOURCES["image"].picture(name)) is None:
        raise encoder.EncoderError("The image of this page is not here: choose another one, or draw on a blank page.")
    return found


def _of_decoder(run: Run, name: Hashable) -> Trace:
    """The decoder's pass over the target of a run."""
    read = dataclasses.replace(run, model=dataclasses.replace(run.model, tower=""), target=None)
    given, whole = trace(read), model_store.model(read.model)
    return _kept_with_model(run.model, name, lambda: whole.decode(given, run.target).decoder, trace_bytes)  # type: ignore[no-any-return]


def _trace_name(run: Run, request: Sequence[str] = ()) -> Hashable:
    return "trace", run, tuple(request)


def is_traced(run: Run) -> bool:
    """Whether `trace` has the trace of a run already."""
    run = run.of_pass
    padded = isinstance(run.input, Text) and run.input.pad_to is not None
    return _STORE.known(_trace_name(run.but(padding=True) if padded else run)) is not None


def _kept_with_model(model: ModelSpec, name: Hashable, make: Callable[[], Any], size: Callable[[Any], int]) -> Any:
    """A value that is kept as long as its model, even if the model is evicted while the value is made."""
    value = _STORE.get(name, make, size)
    if not model_store.is_loaded(model):
        _STORE.discard(lambda other, kept: other == name and _needs_model(model, other, kept))
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


def window_spans(run: Run) -> tuple[WindowSpan, ...]:
    """The places of the sliding windows of a run's text; one window if the model accepts the whole text."""
    own = run.of_text
    name = ("window spans", run.model, own.stride, own.text, own.pair, own.boxes, own.nodes)

    def span(window: TextWindow) -> WindowSpan:
        n_text = len(window.sentence) - sum(window.sentence.special)
        n_kept = n_text - (window.tokens[1] - window.tokens[0])
        return WindowSpan(window.tokens, window.characters, window.slides, n_kept)

    def make() -> tuple[WindowSpan, ...]:
        model = cast(encoder.TextEncoder, model_store.model(run.model))
        stride = _fitting(run).of_text.stride
        found = model.windows(own.text, own.pair, stride=stride, boxes=own.boxes, nodes=own.nodes)
        return tuple(map(span, found))

    return _STORE.get(name, make, lambda found: 500 * len(found))


def _fitting(run: Run) -> Run:
    """The run with a stride that is at most what a window of its text holds: Compare's second text may be shorter."""
    own = run.input
    if not isinstance(own, Text) or own.stride is None:
        return run
    most = window_spans(run.but(stride=None))[0].tokens[1] or 1
    return run.but(stride=min(own.stride, most))


def forget_traces() -> None:
    """Forget all traces and derived values, after memory ran out."""
    _STORE.clear()


def derived(run: Run, what: Hashable, make: Callable[[Trace], Any]) -> Any:
    """A value made from the trace of a run (small maps, measures), kept while there is room.

    what: the name of the value and every option that changes it; make: trace -> value.
    """
    run = run.of_pass
    name = ("derived", run, what)
    if (known := _STORE.known(name)) is not None:
        return known
    made = trace(run)
    # All maps of a model take about as much work as the pass itself.
    with TURNS.turn(long=estimates.flops(made.config, made.n_tokens) > LONG_FLOPS):
        return _kept_with_model(run.model, name, lambda: make(made), value_bytes)


def keep(run: Run, what: Hashable, value: Any) -> None:
    """Keep a value for `derived` that was computed on the way to the trace."""
    _STORE.get(("derived", run.of_pass, what), lambda: value, value_bytes)


def known(run: Run, what: Hashable) -> Any:
    """The value that `derived` keeps under this name, or None."""
    return _STORE.known(("derived", run.of_pass, what))


def computed(what: Hashable, make: Callable[[], Any], *, heavy: bool = False) -> Any:
    """A value that depends on no single text, computed once for all sessions. what: its name and every option.

    heavy: it takes as long as a forward pass and waits for one of their slots; `make` may then ask for no trace.
    """
    if (known := known_computed(what)) is not None:
        return known  # without a turn, for which others wait
    with TURNS.turn(long=True) if heavy else nullcontext():
        return _STORE.get(("computed", what), make, value_bytes)


def known_computed(what: Hashable) -> Any:
    """The value that `computed` keeps under this name, or None."""
    return _STORE.known(("computed", what))


@dataclass(frozen=True)
class StoredRun:
    """A run with its trace and its model, which all sessions share."""

    run: Run

    @property
    def model(self) -> ModelSpec:
        """Which model runs."""
        return self.run.model

    @property
    def trace(self) -> Trace:
        """The trace, computed once."""
        return trace(self.run)

    @property
    def loaded(self) -> NamedEncoder:
        """The model itself; on the page of its text where it reads one."""
        on_page = isinstance(self.run.input, Text) and self.run.input.page is not None
        return self.trace.model if on_page else model_store.model(self.run.model)

    @property
    def text(self) -> str:
        """The typed text. Raises EncoderError for another kind of input."""
        return self.run.text

    @property
    def pair(self) -> str | None:
        """The second sentence of a text, or None."""
        return self.run.pair

    @property
    def given(self) -> Any:
        """What the model accepts: the text itself, or the image or sound of this name. Raises EncoderError."""
        return input_kinds.of(self.loaded).find(self.loaded, self.run.input.name)

    @property
    def title(self) -> str:
        """The text, or the name of the image or sound for people."""
        return input_kinds.of(self.loaded).title(self.run.input.name)

    def but(self, **changes: Any) -> Self:
        """The same with another run, which `Run.but` makes of this one."""
        return dataclasses.replace(self, run=self.run.but(**changes))

    def about(self, name: str) -> Self:
        """The same with another input of this kind."""
        return dataclasses.replace(self, run=self.run.about(name))

    def derived(self, name: Hashable, make: Callable[[Trace], Any]) -> Any:
        """A value made from the trace, computed once. name: names it and every option that changes it."""
        return derived(self.run, name, make)


def bytes_in_use() -> int:
    """Bytes of all traces and derived values."""
    return _STORE.bytes
