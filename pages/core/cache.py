"""Everything that is kept between runs and shared by all sessions: models and traces. The only place with st.cache_*.

Keys hold everything that changes a result: model, norm placement, device, number type, texts, edits.
"""

from __future__ import annotations

import copy
import dataclasses
import gc
import os
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

import encoder
from encoder.config import EncoderConfig
from encoder.device import DTYPES, pick_device
from encoder.edits import Edit
from encoder.text import TextWindow, Tokenizer
from encoder.trace import Trace
from pages.core import model_access

#: What traces and what is derived from them may take together, in MB.
CACHE_MB = int(os.environ.get("ENCODERSCOPE_CACHE_MB", "768"))


class ByteCache:
    """A least-recently-used store bounded by bytes. Two sessions that ask for the same key at once compute it once.

    let_go: called with each value that had to make room.
    """

    def __init__(self, limit: int, let_go: Callable[[Any], None] | None = None) -> None:
        self.limit = limit
        self._let_go = let_go
        self.bytes = 0
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], Any], size: Callable[[Any], int]) -> Any:
        """The value kept for `key`, or a new one from `make`; `size` says how many bytes it holds."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key][0]
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._entries:
                    return self._entries[key][0]
            try:
                value = make()
                self._keep(key, value, size(value))
            finally:
                with self._lock:
                    self._making.pop(key, None)
        return value

    def known(self, key: Hashable) -> Any:
        """The value kept for `key`, or None; nothing is made, nothing waited for."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def _keep(self, key: Hashable, value: Any, n_bytes: int) -> None:
        gone = []
        with self._lock:
            self._entries[key] = (value, n_bytes)
            self.bytes += n_bytes
            while self.bytes > self.limit and len(self._entries) > 1:
                _, (old, freed) = self._entries.popitem(last=False)
                self.bytes -= freed
                gone.append(old)
        if self._let_go is not None:
            for old in gone:
                self._let_go(old)

    def discard(self, unwanted: Callable[[Any], bool]) -> None:
        """Forget the values of which `unwanted` is true."""
        with self._lock:
            for key in [key for key, (value, _) in self._entries.items() if unwanted(value)]:
                self.bytes -= self._entries.pop(key)[1]

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self.bytes = 0


@dataclass(frozen=True)
class ModelKey:
    """Which model: a bundled name, folder or Hub id; or an architecture with a seed. And where and how it runs.

    source: also TRAINED and the id of a model that was trained here; norm: "trained" keeps the checkpoint's own
    placement; "pre" and "post" move it; window: which window of a text longer than the model takes, None: its
    beginning, as a text that fits runs whole; stride: tokens from one window to the next, None: half of what one holds.
    pad: the length that the text is padded to, as in a batch; padding: whether its trace has padding's rows and
    columns.
    """

    source: str = "minilm"
    scratch: EncoderConfig | None = None
    seed: int = 0
    norm: str = "trained"
    device: str = "auto"
    dtype: str = "float32"
    window: int | None = None
    stride: int | None = None
    pad: int | None = None
    padding: bool = False

    @property
    def of_model(self) -> ModelKey:
        """What of the key decides about the model: not which part of the text runs, and how."""
        return dataclasses.replace(self, window=None, stride=None, pad=None, padding=False)


#: Traces and what is derived from them. A module's own value, as it is asked for dozens of times in each run:
#: Streamlit's caches make a hash of the function and its arguments each time.
_STORE = ByteCache(CACHE_MB * 1_000_000)
#: Bytes of models that are kept for all sessions, in the placements that are asked for, those last used.
MODEL_BYTES = 2_000_000_000
_MODELS = ByteCache(MODEL_BYTES, lambda model: _STORE.discard(lambda value: _is_trace_of(model, value)))


def _is_trace_of(model: encoder.TextEncoder, value: Any) -> bool:
    # A trace holds its model: kept, it would keep that in memory, too.
    return isinstance(value, Trace) and value.encoder is model.encoder


@st.cache_resource(show_spinner=False)
def _forward_slots() -> threading.Semaphore:
    # Each forward pass uses every core; more than two at once only make each other wait.
    return threading.Semaphore(2)


@st.cache_resource(show_spinner=False)
def measuring() -> threading.Lock:
    """Held by the one session that measures times: two at once would both be wrong."""
    return threading.Lock()


#: What a ModelKey's source begins with for a model that was trained here.
TRAINED = "trained:"
#: Bytes of trained models that are kept for all sessions together, the newest.
TRAINED_BYTES = 256_000_000
_OWN_MODELS = "_trained_models"


@st.cache_resource(show_spinner=False)
def _trained() -> ByteCache:
    return ByteCache(TRAINED_BYTES)


def keep_model(model: encoder.TextEncoder) -> str:
    """Keep a model that was trained in this session, and return the id by which a ModelKey or a link names it.

    The id cannot be guessed: who has the link can open the model, as long as the server runs and has room for it.
    """
    name = secrets.token_urlsafe(9)
    _trained().get(name, lambda: model, lambda made: 4 * made.n_parameters)
    st.session_state.setdefault(_OWN_MODELS, {})[name] = model.name
    return name


def kept_models() -> dict[str, str]:
    """The models that this session has kept: id -> what a person calls it."""
    return dict(st.session_state.get(_OWN_MODELS, {}))


def _kept_model(name: str, device: str, dtype: str) -> encoder.TextEncoder:
    def gone() -> encoder.TextEncoder:
        raise encoder.LoadError(
            "This trained model is no longer kept: the server keeps the newest ones, until it is started anew. "
            "Train it again on the page “Train them yourself”, or open the file that was saved there."
        )

    model = _trained().get(name, gone, lambda _: 0)
    target, numbers = pick_device(device), DTYPES[dtype]
    if (target, numbers) == (model.device, model.encoder.dtype):
        return model
    return dataclasses.replace(model, encoder=copy.deepcopy(model.encoder).to(device=target, dtype=numbers))


def _loaded(key: ModelKey) -> encoder.TextEncoder:
    if key.norm != "trained":
        return model(dataclasses.replace(key, norm="trained")).with_norm_placement(key.norm)
    if key.scratch is not None:
        device = pick_device(key.device)
        made = encoder.build(key.scratch, _tokenizer(), seed=key.seed, device=device, dtype=key.dtype)
    elif key.source.startswith(TRAINED):
        made = _kept_model(key.source.removeprefix(TRAINED), key.device, key.dtype)
    else:
        made = _of_source(key)
    # Streamlit collects garbage after each run; what is loaded once need not be looked through each time.
    gc.collect()
    gc.freeze()
    return made


def _of_source(key: ModelKey) -> encoder.TextEncoder:
    try:
        found = encoder.load(key.source, device=key.device, dtype=key.dtype)
    except encoder.LoadError as error:
        raise encoder.LoadError(model_access.without_root(str(error))) from error
    if not isinstance(found, encoder.TextEncoder):
        raise encoder.LoadError(f"{found.name} reads images; these pages show text. Choose an encoder of text.")
    return found


def model(key: ModelKey) -> encoder.TextEncoder:
    """The model of a key, loaded once for all sessions. Raises EncoderError with a sentence that can be shown."""
    key = key.of_model
    return _MODELS.get(key, lambda: _loaded(key), model_bytes)


@st.cache_resource(show_spinner=False)
def _tokenizer() -> Tokenizer:
    return model(ModelKey()).tokenizer


def scratch_vocabulary() -> int:
    """Rows that the token table of a from-scratch encoder needs: its tokenizer is MiniLM's."""
    return _tokenizer().vocab_size


def trace(
    key: ModelKey, text: str, pair: str | None = None, edits: Sequence[Edit] = (), request: Sequence[str] = ()
) -> Trace:
    """The trace of a text, computed once for all sessions; padded, and without its padding, where the key says so."""
    if key.pad is not None and not key.padding:
        return trace(dataclasses.replace(key, padding=True), text, pair, edits, request).unpadded
    name = ("trace", key, text, pair, tuple(edits), tuple(request))

    def make() -> Trace:
        loaded = model(key)
        if key.window is None:
            sentence = loaded.tokenize(text, pair)
        else:
            windows = loaded.windows(text, pair, stride=_stride(key, text, pair))
            sentence = windows[min(key.window, len(windows) - 1)].sentence
        with _forward_slots():
            return loaded.trace_tokens(sentence, pad_to=key.pad, edits=edits, request=request)

    return _STORE.get(name, make, trace_bytes)


@dataclass(frozen=True)
class Stretch:
    """Where a window lies in its text: (first, one past the last) token, special ones not counted, and character.

    slides: of a pair, the sentence that is so looked at, 0 or 1; n_kept: tokens of the other one in every window.
    """

    tokens: tuple[int, int]
    characters: tuple[int, int]
    slides: int
    n_kept: int


def stretches(key: ModelKey, text: str, pair: str | None = None) -> tuple[Stretch, ...]:
    """Where the sliding windows of a text lie; a single one where the model takes all of it."""
    name = ("stretches", key.of_model, key.stride, text, pair)

    def stretch(window: TextWindow) -> Stretch:
        n_text = len(window.sentence) - sum(window.sentence.special)
        n_kept = n_text - (window.tokens[1] - window.tokens[0])
        return Stretch(window.tokens, window.characters, window.slides, n_kept)

    def make() -> tuple[Stretch, ...]:
        return tuple(stretch(window) for window in model(key).windows(text, pair, stride=_stride(key, text, pair)))

    return _STORE.get(name, make, lambda found: 500 * len(found))


def _stride(key: ModelKey, text: str, pair: str | None) -> int | None:
    """The stride of a key, less where a window of this very text holds less: another page's text has its own."""
    if key.stride is None:
        return None
    return min(key.stride, stretches(key.of_model, text, pair)[0].tokens[1] or 1)


def forget_traces() -> None:
    """Let go of all kept traces and what was derived from them: for when memory has run out."""
    _STORE.clear()


def derived(key: ModelKey, text: str, pair: str | None, what: Hashable, make: Callable[[Trace], Any]) -> Any:
    """Something made from the unedited trace of a text (thumbnails, measures), kept as long as there is room.

    what: names the thing and every option that changes it; make: trace -> value with `nbytes`, or a small value.
    """
    name = ("derived", key, text, pair, what)
    return _STORE.get(name, lambda: make(trace(key, text, pair)), value_bytes)


def known(key: ModelKey, text: str, pair: str | None, what: Hashable) -> Any:
    """What `derived` keeps under this name, or None."""
    return _STORE.known(("derived", key, text, pair, what))


def computed(what: Hashable, make: Callable[[], Any], *, heavy: bool = False) -> Any:
    """Something that depends on no single text, computed once for all sessions. what: names it and every option.

    heavy: it takes as long as a forward pass, and waits for its turn among those; `make` then asks for no trace.
    """

    def in_turn() -> Any:
        with _forward_slots():
            return make()

    return _STORE.get(("computed", what), in_turn if heavy else make, value_bytes)


def trace_bytes(trace: Trace) -> int:
    """Bytes that a trace holds, each storage counted once, and without those that are the model's own."""
    models = {weight.untyped_storage().data_ptr() for weight in trace.encoder.parameters()}
    storages = {value.untyped_storage().data_ptr(): value.untyped_storage().nbytes() for value in trace.values.values()}
    return sum(n_bytes for storage, n_bytes in storages.items() if storage not in models)


def model_bytes(model: encoder.TextEncoder) -> int:
    """Bytes of a model's weights; those that two placements share are counted for each."""
    return sum(parameter.numel() * parameter.element_size() for parameter in model.encoder.parameters())


def value_bytes(value: Any) -> int:
    """Bytes of an array; a small sum for anything else."""
    return int(getattr(value, "nbytes", 10_000))


def bytes_in_use() -> int:
    """Bytes that kept traces and what is derived from them take now."""
    return _STORE.bytes
