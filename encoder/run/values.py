"""Run: what is opened, what goes in, what is changed, and which part is shown, as one frozen value.

A Run says how to make a trace; it holds no weights and no numbers. So it is the key of a cache, and it travels: as the
values of an address (`address`), as Python lines (`code`), as a command (`command`).

    >>> run = Run(ModelSpec("minilm"), Text("The cat sat on the mat")).but(norm="pre", layer=2, head=3)
    >>> run.of_pass == run.but(layer=0).of_pass     # the same forward pass, whatever part of it is shown
    True
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, cast

from encoder.checkpoints import BUNDLED, load
from encoder.edits import Edit
from encoder.encoders.joint import JointEncoder
from encoder.encoders.named import NamedEncoder
from encoder.encoders.signal import SignalEncoder
from encoder.encoders.text import TextEncoder, build, of_text
from encoder.errors import EncoderError, quoted
from encoder.inputs import example_page
from encoder.inputs.boxes import Box
from encoder.inputs.layout import InputKind
from encoder.inputs.nodes import Node
from encoder.inputs.text import Tokenized
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.config import NORM_PLACEMENTS, EncoderConfig
from encoder.model.device import pick_device
from encoder.model.overview import Receiver
from encoder.run.untrained import Untrained
from encoder.trace.trace import Trace

#: ModelSpec.source of an untrained encoder.
UNTRAINED = "scratch"
#: Before the id of a model that was trained on a server, in ModelSpec.source.
TRAINED = "trained:"
#: ModelSpec.tower of a model's decoder.
DECODER = "decoder"

#: Text.page of the bundled invoice.
INVOICE = "invoice"

#: What finds an input that is not text: its name -> what `model.trace` accepts.
Find = Callable[[str], Any]


@dataclass(frozen=True)
class ModelSpec:
    """Which model runs, where, and how its norms stand."""

    #: What `encoder.load` accepts; UNTRAINED, or TRAINED and the id of a model that was trained on a server.
    source: str = "minilm"
    #: Which encoder of a model that has several ("text", "image", "sound"; "": the first), or DECODER: the decoder's
    #: pass over the run's target.
    tower: str = ""
    #: The architecture of an untrained model.
    untrained: Untrained | None = None
    #: "trained", or "pre" or "post" for the same weights with the norms there.
    norm: str = "trained"
    #: One of `encoder.model.device.DEVICES`.
    device: str = "auto"
    #: One of `encoder.model.device.DTYPES`.
    dtype: str = "float32"

    @property
    def of_checkpoint(self) -> ModelSpec:
        """What is read or built: all encoders of the model, the norms of trained weights as they were trained."""
        if self.untrained is not None or (self.tower, self.norm) == ("", "trained"):
            return self
        return dataclasses.replace(self, tower="", norm="trained")

    @property
    def is_here(self) -> bool:
        """Whether it is a folder of this machine: others lack it, and are not told where it lies."""
        return self.source not in BUNDLED and Path(self.source).expanduser().exists()

    def with_norms(self, placement: str, trained: str) -> ModelSpec:
        """The same model with its norms in a placement. trained: the placement in which its weights were trained."""
        moved = placement if self.untrained is not None or placement != trained else "trained"
        return dataclasses.replace(self, norm=moved)

    def build(self, tokenizer: Tokenizer) -> TextEncoder:
        """The untrained model. tokenizer: MiniLM's. Raises ConfigError for a device that is not there."""
        assert self.untrained is not None
        device, seed = pick_device(self.device), self.untrained.seed
        return build(self.config, tokenizer, seed=seed, device=device, dtype=self.dtype)

    @property
    def config(self) -> EncoderConfig:
        """The architecture of an untrained model. Raises ConfigError for numbers that do not fit."""
        assert self.untrained is not None
        return self.untrained.config(self.norm if self.norm in NORM_PLACEMENTS else "post")

    def checkpoint(self) -> NamedEncoder | JointEncoder:
        """Reads or builds what `of_checkpoint` names. Raises LoadError, ConfigError and OutOfMemory."""
        if self.source.startswith(TRAINED):
            raise EncoderError("This model was trained on a server: save it there, and open the folder.")
        if self.untrained is not None:
            return self.build(_minilm_tokenizer())
        return load(self.source, device=self.device, dtype=self.dtype)

    def encoder_of(self, checkpoint: NamedEncoder | JointEncoder) -> NamedEncoder:
        """The encoder that this names of a checkpoint: one of its towers, or the decoder, its norms moved."""
        towers = {str(kind): tower for kind, tower in checkpoint.towers.items()}
        found: NamedEncoder = towers.get(self.tower) or next(iter(towers.values()))
        if self.tower == DECODER:
            if found.decoder is None:
                raise EncoderError(f"{found.name} has no decoder: choose a model such as T5, BART or Whisper.")
            found = found.decoder
        is_there = self.untrained is not None or self.norm == "trained"
        return found if is_there else found.with_norm_placement(self.norm)  # type: ignore[arg-type]

    def open(self) -> NamedEncoder:
        """The encoder, read or built now; `checkpoint` and `encoder_of` in one."""
        return self.encoder_of(self.checkpoint())


@cache
def _minilm_tokenizer() -> Tokenizer:
    return cast(TextEncoder, load("minilm", device="cpu")).tokenizer


@dataclass(frozen=True)
class Text:
    """A text as it enters the model. Its name is the text itself."""

    kind: ClassVar[InputKind] = "text"

    text: str = ""
    #: A second sentence, segment B.
    pair: str | None = None
    #: Of a text that is longer than the model accepts: the number of a sliding window; None: the text is cut.
    window: int | None = None
    #: Tokens from one window to the next; None: half a window.
    stride: int | None = None
    #: The number of tokens that the text is padded to, as in a batch; None: no padding.
    pad_to: int | None = None
    #: Whether the trace keeps the rows and columns of padding.
    padding: bool = False
    #: Of each word between blanks its box on the page; None: nothing is known of a page.
    boxes: tuple[Box, ...] | None = None
    #: The nodes of the text, or of the second one, in a tree of HTML; None: nothing is known of one.
    nodes: tuple[Node, ...] | None = None
    #: The image of the page that is used next to the words: a file; INVOICE; in the app also the digest of an
    #: upload. None: no image.
    page: str | None = None

    @property
    def name(self) -> str:
        """What an address holds of the input."""
        return self.text

    def about(self, name: str) -> Text:
        """Another text, which enters the model in the same way; one of as many words has the same boxes, or nodes."""
        boxes, nodes, n_words = self.boxes, self.nodes, len(name.split())
        if boxes is not None and n_words != len(boxes):
            boxes = None
        if nodes is not None and (self.pair is not None or n_words != sum(count for count, _ in nodes)):
            nodes = None
        return dataclasses.replace(self, text=name, pair=None, boxes=boxes, nodes=nodes)


@dataclass(frozen=True)
class Media:
    """An input that is not text, by its name: an image, a sound, or the tokens of a file of attention maps."""

    kind: InputKind
    #: A file; in the app also an example, a drawing, or the digest of an upload.
    name: str

    def about(self, name: str) -> Media:
        """Another input of this kind."""
        return Media(self.kind, name)


Input = Text | Media


@dataclass(frozen=True)
class Place:
    """The part of a run that is shown: a head, a query and a key token. None: no choice."""

    layer: int | None = None
    head: int | None = None
    query: int | None = None
    key: int | None = None


@dataclass(frozen=True)
class Run:
    """One forward pass, and the part of it that is shown. `trace` makes it."""

    model: ModelSpec = ModelSpec()
    input: Input = Text()
    #: The output that the decoder writes, as text or as ids; None: no output is forced.
    target: str | tuple[int, ...] | None = None
    #: Changes to the forward pass, in their order.
    edits: tuple[Edit, ...] = ()
    place: Place = Place()

    @cached_property
    def of_pass(self) -> Run:
        """The same forward pass, of which no part is chosen: the key of its numbers. A page asks a hundred times."""
        return self if self.place == Place() else dataclasses.replace(self, place=Place())

    @property
    def text(self) -> str:
        """The typed text. Raises EncoderError for another kind of input."""
        return self.of_text.text

    @property
    def pair(self) -> str | None:
        """The second sentence of a text; None for other inputs."""
        return self.input.pair if isinstance(self.input, Text) else None

    @property
    def pad_to(self) -> int | None:
        """The number of tokens that a text is padded to; None: no padding."""
        return self.input.pad_to if isinstance(self.input, Text) else None

    @property
    def of_text(self) -> Text:
        """The input of a run of text. Raises EncoderError for another kind of input."""
        if not isinstance(self.input, Text):
            raise EncoderError(f"This run has {self.input.kind} as its input, and no text: choose a text model.")
        return self.input

    def about(self, name: str) -> Run:
        """The same model, edits and place on another input of the same kind."""
        return dataclasses.replace(self, input=self.input.about(name))

    def but(self, **changes: Any) -> Run:
        """A copy with fields changed, of the run or of its model, input or place: run.but(norm="pre", layer=3).

        Raises TypeError for a name that none of these has, such as `window` of an image.
        """
        parts: dict[str, dict[str, Any]] = {"": {}, "model": {}, "input": {}, "place": {}}
        for name, value in changes.items():
            part = next((part for part in parts if name in _fields(getattr(self, part) if part else self)), None)
            if part is None:
                raise TypeError(f"A run with {self.input.kind} as its input has no {name!r}.")
            parts[part][name] = value
        changed = parts.pop("")
        for part, values in parts.items():
            if values:
                changed[part] = dataclasses.replace(changed.get(part, getattr(self, part)), **values)
        return dataclasses.replace(self, **changed)

    # --- the forward pass ---------------------------------------------------------------------------------------------

    def trace(
        self,
        model: NamedEncoder | None = None,
        find: Find | None = None,
        request: Sequence[str] = (),
        on_overview: Receiver | None = None,
    ) -> Trace:
        """Run it. model: the opened encoder, if the caller has it; find: what the name of an input that is not text
        means, by default a file; request, on_overview: as in `TextEncoder.trace_tokens`.

        Raises EncoderError for a model, an input or edits that do not fit.
        """
        if self.model.tower == DECODER:
            if model is not None:
                raise EncoderError("A run of a decoder opens its model itself: leave the model out.")
            return self._of_decoder()
        model = self.on_page(self.model.open() if model is None else model)
        return self.forward(model, self.given(model, find), find, request, on_overview)

    def on_page(self, model: NamedEncoder, find: Find | None = None) -> NamedEncoder:
        """The model on the page of the run's text (`TextEncoder.with_page`); without a page the model itself.

        find: what the name of the image means, by default a file.
        """
        page = self.input.page if isinstance(self.input, Text) else None
        if page is None:
            return model
        image = example_page.invoice() if page == INVOICE else page if find is None else find(page)
        return of_text(model, "choose a text model, or another input.").with_page(image)

    def _of_decoder(self) -> Trace:
        whole = dataclasses.replace(self.model, tower="").open()
        read = dataclasses.replace(self, model=dataclasses.replace(self.model, tower=""))
        found = whole.decode(read.trace(whole), self.target).decoder
        assert found is not None
        return found

    def given(self, model: NamedEncoder, find: Find | None = None) -> Any:
        """What the encoder receives: the tokens of the text or of its window, an image, a sound. `find`: of `trace`."""
        if model.takes in ("maps", "cross"):
            return None
        if not isinstance(self.input, Text):
            return (find or _opened_by(model))(self.input.name)
        encoder, own = of_text(model, "choose a text model, or another input."), self.input
        if own.window is None:
            return encoder.tokenize(own.text, own.pair, boxes=own.boxes, nodes=own.nodes)
        windows = encoder.windows(own.text, own.pair, stride=own.stride, boxes=own.boxes, nodes=own.nodes)
        return windows[min(own.window, len(windows) - 1)].sentence

    def forward(
        self,
        model: NamedEncoder,
        given: Any,
        find: Find | None = None,
        request: Sequence[str] = (),
        on_overview: Receiver | None = None,
    ) -> Trace:
        """The trace of what `given` returned."""
        if isinstance(given, Tokenized):
            own, encoder = self.of_text, cast(TextEncoder, model)
            found = encoder.trace_tokens(
                given, pad_to=own.pad_to, edits=self.edits, request=request, on_overview=on_overview
            )
            return found if own.pad_to is None or own.padding else found.unpadded
        resolved = model.with_inputs(self.edits, find or _opened_by(model)) if self.edits else ()
        found = model.trace(given, edits=resolved, request=request)
        return dataclasses.replace(found, edits=self.edits) if self.edits else found


def _fields(part: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(part)}


def _opened_by(model: NamedEncoder) -> Find:
    """The inputs that are files."""
    if not isinstance(model, SignalEncoder):
        raise EncoderError(f"{model.name} accepts {quoted(model.takes)}: specify an input of that kind.")
    return model.open
