"""NamedEncoder: an Encoder with a name and notes, which runs recorded passes: what encoders of all inputs share.

Shapes: B batch, n inputs, T tokens, D d_model, D' width of a vector.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar

import torch
from torch import Tensor, nn

from encoder import verbs
from encoder.edits import Edit, Run, check_edits
from encoder.errors import EncoderError, several
from encoder.inputs.layout import InputKind, Layout
from encoder.model.attend import Memory
from encoder.model.classifier import Classifier
from encoder.model.config import EncoderConfig, NormPlacement
from encoder.model.device import explain_out_of_memory, pick_device, pick_dtype
from encoder.model.encoder import Encoder
from encoder.model.mlm import MLMHead
from encoder.model.overview import Receiver, receiving
from encoder.model.shown import Shown
from encoder.trace.capture import ON_REQUEST, record
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False, repr=False)
class NamedEncoder(Shown):
    """An encoder with a name. It stays in eval mode."""

    #: The name for people.
    name: str
    #: The weights.
    encoder: Encoder
    #: Sentences about how it was loaded.
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    #: Where its norms were in training; None: where they are.
    trained_placement: NormPlacement | None = field(default=None, kw_only=True)
    #: The classification head, where the checkpoint has one.
    classifier: Classifier | None = field(default=None, kw_only=True)
    #: The small files of the checkpoint that it was loaded from, by name, with which `encoder.save` writes it in the
    #: layout of its family.
    origin: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    #: The Decoder that writes from its vectors, or that it is itself (GPT-2), where the checkpoint has one.
    decoder: Any = field(default=None, kw_only=True)
    #: What `trace` accepts. A subclass that accepts no text has a `layout`, too.
    takes: ClassVar[InputKind] = "text"

    def __post_init__(self) -> None:
        for module in (self.encoder, *self.heads.values()):
            module.eval()

    def __repr__(self) -> str:
        config = self.config
        return (
            f"<{type(self).__name__} {self.name}: {config.n_layers} layers x {config.n_heads} heads, width "
            f"{config.d_model}, {config.norm_placement}-norm, {config.position} positions, {self.n_parameters:,} "
            f"parameters, {self._inputs()}, on {self.device}>"
        )

    def _inputs(self) -> str:
        """What the encoder accepts, in a few words."""
        return f"{self.config.max_tokens:,} tokens at most"

    @property
    def config(self) -> EncoderConfig:
        """The architecture."""
        return self.encoder.config

    @property
    def device(self) -> torch.device:
        """The device of the weights and traces."""
        return self.encoder.device

    @property
    def n_parameters(self) -> int:
        """Number of the encoder's weights. Shared ones count once; a masked-word head does not count."""
        return sum(parameter.numel() for parameter in self.encoder.parameters())

    @property
    def heads(self) -> dict[str, nn.Module]:
        """What follows the encoder, by the name of its field; of a field with several, "dense.0"."""
        found = {} if self.decoder is None else self.decoder.modules_beside(self.encoder)
        return found if self.classifier is None else found | {"classifier": self.classifier}

    @property
    def mlm_head(self) -> MLMHead | None:
        """The masked-word head, which only a TextEncoder may have."""
        return None

    @property
    def towers(self) -> Mapping[InputKind, NamedEncoder]:
        """What an encoder accepts -> the encoder: here one. A JointEncoder has two, that of texts first."""
        return {self.takes: self}

    @property
    def can_pad(self) -> bool:
        """Whether an input can be padded, as in a batch."""
        return False

    @property
    def layout(self) -> Layout | None:
        """What the tokens of an input are; None for text."""
        return None

    def with_norm_placement(self, norm_placement: NormPlacement) -> Self:
        """The same weights with the norms moved, without retraining; `moved_norms` says so. No weight is copied.

        Post-norm weights have no final norm to add; pre-norm weights keep theirs.
        """
        if norm_placement == self.config.norm_placement:
            return self
        trained = self.trained_placement or self.config.norm_placement
        moved = self.encoder.with_norm_placement(norm_placement)
        placement = None if norm_placement == trained else trained
        decoder = self.decoder
        if decoder is not None and decoder.encoder is self.encoder:
            decoder = dataclasses.replace(decoder, encoder=moved, trained_placement=placement)
        elif decoder is not None:
            decoder = decoder.with_norm_placement(norm_placement)
        return dataclasses.replace(self, encoder=moved, trained_placement=placement, decoder=decoder)

    def to(self, device: str = "auto", dtype: str | None = None) -> Self:
        """The same model on another device, or in another number type, as a copy: this one stays where it is.

        device, dtype: as of `encoder.load`; None: the same number type. Raises LoadError for no such device.
        """
        return moved_to(self, device, dtype)

    @property
    def moved_norms(self) -> str:
        """A sentence where the norms are not where they were in training; otherwise ""."""
        if self.trained_placement is None:
            return ""
        return (
            f"{self.name} was trained with {self.trained_placement}-norm. Here its norms are moved to "
            f"{self.config.norm_placement}-norm without retraining: the numbers are real, but the model was not "
            "trained to work this way."
        )

    @property
    def name_and_norms(self) -> str:
        """The name, and the placement of the norms where they were moved."""
        moved = "" if self.trained_placement is None else f", norms moved to {self.config.norm_placement}-norm"
        return f"{self.name}{moved}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """All that a reader of its numbers has to know: `notes`, and `moved_norms`."""
        return (*self.notes, *filter(None, [self.moved_norms]))

    def trace(self, given: Any, /, *, edits: Sequence[Edit] = (), request: Sequence[str] = ()) -> Trace:
        """Run one input and return its Trace."""
        raise NotImplementedError

    def decode(
        self,
        trace: Trace,
        target: Any,
        *,
        begin: Sequence[str] = (),
        edits: Sequence[Edit] = (),
        request: Sequence[str] = (),
    ) -> Trace:
        """A trace with the decoder's pass over a target, `trace.decoder`. The trace may be that of another input.

        target: a text, or ids, the end's included; begin: tokens between the start and the target, such as that of a
        language; edits, request: of the decoder. Raises EncoderError for a model without a decoder that reads an input.
        """
        return dataclasses.replace(
            trace, decoder=self._writer(reads=True).trace_target(trace, target, begin, edits, request)
        )

    def generate(
        self,
        given: Any,
        max_tokens: int = 64,
        *,
        beams: int = 1,
        target: Any = None,
        begin: Sequence[str] = (),
        edits: Sequence[Edit] = (),
        decoder_edits: Sequence[Edit] = (),
    ) -> Any:
        """What the decoder writes for an input, a Generation: greedily, by beam search, or a target that is forced.

        given: what `trace` accepts, or a Trace of it; max_tokens: of the output; beams: 1 is greedy; target, begin: as
        of `decode`; edits, decoder_edits: of both passes. Raises EncoderError for a model without a decoder.
        """
        writer = self._writer()
        given = given if isinstance(given, Trace) else self.trace(given, edits=edits)
        return verbs.above.generate(self, writer, given, max_tokens, beams, target, begin, decoder_edits)

    def _writer(self, reads: bool = False) -> Any:
        """The decoder. reads: one with cross-attention. Raises EncoderError where there is none."""
        if self.decoder is None or (reads and self.decoder.encoder is self.encoder):
            kind = "decoder that reads an input" if reads else "decoder"
            why = next((f" {note}" for note in self.notes if "decoder" in note), "")
            raise EncoderError(f"{self.name} has no {kind}.{why} Choose a model such as T5, BART or Whisper.")
        return self.decoder

    def vectors(self, outputs: Tensor) -> Tensor:
        """Outputs [n, T, D] of whole inputs -> the vector of each input, [n, D'] in float32."""
        raise NotImplementedError

    def with_inputs(self, edits: Sequence[Edit], find: Callable[[str], Any]) -> list[Edit]:
        """The edits with the inputs run that they take values from. find: their names -> what `trace` accepts.

        A TextEncoder runs such texts itself.
        """
        return [edit.resolve(lambda name, points: self._run(find(name), points)) for edit in edits]

    def _run(self, given: Any, points: tuple[str, ...]) -> Trace:
        """Run an input that an edit takes values from, and record these hook points."""
        return self.trace(given, request=tuple(point for point in points if point in ON_REQUEST))

    def _resolved(self, edits: Sequence[Edit]) -> tuple[Edit, ...]:
        """The edits with the texts run that they take values from."""
        return tuple(
            edit.resolve(self._run_source) if isinstance(edit, Edit) else edit
            for edit in several(edits, "edits", "edits from encoder.edits")
        )

    def _run_source(self, text: str, points: tuple[str, ...]) -> Run:
        """`_run`, for a text."""
        raise EncoderError(f"{self.name} accepts no text: specify a Trace as the source of an edit.")

    def _recorded(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        *,
        n_tokens: int,
        edits: Sequence[Edit],
        request: Sequence[str],
        on_overview: Receiver | None = None,
        memory: Memory | None = None,
        places: Tensor | None = None,
    ) -> list[Mapping[str, Tensor]]:
        """Run a batch of B inputs with T = `n_tokens`, and return the recorded values of each.

        Raises EncoderError in training mode, for edits of what does not exist, and for a request that is unknown.
        """
        if self.encoder.training:
            raise EncoderError(
                "This encoder is in training mode, where dropout changes the numbers: call .eval() first."
            )
        request = several(request, "request", "hook points")
        check_edits(edits, self.config, n_tokens, 0 if memory is None else memory.vectors.shape[1])
        with (
            explain_out_of_memory(self.device, len(inputs) * n_tokens),
            record(tuple(edits), request) as recorder,
            receiving(on_overview),
            torch.no_grad(),
        ):
            self.encoder(inputs, mask, segments, memory, places=places)
        return [_values_of(recorder.values, index) for index in range(len(inputs))]


Model = TypeVar("Model")


def moved_to(model: Model, device: str, dtype: str | None) -> Model:
    """A copy of a model, or of a pair, with its weights on this device and of this number type."""
    where, kind = pick_device(device), None if dtype is None else pick_dtype(dtype)
    towers = _with_sides(model)
    everyone = [*towers, *(one.decoder for one in towers if one.decoder is not None)]
    kept = [one.tokenizer for one in everyone if hasattr(one, "tokenizer")]  # it never changes, so models share it
    found = copy.deepcopy(model, {id(one): one for one in kept})
    for tower in _with_sides(found):
        for module in (tower.encoder, *tower.heads.values()):
            module.to(device=where, dtype=kind)
    return found


def _with_sides(model: Any) -> list[Any]:
    """The encoders of a NamedEncoder or a JointEncoder: its towers, and their sides."""
    return [one for tower in model.towers.values() for one in (tower, *getattr(tower, "sides", {}).values())]


def _values_of(values: Mapping[str, Tensor], index: int) -> Mapping[str, Tensor]:
    """The values of one input of a batch: [B, ...] each, but positions that all inputs share are [T, E]."""
    return MappingProxyType(
        {
            name: value if name == "embedding.position" and value.dim() == 2 else value[index]
            for name, value in values.items()
        }
    )
