"""MapsEncoder: a file of attention maps in the place of a model. `encoder.load` returns it for such a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from torch import Tensor

from encoder.edits import Edit
from encoder.encoders.named import NamedEncoder
from encoder.errors import EncoderError
from encoder.inputs.layout import InputKind
from encoder.model.config import NormPlacement
from encoder.trace.attention_maps import ONLY_MAPS, AttentionMaps
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False, repr=False)
class MapsEncoder(NamedEncoder):
    """Attention maps of one text. `trace()` gives them; there is nothing to run. maps: as `encoder.attentions` made."""

    maps: AttentionMaps
    takes: ClassVar[InputKind] = "maps"

    def __repr__(self) -> str:
        config = self.config
        return (
            f"<MapsEncoder {self.name}: {config.n_layers} layers x {config.n_heads} heads, {self.maps.n_tokens} tokens>"
        )

    def with_norm_placement(self, norm_placement: NormPlacement) -> Self:
        """The maps themselves: they do not know the norms."""
        return self

    def trace(self, given: Any = None, /, *, edits: Sequence[Edit] = (), request: Sequence[str] = ()) -> Trace:
        """The maps. Raises EncoderError for edits and requests, which need a model."""
        if edits or request:
            raise EncoderError(ONLY_MAPS)
        return self.maps

    def vectors(self, outputs: Tensor) -> Tensor:
        """Raises EncoderError: maps have no vectors."""
        raise EncoderError(ONLY_MAPS)


@dataclass(frozen=True, eq=False, repr=False)
class CrossMapsEncoder(MapsEncoder):
    """Cross-attention maps. `trace().decoder.cross_attentions` gives them; the Trace itself has the keys."""

    takes: ClassVar[InputKind] = "cross"
