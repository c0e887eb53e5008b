"""The parts of the architecture diagram: blocks, arrows, and all of them together.

Shapes as in `encoder.explain.architecture`.
"""

from dataclasses import dataclass

from encoder.config import EncoderConfig

Dimension = tuple[str, int]
Shape = tuple[Dimension, ...]


@dataclass(frozen=True)
class ArchitectureBlock:
    """One block of the diagram.

    key: unique, "layers.2.q"; kind: "q"; group: the frame around it ("embedding", "attention", "ffn", "output"); layer:
    None outside the layers; inputs, outputs: shapes as (symbol, size); parameters: learned numbers, 0 where another
    layer owns them (shared_with); share: of all parameters; flops, memory (bytes of the output) for this sentence;
    opens: name of its tensor for `explain.tensor`, or None; step: key of the step that explains it, or None.
    """

    key: str
    kind: str
    title: str
    group: str
    layer: int | None
    inputs: Shape
    outputs: Shape
    parameters: int = 0
    share: float = 0.0
    flops: int = 0
    memory: int = 0
    opens: str | None = None
    step: str | None = None
    detail: str = ""
    shared_with: int | None = None


@dataclass(frozen=True)
class ArchitectureEdge:
    """An arrow from block to block; residual: it goes around a sublayer."""

    source: str
    target: str
    residual: bool = False


@dataclass(frozen=True)
class Architecture:
    """All blocks of an encoder in order, the arrows between them, and the number of parameters."""

    config: EncoderConfig
    n_tokens: int
    blocks: tuple[ArchitectureBlock, ...]
    edges: tuple[ArchitectureEdge, ...]
    n_parameters: int

    def __getitem__(self, key: str) -> ArchitectureBlock:
        return next(block for block in self.blocks if block.key == key)

    def of_layer(self, layer: int | None) -> tuple[ArchitectureBlock, ...]:
        """Blocks of one layer; None: those outside the layers."""
        return tuple(block for block in self.blocks if block.layer == layer)

    def drawn(self, layer: int) -> tuple[ArchitectureBlock, ...]:
        """The blocks of a diagram that draws one layer in full: that layer and everything outside the layers."""
        return tuple(block for block in self.blocks if block.layer in (None, layer))
